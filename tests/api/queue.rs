//! The service with a queue that several processes share.

use std::time::{Duration, Instant};

use harness::redis_server::RedisServer;
use serde_json::json;
use verifactu_core::{queue::Rate, types::Secret};
use verifactu_server::config::{Config, QueueConfig, Rates, Role};

use crate::world::{SCOPES, World, invoice};

const PATIENCE: Duration = Duration::from_secs(30);

fn shared(server: &RedisServer) -> impl Fn(&mut Config) {
    let address = Secret::new(server.url());
    move |config| {
        config.queue = QueueConfig::Redis { address: address.clone(), ca: None, name: None };
        config.engine.lease = Duration::from_secs(3);
        config.engine.sweep_every = Duration::from_secs(1);
    }
}

/// Asks whether the service is ready until the answer has this status; whether its queue is.
async fn ready(world: &World, status: u16) -> bool {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = world.ask("GET", "/ready").send().await;
        if answer.status == status {
            let dependencies = answer.body["dependencies"].as_array().unwrap();
            return dependencies.iter().find(|one| one["name"] == "queue").unwrap()["ready"] == true;
        }
        assert!(Instant::now() < deadline, "{}", answer.body);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn what_is_accepted_while_the_queue_is_away_is_sent_when_it_is_back() {
    let mut server = RedisServer::start();
    let world = World::with(shared(&server)).await;
    let key = world.ready_account("acme").await;
    assert!(ready(&world, 200).await);

    server.kill();
    assert!(!ready(&world, 503).await);
    let mut jobs = Vec::new();
    for number in ["Q-1", "Q-2", "Q-3"] {
        let began = Instant::now();
        let ask = world.ask("POST", "/v1/send-invoice").key(&key).idempotency(number);
        let answer = ask.json(&invoice(number)).await.expect(202);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        jobs.push(answer["jobId"].as_str().unwrap().to_owned());
    }
    server.restart();
    assert!(ready(&world, 200).await);
    for job in jobs {
        world.job_when(&key, &job, |job| job["status"] == "SUCCEEDED").await;
    }
}

#[tokio::test]
async fn one_process_takes_requests_and_another_sends() {
    let server = RedisServer::start();
    let world = World::with(|config| {
        shared(&server)(config);
        config.role = Role::Api;
    })
    .await;
    let key = world.ready_account("acme").await;
    let ask = world.ask("POST", "/v1/send-invoice").key(&key).idempotency("R-1");
    let accepted = ask.json(&invoice("R-1")).await.expect(202);
    let job = accepted["jobId"].as_str().unwrap();
    assert_eq!(server.command::<u32>("ZCARD {verifactu:sandbox}:due"), 1, "it waits in the queue");

    let worker = world
        .beside(|config| {
            shared(&server)(config);
            config.role = Role::Worker;
        })
        .await;
    world.job_when(&key, job, |job| job["status"] == "SUCCEEDED").await;
    let at = worker.address();
    world.ask_at(at, "GET", "/v1/me").key(&key).send().await.fails(404, "not_found");
    world.ask_at(at, "GET", "/ready").send().await.expect(200);
    worker.stop().await;
}

/// How often the server was asked for something.
fn calls(server: &RedisServer, command: &str) -> u64 {
    let told: String = server.command("INFO commandstats");
    let counted = format!("cmdstat_{command}:calls=");
    let line = told.lines().find_map(|line| line.strip_prefix(&counted));
    line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
}

/// How often the server was asked for a value, which is once for each look at a mark.
fn looks(server: &RedisServer) -> u64 {
    calls(server, "get")
}

/// A probe of the queue sets a value.
#[tokio::test]
async fn many_who_ask_whether_the_service_is_ready_cost_one_look() {
    let server = RedisServer::start();
    let world = World::with(shared(&server)).await;
    let (began, before) = (Instant::now(), calls(&server, "set"));
    for _ in 0..40 {
        world.ask("GET", "/ready").send().await.expect(200);
        world.ask("GET", "/metrics").send().await;
    }
    let looks = calls(&server, "set") - before;
    assert!((1..=2 + began.elapsed().as_secs()).contains(&looks), "{looks} in {:?}", began.elapsed());
}

#[tokio::test]
async fn a_request_waits_for_its_twin_on_another_node_and_answers_from_the_ledger() {
    let server = RedisServer::start();
    let world = World::with(shared(&server)).await;
    let other = world.beside(|_| {}).await;
    let key = world.ready_account("acme").await;
    // Another process has begun with this key.
    let _: String =
        server.command("SET {verifactu:sandbox}:mark:acme:send:twin other:9999999999999999 PX 600000");
    let before = looks(&server);
    let body = invoice("T-1");
    let first = world.ask("POST", "/v1/send-invoice").key(&key).idempotency("twin").json(&body);
    let twin = async {
        let deadline = Instant::now() + PATIENCE;
        while looks(&server) < before + 4 {
            assert!(Instant::now() < deadline, "nobody looks at the mark");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let ask = world.ask_at(other.address(), "POST", "/v1/send-invoice").key(&key).idempotency("twin");
        ask.json(&body).await.expect(202)
    };
    let (waited, made) = tokio::join!(first, twin);
    assert_eq!(waited.header("idempotency-replayed"), "true");
    assert!([200, 202].contains(&waited.status), "{}", waited.body);
    assert_eq!(waited.body["jobId"], made["jobId"]);
}

#[tokio::test]
async fn a_mark_that_nobody_takes_away_is_no_answer() {
    let server = RedisServer::start();
    let world = World::with(shared(&server)).await;
    let key = world.ready_account("acme").await;
    let _: String =
        server.command("SET {verifactu:sandbox}:mark:acme:send:dead other:9999999999999999 PX 600000");
    let ask = world.ask("POST", "/v1/send-invoice").key(&key).idempotency("dead");
    ask.json(&invoice("D-1")).await.expect(202);
    // A request that was refused leaves no mark behind.
    let refused = world.ask("POST", "/v1/send-invoice").key(&key).idempotency("refused");
    refused.json(&json!({})).await.fails(400, "validation_failed");
    assert_eq!(server.command::<u32>("EXISTS {verifactu:sandbox}:mark:acme:send:refused"), 0);
}

#[tokio::test]
async fn rates_are_shared_and_outlive_the_server_that_shares_them() {
    let mut server = RedisServer::start();
    let rated = |config: &mut Config| {
        shared(&server)(config);
        config.rates = Rates::all(Rate::per_minute(1).with_burst(2));
    };
    let world = World::with(rated).await;
    let other = world.beside(rated).await;
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    let here = || world.ask("GET", "/v1/me").key(&key);
    let there = || world.ask_at(other.address(), "GET", "/v1/me").key(&key);
    here().send().await.expect(200);
    there().send().await.expect(200);
    here().send().await.fails(429, "rate_limited");
    there().send().await.fails(429, "rate_limited");

    server.kill();
    for _ in 0..2 {
        here().send().await.expect(200);
    }
    here().send().await.fails(429, "rate_limited");
}
