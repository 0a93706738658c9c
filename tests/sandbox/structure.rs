//! Messages that are refused whole.

use reqwest::StatusCode;

use crate::bench::{Bench, send};
use crate::invoice::{Alta, Anulacion, LINE, envelope, envelope_with, issuer_header, query, wrap};

/// A change to the text of a valid message, the code of the fault, and how its text ends.
#[tokio::test]
async fn faults_of_structure() {
    let bench = Bench::start().await;
    let lines = LINE.repeat(13);
    let long_name = format!("<s:NombreRazon>{}", "x".repeat(121));
    let cases: &[(&str, &str, u16, &str)] = &[
        ("<s:TipoFactura>F1</s:TipoFactura>", "", 4102, ": TipoFactura"),
        ("<s:TipoFactura>", "<s:Invento/><s:TipoFactura>", 4102, ": TipoFactura"),
        ("</s:Huella></s:RegistroAlta>", "</s:Huella><s:Otro/></s:RegistroAlta>", 4102, ": Otro"),
        ("<s:Desglose>", "<s:Cupon>N</s:Cupon><s:Cupon>N</s:Cupon><s:Desglose>", 4102, ": Cupon"),
        ("<s:IDVersion>1.0</s:IDVersion>", "<l:IDVersion>1.0</l:IDVersion>", 4102, ": IDVersion"),
        ("<s:NIF>89890002E</s:NIF>", "", 4102, ": NIF"),
        (
            "<s:NIF>89890002E</s:NIF>",
            "<s:NIF>89890002E</s:NIF><s:IDOtro><s:IDType>02</s:IDType><s:ID>1</s:ID></s:IDOtro>",
            4102,
            ": IDOtro",
        ),
        ("Servicios", "<b>Servicios</b>", 4102, ": b"),
        ("<s:Encadenamiento>", "<s:Encadenamiento>texto", 4102, ": Encadenamiento"),
        (LINE, &lines, 4113, "para el bloque."),
        (LINE, "", 4102, ": DetalleDesglose"),
        ("s:RegistroAlta", "s:RegistroBaja", 4136, "no es correcto."),
        ("s:RegistroAlta", "l:RegistroAlta", 4136, "no es correcto."),
        ("s:RegistroAlta", "l:RegistroAnulacion", 4137, "no es correcto."),
        ("l:Cabecera", "s:Cabecera", 4102, ": Cabecera"),
        ("l:RegFactuSistemaFacturacion", "l:Factura", 4102, ": RegFactuSistemaFacturacion"),
        ("e:Body", "e:Cuerpo", 4102, ": Body"),
        ("e:Envelope", "s:Envelope", 4102, ": Envelope"),
        (
            "<s:NIF>89890001K",
            "<s:NIF>89890001A",
            4116,
            "NIF:89890001A. NOMBRE_RAZON:CERTIFICADO UNO TELEMATICAS",
        ),
        ("<s:NIF>89890001K", "<s:NIF>8989000K", 4116, "incorrecto."),
        ("<s:NombreRazon>CERTIFICADO UNO TELEMATICAS", "<s:NombreRazon>", 1282, " NombreRazon"),
        ("<s:NombreRazon>CERTIFICADO", &long_name, 1100, ": NombreRazon"),
        ("</s:Huella></s:RegistroAlta>", "</s:Huella></s:RegistroAnulacion>", 4103, "XML."),
        ("Servicios", "Servicios & m\u{e1}s", 4103, "XML."),
        ("Servicios", "&entidad;", 4103, "XML."),
        ("Servicios", "&#0;", 4103, "XML."),
        ("s:IDVersion", "x:IDVersion", 4103, "XML."),
        ("<s:RegistroAlta>", "<s:RegistroAlta a=\"1\" a=\"2\">", 4103, "XML."),
        ("</e:Envelope>", "</e:Envelope><e:Envelope/>", 4103, "XML."),
        ("</e:Envelope>", "", 4103, "XML."),
        ("?>", "?><!DOCTYPE e [<!ENTITY entidad \"x\">]>", 4103, "XML."),
        ("?>", "?><?xml version=\"1.0\" encoding=\"UTF-8\"?>", 4138, "encoding incorrecto."),
        ("UTF-8", "ISO-8859-1", 4138, "encoding incorrecto."),
    ];
    for (index, (from, to, code, ending)) in cases.iter().enumerate() {
        let body = envelope(&[Alta::new(format!("X-{index}")).record()]);
        assert!(body.contains(from), "{from}");
        let answer = bench.post(body.replace(from, to)).await;
        answer.assert_fault(*code, ending);
        assert_eq!(answer.text("faultcode"), "env:Client");
    }
    assert!(bench.sandbox.registrations(None).await.unwrap().is_empty());
}

