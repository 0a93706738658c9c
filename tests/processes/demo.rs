//! The demonstration: what it says, and what it sends.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use harness::programs::{assert_valid_envelopes, assert_verifies, program, said, workspace};
use serde_json::Value;
use verifactu_core::signature;

fn demo(arguments: &[&str]) -> std::process::Output {
    Command::new(program("verifactu-server"))
        .args(["demo", "--once"])
        .args(arguments)
        .current_dir(workspace())
        .output()
        .unwrap()
}

#[test]
fn every_invoice_comes_out_as_its_file_says_and_every_message_is_valid() {
    let dump = tempfile::tempdir().unwrap();
    let output = demo(&["--json", "--dump", dump.path().to_str().unwrap()]);
    assert!(output.status.success(), "{}", said(&output));
    let lines: Vec<Value> =
        said(&output).lines().map(|line| serde_json::from_str(line).expect("only JSON lines")).collect();
    let (summary, invoices) = lines.split_last().unwrap();
    let files = fs::read_dir(workspace().join("examples/invoices")).unwrap().count();
    assert_eq!(invoices.len(), files);
    assert!(invoices.iter().all(|invoice| invoice["ok"] == true), "{invoices:#?}");
    let sent = files - 1;
    assert_eq!(
        summary["summary"],
        serde_json::json!({"sent": sent, "succeeded": sent, "failed": 0, "chainValid": true})
    );
    let example = invoices.iter().find(|invoice| invoice["numSerie"] == "12345678-G66").unwrap();
    assert_eq!(example["huella"], "FF954378B64ED331A9B2366AD317D86E9DEC1716B12DD0ACCB172A6DC4C105AA");

    let messages = files_of(dump.path(), "request.xml");
    let answers = files_of(dump.path(), "answer.xml");
    assert_eq!(messages.len(), answers.len());
    assert_valid_envelopes(&messages);
    assert_valid_envelopes(&answers);
    let records: Vec<String> = messages.iter().flat_map(|message| records_of(message)).collect();
    assert_eq!(records.len(), sent);
    for (number, record) in records.iter().enumerate() {
        let verified = signature::verify(record.as_bytes()).unwrap();
        assert_eq!(verified.certificate.holder.nif().unwrap().as_str(), "B12345674");
        let file = dump.path().join(format!("record-{number}.xml"));
        fs::write(&file, record).unwrap();
        assert_verifies(&file);
    }
}

#[test]
fn an_invoice_that_comes_out_otherwise_fails_the_demonstration() {
    let invoices = tempfile::tempdir().unwrap();
    let file = |name: &str, expected: &str| {
        let content = serde_json::json!({
            "title": "A ticket",
            "send": {"nif": "B12345674", "numSerie": name, "fecha": "15-01-2026", "tipoFactura": "F2",
                "descripcion": "Ticket",
                "desglose": [{"clave": "01", "calif": "S1", "base": "10", "tipo": "21", "cuota": "2.1"}]},
            "expect": {"state": expected}
        });
        fs::write(invoices.path().join(format!("{name}.json")), content.to_string()).unwrap();
    };
    file("T-1", "SUCCEEDED");
    file("T-2", "DEAD");
    let output = demo(&["--json", "--invoices", invoices.path().to_str().unwrap()]);
    assert!(!output.status.success());
    let text = said(&output);
    let summary: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(summary["summary"]["failed"], 1);
    assert_eq!(summary["summary"]["succeeded"], 2);
}

#[test]
fn a_second_run_on_the_same_data_sends_nothing_twice() {
    let data = tempfile::tempdir().unwrap();
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for dump in [&first, &second] {
        let folders = ["--data", data.path().to_str().unwrap(), "--dump", dump.path().to_str().unwrap()];
        let output = demo(&folders);
        assert!(output.status.success(), "{}", said(&output));
    }
    assert!(!files_of(first.path(), "request.xml").is_empty());
    assert!(files_of(second.path(), "request.xml").is_empty());
}

fn files_of(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.to_string_lossy().ends_with(ending));
    files.sort();
    files
}

/// The records of a message, cut out as they stand.
fn records_of(message: &Path) -> Vec<String> {
    let text = fs::read_to_string(message).unwrap();
    text.split("<RegistroFactura>")
        .skip(1)
        .map(|part| part.split("</RegistroFactura>").next().unwrap().to_owned())
        .collect()
}
