//! Webhooks: what is sent where, once, and where nothing is ever sent (specification, Events).

use std::time::Duration;

use harness::receiver::{OK, Received, SECRET, receiver};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc};
use verifactu_core::webhook;

use crate::world::{Mode, World, invoice};

async fn world() -> World {
    World::with(|config| config.webhook_loopback = true).await
}

async fn set(world: &World, tenant: &str, url: &str) -> Value {
    let path = format!("/v1/admin/tenants/{tenant}/webhook");
    world.ask("PATCH", &path).admin().json(&json!({ "url": url, "secret": SECRET })).await.expect(200)
}

async fn deliveries(world: &World, tenant: &str) -> Vec<Value> {
    let path = format!("/v1/admin/tenants/{tenant}/webhook/deliveries");
    let answer = world.ask("GET", &path).admin().send().await.expect(200);
    answer["deliveries"].as_array().unwrap().clone()
}

async fn next(received: &mut mpsc::UnboundedReceiver<Received>) -> Received {
    tokio::time::timeout(Duration::from_secs(20), received.recv()).await.expect("in time").unwrap()
}

/// The log, once every attempt in it has ended.
async fn ended(world: &World, tenant: &str, count: usize) -> Vec<Value> {
    let until = async {
        loop {
            let log = deliveries(world, tenant).await;
            if log.len() == count && log.iter().all(|delivery| !delivery["delivered"].is_null()) {
                return log;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), until).await.expect("the attempts end")
}

#[tokio::test]
async fn a_final_job_is_told_once_and_signed() {
    let world = world().await;
    let key = world.ready_account("acme").await;
    let (address, mut received) = receiver(OK).await;
    set(&world, "acme", &format!("http://{address}/hook")).await;
    let send = world.ask("POST", "/v1/send-invoice").key(&key).idempotency("H-1");
    let job = send.json(&invoice("H-1")).await.expect(202);

    let got = next(&mut received).await;
    let event = got.event();
    let job = world.job_when(&key, job["jobId"].as_str().unwrap(), |job| job["status"] == "SUCCEEDED").await;
    assert_eq!(event["event"], "invoice.succeeded");
    assert_eq!((&event["tenantId"], &event["type"]), (&json!("acme"), &json!("SEND_INVOICE")));
    assert_eq!((&event["jobId"], &event["numSerie"]), (&job["jobId"], &json!("H-1")));
    for member in ["csv", "huella", "qrText"] {
        assert_eq!(event[member], job["result"]["qrInfo"][member], "{member}");
    }
    assert_eq!(event["timestamp"], job["completedAt"]);
    assert_eq!(got.header(webhook::WEBHOOK_ID), job["jobId"]);
    let log = ended(&world, "acme", 1).await;
    assert_eq!(
        (&log[0]["jobId"], &log[0]["delivered"], &log[0]["status"]),
        (&job["jobId"], &json!(true), &json!(204))
    );
    assert!(received.try_recv().is_err(), "one attempt");
}

#[tokio::test]
async fn a_dead_job_is_told_with_its_last_error() {
    let world = World::with(|config| {
        config.webhook_loopback = true;
        config.engine.retry.waits.clear();
    })
    .await;
    world.set(Mode::Fault);
    let key = world.ready_account("acme").await;
    let (address, mut received) = receiver(OK).await;
    set(&world, "acme", &format!("http://{address}/")).await;
    world.ask("POST", "/v1/send-invoice").key(&key).idempotency("D").json(&invoice("D")).await.expect(202);
    let event = next(&mut received).await.event();
    assert_eq!((&event["event"], &event["numSerie"]), (&json!("invoice.failed"), &json!("D")));
    assert!(event["lastError"].as_str().unwrap().contains("Error interno"), "{event}");
    assert!(event["csv"].is_null() && event["qrText"].is_null());
}

#[tokio::test]
async fn an_attempt_that_fails_is_logged_and_not_repeated() {
    let cases = [
        ("HTTP/1.1 500 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", 500),
        (
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            302,
        ),
        (
            "HTTP/1.1 307 There\r\nlocation: http://10.0.0.1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            307,
        ),
    ];
    for (answer, status) in cases {
        let world = world().await;
        let key = world.ready_account("acme").await;
        let (address, mut received) = receiver(answer).await;
        set(&world, "acme", &format!("http://{address}/")).await;
        world
            .ask("POST", "/v1/send-invoice")
            .key(&key)
            .idempotency("F")
            .json(&invoice("F"))
            .await
            .expect(202);
        next(&mut received).await.event();
        let log = ended(&world, "acme", 1).await;
        assert_eq!((&log[0]["delivered"], &log[0]["status"]), (&json!(false), &json!(status)));
        assert!(!log[0]["error"].as_str().unwrap().is_empty());
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(received.try_recv().is_err(), "no redelivery after {status}");
    }
}

#[tokio::test]
async fn a_trial_tells_what_became_of_it() {
    let world = world().await;
    world.ready_account("acme").await;
    let ping = || world.ask("POST", "/v1/admin/tenants/acme/webhook/ping").admin().send();
    ping().await.fails(404, "not_found");
    let (address, mut received) = receiver(OK).await;
    set(&world, "acme", &format!("http://{address}/")).await;
    let answer = ping().await.expect(200);
    assert_eq!(
        (&answer["delivery"]["delivered"], &answer["delivery"]["jobId"]),
        (&json!(true), &Value::Null)
    );
    let event = next(&mut received).await.event();
    assert_eq!((&event["event"], &event["tenantId"]), (&json!("webhook.ping"), &json!("acme")));

    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    set(&world, "acme", &format!("http://{silent}/")).await;
    let answer = ping().await.expect(200);
    assert_eq!(
        (&answer["delivery"]["delivered"], &answer["delivery"]["error"]),
        (&json!(false), &json!("no connection"))
    );
    assert_eq!(ended(&world, "acme", 2).await.len(), 2);
}

#[tokio::test]
async fn a_webhook_is_set_in_parts_and_never_shows_its_secret() {
    let world = world().await;
    world.ready_account("acme").await;
    let patch =
        async |body: Value| world.ask("PATCH", "/v1/admin/tenants/acme/webhook").admin().json(&body).await;
    let answer = patch(json!({})).await;
    answer.fails(400, "validation_failed");
    assert_eq!(answer.fields(), ["url", "secret"]);
    let url = "https://example.com/hook";
    let set = patch(json!({ "url": url, "secret": SECRET })).await.expect(200);
    assert_eq!((&set["url"], &set["hasSecret"], &set["enabled"]), (&json!(url), &json!(true), &json!(true)));
    let off = patch(json!({ "enabled": false })).await.expect(200);
    assert_eq!((&off["url"], &off["hasSecret"], &off["enabled"]), (&json!(url), &json!(true), &json!(false)));
    let moved = patch(json!({ "url": "https://example.org/" })).await.expect(200);
    assert_eq!((&moved["url"], &moved["enabled"]), (&json!("https://example.org/"), &json!(false)));
    for wrong in
        [json!({ "secret": "" }), json!({ "secret": 1 }), json!({ "enabled": "yes" }), json!({ "other": 1 })]
    {
        patch(wrong).await.fails(400, "validation_failed");
    }
    let shown = world.ask("GET", "/v1/admin/tenants/acme/webhook").admin().send().await;
    assert!(!String::from_utf8(shown.bytes.clone()).unwrap().contains(SECRET));
    assert_eq!(shown.expect(200)["hasSecret"], true);
    let gone = patch(json!({ "url": null })).await.expect(200);
    assert_eq!((&gone["url"], &gone["hasSecret"]), (&Value::Null, &json!(false)));
    world.ask("GET", "/v1/admin/tenants/nobody/webhook").admin().send().await.fails(404, "not_found");
    let key = world.key("acme", &["invoices:read"]).await;
    world.ask("GET", "/v1/admin/tenants/acme/webhook").key(&key).send().await.fails(401, "api_key_missing");
}

/// Addresses that are not public, in every notation that a URL has for them.
const INSIDE: &[&str] = &[
    // The usual notation, by block.
    "https://0.0.0.0/",
    "https://0.1.2.3/",
    "https://10.0.0.1/",
    "https://10.255.255.255:8443/",
    "https://100.64.0.1/",
    "https://100.127.255.255/",
    "https://127.0.0.1/",
    "https://127.0.0.1:8080/hook",
    "https://127.1.2.3/",
    "https://127.255.255.255/",
    "https://169.254.169.254/latest/meta-data",
    "https://169.254.0.1/",
    "https://172.16.0.1/",
    "https://172.31.255.255/",
    "https://192.0.0.1/",
    "https://192.0.2.1/",
    "https://192.88.99.1/",
    "https://192.168.1.1/",
    "https://198.18.0.1/",
    "https://198.19.255.255/",
    "https://198.51.100.1/",
    "https://203.0.113.1/",
    "https://224.0.0.1/",
    "https://239.1.1.1/",
    "https://240.0.0.1/",
    "https://255.255.255.255/",
    // Decimal, octal, hexadecimal, shortened, mixed.
    "https://2130706433/",
    "https://3232235777/",
    "https://2852039166/",
    "https://017700000001/",
    "https://0177.0.0.1/",
    "https://0177.0.0.01/",
    "https://0x7f.0.0.1/",
    "https://0x7f000001/",
    "https://0x7F.1/",
    "https://127.1/",
    "https://127.0.1/",
    "https://10.1/",
    "https://0xa9fea9fe/",
    "https://0251.0376.0251.0376/",
    "https://0xc0.0250.257/",
    "https://0/",
    "https://0x0/",
    // Percent-encoded and full-width digits, other dots, a trailing dot.
    "https://%31%32%37.0.0.1/",
    "https://127%2e0%2e0%2e1/",
    "https://127。0。0。1/",
    "https://１２７.0.0.1/",
    "https://127.0.0.1./",
    // IPv6: unspecified, loopback, local, multicast, and IPv4 inside.
    "https://[::]/",
    "https://[::1]/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[0000:0000:0000:0000:0000:0000:0000:0001]:443/",
    "https://[::127.0.0.1]/",
    "https://[::7f00:1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[::FFFF:10.0.0.1]/",
    "https://[0:0:0:0:0:ffff:169.254.169.254]/",
    "https://[::ffff:0:127.0.0.1]/",
    "https://[64:ff9b::127.0.0.1]/",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://[64:ff9b:1::1]/",
    "https://[2002:7f00:1::]/",
    "https://[2002:a9fe:a9fe::1]/",
    "https://[2001::1]/",
    "https://[2001:db8::1]/",
    "https://[100::1]/",
    "https://[fc00::1]/",
    "https://[fd00:ec2::254]/",
    "https://[fe80::1]/",
    "https://[fec0::1]/",
    "https://[ff02::1]/",
    // Names of this computer.
    "https://localhost/",
    "https://LOCALHOST:8080/",
    "https://localhost./",
    "https://hook.localhost/",
];

/// Addresses that are none, or not of HTTPS.
const NONE: &[&str] = &[
    "",
    "hook",
    "//example.com/",
    "http://example.com/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://example.com/",
    "https://",
    "https://[::1/",
    "https://[fe80::1%25eth0]/",
    "https://256.1.1.1/",
    "https://user@example.com/",
    "https://user:pass@example.com/",
    "https://example.com/\r\nx: y",
    "https://exam ple.com/",
];

#[tokio::test]
async fn nothing_is_sent_inside() {
    assert!(INSIDE.len() >= 60);
    let world = World::new().await;
    world.ready_account("acme").await;
    for url in INSIDE.iter().chain(NONE) {
        let body = json!({ "url": url, "secret": SECRET });
        let answer = world.ask("PATCH", "/v1/admin/tenants/acme/webhook").admin().json(&body).await;
        assert_eq!((answer.status, answer.fields()), (400, vec!["url"]), "{url}");
    }
    for url in
        ["https://93.184.215.14/", "https://[2606:2800:21f:cb07::1]/x", "https://example.com:8443/a?b=c"]
    {
        set(&world, "acme", url).await;
    }
}

#[tokio::test]
async fn what_was_set_in_development_is_not_sent_to_without_it() {
    use verifactu_core::ledger::Accounts as _;
    let world = World::new().await;
    world.ready_account("acme").await;
    set(&world, "acme", "https://example.com/").await;
    let tenant = verifactu_core::types::TenantId::parse("acme").unwrap();
    let mut webhook = world.accounts.webhook(&tenant).await.unwrap().unwrap();
    assert!(!webhook.secret.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()), "sealed");
    for (url, why) in [("http://127.0.0.1:1/", "https"), ("https://127.0.0.1:1/", "public")] {
        let known = webhook.clone();
        webhook.url = url.to_owned();
        assert!(world.accounts.put_webhook(Some(&known), &webhook).await.unwrap());
        let ping = world.ask("POST", "/v1/admin/tenants/acme/webhook/ping").admin().send().await.expect(200);
        assert_eq!(ping["delivery"]["delivered"], false);
        assert!(ping["delivery"]["error"].as_str().unwrap().contains(why), "{ping}");
    }
}
