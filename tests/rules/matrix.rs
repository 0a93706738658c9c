//! Rules that are tables: every invoice type with every block, every regime with every tax and
//! classification. The tables here are written out again from the authority's document.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::rules::{TODAY, full, read, with};

const TYPES: [&str; 8] = ["F1", "F2", "F3", "R1", "R2", "R3", "R4", "R5"];

/// A valid invoice of a type.
fn of_type(kind: &str) -> Value {
    let mut body = with(full(), json!({"tipoFactura": kind}));
    if kind.starts_with('R') {
        body["tipoRectificativa"] = json!("I");
    }
    if matches!(kind, "F2" | "R5") {
        body["destinatarios"] = json!([]);
    }
    body
}

fn codes(body: &Value) -> BTreeSet<String> {
    read(body, TODAY).iter().map(|found| found.split(' ').next().unwrap().to_owned()).collect()
}

/// A change breaks a rule with every type but those it goes with.
fn goes_with(types: &[&str], code: &str, change: impl Fn(Value) -> Value) {
    for kind in TYPES {
        assert_eq!(codes(&of_type(kind)), BTreeSet::new(), "{kind}");
        let found = codes(&change(of_type(kind)));
        assert_eq!(found.contains(code), !types.contains(&kind), "{code} {kind}: {found:?}");
    }
}

#[test]
fn blocks_by_type() {
    let invoice = json!([{"nif": "B12345674", "numSerie": "1", "fecha": "01-12-2025"}]);
    let recipient = |id: Value| json!({"destinatarios": [with(json!({"nombre": "X"}), id)]});
    let line = |changes: Value| {
        let line = json!({"clave": "01", "base": 100, "calif": "S1", "tipo": 21, "cuota": 21});
        json!({"desglose": [with(line, changes)]})
    };
    let put = |changes: Value| move |body: Value| with(body, changes.clone());
    let full_types = ["F1", "F3", "R1", "R2", "R3", "R4"];
    let rectifying = ["R1", "R2", "R3", "R4", "R5"];
    goes_with(&["F1", "F2", "F3"], "1114", put(json!({"tipoRectificativa": null})));
    goes_with(&rectifying, "1115", put(json!({"tipoRectificativa": "I"})));
    goes_with(&rectifying, "1117", put(json!({"facturasRectificadas": invoice})));
    goes_with(&["F3"], "1116", put(json!({"facturasSustituidas": invoice})));
    goes_with(&full_types, "1183", put(json!({"simplificadaArt7273": true})));
    goes_with(&["F2", "R5"], "1185", put(json!({"sinDestinatarioArt61d": true})));
    goes_with(&["R1", "R5"], "1157", put(json!({"cupon": true})));
    goes_with(&["F2", "R5"], "1189", put(json!({"destinatarios": []})));
    goes_with(&full_types, "1190", put(recipient(json!({"nif": "A58818501"}))));
    goes_with(
        &full_types,
        "1156",
        put(recipient(json!({"idOtro": {"idType": "02", "id": "FR12345678901"}}))),
    );
    goes_with(&full_types, "1197", put(line(json!({"calif": "S2", "tipo": 0, "cuota": 0}))));
    goes_with(
        &["F1", "R1", "R2", "R3", "R4"],
        "1202",
        put(line(json!({"clave": "06", "baseImponibleACoste": 100}))),
    );
    goes_with(&["F1"], "1205", put(json!({"desglose": [{"clave": "10", "base": 100, "calif": "N1"}]})));
    goes_with(&["F1", "R1", "R2", "R3", "R4"], "1148", put(line(json!({"clave": "14"}))));
}

const REGIMES: [&str; 18] = [
    "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "14", "15", "17", "18", "19", "20",
    "21",
];
const CLASSES: [&str; 12] = ["S1", "S2", "N1", "N2", "E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8"];

#[test]
fn regimes_by_tax_and_classification() {
    for tax in [None, Some("01"), Some("02"), Some("03"), Some("05")] {
        for regime in REGIMES {
            for class in CLASSES {
                let mut line = json!({"impuesto": tax, "clave": regime, "base": 100});
                match class {
                    "S1" => line = with(line, json!({"calif": class, "tipo": 21, "cuota": 21})),
                    "S2" => line = with(line, json!({"calif": class, "tipo": 0, "cuota": 0})),
                    "N1" | "N2" => line["calif"] = json!(class),
                    _ => line["causaExencion"] = json!(class),
                }
                if regime == "06" {
                    line["baseImponibleACoste"] = json!(100);
                }
                let mut body = with(
                    full(),
                    json!({"desglose": [line],
                        "destinatarios": [{"nombre": "Ayuntamiento", "nif": "Q2238877A"}]}),
                );
                if regime == "14" {
                    body["fechaOperacion"] = json!("16-01-2026");
                }
                let expected: BTreeSet<String> =
                    broken(tax, regime, class).into_iter().map(str::to_owned).collect();
                assert_eq!(codes(&body), expected, "{tax:?} {regime} {class}");
            }
        }
    }
}

/// What a line breaks, by Val 3.1.3.15.4-6.
fn broken(tax: Option<&str>, regime: &str, class: &str) -> Vec<&'static str> {
    let vat = matches!(tax, None | Some("01"));
    let igic = tax == Some("03");
    let mut broken = Vec::new();
    if vat && matches!(class, "E7" | "E8") {
        broken.push("1182");
    }
    if vat && class == "E5" {
        broken.push("1289");
    }
    if tax == Some("05") {
        broken.push("1260");
    }
    if tax == Some("02") && !matches!(regime, "01" | "08" | "11" | "18" | "19" | "20") {
        broken.push("W2009");
    }
    if vat && regime == "21" {
        broken.push("1246");
    }
    let qualified = matches!(class, "S1" | "S2" | "N1" | "N2");
    let by_regime = match regime {
        "01" if matches!(class, "E2" | "E3") => "1199",
        "02" if qualified => "1286",
        "03" if qualified && class != "S1" => "1200",
        "04" if qualified && class != "S2" => "1201",
        "07" if matches!(class, "S2" | "N1" | "N2" | "E2" | "E3" | "E4" | "E5") => "1203",
        "08" if class != "N2" => "1252",
        "10" if class != "N1" => "1205",
        "20" if igic && class != "N2" => "1293",
        _ => "",
    };
    if (vat || igic) && !by_regime.is_empty() {
        broken.push(by_regime);
    }
    broken
}
