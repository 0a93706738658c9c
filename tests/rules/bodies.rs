//! The bodies of send and cancel: spellings, defaults, and problems told with their place.

use serde_json::{Value, json};
use verifactu_core::{
    api::{CancelRequest, Defaults, Detail, Json, SendRequest},
    record::{GeneratedBy, Identification, PriorRejection},
    types::{Date, Text},
};

use crate::rules::{TODAY, full, read, simplified, with};

fn defaults(issuer_name: Option<&Text<120>>) -> Defaults<'_> {
    Defaults { issuer_name, today: Date::parse(TODAY).unwrap(), demoted: &[] }
}

fn send(body: &Value) -> Result<SendRequest, Vec<Detail>> {
    SendRequest::read(&Json::parse(body.to_string().as_bytes()).unwrap(), &defaults(None))
}

fn cancel(body: &Value) -> Result<CancelRequest, Vec<Detail>> {
    CancelRequest::read(&Json::parse(body.to_string().as_bytes()).unwrap(), &defaults(None))
}

fn sent(changes: Value) -> SendRequest {
    send(&with(full(), changes)).unwrap()
}

fn errors(changes: Value) -> Vec<String> {
    read(&with(full(), changes), TODAY)
}

#[test]
fn an_empty_body_is_told_everything_it_lacks() {
    let details = send(&json!({})).unwrap_err();
    let fields: Vec<_> = details.iter().map(|detail| detail.field.as_str()).collect();
    assert_eq!(fields, ["desglose", "nif", "numSerie", "fecha", "nombre", "tipoFactura", "descripcion"]);
    assert!(details.iter().all(|detail| detail.message == "is required" && detail.code.is_none()));
    for body in [json!([]), json!(1), json!("x"), Value::Null] {
        let details = send(&body).unwrap_err();
        assert_eq!((details.len(), details[0].field.as_str()), (1, ""), "{body}");
    }
    let details = cancel(&json!({})).unwrap_err();
    assert_eq!(details.iter().map(|d| d.field.as_str()).collect::<Vec<_>>(), ["nif", "numSerie", "fecha"]);
}

#[test]
fn problems_of_lines_are_told_beside_those_of_other_fields() {
    let body = with(
        simplified(),
        json!({"nif": "B00000001", "total": "1.234", "desglose": [{"base": 1}, {"base": "x"}, {"base": 1, "calif": "S9"}]}),
    );
    assert_eq!(
        read(&body, TODAY),
        [
            "- desglose[0].clave",
            "- desglose[1].base",
            "- desglose[2].clave",
            "- total",
            "1123 nif",
            "1181 desglose[2].calif",
            "1195 desglose[0].calif",
        ]
    );
}

#[test]
fn unknown_fields_are_named_where_they_stand() {
    let body = json!({
        "foo": 1,
        "destinatarios": [{"nombre": "X", "nif": "A58818501", "email": "x"}],
        "desglose": [{"clave": "01", "calif": "N1", "base": 1, "tax": null}],
        "encadenamiento": {"registroAnterior": {"huella": "A".repeat(64), "x": 1}},
    });
    assert_eq!(
        errors(body),
        ["- desglose[0].tax", "- destinatarios[0].email", "- encadenamiento.registroAnterior.x", "- foo"]
    );
    assert_eq!(errors(json!({"NIF": "x"})), ["- NIF"]);
}

#[test]
fn amounts_are_exact_in_every_spelling() {
    let line = |base: &str| {
        let text = full().to_string().replace("\"base\":100", &format!("\"base\":{base}"));
        let text = text.replace(",\"tipo\":21,\"cuota\":21", "").replace("\"S1\"", "\"N1\"");
        SendRequest::read(&Json::parse(text.as_bytes()).unwrap(), &defaults(None))
            .map(|request| request.invoice.total.to_string())
    };
    for (base, total) in [
        ("0.1", "0.1"),
        ("\"0.10\"", "0.1"),
        ("1e2", "100.0"),
        ("\"1e2\"", "100.0"),
        ("100.00", "100.0"),
        ("99999999.99", "99999999.99"),
        ("-99999999.99", "-99999999.99"),
        ("1.10", "1.1"),
    ] {
        assert_eq!(line(base).unwrap(), total, "{base}");
    }
    for base in ["0.001", "\"0.001\"", "1e-3", "1000000000000", "\"\"", "\"1,5\"", "true", "[1]", "{}"] {
        let details = line(base).unwrap_err();
        assert_eq!(details[0].field, "desglose[0].base", "{base}");
    }
    let twelve =
        json!({"macrodato": true, "desglose": [{"clave": "01", "calif": "N1", "base": "999999999999.99"}]});
    assert_eq!(sent(twelve).invoice.total.to_string(), "999999999999.99");
    let line = json!({"clave": "01", "calif": "N1", "base": "999999999999.99"});
    assert_eq!(errors(json!({"macrodato": true, "desglose": [line, line]})), ["- total"]);
}

