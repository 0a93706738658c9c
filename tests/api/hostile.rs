//! Callers who mean harm: whatever they send is bounded and answered where HTTP allows, and meanwhile
//! everybody else is served.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};
use verifactu_core::{
    ledger::sqlite::{SqliteLedger, SqliteOptions},
    types::Environment,
};
use verifactu_server::Server;

use crate::world::{ADMIN, SCOPES, World, client, config, invoice};

/// What an honest caller puts up with, on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(5);

/// An honest caller on new connections, who counts what it was served and fails at the first wait that is
/// too long.
struct Honest {
    stop: Arc<AtomicBool>,
    served: Arc<AtomicU64>,
    task: tokio::task::JoinHandle<()>,
}

impl Honest {
    fn begin(world: &World, key: String) -> Self {
        let (stop, served) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let url = format!("http://{}/v1/me", world.address());
        let (asked_to_stop, count) = (stop.clone(), served.clone());
        let task = tokio::spawn(async move {
            while !asked_to_stop.load(Ordering::Relaxed) {
                let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
                let asked = client.get(&url).header("x-api-key", &key).timeout(PATIENCE).send().await;
                let status = asked.expect("an honest caller is served").status();
                assert_eq!(status, 200);
                count.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        Self { stop, served, task }
    }

    /// Waits until it was served once more.
    async fn is_served(&self) {
        let (before, began) = (self.served.load(Ordering::Relaxed), Instant::now());
        while self.served.load(Ordering::Relaxed) < before + 2 {
            assert!(began.elapsed() < 2 * PATIENCE && !self.task.is_finished(), "an honest caller is served");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.unwrap();
    }
}

async fn connect(world: &World) -> TcpStream {
    TcpStream::connect(world.address()).await.unwrap()
}

async fn status(mut stream: TcpStream) -> u16 {
    let mut text = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut text));
    read.await.expect("an answer in time").unwrap();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().next().unwrap_or_else(|| panic!("no answer"));
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

/// A request that ends its connection, without its body.
fn head(key: &str, more: &str) -> String {
    format!(
        "POST /v1/send-invoice HTTP/1.1\r\nHost: x\r\nConnection: close\r\nx-api-key: {key}\r\n\
         x-idempotency-key: h\r\n{more}\r\n"
    )
}

#[tokio::test]
async fn bodies_that_mean_harm_are_refused_and_nobody_else_notices() {
    let world = World::new().await;
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    let honest = Honest::begin(&world, key.clone());
    let json_type = "content-type: application/json\r\n";
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let nested = format!("{}1{}", "{\"a\":".repeat(33), "}".repeat(33));
    let wide = format!("{{{}}}", (0..300).map(|n| format!("\"k{n}\":1")).collect::<Vec<_>>().join(","));
    let twice = "{\"nif\":\"B12345674\",\"nif\":\"B12345674\"}".to_owned();
    let unknown = {
        let mut body = invoice("H-1");
        body["surprise"] = json!(1);
        body.to_string()
    };
    for (what, kind, body, wanted) in [
        ("nested beyond the limit", json_type, nested, 400),
        ("a hundred thousand brackets", json_type, deep, 400),
        ("more members than an object may have", json_type, wide, 400),
        ("a key that comes twice", json_type, twice, 400),
        ("a field that there is not", json_type, unknown, 400),
        ("no JSON", json_type, "\u{fffd}\"".to_owned(), 400),
        ("another media type", "content-type: text/xml\r\n", "{}".to_owned(), 415),
        ("no media type", "", "{}".to_owned(), 415),
    ] {
        let mut stream = connect(&world).await;
        let head = head(&key, &format!("{kind}Content-Length: {}\r\n", body.len()));
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body.as_bytes()).await.unwrap();
        assert_eq!(status(stream).await, wanted, "{what}");
    }
    // A body in chunks of a byte is as good as any.
    let mut crumbs = connect(&world).await;
    let head = head(&key, &format!("{json_type}Transfer-Encoding: chunked\r\n"));
    crumbs.write_all(head.as_bytes()).await.unwrap();
    let body = invoice("H-1").to_string();
    let chunks: String = body.chars().filter(char::is_ascii).map(|one| format!("1\r\n{one}\r\n")).collect();
    for piece in chunks.as_bytes().chunks(7) {
        crumbs.write_all(piece).await.unwrap();
    }
    crumbs.write_all(b"0\r\n\r\n").await.unwrap();
    assert_eq!(status(crumbs).await, 202);
    honest.is_served().await;
    honest.end().await;
}

/// As many as the machine allows, for the clients' side and the service's own are both in this process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_idle_connections_lock_nobody_out() {
    const IDLE: usize = 10_000;
    let world = World::with(|config| config.limits.connections = 2000).await;
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    let honest = Honest::begin(&world, key);
    let mut idle = Vec::with_capacity(IDLE);
    let address = world.address();
    while idle.len() < IDLE {
        let mut batch = JoinSet::new();
        for _ in 0..100 {
            batch.spawn(TcpStream::connect(address));
        }
        let open = idle.len();
        idle.extend(batch.join_all().await.into_iter().flatten());
        if idle.len() < open + 100 {
            break;
        }
    }
    let open = idle.len();
    assert!(open > 4000, "the machine allows only {open} connections");
    honest.is_served().await;
    // So do those who begin and never end: head or body, a byte now and then.
    let beginnings: [&[u8]; 2] =
        [b"GET /health HT", b"POST /v1/send-invoice HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"];
    for (stream, beginning) in idle.iter_mut().rev().take(2000).zip(beginnings.iter().cycle()) {
        let _ = stream.write_all(beginning).await;
    }
    honest.is_served().await;
    honest.end().await;
    drop(idle);
    world.ask("GET", "/health").send().await.expect(200);
}

#[tokio::test]
async fn a_full_store_is_told_and_recovers_by_itself() {
    let world = World::new().await;
    let settings = config(world.directory.path(), &world.sandbox.url());
    let file = world.directory.path().join("full.db");
    drop(SqliteLedger::open(&file, Environment::Sandbox, &SqliteOptions::default()).unwrap());
    let raw = rusqlite::Connection::open(&file).unwrap();
    raw.busy_timeout(Duration::from_secs(10)).unwrap();
    raw.execute_batch("CREATE TABLE ballast (x); INSERT INTO ballast VALUES (zeroblob(1000000));").unwrap();
    let pages: u32 = raw.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    let options = SqliteOptions { max_pages: Some(pages + 30), ..SqliteOptions::default() };
    let store = Arc::new(SqliteLedger::open(&file, Environment::Sandbox, &options).unwrap());
    let running =
        Server::builder(settings).store(store).authority(world.authority.clone()).start().await.unwrap();

    let url = format!("http://{}", running.address());
    let post = |path: &str, body: &serde_json::Value| {
        let request = client().post(format!("{url}{path}")).header("x-admin-key", ADMIN);
        request.header("content-type", "application/json").body(body.to_string())
    };
    post("/v1/admin/tenants", &json!({ "id": "acme" })).send().await.unwrap();
    let key = post("/v1/admin/api-keys", &json!({ "tenantId": "acme", "scopes": SCOPES }));
    let key: serde_json::Value =
        serde_json::from_slice(&key.send().await.unwrap().bytes().await.unwrap()).unwrap();
    let key = key["apiKey"]["key"].as_str().unwrap().to_owned();
    let send = |number: usize| {
        let body = invoice(&format!("D-{number}")).to_string();
        let request = client().post(format!("{url}/v1/send-invoice")).header("x-api-key", &key);
        let request = request.header("x-idempotency-key", format!("d-{number}"));
        request.header("content-type", "application/json").body(body).send()
    };
    let mut accepted = 0;
    let refused = loop {
        let answer = send(accepted).await.unwrap();
        match answer.status().as_u16() {
            202 => accepted += 1,
            503 => break answer,
            other => panic!("{other}: {}", answer.text().await.unwrap()),
        }
        assert!(accepted < 1000, "the store is full some time");
    };
    assert!(refused.headers().contains_key("retry-after"));
    let text = refused.text().await.unwrap();
    assert!(text.contains("store_unavailable"), "{text}");
    let chain = |raw: &rusqlite::Connection| -> (i64, i64, i64) {
        let count = |sql: &str| raw.query_row(sql, [], |row| row.get(0)).unwrap();
        (
            count("SELECT count(*) FROM record"),
            count("SELECT count(*) FROM job"),
            count("SELECT count(*) FROM idempotency"),
        )
    };
    let whole = i64::try_from(accepted).unwrap();
    assert_eq!(chain(&raw), (whole, whole, whole), "nothing is half written");

    raw.execute_batch("DELETE FROM ballast").unwrap();
    assert_eq!(send(accepted).await.unwrap().status(), 202, "the same request, without a restart");
    running.stop().await;
}
