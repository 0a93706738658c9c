use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use verifactu_core::{
    record::{Country, ForeignId, ForeignIdType, Identification, Party, SystemId},
    types::{Date, InvoiceNumber, Nif, Text},
    xml::{
        answer::InvoiceKey,
        envelope::SpanishParty,
        query::{AlsoShow, AskedBy, IssueDates, Period, Query, SystemFilter},
    },
};

use super::official;

fn text<const MAX: usize>(value: &str) -> Text<MAX> {
    Text::parse(value).unwrap()
}

fn taxpayer() -> SpanishParty {
    SpanishParty { name: text("EMPRESA & HIJOS <SL>"), nif: Nif::parse("B12345674").unwrap() }
}

fn spaniard() -> Party {
    Party { name: text("CLIENTE"), identification: Identification::Nif(Nif::parse("89890001K").unwrap()) }
}

fn foreigner(country: Option<&str>) -> Party {
    let country = country.map(|code| Country::parse(code).unwrap());
    let id = ForeignId { country, kind: ForeignIdType::EuVat, id: text("DE123456789") };
    Party { name: text("KUNDE"), identification: Identification::Foreign(id) }
}

/// Every filter alone, in every role, and all together.
fn every_query() -> Vec<Query> {
    let day = |text| Date::parse(text).unwrap();
    let period = Period::of(day("20-11-2026"));
    let plain = Query::new(AskedBy::Issuer(taxpayer()), period);
    let system = SystemFilter {
        producer: spaniard(),
        name: Some(text("Producto")),
        id: SystemId::parse("77").unwrap(),
        version: Some(text("1.0")),
        installation: text("383"),
    };
    let key = InvoiceKey {
        issuer: "89890001K".to_owned(),
        number: "A&1 <x>".to_owned(),
        date: "20-11-2026".to_owned(),
    };
    let both = AlsoShow { issuer_name: true, system: true };
    let mut queries = vec![
        plain.clone(),
        Query::new(AskedBy::Representative(taxpayer()), period),
        Query { also_show: both, ..Query::new(AskedBy::Recipient(taxpayer()), period) },
        Query { number: Some(InvoiceNumber::parse("A/1 & 2").unwrap()), ..plain.clone() },
        Query { counterparty: Some(spaniard()), ..plain.clone() },
        Query { counterparty: Some(foreigner(None)), ..plain.clone() },
        Query { counterparty: Some(foreigner(Some("DE"))), ..plain.clone() },
        Query { system: Some(system.clone()), ..plain.clone() },
        Query {
            system: Some(SystemFilter {
                producer: foreigner(None),
                name: None,
                version: None,
                ..system.clone()
            }),
            ..plain.clone()
        },
        Query { external_reference: Some(text("ref & <1>")), ..plain.clone() },
        Query { after: Some(key.clone()), ..plain.clone() },
        Query { also_show: AlsoShow { issuer_name: true, system: false }, ..plain.clone() },
        Query { also_show: both, ..plain.clone() },
    ];
    let (first, last) = (day("01-11-2026"), day("30-11-2026"));
    for dates in [
        IssueDates::On(first),
        IssueDates::From(first),
        IssueDates::Until(last),
        IssueDates::Between(first, last),
    ] {
        queries.push(Query { issued: Some(dates), ..plain.clone() });
    }
    queries.push(Query {
        number: Some(InvoiceNumber::parse("A-1").unwrap()),
        counterparty: Some(spaniard()),
        issued: Some(IssueDates::Between(first, last)),
        system: Some(system),
        external_reference: Some(text("ref")),
        after: Some(key),
        also_show: both,
        ..plain
    });
    queries
}

#[test]
fn the_plain_query_is_written_with_default_namespaces() {
    let query = Query::new(AskedBy::Issuer(taxpayer()), Period::new(2026, 3).unwrap()).to_xml();
    let shared = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/SuministroInformacion.xsd";
    assert!(query.starts_with(
        "<Envelope xmlns=\"http://schemas.xmlsoap.org/soap/envelope/\"><Header></Header><Body>\
         <ConsultaFactuSistemaFacturacion xmlns=\"https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/ConsultaLR.xsd\">"
    ));
    assert!(query.contains("<NombreRazon>EMPRESA &amp; HIJOS &lt;SL&gt;</NombreRazon><NIF>B12345674</NIF>"));
    assert!(query.contains(&format!("<Ejercicio xmlns=\"{shared}\">2026</Ejercicio>")));
    assert!(query.contains(&format!("<Periodo xmlns=\"{shared}\">03</Periodo>")));
    assert!(query.ends_with("</FiltroConsulta></ConsultaFactuSistemaFacturacion></Body></Envelope>"));
}

#[test]
fn a_recipient_never_asks_for_the_system() {
    let query = Query {
        also_show: AlsoShow { issuer_name: false, system: true },
        ..Query::new(AskedBy::Recipient(taxpayer()), Period::new(2026, 3).unwrap())
    };
    assert!(!query.to_xml().contains("DatosAdicionalesRespuesta"));
}

#[test]
fn a_period_is_a_month() {
    for (year, month) in [(2026, 0), (2026, 13), (999, 1), (10_000, 1)] {
        assert_eq!(Period::new(year, month), None);
    }
    assert_eq!(Some(Period::of(Date::parse("31-12-2026").unwrap())), Period::new(2026, 12));
}

#[test]
fn every_query_is_valid_by_the_official_schema() {
    let Some(schema) = official::file("xsd/soap-envelope-check.xsd") else { return };
    if Command::new("xmllint").arg("--version").stderr(Stdio::null()).status().is_err() {
        eprintln!("skipped: xmllint is not installed");
        return;
    }
    for query in every_query() {
        let mut lint = Command::new("xmllint")
            .args(["--nonet", "--noout", "--schema"])
            .arg(&schema)
            .arg("-")
            .env("XML_CATALOG_FILES", schema.with_file_name("catalog.xml"))
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let document = query.to_xml();
        lint.stdin.take().unwrap().write_all(document.as_bytes()).unwrap();
        let output = lint.wait_with_output().unwrap();
        assert!(output.status.success(), "{document}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}
