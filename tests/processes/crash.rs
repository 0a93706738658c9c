//! The service killed without warning while invoices come in: what it acknowledged is registered,
//! each record once, on one chain.

use std::{
    collections::HashSet,
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use harness::programs::{Process, program, said};
use serde_json::{Value, json};

const SENDS: usize = 200;
const CLIENTS: usize = 8;
const ISSUER: &str = "B12345674";

struct Place {
    data: tempfile::TempDir,
    sandbox: Process,
    http: reqwest::Client,
}

impl Place {
    fn new() -> Self {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("sandbox");
        let sandbox = Process::start(
            "verifactu-server",
            &[
                "sandbox",
                "--data",
                text(&folder),
                "--listen",
                "127.0.0.1:0",
                "--admin",
                "127.0.0.1:0",
                "--wait",
                "1",
            ],
        );
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(20)).build().unwrap();
        Self { data, sandbox, http }
    }

    /// Short waits, so that what a crash left open is looked into at once.
    fn serve(&self) -> Process {
        let data = self.data.path().join("service");
        Process::start(
            "verifactu-server",
            &[
                "serve",
                "--data-dir",
                text(&data),
                "--listen",
                "127.0.0.1:0",
                "--environment",
                "sandbox",
                "--authority-url",
                &self.sandbox.told("url"),
                "--authority-ca",
                &self.sandbox.told("ca"),
                "--initial-wait",
                "1s",
                "--retry-waits",
                "1s,1s,1s,1s,1s,1s,1s,1s",
            ],
        )
    }

    fn pkcs12(&self) -> Vec<u8> {
        let (data, file) = (self.data.path().join("sandbox"), self.data.path().join("issuer.p12"));
        let output = Command::new(program("verifactu-server"))
            .args(["sandbox-certificate", "--data", text(&data), "--kind", "seal"])
            .args([
                "--nif",
                ISSUER,
                "--name",
                "Talleres Ebro SL",
                "--passphrase",
                "secreto",
                "--out",
                text(&file),
            ])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", said(&output));
        std::fs::read(file).unwrap()
    }

    /// The numbers that the sandbox ever registered, in order.
    async fn registered(&self) -> Vec<String> {
        let url = format!("{}/registrations?nif={ISSUER}", self.sandbox.told("admin"));
        let all: Value = self.http.get(url).send().await.unwrap().json().await.unwrap();
        let number = |registration: &Value| registration["number"].as_str().unwrap().to_owned();
        all.as_array().unwrap().iter().map(number).collect()
    }

    async fn admin(&self, service: &Process, path: &str, body: Value) -> Value {
        let key = std::fs::read_to_string(self.data.path().join("service/admin-key")).unwrap();
        let request = self.http.post(format!("{}/v1{path}", service.told("url")));
        let answer = request.header("x-admin-key", key.trim()).json(&body).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
        answer.json().await.unwrap()
    }

    async fn get(&self, service: &Process, key: &str, path: &str) -> Value {
        let request = self.http.get(format!("{}/v1{path}", service.told("url")));
        let answer = request.header("x-api-key", key).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.text().await.unwrap());
        answer.json().await.unwrap()
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn invoice(number: usize) -> Value {
    json!({
        "nif": ISSUER, "nombre": "Talleres Ebro SL", "numSerie": format!("K-{number:04}"), "fecha": "15-01-2026",
        "tipoFactura": "F2", "descripcion": "Ticket",
        "desglose": [{"clave": "01", "calif": "S1", "base": "10", "tipo": "21", "cuota": "2.1"}]
    })
}

/// Sends until every invoice is acknowledged or the service dies. Returns `(number, job)` of the
/// acknowledged ones.
async fn send_from(
    http: reqwest::Client,
    url: String,
    key: String,
    numbers: Vec<usize>,
    acknowledged: Arc<Mutex<Vec<(usize, String)>>>,
) {
    for number in numbers {
        let request = http.post(format!("{url}/v1/send-invoice")).header("x-api-key", &key);
        let request = request.header("x-idempotency-key", format!("key-{number}")).json(&invoice(number));
        let Ok(answer) = request.send().await else { return };
        let accepted = answer.status().is_success();
        let Ok(body) = answer.json::<Value>().await else { return };
        assert!(accepted, "{body}");
        acknowledged.lock().unwrap().push((number, body["jobId"].as_str().unwrap().to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_the_middle_nothing_acknowledged_is_lost_or_registered_twice() {
    let place = Place::new();
    let mut service = place.serve();
    place.admin(&service, "/admin/tenants", json!({"id": "taller", "issuerName": "Talleres Ebro SL"})).await;
    let scopes = ["invoices:write", "invoices:read", "tenant:certificates:write"];
    let created = place
        .admin(&service, "/admin/api-keys", json!({"tenantId": "taller", "name": "k", "scopes": scopes}))
        .await;
    let key = created["apiKey"]["key"].as_str().unwrap().to_owned();
    let upload = json!({"pfxBase64": BASE64.encode(place.pkcs12()), "pfxPassphrase": "secreto"});
    let request = place.http.post(format!("{}/v1/me/certificate", service.told("url")));
    let answer = request.header("x-api-key", &key).json(&upload).send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());

    // Answers are slow to come, so that a kill finds messages that are registered but not answered.
    let slow = json!({"fault": "delay", "stored": true, "delay_ms": 300, "times": 0, "on": "submission"});
    let armed = place.http.post(format!("{}/faults", place.sandbox.told("admin"))).json(&slow).send().await;
    assert!(armed.unwrap().status().is_success());

    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    // Killed twice, each time while a message that was registered has no answer yet; then left alone.
    for last in [false, false, true] {
        let registered = place.registered().await.len();
        let done: HashSet<usize> = acknowledged.lock().unwrap().iter().map(|(number, _)| *number).collect();
        let missing: Vec<usize> = (0..SENDS).filter(|number| !done.contains(number)).collect();
        let mut clients = tokio::task::JoinSet::new();
        for client in 0..CLIENTS {
            let numbers = missing.iter().copied().filter(|number| number % CLIENTS == client).collect();
            let (http, url) = (place.http.clone(), service.told("url"));
            clients.spawn(send_from(http, url, key.clone(), numbers, acknowledged.clone()));
        }
        if last {
            while clients.join_next().await.transpose().unwrap().is_some() {}
        } else {
            let deadline = Instant::now() + Duration::from_secs(60);
            while place.registered().await.len() == registered {
                assert!(Instant::now() < deadline, "nothing was sent");
            }
            service.kill();
            while clients.join_next().await.transpose().unwrap().is_some() {}
            service = place.serve();
        }
    }
    let acknowledged = acknowledged.lock().unwrap().clone();
    assert_eq!(acknowledged.len(), SENDS, "every invoice was acknowledged in the end");

    let mut in_doubt = 0;
    let deadline = Instant::now() + Duration::from_secs(90);
    for (number, job) in &acknowledged {
        loop {
            let found = place.get(&service, &key, &format!("/jobs/{job}")).await;
            if found["status"] == "SUCCEEDED" {
                assert_eq!(found["numSerie"], format!("K-{number:04}"));
                in_doubt += usize::from(found["result"]["authority"]["reconciled"] == true);
                break;
            }
            assert!(Instant::now() < deadline, "not registered in time: {found}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    assert!(in_doubt > 0, "the kills left messages in doubt");
    let mut numbers = place.registered().await;
    numbers.sort();
    let expected: Vec<String> = (0..SENDS).map(|number| format!("K-{number:04}")).collect();
    assert_eq!(numbers, expected, "each registered once");

    let chains = place.get(&service, &key, "/me/chains").await;
    let chains = chains["chains"].as_array().unwrap().clone();
    assert_eq!(chains.len(), 1);
    assert_eq!(chains[0]["length"], SENDS);
    let path = format!("/me/chains/{}/verify", chains[0]["id"].as_str().unwrap());
    let walk = place.get(&service, &key, &path).await;
    assert_eq!((&walk["valid"], &walk["checked"]), (&json!(true), &json!(SENDS)), "{walk}");
    assert!(service.terminate(Duration::from_secs(10)), "a stop ends in time");
}
