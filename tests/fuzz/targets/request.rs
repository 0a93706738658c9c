//! The bodies of `POST /send-invoice` and `POST /cancel-invoice`: a body has one fingerprint however it is
//! written, and what is accepted makes a record whose XML is in canonical form, as its signature needs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verifactu_core::{
    api::{CancelRequest, Defaults, Json, SendRequest, canonical, fingerprint},
    chain,
    record::{ComputerSystem, Identification, Link, Party, Statement, SystemId},
    signature::canonical_form,
    types::{Date, GenerationTime, Nif, Text},
    xml::record,
};

fuzz_target!(|body: &[u8]| {
    let Ok(body) = Json::parse(body) else { return };
    let again = Json::parse(canonical(&body).as_bytes()).expect("a canonical form is JSON");
    assert_eq!(fingerprint(&body), fingerprint(&again));
    let today = Date::parse("20-11-2026").expect("a date");
    let defaults = Defaults { issuer_name: None, today, demoted: &[] };
    // The sample invoices carry their body in one of these members.
    if let Ok(request) = SendRequest::read(body.member("send").unwrap_or(&body), &defaults) {
        seal(Statement::Invoice(Box::new(request.invoice)));
    }
    if let Ok(request) = CancelRequest::read(body.member("cancel").unwrap_or(&body), &defaults) {
        seal(Statement::Cancellation(Box::new(request.cancellation)));
    }
});

fn seal(statement: Statement) {
    let time = GenerationTime::parse("2026-11-20T10:00:00+01:00").expect("a time");
    let record = chain::seal(statement, Link::First, system().expect("a system"), time);
    let xml = record::to_vec(&record);
    assert_eq!(canonical_form(&xml).expect("well-formed"), xml);
}

fn system() -> Option<ComputerSystem> {
    Some(ComputerSystem {
        producer: Party {
            name: Text::parse("Productora de Software SL").ok()?,
            identification: Identification::Nif(Nif::parse("B65410011").ok()?),
        },
        name: Text::parse("ERP de prueba").ok()?,
        id: SystemId::parse("77")?,
        version: Text::parse("1.0").ok()?,
        installation: Text::parse("1").ok()?,
        verifactu_only: true,
        multiple_issuers_possible: true,
        multiple_issuers: false,
    })
}
