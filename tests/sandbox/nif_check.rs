//! The check of NIFs, from outside.

use reqwest::StatusCode;
use verifactu_server::sandbox::{Effect, Fault, MessageKind, NIF_CHECK_PATH};

use crate::bench::{Answer, Bench, client, send};
use crate::invoice::{Alta, envelope};
use crate::xmllint;

const BASE: &str =
    "www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/burt/jdit/ws/";

fn question(scheme: &str, taxpayers: &str) -> String {
    format!(
        "<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:v=\"{scheme}://{BASE}VNifV2Ent.xsd\"><e:Body><v:VNifV2Ent>{taxpayers}</v:VNifV2Ent></e:Body></e:Envelope>"
    )
}

fn taxpayer(nif: &str, name: &str) -> String {
    format!("<v:Contribuyente><v:Nif>{nif}</v:Nif><v:Nombre>{name}</v:Nombre></v:Contribuyente>")
}

async fn ask(bench: &Bench, body: String) -> Answer {
    let url = format!("{}{NIF_CHECK_PATH}", bench.sandbox.url());
    send(bench.client.post(url).body(body)).await.unwrap()
}

#[tokio::test]
async fn results_by_the_census() {
    let bench = Bench::start().await;
    let cases = [
        ("89890001K", "QUIEN SEA", "IDENTIFICADO"),
        ("A58818501", "EMPRESA &amp; CIA", "IDENTIFICADO"),
        ("22222222J", "X", "IDENTIFICADO-BAJA"),
        ("B64717838", "X", "IDENTIFICADO-REVOCADO"),
        ("11111111H", "X", "NO IDENTIFICADO"),
        ("89890001A", "X", "NO IDENTIFICADO"),
        ("87654321X", "GARCIA PEREZ ANA", "IDENTIFICADO"),
        ("87654321X", "GARCIA ANA", "NO IDENTIFICADO-SIMILAR"),
        ("87654321X", "", "NO IDENTIFICADO"),
        ("", "", "NO IDENTIFICADO"),
    ];
    let taxpayers: String = cases.iter().map(|(nif, name, _)| taxpayer(nif, name)).collect();
    for scheme in ["https", "http"] {
        let answer = ask(&bench, question(scheme, &taxpayers)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        assert!(answer.body.contains(&format!("\"{scheme}://{BASE}VNifV2Sal.xsd\"")), "{}", answer.body);
        for (element, expected) in [
            ("Nif", cases.map(|(nif, ..)| nif)),
            ("Nombre", cases.map(|(_, name, _)| name)),
            ("Resultado", cases.map(|(.., result)| result)),
        ] {
            assert_eq!(answer.texts(&format!("VNifV2Sal:{element}")), expected);
        }
        if scheme == "https" {
            xmllint::assert_valid_nif_check(&answer.body);
        }
    }
}

#[tokio::test]
async fn ten_thousand_and_no_more() {
    let bench = Bench::start().await;
    let one = taxpayer("89890001K", "X");
    let answer = ask(&bench, question("http", &one.repeat(10_000))).await;
    assert_eq!(answer.texts("VNifV2Sal:Resultado").len(), 10_000);
    ask(&bench, question("http", &one.repeat(10_001))).await.assert_fault(4113, "bloque.");
}

#[tokio::test]
async fn what_is_refused() {
    let bench = Bench::start().await;
    let one = taxpayer("89890001K", "X");
    for (taxpayers, name) in [
        (String::new(), "Contribuyente"),
        ("texto".to_owned(), "Contribuyente"),
        (one.replace("v:Contribuyente", "v:Otro"), "Otro"),
        (one.replace("<v:Nombre>X</v:Nombre>", ""), "Nombre"),
        (one.replace("<v:Nif>89890001K</v:Nif>", ""), "Nif"),
        (one.replace("</v:Nombre>", "</v:Nombre><v:Mas/>"), "Mas"),
        (one.replace("v:Nif>", "e:Nif>"), "Nif"),
    ] {
        let answer = ask(&bench, question("https", &taxpayers)).await;
        answer.assert_fault(4102, &format!(": {name}"));
        assert_eq!(answer.text("faultcode"), "env:Client");
    }
    ask(&bench, envelope(&[Alta::new("1").record()])).await.assert_fault(4102, ": VNifV2Ent");
    let elsewhere = bench.raw(question("https", &one)).await.unwrap();
    elsewhere.assert_fault(4102, ": RegFactuSistemaFacturacion");
    let url = format!("{}{NIF_CHECK_PATH}", bench.sandbox.url());
    send(bench.client.get(&url)).await.unwrap().assert_fault(4135, "GET.");
    let nobody = client(bench.sandbox.pki(), None);
    let answer = send(nobody.post(&url).body(question("https", &one))).await.unwrap();
    assert_eq!(answer.status, StatusCode::FOUND);
}

#[tokio::test]
async fn faults_reach_it_too() {
    let bench = Bench::start().await;
    bench.sandbox.arm(Fault::new(Effect::Status(503)).on(MessageKind::NifCheck));
    assert_eq!(bench.raw(envelope(&[Alta::new("1").record()])).await.unwrap().status, StatusCode::OK);
    let body = question("https", &taxpayer("89890001K", "X"));
    assert_eq!(ask(&bench, body.clone()).await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(ask(&bench, body).await.status, StatusCode::OK);
}
