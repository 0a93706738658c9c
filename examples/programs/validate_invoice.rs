//! Everything that is wrong with an invoice, at once, before it becomes a record that nobody can take
//! back. Needs no feature of the core and no network.
//!
//! `cargo run -p verifactu-examples --example validate_invoice`
#![allow(clippy::print_stdout)]

use verifactu_core::{
    api::rest_path,
    record::{BreakdownLine, Exemption, Invoice, InvoiceId, InvoiceType, Qualification, Regime, Statement},
    types::{Amount, Date, InvoiceNumber, Nif, Rate, Text},
    validation::{Context, Level, validate},
};
use verifactu_examples::{ISSUER, ISSUER_NAME, Outcome};

fn main() -> Outcome<()> {
    let taxed = BreakdownLine {
        regime: Some(Regime::R01),
        qualification: Some(Qualification::S1),
        rate: Some(Rate::parse("20")?), // there is no such rate
        tax_amount: Some(Amount::parse("20")?),
        ..BreakdownLine::new(Amount::parse("100")?)
    };
    let exempt = BreakdownLine {
        regime: Some(Regime::R01),
        qualification: Some(Qualification::S1), // and exempt as well
        exemption: Some(Exemption::E1),
        ..BreakdownLine::new(Amount::parse("50")?)
    };
    let id = InvoiceId {
        issuer: Nif::parse(ISSUER)?,
        number: InvoiceNumber::parse("2026/0001")?,
        date: Date::parse("31-12-2026")?, // tomorrow
    };
    let (name, what) = (Text::parse(ISSUER_NAME)?, Text::parse("Reparación")?);
    // An ordinary invoice without recipient.
    let invoice = Invoice::new(id, name, InvoiceType::F1, what, vec![taxed, exempt]).ok_or("too large")?;

    let today = Context { today: Date::parse("30-12-2026")? };
    let findings = validate(&Statement::Invoice(Box::new(invoice)), &today);
    for finding in &findings {
        let code = finding.rule.code.map_or_else(String::new, |code| code.to_string());
        println!("{code:>4} {:<28} {}", rest_path(&finding.path), finding.message);
    }

    let codes: Vec<u16> = findings
        .iter()
        .filter(|finding| finding.rule.level == Level::Record)
        .filter_map(|finding| finding.rule.code)
        .collect();
    for expected in [1112, 1124, 1189, 1196] {
        assert!(codes.contains(&expected), "{expected} is not among {codes:?}");
    }
    Ok(())
}
