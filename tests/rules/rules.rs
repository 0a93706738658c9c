//! Both edges of every rule: each row is a body, as changes to a valid one, and what it breaks.

use serde_json::{Value, json};
use verifactu_core::{
    api::{CancelRequest, Defaults, Json, SendRequest},
    types::Date,
    validation::{self, Level, Needs, Rule},
};

pub(crate) const TODAY: &str = "15-06-2026";

/// An F2 with one S1 line: valid as it stands.
pub(crate) fn simplified() -> Value {
    json!({
        "nif": "B12345674", "nombre": "Emisor SL", "numSerie": "2026/F-001", "fecha": "15-01-2026",
        "tipoFactura": "F2", "descripcion": "Servicios",
        "desglose": [{"clave": "01", "calif": "S1", "base": 100, "tipo": 21, "cuota": 21}],
    })
}

/// An F1 with a recipient: valid as it stands.
pub(crate) fn full() -> Value {
    with(
        simplified(),
        json!({
            "tipoFactura": "F1", "destinatarios": [{"nombre": "Cliente SA", "nif": "A58818501"}],
        }),
    )
}

pub(super) fn cancellation() -> Value {
    json!({"nif": "B12345674", "nombre": "Emisor SL", "numSerie": "2026/F-001", "fecha": "15-01-2026"})
}

/// Top-level members replaced.
pub(crate) fn with(mut body: Value, changes: Value) -> Value {
    let (Value::Object(members), Value::Object(changes)) = (&mut body, changes) else { panic!() };
    members.extend(changes);
    body
}

/// The single line replaced.
fn line(body: Value, line: Value) -> Value {
    with(body, json!({"desglose": [line]}))
}

pub(crate) fn read(body: &Value, today: &str) -> Vec<String> {
    let json = Json::parse(body.to_string().as_bytes()).unwrap();
    let demoted = [];
    let defaults = Defaults { issuer_name: None, today: Date::parse(today).unwrap(), demoted: &demoted };
    let result = if body.get("tipoFactura").is_some() {
        SendRequest::read(&json, &defaults).map(|request| request.warnings)
    } else {
        CancelRequest::read(&json, &defaults).map(|request| request.warnings)
    };
    let mut found: Vec<_> = match result {
        Ok(warnings) => {
            warnings.into_iter().map(|w| format!("W{} {}", w.code, w.field.unwrap_or_default())).collect()
        }
        Err(details) => details
            .into_iter()
            .map(|d| format!("{} {}", d.code.unwrap_or_else(|| "-".to_owned()), d.field))
            .collect(),
    };
    found.sort();
    found
}

pub(super) fn check(rows: Vec<(Value, &[&str])>) {
    check_on(TODAY, rows);
}

fn check_on(today: &str, rows: Vec<(Value, &[&str])>) {
    for (body, expected) in rows {
        assert_eq!(read(&body, today), expected, "{body}");
    }
}

#[test]
fn the_rules_are_consistent() {
    let rules: Vec<&Rule> = validation::rules().collect();
    for (at, rule) in rules.iter().enumerate() {
        assert!(rules[at + 1..].iter().all(|other| other.id != rule.id), "{} twice", rule.id);
        if rule.id.bytes().all(|b| b.is_ascii_digit()) {
            assert_eq!(rule.code.unwrap().to_string(), rule.id);
        }
        assert_eq!(rule.level == Level::Admitted, rule.code.is_some_and(|code| (2000..3000).contains(&code)));
        assert!(!rule.text_es.is_empty() && !rule.text_en.is_empty() && !rule.source.is_empty());
    }
    let fixed: Vec<_> = rules
        .iter()
        .filter(|rule| rule.needs() == Needs::Statement && !rule.is_demotable())
        .map(|rule| rule.id)
        .collect();
    assert_eq!(fixed, ["1195", "1196", "1198", "1208", "1237", "1238", "1281", "1284", "regime_missing"]);
}

