//! The query: filters, pages, and rows in the shape of AEAT's schema.

use verifactu_server::sandbox::{Holder, Settings};

use crate::bench::{Answer, Bench, client, issue};
use crate::invoice::{
    Alta, Anulacion, ISSUER, Link, NOW, RECIPIENT, Rec, envelope_with, issuer_header, query,
};

const SHOW_ALL: &str = "<c:DatosAdicionalesRespuesta><c:MostrarNombreRazonEmisor>S</c:MostrarNombreRazonEmisor><c:MostrarSistemaInformatico>S</c:MostrarSistemaInformatico></c:DatosAdicionalesRespuesta>";

async fn ask(bench: &Bench, period: (&str, &str), filter: &str, rest: &str) -> Answer {
    let answer = bench.post(query(&issuer_header(), period, filter, rest)).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer
}

/// The numbers of the rows, in order; the page's key repeats the last one.
fn numbers(answer: &Answer) -> Vec<String> {
    let mut numbers = answer.texts("tik:NumSerieFactura");
    if answer.has("tikLRRC:ClavePaginacion") {
        numbers.pop();
    }
    numbers.retain(|number| number != "PREVIOUS");
    numbers
}

#[tokio::test]
async fn filters() {
    let bench = Bench::start().await;
    let none = ask(&bench, ("2026", "09"), "", "").await;
    assert_eq!(none.text("tikLRRC:ResultadoConsulta"), "SinDatos");
    assert_eq!(none.text("tikLRRC:IndicadorPaginacion"), "N");
    let alta = |number: &str, issued: &str| Alta::new(number).with(|alta| alta.issued = issued.into());
    let operated = {
        let mut record = alta("Q-4", "01-09-2026").record();
        record.xml = record.xml.replace(
            "<s:DescripcionOperacion>",
            "<s:FechaOperacion>31-08-2026</s:FechaOperacion><s:DescripcionOperacion>",
        );
        record
    };
    let records = [
        alta("Q-1", "01-09-2026").record(),
        alta("Q-2", "15-09-2026").with(|alta| alta.reference = Some("ORDER 2".into())).record(),
        alta("Q-3", "22-09-2026").with(|alta| alta.installation = "2".into()).record(),
        operated,
    ];
    bench.submit(&records).await;
    let system = |installation: &str| {
        format!(
            "<c:SistemaInformatico><s:NombreRazon>P</s:NombreRazon><s:NIF>{ISSUER}</s:NIF><s:IdSistemaInformatico>77</s:IdSistemaInformatico><s:NumeroInstalacion>{installation}</s:NumeroInstalacion></c:SistemaInformatico>"
        )
    };
    let party = |nif: &str| {
        format!("<c:Contraparte><s:NombreRazon>X</s:NombreRazon><s:NIF>{nif}</s:NIF></c:Contraparte>")
    };
    let range = |parts: &str| {
        format!(
            "<c:FechaExpedicionFactura><s:RangoFechaExpedicion>{parts}</s:RangoFechaExpedicion></c:FechaExpedicionFactura>"
        )
    };
    let cases: [(&str, String, &[&str]); 14] = [
        ("09", String::new(), &["Q-3", "Q-2", "Q-1"]),
        ("08", String::new(), &["Q-4"]),
        ("10", String::new(), &[]),
        ("09", "<c:NumSerieFactura>Q-2</c:NumSerieFactura>".into(), &["Q-2"]),
        ("09", "<c:NumSerieFactura>q-2</c:NumSerieFactura>".into(), &[]),
        ("09", "<c:FechaExpedicionFactura><s:FechaExpedicionFactura>22-09-2026</s:FechaExpedicionFactura></c:FechaExpedicionFactura>".into(), &["Q-3"]),
        ("09", range("<s:Desde>02-09-2026</s:Desde><s:Hasta>15-09-2026</s:Hasta>"), &["Q-2"]),
        ("09", range("<s:Hasta>15-09-2026</s:Hasta>"), &["Q-2", "Q-1"]),
        ("09", range("<s:Desde>15-09-2026</s:Desde>"), &["Q-3", "Q-2"]),
        ("09", "<c:RefExterna>ORDER 2</c:RefExterna>".into(), &["Q-2"]),
        ("09", system("2"), &["Q-3"]),
        ("09", system("3"), &[]),
        ("09", party(RECIPIENT), &["Q-3", "Q-2", "Q-1"]),
        ("09", party(ISSUER), &[]),
    ];
    for (month, filter, expected) in cases {
        let answer = ask(&bench, ("2026", month), &filter, "").await;
        assert_eq!(numbers(&answer), expected, "{month} {filter}: {}", answer.body);
    }
}

