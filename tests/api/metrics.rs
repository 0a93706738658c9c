//! What the service tells those who watch it.

use std::collections::BTreeMap;

use serde_json::json;
use verifactu_server::config::MetricsAccess;

use crate::world::{Mode, SCOPES, World, invoice};

/// The samples by name and labels.
async fn read(world: &World) -> BTreeMap<String, f64> {
    let url = format!("http://{}/metrics", world.address());
    let answer = world.client.get(url).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
    let text = answer.text().await.unwrap();
    assert!(text.ends_with("# EOF\n"), "{text}");
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}

/// Reads until the samples are as wanted.
async fn read_until(world: &World, wanted: impl Fn(&BTreeMap<String, f64>) -> bool) -> BTreeMap<String, f64> {
    let until = async {
        loop {
            let samples = read(world).await;
            if wanted(&samples) {
                return samples;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), until).await.expect("the samples in time")
}

#[tokio::test]
async fn metrics_tell_what_happens_and_what_waits() {
    let world = World::with(|config| config.demoted_rules = vec!["1206".to_owned()]).await;
    let key = world.ready_account("acme").await;
    let send = world.ask("POST", "/v1/send-invoice").key(&key).idempotency("m-1");
    let job = send.json(&invoice("M-1")).await.expect(202)["jobId"].as_str().unwrap().to_owned();
    world.job_when(&key, &job, |job| job["status"] == "SUCCEEDED").await;
    world.ask("GET", "/v1/no/such/route").send().await.fails(404, "not_found");
    world.ask("GET", "/v1/me").send().await.fails(401, "api_key_missing");

    let samples = read(&world).await;
    let found = |name: &str| *samples.get(name).unwrap_or_else(|| panic!("no {name} in {samples:#?}"));
    for (name, wanted) in [
        ("requests_total{method=\"POST\",route=\"/send-invoice\",status=\"202\"}", 1.0),
        ("requests_total{method=\"GET\",route=\"/me\",status=\"401\"}", 1.0),
        ("requests_total{method=\"\",route=\"\",status=\"404\"}", 1.0),
        ("request_seconds_count{method=\"POST\",route=\"/send-invoice\"}", 1.0),
        ("ledger_commit_seconds_count{write=\"append\"}", 1.0),
        ("ledger_commit_seconds_count{write=\"message\"}", 1.0),
        ("ledger_commit_seconds_count{write=\"settlement\"}", 1.0),
        ("authority_exchange_seconds_count{service=\"registration\",reply=\"answered\"}", 1.0),
        ("message_records_sum", 1.0),
        ("authority_wait_seconds_count", 1.0),
        ("attempts_total{outcome=\"accepted\"}", 1.0),
        ("jobs_finished_total{state=\"succeeded\"}", 1.0),
        ("jobs{state=\"pending\"}", 0.0),
        ("jobs_in_doubt", 0.0),
        ("chains_held{reason=\"certificate\"}", 0.0),
        ("certificates_ending{days=\"7\"}", 0.0),
        ("demoted_rule{rule=\"1206\"}", 1.0),
        ("up{dependency=\"ledger\"}", 1.0),
        ("up{dependency=\"queue\"}", 1.0),
    ] {
        assert_eq!(found(&format!("verifactu_{name}")), wanted, "{name}");
    }
    assert!(found("verifactu_certificate_end_days{rank=\"1\"}") > 90.0);
    assert!(found("verifactu_ledger_commit_seconds_sum{write=\"append\"}") > 0.0);

    // Nothing of an account: neither its name nor an issuer, a job or a key.
    for name in samples.keys() {
        for secret in ["acme", "B12345674", &job, &key[..8]] {
            assert!(!name.contains(secret), "{name}");
        }
    }
}

#[tokio::test]
async fn what_a_demoted_rule_lets_pass_is_told() {
    let world = World::with(|config| config.demoted_rules = vec!["1206".to_owned()]).await;
    let key = world.ready_account("acme").await;
    let mut body = invoice("R-1");
    body["desglose"] = json!([{ "clave": "11", "base": 100, "calif": "S1", "tipo": 10, "cuota": 10 }]);
    let preview = world.ask("POST", "/v1/invoices/preview").key(&key).json(&body).await.expect(200);
    assert_eq!(preview["warnings"][0]["code"], "1206");
    let sent =
        world.ask("POST", "/v1/send-invoice").key(&key).idempotency("r-1").json(&body).await.expect(202);
    assert_eq!(sent["warnings"][0]["code"], "1206");
    let log = world.ask("GET", "/v1/admin/events").admin().send().await.expect(200);
    let noted: Vec<_> = log["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["action"] == "validation.demoted")
        .collect();
    assert_eq!(noted.len(), 1, "{log}");
    let job = sent["jobId"].as_str().unwrap();
    assert_eq!(noted[0]["subject"], format!("acme/{job}: 1206"));
    assert_eq!(read(&world).await["verifactu_demoted_findings_total{rule=\"1206\"}"], 1.0);
}

#[tokio::test]
async fn doubts_holds_and_ages_are_told() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    let bare = world.account(json!({ "id": "bare" }), SCOPES).await;
    let send = async |key: &str, number: &str| {
        let send = world.ask("POST", "/v1/send-invoice").key(key).idempotency(number);
        send.json(&invoice(number)).await.expect(202);
    };
    world.set(Mode::Lost);
    send(&key, "D-1").await;
    send(&bare, "H-1").await;
    let samples = read_until(&world, |samples| {
        let is = |name: &str, value: f64| samples.get(name).is_some_and(|found| *found == value);
        is("verifactu_jobs_in_doubt", 1.0) && is("verifactu_chains_held{reason=\"certificate\"}", 1.0)
    })
    .await;
    assert_eq!(samples["verifactu_jobs{state=\"failed\"}"], 1.0);
    assert_eq!(samples["verifactu_jobs{state=\"pending\"}"], 1.0);
    let age = samples["verifactu_oldest_pending_seconds"];
    assert!((0.0..60.0).contains(&age), "{age}");

    let ready = world.ask("GET", "/ready").send().await.expect(200);
    assert_eq!(ready["warnings"][0]["code"], "jobs_in_doubt", "{ready}");
    assert!(ready["warnings"][0]["message"].as_str().unwrap().starts_with("1 job"), "{ready}");
}

#[tokio::test]
async fn metrics_can_be_for_the_operator_or_for_nobody() {
    let world = World::with(|config| config.metrics = MetricsAccess::Operator).await;
    world.ask("GET", "/metrics").send().await.fails(401, "api_key_missing");
    let url = format!("http://{}/metrics", world.address());
    let answer = world.client.get(url).header("x-admin-key", crate::world::ADMIN).send().await.unwrap();
    assert_eq!(answer.status(), 200);

    let world = World::with(|config| config.metrics = MetricsAccess::Nobody).await;
    world.ask("GET", "/metrics").admin().send().await.fails(404, "not_found");
}
