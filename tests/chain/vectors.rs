//! Huellas that others published: AEAT in its description of the huella (Hash 0.1.2, section 6) and
//! in its signature example, and users who had records accepted by its test service.

use harness::records::{amount, invoice_id, spanish_party, text, vat_line};
use verifactu_core::{
    chain::{self, CancellationFields, Canonical, EventFields, InvoiceFields},
    record::{
        BreakdownLine, ComputerSystem, Correction, Invoice, InvoiceType, Link, Predecessor, PriorRejection,
        Record, RectificationMode, Regime, Statement, SystemId,
    },
    types::{GenerationTime, Huella},
};

const FIRST: &str = "3C464DAF61ACB827C65FDA19F352A4E3BDC2C640E9E9FC4CC058073F38F12F60";
const SECOND: &str = "F7B94CFD8924EDFF273501B01EE5153E4CE8F259766F88CF6ACB8935802A2B97";
const CANCELLATION: &str = "177547C0D57AC74748561D054A9CEC14B4C4EA23D1BEFD6F2E69E3A388F90C68";
const BEFORE_EXAMPLE: &str = "C9AF4AF1EF5EBBA700350DE3EEF12C2D355C56AC56F13DB2A25E0031BD2B7ED5";
const EXAMPLE: &str = "FF954378B64ED331A9B2366AD317D86E9DEC1716B12DD0ACCB172A6DC4C105AA";

/// Fields of an invoice record in the order of the canonical string.
fn invoice<'a>(fields: [&'a str; 8]) -> InvoiceFields<'a> {
    let [issuer, number, date, invoice_type, tax_total, total, previous, generated_at] = fields;
    InvoiceFields { issuer, number, date, invoice_type, tax_total, total, previous, generated_at }
}

#[test]
fn invoice_records_have_the_published_huellas() {
    let official = "89890001K";
    let accepted = "B27593136";
    #[rustfmt::skip]
    let vectors = [
        ([official, "12345678/G33", "01-01-2024", "F1", "12.35", "123.45", "", "2024-01-01T19:20:30+01:00"], FIRST),
        ([official, "12345679/G34", "01-01-2024", "F1", "12.35", "123.45", FIRST, "2024-01-01T19:20:35+01:00"], SECOND),
        ([official, "12345678-G66", "03-02-2025", "R3", "41.4", "241.4", BEFORE_EXAMPLE, "2025-02-03T14:30:00+01:00"], EXAMPLE),
        // Accepted by the authority's test service: amounts with two decimals whatever they are, and
        // a time in another spelling of the offset.
        ([accepted, "DESG-20260922-195855-mixed", "22-09-2026", "F2", "3.10", "23.10",
          "A79945C8E420092A143A3038BE1ED0BFAEA5A527616682A797186087C136F7D6", "2026-09-22T19:58:55+02:00"],
         "6D66296AB5DEFB2CFD83BA6C29ABAD1A759FFE88F0F8B5EF145084E1AB10C20E"),
        ([accepted, "PRU-20260801-0001", "01-08-2026", "F1", "21.00", "121.00", "", "2026-08-01T15:30:28+00:00"],
         "2ECFAF742384DCA5D91A869F26C79717628822BDBB7BC6A9BC4C39CFD2CB077F"),
        (["B72877814", "GITHUB-EJ-003", "04-11-2024", "F1", "21.4", "131.4",
          "8C8DCEFB120522E0C71BC19902F44D5334FF6C98E74F0E3AC1D1E5A30C2EA836", "2024-11-04T12:36:39+01:00"],
         "4EECCE4DD48C0539665385D61D451BA921B7160CA6FEF46CD3C2E2BC5C778E14"),
    ];
    for (fields, huella) in vectors {
        assert_eq!(invoice(fields).huella().as_str(), huella, "{}", fields[1]);
    }
}

fn cancellation() -> CancellationFields<'static> {
    CancellationFields {
        issuer: "89890001K",
        number: "12345679/G34",
        date: "01-01-2024",
        previous: SECOND,
        generated_at: "2024-01-01T19:20:40+01:00",
    }
}

#[test]
fn cancellation_records_have_the_published_huella() {
    assert_eq!(cancellation().huella().as_str(), CANCELLATION);
}

