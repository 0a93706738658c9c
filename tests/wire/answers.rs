use verifactu_core::{
    job::{RecordOutcome, SubmissionOutcome},
    record::{PriorRejection, RecordKind},
    xml::{
        answer::{self, RegistrationAnswer, Reply, StoredState},
        fault::{Fault, FaultSide},
        query::{Paging, QueryAnswer, StoredLink},
        reader::ReadError,
    },
};

use super::{
    official,
    samples::{self, HUELLA, Prefixes, RECEIPT, answer_template, line, registration},
};

fn read(document: &[u8]) -> RegistrationAnswer {
    match answer::read(document) {
        Ok(Reply::Registration(answer)) => answer,
        other => panic!("no registration answer: {other:?}"),
    }
}

fn read_rows(document: &[u8]) -> QueryAnswer {
    match answer::read(document) {
        Ok(Reply::Query(answer)) => answer,
        other => panic!("no rows: {other:?}"),
    }
}

fn read_fault(document: &[u8]) -> Fault {
    match answer::read(document) {
        Ok(Reply::Fault(fault)) => fault,
        other => panic!("no fault: {other:?}"),
    }
}

#[test]
fn a_mixed_submission_is_read_line_by_line() {
    let duplicate = "<R:CodigoErrorRegistro>3000</R:CodigoErrorRegistro>\
        <R:DescripcionErrorRegistro>Registro de facturación duplicado.</R:DescripcionErrorRegistro>\
        <R:RegistroDuplicado><I:IdPeticionRegistroDuplicado>20260927220152034033</I:IdPeticionRegistroDuplicado>\
        <I:EstadoRegistroDuplicado>AceptadaConErrores</I:EstadoRegistroDuplicado>\
        <I:CodigoErrorRegistro>2004</I:CodigoErrorRegistro></R:RegistroDuplicado>";
    let admitted = "<R:CodigoErrorRegistro>2000</R:CodigoErrorRegistro>\
        <R:DescripcionErrorRegistro>El c&#xE1;lculo de la huella &amp; m&#225;s</R:DescripcionErrorRegistro>";
    let lines = line("A-1", "Correcto", "")
        + &line(" A-2 ", "AceptadoConErrores", admitted)
        + &line("A-3", "Incorrecto", duplicate);
    let document = registration(&answer_template(RECEIPT, "120", "ParcialmenteCorrecto", &lines));
    let answer = read(&document);

    assert_eq!(answer.csv.as_deref(), Some("A-86U4KHPACUMVZE"));
    assert_eq!(answer.presenter.as_deref(), Some("89890002E"));
    assert_eq!(answer.presented_at, Some("2026-11-20T11:00:00Z".parse().unwrap()));
    assert_eq!(answer.wait, Some(120));
    assert_eq!(answer.state, SubmissionOutcome::PartlyAccepted);
    let [first, second, third] = &answer.lines[..] else { panic!("three lines") };
    assert_eq!(first.state, RecordOutcome::Accepted);
    assert_eq!(first.invoice.issuer, "89890001K");
    assert_eq!(first.invoice.date, "20-11-2026");
    assert_eq!(first.operation.kind, RecordKind::Invoice);
    assert_eq!(first.external_reference.as_deref(), Some("ref-A-1"));
    assert_eq!((first.code, &first.description, &first.duplicate), (None, &None, &None));
    assert_eq!(second.invoice.number, "A-2", "values are trimmed");
    assert_eq!(second.state, RecordOutcome::AcceptedWithErrors);
    assert_eq!(second.description.as_deref(), Some("El cálculo de la huella & más"));
    let duplicate = third.duplicate.as_ref().unwrap();
    assert_eq!((third.state, third.code), (RecordOutcome::Rejected, Some(3000)));
    assert_eq!(duplicate.state, StoredState::AcceptedWithErrors);
    assert_eq!(duplicate.request_id, "20260927220152034033");
    assert_eq!(duplicate.code, Some(2004));

    for (at, line) in answer.lines.iter().enumerate() {
        let raw = std::str::from_utf8(&document[line.bytes.clone()]).unwrap();
        assert!(raw.starts_with("<tikR:RespuestaLinea>") && raw.ends_with("</tikR:RespuestaLinea>"), "{raw}");
        assert_eq!(raw.matches("RespuestaLinea").count(), 2);
        assert!(raw.contains(&format!("ref-A-{}", at + 1)) || raw.contains("ref- A-2 "));
    }
}