#[test]
fn further_spellings_say_the_same() {
    let plain = sent(json!({"desglose": [
        {"clave": "01", "calif": "S1", "base": 100, "tipo": 21, "cuota": 21, "tipoRecargo": 5.2, "cuotaRecargo": 5.2}]}));
    let mut body = full();
    let members = body.as_object_mut().unwrap();
    members.remove("desglose");
    members.remove("destinatarios");
    let alias = send(&with(
        body,
        json!({
            "detalles": [{"clave": "01", "calif": "S1", "base": 100, "tipo": 21, "cuota": 21,
                "tipoRecargoEquivalencia": 5.2, "cuotaRecargoEquivalencia": 5.2}],
            "destNombre": "Cliente SA", "destNif": "A58818501", "tipoHuella": "01",
            "subsanacion": null, "rechazoPrevio": null, "tercero": null, "facturasRectificadas": [],
        }),
    ))
    .unwrap();
    assert_eq!(plain.invoice, alias.invoice);

    let list = json!([{"nif": "B12345674", "numSerie": "A", "fecha": "01-12-2025"}]);
    let names = json!([{"idEmisorFactura": "B12345674", "numSerieFactura": "A", "fechaExpedicionFactura": "2025-12-01"}]);
    let r1 = |list: Value| {
        sent(json!({"tipoFactura": "R1", "tipoRectificativa": "I", "facturasRectificadas": list})).invoice
    };
    assert_eq!(r1(list), r1(names));
    let foreign = sent(
        json!({"destinatarios": [], "destNombre": "X", "destIdOtro": {"idType": "02", "id": "FR12345678901"}}),
    );
    assert!(matches!(foreign.invoice.recipients[0].identification, Identification::Foreign(_)));

    assert_eq!(errors(json!({"detalles": []})), ["- desglose"]);
    assert_eq!(errors(json!({"destNombre": "X", "destNif": "A58818501"})), ["- destinatarios"]);
    assert_eq!(errors(json!({"destinatarios": null, "destNombre": "X"})), ["- destNif"]);
    assert_eq!(errors(json!({"destinatarios": null, "destNif": "A58818501"})), ["- destNombre"]);
    assert_eq!(
        errors(json!({"destinatarios": null, "destNombre": "X", "destNif": "A5881850B"})),
        ["1123 destNif"]
    );
    assert_eq!(
        errors(json!({"destinatarios": null, "destNombre": "X", "destIdOtro": {"idType": "9", "id": "1"}})),
        ["1102 destIdOtro.idType"]
    );
    assert_eq!(
        errors(
            json!({"destinatarios": [{"nombre": "X", "nif": "A58818501", "idOtro": {"idType": "02", "id": "FR12345678901"}}]})
        ),
        ["- destinatarios[0].idOtro"]
    );
    assert_eq!(errors(json!({"destinatarios": [{"nombre": "X"}]})), ["- destinatarios[0].nif"]);
    assert_eq!(errors(json!({"tipoHuella": "02"})), ["1247 tipoHuella"]);
}

