//! Seals a record, signs it with a certificate from a PKCS#12 file, verifies the signature, and sees it
//! fail once an amount is changed.
//!
//! `cargo run -p verifactu-examples --example sign_record`
#![allow(clippy::print_stdout)]

use verifactu_core::{
    certificate::{Wanted, open},
    chain,
    record::{BreakdownLine, Invoice, InvoiceId, InvoiceType, Link, Qualification, Regime, Statement},
    signature::{EcKeys, Signer, verify},
    types::{Amount, Clock as _, Date, GenerationTime, Ids as _, InvoiceNumber, Nif, Rate, Secret, Text},
    xml,
};
use verifactu_examples::{ISSUER, ISSUER_NAME, Outcome, PASSPHRASE, system};
use verifactu_server::{
    clock::{SystemClock, UuidV7Ids},
    sandbox::{Holder, Pki},
};

fn main() -> Outcome<()> {
    // A file as a certification authority would give it; here the sandbox is that authority.
    let holder = Holder::seal(ISSUER, ISSUER_NAME).with_passphrase(PASSPHRASE);
    let file = Pki::ephemeral()?.issue(&holder)?.pkcs12()?;

    let now = SystemClock.now();
    let wanted = Wanted { holder: Some(&Nif::parse(ISSUER)?), now };
    let opened = open(&file, &Secret::new(PASSPHRASE.to_owned()), wanted)?;
    let signer = Signer::new(&opened.identity, EcKeys::Refuse)?;

    let record = chain::seal(ticket()?, Link::First, system()?, GenerationTime::in_madrid(now));
    let xml = String::from_utf8(xml::record::to_vec(&record))?;
    let mut signed = Vec::new();
    signer.sign(&xml, UuidV7Ids.next(), now, &mut signed)?;
    let verified = verify(&signed)?;
    println!("signed by {:?} with {:?}", opened.identity.certificate().holder.nif(), verified.algorithm);

    let changed = String::from_utf8(signed)?.replace("11.0<", "12.0<");
    let refused = verify(changed.as_bytes()).err().ok_or("a changed amount went through")?;
    println!("with another amount: {refused}");
    Ok(())
}

fn ticket() -> Outcome<Statement> {
    let line = BreakdownLine {
        regime: Some(Regime::R01),
        qualification: Some(Qualification::S1),
        rate: Some(Rate::parse("10")?),
        tax_amount: Some(Amount::parse("1")?),
        ..BreakdownLine::new(Amount::parse("10")?)
    };
    let id = InvoiceId {
        issuer: Nif::parse(ISSUER)?,
        number: InvoiceNumber::parse("T-1")?,
        date: Date::in_madrid(SystemClock.now()),
    };
    let (name, what) = (Text::parse(ISSUER_NAME)?, Text::parse("Café")?);
    let invoice = Invoice::new(id, name, InvoiceType::F2, what, vec![line]).ok_or("too large")?;
    Ok(Statement::Invoice(Box::new(invoice)))
}
