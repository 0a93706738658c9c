//! Starting and stopping.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use verifactu_server::{Server, StartError, config::TlsFiles};

use crate::{
    limits::{all, answer, connect},
    world::{Mode, SCOPES, World, client, config, invoice},
};

#[tokio::test]
async fn a_service_says_whether_it_is_alive_and_ready() {
    let world = World::new().await;
    let health = world.ask("GET", "/health").send().await.expect(200);
    assert_eq!(health["status"], "ok");
    let ready = world.ask("GET", "/ready").send().await.expect(200);
    assert_eq!(ready["ready"], true);
    let names: Vec<_> = ready["dependencies"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["ledger", "queue", "service"]);
}

#[tokio::test]
async fn a_stop_finishes_what_is_under_way() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    // A request whose body is still on its way when the stop begins.
    let body = invoice("S-1").to_string();
    let mut stream = TcpStream::connect(world.address()).await.unwrap();
    let head = format!(
        "POST /v1/send-invoice HTTP/1.1\r\nHost: x\r\nx-api-key: {key}\r\nx-idempotency-key: s\r\n\
         content-type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body.as_bytes()[..10]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;

    let address = world.address();
    let World { running, sandbox, directory, .. } = world;
    let stopping = tokio::spawn(running.stop());
    let refused = async {
        while TcpStream::connect(address).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), refused).await.expect("nobody new is let in");
    stream.write_all(&body.as_bytes()[10..]).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 202 ") && answer.contains("connection: close"), "{answer}");
    stopping.await.unwrap();
    sandbox.stop().await;
    drop(directory);
}

/// Its connection was open before, so that it is told to come again, to another process.
#[tokio::test]
async fn a_request_after_the_stop_is_sent_elsewhere() {
    let world = World::new().await;
    let mut late = connect(&world).await;
    late.write_all(b"GET /v1/me HTTP/1.1\r\n").await.unwrap();
    // Connections are taken in their order.
    world.ask("GET", "/health").send().await.expect(200);
    let address = world.address();
    let stopping = tokio::spawn(world.running.stop());
    let refused = async { while TcpStream::connect(address).await.is_ok() {} };
    tokio::time::timeout(Duration::from_secs(5), refused).await.expect("nobody new is let in");
    late.write_all(b"Host: x\r\n\r\n").await.unwrap();
    answer(&all(&mut late).await).fails(503, "shutting_down");
    stopping.await.unwrap();
}

#[tokio::test]
async fn before_a_stop_the_service_says_that_it_is_not_ready_and_goes_on() {
    let world = World::with(|config| config.stop_delay = Duration::from_secs(1)).await;
    let key = world.ready_account("acme").await;
    let (url, client) = (format!("http://{}", world.address()), client());
    let World { running, .. } = world;
    let stopping = tokio::spawn(running.stop());
    let not_ready = async {
        loop {
            let answer = client.get(format!("{url}/ready")).send().await.unwrap();
            if answer.status() == 503 {
                return answer.text().await.unwrap();
            }
        }
    };
    let answer =
        tokio::time::timeout(Duration::from_millis(900), not_ready).await.expect("not ready in time");
    assert!(answer.contains("the service is stopping"), "{answer}");
    let answer = client.get(format!("{url}/v1/me")).header("x-api-key", key).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    stopping.await.unwrap();
}