#[test]
fn flags_are_booleans_or_letters() {
    assert_eq!(sent(json!({"subsanacion": "S"})).invoice.correction.corrects, Some(true));
    assert_eq!(sent(json!({"subsanacion": false})).invoice.correction.corrects, Some(false));
    assert_eq!(sent(json!({})).invoice.correction.corrects, None);
    for (value, expected) in [
        (json!("X"), PriorRejection::NotHeld),
        (json!("S"), PriorRejection::Yes),
        (json!(true), PriorRejection::Yes),
        (json!("N"), PriorRejection::No),
        (json!(false), PriorRejection::No),
    ] {
        let request = sent(json!({"subsanacion": true, "rechazoPrevio": value}));
        assert_eq!(request.invoice.correction.prior_rejection, Some(expected));
    }
    // A mark that is off is left out of the record.
    assert_eq!(sent(json!({"macrodato": false, "cupon": "N"})).invoice, sent(json!({})).invoice);
    for value in [json!(1), json!("true"), json!("s"), json!([])] {
        assert_eq!(errors(json!({"simplificadaArt7273": value})), ["1136 simplificadaArt7273"]);
    }
}

#[test]
fn defaults_fill_what_may_be_left_out() {
    let mut body = full();
    body.as_object_mut().unwrap().remove("nombre");
    let json = Json::parse(body.to_string().as_bytes()).unwrap();
    assert_eq!(SendRequest::read(&json, &defaults(None)).unwrap_err()[0].field, "nombre");
    let name = Text::parse("Registrado SL").unwrap();
    let request = SendRequest::read(&json, &defaults(Some(&name))).unwrap();
    assert_eq!(request.invoice.issuer_name, name);
    let request =
        SendRequest::read(&Json::parse(full().to_string().as_bytes()).unwrap(), &defaults(Some(&name)));
    assert_eq!(request.unwrap().invoice.issuer_name.as_str(), "Emisor SL");

    let request = sent(json!({"desglose": [
        {"clave": "01", "calif": "S1", "base": "0.10", "tipo": 21, "cuota": 0.02, "tipoRecargo": 5.2, "cuotaRecargo": 0.01},
        {"clave": "01", "calif": "N1", "base": "0.20"}]}));
    assert_eq!(request.invoice.tax_total.to_string(), "0.03");
    assert_eq!(request.invoice.total.to_string(), "0.33");
    // A date of operation that is the date of issue says nothing.
    assert_eq!(sent(json!({"fechaOperacion": "2026-01-15"})).invoice.operation_date, None);
    let cost = |value: Value| {
        let line = json!({"impuesto": "05", "calif": "S1", "base": 7, "tipo": 0, "cuota": 0, "baseImponibleACoste": value});
        sent(json!({"desglose": [line]})).invoice.breakdown[0].base_at_cost.map(|base| base.to_string())
    };
    assert_eq!(cost(json!(true)).as_deref(), Some("7.0"));
    assert_eq!(cost(json!("5.5")).as_deref(), Some("5.5"));
    assert_eq!(cost(json!(false)), None);
    assert_eq!(errors(json!({"refExterna": ""})), [""; 0]);
}

#[test]
fn texts_are_bounded_and_coded() {
    for (changes, expected) in [
        (json!({"numSerie": "A\"1"}), "1287 numSerie"),
        (json!({"numSerie": "Ñ1"}), "1130 numSerie"),
        (json!({"numSerie": "9".repeat(61)}), "1104 numSerie"),
        (json!({"numSerie": 7}), "1104 numSerie"),
        (json!({"nombre": "x".repeat(121)}), "- nombre"),
        (json!({"descripcion": " "}), "- descripcion"),
        (json!({"descripcion": "x".repeat(501)}), "- descripcion"),
        (json!({"descripcion": "a\u{0}b"}), "- descripcion"),
        (json!({"refExterna": "x".repeat(61)}), "1253 refExterna"),
        (json!({"tipoFactura": "F4"}), "1106 tipoFactura"),
        (json!({"numRegistroAcuerdoFacturacion": "x".repeat(16)}), "- numRegistroAcuerdoFacturacion"),
        (json!({"idAcuerdoSistemaInformatico": "x".repeat(17)}), "- idAcuerdoSistemaInformatico"),
        (json!({"desglose": {}}), "- desglose"),
        (json!({"desglose": [1]}), "- desglose[0]"),
    ] {
        assert_eq!(errors(changes.clone()), [expected], "{changes}");
    }
    let line = |name: &str, value: Value| {
        let mut line = json!({"clave": "01", "calif": "N1", "base": 1});
        line[name] = value;
        errors(json!({"desglose": [line]})).into_iter().next()
    };
    assert_eq!(line("impuesto", json!("04")).as_deref(), Some("1218 desglose[0].impuesto"));
    assert_eq!(line("clave", json!("12")).as_deref(), Some("1246 desglose[0].clave"));
    assert_eq!(line("causaExencion", json!("E9")).as_deref(), Some("1182 desglose[0].causaExencion"));
    assert_eq!(line("tipo", json!(-1)).as_deref(), Some("- desglose[0].tipo"));
}