/// AEAT publishes no vector for events; this one follows from the rule for their string.
#[test]
fn event_records_hash_nine_fields() {
    let event = EventFields {
        producer_nif: "89890001K",
        producer_id: "",
        system: "77",
        version: "1.0.03",
        installation: "383",
        issuer: "89890001K",
        event_type: "01",
        previous: "",
        generated_at: "2024-01-01T19:20:30+01:00",
    };
    assert_eq!(
        event.canonical(),
        "NIF=89890001K&ID=&IdSistemaInformatico=77&Version=1.0.03&NumeroInstalacion=383&NIF=89890001K\
         &TipoEvento=01&HuellaEvento=&FechaHoraHusoGenEvento=2024-01-01T19:20:30+01:00"
    );
    assert_eq!(event.huella().as_str(), "F5F2A9110E5658A23683C6B7CAA7130CDDE33C341FAEDEF8033821A6E676734F");
}

#[test]
fn the_string_names_every_field_and_escapes_nothing() {
    let fields = ["B12345674", "A&B/1", "01-02-2026", "F1", "21.0", "121.0", "", "2026-02-01T10:00:00+01:00"];
    assert_eq!(
        invoice(fields).canonical(),
        "IDEmisorFactura=B12345674&NumSerieFactura=A&B/1&FechaExpedicionFactura=01-02-2026&TipoFactura=F1\
         &CuotaTotal=21.0&ImporteTotal=121.0&Huella=&FechaHoraHusoGenRegistro=2026-02-01T10:00:00+01:00"
    );
    assert_eq!(
        cancellation().canonical(),
        format!(
            "IDEmisorFacturaAnulada=89890001K&NumSerieFacturaAnulada=12345679/G34\
             &FechaExpedicionFacturaAnulada=01-01-2024&Huella={SECOND}\
             &FechaHoraHusoGenRegistro=2024-01-01T19:20:40+01:00"
        )
    );
}

/// As Java trims: everything up to the blank goes from both ends, and nothing from inside.
#[test]
fn blanks_around_a_value_do_not_count() {
    let plain = ["B12345674", "A  1", "01-02-2026", "F1", "21.0", "121.0", "", "2026-02-01T10:00:00+01:00"];
    let mut padded = plain;
    padded[1] = " \t\u{1}A  1\r\n ";
    padded[6] = "  ";
    assert_eq!(invoice(padded).canonical(), invoice(plain).canonical());
    padded[1] = "\u{A0}A  1";
    assert_ne!(invoice(padded).canonical(), invoice(plain).canonical(), "a no-break space is no blank");
}

/// AEAT's example record, through the model. It declares 41.4 of tax where its lines add up to
/// 31.4; the huella covers what is declared.
fn example() -> Record {
    let line = |regime: Regime, base: &str, rate: &str, tax: &str| BreakdownLine {
        tax: None,
        regime: Some(regime),
        ..vat_line(base, rate, tax)
    };
    let lines = vec![
        line(Regime::R01, "10", "4", "0.4"),
        line(Regime::R01, "100", "21", "21"),
        line(Regime::R05, "100", "10", "10"),
    ];
    let id = invoice_id("89890001K", "12345678-G66", "03-02-2025");
    let name = text("certificado uno telematicas");
    let invoice = Invoice {
        correction: Correction { corrects: Some(false), prior_rejection: Some(PriorRejection::No) },
        rectification: Some(RectificationMode::Differences),
        rectified: vec![invoice_id("89890001K", "12345600-G66", "01-04-2024")],
        operation_date: Some("03-02-2025".parse().unwrap()),
        recipients: vec![spanish_party("certificado dos telematicas", "89890002E")],
        tax_total: amount("41.4"),
        total: amount("241.4"),
        ..Invoice::new(id, name, InvoiceType::R3, text("fecha entrega"), lines).unwrap()
    };
    let before = Predecessor {
        invoice: invoice_id("89890001K", "12345677-G33", "15-04-2024"),
        huella: Huella::parse(BEFORE_EXAMPLE).unwrap(),
    };
    let system = ComputerSystem {
        producer: spanish_party("CERTIFICADO UNO TELEMATICAS", "89890001K"),
        name: text("NombreSistemaInformatico"),
        id: SystemId::parse("77").unwrap(),
        version: text("1.0.03"),
        installation: text("383"),
        verifactu_only: true,
        multiple_issuers_possible: false,
        multiple_issuers: false,
    };
    let time = GenerationTime::parse("2025-02-03T14:30:00+01:00").unwrap();
    chain::seal(Statement::Invoice(Box::new(invoice)), Link::Previous(before), system, time)
}

#[test]
fn the_model_gives_the_example_its_huella() {
    let example = example();
    assert_eq!(example.huella.as_str(), EXAMPLE);
    let string = chain::canonical(&example.statement, example.link.previous_huella(), &example.generated_at);
    assert!(string.contains("&CuotaTotal=41.4&ImporteTotal=241.4&Huella=C9AF4AF1"), "{string}");
    assert_eq!(chain::huella_of(string.as_bytes()), example.huella);
}