#[tokio::test]
async fn a_service_speaks_tls_by_itself() {
    let world = World::new().await;
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let rcgen::CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(names).unwrap();
    let file = |name: &str, text: String| {
        let path = world.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let mut settings = config(&world.directory.path().join("tls"), &world.sandbox.url());
    let certificate = file("cert.pem", cert.pem());
    settings.tls = Some(TlsFiles { certificate, key: file("key.pem", signing_key.serialize_pem()) });
    settings.limits.handshake = Duration::from_secs(2);
    let running = Server::builder(settings.clone()).authority(world.authority.clone()).start().await.unwrap();
    let roots = [reqwest::Certificate::from_der(cert.der()).unwrap()];
    let client = reqwest::Client::builder().no_proxy().tls_certs_only(roots).build().unwrap();
    let health = client.get(format!("https://{}/health", running.address())).send().await.unwrap();
    assert_eq!(health.status(), 200);
    // Who never says anything loses the connection.
    let mut silent = TcpStream::connect(running.address()).await.unwrap();
    assert_eq!(all(&mut silent).await, b"");
    running.stop().await;

    settings.tls =
        Some(TlsFiles { certificate: file("cert.pem", cert.pem()), key: file("key.pem", "?".into()) });
    let started = Server::builder(settings).authority(world.authority.clone()).start().await;
    assert!(matches!(started, Err(StartError::Listen(_))), "{started:?}");
}

#[tokio::test]
async fn a_stop_ends_in_time_whatever_hangs() {
    let world = World::with(|config| config.stop_within = Duration::from_millis(500)).await;
    let key = world.ready_account("acme").await;
    world.set(Mode::Silence);
    let send = world.ask("POST", "/v1/send-invoice").key(&key).idempotency("h");
    let sent = send.json(&invoice("H-1")).await.expect(202);
    world.job_when(&key, sent["jobId"].as_str().unwrap(), |job| job["status"] == "PROCESSING").await;
    let mut open = TcpStream::connect(world.address()).await.unwrap();
    open.write_all(b"POST /v1/send-invoice HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n").await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let began = Instant::now();
    world.running.stop().await;
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

#[tokio::test]
async fn what_was_accepted_is_sent_after_a_restart() {
    let world = World::new().await;
    let settings = || config(world.directory.path(), &world.sandbox.url());
    let ask = |running: &verifactu_server::Running, method: &str, path: &str| {
        let url = format!("http://{}{path}", running.address());
        client().request(method.parse().unwrap(), url)
    };
    let json = |request: reqwest::RequestBuilder, body: serde_json::Value| async move {
        let request = request.header("content-type", "application/json").body(body.to_string());
        let text = request.send().await.unwrap().text().await.unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    };

    // The ledger on disk, and no certificate: the record waits.
    let running = Server::builder(settings()).authority(world.authority.clone()).start().await.unwrap();
    let admin = |request: reqwest::RequestBuilder| request.header("x-admin-key", crate::world::ADMIN);
    json(admin(ask(&running, "POST", "/v1/admin/tenants")), json!({ "id": "acme" })).await;
    let body = json!({ "tenantId": "acme", "scopes": SCOPES });
    let key = json(admin(ask(&running, "POST", "/v1/admin/api-keys")), body).await;
    let key = key["apiKey"]["key"].as_str().unwrap().to_owned();
    let request = ask(&running, "POST", "/v1/send-invoice").header("x-api-key", &key);
    let sent = json(request.header("x-idempotency-key", "r"), invoice("R-1")).await;
    let job = format!("/v1/jobs/{}", sent["jobId"].as_str().unwrap());
    running.stop().await;

    // The same ledger and secrets: the key still opens, and the certificate brings the record on its way.
    let running = Server::builder(settings()).authority(world.authority.clone()).start().await.unwrap();
    let holder = verifactu_server::sandbox::Holder::seal(crate::world::ISSUER, "Talleres").with_ec_key();
    let issued = world.sandbox.pki().issue(&holder).unwrap();
    let file = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, issued.pkcs12().unwrap());
    let request = ask(&running, "POST", "/v1/me/certificate").header("x-api-key", &key);
    let uploaded = json(request, json!({ "pfxBase64": file, "pfxPassphrase": "sandbox" })).await;
    assert_eq!(uploaded["success"], true, "{uploaded}");
    let done = async {
        loop {
            let request = ask(&running, "GET", &job).header("x-api-key", &key);
            if json(request, json!({})).await["status"] == "SUCCEEDED" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), done).await.expect("the record is sent");
    running.stop().await;

    // A ledger of one world is of no use in another.
    let mut other = settings();
    other.environment = verifactu_core::types::Environment::Production;
    let started = Server::builder(other).authority(world.authority.clone()).start().await;
    assert!(matches!(started, Err(StartError::Ledger(_))), "{started:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn generated_secrets_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new().await;
    let data = world.directory.path().join("data");
    for name in ["key-pepper", "vault-key"] {
        let mode = std::fs::metadata(data.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert!(!data.join("admin-key").exists(), "what is configured is not generated");
    assert_eq!(std::fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o700);
}