#[test]
fn claims_on_the_chain() {
    let huella = "0123456789ABCDEF".repeat(4);
    let previous = json!({"huella": huella});
    let chain = |chain: Value| sent(json!({"encadenamiento": chain})).chain;
    assert_eq!(chain(json!({})), sent(json!({})).chain);
    assert_eq!(chain(json!({"primerRegistro": true})).first, Some(true));
    assert_eq!(chain(json!({"primerRegistro": "N"})).first, Some(false));
    assert_eq!(chain(json!({"registroAnterior": previous})).previous.unwrap().as_str(), huella);
    assert_eq!(chain(json!({"registroAnterior": {}})).previous, None);
    assert_eq!(sent(json!({"primerRegistro": true})).chain.first, Some(true));
    assert_eq!(
        sent(json!({"primerRegistro": true, "encadenamiento": {"primerRegistro": true}})).chain.first,
        Some(true)
    );
    for (changes, expected) in [
        (
            json!({"primerRegistro": true, "encadenamiento": {"primerRegistro": false}}),
            "- encadenamiento.primerRegistro",
        ),
        (
            json!({"encadenamiento": {"primerRegistro": true, "registroAnterior": previous}}),
            "1180 encadenamiento.primerRegistro",
        ),
        (
            json!({"encadenamiento": {"registroAnterior": {"huella": "x"}}}),
            "- encadenamiento.registroAnterior.huella",
        ),
        (
            json!({"encadenamiento": {"registroAnterior": {"huella": huella.to_lowercase()}}}),
            "- encadenamiento.registroAnterior.huella",
        ),
        (json!({"encadenamiento": {"primerRegistro": 1}}), "1274 encadenamiento.primerRegistro"),
        (json!({"encadenamiento": true}), "- encadenamiento"),
    ] {
        assert_eq!(errors(changes.clone()), [expected], "{changes}");
    }
}

#[test]
fn claims_on_the_huella() {
    let huella = "0123456789ABCDEF".repeat(4);
    let time = "2026-01-15T10:00:00+01:00";
    let first = json!({"primerRegistro": true});
    let stamp = sent(json!({"huella": huella, "fechaHoraHusoGenRegistro": time, "encadenamiento": first}))
        .stamp
        .unwrap();
    assert_eq!((stamp.huella.as_str(), stamp.generated_at.as_str()), (huella.as_str(), time));
    for (changes, expected) in [
        (json!({"huella": huella, "encadenamiento": first}), "- fechaHoraHusoGenRegistro"),
        (json!({"fechaHoraHusoGenRegistro": time, "encadenamiento": first}), "- huella"),
        (json!({"huella": huella, "fechaHoraHusoGenRegistro": time}), "- encadenamiento"),
        (
            json!({"huella": huella, "fechaHoraHusoGenRegistro": time, "primerRegistro": false}),
            "- encadenamiento",
        ),
        (
            json!({"huella": huella, "fechaHoraHusoGenRegistro": "2026-01-15T10:00:00.1Z", "primerRegistro": true}),
            "1244 fechaHoraHusoGenRegistro",
        ),
        (
            json!({"huella": huella, "fechaHoraHusoGenRegistro": "2026-01-15T10:00:00+0100", "primerRegistro": true}),
            "1244 fechaHoraHusoGenRegistro",
        ),
    ] {
        assert_eq!(errors(changes.clone()), [expected], "{changes}");
    }
}

