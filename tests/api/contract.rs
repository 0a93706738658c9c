//! The OpenAPI document holds: every answer of this suite is what it says, every operation refuses what
//! all refuse, and the schemas of invoices name the fields that their readers know.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, LazyLock, Mutex},
};

use harness::programs::workspace;
use jsonschema::Validator;
use serde_json::{Value, json};
use verifactu_core::api::{CancelRequest, Defaults, Detail, ErrorCode, Json, SendRequest};

use crate::world::{Answer, ISSUER, SCOPES, World, today};

static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(verifactu_server::openapi::document()).unwrap());

/// The components, closed: an answer has no member that its schema does not name.
static COMPONENTS: LazyLock<Value> = LazyLock::new(|| {
    let mut components = DOCUMENT["components"].clone();
    for schema in components["schemas"].as_object_mut().unwrap().values_mut() {
        if schema.get("properties").is_some() && schema.get("additionalProperties").is_none() {
            schema["unevaluatedProperties"] = false.into();
        }
    }
    components
});

/// Asserts that an answer is one that the document tells of. A path or method that it does not know is
/// 404 or 405.
pub fn check(method: &str, path: &str, answer: &Answer) {
    let Some((template, operation)) = operation_of(method, path) else {
        assert!(
            matches!(answer.status, 404 | 405 | 408 | 413 | 431 | 503),
            "{method} {path} is not documented"
        );
        return;
    };
    // A node that only works knows no routes but the system's.
    if answer.body["message"] == "there is no such route" {
        return;
    }
    let status = answer.status.to_string();
    let response = resolved(&operation["responses"][&status]);
    assert!(response.is_object(), "{method} {template} does not tell of {status}: {}", answer.body);
    let media = answer.header("content-type").split(';').next().unwrap();
    let content = &response["content"][media];
    assert!(content.is_object(), "{method} {template} {status} does not tell of {media}");
    for (name, header) in response["headers"].as_object().into_iter().flatten() {
        let required = resolved(header)["required"] == true;
        assert!(!required || answer.headers.contains_key(name), "{method} {template} {status} lacks {name}");
    }
    if let Some(schema) = content.get("schema") {
        let validator = validator(format!("{method} {template} {status} {media}"), schema);
        let problems: Vec<String> = validator
            .iter_errors(&answer.body)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{method} {template} {status}: {problems:#?} in {}", answer.body);
    }
}

fn validator(name: String, schema: &Value) -> Arc<Validator> {
    static KNOWN: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let compile = || {
        let schema = json!({ "allOf": [schema], "components": *COMPONENTS });
        Arc::new(jsonschema::draft202012::new(&schema).unwrap())
    };
    known.entry(name).or_insert_with(compile).clone()
}

fn resolved(value: &'static Value) -> &'static Value {
    let target = value["$ref"].as_str().map(|path| DOCUMENT.pointer(path.trim_start_matches('#')).unwrap());
    target.unwrap_or(value)
}

/// Every operation with its method and its path.
fn operations() -> impl Iterator<Item = (String, &'static str, &'static Value)> {
    DOCUMENT["paths"].as_object().unwrap().iter().flat_map(|(path, methods)| {
        let of =
            move |(method, operation): (&String, _)| (method.to_ascii_uppercase(), path.as_str(), operation);
        methods.as_object().unwrap().iter().map(of)
    })
}

fn operation_of(method: &str, path: &str) -> Option<(&'static str, &'static Value)> {
    let full = format!("/v1{path}");
    let fits = |template: &str, path: &str| {
        template.split('/').count() == path.split('/').count()
            && template
                .split('/')
                .zip(path.split('/'))
                .all(|(wanted, found)| wanted.starts_with('{') || wanted == found)
    };
    let mut known: Vec<_> = operations()
        .filter(|(known, template, _)| known == method && (fits(template, path) || fits(template, &full)))
        .map(|(_, template, operation)| (template, operation))
        .collect();
    // A fixed segment comes before a variable.
    known.sort_by_key(|(template, _)| template.matches('{').count());
    known.first().copied()
}

/// A path with identifiers that are nobody's.
fn path_of(template: &str) -> String {
    let absent = |segment: &str| match segment.starts_with('{') {
        true => "0198c0de-0000-7000-8000-000000000000".to_owned(),
        false => segment.to_owned(),
    };
    template.split('/').map(absent).collect::<Vec<_>>().join("/")
}

/// What every operation refuses, and how: no key, a wrong one, two that differ, parameters that are unknown,
/// empty or given twice, bodies that are no JSON, of another type, or with members that it does not know,
/// another method, and things that are not there.
#[tokio::test]
async fn every_operation_refuses_what_all_refuse() {
    let world = World::with(|config| config.rates.enforced = false).await;
    let key = world.ready_account("acme").await;
    let nif = world.key("acme", &["nif:read"]).await;
    let partner = world.key("acme", &["partner:tenants:read", "partner:tenants:write"]).await;
    for (method, template, operation) in operations() {
        let path = path_of(template);
        let name = format!("{method} {template}");
        let scheme = operation["security"][0].as_object().and_then(|schemes| schemes.keys().next()).cloned();
        let key = match operation["security"][0]["apiKey"][0].as_str() {
            Some(scope) if scope.starts_with("partner:") => &partner,
            Some("nif:read") => &nif,
            _ => &key,
        };
        let ask = |path: &str| {
            let ask = world.ask(&method, path);
            match scheme.as_deref() {
                Some("adminKey") => ask.admin(),
                Some(_) => ask.key(key),
                None => ask,
            }
        };
        if scheme.is_some() {
            world.ask(&method, &path).send().await.fails(401, "api_key_missing");
            let wrong = world.ask(&method, &path).header("x-api-key", "wrong").header("x-admin-key", "wrong");
            wrong.send().await.fails(401, "api_key_invalid");
        }
        if scheme.as_deref() == Some("apiKey") {
            let two = world.ask(&method, &path).key(key).header("authorization", "Bearer vf_other");
            two.send().await.fails(400, "auth_ambiguous");
        }
        let other = ["GET", "POST", "PUT", "PATCH", "DELETE"].into_iter().find(|other| {
            operations().all(|(known, path, _)| path != template || known != *other) && *other != method
        });
        if let Some(other) = other {
            world.ask(other, &path).send().await.fails(405, "method_not_allowed");
        }
        // A child account is looked for before anything else.
        if template.contains('{') && template.starts_with("/v1/partner/") {
            ask(&path).send().await.fails(404, "not_found");
            continue;
        }
        let unknown = ask(&format!("{path}?color=rojo")).send().await;
        unknown.fails(400, "validation_failed");
        assert_eq!(unknown.fields(), ["color"], "{name}");
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        for parameter in parameters.filter(|parameter| parameter["in"] == "query") {
            let parameter = parameter["name"].as_str().unwrap();
            for query in [format!("{parameter}=1&{parameter}=1"), format!("{parameter}=")] {
                let answer = ask(&format!("{path}?{query}")).send().await;
                answer.fails(400, "validation_failed");
                assert_eq!(answer.fields(), [parameter], "{name}?{query}");
            }
        }
        if operation["requestBody"].is_object() && !template.contains('{') {
            ask(&path).bytes("text/csv", b"a,b".to_vec()).await.fails(415, "unsupported_media_type");
            ask(&path).text("{").await.fails(400, "invalid_json");
            let stranger = ask(&path).idempotency("walk").text(r#"{"color":"rojo"}"#).await;
            stranger.fails(400, "validation_failed");
            assert!(stranger.fields().contains(&"color"), "{name}: {}", stranger.body);
        }
        // What is put there need not be there.
        if template.contains('{') && !operation["requestBody"].is_object() && method != "PUT" {
            ask(&path).send().await.fails(404, "not_found");
        }
    }
}

/// The examples of invoices are true: the service takes them as they stand.
#[tokio::test]
async fn the_examples_are_taken() {
    let world = World::with(|config| config.rates.enforced = false).await;
    let key = world.ready_account("acme").await;
    let nif = world.key("acme", &["nif:read"]).await;
    let partner = world.key("acme", &["partner:tenants:read", "partner:tenants:write"]).await;
    let mut taken = 0;
    let mut all: Vec<_> = operations().filter(|(_, template, _)| !template.contains('{')).collect();
    // A preview shows the record of an invoice that was not sent yet.
    all.sort_by_key(|(_, template, _)| !template.ends_with("/preview"));
    for (method, template, operation) in all {
        let example = &operation["requestBody"]["content"]["application/json"]["example"];
        if !example.is_object() || template.ends_with("/certificate") {
            continue;
        }
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let problems = validator(format!("{method} {template} body"), schema);
        assert!(problems.is_valid(example), "{template}: the example does not fit its schema");
        let ask = world.ask(&method, template);
        let ask = match operation["security"][0]["apiKey"][0].as_str() {
            Some(scope) if scope.starts_with("partner:") => ask.key(&partner),
            Some("nif:read") => ask.key(&nif),
            Some(_) => ask.key(&key).idempotency(template),
            None => ask.admin(),
        };
        let answer = ask.json(example).await;
        assert_eq!(answer.status / 100, 2, "{template}: {}", answer.body);
        taken += 1;
    }
    assert!(taken >= 8, "only {taken} examples were found");
}

#[tokio::test]
async fn the_contract_is_served_as_data_and_as_a_page() {
    let world = World::new().await;
    assert_eq!(world.ask("GET", "/openapi.json").send().await.expect(200), *DOCUMENT);
    let page = world.ask("GET", "/docs").send().await;
    assert!(page.header("content-type").starts_with("text/html"), "{:?}", page.headers);
    let page = String::from_utf8(page.bytes).unwrap();
    for (_, template, operation) in operations() {
        let id = operation["operationId"].as_str().unwrap();
        assert!(page.contains(&format!("<section id=\"{id}\">")) && page.contains(template), "{template}");
    }
}

/// Every code is some operation's, but for those that come before any operation is known.
#[test]
fn every_code_is_told() {
    let mut told: BTreeSet<String> = ["method_not_allowed"].map(str::to_owned).into();
    for (_, _, operation) in operations() {
        for response in operation["responses"].as_object().unwrap().values().map(resolved) {
            let codes = &response["content"]["application/json"]["schema"]["properties"]["code"]["enum"];
            told.extend(codes.as_array().into_iter().flatten().map(|code| code.as_str().unwrap().to_owned()));
        }
    }
    let missing: Vec<_> = ErrorCode::ALL.iter().filter(|code| !told.contains(code.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Where an object stands in a body, and the names that its schema knows.
fn places(schema: &'static Value, place: Vec<String>, found: &mut Vec<(Vec<String>, BTreeSet<String>)>) {
    let schema = resolved(schema);
    for one in schema["anyOf"].as_array().into_iter().flatten() {
        if one.get("$ref").is_some() {
            places(one, place.clone(), found);
        }
    }
    if let Some(items) = schema.get("items") {
        let mut inside = place.clone();
        inside.push("[0]".to_owned());
        places(items, inside, found);
    }
    let Some(properties) = schema["properties"].as_object() else { return };
    found.push((place.clone(), properties.keys().cloned().collect()));
    for (name, property) in properties {
        let mut inside = place.clone();
        inside.push(name.clone());
        places(property, inside, found);
    }
}

/// Every word in quotation marks where bodies are read: more than the readers know, and all they know.
fn words() -> BTreeSet<String> {
    let folder = workspace().join("verifactu-core/src/api");
    let texts = ["names.rs", "parts.rs", "send.rs", "cancel.rs", "object.rs"]
        .map(|file| std::fs::read_to_string(folder.join(file)).unwrap());
    let words = texts.iter().flat_map(|text| text.split('"'));
    let is_name = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric());
    words.filter(is_name).map(str::to_owned).collect()
}

/// The schemas of invoice and cancellation know the fields that their readers know, at every place, and no
/// others.
#[test]
fn the_schemas_know_what_the_readers_know() {
    let words = words();
    assert!(words.len() > 60 && words.contains("destIdOtro"), "the readers were not read");
    for name in ["SendInvoice", "CancelInvoice"] {
        let read = |body: &Value| -> Vec<Detail> {
            let json = Json::parse(body.to_string().as_bytes()).unwrap();
            let defaults = Defaults { issuer_name: None, today: today(), demoted: &[] };
            match name {
                "SendInvoice" => SendRequest::read(&json, &defaults).map(|_| ()),
                _ => CancelRequest::read(&json, &defaults).map(|_| ()),
            }
            .unwrap_err()
        };
        let mut found = Vec::new();
        places(&DOCUMENT["components"]["schemas"][name], Vec::new(), &mut found);
        assert!(found.len() > 3, "{name}: {found:?}");
        for (place, known) in found {
            for word in words.iter().chain(&known) {
                let mut body = json!({ word.clone(): null, "padding": 1 });
                for step in place.iter().rev() {
                    body = if step == "[0]" { json!([body]) } else { json!({ step.clone(): body }) };
                }
                let at = place.iter().fold(String::new(), |at, step| match step.as_str() {
                    "[0]" => at + step,
                    _ if at.is_empty() => step.clone(),
                    _ => at + "." + step,
                });
                let field = if at.is_empty() { word.clone() } else { format!("{at}.{word}") };
                let refused = read(&body)
                    .iter()
                    .any(|detail| detail.field == field && detail.message == "unknown field");
                assert_eq!(refused, !known.contains(word), "{name}: {field}");
            }
        }
    }
}

/// Invoices have a test of their own, without the service.
const INVOICES: [&str; 3] = ["/v1/send-invoice", "/v1/cancel-invoice", "/v1/invoices/preview"];

/// Every word in quotation marks that begins the arguments of a function, where requests are read.
fn arguments() -> BTreeSet<String> {
    let folder = workspace().join("verifactu-server/src/api");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let texts: Vec<String> = files
        .filter(|file| file.extension().is_some_and(|ending| ending == "rs"))
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect();
    let words =
        texts.iter().flat_map(|text| text.split("(\"").skip(1)).filter_map(|rest| rest.split('"').next());
    let is_name = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric());
    words.filter(is_name).map(str::to_owned).collect()
}

/// Every other request's schema knows the members that its reader knows, at every place, and no others: each
/// word that any request or reader knows is sent to each, beside one that nobody knows.
#[tokio::test]
async fn the_schemas_of_requests_know_what_their_readers_know() {
    let world = World::with(|config| config.rates.enforced = false).await;
    let key = world.ready_account("acme").await;
    let nif = world.key("acme", &["nif:read"]).await;
    let partner =
        world.account(json!({ "id": "firm" }), &["partner:tenants:read", "partner:tenants:write"]).await;
    world.account(json!({ "id": "child", "parentTenantId": "firm" }), SCOPES).await;
    let mut requests = Vec::new();
    for (method, template, operation) in operations().filter(|(_, path, _)| !INVOICES.contains(path)) {
        let Some(schema) = operation.pointer("/requestBody/content/application~1json/schema") else {
            continue;
        };
        let mut found = Vec::new();
        places(schema, Vec::new(), &mut found);
        // One of two bodies may stand at the same place.
        let mut known = std::collections::BTreeMap::<Vec<String>, BTreeSet<String>>::new();
        for (place, names) in found.into_iter().filter(|(place, _)| !place.contains(&"body".to_owned())) {
            known.entry(place).or_default().extend(names);
        }
        assert!(!known.is_empty(), "{method} {template}");
        requests.push((method, template, operation, known));
    }
    assert!(requests.len() >= 11, "{}", requests.len());
    let mut words = arguments();
    words.extend(requests.iter().flat_map(|(.., known)| known.values().flatten().cloned()));
    assert!(
        ["pfxPassphrase", "representante", "scopes", "fechaFinVeriFactu"].iter().all(|w| words.contains(*w))
    );
    for (method, template, operation, known) in requests {
        let path = template.replace("{nif}", ISSUER);
        let variable = |segment: &str| if segment.starts_with('{') { "child" } else { segment }.to_owned();
        let path = path.split('/').map(variable).collect::<Vec<_>>().join("/");
        for (place, names) in known {
            for word in &words {
                let mut body = json!({ word.clone(): 0, "padding": 0 });
                for step in place.iter().rev() {
                    body = if step == "[0]" { json!([body]) } else { json!({ step.clone(): body }) };
                }
                let ask = world.ask(&method, &path);
                let ask = match operation["security"][0]["apiKey"][0].as_str() {
                    Some(scope) if scope.starts_with("partner:") => ask.key(&partner),
                    Some("nif:read") => ask.key(&nif),
                    Some(_) => ask.key(&key),
                    None => ask.admin(),
                };
                let answer = ask.json(&body).await;
                // A batch tells of each of its items apart.
                let item = &answer.body["items"][0]["error"];
                let error = if item.is_object() { item } else { &answer.body };
                let unknown: Vec<&str> = error["details"]
                    .as_array()
                    .unwrap_or_else(|| panic!("{method} {template} took {body}: {}", answer.body))
                    .iter()
                    .filter(|detail| detail["message"] == "unknown field")
                    .map(|detail| detail["field"].as_str().unwrap().rsplit('.').next().unwrap())
                    .collect();
                assert!(unknown.contains(&"padding"), "{method} {template} {place:?}: {}", answer.body);
                assert_eq!(
                    unknown.contains(&word.as_str()),
                    !names.contains(word),
                    "{method} {template} {place:?} {word}: {}",
                    answer.body
                );
            }
        }
    }
}

/// Without the scope of a route there is 403, and the answer names it.
#[tokio::test]
async fn every_scope_is_asked_for() {
    let world = World::with(|config| config.rates.enforced = false).await;
    let writer = world.account(json!({ "id": "acme" }), &["tenant:certificates:read"]).await;
    let reader = world.key("acme", &SCOPES[1..2]).await;
    for (method, template, operation) in operations() {
        let Some(scope) = operation["security"][0]["apiKey"][0].as_str() else { continue };
        let key = if scope == "tenant:certificates:read" { &reader } else { &writer };
        let answer = world.ask(&method, &path_of(template)).key(key).send().await;
        answer.fails(403, "insufficient_scope");
        assert_eq!(answer.body["required"], scope, "{method} {template}");
    }
}
