//! What the writer writes: valid by the official schema, its own canonical form, and escaped.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use harness::records::{self, amount, everyday_invoice, invoice_id, spanish_party, text, vat_line};
use verifactu_core::{
    chain,
    record::{
        BreakdownLine, Cancellation, Correction, Country, Exemption, ForeignId, ForeignIdType, GeneratedBy,
        Identification, Invoice, InvoiceType, IssuedBy, Link, Party, Predecessor, PriorRejection,
        Qualification, Record, RectificationMode, RectifiedAmounts, Regime, Statement, Tax,
    },
    types::{GenerationTime, Huella, Nif, Rate},
    xml::{
        envelope::{self, Header, SpanishParty},
        record,
    },
};

fn sealed(statement: Statement) -> Record {
    let before = Predecessor {
        invoice: invoice_id("B12345674", "A&B 0", "14-10-2026"),
        huella: Huella::parse(&"0123456789ABCDEF".repeat(4)).unwrap(),
    };
    let time = GenerationTime::parse("2026-10-15T10:00:00+02:00").unwrap();
    chain::seal(statement, Link::Previous(before), records::system(), time)
}

fn foreign(name: &str, country: Option<&str>, kind: ForeignIdType, id: &str) -> Party {
    let country = country.map(|code| Country::parse(code).unwrap());
    Party {
        name: text(name),
        identification: Identification::Foreign(ForeignId { country, kind, id: text(id) }),
    }
}

/// Every element that a record of an invoice can have. No real invoice has all of them.
fn full_invoice() -> Invoice {
    let surcharge = BreakdownLine {
        surcharge_rate: Some(Rate::parse("5.2").unwrap()),
        surcharge_amount: Some(amount("5.2")),
        ..vat_line("100", "21", "21")
    };
    let at_cost = BreakdownLine {
        regime: Some(Regime::R06),
        base_at_cost: Some(amount("80.05")),
        ..vat_line("-999999999999.99", "0.5", "-0.01")
    };
    let exempt = BreakdownLine {
        tax: Some(Tax::Igic),
        regime: Some(Regime::R21),
        exemption: Some(Exemption::E8),
        ..BreakdownLine::new(amount("0"))
    };
    let bare = BreakdownLine { qualification: Some(Qualification::N2), ..BreakdownLine::new(amount("1.1")) };
    Invoice {
        external_reference: Some(text("ERP/9 <&>")),
        correction: Correction { corrects: Some(true), prior_rejection: Some(PriorRejection::NotHeld) },
        invoice_type: InvoiceType::R1,
        rectification: Some(RectificationMode::Substitution),
        rectified: vec![
            invoice_id("B12345674", "A-1", "28-10-2024"),
            invoice_id("B12345674", "A-2", "29-10-2024"),
        ],
        replaced: vec![
            invoice_id("B12345674", "T-1", "30-10-2024"),
            invoice_id("B12345674", "T-2", "31-10-2024"),
        ],
        rectified_amounts: Some(RectifiedAmounts {
            base: amount("1"),
            tax: amount("0.21"),
            surcharge: Some(amount("0")),
        }),
        operation_date: Some("14-10-2026".parse().unwrap()),
        description: text("Ñandú & «compañía» <100 > 50> \u{1F9FE} \u{2028}"),
        qualified_simplified: Some(false),
        without_recipient: Some(false),
        large_amount: Some(true),
        issued_by: Some(IssuedBy::ThirdParty),
        third_party: Some(spanish_party("Gestoría", "73086154C")),
        recipients: vec![
            spanish_party("Viñedos del Moncayo SL", "B50482132"),
            foreign("Garage", None, ForeignIdType::EuVat, "FR83404833048"),
            foreign("Eleanor", Some("GB"), ForeignIdType::Passport, "561482093"),
        ],
        coupon: Some(true),
        breakdown: vec![surcharge, at_cost, exempt, bare],
        invoicing_agreement: Some(text("REG-123456789AB")),
        system_agreement: Some(text("RESOLUCION-12345")),
        ..everyday_invoice("A&B 1")
    }
}

fn full_cancellation() -> Cancellation {
    Cancellation {
        external_reference: Some(text("ERP-10")),
        without_prior_record: Some(true),
        prior_rejection: Some(true),
        generated_by: Some(GeneratedBy::Recipient),
        generator: Some(foreign("Cliente", Some("ES"), ForeignIdType::NotInCensus, "25148063R")),
        ..Cancellation::new(invoice_id("B12345674", "A&B 1", "15-10-2026"))
    }
}

/// Records with every optional element, with none, and first of a chain.
fn records() -> Vec<Record> {
    let mut records = vec![
        sealed(Statement::Invoice(Box::new(full_invoice()))),
        sealed(Statement::Cancellation(Box::new(full_cancellation()))),
        sealed(Statement::Invoice(Box::new(Invoice {
            recipients: Vec::new(),
            invoice_type: InvoiceType::F2,
            ..everyday_invoice("B-1")
        }))),
        sealed(Statement::Cancellation(Box::new(Cancellation::new(invoice_id(
            "B12345674",
            "B-1",
            "15-10-2026",
        ))))),
    ];
    records.extend(records::chain(2));
    records
}