#[tokio::test]
async fn faults_of_bytes() {
    let bench = Bench::start().await;
    for (bytes, code) in [
        (Vec::new(), 4138),
        (b"  \n".to_vec(), 4138),
        (b"\xff\xfe<".to_vec(), 4119),
        ("año".replace('ñ', "X").into_bytes(), 4103),
        (b"{}".to_vec(), 4103),
        ("<a>".repeat(100).into_bytes(), 4103),
    ] {
        bench.raw(bytes).await.unwrap().assert_fault(code, ".");
    }
    let latin1: Vec<u8> = envelope(&[Alta::new("L").record()])
        .replace("Servicios", "a\u{f1}o")
        .chars()
        .map(|character| u8::try_from(u32::from(character)).unwrap())
        .collect();
    bench.raw(latin1).await.unwrap().assert_fault(4119, "UTF-8.");
    let too_long = vec![b' '; 16 * 1024 * 1024 + 1];
    let answer = bench.raw(too_long).await;
    assert!(answer.is_err() || answer.unwrap().status == StatusCode::PAYLOAD_TOO_LARGE);
    let with_mark = format!("\u{feff}{}", envelope(&[Alta::new("BOM").record()]));
    assert_eq!(bench.raw(with_mark).await.unwrap().text("tikR:EstadoEnvio"), "Correcto");
}

#[tokio::test]
async fn faults_of_the_header() {
    let bench = Bench::start().await;
    let records = [Alta::new("H").record()];
    let cases = [
        ("<s:RemisionVoluntaria><s:Incidencia>X</s:Incidencia></s:RemisionVoluntaria>", 4121, "incorrecto."),
        (
            "<s:RemisionVoluntaria><s:FechaFinVeriFactu>31-13-2026</s:FechaFinVeriFactu></s:RemisionVoluntaria>",
            4106,
            "incorrecto.",
        ),
        (
            "<s:RemisionRequerimiento><s:RefRequerimiento>R1</s:RefRequerimiento></s:RemisionRequerimiento>",
            4126,
            "facturación.",
        ),
        (
            "<s:RemisionRequerimiento><s:RefRequerimiento>R1</s:RefRequerimiento><s:FinRequerimiento>Q</s:FinRequerimiento></s:RemisionRequerimiento>",
            4131,
            "incorrecto.",
        ),
        (
            "<s:Representante><s:NombreRazon>X</s:NombreRazon><s:NIF>12345678A</s:NIF></s:Representante>",
            4117,
            "NOMBRE_RAZON:X",
        ),
        ("<s:RemisionRequerimiento/>", 4102, ": RefRequerimiento"),
    ];
    for (rest, code, ending) in cases {
        bench.post(envelope_with(rest, &records)).await.assert_fault(code, ending);
    }
    let end = |day: &str| {
        format!(
            "<s:RemisionVoluntaria><s:FechaFinVeriFactu>{day}</s:FechaFinVeriFactu></s:RemisionVoluntaria>"
        )
    };
    let answer = bench.post(envelope_with(&end("15-06-2026"), &records)).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.text("tik:FechaFinVeriFactu"), "15-06-2026");
    bench.set_clock("2026-12-31T23:59:59+01:00");
    let answer = bench.post(envelope_with(&end("30-12-2029"), &records)).await;
    assert_eq!(answer.status, StatusCode::OK);
    bench.set_clock("2027-01-01T00:00:00+01:00");
    bench.post(envelope_with(&end("15-06-2026"), &records)).await.assert_fault(4120, "anterior.");
    let answer = bench.post(envelope_with(&end("31-12-2026"), &records)).await;
    assert_eq!(answer.status, StatusCode::OK);
    let answer = bench.post(envelope_with(&end("31-12-2027"), &records)).await;
    assert_eq!(answer.status, StatusCode::OK);
    for day in ["31-12-2025", "30-12-2026", "31-12-2028"] {
        bench.post(envelope_with(&end(day), &records)).await.assert_fault(4120, "anterior.");
    }
}

