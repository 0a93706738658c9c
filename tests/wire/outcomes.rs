use std::time::Duration;

use verifactu_core::authority::{
    Answered, Exchange, NoAnswer, NotReached, Outcome,
    outcome::{self, AccessRefused},
};

use super::samples;

fn answered(status: u16, body: impl Into<Vec<u8>>) -> Exchange {
    Exchange::Answered(Answered::xml(status, body.into()))
}

/// A name for the class.
fn class<A>(outcome: &Outcome<A>) -> &'static str {
    match outcome {
        Outcome::Processed(_) => "processed",
        Outcome::HeaderFault(_) => "header",
        Outcome::ContentFault(_) => "content",
        Outcome::ServerFault(_) => "server",
        Outcome::AccessRefused(AccessRefused::NoCertificate) => "no certificate",
        Outcome::AccessRefused(_) => "access",
        Outcome::Suspended(_) => "suspended",
        Outcome::Unreadable { .. } => "unreadable",
        Outcome::NoAnswer(_) => "no answer",
        Outcome::NotReached(_) => "not reached",
    }
}

#[test]
fn faults_are_told_apart_by_their_codes() {
    let cases = [
        // Content, and what no table knows.
        ("Client", 4102, "content"),
        ("Client", 4106, "content"),
        ("Client", 4113, "content"),
        ("Client", 4114, "content"),
        ("Client", 4119, "content"),
        ("Client", 4136, "content"),
        ("Client", 4137, "content"),
        ("Client", 4138, "content"),
        ("Client", 102, "content"),
        ("Client", 99_999, "content"),
        // The header's data.
        ("Client", 4104, "header"),
        ("Client", 4105, "header"),
        ("Client", 4107, "header"),
        ("Client", 4109, "header"),
        ("Client", 4116, "header"),
        ("Client", 4120, "header"),
        ("Client", 4126, "header"),
        ("Client", 4133, "header"),
        ("Server", 4104, "header"),
        ("Client", 1282, "header"),
        ("Client", 1261, "header"),
        ("Client", 4132, "header"),
        ("Client", 4140, "header"),
        // The authority's own.
        ("Client", 4103, "server"),
        ("Client", 4108, "server"),
        ("Client", 4118, "server"),
        ("Client", 4128, "server"),
        ("Client", 3500, "server"),
        ("Client", 3501, "server"),
        ("Client", 1288, "server"),
        ("Client", 4134, "server"),
        ("Client", 4139, "server"),
        ("Server", 20_009, "server"),
        ("Server", -904, "server"),
        ("Server", 4102, "server"),
        // Rights.
        ("Client", 4112, "access"),
        ("Server", 4112, "access"),
        ("Client", 103, "access"),
        ("Client", 401, "access"),
        ("Client", 403, "access"),
        ("Client", 4141, "suspended"),
        ("Server", 4141, "suspended"),
    ];
    for (side, code, expected) in cases {
        let fault = samples::fault(side, &format!("Codigo[{code}].Texto"));
        for status in [200, 500] {
            let exchange = answered(status, fault.clone());
            assert_eq!(class(&outcome::registration(&exchange)), expected, "{side} {code} {status}");
            assert_eq!(class(&outcome::query(&exchange)), expected, "query {side} {code} {status}");
        }
    }
}

#[test]
fn faults_without_a_code_go_by_their_side() {
    for (side, status, expected) in [
        ("Client", 500, "content"),
        ("Client", 200, "content"),
        ("Server", 500, "server"),
        ("Server", 403, "server"),
        ("MustUnderstand", 500, "content"),
        ("Client", 403, "access"),
        ("Client", 401, "access"),
    ] {
        let exchange = answered(status, samples::fault(side, "Error interno"));
        assert_eq!(class(&outcome::registration(&exchange)), expected, "{side} {status}");
    }
}

#[test]
fn the_refusal_keeps_code_and_text() {
    let exchange = answered(200, samples::fault("Client", "Codigo[4104].El NIF. NIF:X"));
    let Outcome::HeaderFault(refusal) = outcome::registration(&exchange) else { panic!("a header fault") };
    assert_eq!((refusal.code, refusal.text.as_str()), (Some(4104), "El NIF. NIF:X"));
}

#[test]
fn the_body_decides_before_the_status() {
    for status in [200, 202, 500] {
        assert_eq!(class(&outcome::registration(&answered(status, samples::accepted()))), "processed");
    }
    let rows = samples::rows("Correcto", "", "<R:IndicadorPaginacion>N</R:IndicadorPaginacion>");
    assert_eq!(class(&outcome::query(&answered(200, rows.clone()))), "processed");
    assert_eq!(class(&outcome::registration(&answered(200, rows))), "unreadable", "the wrong answer");
    assert_eq!(class(&outcome::query(&answered(200, samples::accepted()))), "unreadable");
}

#[test]
fn what_is_no_answer_goes_by_its_status() {
    let page = "<html><body>Error</body></html>";
    let certificate = "<html><body><h1>No se detecta certificado electr\u{f3}nico</h1></body></html>";
    for (status, body, expected) in [
        (200, page, "unreadable"),
        (200, "", "unreadable"),
        (200, certificate, "no certificate"),
        (302, "", "unreadable"),
        (401, "", "access"),
        (403, page, "access"),
        (404, page, "unreadable"),
        (500, "", "unreadable"),
        (502, page, "unreadable"),
        (503, page, "unreadable"),
        (503, certificate, "unreadable"),
    ] {
        assert_eq!(class(&outcome::registration(&answered(status, body))), expected, "{status} {body}");
    }
    let mut redirect = Answered::xml(302, "");
    redirect.location = Some("https://sede.agenciatributaria.gob.es/Sede/errores/erro4033.html".to_owned());
    assert_eq!(class(&outcome::registration(&Exchange::Answered(redirect))), "no certificate");
}

#[test]
fn an_excerpt_is_short_and_free_of_control_characters() {
    let body = format!("\u{1b}[2J\r\n\0{}", "ñ".repeat(2000));
    let Outcome::Unreadable { status, excerpt } = outcome::registration(&answered(503, body)) else {
        panic!("unreadable")
    };
    assert_eq!((status, excerpt.chars().count()), (503, 512));
    assert!(excerpt.starts_with(" [2J   ñ") && !excerpt.chars().any(char::is_control));
    let Outcome::Unreadable { excerpt, .. } = outcome::registration(&answered(200, b"\xFF\xFEab".to_vec()))
    else {
        panic!("unreadable")
    };
    assert_eq!(excerpt, "\u{FFFD}\u{FFFD}ab");
}

#[test]
fn what_did_not_come_back_stays_what_it_is() {
    let elapsed = Duration::from_secs(1);
    let lost = Exchange::NoAnswer { reason: NoAnswer::TimedOut, elapsed };
    assert_eq!(outcome::registration(&lost), Outcome::NoAnswer(NoAnswer::TimedOut));
    let refused = Exchange::NotReached { reason: NotReached::Connect, elapsed };
    assert_eq!(outcome::query(&refused), Outcome::NotReached(NotReached::Connect));
}