#[test]
fn claims_on_the_system() {
    assert_eq!(sent(json!({"sistemaInformatico": {}})).system, None);
    let system = sent(json!({"sistemaInformatico": {
        "nombreRazon": "Productor SL", "nif": "B65410011", "nombreSistemaInformatico": "ERP", "idSistemaInformatico": "A1",
        "version": "1.0", "numeroInstalacion": "7", "tipoUsoPosibleSoloVerifactu": "S", "tipoUsoPosibleMultiOT": true,
        "indicadorMultiplesOT": "N"}}))
    .system
    .unwrap();
    assert_eq!(system.producer.unwrap().name.as_str(), "Productor SL");
    assert_eq!(system.id.unwrap().as_str(), "A1");
    assert_eq!((system.verifactu_only, system.multiple_issuers), (Some(true), Some(false)));
    for (changes, expected) in [
        (json!({"idSistemaInformatico": "a1"}), "1177 sistemaInformatico.idSistemaInformatico"),
        (json!({"nif": "B65410011"}), "- sistemaInformatico.nombreRazon"),
        (json!({"nombreRazon": "X"}), "- sistemaInformatico.nif"),
        (json!({"indicadorMultiplesOT": 1}), "1226 sistemaInformatico.indicadorMultiplesOT"),
        (json!({"foo": 1}), "- sistemaInformatico.foo"),
        (
            json!({"nombreRazon": "X", "idOtro": {"codigoPais": "ES", "idType": "07", "id": "12345678Z"}}),
            "1221 sistemaInformatico.idOtro.idType",
        ),
        (
            json!({"nombreRazon": "X", "idOtro": {"codigoPais": "ES", "idType": "04", "id": "1"}}),
            "1232 sistemaInformatico.idOtro.idType",
        ),
    ] {
        assert_eq!(errors(json!({"sistemaInformatico": changes.clone()})), [expected], "{changes}");
    }
}

#[test]
fn cancellations_in_every_spelling() {
    let plain = json!({"nif": "B12345674", "numSerie": "A", "fecha": "15-01-2026", "sinRegistroPrevio": true, "rechazoPrevio": false});
    let request = cancel(&plain).unwrap();
    assert_eq!(request.cancellation.without_prior_record, Some(true));
    assert_eq!(request.cancellation.prior_rejection, Some(false));
    assert!(request.issuer_name.is_none());
    let nested = json!({"facturaAnulada": {"idEmisorFacturaAnulada": "B12345674", "numSerieFacturaAnulada": "A",
        "fechaExpedicionFacturaAnulada": "2026-01-15"}, "sinRegistroAnterior": "S", "rechazoPrevio": "N"});
    assert_eq!(cancel(&nested).unwrap().cancellation, request.cancellation);
    let mixed = with(nested.clone(), json!({"nif": "B12345674", "nombre": "Emisor SL"}));
    assert_eq!(cancel(&mixed).unwrap().issuer_name.unwrap().as_str(), "Emisor SL");

    let by = cancel(&with(
        plain.clone(),
        json!({"generadoPor": "T", "generador": {"nombre": "X", "nif": "A58818501"}}),
    ));
    assert_eq!(by.unwrap().cancellation.generated_by, Some(GeneratedBy::ThirdParty));
    // The example of the contract: the issuer itself, which is what saying nothing means.
    let own = with(plain.clone(), json!({"generadoPor": "E", "generador": {}, "encadenamiento": {}}));
    assert_eq!(cancel(&own).unwrap().cancellation, request.cancellation);

    let fields = |body: Value| {
        let mut fields: Vec<_> = cancel(&body).unwrap_err().into_iter().map(|detail| detail.field).collect();
        fields.sort();
        fields
    };
    assert_eq!(fields(with(nested.clone(), json!({"numSerie": "A"}))), ["numSerie"]);
    assert_eq!(fields(with(nested, json!({"nif": "A58818501"}))), ["facturaAnulada.nif"]);
    assert_eq!(
        fields(json!({"facturaAnulada": {}})),
        ["facturaAnulada.fecha", "facturaAnulada.numSerie", "nif"]
    );
    assert_eq!(fields(with(plain, json!({"total": 1}))), ["total"]);
}

#[test]
fn the_list_of_problems_is_bounded() {
    let other = json!({"a": 1, "b": 2});
    let found = errors(
        json!({"tipoFactura": "R1", "tipoRectificativa": "I", "facturasRectificadas": vec![other; 1000]}),
    );
    assert_eq!(found.len(), 256);
}
