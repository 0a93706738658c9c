//! Three nodes over one ledger in PostgreSQL and one queue in Redis: whatever they are asked at the same
//! time, a key is one job and an invoice one record.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use harness::{
    postgres_server::{PostgresServer, connect},
    programs::Process,
    redis_server::RedisServer,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const NODES: usize = 3;
const REQUESTS: usize = 100;
const ADMIN: &str = "operator-of-three-nodes";

/// How often the whole is done; more in a long run.
#[allow(clippy::disallowed_methods)]
fn rounds() -> usize {
    std::env::var("VERIFACTU_TEST_ROUNDS").ok().map_or(2, |rounds| rounds.parse().unwrap())
}

struct Cluster {
    nodes: Vec<Process>,
    http: reqwest::Client,
    database: tokio_postgres::Client,
    _servers: (PostgresServer, RedisServer),
    _data: tempfile::TempDir,
}

impl Cluster {
    async fn start() -> Self {
        let (postgres, redis) = (PostgresServer::quick(), RedisServer::start());
        let data = tempfile::tempdir().unwrap();
        let address = postgres.database().await;
        let ledger = data.path().join("ledger");
        std::fs::write(&ledger, &address).unwrap();
        let start = |node: usize| {
            let folder = data.path().join(node.to_string());
            let vault = format!("1:{}", BASE64.encode([7; 32]));
            Process::start(
                "verifactu-server",
                &[
                    ["serve", "--environment=sandbox"].as_slice(),
                    &["--listen", "127.0.0.1:0", "--authority-url", "https://127.0.0.1:1"],
                    &["--data-dir", folder.to_str().unwrap(), "--ledger-file", ledger.to_str().unwrap()],
                    &["--queue", &redis.url(), "--admin-key", ADMIN],
                    &["--vault-key", &vault, "--key-pepper", "pepper of three nodes"],
                ]
                .concat(),
            )
        };
        let nodes = (0..NODES).map(start).collect();
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let database = connect(&address).await;
        Self { nodes, http, database, _servers: (postgres, redis), _data: data }
    }

    fn url(&self, number: usize, path: &str) -> String {
        format!("{}/v1{path}", self.nodes[number % NODES].told("url"))
    }

    /// A new account's key.
    async fn account(&self, tenant: &str) -> String {
        let post = async |node: usize, path: &str, body: Value| {
            let request = self.http.post(self.url(node, path)).header("x-admin-key", ADMIN).json(&body);
            let answer = request.send().await.unwrap();
            assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
            answer.json::<Value>().await.unwrap()
        };
        post(0, "/admin/tenants", json!({"id": tenant, "issuerName": "Talleres Ebro SL"})).await;
        let key = json!({"tenantId": tenant, "name": "k", "scopes": ["invoices:write", "invoices:read"]});
        let created = post(1, "/admin/api-keys", key).await;
        created["apiKey"]["key"].as_str().unwrap().to_owned()
    }

    /// The same invoice to all nodes at the same time, each time under the key that is given for its
    /// number. Returns status, body and whether it was a replay, of each.
    async fn send_all(&self, account: &str, key: impl Fn(usize) -> String) -> Vec<(u16, Value, bool)> {
        let mut requests = JoinSet::new();
        for number in 0..REQUESTS {
            let request = self
                .http
                .post(self.url(number, "/send-invoice"))
                .header("x-api-key", account)
                .header("x-idempotency-key", key(number))
                .json(&json!({
                    "nif": "B12345674", "nombre": "Talleres Ebro SL", "numSerie": "N-1", "fecha": "15-01-2026",
                    "tipoFactura": "F2", "descripcion": "Ticket",
                    "desglose": [{"clave": "01", "calif": "S1", "base": "10", "tipo": "21", "cuota": "2.1"}]
                }));
            requests.spawn(async move {
                let answer = request.send().await.unwrap();
                let replayed = answer.headers().contains_key("idempotency-replayed");
                (answer.status().as_u16(), answer.json().await.unwrap(), replayed)
            });
        }
        requests.join_all().await
    }

    /// Records, jobs and keys of an account in the ledger.
    async fn stored(&self, tenant: &str) -> [i64; 3] {
        let count = async |table: &str| {
            let query = format!("SELECT count(*) FROM {table} WHERE tenant = $1");
            self.database.query_one(&query, &[&tenant]).await.unwrap().get(0)
        };
        [count("record").await, count("job").await, count("idempotency").await]
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_one_job_and_an_invoice_one_record_on_three_nodes() {
    let cluster = Cluster::start().await;
    for round in 0..rounds() {
        let tenant = format!("one-key-{round}");
        let answers = cluster.send_all(&cluster.account(&tenant).await, |_| "same".to_owned()).await;
        let job = &answers[0].1["jobId"];
        assert!(job.is_string(), "{answers:?}");
        for (status, body, _) in &answers {
            assert!((200..300).contains(status) && body["jobId"] == *job, "{status} {body}");
        }
        let replayed = answers.iter().filter(|(.., replayed)| *replayed).count();
        assert_eq!(replayed, REQUESTS - 1);
        assert_eq!(cluster.stored(&tenant).await, [1, 1, 1]);

        let tenant = format!("one-invoice-{round}");
        let answers = cluster.send_all(&cluster.account(&tenant).await, |key| format!("key-{key}")).await;
        let accepted = answers.iter().filter(|(status, ..)| *status == 202).count();
        let conflicts = answers
            .iter()
            .filter(|(status, body, _)| *status == 409 && body["code"] == "invoice_already_submitted");
        assert_eq!((accepted, conflicts.count()), (1, REQUESTS - 1), "{answers:?}");
        assert_eq!(cluster.stored(&tenant).await, [1, 1, 1]);
    }
}