#[test]
fn classification() {
    let of = |l: Value| line(full(), l);
    check(vec![
        (simplified(), &[]),
        (full(), &[]),
        (of(json!({"base": 100})), &["- desglose[0].clave", "1195 desglose[0].calif"]),
        (of(json!({"impuesto": "01", "base": 100, "calif": "N1"})), &["- desglose[0].clave"]),
        (of(json!({"impuesto": "03", "base": 100, "calif": "N1"})), &["- desglose[0].clave"]),
        (of(json!({"impuesto": "05", "base": 100, "calif": "N1"})), &[]),
        (of(json!({"clave": "01", "base": 100, "calif": "N1"})), &[]),
        (of(json!({"clave": "01", "base": 100, "causaExencion": "E1"})), &[]),
        (
            of(json!({"clave": "01", "base": 100, "calif": "N1", "causaExencion": "E1"})),
            &["1196 desglose[0].causaExencion"],
        ),
        // S2: rate and tax stated as zero.
        (of(json!({"clave": "01", "base": 100, "calif": "S2", "tipo": 0, "cuota": 0})), &[]),
        (of(json!({"clave": "01", "base": 100, "calif": "S2", "tipo": "0.00", "cuota": "0"})), &[]),
        (
            of(json!({"clave": "01", "base": 100, "calif": "S2", "tipo": 21, "cuota": 0})),
            &["1198 desglose[0].tipo"],
        ),
        (
            of(json!({"clave": "01", "base": 100, "calif": "S2", "tipo": 0, "cuota": 0.01})),
            &["1198 desglose[0].cuota"],
        ),
        (
            of(json!({"clave": "01", "base": 100, "calif": "S2"})),
            &["1198 desglose[0].cuota", "1198 desglose[0].tipo"],
        ),
        (
            line(simplified(), json!({"clave": "01", "base": 100, "calif": "S2", "tipo": 0, "cuota": 0})),
            &["1197 desglose[0].calif"],
        ),
        // S1: both there, unless there is a base at cost.
        (of(json!({"clave": "01", "base": 100, "calif": "S1", "tipo": 21})), &["1208 desglose[0].cuota"]),
        (of(json!({"clave": "01", "base": 100, "calif": "S1", "cuota": 21})), &["1208 desglose[0].tipo"]),
        (
            of(json!({"clave": "01", "base": 100, "calif": "S1"})),
            &["1208 desglose[0].cuota", "1208 desglose[0].tipo"],
        ),
        (
            of(
                json!({"impuesto": "02", "clave": "01", "base": 100, "calif": "S1", "baseImponibleACoste": true}),
            ),
            &[],
        ),
        (
            of(json!({"clave": "06", "base": 100, "calif": "S1", "baseImponibleACoste": 90})),
            &["1209 desglose[0].cuota", "1209 desglose[0].tipo"],
        ),
        (
            of(
                json!({"clave": "06", "base": 100, "calif": "S1", "baseImponibleACoste": 100, "tipo": 21, "cuota": 21}),
            ),
            &[],
        ),
        // Not subject and exempt: nothing, not even zero; VAT only for the former.
        (of(json!({"clave": "01", "base": 100, "calif": "N1", "tipo": 0})), &["1237 desglose[0].tipo"]),
        (of(json!({"clave": "01", "base": 100, "calif": "N2", "cuota": 0})), &["1237 desglose[0].cuota"]),
        (
            of(json!({"clave": "01", "base": 100, "calif": "N2", "tipoRecargo": 0, "cuotaRecargo": 0})),
            &["1237 desglose[0].tipoRecargo", "1281 desglose[0].tipoRecargo"],
        ),
        (
            of(json!({"impuesto": "03", "clave": "01", "base": 100, "calif": "N1", "tipo": 0, "cuota": 0})),
            &[],
        ),
        (
            of(json!({"impuesto": "03", "clave": "01", "base": 100, "calif": "N1", "tipo": 0, "cuota": 1})),
            &["1207 desglose[0].cuota"],
        ),
        (
            of(json!({"clave": "01", "base": 100, "causaExencion": "E1", "tipo": 0})),
            &["1238 desglose[0].tipo"],
        ),
        (
            of(json!({"impuesto": "03", "clave": "01", "base": 100, "causaExencion": "E7", "cuota": 0})),
            &["1238 desglose[0].cuota"],
        ),
        (of(json!({"impuesto": "03", "clave": "01", "base": 100, "causaExencion": "E8"})), &[]),
        (of(json!({"clave": "01", "base": 100, "causaExencion": "E6"})), &[]),
        (of(json!({"clave": "01", "base": 100, "causaExencion": "E7"})), &["1182 desglose[0].causaExencion"]),
        // Surcharge.
        (
            of(
                json!({"clave": "01", "base": 100, "calif": "S1", "tipo": 21, "cuota": 21, "tipoRecargo": 5.2, "cuotaRecargo": 5.2}),
            ),
            &[],
        ),
        (
            of(
                json!({"clave": "01", "base": 100, "calif": "S1", "tipo": 21, "cuota": 21, "tipoRecargo": 5.2}),
            ),
            &["1284 desglose[0].cuotaRecargo"],
        ),
        (
            of(
                json!({"clave": "01", "base": 100, "calif": "S1", "tipo": 21, "cuota": 21, "cuotaRecargo": 5.2}),
            ),
            &["1284 desglose[0].tipoRecargo"],
        ),
        (
            of(
                json!({"clave": "01", "base": 100, "calif": "S2", "tipo": 0, "cuota": 0, "tipoRecargo": 0, "cuotaRecargo": 0}),
            ),
            &["1281 desglose[0].tipoRecargo"],
        ),
        (
            of(json!({"clave": "01", "base": 100, "calif": "S2", "tipo": 0, "cuota": 0, "cuotaRecargo": 0})),
            &["1281 desglose[0].cuotaRecargo", "1284 desglose[0].tipoRecargo"],
        ),
        // Base at cost.
        (
            of(
                json!({"clave": "01", "base": 100, "calif": "S1", "tipo": 21, "cuota": 21, "baseImponibleACoste": true}),
            ),
            &["1257 desglose[0].baseImponibleACoste"],
        ),
        (
            of(
                json!({"impuesto": "05", "base": 100, "calif": "S1", "tipo": 21, "cuota": 21, "baseImponibleACoste": true}),
            ),
            &[],
        ),
    ]);
}

