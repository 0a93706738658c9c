//! Callers that are slow, large or no HTTP at all.

use std::time::{Duration, Instant};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::world::{Answer, ISSUER, SCOPES, World, invoice};

const PATIENCE: Duration = Duration::from_secs(10);

pub async fn connect(world: &World) -> TcpStream {
    TcpStream::connect(world.address()).await.unwrap()
}

/// What comes until the other end closes.
pub async fn all(stream: &mut TcpStream) -> Vec<u8> {
    let mut text = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut text)).await;
    read.expect("the connection is closed in time").unwrap();
    text
}

/// The one answer in these bytes, checked like any other.
pub fn answer(text: &[u8]) -> Answer {
    let text = std::str::from_utf8(text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer in {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(": ").unwrap();
        headers.insert(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
    }
    let length: usize = headers["content-length"].to_str().unwrap().parse().unwrap();
    assert_eq!(length, body.len(), "one answer, and nothing behind it");
    Answer::checked(status, headers, body.as_bytes())
}

#[tokio::test]
async fn slow_callers_lose_their_connection() {
    let world = World::with(|config| {
        config.limits.header_read = Duration::from_millis(300);
        config.limits.body_read = Duration::from_millis(300);
    })
    .await;
    let began = Instant::now();
    let mut silent = connect(&world).await;
    silent.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n").await.unwrap();
    assert_eq!(all(&mut silent).await, b"");

    let mut slow = connect(&world).await;
    let head = "POST /v1/send-invoice HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{";
    slow.write_all(head.as_bytes()).await.unwrap();
    let late = answer(&all(&mut slow).await);
    late.fails(408, "request_timeout");
    assert!(began.elapsed() < PATIENCE);
    world.ask("GET", "/health").send().await.expect(200);
}

#[tokio::test]
async fn bodies_have_a_limit_however_they_come() {
    let world = World::with(|config| config.limits.body = 2048).await;
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    let large = format!("\"{}\"", "x".repeat(4096));
    let ask = || world.ask("POST", "/v1/send-invoice").key(&key);
    ask().text(&large).await.fails(413, "payload_too_large");

    // Size comes before the key.
    world.ask("POST", "/v1/send-invoice").text(&large).await.fails(413, "payload_too_large");

    let mut chunked = connect(&world).await;
    let head = "POST /v1/send-invoice HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    chunked.write_all(head.as_bytes()).await.unwrap();
    chunked.write_all(format!("1000\r\n{}\r\n0\r\n\r\n", "x".repeat(4096)).as_bytes()).await.unwrap();
    answer(&all(&mut chunked).await).fails(413, "payload_too_large");

    // A body in pieces that keeps to the limit is as good as any.
    let body = invoice("L-1").to_string();
    let mut pieces = connect(&world).await;
    let head = format!(
        "POST /v1/send-invoice HTTP/1.1\r\nHost: x\r\nConnection: close\r\nx-api-key: {key}\r\nx-idempotency-key: l\r\n\
         content-type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    pieces.write_all(head.as_bytes()).await.unwrap();
    for piece in body.as_bytes().chunks(100) {
        let length = format!("{:x}\r\n", piece.len());
        pieces.write_all(&[length.as_bytes(), piece, b"\r\n"].concat()).await.unwrap();
    }
    pieces.write_all(b"0\r\n\r\n").await.unwrap();
    assert_eq!(answer(&all(&mut pieces).await).status, 202);

    // Who asks first is told before sending anything.
    let mut polite = connect(&world).await;
    let head = "POST /v1/send-invoice HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\n\
        Content-Length: 1000000\r\n\r\n";
    polite.write_all(head.as_bytes()).await.unwrap();
    answer(&all(&mut polite).await).fails(413, "payload_too_large");
}

#[tokio::test]
async fn headers_have_a_limit() {
    let world = World::new().await;
    let ask = |length: usize| world.ask("GET", "/health").header("x-long", &"x".repeat(length)).send();
    ask(8 * 1024).await.expect(200);
    ask(17 * 1024).await.fails(431, "headers_too_large");

    let path = format!("/v1/jobs/{}", "x".repeat(20 * 1024));
    world.ask("GET", &path).send().await.fails(431, "headers_too_large");

    // Heads that are not even read to their end.
    let mut long = connect(&world).await;
    let mut head = b"GET /health HTTP/1.1\r\nHost: x\r\nx-long: ".to_vec();
    head.resize(64 * 1024, b'x');
    long.write_all(&head).await.unwrap();
    answer(&all(&mut long).await).fails(431, "headers_too_large");
}

#[tokio::test]
async fn bytes_that_are_no_request_get_an_answer_too() {
    let world = World::new().await;
    for bytes in [
        "no such thing\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n",
        "GET /health HTTP/1.1\r\nbad header\r\n\r\n",
    ] {
        let mut stream = connect(&world).await;
        stream.write_all(bytes.as_bytes()).await.unwrap();
        answer(&all(&mut stream).await).fails(400, "validation_failed");
    }
}

#[tokio::test]
async fn connections_above_their_number_wait_their_turn() {
    let world = World::with(|config| {
        config.limits.connections = 2;
        config.limits.header_read = Duration::from_millis(500);
    })
    .await;
    let _idle = (connect(&world).await, connect(&world).await);
    // The idle ones lose their connections in time, and this one gets its turn.
    world.ask("GET", "/health").send().await.expect(200);
}

/// What has begun to come takes room only as far as it is here, and only of callers who show a key.
#[tokio::test]
async fn bodies_share_their_room() {
    const ROOM: usize = 64 * 1024;
    let world = World::with(|config| {
        let limits = &mut config.limits;
        (limits.body, limits.batch, limits.certificate, limits.bodies) = (ROOM, ROOM, ROOM, ROOM);
    })
    .await;
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    let begin = async |header: String| {
        let mut stream = connect(&world).await;
        let head =
            format!("POST /v1/send-invoice HTTP/1.1\r\nHost: x\r\n{header}Content-Length: 60000\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&[b'x'; 50_000]).await.unwrap();
        stream
    };
    let send = async |body: String| {
        world.ask("POST", "/v1/send-invoice").key(&key).idempotency("r").text(&body).await
    };
    let small = invoice("R-1").to_string();
    let large = format!("{}{small}", " ".repeat(30_000));
    let mut strangers = Vec::new();
    for header in ["", "x-api-key: vf_none\r\n", "x-admin-key: none\r\n"] {
        strangers.push(begin(header.to_owned()).await);
    }
    assert!(send(large.clone()).await.status < 300);

    let known = begin(format!("x-api-key: {key}\r\n")).await;
    let began = Instant::now();
    loop {
        let answer = send(large.clone()).await;
        if answer.status >= 300 {
            answer.fails(503, "overloaded");
            break;
        }
        assert!(began.elapsed() < PATIENCE, "there is no room for both");
    }
    assert!(send(small).await.status < 300, "there is room for little");
    drop(known);
    assert!(send(large).await.status < 300, "the room is free again, whatever strangers do");
    drop(strangers);
}

#[tokio::test]
async fn who_does_not_read_the_answers_is_cut_off() {
    let world = World::with(|config| config.limits.write_stall = Duration::from_millis(300)).await;
    let mut deaf = connect(&world).await;
    let ask =
        async { while deaf.write_all(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n").await.is_ok() {} };
    tokio::time::timeout(PATIENCE, ask).await.expect("the connection is closed in time");
    world.ask("GET", "/health").send().await.expect(200);
}

#[tokio::test]
async fn accounts_have_so_many_children_and_keys() {
    let world = World::with(|config| (config.limits.children, config.limits.keys) = (2, 2)).await;
    let partner = world.account(json!({ "id": "firm" }), &["partner:tenants:write"]).await;
    let child = async |id: &str| {
        let body = json!({ "id": id, "name": "Ana Ruiz", "allowedNif": ISSUER });
        world.ask("POST", "/v1/partner/tenants").key(&partner).json(&body).await
    };
    for id in ["a", "b"] {
        child(id).await.expect(201);
    }
    let full = child("c").await;
    full.fails(402, "plan_limit_reached");
    assert_eq!(full.body["limit"], 2);
    let body = json!({ "id": "d", "parentTenantId": "firm" });
    let full = world.ask("POST", "/v1/admin/tenants").admin().json(&body).await;
    full.fails(402, "plan_limit_reached");

    let (one, _other) = (world.key("a", SCOPES).await, world.key("a", SCOPES).await);
    let body = json!({ "tenantId": "a", "scopes": SCOPES });
    let full = world.ask("POST", "/v1/admin/api-keys").admin().json(&body).await;
    full.fails(402, "plan_limit_reached");
    world.ask("GET", "/v1/me").key(&one).send().await.expect(200);
}
