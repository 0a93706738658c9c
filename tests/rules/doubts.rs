//! Where the authority's publications contradict each other or are silent, a finding is a warning.

use serde_json::{Value, json};
use verifactu_core::validation::{self, Needs};

use super::rules::{TODAY, check, full, read, with};

fn line(changes: Value) -> Value {
    let line = json!({"clave": "01", "calif": "S1", "base": 1000, "tipo": 21, "cuota": 210});
    with(full(), json!({"desglose": [with(line, changes)]}))
}

#[test]
fn who_bad_debt_and_insolvency_are_owed_by() {
    let of = |kind: &str, id: Value| {
        with(
            full(),
            json!({"tipoFactura": kind, "tipoRectificativa": "I",
                "destinatarios": [{"nombre": "X", "idOtro": id}]}),
        )
    };
    let union = json!({"idType": "02", "id": "FR12345678901"});
    let passport = json!({"idType": "03", "codigoPais": "FR", "id": "ABC"});
    let unknown = json!({"idType": "07", "codigoPais": "ES", "id": "12345678Z"});
    check(vec![
        (with(full(), json!({"tipoFactura": "R3", "tipoRectificativa": "I"})), &[]),
        (of("R3", unknown.clone()), &[]),
        (of("R3", union.clone()), &["W1191 destinatarios[0].idOtro.idType"]),
        (of("R3", passport.clone()), &["W1191 destinatarios[0].idOtro.idType"]),
        (of("R2", unknown), &[]),
        (of("R2", union.clone()), &[]),
        (of("R2", passport.clone()), &["W1192 destinatarios[0].idOtro.idType"]),
        (of("R4", passport), &[]),
        (of("R1", union), &[]),
    ]);
}

#[test]
fn an_invoice_to_oneself() {
    let to = |nif: &str| with(full(), json!({"destinatarios": [{"nombre": "X", "nif": nif}]}));
    check(vec![(to("A58818501"), &[]), (to("B12345674"), &["W1193 destinatarios[0].nif"])]);
}

#[test]
fn surcharges_that_do_not_add_up() {
    let of = |amount: Value| line(json!({"tipoRecargo": 5.2, "cuotaRecargo": amount}));
    let differences = json!({"tipoFactura": "R1", "tipoRectificativa": "I"});
    check(vec![
        (of(json!("62.00")), &[]),
        (of(json!("62.01")), &["Wsurcharge_amount desglose[0].cuotaRecargo"]),
        (of(json!("42.00")), &[]),
        (of(json!("41.99")), &["Wsurcharge_amount desglose[0].cuotaRecargo"]),
        (with(of(json!("62.01")), differences), &[]),
    ]);
}

#[test]
fn operations_more_than_a_year_ahead() {
    let on = |day: &str| with(line(json!({"clave": "15"})), json!({"fechaOperacion": day}));
    check(vec![
        (on("15-06-2027"), &[]),
        (on("16-06-2027"), &["W1125 fechaOperacion"]),
        (on("31-12-2027"), &["W1125 fechaOperacion"]),
        (on("01-01-2028"), &["1125 fechaOperacion"]),
    ]);
}

/// Nobody can break it before 2044, when the first day of issue is twenty years past.
#[test]
fn invoices_of_twenty_years_ago() {
    let body = with(full(), json!({"fecha": "28-10-2024"}));
    assert_eq!(read(&body, "28-10-2044"), [""; 0]);
    assert_eq!(read(&body, "29-10-2044"), ["1133 fecha"]);
}

#[test]
fn a_rule_of_the_ledger_finds_nothing_in_a_statement() {
    let ledger: Vec<_> =
        validation::rules().filter(|rule| rule.needs() == Needs::Ledger).map(|rule| rule.id).collect();
    assert_eq!(ledger, ["2000", "2004", "2007", "2008", "3000", "3002"]);
    assert!(validation::rules().all(|rule| rule.needs() == Needs::Statement || !rule.is_demotable()));
    assert_eq!(read(&full(), TODAY), [""; 0]);
}
