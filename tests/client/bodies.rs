//! What the request types write, the service reads.

use serde_json::{Value, json};
use verifactu_client::{
    api::{
        CancelInvoice, CancelRequest, Defaults, InvoiceKey, Json, Line, Person, PersonId, Place,
        ReplacedAmounts, Seal, SendInvoice, SendRequest, System,
    },
    record::{
        Country, Exemption, ForeignIdType, GeneratedBy, Identification, InvoiceType, IssuedBy,
        PriorRejection, RectificationMode, Tax,
    },
    types::{Amount, Date, GenerationTime, Huella, InvoiceNumber, Nif, Rate},
};

use crate::scripted::{HUELLA, invoice};

fn amount(text: &str) -> Amount {
    Amount::parse(text).unwrap()
}

fn date(text: &str) -> Date {
    Date::parse(text).unwrap()
}

fn nif(text: &str) -> Nif {
    Nif::parse(text).unwrap()
}

fn defaults() -> Defaults<'static> {
    Defaults { issuer_name: None, today: date("20-01-2026"), demoted: &[] }
}

fn json_of(body: &impl serde::Serialize) -> Json {
    Json::parse(&serde_json::to_vec(body).unwrap()).unwrap()
}

#[test]
fn a_plain_invoice_says_no_more_than_it_must() {
    let expected = json!({
        "nif": "B12345674", "nombre": "Emisor SL", "numSerie": "2026/F-001", "fecha": "15-01-2026",
        "tipoFactura": "F2", "descripcion": "Servicios",
        "desglose": [{"clave": "01", "calif": "S1", "base": "100.0", "tipo": "21.0", "cuota": "21.0"}],
    });
    assert_eq!(serde_json::to_value(invoice("2026/F-001")).unwrap(), expected);
    let read = SendRequest::read(&json_of(&invoice("2026/F-001")), &defaults()).unwrap();
    assert_eq!(read.invoice.total, amount("121"));
}

#[test]
fn every_member_of_an_invoice_is_read() {
    let other = |number| InvoiceKey {
        nif: nif("B12345674"),
        num_serie: InvoiceNumber::parse(number).unwrap(),
        fecha: date("01-12-2025"),
    };
    let seal = Seal {
        huella: Huella::parse(HUELLA).unwrap(),
        generated_at: GenerationTime::parse("2026-01-15T10:00:00+01:00").unwrap(),
    };
    let surcharged = Line {
        impuesto: Some(Tax::Vat),
        tipo_recargo: Some(Rate::parse("5.2").unwrap()),
        cuota_recargo: Some(amount("5.20")),
        ..Line::vat(amount("100"), Rate::parse("21").unwrap(), amount("21"))
    };
    let system = System {
        nombre_razon: Some("Productora SL".into()),
        identificacion: Some(PersonId::Nif(nif("B65410011"))),
        nombre_sistema_informatico: Some("ERP".into()),
        id_sistema_informatico: Some("77".into()),
        version: Some("1.0".into()),
        numero_instalacion: Some("383".into()),
        tipo_uso_posible_solo_verifactu: Some(false),
        tipo_uso_posible_multi_ot: Some(true),
        indicador_multiples_ot: Some(true),
    };
    let foreigner = Person::foreign("Client", Country::parse("FR"), ForeignIdType::EuVat, "FR12345678901");
    let full = SendInvoice {
        fecha_operacion: Some(date("14-01-2026")),
        desglose: vec![surcharged, Line::exempt(amount("10"), Exemption::E1)],
        cuota_total: Some(amount("26.2")),
        total: Some(amount("136.2")),
        tipo_factura: InvoiceType::R1,
        tipo_rectificativa: Some(RectificationMode::Substitution),
        facturas_rectificadas: vec![other("2025/F-100")],
        importe_rectificacion: Some(ReplacedAmounts {
            base: amount("100"),
            cuota: amount("21"),
            cuota_recargo: Some(Amount::ZERO),
        }),
        macrodato: Some(false),
        cupon: Some(true),
        simplificada_art_7273: Some(false),
        sin_destinatario_art_61d: Some(false),
        emitida_por: Some(IssuedBy::ThirdParty),
        tercero: Some(Person::spanish("Asesores SL", nif("A39200019"))),
        rechazo_previo: Some(PriorRejection::No),
        num_registro_acuerdo_facturacion: Some("ACUERDO1".into()),
        id_acuerdo_sistema_informatico: Some("ACUERDO2".into()),
        encadenamiento: Some(Place::After(seal.huella)),
        sello: Some(seal.clone()),
        sistema_informatico: Some(system.clone()),
        ..invoice("2026/R-001").recipient(foreigner).reference("ERP-9").correction()
    };
    let read = SendRequest::read(&json_of(&full), &defaults()).unwrap();
    assert_eq!(read.chain.previous, Some(seal.huella));
    assert_eq!(read.stamp.as_ref().unwrap().huella, seal.huella);
    assert_eq!(read.stamp.unwrap().generated_at.as_str(), "2026-01-15T10:00:00+01:00");
    let claimed = read.system.unwrap();
    assert_eq!(claimed.producer.unwrap().name.as_str(), "Productora SL");
    assert_eq!(claimed.name.unwrap().as_str(), "ERP");
    assert_eq!(claimed.id.unwrap().as_str(), "77");
    assert_eq!(claimed.version.unwrap().as_str(), "1.0");
    assert_eq!(claimed.installation.unwrap().as_str(), "383");
    assert_eq!(claimed.verifactu_only, Some(false));
    assert_eq!((claimed.multiple_issuers_possible, claimed.multiple_issuers), (Some(true), Some(true)));
    let invoice = read.invoice;
    assert_eq!(invoice.external_reference.unwrap().as_str(), "ERP-9");
    assert_eq!(invoice.correction.corrects, Some(true));
    assert_eq!(invoice.correction.prior_rejection, Some(PriorRejection::No));
    assert_eq!(invoice.operation_date, Some(date("14-01-2026")));
    assert_eq!((invoice.tax_total, invoice.total), (amount("26.2"), amount("136.2")));
    assert_eq!(invoice.breakdown[0].tax, Some(Tax::Vat));
    assert_eq!(invoice.breakdown[0].surcharge_amount, Some(amount("5.2")));
    assert_eq!(invoice.breakdown[1].exemption, Some(Exemption::E1));
    assert_eq!(invoice.rectified[0].number.as_str(), "2025/F-100");
    assert_eq!(invoice.rectified_amounts.unwrap().surcharge, Some(Amount::ZERO));
    assert_eq!(invoice.coupon, Some(true));
    assert_eq!(invoice.issued_by, Some(IssuedBy::ThirdParty));
    assert_eq!(invoice.third_party.unwrap().name.as_str(), "Asesores SL");
    assert!(
        matches!(&invoice.recipients[0].identification, Identification::Foreign(id) if id.id.as_str() == "FR12345678901")
    );
    assert_eq!(invoice.invoicing_agreement.unwrap().as_str(), "ACUERDO1");
    assert_eq!(invoice.system_agreement.unwrap().as_str(), "ACUERDO2");

    let replacing = SendInvoice {
        tipo_factura: InvoiceType::F3,
        facturas_sustituidas: vec![other("2025/S-1")],
        encadenamiento: Some(Place::First),
        ..invoice_of(Person::spanish("Cliente SA", nif("A39200019")))
    };
    let read = SendRequest::read(&json_of(&replacing), &defaults()).unwrap();
    assert_eq!((read.chain.first, read.invoice.replaced.len()), (Some(true), 1));
}

