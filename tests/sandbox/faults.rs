//! Every fault on demand, and what it leaves behind.

use std::time::{Duration, Instant};

use reqwest::StatusCode;
use verifactu_server::sandbox::{Effect, Fault, FaultSide, MessageKind};

use crate::bench::{Bench, send};
use crate::invoice::{Alta, ISSUER, envelope, issuer_header, query};

/// What a client sees of a request under a fault.
#[derive(Debug, PartialEq)]
enum Seen {
    Nothing,
    Status(u16, &'static str),
}

#[tokio::test]
async fn what_takes_the_place_of_the_answer() {
    let bench = Bench::start().await;
    let fault = |code, side| Effect::SoapFault { code, side };
    let cases = [
        (Effect::CloseUnread, Seen::Nothing),
        (Effect::Cut, Seen::Nothing),
        (Effect::Status(500), Seen::Status(500, "<html")),
        (Effect::Status(503), Seen::Status(503, "<html")),
        (Effect::Status(403), Seen::Status(403, "<html")),
        (Effect::Redirect, Seen::Status(302, "")),
        (Effect::HtmlPage, Seen::Status(200, "<html")),
        (Effect::Garbage, Seen::Status(200, "<<")),
        (Effect::EmptyBody, Seen::Status(200, "")),
        (
            fault(Some(4112), FaultSide::Client),
            Seen::Status(500, "env:Client</faultcode><faultstring>Codigo[4112].El titular"),
        ),
        (
            fault(Some(20009), FaultSide::Server),
            Seen::Status(500, "env:Server</faultcode><faultstring>Codigo[20009]."),
        ),
        (fault(Some(-904), FaultSide::Server), Seen::Status(500, "Codigo[-904].")),
        (fault(None, FaultSide::Server), Seen::Status(500, "<faultstring>Error interno")),
    ];
    for (index, (effect, expected)) in cases.into_iter().enumerate() {
        for stored in [false, true] {
            let number = format!("F-{index}-{stored}");
            let armed = Fault::new(effect.clone());
            bench.sandbox.arm(if stored { armed.after_storing() } else { armed });
            let outcome = bench.raw(envelope(&[Alta::new(&number).record()])).await;
            match (&expected, outcome) {
                (Seen::Nothing, Err(_)) => {}
                (Seen::Status(status, part), Ok(answer)) => {
                    assert_eq!(answer.status.as_u16(), *status);
                    assert!(answer.body.contains(part), "{effect:?}: {}", answer.body);
                    assert!(!part.is_empty() || answer.body.is_empty());
                }
                (expected, outcome) => panic!("{effect:?}: {expected:?}, not {outcome:?}"),
            }
            let registered = usize::from(stored && effect != Effect::CloseUnread);
            assert_eq!(bench.registered(&number).await, registered, "{effect:?}");
            let again = bench.submit(&[Alta::new(&number).record()]).await;
            let code = if registered == 1 { "3000" } else { "" };
            assert_eq!(again.text("tikR:CodigoErrorRegistro"), code);
            assert_eq!(bench.registered(&number).await, 1);
        }
    }
    assert!(bench.sandbox.armed().is_empty());
}

#[tokio::test]
async fn a_cut_in_the_middle_of_the_answer() {
    let bench = Bench::start().await;
    bench.sandbox.arm(Fault::new(Effect::CutAnswer));
    let request = bench.client.post(bench.url()).body(envelope(&[Alta::new("HALF").record()]));
    let mut response = request.send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let announced = response.content_length().unwrap();
    let first = response.chunk().await.unwrap().unwrap();
    assert!(first.starts_with(b"<?xml"), "the first half arrives");
    assert!((first.len() as u64) < announced);
    while let Ok(chunk) = response.chunk().await {
        assert!(chunk.is_some(), "the body must not end as if it were whole");
    }
    assert_eq!(bench.registered("HALF").await, 1);
}

#[tokio::test]
async fn what_changes_the_answer() {
    let bench = Bench::start().await;
    let records = |name: &str| ["1", "2", "3"].map(|index| Alta::new(format!("{name}-{index}")).record());
    let arm = |effect| bench.sandbox.arm(Fault::new(effect));

    arm(Effect::Wait(None));
    assert!(bench.submit(&records("A")).await.body.contains("<tikR:TiempoEsperaEnvio></"));
    arm(Effect::Wait(Some(7)));
    assert_eq!(bench.submit(&records("B")).await.text("tikR:TiempoEsperaEnvio"), "7");
    arm(Effect::ReverseLines);
    let answer = bench.submit(&records("C")).await;
    assert_eq!(answer.texts("tik:NumSerieFactura"), ["C-3", "C-2", "C-1"]);
    arm(Effect::DropLine(1));
    let answer = bench.submit(&records("D")).await;
    assert_eq!(answer.texts("tik:NumSerieFactura"), ["D-1", "D-3"]);
    assert_eq!(bench.registered("D-2").await, 1);
    arm(Effect::Force { code: 1129, number: Some("E-2".into()) });
    let answer = bench.submit(&records("E")).await;
    assert_eq!(answer.texts("tikR:EstadoRegistro"), ["Correcto", "Incorrecto", "Correcto"]);
    assert_eq!(
        answer.text("tikR:DescripcionErrorRegistro"),
        "Error técnico al obtener el acuerdo de facturación."
    );
    assert_eq!(bench.registered("E-2").await, 0);
    arm(Effect::Force { code: 2001, number: None });
    let answer = bench.submit(&records("F")).await;
    assert_eq!(answer.texts("tikR:EstadoRegistro"), ["AceptadoConErrores"; 3]);
    let answer = bench.submit(&records("G")).await;
    assert_eq!(answer.text("tikR:TiempoEsperaEnvio"), "60");
}

#[tokio::test]
async fn latency() {
    let bench = Bench::start().await;
    let wait = Duration::from_millis(300);
    bench.sandbox.arm(Fault::new(Effect::Delay).delayed(wait));
    let start = Instant::now();
    let answer = bench.submit(&[Alta::new("SLOW").record()]).await;
    assert!(start.elapsed() >= wait);
    assert_eq!(answer.text("tikR:EstadoEnvio"), "Correcto");
}

/// A client that gives up takes its request with it: before storing nothing is left behind, and after
/// storing the record stands.
#[tokio::test]
async fn silence_before_and_after_storing() {
    let bench = Bench::start().await;
    for stored in [false, true] {
        let silence = Fault::new(Effect::Cut).delayed(Duration::from_secs(600));
        bench.sandbox.arm(if stored { silence.after_storing() } else { silence });
        let number = format!("SILENT-{stored}");
        let request = bench.client.post(bench.url()).timeout(Duration::from_millis(500));
        let error = send(request.body(envelope(&[Alta::new(&number).record()]))).await.unwrap_err();
        assert!(error.is_timeout(), "{error:?}");
        assert_eq!(bench.registered(&number).await, usize::from(stored));
    }
}

/// Handshakes that are refused with an alert, so many, and the one after them.
#[tokio::test]
async fn handshakes_are_refused() {
    let bench = Bench::start().await;
    bench.sandbox.arm(Fault::new(Effect::TlsAlert).times(2));
    for _ in 0..2 {
        let error = bench.raw(envelope(&[Alta::new("TLS").record()])).await.unwrap_err();
        assert!(format!("{error:?}").contains("AccessDenied"), "{error:?}");
    }
    assert_eq!(bench.registered("TLS").await, 0);
    bench.submit(&[Alta::new("TLS").record()]).await;
    assert_eq!(bench.registered("TLS").await, 1);
    let header = bench.client.post(bench.url()).header("x-sandbox-fault", "tls_alert");
    assert_eq!(send(header.body("x")).await.unwrap().status, StatusCode::BAD_REQUEST);
    assert!(bench.sandbox.armed().is_empty());
}

/// Faults are met in order, so often, and only by the messages they are for.
#[tokio::test]
async fn which_requests_meet_a_fault() {
    let bench = Bench::start().await;
    let ask = || bench.raw(query(&issuer_header(), ("2026", "09"), "", ""));
    let number = std::cell::Cell::new(0);
    let submit = || {
        number.set(number.get() + 1);
        bench.raw(envelope(&[Alta::new(format!("W-{}", number.get())).record()]))
    };
    bench.sandbox.arm(Fault::new(Effect::Status(503)).times(2));
    bench.sandbox.arm(Fault::new(Effect::Status(500)));
    for status in [503, 503, 500, 200] {
        assert_eq!(submit().await.unwrap().status, status);
    }
    bench.sandbox.arm(Fault::new(Effect::Status(503)).on(MessageKind::Query).until_cleared());
    for _ in 0..3 {
        assert_eq!(submit().await.unwrap().status, 200);
        assert_eq!(ask().await.unwrap().status, 503);
    }
    bench.sandbox.clear_faults();
    assert_eq!(ask().await.unwrap().status, 200);
    bench.sandbox.arm(Fault::new(Effect::Status(503)).for_issuer("A58818501"));
    assert_eq!(submit().await.unwrap().status, 200);
    bench.sandbox.arm(Fault::new(Effect::Status(500)).for_issuer(ISSUER));
    assert_eq!(submit().await.unwrap().status, 500);
    assert_eq!(bench.sandbox.armed().len(), 1);
    bench.sandbox.clear_faults();
    bench.sandbox.arm(Fault::new(Effect::Wait(Some(1))));
    assert_eq!(ask().await.unwrap().status, 200);
    assert_eq!(submit().await.unwrap().text("tikR:TiempoEsperaEnvio"), "1", "a query does not use it up");
    bench.sandbox.arm(Fault::new(Effect::Status(503)));
    assert_eq!(bench.raw("not XML").await.unwrap().status, 503);
}

/// A request may order its own fault.
#[tokio::test]
async fn by_request_header() {
    let bench = Bench::start().await;
    let body = envelope(&[Alta::new("HEAD").record()]);
    let order = |value: &str| {
        send(bench.client.post(bench.url()).body(body.clone()).header("x-sandbox-fault", value))
    };
    bench.sandbox.arm(Fault::new(Effect::Status(500)));
    assert!(order("cut").await.is_err());
    assert_eq!(order(r#"{"fault":"status","status":503}"#).await.unwrap().status, 503);
    assert_eq!(order("html_page").await.unwrap().status, 200);
    assert_eq!(bench.registered("HEAD").await, 0);
    assert!(order(r#"{"fault":"cut","stored":true}"#).await.is_err());
    assert_eq!(bench.registered("HEAD").await, 1);
    for wrong in [
        "nonsense",
        "{}",
        r#"{"fault":"status"}"#,
        r#"{"fault":"status","status":200}"#,
        r#"{"fault":"force"}"#,
        r#"{"fault":"cut","x":1}"#,
    ] {
        assert_eq!(order(wrong).await.unwrap().status, 400, "{wrong}");
    }
    assert_eq!(bench.sandbox.armed().len(), 1, "its own fault goes before those armed");
}