#[tokio::test]
async fn pages() {
    let bench = Bench::with(|config| config.settings(Settings { page_size: 3, ..Settings::default() })).await;
    let records: Vec<Rec> = (0..7).map(|index| Alta::new(format!("P-{index}")).record()).collect();
    bench.submit(&records).await;
    let mut seen = Vec::new();
    let mut key = String::new();
    for (rows, more) in [(3, "S"), (3, "S"), (1, "N")] {
        let answer = ask(&bench, ("2026", "09"), &key, "").await;
        assert_eq!(answer.text("tikLRRC:IndicadorPaginacion"), more);
        assert_eq!(answer.text("tikLRRC:ResultadoConsulta"), "ConDatos");
        assert_eq!(answer.has("tikLRRC:ClavePaginacion"), more == "S");
        let page = numbers(&answer);
        assert_eq!(page.len(), rows);
        key = format!(
            "<c:ClavePaginacion><s:IDEmisorFactura>{ISSUER}</s:IDEmisorFactura><s:NumSerieFactura>{}</s:NumSerieFactura><s:FechaExpedicionFactura>22-09-2026</s:FechaExpedicionFactura></c:ClavePaginacion>",
            page.last().unwrap()
        );
        seen.extend(page);
    }
    assert_eq!(seen, ["P-6", "P-5", "P-4", "P-3", "P-2", "P-1", "P-0"]);
    let end = ask(&bench, ("2026", "09"), &key, "").await;
    assert_eq!(end.text("tikLRRC:ResultadoConsulta"), "SinDatos");
}

#[tokio::test]
async fn the_row_of_an_alta() {
    let bench = Bench::start().await;
    let mut record = Alta::new("R&1")
        .with(|alta| {
            alta.kind = "R1";
            alta.reference = Some("REF".into());
            alta.stamp = "2026-09-22T10:00:00+00:00".into();
            alta.quota = "+21.00".into();
            alta.total = "0121.10".into();
        })
        .record();
    record.xml = record.xml.replace(
        "<s:DescripcionOperacion>",
        "<s:TipoRectificativa>S</s:TipoRectificativa><s:FacturasRectificadas><s:IDFacturaRectificada><s:IDEmisorFactura>89890001K</s:IDEmisorFactura><s:NumSerieFactura>OLD</s:NumSerieFactura><s:FechaExpedicionFactura>01-09-2026</s:FechaExpedicionFactura></s:IDFacturaRectificada></s:FacturasRectificadas><s:ImporteRectificacion><s:BaseRectificada>-10.50</s:BaseRectificada><s:CuotaRectificada>0.00</s:CuotaRectificada></s:ImporteRectificacion><s:DescripcionOperacion>",
    );
    let header = "<s:RemisionVoluntaria><s:FechaFinVeriFactu>31-12-2026</s:FechaFinVeriFactu><s:Incidencia>S</s:Incidencia></s:RemisionVoluntaria>";
    let stored = bench.post(envelope_with(header, std::slice::from_ref(&record))).await;
    assert_eq!(stored.text("tikR:EstadoEnvio"), "Correcto", "{}", stored.body);
    let plain = ask(&bench, ("2026", "09"), "", "").await;
    assert!(!plain.has("tikLRRC:NombreRazonEmisor") && !plain.has("tikLRRC:SistemaInformatico"));
    let row = ask(&bench, ("2026", "09"), "", SHOW_ALL).await;
    for (name, value) in [
        ("tik:NumSerieFactura", "R&amp;1"),
        ("tikLRRC:NombreRazonEmisor", "CERTIFICADO UNO TELEMATICAS"),
        ("tikLRRC:RefExterna", "REF"),
        ("tikLRRC:TipoFactura", "R1"),
        ("tik:BaseRectificada", "-10.5"),
        ("tik:CuotaRectificada", "0"),
        ("tik:BaseImponibleOimporteNoSujeto", "100"),
        ("tik:TipoImpositivo", "21"),
        ("tikLRRC:CuotaTotal", "21"),
        ("tikLRRC:ImporteTotal", "121.1"),
        ("tikLRRC:FechaHoraHusoGenRegistro", "2026-09-22T10:00:00Z"),
        ("tikLRRC:TipoHuella", "01"),
        ("tikLRRC:Huella", &record.huella),
        ("tik:Huella", &"AB".repeat(32)),
        ("tik:NumeroInstalacion", "1"),
        ("tikLRRC:FechaFinVeriFactu", "31-12-2026"),
        ("tikLRRC:Incidencia", "S"),
        ("tik:NIFPresentador", ISSUER),
        ("tik:TimestampPresentacion", NOW),
        ("tikLRRC:TimestampUltimaModificacion", NOW),
        ("tikLRRC:EstadoRegistro", "Correcto"),
    ] {
        assert_eq!(row.text(name), value, "{name} in {}", row.body);
    }
    let id = row.text("tik:IdPeticion");
    assert!(id.len() == 20 && id.starts_with("20260922120000"), "{id}");
}

