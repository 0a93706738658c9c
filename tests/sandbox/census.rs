//! Who exists, and what follows for headers and parties.

use serde_json::json;
use verifactu_server::sandbox::{Census, Settings};

use crate::bench::Bench;
use crate::invoice::{Alta, ISSUER, RECIPIENT, envelope, envelope_with};

fn census(json: serde_json::Value) -> Settings {
    Settings { census: serde_json::from_value(json).unwrap(), ..Settings::default() }
}

#[tokio::test]
async fn the_default_knows_everybody_but_a_few() {
    let bench = Bench::start().await;
    for (index, (nif, code)) in [
        (RECIPIENT, ""),
        ("A58818501", ""),
        ("22222222J", ""),
        ("B64717838", ""),
        ("11111111H", "1110"),
        ("X1111111G", "1110"),
        ("A13585625", "1110"),
        ("87654321X", "1110"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut record = Alta::new(format!("C-{index}")).record();
        record.xml = record.xml.replace(RECIPIENT, nif);
        let (_, answered, description) = bench.line(record).await;
        assert_eq!(answered, code, "{nif}");
        if code == "1110" {
            assert_eq!(
                description,
                format!(
                    "Error en el bloque Destinatario.. El NIF no está identificado en el censo de la AEAT.. NIF:{nif}. NOMBRE_RAZON:CLIENTE"
                )
            );
        }
    }
    for (name, code) in [("García Pérez, Ana", ""), ("GARCIA ANA", "1110"), ("", "1283")] {
        let mut record = Alta::new(format!("N-{name}").replace(|c: char| !c.is_ascii(), "")).record();
        record.xml = record.xml.replace(RECIPIENT, "87654321X").replace(">CLIENTE<", &format!(">{name}<"));
        assert_eq!(bench.line(record).await.1, code, "{name}");
    }
}

#[tokio::test]
async fn headers_are_identified() {
    let bench = Bench::start().await;
    let records = [Alta::new("H").record()];
    let named = |name: &str| json!({ "listed": { ISSUER: { "name": name } } });
    bench.sandbox.set_settings(census(named("OTRO NOMBRE"))).unwrap();
    let refused = bench.post(envelope(&records)).await;
    refused.assert_fault(4104, "NIF:89890001K. NOMBRE_RAZON:CERTIFICADO UNO TELEMATICAS");
    bench.sandbox.set_settings(census(json!({ "unlisted": "missing" }))).unwrap();
    bench.post(envelope(&records)).await.assert_fault(4104, "TELEMATICAS");
    let all = json!({ "listed": {
        ISSUER: { "name": "Certificado Uno Telemáticas" },
        "12345678Z": { "status": "missing" },
        "87654321X": { "name": "GARCIA PEREZ ANA" },
    } });
    bench.sandbox.set_settings(census(all)).unwrap();
    let represented = |nif: &str, name: &str| {
        let rest = format!(
            "<s:Representante><s:NombreRazon>{name}</s:NombreRazon><s:NIF>{nif}</s:NIF></s:Representante>"
        );
        bench.post(envelope_with(&rest, &records))
    };
    represented("12345678Z", "X").await.assert_fault(4105, "NIF:12345678Z. NOMBRE_RAZON:X");
    represented("87654321X", "LOPEZ LUIS").await.assert_fault(4124, "NOMBRE_RAZON:LOPEZ LUIS");
    represented("87654321X", "").await.assert_fault(1282, "NOMBRE_RAZON:");
    let accepted = represented("87654321X", "GARCIA PEREZ ANA").await;
    assert_eq!(accepted.text("tikR:EstadoEnvio"), "Correcto", "{}", accepted.body);
}

#[test]
fn a_census_is_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("census.json");
    assert!(Census::load(&path).is_err());
    std::fs::write(&path, r#"{"unlisted": "nobody"}"#).unwrap();
    assert!(Census::load(&path).is_err());
    std::fs::write(&path, "{}").unwrap();
    assert_eq!(Census::load(&path).unwrap(), Census::default());
    std::fs::write(&path, r#"{"unlisted": "missing", "listed": {"89890001K": {}}}"#).unwrap();
    let census = Census::load(&path).unwrap();
    assert_eq!(census.listed.len(), 1);
}
