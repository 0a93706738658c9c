//! The OpenAPI document of the service, made of the route table and the wire types it runs on.
//!
//! Nothing of a shape is written here: paths, callers, parameters and errors are the rows', schemas the
//! types', codes and statuses those of the one match that answers failures.

mod errors;
mod page;
mod webhooks;

pub(crate) use page::page;

use std::sync::LazyLock;

use schemars::{
    SchemaGenerator,
    generate::{Contract, SchemaSettings},
};
use serde_json::{Map, Value, json};

use verifactu_core::{
    api::Scope,
    types::{Environment, RequestId},
};

use crate::api::{ACT_AS, Body, Endpoint, Header, Parameter, RATE, ROUTES, Route, Shape, Success, shape};

/// The document, as `GET /openapi.json` gives it.
#[must_use]
pub fn document() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| tree().to_string());
    &TEXT
}

/// The document as a tree.
pub(crate) fn tree() -> &'static Value {
    static TREE: LazyLock<Value> = LazyLock::new(build);
    &TREE
}

const JSON: &str = "application/json";

const TITLE: &str = "VERI*FACTU service";

const ABOUT: &str = "Takes invoices and cancellations, makes chained records of them, and sends these to the \
    Spanish tax agency (AEAT).\n\n\
    Every route below /v1 also answers without that prefix, with the headers Deprecation (RFC 9745) and \
    Link (rel=\"successor-version\").\n\n\
    Every answer carries a requestId, in its JSON body and in X-Request-Id; support finds a request by it. \
    A failure is a document with code, message and, where fields are wrong, details; with Accept: \
    application/problem+json it is one of RFC 9457. A path that does not exist is 404 not_found, another method \
    405 method_not_allowed with Allow; HEAD is another method too.\n\n\
    Amounts are numbers or decimal strings, and read as decimals, never as floats. Times are ISO 8601 in UTC, \
    invoice dates DD-MM-YYYY. Unknown members, members given twice and unknown parameters are refused by name; \
    null stands for absent.";

/// The groups of operations, by the beginning of their paths.
const GROUPS: &[(&str, &str, &[&str])] = &[
    (
        "Invoices",
        "Sending, cancelling and trying out",
        &["/send-invoice", "/cancel-invoice", "/invoices", "/batches", "/verify-nif"],
    ),
    ("Jobs", "What became of requests", &["/jobs"]),
    ("Account", "What belongs to the account behind the key", &["/me"]),
    ("Partner", "A partner's child accounts", &["/partner"]),
    ("Operator", "What only the operator may do, each call written to the audit log", &["/admin"]),
    ("System", "The service itself; no version, no key", &[""]),
];

/// Schemas of what is read, and of what is written.
struct Schemas {
    read: SchemaGenerator,
    written: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let of = |contract| {
            let mut settings = SchemaSettings::draft2020_12();
            settings.definitions_path = "/components/schemas".into();
            settings.contract = contract;
            settings.into_generator()
        };
        Self { read: of(Contract::Deserialize), written: of(Contract::Serialize) }
    }

    fn read(&mut self, shape: Shape) -> Value {
        shape(&mut self.read).to_value()
    }

    fn written(&mut self, shape: Shape) -> Value {
        shape(&mut self.written).to_value()
    }

    /// All that were referred to, by name.
    fn named(mut self) -> Map<String, Value> {
        let mut all = self.written.take_definitions(true);
        all.extend(self.read.take_definitions(true));
        all.sort_keys();
        all.values_mut().for_each(without_code);
        all
    }
}

/// A description without the examples in Rust that its type has.
fn without_code(schema: &mut Value) {
    if let Some(Value::String(text)) = schema.get_mut("description")
        && let Some(at) = text.find("\n\n```")
    {
        text.truncate(at);
    }
}

fn build() -> Value {
    let mut schemas = Schemas::new();
    let mut errors = errors::Errors::new(&mut schemas);
    let mut paths = Map::new();
    for route in ROUTES {
        let operation = operation(route, &mut schemas, &mut errors);
        let path = paths.entry(full_path(route)).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = operation;
    }
    let webhooks = webhooks::all(&mut schemas);
    json!({
        "openapi": "3.1.1",
        "info": {
            "title": TITLE,
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "tags": GROUPS.iter().filter(|group| ROUTES.iter().any(|route| group_of(route) == group.0))
            .map(|(name, about, _)| json!({ "name": name, "description": about })).collect::<Vec<_>>(),
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "securitySchemes": {
                "apiKey": {
                    "type": "apiKey", "in": "header", "name": "x-api-key",
                    "description": "The key of an account, `vf_…`, with the scopes that a route names.",
                },
                "bearer": { "type": "http", "scheme": "bearer", "description": "The same key." },
                "adminKey": {
                    "type": "apiKey", "in": "header", "name": "x-admin-key",
                    "description": "The operator's key.",
                },
                "actAs": {
                    "type": "apiKey", "in": "header", "name": ACT_AS.as_str(),
                    "description": "The account of the web application that a caller with the operator's key acts for.",
                },
            },
            "headers": common_headers(&mut schemas),
            "responses": errors.into_responses(),
            "schemas": schemas.named(),
        },
    })
}

/// `/v1/jobs/{id}` of a row's `/jobs/:id`.
fn full_path(route: &Route) -> String {
    let segments = route.path.split('/').map(|segment| match segment.strip_prefix(':') {
        Some(name) => format!("{{{name}}}"),
        None => segment.to_owned(),
    });
    let path = segments.collect::<Vec<_>>().join("/");
    match route.endpoint {
        Endpoint::Anyone(_) => path,
        _ => format!("/v1{path}"),
    }
}