/// Every element of the example that we write too, in the same order and with the same value, up to
/// the spelling of amounts.
#[test]
fn the_writer_writes_the_example() {
    let xml = String::from_utf8(verifactu_core::xml::record::to_vec(&example())).unwrap();
    let content = xml.split_once('>').unwrap().1;
    assert_eq!(
        content,
        "<IDVersion>1.0</IDVersion><IDFactura><IDEmisorFactura>89890001K</IDEmisorFactura>\
         <NumSerieFactura>12345678-G66</NumSerieFactura><FechaExpedicionFactura>03-02-2025</FechaExpedicionFactura>\
         </IDFactura><NombreRazonEmisor>certificado uno telematicas</NombreRazonEmisor><Subsanacion>N</Subsanacion>\
         <RechazoPrevio>N</RechazoPrevio><TipoFactura>R3</TipoFactura><TipoRectificativa>I</TipoRectificativa>\
         <FacturasRectificadas><IDFacturaRectificada><IDEmisorFactura>89890001K</IDEmisorFactura>\
         <NumSerieFactura>12345600-G66</NumSerieFactura><FechaExpedicionFactura>01-04-2024</FechaExpedicionFactura>\
         </IDFacturaRectificada></FacturasRectificadas><FechaOperacion>03-02-2025</FechaOperacion>\
         <DescripcionOperacion>fecha entrega</DescripcionOperacion><Destinatarios><IDDestinatario>\
         <NombreRazon>certificado dos telematicas</NombreRazon><NIF>89890002E</NIF></IDDestinatario></Destinatarios>\
         <Desglose><DetalleDesglose><ClaveRegimen>01</ClaveRegimen><CalificacionOperacion>S1</CalificacionOperacion>\
         <TipoImpositivo>4.0</TipoImpositivo><BaseImponibleOimporteNoSujeto>10.0</BaseImponibleOimporteNoSujeto>\
         <CuotaRepercutida>0.4</CuotaRepercutida></DetalleDesglose><DetalleDesglose><ClaveRegimen>01</ClaveRegimen>\
         <CalificacionOperacion>S1</CalificacionOperacion><TipoImpositivo>21.0</TipoImpositivo>\
         <BaseImponibleOimporteNoSujeto>100.0</BaseImponibleOimporteNoSujeto><CuotaRepercutida>21.0</CuotaRepercutida>\
         </DetalleDesglose><DetalleDesglose><ClaveRegimen>05</ClaveRegimen><CalificacionOperacion>S1</CalificacionOperacion>\
         <TipoImpositivo>10.0</TipoImpositivo><BaseImponibleOimporteNoSujeto>100.0</BaseImponibleOimporteNoSujeto>\
         <CuotaRepercutida>10.0</CuotaRepercutida></DetalleDesglose></Desglose><CuotaTotal>41.4</CuotaTotal>\
         <ImporteTotal>241.4</ImporteTotal><Encadenamiento><RegistroAnterior><IDEmisorFactura>89890001K</IDEmisorFactura>\
         <NumSerieFactura>12345677-G33</NumSerieFactura><FechaExpedicionFactura>15-04-2024</FechaExpedicionFactura>\
         <Huella>C9AF4AF1EF5EBBA700350DE3EEF12C2D355C56AC56F13DB2A25E0031BD2B7ED5</Huella></RegistroAnterior>\
         </Encadenamiento><SistemaInformatico><NombreRazon>CERTIFICADO UNO TELEMATICAS</NombreRazon><NIF>89890001K</NIF>\
         <NombreSistemaInformatico>NombreSistemaInformatico</NombreSistemaInformatico>\
         <IdSistemaInformatico>77</IdSistemaInformatico><Version>1.0.03</Version><NumeroInstalacion>383</NumeroInstalacion>\
         <TipoUsoPosibleSoloVerifactu>S</TipoUsoPosibleSoloVerifactu><TipoUsoPosibleMultiOT>N</TipoUsoPosibleMultiOT>\
         <IndicadorMultiplesOT>N</IndicadorMultiplesOT></SistemaInformatico>\
         <FechaHoraHusoGenRegistro>2025-02-03T14:30:00+01:00</FechaHoraHusoGenRegistro><TipoHuella>01</TipoHuella>\
         <Huella>FF954378B64ED331A9B2366AD317D86E9DEC1716B12DD0ACCB172A6DC4C105AA</Huella></RegistroAlta>"
    );
}
