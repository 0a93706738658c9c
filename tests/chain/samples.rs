//! The sample invoices are what they say: bodies that the service accepts without a warning, in an
//! order in which they can be sent, and AEAT's own example with its published huella.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;
use verifactu_core::{
    api::{CancelRequest, Defaults, Json, SendRequest},
    chain,
    record::Statement,
    types::Date,
};

struct Sample {
    name: String,
    content: Value,
}

fn samples() -> Vec<Sample> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/invoices");
    let mut samples: Vec<Sample> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            Sample {
                name: path.file_stem().unwrap().to_string_lossy().into_owned(),
                content: serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap(),
            }
        })
        .collect();
    samples.sort_by(|a, b| a.name.cmp(&b.name));
    samples
}

fn body(value: &Value) -> Json {
    Json::parse(value.to_string().as_bytes()).unwrap()
}

fn defaults() -> Defaults<'static> {
    Defaults { issuer_name: None, today: Date::parse("20-11-2026").unwrap(), demoted: &[] }
}

#[test]
fn every_sample_is_accepted_without_a_warning() {
    let mut known = BTreeSet::new();
    let mut latest = None;
    for Sample { name, content } in samples() {
        assert!(content["title"].is_string(), "{name} has no title");
        if let Some(send) = content.get("send") {
            let request =
                SendRequest::read(&body(send), &defaults()).unwrap_or_else(|e| panic!("{name}: {e:?}"));
            assert!(request.warnings.is_empty(), "{name}: {:?}", request.warnings);
            let invoice = request.invoice;
            assert_eq!(invoice.id.issuer.as_str(), "B12345674", "{name}");
            assert!(latest <= Some(invoice.id.date), "{name} is dated before the sample before it");
            latest = Some(invoice.id.date);
            for earlier in invoice.rectified.iter().chain(&invoice.replaced) {
                assert!(known.contains(earlier), "{name} speaks of {} before it was sent", earlier.number);
            }
            assert!(known.insert(invoice.id), "{name} repeats a number");
        } else if let Some(cancel) = content.get("cancel") {
            let request =
                CancelRequest::read(&body(cancel), &defaults()).unwrap_or_else(|e| panic!("{name}: {e:?}"));
            assert!(request.warnings.is_empty(), "{name}: {:?}", request.warnings);
            assert!(known.contains(&request.cancellation.id), "{name} cancels what was never sent");
        } else {
            assert_eq!(content["expect"]["mode"], "offline", "{name} has nothing to send");
            continue;
        }
        assert_eq!(content["expect"]["state"], "SUCCEEDED", "{name}");
    }
    assert!(known.len() >= 16, "{} invoices", known.len());
}

#[test]
fn offline_samples_have_their_published_huella() {
    let mut computed = 0;
    for Sample { name, content } in samples() {
        let Some(record) = content.get("record") else { continue };
        let request =
            SendRequest::read(&body(record), &defaults()).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        let stamp = request.stamp.unwrap();
        let statement = Statement::Invoice(Box::new(request.invoice));
        let huella = chain::huella(&statement, request.chain.previous.as_ref(), &stamp.generated_at);
        assert_eq!(content["expect"]["huella"], huella.as_str(), "{name}");
        assert_eq!(stamp.huella, huella, "{name}");
        computed += 1;
    }
    assert!(computed >= 1);
}