#[test]
fn prefixes_do_not_matter() {
    let template = answer_template(RECEIPT, "60", "Correcto", &line("A-1", "Correcto", ""));
    let expected = read(&samples::accepted());
    for prefixes in [
        Prefixes { soap: "soapenv", own: "a", shared: "b" },
        Prefixes { soap: "", own: "x", shared: "y" },
        Prefixes { soap: "s", own: "", shared: "tik" },
        Prefixes { soap: "s", own: "tikR", shared: "" },
    ] {
        let document = prefixes.apply(&template, "RespuestaSuministro.xsd");
        let answer = read(&document);
        assert_eq!(answer.lines[0].invoice, expected.lines[0].invoice);
        assert_eq!(answer.csv, expected.csv);
    }
    // A default namespace that each element declares anew, and a prefix that changes its meaning.
    let own = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/RespuestaSuministro.xsd";
    let document = format!(
        "<p:Envelope xmlns:p=\"http://schemas.xmlsoap.org/soap/envelope/\"><p:Body>\
         <p:RespuestaRegFactuSistemaFacturacion xmlns:p=\"{own}\"><EstadoEnvio xmlns='{own}'>Incorrecto</EstadoEnvio>\
         </p:RespuestaRegFactuSistemaFacturacion></p:Body></p:Envelope>"
    );
    assert_eq!(read(document.as_bytes()).state, SubmissionOutcome::Rejected);
}

#[test]
fn a_submission_rejected_as_a_whole_has_no_receipt() {
    let lines = line("A-1", "Incorrecto", "<R:CodigoErrorRegistro>123456789</R:CodigoErrorRegistro>");
    let answer = read(&registration(&answer_template("", "", "Incorrecto", &lines)));
    assert_eq!((answer.csv, answer.presenter, answer.presented_at), (None, None, None));
    assert_eq!(answer.wait, None, "an empty wait keeps the last");
    assert_eq!(answer.lines[0].code, Some(123_456_789), "unknown codes stay numbers");
}

#[test]
fn a_wait_that_is_no_number_of_seconds_is_none() {
    for (text, wait) in [
        ("0", Some(0)),
        (" 60 ", Some(60)),
        ("9999", Some(9999)),
        ("10000", None),
        ("-1", None),
        ("1m", None),
    ] {
        let document = registration(&answer_template(RECEIPT, text, "Correcto", ""));
        assert_eq!(read(&document).wait, wait, "{text:?}");
    }
}

#[test]
fn flags_of_the_operation_are_echoed() {
    let lines = line("A-1", "Correcto", "").replace(
        "<I:TipoOperacion>Alta</I:TipoOperacion>",
        "<I:TipoOperacion>Anulacion</I:TipoOperacion><I:Subsanacion>N</I:Subsanacion>\
         <I:RechazoPrevio>S</I:RechazoPrevio><I:SinRegistroPrevio>S</I:SinRegistroPrevio>",
    );
    let operation =
        read(&registration(&answer_template(RECEIPT, "60", "Correcto", &lines))).lines[0].operation;
    assert_eq!(operation.kind, RecordKind::Cancellation);
    assert_eq!(operation.corrects, Some(false));
    assert_eq!(operation.prior_rejection, Some(PriorRejection::Yes));
    assert_eq!(operation.without_prior_record, Some(true));
}

#[test]
fn unknown_elements_comments_and_cdata_are_no_obstacle() {
    let lines = line("A-1", "<!-- c --><![CDATA[Correcto]]>", "<R:Nuevo><I:Mas>1</I:Mas></R:Nuevo><otro/>");
    let document = registration(&answer_template(RECEIPT, "60", "Correcto", &lines));
    assert_eq!(read(&document).lines[0].state, RecordOutcome::Accepted);
    let mut marked = b"\xEF\xBB\xBF".to_vec();
    marked.extend(document);
    let answer = read(&marked);
    let raw = &marked[answer.lines[0].bytes.clone()];
    assert!(raw.starts_with(b"<tikR:RespuestaLinea>"), "positions count the byte order mark");
}

#[test]
fn a_thousand_lines_are_read_and_one_more_is_not() {
    let lines = |count: usize| -> Vec<u8> {
        let lines: String = (0..count).map(|n| line(&n.to_string(), "Correcto", "")).collect();
        registration(&answer_template(RECEIPT, "60", "Correcto", &lines))
    };
    assert_eq!(read(&lines(1000)).lines.len(), 1000);
    assert!(matches!(answer::read(&lines(1001)), Err(ReadError::TooMany("RespuestaLinea"))));
}

#[test]
fn faults_tell_side_code_and_text() {
    let cases = [
        ("Client", "Codigo[4102].El XML no cumple.", FaultSide::Client, Some(4102), "El XML no cumple."),
        ("Server", "Codigo[-904]. Error", FaultSide::Server, Some(-904), "Error"),
        ("Server", "Codigo[20009]", FaultSide::Server, Some(20009), ""),
        ("Client", "Error interno", FaultSide::Client, None, "Error interno"),
        ("Client", "Codigo[abc].x", FaultSide::Client, None, "Codigo[abc].x"),
        ("Client", "Codigo[12", FaultSide::Client, None, "Codigo[12"),
        ("Client", "Codigo[].x", FaultSide::Client, None, "Codigo[].x"),
        ("Client", "Fallo: Codigo[7].x", FaultSide::Client, Some(7), "Fallo: Codigo[7].x"),
        ("Client.Auth", "Codigo[103].NIF", FaultSide::Client, Some(103), "NIF"),
        ("VersionMismatch", "no", FaultSide::Other, None, "no"),
    ];
    for (side, text, expected, code, description) in cases {
        let fault = read_fault(&samples::fault(side, text));
        assert_eq!(fault, Fault { side: expected, code, description: description.to_owned() }, "{text}");
    }
}