fn invoice_of(recipient: Person) -> SendInvoice {
    invoice("2026/F-002").recipient(recipient)
}

#[test]
fn every_member_of_a_cancellation_is_read() {
    let plain = CancelInvoice::new(nif("B12345674"), InvoiceNumber::parse("1").unwrap(), date("15-01-2026"));
    let expected = json!({"nif": "B12345674", "numSerie": "1", "fecha": "15-01-2026"});
    assert_eq!(serde_json::to_value(&plain).unwrap(), expected);
    let full = CancelInvoice {
        nombre: Some("Emisor SL".into()),
        ref_externa: Some("ERP-9".into()),
        sin_registro_previo: Some(true),
        rechazo_previo: Some(false),
        generado_por: Some(GeneratedBy::ThirdParty),
        generador: Some(Person::spanish("Asesores SL", nif("A39200019"))),
        encadenamiento: Some(Place::First),
        sistema_informatico: Some(System { version: Some("2".into()), ..System::default() }),
        ..plain
    };
    let read = CancelRequest::read(&json_of(&full), &defaults()).unwrap();
    assert_eq!(read.issuer_name.unwrap().as_str(), "Emisor SL");
    assert_eq!(read.chain.first, Some(true));
    assert_eq!(read.system.unwrap().version.unwrap().as_str(), "2");
    let cancellation = read.cancellation;
    assert_eq!(cancellation.external_reference.unwrap().as_str(), "ERP-9");
    assert_eq!(cancellation.without_prior_record, Some(true));
    assert_eq!(cancellation.prior_rejection, Some(false));
    assert_eq!(cancellation.generated_by, Some(GeneratedBy::ThirdParty));
    assert_eq!(cancellation.generator.unwrap().name.as_str(), "Asesores SL");
}

#[test]
fn amounts_are_never_floats() {
    let line = Line {
        base_imponible_a_coste: Some(amount("-0.01")),
        ..Line::vat(amount("999999999999.99"), Rate::parse("0.62").unwrap(), amount("0.1"))
    };
    let written = serde_json::to_value(line).unwrap();
    let numbers = written.as_object().unwrap().values().filter(|value| !value.is_string());
    assert_eq!(numbers.collect::<Vec<&Value>>(), Vec::<&Value>::new());
    assert_eq!(
        (&written["base"], &written["baseImponibleACoste"]),
        (&json!("999999999999.99"), &json!("-0.01"))
    );
}
