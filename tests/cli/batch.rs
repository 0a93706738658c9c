//! Batches that are cut off.

use std::{
    fs,
    process::Stdio,
    time::{Duration, Instant},
};

use verifactu_core::queue::Rate;
use verifactu_server::config::Rates;

use crate::place::{ISSUER, Place, invoice, run};

/// How many invoices; the long run sets 5000.
#[expect(clippy::disallowed_methods, reason = "only the length of the test depends on it")]
fn count() -> usize {
    std::env::var("VERIFACTU_TEST_BATCH").ok().and_then(|text| text.parse().ok()).unwrap_or(500)
}

fn done(place: &Place) -> usize {
    let state = fs::read_to_string(place.data.path().join("many.ndjson.state")).unwrap_or_default();
    state.lines().filter(|line| line.contains("\"done\"")).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_killed_twice_sends_every_invoice_once() {
    // The account's rate would make the long run a test of patience.
    let place = Place::with_rates(Rates { enforced: false, ..Rates::default() }).await;
    let count = count();
    let lines: String = (0..count).map(|n| format!("{}\n", invoice(&format!("B-{n:05}")))).collect();
    fs::write(place.data.path().join("many.ndjson"), lines).unwrap();
    for part in 1..=2 {
        let mut command = place.tool();
        let mut child = command.args(["batch", "many.ndjson"]).stdout(Stdio::null()).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(120);
        while done(&place) < count * part / 4 {
            assert!(Instant::now() < deadline, "{} of {count}", done(&place));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(done(&place) < count, "killed too late");
    }
    let (code, report) = run(place.tool(), &["batch", "many.ndjson"]).await;
    assert_eq!(
        (code, &report["accepted"], &report["complete"]),
        (0, &count.into(), &true.into()),
        "{report}"
    );
    assert_ne!(report["earlier"], 0);

    let state = fs::read_to_string(place.data.path().join("many.ndjson.state")).unwrap();
    let entries = state.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let jobs: std::collections::HashSet<String> =
        entries.filter_map(|entry| entry["done"]["job"].as_str().map(str::to_owned)).collect();
    assert_eq!(jobs.len(), count);
    let (code, again) = run(place.tool(), &["batch", "many.ndjson"]).await;
    assert_eq!((code, &again["earlier"]), (0, &count.into()), "{again}");
    place.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_keeps_to_the_rate_of_its_account() {
    let place = Place::with_rates(Rates::all(Rate::per_minute(120).with_burst(1))).await;
    let lines: String = (0..12).map(|n| format!("{}\n", invoice(&format!("R-{n}")))).collect();
    fs::write(place.data.path().join("many.ndjson"), lines).unwrap();
    let (code, report) = run(place.tool(), &["batch", "many.ndjson", "--concurrency", "12"]).await;
    assert_eq!((code, &report["accepted"]), (0, &12.into()), "{report}");
    place.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_line_is_told_and_the_others_go_on() {
    let place = Place::start().await;
    let head = "nif,nombre,numSerie,fecha,tipoFactura,descripcion,desglose.0.clave,desglose.0.calif,\
        desglose.0.base,desglose.0.tipo,desglose.0.cuota\n";
    let row =
        |number: &str, date: &str| format!("{ISSUER},Emisor SL,{number},{date},F2,Ticket,01,S1,10,21,2.1\n");
    let rows = [row("1", "15-01-2026"), row("2", "32-01-2026"), "short\n".into(), row("3", "15-01-2026")];
    fs::write(place.data.path().join("some.csv"), format!("{head}{}", rows.concat())).unwrap();
    let (code, report) = run(place.tool(), &["batch", "some.csv"]).await;
    assert_eq!((code, &report["accepted"]), (1, &2.into()), "{report}");
    let problems = report["problems"].as_array().unwrap();
    assert_eq!(problems.iter().map(|p| p["line"].as_u64().unwrap()).collect::<Vec<_>>(), [3, 4], "{report}");
    assert!(problems[0]["reason"].as_str().unwrap().contains("fecha"), "{report}");
    place.stop().await;
}