#[test]
fn rows_are_read_in_both_spellings() {
    let previous = format!(
        "<R:Encadenamiento><R:RegistroAnterior><I:IDEmisorFactura>89890001K</I:IDEmisorFactura>\
         <I:NumSerieFactura>A-0</I:NumSerieFactura><I:FechaExpedicionFactura>19-11-2026</I:FechaExpedicionFactura>\
         <I:Huella>{HUELLA}</I:Huella></R:RegistroAnterior></R:Encadenamiento>"
    );
    let first = "<R:Encadenamiento><R:PrimerRegistro>S</R:PrimerRegistro></R:Encadenamiento>";
    let last = "<R:IndicadorPaginacion>N</R:IndicadorPaginacion>";
    for (spellings, state) in [
        (["Correcto", "Correcta"], StoredState::Accepted),
        (["AceptadoConErrores", "AceptadaConErrores"], StoredState::AcceptedWithErrors),
        (["Anulado", "Anulada"], StoredState::Cancelled),
    ] {
        for spelling in spellings {
            let document = samples::rows(spelling, &previous, last);
            let answer = read_rows(&document);
            assert_eq!(answer.paging, Paging::Last);
            let row = &answer.rows[0];
            assert_eq!(row.state, state);
            assert_eq!(row.huella.as_deref(), Some(HUELLA));
            assert_eq!(row.total.as_deref(), Some("121"), "as the authority returns it");
            assert_eq!(row.invoice_type.as_deref(), Some("F1"));
            assert_eq!(row.external_reference.as_deref(), Some("ref-1"));
            assert_eq!((row.corrects, row.prior_rejection), (Some(true), Some(PriorRejection::NotHeld)));
            assert_eq!(row.request_id.as_deref(), Some("20261120120100360242"));
            assert_eq!(row.presented_at, Some("2026-11-20T11:01:00Z".parse().unwrap()));
            assert_eq!(row.modified_at, Some("2026-11-20T11:02:00Z".parse().unwrap()));
            assert_eq!((row.code, row.description.as_deref()), (Some(2001), Some("Texto")));
            let Some(StoredLink::Previous { invoice, huella }) = &row.link else { panic!("a link") };
            assert_eq!((invoice.number.as_str(), huella.as_str()), ("A-0", HUELLA));
            let raw = std::str::from_utf8(&document[row.bytes.clone()]).unwrap();
            assert!(raw.starts_with("<tikR:RegistroRespuesta") && raw.ends_with("SistemaFacturacion>"));
        }
    }
    assert_eq!(read_rows(&samples::rows("Correcto", first, last)).rows[0].link, Some(StoredLink::First));
    assert_eq!(read_rows(&samples::rows("Correcto", "", last)).rows[0].link, None);
}

#[test]
fn a_page_with_more_behind_it_names_where_to_go_on() {
    let more = "<R:IndicadorPaginacion>S</R:IndicadorPaginacion>";
    let key = "<R:ClavePaginacion><I:IDEmisorFactura>89890001K</I:IDEmisorFactura>\
        <I:NumSerieFactura>A-1</I:NumSerieFactura><I:FechaExpedicionFactura>20-11-2026</I:FechaExpedicionFactura>\
        </R:ClavePaginacion>";
    let answer = read_rows(&samples::rows("Correcto", "", &format!("{more}{key}")));
    let Paging::More(key) = answer.paging else { panic!("more pages") };
    assert_eq!(key, answer.rows[0].invoice);
    let without = answer::read(&samples::rows("Correcto", "", more));
    assert!(matches!(without, Err(ReadError::Missing("ClavePaginacion"))), "an endless query is refused");
}

#[test]
fn the_published_examples_are_read() {
    if let Some(path) = official::file("examples/sweb-pdf/6.2-soapfault.xml") {
        let fault = read_fault(&std::fs::read(path).unwrap());
        assert_eq!((fault.side, fault.code), (FaultSide::Client, Some(4104)));
        assert!(fault.description.starts_with("El NIF del titular"));
    }
    if let Some(path) = official::file("examples/sweb-pdf/11.1.1.1-consulta-respuesta.xml") {
        let answer = read_rows(&std::fs::read(path).unwrap());
        assert_eq!(answer.rows[0].invoice.number, "88");
        assert_eq!(answer.rows[0].huella.as_deref(), Some(HUELLA));
        assert_eq!(answer.paging, Paging::Last);
    }
}