#[test]
fn amounts_of_a_line() {
    let s1 = |base: &str, rate: &str, tax: &str| json!({"clave": "01", "base": base, "calif": "S1", "tipo": rate, "cuota": tax});
    let cost = |base: &str, tax: &str| json!({"clave": "06", "base": 5, "baseImponibleACoste": base, "calif": "S1", "tipo": 21, "cuota": tax});
    let of = |l: Value| line(full(), l);
    let mode = |kind: &str, mode: &str, l: Value| {
        let amounts = if mode == "S" { json!({"base": 0, "cuota": 0}) } else { Value::Null };
        with(of(l), json!({"tipoFactura": kind, "tipoRectificativa": mode, "importeRectificacion": amounts}))
    };
    check(vec![
        (of(s1("100", "21", "31")), &[]),
        (of(s1("100", "21", "31.01")), &["1142 desglose[0].cuota"]),
        (of(s1("100", "21", "11")), &[]),
        (of(s1("100", "21", "10.99")), &["1142 desglose[0].cuota"]),
        (of(s1("-100", "21", "-31")), &[]),
        (of(s1("-100", "21", "-31.01")), &["1142 desglose[0].cuota"]),
        (of(s1("47", "21", "0")), &[]),
        (of(s1("47.61", "21", "0")), &[]),
        (of(s1("47.62", "21", "0")), &["1142 desglose[0].cuota"]),
        (of(s1("999999999.99", "21", "210000000.00")), &["1139 macrodato"]),
        (of(s1("1", "21", "-0.21")), &["1143 desglose[0].cuota"]),
        (of(s1("-1", "21", "0.21")), &["1143 desglose[0].cuota"]),
        (of(s1("0", "21", "-0.21")), &[]),
        // With a base at cost the same two checks, on that base.
        (of(cost("100", "31")), &[]),
        (of(cost("100", "31.01")), &["1144 desglose[0].cuota"]),
        (of(cost("-100", "0.01")), &["1140 desglose[0].cuota", "1144 desglose[0].cuota"]),
        (of(cost("-1", "0.21")), &["1140 desglose[0].cuota"]),
        // Differences, insolvency and bad debt need not add up; what is mandatory stays so.
        (mode("R1", "S", s1("100", "21", "-500")), &["1142 desglose[0].cuota", "1143 desglose[0].cuota"]),
        (mode("R1", "I", s1("100", "21", "-500")), &[]),
        (mode("R2", "S", s1("0", "21", "-500")), &[]),
        (mode("R3", "S", s1("0", "21", "-500")), &[]),
        (mode("R4", "S", s1("0", "21", "-500")), &["1142 desglose[0].cuota"]),
        (
            mode("R2", "I", json!({"clave": "01", "base": 100, "calif": "S1"})),
            &["1208 desglose[0].cuota", "1208 desglose[0].tipo"],
        ),
    ]);
}