/// A correction replaces the row; an annulment turns it, and shows its own link and huella.
#[tokio::test]
async fn one_row_per_invoice() {
    let bench = Bench::start().await;
    let first = Alta::new("O-1").with(|alta| alta.link = Link::First).record();
    bench.submit(&[first]).await;
    let corrected = Alta::new("O-1")
        .with(|alta| {
            alta.subsanacion = Some("S");
            alta.huella = Some("E".repeat(64));
        })
        .record();
    bench.submit(&[corrected]).await;
    let row = ask(&bench, ("2026", "09"), "", "").await;
    assert_eq!(numbers(&row), ["O-1"]);
    assert_eq!(row.text("tikLRRC:Subsanacion"), "S");
    assert_eq!(row.text("tikLRRC:EstadoRegistro"), "AceptadoConErrores");
    assert_eq!(row.text("tikLRRC:CodigoErrorRegistro"), "2000");
    assert!(row.text("tikLRRC:DescripcionErrorRegistro").contains("NumSerieFactura=O-1"));
    let annulment = Anulacion::new("O-1").with(|record| record.rechazo = Some("N")).record();
    bench.submit(std::slice::from_ref(&annulment)).await;
    let row = ask(&bench, ("2026", "09"), "", SHOW_ALL).await;
    assert_eq!(numbers(&row), ["O-1"]);
    assert_eq!(row.text("tikLRRC:EstadoRegistro"), "Anulado");
    assert_eq!(row.text("tikLRRC:Huella"), annulment.huella);
    assert_eq!(row.text("tikLRRC:ImporteTotal"), "121", "the invoice's data stay");
    assert_eq!(row.text("tikLRRC:RechazoPrevio"), "N");
    assert!(!row.has("tikLRRC:Subsanacion"));
    let alone = Anulacion::new("O-2").with(|record| record.sin_registro = Some("S")).record();
    bench.submit(&[alone]).await;
    let row = ask(&bench, ("2026", "09"), "<c:NumSerieFactura>O-2</c:NumSerieFactura>", "").await;
    assert_eq!(row.text("tikLRRC:SinRegistroPrevio"), "S");
    assert!(!row.has("tikLRRC:TipoFactura"));
}

/// A recipient sees what names it; a representative what it presented.
#[tokio::test]
async fn other_sides() {
    let bench = Bench::start().await;
    bench.submit(&[Alta::new("V-1").record()]).await;
    let recipient = issue(&Holder::person(RECIPIENT, "DOS"));
    let as_recipient = client(bench.sandbox.pki(), Some(&recipient));
    let header = format!(
        "<s:Destinatario><s:NombreRazon>DOS</s:NombreRazon><s:NIF>{RECIPIENT}</s:NIF></s:Destinatario>"
    );
    let body = query(&header, ("2026", "09"), "", "");
    let answer = crate::bench::send(as_recipient.post(bench.url()).body(body)).await.unwrap();
    crate::xmllint::assert_valid(&answer.body);
    assert_eq!(numbers(&answer), ["V-1"], "{}", answer.body);

    let adviser = issue(&Holder::representative("12345678Z", "ASESOR", "A58818501", "ASESORIA SA"));
    let as_adviser = client(bench.sandbox.pki(), Some(&adviser));
    let named = "<s:Representante><s:NombreRazon>ASESORIA SA</s:NombreRazon><s:NIF>A58818501</s:NIF></s:Representante>";
    let body = envelope_with(named, &[Alta::new("V-2").record()]);
    let answer = crate::bench::send(as_adviser.post(bench.url()).body(body)).await.unwrap();
    assert_eq!(answer.text("tikR:EstadoEnvio"), "Correcto", "{}", answer.body);
    assert_eq!(answer.text("tik:NIFPresentador"), "A58818501");
    let header = format!("{}<s:IndicadorRepresentante>S</s:IndicadorRepresentante>", issuer_header());
    let body = query(&header, ("2026", "09"), "", "");
    let answer = crate::bench::send(as_adviser.post(bench.url()).body(body)).await.unwrap();
    crate::xmllint::assert_valid(&answer.body);
    assert_eq!(numbers(&answer), ["V-2"], "{}", answer.body);
    assert_eq!(answer.text("tikLRRC:NifRepresentante"), "A58818501");
}
