//! What works without a service.

use std::fs;

use harness::records;
use serde_json::json;
use verifactu_core::xml::record;

use crate::place::{invoice, run, tool};

#[tokio::test]
async fn bodies_become_chained_records() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let mut body = invoice("1");
    write("bare.json", &body.to_string());
    assert_eq!(run(tool(folder.path()), &["validate", "bare.json"]).await.0, 0);
    let time = ["--time", "2026-01-15T10:00:00+01:00"];
    let (code, hash) = run(tool(folder.path()), &["hash", "bare.json", time[0], time[1]]).await;
    assert_eq!(code, 0, "{hash}");
    assert_eq!(run(tool(folder.path()), &["xml", "bare.json"]).await.0, 5, "no system is made up");

    body["fecha"] = "32-01-2026".into();
    body["desglose"][0]["calif"] = "X".into();
    write("wrong.json", &body.to_string());
    let (code, found) = run(tool(folder.path()), &["validate", "wrong.json"]).await;
    assert_eq!(code, 1);
    assert!(found["details"].as_array().unwrap().len() >= 2, "{found}");
}

#[tokio::test]
async fn chains_are_walked_in_both_forms() {
    let folder = tempfile::tempdir().unwrap();
    let chain: Vec<String> =
        records::chain(3).iter().map(|record| String::from_utf8(record::to_vec(record)).unwrap()).collect();
    let lines: String = chain.iter().map(|xml| format!("{}\n", json!({"xml": xml}))).collect();
    let wrapped = format!("<export>{}</export>", chain.concat());
    for (name, text) in [("chain.ndjson", lines), ("chain.xml", wrapped)] {
        fs::write(folder.path().join(name), &text).unwrap();
        let (code, found) = run(tool(folder.path()), &["verify-chain", name]).await;
        assert_eq!((code, &found["checked"]), (0, &3.into()), "{found}");
        let second = text.replacen("A-000002</NumSerieFactura><F", "A-000009</NumSerieFactura><F", 1);
        assert_ne!(second, text);
        fs::write(folder.path().join(name), second).unwrap();
        let (code, found) = run(tool(folder.path()), &["verify-chain", name]).await;
        assert_eq!((code, &found["position"]), (1, &2.into()), "{found}");
    }
    // The huella does not cover the installation, so the same records make a chain of another one.
    let here = format!("<NumeroInstalacion>{}</NumeroInstalacion>", records::system().installation);
    let others = chain.iter().map(|xml| xml.replace(&here, "<NumeroInstalacion>other</NumeroInstalacion>"));
    let both: String = chain.iter().cloned().zip(others).map(|(one, other)| one + &other).collect();
    fs::write(folder.path().join("both.xml"), format!("<export>{both}</export>")).unwrap();
    let (code, found) = run(tool(folder.path()), &["verify-chain", "both.xml"]).await;
    assert_eq!((code, &found["checked"], &found["chains"]), (0, &6.into(), &2.into()), "{found}");

    fs::write(folder.path().join("plain.xml"), &chain[0]).unwrap();
    assert_eq!(run(tool(folder.path()), &["verify-signature", "plain.xml"]).await.0, 1);
}