#[test]
fn rates_and_surcharges_by_date() {
    let row = |day: &str, rate: &str, surcharge: Option<&str>| {
        let tax = if rate.starts_with('2') && rate.len() > 1 { "21" } else { "5" };
        let line = json!({"clave": "01", "calif": "S1", "base": 100, "tipo": rate, "cuota": tax,
            "tipoRecargo": surcharge, "cuotaRecargo": surcharge.map(|_| "0")});
        let found = read(&with(full(), json!({"fechaOperacion": day, "desglose": [line]})), TODAY);
        found.iter().map(|found| found.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    let now = "14-01-2026";
    for (day, rate, surcharge, expected) in [
        (now, "0", None, ""),
        (now, "4", None, ""),
        (now, "10", None, ""),
        (now, "21", None, ""),
        (now, "7", None, "1124"),
        (now, "20.99", None, "1124"),
        (now, "21.01", None, "1124"),
        ("30-06-2022", "5", None, "1194"),
        ("01-07-2022", "5", None, ""),
        ("30-09-2024", "5", None, ""),
        ("01-10-2024", "5", None, "1194"),
        ("30-09-2024", "2", None, "1235"),
        ("01-10-2024", "2", None, ""),
        ("31-12-2024", "2", None, ""),
        ("01-01-2025", "2", None, "1235"),
        ("30-09-2024", "7.5", None, "1236"),
        ("01-10-2024", "7.5", None, ""),
        ("31-12-2024", "7.50", None, ""),
        ("01-01-2025", "7.5", None, "1236"),
        (now, "21", Some("5.2"), ""),
        (now, "21", Some("1.75"), ""),
        (now, "21", Some("1.4"), "1162"),
        (now, "21", Some("0"), "1162"),
        (now, "21", Some("5.21"), "1127"),
        (now, "10", Some("1.4"), ""),
        (now, "10", Some("5.2"), "1163"),
        (now, "4", Some("0.5"), ""),
        (now, "4", Some("0.62"), "1164"),
        ("31-12-2024", "2", Some("0.26"), ""),
        ("31-12-2024", "2", Some("0.5"), "1166"),
        ("31-12-2024", "7.5", Some("1"), ""),
        ("31-12-2024", "7.5", Some("1.4"), "1169"),
        ("31-12-2022", "5", Some("0.5"), ""),
        ("01-01-2023", "5", Some("0.5"), "1167"),
        ("31-12-2022", "5", Some("0.62"), "1168"),
        ("01-01-2023", "5", Some("0.62"), ""),
        ("01-01-2023", "5", Some("1"), "1160"),
        ("01-10-2024", "5", Some("0.62"), "1194"),
        ("31-12-2022", "0", Some("0.26"), ""),
        ("01-01-2023", "0", Some("0"), ""),
        ("01-01-2023", "0", Some("0.26"), "1165"),
        ("30-09-2024", "0", Some("0.26"), "1165"),
        ("01-10-2024", "0", Some("0.26"), ""),
        ("01-10-2024", "0", Some("0"), "W1170"),
        ("30-09-2024", "0", Some("0"), ""),
    ] {
        assert_eq!(row(day, rate, surcharge), expected, "{day} {rate} {surcharge:?}");
    }
    // Other taxes have no list.
    for tax in ["02", "03", "05"] {
        let mut line =
            json!({"impuesto": tax, "clave": "01", "calif": "S1", "base": 100, "tipo": 7, "cuota": 7});
        if tax == "05" {
            line["clave"] = Value::Null;
        }
        assert_eq!(read(&with(full(), json!({"desglose": [line]})), TODAY), [""; 0], "{tax}");
    }
}

#[test]
fn regimes() {
    let of = |l: Value| line(full(), l);
    let exempt = |key: &str, cause: &str| json!({"clave": key, "base": 100, "causaExencion": cause});
    let plain = |key: &str, calif: &str| json!({"clave": key, "base": 100, "calif": calif});
    let taxed =
        |key: &str, rate: i64| json!({"clave": key, "base": 100, "calif": "S1", "tipo": rate, "cuota": rate});
    let reverse = |key: &str| json!({"clave": key, "base": 100, "calif": "S2", "tipo": 0, "cuota": 0});
    let igic = |l: Value| with(l, json!({"impuesto": "03"}));
    let to = |body: Value, nif: &str| with(body, json!({"destinatarios": [{"nombre": "X", "nif": nif}]}));
    let abroad =
        json!({"destinatarios": [{"nombre": "X", "idOtro": {"idType": "02", "id": "FR12345678901"}}]});
    check(vec![
        (of(exempt("01", "E1")), &[]),
        (of(exempt("01", "E2")), &["1199 desglose[0].causaExencion"]),
        (of(exempt("01", "E3")), &["1199 desglose[0].causaExencion"]),
        (of(igic(exempt("01", "E3"))), &["1199 desglose[0].causaExencion"]),
        (of(exempt("02", "E2")), &[]),
        (of(plain("02", "N2")), &["1286 desglose[0].calif"]),
        (of(exempt("03", "E1")), &[]),
        (of(taxed("03", 21)), &[]),
        (of(plain("03", "N1")), &["1200 desglose[0].calif"]),
        (of(reverse("04")), &[]),
        (of(exempt("04", "E1")), &[]),
        (of(taxed("04", 21)), &["1201 desglose[0].calif"]),
        (of(with(taxed("06", 21), json!({"baseImponibleACoste": 100}))), &[]),
        (of(taxed("06", 21)), &["1202 desglose[0].baseImponibleACoste"]),
        (
            line(simplified(), with(taxed("06", 21), json!({"baseImponibleACoste": 100}))),
            &["1202 desglose[0].clave"],
        ),
        (of(taxed("07", 21)), &[]),
        (of(exempt("07", "E1")), &[]),
        (of(exempt("07", "E6")), &[]),
        (of(exempt("07", "E2")), &["1203 desglose[0].causaExencion"]),
        (of(reverse("07")), &["1203 desglose[0].calif"]),
        (of(plain("07", "N1")), &["1203 desglose[0].calif"]),
        (of(plain("08", "N2")), &[]),
        (of(plain("08", "N1")), &["1252 desglose[0].calif"]),
        (of(exempt("08", "E1")), &["1252 desglose[0].calif"]),
        (of(plain("10", "N1")), &[]),
        (of(plain("10", "N2")), &["1205 desglose[0].calif"]),
        (with(of(plain("10", "N1")), abroad.clone()), &["1205 desglose[0].clave"]),
        (of(taxed("11", 21)), &[]),
        (of(taxed("11", 10)), &["1206 desglose[0].tipo"]),
        (of(igic(taxed("11", 7))), &[]),
        (of(plain("11", "N1")), &[]),
        (to(with(of(taxed("14", 21)), json!({"fechaOperacion": "16-01-2026"})), "Q2238877A"), &[]),
        (to(of(taxed("14", 21)), "Q2238877A"), &["1147 desglose[0].clave"]),
        (
            to(with(of(taxed("14", 21)), json!({"fechaOperacion": "14-01-2026"})), "Q2238877A"),
            &["1147 desglose[0].clave"],
        ),
        (with(of(taxed("14", 21)), json!({"fechaOperacion": "16-01-2026"})), &["1149 desglose[0].clave"]),
        (
            to(
                with(of(taxed("14", 21)), json!({"fechaOperacion": "16-01-2026", "tipoFactura": "F3"})),
                "V75659383",
            ),
            &["1148 desglose[0].clave"],
        ),
        (of(igic(plain("20", "N2"))), &[]),
        (of(igic(plain("20", "N1"))), &["1293 desglose[0].calif"]),
        (of(taxed("20", 21)), &[]),
        (of(taxed("21", 21)), &["1246 desglose[0].clave"]),
        (of(igic(taxed("21", 7))), &[]),
        (of(json!({"impuesto": "05", "clave": "01", "base": 1, "calif": "N1"})), &["1260 desglose[0].clave"]),
        (with(of(exempt("01", "E5")), abroad.clone()), &[]),
        (of(exempt("01", "E5")), &["1289 desglose[0].causaExencion"]),
        (of(igic(exempt("01", "E5"))), &[]),
    ]);
    // IPSI without key, or with one of another tax: a warning until the end of 2026.
    let ipsi = |key: Value| of(json!({"impuesto": "02", "clave": key, "base": 1, "calif": "N1"}));
    let rows = |expected: &'static [&'static str]| {
        vec![
            (ipsi(json!("01")), &[][..]),
            (ipsi(json!("20")), &[]),
            (ipsi(Value::Null), expected),
            (ipsi(json!("02")), expected),
        ]
    };
    check_on("31-12-2026", rows(&["W2009 desglose[0].clave"]));
    check_on("01-01-2027", rows(&["1245 desglose[0].clave"]));
}

#[test]
fn dates() {
    let on = |date: &str| with(full(), json!({"fecha": date}));
    let of = |date: &str, operation: &str| with(full(), json!({"fecha": date, "fechaOperacion": operation}));
    let pending =
        |body: Value| line(body, json!({"clave": "15", "base": 1, "calif": "S1", "tipo": 21, "cuota": 0.21}));
    check(vec![
        (on("15-06-2026"), &[]),
        (on("16-06-2026"), &["1112 fecha"]),
        (on("2026-06-15"), &[]),
        (on("28-10-2024"), &[]),
        (on("27-10-2024"), &["1152 fecha"]),
        (on("30-02-2025"), &["1105 fecha"]),
        (on("1-1-2026"), &["1105 fecha"]),
        (of("15-06-2026", "15-06-2026"), &[]),
        (of("14-06-2026", "15-06-2026"), &["1146 fechaOperacion"]),
        (pending(of("14-06-2026", "15-06-2026")), &[]),
        (of("15-06-2026", "16-06-2026"), &["1146 fechaOperacion", "1173 fechaOperacion"]),
        (pending(of("15-06-2026", "16-06-2026")), &[]),
        (line(of("14-06-2026", "15-06-2026"), json!({"impuesto": "05", "base": 1, "calif": "N1"})), &[]),
        (of("15-06-2026", "15-06-2006"), &[]),
        (of("15-06-2026", "14-06-2006"), &["1134 fechaOperacion"]),
        (pending(of("15-06-2026", "31-12-2027")), &["W1125 fechaOperacion"]),
        (pending(of("15-06-2026", "01-01-2028")), &["1125 fechaOperacion"]),
        (of("15-06-2026", "31-02-2026"), &["1145 fechaOperacion"]),
    ]);
}

#[test]
fn corrections_and_rectifications() {
    let rectifying =
        |changes: Value| with(full(), with(json!({"tipoFactura": "R1", "tipoRectificativa": "I"}), changes));
    let other = json!([{"nif": "B12345674", "numSerie": "2025/F-100", "fecha": "01-12-2025"}]);
    let amounts = json!({"base": 100, "cuota": 21, "cuotaRecargo": 0});
    check(vec![
        (with(full(), json!({"subsanacion": true, "rechazoPrevio": "X"})), &[]),
        (with(full(), json!({"subsanacion": "S", "rechazoPrevio": "S"})), &[]),
        (with(full(), json!({"subsanacion": false, "rechazoPrevio": "N"})), &[]),
        (with(full(), json!({"rechazoPrevio": "X"})), &["1153 rechazoPrevio"]),
        (with(full(), json!({"subsanacion": "N", "rechazoPrevio": "S"})), &["1161 rechazoPrevio"]),
        (with(full(), json!({"rechazoPrevio": "Z"})), &["1275 rechazoPrevio"]),
        (with(full(), json!({"subsanacion": "Z"})), &["1171 subsanacion"]),
        (rectifying(json!({})), &[]),
        (rectifying(json!({"tipoRectificativa": null})), &["1114 tipoRectificativa"]),
        (with(full(), json!({"tipoRectificativa": "I"})), &["1115 tipoRectificativa"]),
        (with(full(), json!({"tipoRectificativa": "X"})), &["1107 tipoRectificativa"]),
        (rectifying(json!({"facturasRectificadas": other})), &[]),
        (with(full(), json!({"facturasRectificadas": other})), &["1117 facturasRectificadas"]),
        (with(full(), json!({"facturasSustituidas": other})), &["1116 facturasSustituidas"]),
        (with(full(), json!({"facturasSustituidas": other, "tipoFactura": "F3"})), &[]),
        (rectifying(json!({"tipoRectificativa": "S", "importeRectificacion": amounts})), &[]),
        (rectifying(json!({"tipoRectificativa": "S"})), &["1118 importeRectificacion"]),
        (rectifying(json!({"importeRectificacion": amounts})), &["1119 importeRectificacion"]),
        (with(full(), json!({"importeRectificacion": amounts})), &["1119 importeRectificacion"]),
    ]);
}

#[test]
fn flags_and_counts() {
    let r5 = with(simplified(), json!({"tipoFactura": "R5", "tipoRectificativa": "I"}));
    let large = |total: &str, flag: bool| {
        let lines = json!([{"clave": "01", "calif": "N1", "base": total}]);
        with(full(), json!({"desglose": lines, "macrodato": flag}))
    };
    let lines = |count: usize| {
        let line = json!({"clave": "01", "calif": "N1", "base": 1});
        with(full(), json!({"desglose": vec![line; count]}))
    };
    let recipients = |count: usize| {
        with(full(), json!({"destinatarios": vec![json!({"nombre": "X", "nif": "A58818501"}); count]}))
    };
    check(vec![
        (with(full(), json!({"simplificadaArt7273": true})), &[]),
        (with(simplified(), json!({"simplificadaArt7273": true})), &["1183 simplificadaArt7273"]),
        (with(simplified(), json!({"simplificadaArt7273": "N"})), &[]),
        (with(simplified(), json!({"sinDestinatarioArt61d": "S"})), &[]),
        (with(full(), json!({"sinDestinatarioArt61d": "S"})), &["1185 sinDestinatarioArt61d"]),
        (with(r5.clone(), json!({"cupon": true})), &[]),
        (with(full(), json!({"cupon": true})), &["1157 cupon"]),
        (large("99999999.99", false), &[]),
        (large("99999999.99", true), &["1138 macrodato"]),
        (large("100000000", true), &[]),
        (large("100000000", false), &["1139 macrodato"]),
        (large("-100000000", false), &["1139 macrodato"]),
        (lines(12), &[]),
        (lines(13), &["4102 desglose"]),
        (lines(0), &["4102 desglose"]),
        (recipients(1000), &[]),
        (recipients(1001), &["4102 destinatarios"]),
        (r5, &[]),
    ]);
}

#[test]
fn totals() {
    let total = |tax: &str, total: &str| with(full(), json!({"cuotaTotal": tax, "total": total}));
    let f2 = |base: &str, changes: Value| {
        with(
            line(
                simplified(),
                json!({"clave": "01", "calif": "S1", "base": base, "tipo": 0, "cuota": "10",
            "tipoRecargo": 0.26, "cuotaRecargo": 10}),
            ),
            changes,
        )
    };
    check(vec![
        (total("21", "121"), &[]),
        (total("31", "131"), &[]),
        (total("31.01", "131"), &["W2006 cuotaTotal"]),
        (total("11", "111"), &[]),
        (total("10.99", "110.99"), &["W2005 total", "W2006 cuotaTotal"]),
        (total("21", "131.01"), &["W2005 total"]),
        (f2("3000", json!({})), &[]),
        (f2("3000.01", json!({})), &["1150 desglose"]),
        (f2("3000.01", json!({"sinDestinatarioArt61d": true})), &[]),
        (f2("3000.01", json!({"numRegistroAcuerdoFacturacion": "1"})), &[]),
    ]);
    for (regime, excused) in
        [("03", true), ("05", true), ("06", true), ("09", true), ("01", false), ("07", false)]
    {
        let mut extra = json!({"clave": regime, "base": 100, "calif": "S1", "tipo": 21, "cuota": 21});
        if regime == "06" {
            extra["baseImponibleACoste"] = json!(100);
        }
        let body = with(
            full(),
            json!({"total": 9999, "cuotaTotal": 9999,
            "desglose": [{"clave": "01", "base": 100, "calif": "N1"}, extra]}),
        );
        let expected: &[&str] = if excused { &[] } else { &["W2005 total", "W2006 cuotaTotal"] };
        assert_eq!(read(&body, TODAY), expected, "{regime}");
    }
    let body =
        with(full(), json!({"total": 9999, "desglose": [{"clave": "08", "base": 100, "calif": "N2"}]}));
    assert_eq!(read(&body, TODAY), [""; 0]);
}

#[test]
fn a_rule_can_be_demoted_unless_the_specification_lists_it() {
    let body = line(full(), json!({"clave": "11", "base": 100, "calif": "S1", "tipo": 10, "cuota": 10}));
    let body = Json::parse(body.to_string().as_bytes()).unwrap();
    let today = Date::parse(TODAY).unwrap();
    let demoted = ["1206".to_owned(), "1208".to_owned()];
    let request =
        SendRequest::read(&body, &Defaults { issuer_name: None, today, demoted: &demoted }).unwrap();
    assert_eq!(request.warnings[0].code, "1206");
    let body = line(full(), json!({"clave": "01", "base": 100, "calif": "S1"}));
    let body = Json::parse(body.to_string().as_bytes()).unwrap();
    assert!(SendRequest::read(&body, &Defaults { issuer_name: None, today, demoted: &demoted }).is_err());
}

#[test]
fn a_rule_holds_between_its_days_only() {
    for rule in validation::rules() {
        for (day, outside) in [(rule.valid_from, -1), (rule.valid_to, 1)] {
            let Some(day) = day else { continue };
            let date = |day: jiff::civil::Date| Date::parse(&day.to_string()).unwrap();
            assert!(rule.is_in_force(date(day)), "{}", rule.id);
            let next = day.checked_add(jiff::Span::new().days(outside)).unwrap();
            assert!(!rule.is_in_force(date(next)), "{}", rule.id);
        }
    }
}
