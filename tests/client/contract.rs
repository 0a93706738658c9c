//! The client against the service's own OpenAPI document: every operation has its method, and no method
//! asks for anything else.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde_json::Value;

/// What is for people, monitors and tools.
const NOT_FOR_CLIENTS: &[&str] = &["/docs", "/metrics", "/openapi.json"];
/// Schemas that the client has under another name: a job with what was accepted, and lists of months.
const OTHERWISE: &[(&str, &str)] =
    &[("WaitedJob", "Job"), ("MonthlyLedgerMonths", "MonthlyLedger"), ("MonthlyUsageMonths", "MonthlyUsage")];
/// Where the paths of the partner's routes begin, which its file leaves out.
const CHILD: &str = "/partner/tenants/{}";

fn document() -> Value {
    serde_json::from_str(verifactu_server::openapi::document()).unwrap()
}

/// `/jobs/{}` for `/v1/jobs/{jobId}` and for `/jobs/{id}`.
fn shape(path: &str) -> String {
    let path = path.strip_prefix("/v1").unwrap_or(path);
    let path = path.split('?').next().unwrap_or_default();
    let segments = path.split('/').map(|segment| if segment.starts_with('{') { "{}" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

/// The sources of the library by their names.
fn sources() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("verifactu-client/src");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect()
}

#[test]
fn the_routes_are_those_of_the_document() {
    let document = document();
    let served: BTreeSet<String> =
        document["paths"].as_object().unwrap().keys().map(|path| shape(path)).collect();
    let served = served.into_iter().filter(|path| !NOT_FOR_CLIENTS.contains(&path.as_str()));
    let mut called = BTreeSet::new();
    for (name, text) in sources() {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            for literal in line.split('"').skip(1).step_by(2).filter(|literal| literal.starts_with('/')) {
                let own = name == "partner" && !literal.starts_with("/partner");
                called.insert(shape(&if own { format!("{CHILD}{literal}") } else { literal.to_owned() }));
            }
        }
    }
    called.remove("/");
    called.remove(&format!("{CHILD}{{}}"));
    called.remove("");
    assert_eq!(called, served.collect());
}

#[test]
fn the_answers_are_read_as_what_the_document_says() {
    let document = document();
    let sources: String = sources().into_values().collect();
    let mut unread = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        if NOT_FOR_CLIENTS.contains(&path.as_str()) {
            continue;
        }
        for operation in operations.as_object().unwrap().values() {
            for name in named(&document, &operation["responses"]) {
                if !sources.contains(&name) {
                    unread.insert(format!("{path}: {name}"));
                }
            }
        }
    }
    assert!(unread.is_empty(), "the client reads no such answer: {unread:#?}");
}

/// The names of the schemas of an operation's successes.
fn named(document: &Value, responses: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let Some(responses) = responses.as_object() else { return names };
    for (_, response) in responses.iter().filter(|(status, _)| status.starts_with('2')) {
        let response = response["$ref"]
            .as_str()
            .map_or(response, |to| document.pointer(to.trim_start_matches('#')).unwrap());
        collect(&response["content"]["application/json"]["schema"], &mut names);
    }
    names.remove("Envelope");
    names
}

fn collect(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(name) = members.get("$ref").and_then(|to| to.as_str()?.rsplit('/').next()) {
                // The answer that carries a `Job` is called `JobAnswer`.
                let name = name.strip_suffix("Answer").unwrap_or(name);
                names.insert(
                    OTHERWISE
                        .iter()
                        .find(|(one, _)| *one == name)
                        .map_or(name, |(_, other)| other)
                        .to_owned(),
                );
            }
            members.values().for_each(|member| collect(member, names));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        _ => {}
    }
}
