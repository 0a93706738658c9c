//! A sandbox authority and a service, each a process of its own.

use std::{
    path::Path,
    process::{Command, Output},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use harness::programs::{Process, program, said};
use serde_json::{Value, json};
use verifactu_core::types::{Clock as _, Date};
use verifactu_server::clock::SystemClock;

pub const ISSUER: &str = "B12345674";

pub struct Place {
    pub data: tempfile::TempDir,
    pub sandbox: Process,
    pub http: reqwest::Client,
    /// Address of the service's ledger, if that is in PostgreSQL.
    pub ledger: Option<String>,
}

impl Place {
    pub fn new() -> Self {
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
        Self { data, sandbox, http, ledger: None }
    }

    /// Short waits, so that what a crash left open is looked into at once.
    pub fn serve(&self) -> Process {
        let settings = self.settings();
        let mut arguments = vec!["serve", "--listen", "127.0.0.1:0"];
        arguments.extend(settings.iter().map(String::as_str));
        Process::start("verifactu-server", &arguments)
    }

    /// A command that reads the service's settings.
    pub fn command(&self, words: &[&str]) -> Output {
        Command::new(program("verifactu-server")).args(words).args(self.settings()).output().unwrap()
    }

    pub fn settings(&self) -> Vec<String> {
        let data = self.data.path().join("service");
        let (url, ca) = (self.sandbox.told("url"), self.sandbox.told("ca"));
        let mut settings = vec![
            ("data-dir", text(&data)),
            ("environment", "sandbox"),
            ("authority-url", &*url),
            ("authority-ca", &*ca),
            ("rates", "false"),
            ("initial-wait", "1s"),
            ("retry-waits", "1s,1s,1s,1s,1s,1s,1s,1s"),
        ];
        let vault = format!("1:{}", BASE64.encode([7; 32]));
        if let Some(ledger) = &self.ledger {
            settings.extend([("ledger", &**ledger), ("vault-key", &vault), ("key-pepper", "pepper")]);
        }
        settings.into_iter().flat_map(|(name, value)| [format!("--{name}"), value.to_owned()]).collect()
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

    /// An account with a certificate; its key.
    pub async fn account(&self, service: &Process) -> String {
        self.admin(service, "/admin/tenants", json!({"id": "taller", "issuerName": "Talleres Ebro SL"}))
            .await;
        let scopes = ["invoices:write", "invoices:read", "tenant:certificates:write"];
        let created = self
            .admin(service, "/admin/api-keys", json!({"tenantId": "taller", "name": "k", "scopes": scopes}))
            .await;
        let key = created["apiKey"]["key"].as_str().unwrap().to_owned();
        let upload = json!({"pfxBase64": BASE64.encode(self.pkcs12()), "pfxPassphrase": "secreto"});
        let request = self.http.post(format!("{}/v1/me/certificate", service.told("url")));
        let answer = request.header("x-api-key", &key).json(&upload).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
        key
    }

    /// An invoice of today.
    pub fn invoice(number: &str) -> Value {
        let today = Date::in_madrid(SystemClock.now()).to_string();
        json!({
            "nif": ISSUER, "nombre": "Talleres Ebro SL", "numSerie": number, "fecha": today,
            "tipoFactura": "F2", "descripcion": "Ticket",
            "desglose": [{"clave": "01", "calif": "S1", "base": "10", "tipo": "21", "cuota": "2.1"}]
        })
    }

    /// Sends an invoice, which has to be accepted.
    pub async fn send(&self, service: &Process, key: &str, number: &str) -> Value {
        self.send_body(service, key, number, Self::invoice(number)).await
    }

    pub async fn send_body(&self, service: &Process, key: &str, idempotency: &str, body: Value) -> Value {
        let request = self.http.post(format!("{}/v1/send-invoice", service.told("url")));
        let request = request.header("x-api-key", key).header("x-idempotency-key", idempotency);
        let answer = request.json(&body).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
        answer.json().await.unwrap()
    }

    /// Orders what shall go wrong at the authority.
    pub async fn arm(&self, fault: Value) {
        let armed =
            self.http.post(format!("{}/faults", self.sandbox.told("admin"))).json(&fault).send().await;
        assert!(armed.unwrap().status().is_success());
    }

    /// The numbers that the sandbox ever registered, in order.
    pub async fn registered(&self) -> Vec<String> {
        let url = format!("{}/registrations?nif={ISSUER}", self.sandbox.told("admin"));
        let all: Value = self.http.get(url).send().await.unwrap().json().await.unwrap();
        let number = |registration: &Value| registration["number"].as_str().unwrap().to_owned();
        all.as_array().unwrap().iter().map(number).collect()
    }

    pub async fn admin(&self, service: &Process, path: &str, body: Value) -> Value {
        let key = std::fs::read_to_string(self.data.path().join("service/admin-key")).unwrap();
        let request = self.http.post(format!("{}/v1{path}", service.told("url")));
        let answer = request.header("x-admin-key", key.trim()).json(&body).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
        answer.json().await.unwrap()
    }

    pub async fn get(&self, service: &Process, key: &str, path: &str) -> Value {
        let request = self.http.get(format!("{}/v1{path}", service.told("url")));
        let answer = request.header("x-api-key", key).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.text().await.unwrap());
        answer.json().await.unwrap()
    }
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
