//! Computes the huellas that the tax agency publishes as examples, twice over: from the model, as
//! the service does, and from the text of a record that somebody else wrote.
//!
//! `cargo run -p verifactu-examples --example hash_invoice`
#![allow(clippy::print_stdout)]

use std::error::Error;

use verifactu_core::{
    chain::{self, Canonical, InvoiceFields},
    record::{
        BreakdownLine, Cancellation, ComputerSystem, Identification, Invoice, InvoiceId, InvoiceType, Link,
        Party, Predecessor, Qualification, Record, Regime, Statement, SystemId,
    },
    types::{Amount, Date, GenerationTime, InvoiceNumber, Nif, Rate, Text},
};

/// The chain of three that closes the agency's description of the huella (Hash 0.1.2, section 6):
/// two invoices, and the cancellation of the second.
const PUBLISHED: [&str; 3] = [
    "3C464DAF61ACB827C65FDA19F352A4E3BDC2C640E9E9FC4CC058073F38F12F60",
    "F7B94CFD8924EDFF273501B01EE5153E4CE8F259766F88CF6ACB8935802A2B97",
    "177547C0D57AC74748561D054A9CEC14B4C4EA23D1BEFD6F2E69E3A388F90C68",
];

/// The record of the agency's example of a signature.
const PUBLISHED_SIGNED: &str = "FF954378B64ED331A9B2366AD317D86E9DEC1716B12DD0ACCB172A6DC4C105AA";

fn main() -> Result<(), Box<dyn Error>> {
    let statements = [
        (Statement::Invoice(Box::new(invoice("12345678/G33")?)), "2024-01-01T19:20:30+01:00"),
        (Statement::Invoice(Box::new(invoice("12345679/G34")?)), "2024-01-01T19:20:35+01:00"),
        (
            Statement::Cancellation(Box::new(Cancellation::new(invoice_id("12345679/G34")?))),
            "2024-01-01T19:20:40+01:00",
        ),
    ];
    let mut link = Link::First;
    for ((statement, time), published) in statements.into_iter().zip(PUBLISHED) {
        let record = chain::seal(statement, link, system()?, GenerationTime::parse(time)?);
        println!(
            "{}",
            chain::canonical(&record.statement, record.link.previous_huella(), &record.generated_at)
        );
        println!("  {}", record.huella);
        assert_eq!(record.huella.as_str(), published);
        link = follow(&record);
    }

    // A record from elsewhere is checked as it is spelled: 41.4 and 41.40 give different huellas.
    let fields = InvoiceFields {
        issuer: "89890001K",
        number: "12345678-G66",
        date: "03-02-2025",
        invoice_type: "R3",
        tax_total: "41.4",
        total: "241.4",
        previous: "C9AF4AF1EF5EBBA700350DE3EEF12C2D355C56AC56F13DB2A25E0031BD2B7ED5",
        generated_at: "2025-02-03T14:30:00+01:00",
    };
    println!("{}", fields.canonical());
    println!("  {}", fields.huella());
    assert_eq!(fields.huella().as_str(), PUBLISHED_SIGNED);
    assert_ne!(InvoiceFields { tax_total: "41.40", ..fields }.huella().as_str(), PUBLISHED_SIGNED);

    println!("all four are as published");
    Ok(())
}

/// The tie of the next record to this one.
fn follow(record: &Record) -> Link {
    Link::Previous(Predecessor { invoice: record.statement.invoice_id().clone(), huella: record.huella })
}

/// The totals are the sums of the lines: 12.35 of tax, 123.45 in all.
fn invoice(number: &str) -> Result<Invoice, Box<dyn Error>> {
    let line = BreakdownLine {
        regime: Some(Regime::R01),
        qualification: Some(Qualification::S1),
        rate: Some(Rate::parse("21")?),
        tax_amount: Some(Amount::parse("12.35")?),
        ..BreakdownLine::new(Amount::parse("111.1")?)
    };
    let (name, description) = (Text::parse("CERTIFICADO UNO TELEMATICAS")?, Text::parse("Servicios")?);
    Invoice::new(invoice_id(number)?, name, InvoiceType::F1, description, vec![line])
        .ok_or_else(|| "the total has too many digits".into())
}

fn invoice_id(number: &str) -> Result<InvoiceId, Box<dyn Error>> {
    Ok(InvoiceId {
        issuer: Nif::parse("89890001K")?,
        number: InvoiceNumber::parse(number)?,
        date: Date::parse("01-01-2024")?,
    })
}

/// No huella covers the system, but every record names it.
fn system() -> Result<ComputerSystem, Box<dyn Error>> {
    Ok(ComputerSystem {
        producer: Party {
            name: Text::parse("CERTIFICADO UNO TELEMATICAS")?,
            identification: Identification::Nif(Nif::parse("89890001K")?),
        },
        name: Text::parse("NombreSistemaInformatico")?,
        id: SystemId::parse("77").ok_or("two characters")?,
        version: Text::parse("1.0.03")?,
        installation: Text::parse("383")?,
        verifactu_only: false,
        multiple_issuers_possible: true,
        multiple_issuers: true,
    })
}