fn message(header: &Header) -> Vec<u8> {
    let written: Vec<Vec<u8>> = records().iter().map(record::to_vec).collect();
    envelope::registration(header, written.iter().map(Vec::as_slice))
}

fn header() -> Header {
    let party = |name: &str, nif| SpanishParty { name: text(name), nif: Nif::parse(nif).unwrap() };
    Header {
        issuer: party("Talleres & Hijos <Ebro> SL", "B12345674"),
        representative: Some(party("Gestoría Pignatelli", "73086154C")),
        verifactu_end: Some("31-12-2026".parse().unwrap()),
        incident: true,
    }
}

fn xmllint(arguments: &[&str], document: &[u8], catalog: Option<&Path>) -> Output {
    let mut command = Command::new("xmllint");
    if let Some(catalog) = catalog {
        command.env("XML_CATALOG_FILES", catalog);
    }
    let mut child = command
        .args(arguments)
        .args(["--nonet", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("xmllint (Debian: libxml2-utils)");
    let mut input = child.stdin.take().unwrap();
    let document = document.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&document));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    output
}

/// The official schemas, where they lie beside the repository.
fn schemas() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/aeat/xsd");
    if folder.join("soap-envelope-check.xsd").exists() {
        return Some(folder);
    }
    eprintln!("skipped: no official schemas at {}", folder.display());
    None
}

fn errors(folder: &Path, document: &[u8]) -> String {
    let schema = folder.join("soap-envelope-check.xsd");
    let arguments = ["--noout", "--schema", schema.to_str().unwrap()];
    let output = xmllint(&arguments, document, Some(&folder.join("catalog.xml")));
    if output.status.success() { String::new() } else { String::from_utf8(output.stderr).unwrap() }
}

#[test]
fn messages_are_valid_by_the_official_schema() {
    let Some(folder) = schemas() else { return };
    let plain = Header { representative: None, verifactu_end: None, incident: false, ..header() };
    for header in [header(), plain] {
        assert_eq!(errors(&folder, &message(&header)), "");
    }
    let wrong =
        String::from_utf8(message(&header())).unwrap().replace("<TipoFactura>R1<", "<TipoFactura>R9<");
    assert!(errors(&folder, wrong.as_bytes()).contains("TipoFactura"), "the schema is not looked at");
}

#[test]
fn records_and_messages_are_their_own_canonical_form() {
    let documents = records().iter().map(record::to_vec).chain([message(&header())]).collect::<Vec<_>>();
    for document in documents {
        let output = xmllint(&["--c14n"], &document, None);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), String::from_utf8(document).unwrap());
    }
}

/// A record's bytes stand unaltered in the message, and no prefix is declared around them.
#[test]
fn a_record_is_the_same_inside_and_outside_a_message() {
    let message = String::from_utf8(message(&header())).unwrap();
    for record in records() {
        let record = String::from_utf8(record::to_vec(&record)).unwrap();
        assert!(message.contains(&format!("<RegistroFactura>{record}</RegistroFactura>")));
    }
    assert!(!message.contains("xmlns:"));
}

#[test]
fn text_is_escaped_and_nothing_else() {
    let xml = String::from_utf8(record::to_vec(&records()[0])).unwrap();
    for expected in [
        "<RefExterna>ERP/9 &lt;&amp;&gt;</RefExterna>",
        "<NumSerieFactura>A&amp;B 1</NumSerieFactura>",
        "<NumSerieFactura>A&amp;B 0</NumSerieFactura>",
        "<DescripcionOperacion>Ñandú &amp; «compañía» &lt;100 &gt; 50&gt; \u{1F9FE} \u{2028}</DescripcionOperacion>",
        "<NombreSistemaInformatico>VERI*FACTU for Rust</NombreSistemaInformatico>",
    ] {
        assert!(xml.contains(expected), "{expected} not in {xml}");
    }
}

/// The text that is hashed is the text that is sent.
#[test]
fn the_huella_covers_the_text_of_the_xml() {
    for record in records() {
        let xml = String::from_utf8(record::to_vec(&record)).unwrap();
        let canonical =
            chain::canonical(&record.statement, record.link.previous_huella(), &record.generated_at);
        // The separator may stand in a value too; a piece without `=` belongs to the value before.
        let mut pairs: Vec<(String, String)> = Vec::new();
        for piece in canonical.split('&') {
            match piece.split_once('=') {
                Some((name, value)) => pairs.push((name.into(), value.into())),
                None => pairs.last_mut().unwrap().1 += &format!("&{piece}"),
            }
        }
        assert!(pairs.len() == 8 || pairs.len() == 5);
        for (name, value) in pairs {
            let element = format!("<{name}>{}</{name}>", value.replace('&', "&amp;"));
            assert!(value.is_empty() || xml.contains(&element), "{element} not in {xml}");
        }
        assert!(xml.contains(&format!("<Huella>{}</Huella></Registro", record.huella)));
    }
}
