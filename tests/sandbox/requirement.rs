//! The service for what a requirement asks for.

use reqwest::StatusCode;
use verifactu_server::sandbox::{Effect, Fault, InvoiceState, MessageKind, REQUIREMENT_PATH, Settings};

use crate::bench::{Answer, Bench, send};
use crate::invoice::{Alta, Anulacion, ISSUER, Link, Rec, envelope, envelope_with, issuer_header, query};
use crate::xmllint;

fn header(reference: &str) -> String {
    format!(
        "<s:RemisionRequerimiento><s:RefRequerimiento>{reference}</s:RefRequerimiento></s:RemisionRequerimiento>"
    )
}

async fn post(bench: &Bench, body: String) -> Answer {
    let url = format!("{}{REQUIREMENT_PATH}", bench.sandbox.url());
    let answer = send(bench.client.post(url).body(body)).await.unwrap();
    xmllint::assert_valid(&answer.body);
    answer
}

async fn remit(bench: &Bench, records: &[Rec]) -> Answer {
    let answer = post(bench, envelope_with(&header("R2026001"), records)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    answer
}

/// Every record is new, whatever came before, and the voluntary store knows nothing of it.
#[tokio::test]
async fn records_are_taken_as_they_were_kept() {
    let bench = Bench::start().await;
    let old = |number: &str| {
        Alta::new(number).with(|alta| alta.stamp = "2025-01-07T10:00:00+01:00".into()).record()
    };
    let first = Alta::new("Q-0").with(|alta| alta.link = Link::First).record();
    let answer = remit(&bench, &[first.clone(), old("Q-1"), Anulacion::new("Q-1").record()]).await;
    assert_eq!(answer.text("tikR:EstadoEnvio"), "Correcto", "{}", answer.body);
    assert_eq!(answer.text("tik:RefRequerimiento"), "R2026001");
    assert!(answer.has("tikR:CSV"));
    // The same once more, and a correction, an annulment of nothing: none of it refers to anything held.
    let correction = Alta::new("Q-9").with(|alta| alta.subsanacion = Some("S")).record();
    let again = remit(&bench, &[first, old("Q-1"), correction, Anulacion::new("Q-8").record()]).await;
    assert_eq!(again.text("tikR:EstadoEnvio"), "Correcto", "{}", again.body);

    let kept = bench.sandbox.remissions("R2026001").await.unwrap();
    let numbers: Vec<_> = kept.iter().map(|kept| kept.key.number.as_str()).collect();
    assert_eq!(numbers, ["Q-0", "Q-1", "Q-1", "Q-0", "Q-1", "Q-9", "Q-8"]);
    assert!(kept.iter().all(|kept| kept.state == InvoiceState::Correcta));
    assert!(bench.sandbox.remissions("R2026002").await.unwrap().is_empty());
    assert!(bench.sandbox.registrations(None).await.unwrap().is_empty());
    let asked = bench.post(query(&issuer_header(), ("2026", "09"), "", "")).await;
    assert_eq!(asked.text("tikLRRC:ResultadoConsulta"), "SinDatos");
}

/// What breaks a rule is noted; what cannot be read, or names somebody unknown, is refused.
#[tokio::test]
async fn rules_note_and_only_form_and_census_refuse() {
    let bench = Bench::start().await;
    let with = |number: &str, from: &str, to: &str| {
        let mut record = Alta::new(number).record();
        assert!(record.xml.contains(from), "{from}");
        record.xml = record.xml.replace(from, to);
        record
    };
    let unknown = "<s:NombreRazon>NADIE</s:NombreRazon><s:NIF>11111111H</s:NIF>";
    let known = "<s:NombreRazon>CLIENTE</s:NombreRazon><s:NIF>89890002E</s:NIF>";
    let cases = [
        (with("N-1", "<s:TipoImpositivo>21", "<s:TipoImpositivo>20"), "AceptadoConErrores", "1124"),
        (with("N-2", "<s:TipoFactura>F1", "<s:TipoFactura>R1"), "AceptadoConErrores", "1114"),
        (with("N-3", "<s:ImporteTotal>121.00", "<s:ImporteTotal>500.00"), "AceptadoConErrores", "2000"),
        (with("N-4", known, unknown), "Incorrecto", "1110"),
        (with("N-5", "<s:TipoFactura>F1", "<s:TipoFactura>F9"), "Incorrecto", "1106"),
    ];
    for (record, state, code) in cases {
        let url = format!("{}{REQUIREMENT_PATH}", bench.sandbox.url());
        let body = envelope_with(&header("R1"), &[record]);
        let answer = send(bench.client.post(url).body(body)).await.unwrap();
        assert_eq!(answer.text("tikR:EstadoRegistro"), state, "{}", answer.body);
        assert_eq!(answer.text("tikR:CodigoErrorRegistro"), code, "{}", answer.body);
    }
    assert_eq!(bench.sandbox.remissions("R1").await.unwrap().len(), 3);
}

#[tokio::test]
async fn the_header_names_a_requirement_and_nothing_voluntary() {
    let bench = Bench::start().await;
    let record = || [Alta::new("H-1").record()];
    let voluntary = "<s:RemisionVoluntaria><s:Incidencia>S</s:Incidencia></s:RemisionVoluntaria>";
    let long = header(&"A".repeat(19));
    let cases = [
        (String::new(), 4125),
        (voluntary.to_owned(), 4127),
        (format!("{voluntary}{}", header("R1")), 4127),
        (header("R-1"), 4133),
        (long, 4122),
        (
            header("R1").replace(
                "</s:RemisionRequerimiento>",
                "<s:FinRequerimiento>Q</s:FinRequerimiento></s:RemisionRequerimiento>",
            ),
            4131,
        ),
    ];
    for (rest, code) in cases {
        let answer = post(&bench, envelope_with(&rest, &record())).await;
        answer.assert_fault(code, "");
    }
    let last = header("R1").replace(
        "</s:RemisionRequerimiento>",
        "<s:FinRequerimiento>S</s:FinRequerimiento></s:RemisionRequerimiento>",
    );
    assert_eq!(post(&bench, envelope_with(&last, &record())).await.status, StatusCode::OK);
    // A query has no place here, and a voluntary header none either.
    post(&bench, query(&issuer_header(), ("2026", "09"), "", ""))
        .await
        .assert_fault(4102, ": RegFactuSistemaFacturacion");
    post(&bench, envelope(&record())).await.assert_fault(4125, "obligatorio.");

    let requirements = Some(["R7".to_owned()].into());
    bench.sandbox.set_settings(Settings { requirements, ..bench.sandbox.settings() }).unwrap();
    post(&bench, envelope_with(&header("R1"), &record())).await.assert_fault(4122, "incorrecto.");
    assert_eq!(post(&bench, envelope_with(&header("R7"), &record())).await.status, StatusCode::OK);
}

/// Faults are ordered for this service by its own name.
#[tokio::test]
async fn faults_reach_it_by_name() {
    let bench = Bench::start().await;
    bench.sandbox.arm(Fault::new(Effect::Status(503)).on(MessageKind::Requirement));
    bench.submit(&[Alta::new("F-1").record()]).await;
    let url = format!("{}{REQUIREMENT_PATH}", bench.sandbox.url());
    let body = envelope_with(&header("R1"), &[Alta::new("F-1").record()]);
    let answer = send(bench.client.post(url).body(body)).await.unwrap();
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(bench.registered("F-1").await, 1, "the voluntary one, of {ISSUER}");
}
