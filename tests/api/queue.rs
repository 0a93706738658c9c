//! The service with a queue that several processes share.

use std::time::{Duration, Instant};

use harness::redis_server::RedisServer;
use verifactu_core::types::Secret;
use verifactu_server::config::{Config, QueueConfig, Role};

use crate::world::{World, invoice};

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