#[tokio::test]
async fn messages_without_records() {
    let bench = Bench::start().await;
    let header = format!("<l:Cabecera>{}</l:Cabecera>", issuer_header());
    bench.post(wrap(&header)).await.assert_fault(4102, ": RegistroFactura");
    bench.post(wrap(&format!("{header}<l:RegistroFactura/>"))).await.assert_fault(4136, "correcto.");
    let two = format!(
        "{header}<l:RegistroFactura>{}{}</l:RegistroFactura>",
        Alta::new("1").record().xml,
        Anulacion::new("1").record().xml
    );
    bench.post(wrap(&two)).await.assert_fault(4102, ": RegistroAnulacion");
}

#[tokio::test]
async fn queries_with_faults() {
    let bench = Bench::start().await;
    let header = issuer_header();
    let period = ("2026", "09");
    let range = |from: &str, to: &str| {
        format!(
            "<c:FechaExpedicionFactura><s:RangoFechaExpedicion><s:Desde>{from}</s:Desde><s:Hasta>{to}</s:Hasta></s:RangoFechaExpedicion></c:FechaExpedicionFactura>"
        )
    };
    let recipient =
        "<s:Destinatario><s:NombreRazon>X</s:NombreRazon><s:NIF>89890001K</s:NIF></s:Destinatario>";
    let represented = "<s:IndicadorRepresentante>S</s:IndicadorRepresentante>";
    let system = "<c:DatosAdicionalesRespuesta><c:MostrarSistemaInformatico>S</c:MostrarSistemaInformatico></c:DatosAdicionalesRespuesta>";
    let cases = [
        (query(&header, ("2026", "13"), "", ""), 1248),
        (query(&header, ("26", "09"), "", ""), 1100),
        (query("", period, "", ""), 4102),
        (query(&header, period, &range("02-09-2026", "01-09-2026"), ""), 1250),
        (query(&header, period, "<c:Invento/>", ""), 4102),
        (query(&header.replace("89890001K", "89890002E"), period, "", ""), 4112),
        (query(&recipient.replace("89890001K", "89890002E"), period, "", ""), 4132),
        (query(&format!("{recipient}{represented}"), period, "", ""), 1261),
        (query(recipient, period, "", system), 1272),
        (query(&format!("{header}{}", represented.replace(">S<", ">N<")), period, "", ""), 1249),
    ];
    for (body, code) in cases {
        let answer = bench.post(body.clone()).await;
        assert!(
            answer.text("faultstring").starts_with(&format!("Codigo[{code}].")),
            "{code}: {} for {body}",
            answer.body
        );
    }
}

#[tokio::test]
async fn other_paths_and_methods() {
    let bench = Bench::start().await;
    let get = send(bench.client.get(bench.url())).await.unwrap();
    get.assert_fault(4135, "GET.");
    let put = send(bench.client.put(bench.url())).await.unwrap();
    assert_eq!(put.status, StatusCode::METHOD_NOT_ALLOWED);
    let elsewhere = send(bench.client.post(format!("{}/elsewhere", bench.sandbox.url()))).await.unwrap();
    assert_eq!(elsewhere.status, StatusCode::NOT_FOUND);
}
