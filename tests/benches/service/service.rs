//! The released service as a process.

use std::{
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use harness::programs::Process;
use serde_json::{Value, json};

pub(crate) const PEPPER: &str = "pepper";
const ADMIN_KEY: &str = "operator";
/// Issuers, each an account with one chain.
pub(crate) const ISSUERS: [&str; 10] = [
    "B00000018",
    "B00000026",
    "B00000034",
    "B00000042",
    "B00000059",
    "B00000067",
    "B00000075",
    "B00000083",
    "B00000091",
    "B00000109",
];

pub(crate) struct Service {
    process: Process,
    pub(crate) address: SocketAddr,
    pub(crate) started_in: Duration,
}

/// A key with the issuer of its account.
#[derive(Clone)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) issuer: String,
}

impl Service {
    /// On a ledger in the folder.
    pub(crate) fn start(folder: &Path) -> Self {
        Self::start_with(folder, &[])
    }

    /// With further settings.
    pub(crate) fn start_with(folder: &Path, settings: &[&str]) -> Self {
        let began = Instant::now();
        // Nobody is asked at that address: the accounts have no certificate.
        let authority = ["--environment", "sandbox", "--authority-url", "https://127.0.0.1:1"];
        let vault_key = format!("1:{}", BASE64.encode([7; 32]));
        let secrets =
            ["--vault-key", &vault_key, "--admin-key", ADMIN_KEY, "--key-pepper", PEPPER, "--rates", "false"];
        let place = ["--listen", "127.0.0.1:0", "--data-dir", folder.to_str().unwrap()];
        let arguments = [&["serve"], &authority[..], &secrets, &place, settings].concat();
        let process = Process::start("verifactu-server", &arguments);
        let started_in = began.elapsed();
        let address = process.told("address").parse().unwrap();
        Self { process, address, started_in }
    }

    /// An account for each issuer, with a key.
    pub(crate) async fn accounts(&self) -> Vec<Key> {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let post = async |path: &str, body: Value| -> Value {
            let request = http.post(format!("http://{}/v1{path}", self.address));
            let answer = request.header("x-admin-key", ADMIN_KEY).json(&body).send().await.unwrap();
            assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
            answer.json().await.unwrap()
        };
        let mut keys = Vec::new();
        for issuer in ISSUERS {
            let id = format!("account-{issuer}");
            post("/admin/tenants", json!({"id": id})).await;
            let wanted = json!({"tenantId": id, "scopes": ["invoices:write"]});
            let created = post("/admin/api-keys", wanted).await;
            let text = created["apiKey"]["key"].as_str().unwrap().to_owned();
            keys.push(Key { text, issuer: issuer.to_owned() });
        }
        keys
    }

    /// Bytes in memory now.
    pub(crate) fn resident(&self) -> u64 {
        self.status("VmRSS")
    }

    /// The most bytes that were in memory.
    pub(crate) fn peak(&self) -> u64 {
        self.status("VmHWM")
    }

    fn status(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kib * 1024
    }

    pub(crate) fn stop(self) {
        assert!(self.process.terminate(Duration::from_secs(60)));
    }
}