fn group_of(route: &Route) -> &'static str {
    let begins = |start: &&str| {
        route.path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    GROUPS.iter().find(|group| group.2.iter().any(&begins)).map_or("System", |group| group.0)
}

fn operation(route: &Route, schemas: &mut Schemas, errors: &mut errors::Errors) -> Value {
    let row = &route.operation;
    let docs: Vec<&str> = route.docs.iter().map(|line| line.trim()).collect();
    let (summary, description) = docs.split_first().map_or(("", ""), |(first, _)| (*first, ""));
    let description =
        docs.iter().skip(1).fold(description.to_owned(), |text, line| match (text.as_str(), *line) {
            ("", line) => line.to_owned(),
            (_, "") => text + "\n\n",
            (_, line) if text.ends_with('\n') => text + line,
            (_, line) => text + " " + line,
        });
    let mut operation = json!({
        "operationId": operation_id(route),
        "tags": [group_of(route)],
        "summary": summary.trim_end_matches('.'),
    });
    if !description.is_empty() {
        operation["description"] = description.into();
    }
    let mut parameters: Vec<Value> = variables(route.path);
    parameters.extend(row.query.iter().map(|query| parameter(query, "query", schemas)));
    parameters.extend(row.headers.iter().map(|header| parameter(header, "header", schemas)));
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if !row.takes.is_empty() {
        let content: Map<String, Value> =
            row.takes.iter().map(|body| (body.media.to_owned(), content(body, schemas))).collect();
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    operation["responses"] = responses(route, schemas, errors);
    match &route.endpoint {
        Endpoint::Key(scope, ..) => {
            let [key, bearer] = keyed(*scope);
            operation["security"] = json!([key, bearer, { "adminKey": [], "actAs": [] }]);
        }
        Endpoint::Child(scope, ..) => operation["security"] = json!(keyed(Some(*scope))),
        Endpoint::Operator(_) => operation["security"] = json!([{ "adminKey": [] }]),
        Endpoint::Anyone(_) => {}
    }
    operation
}

/// What answers names the operation; for a child account it is another one.
fn operation_id(route: &Route) -> String {
    let name = route.name.replace("::", "_").replace(' ', "");
    match route.endpoint {
        Endpoint::Child(..) if !name.ends_with("_child") => name + "_of_child",
        _ => name,
    }
}

fn keyed(scope: Option<Scope>) -> [Value; 2] {
    let scopes: Vec<_> = scope.iter().map(|scope| scope.as_str()).collect();
    ["apiKey", "bearer"].map(|scheme| json!({ scheme: scopes }))
}

/// The variables of a path. Any text is looked up; what cannot be an identifier is not found.
fn variables(path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|segment| segment.strip_prefix(':'));
    let one = |name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string", "minLength": 1 } });
    names.map(one).collect()
}

fn parameter(parameter: &Parameter, place: &str, schemas: &mut Schemas) -> Value {
    json!({
        "name": parameter.name,
        "in": place,
        "description": parameter.about,
        "required": parameter.required,
        "schema": schemas.read(parameter.shape),
    })
}

fn content(body: &Body, schemas: &mut Schemas) -> Value {
    let mut content = json!({ "schema": schemas.read(body.shape) });
    if let Some(example) = body.example.and_then(|text| serde_json::from_str::<Value>(text).ok()) {
        content["example"] = example;
    }
    content
}

fn responses(route: &Route, schemas: &mut Schemas, errors: &mut errors::Errors) -> Value {
    let row = &route.operation;
    let mut all = Map::new();
    let kinds = [(Success::Ok, "Done", row.ok), (Success::Created, "Created", row.created)];
    for (success, about, shape) in kinds.into_iter().chain([(Success::Accepted, "Accepted", row.accepted)]) {
        let files = row.files.iter().filter(|_| success == Success::Ok);
        let mut content: Map<_, _> = files.map(|media| ((*media).to_owned(), json!({}))).collect();
        if let Some(shape) = shape {
            content.insert(JSON.to_owned(), json!({ "schema": schemas.written(shape) }));
        }
        if content.is_empty() {
            continue;
        }
        let mut headers = every_header();
        let keyed = matches!(route.endpoint, Endpoint::Key(..) | Endpoint::Child(..));
        for header in RATE.iter().filter(|_| keyed).chain(row.gives) {
            headers.insert(header.name.to_owned(), shown(header, schemas));
        }
        let answer = json!({ "description": about, "headers": headers, "content": content });
        all.insert(success.status().as_str().to_owned(), answer);
    }
    errors.add(route, &mut all);
    all.into()
}

fn shown(header: &Header, schemas: &mut Schemas) -> Value {
    json!({ "description": header.about, "required": header.always, "schema": schemas.written(header.shape) })
}

/// The headers of every answer, as components.
const EVERY: &[&str] = &["X-Request-Id", "X-Verifactu-Environment", "Cache-Control"];

fn every_header() -> Map<String, Value> {
    let link = |name: &&str| ((*name).to_owned(), json!({ "$ref": format!("#/components/headers/{name}") }));
    EVERY.iter().map(link).collect()
}

fn common_headers(schemas: &mut Schemas) -> Value {
    let header = |about, schema: Value| json!({ "description": about, "required": true, "schema": schema });
    let [request, environment, cache] = EVERY else { return json!({}) };
    json!({
        *request: header("Identifies the request, for support.", schemas.written(shape::<RequestId>)),
        *environment: header("Which of the authority's worlds the service works for.", schemas.written(shape::<Environment>)),
        *cache: header("Nothing may be kept.", json!({ "const": "no-store" })),
    })
}
