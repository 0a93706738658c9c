//! What happens to the server, and what the queue makes of it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use harness::redis_server::RedisServer;
use jiff::{Timestamp, ToSpan as _};
use tokio::time::timeout;
use uuid::Uuid;
use verifactu_core::{queue::Queue, types::ChainId};

use crate::queue_at;

const LEASE: Duration = Duration::from_secs(30);
/// No call takes longer, whatever the server does.
const BOUND: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(20);

fn chain(number: u128) -> ChainId {
    ChainId(Uuid::from_u128(number))
}

fn noon() -> Timestamp {
    "2026-07-01T12:00:00Z".parse().unwrap()
}

/// Repeats a step until the queue takes it, as workers and sweeps do.
async fn schedule_in_the_end(queue: &dyn Queue, number: u128) {
    let deadline = Instant::now() + PATIENCE;
    while let Err(error) = queue.schedule(chain(number), noon()).await {
        assert!(Instant::now() < deadline, "{error:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Fails, and in time, in every way of asking.
async fn fails_in_time(queue: &dyn Queue) {
    for _ in 0..2 {
        let began = Instant::now();
        assert!(queue.schedule(chain(9), noon()).await.is_err());
        assert!(queue.take(noon(), LEASE).await.is_err());
        assert!(queue.probe().await.is_err());
        assert!(began.elapsed() < BOUND, "three calls took {:?}", began.elapsed());
        // Over all, a wait ends when its time does.
        let began = Instant::now();
        queue.wait(noon(), Duration::from_millis(100)).await;
        assert!(began.elapsed() < Duration::from_secs(1));
        tokio::time::sleep(Duration::from_millis(1100)).await;
    }
}

#[tokio::test]
async fn an_emptied_server_is_told_again() {
    let server = RedisServer::start();
    let queue = queue_at(&server);
    for number in [1, 2] {
        queue.schedule(chain(number), noon()).await.unwrap();
    }
    let taken = queue.take(noon(), LEASE).await.unwrap().unwrap();
    server.command::<()>("FLUSHALL");
    assert!(!queue.renew(&taken, noon(), LEASE).await.unwrap());
    queue.finish(taken, Some(noon())).await.unwrap();
    assert_eq!(queue.take(noon(), LEASE).await.unwrap(), None);
    queue.schedule(chain(1), noon()).await.unwrap();
    assert_eq!(queue.take(noon(), LEASE).await.unwrap().unwrap().chain, chain(1));
}

#[tokio::test]
async fn scripts_that_were_forgotten_are_loaded_again() {
    let server = RedisServer::start();
    let queue = queue_at(&server);
    queue.schedule(chain(1), noon()).await.unwrap();
    server.command::<()>("SCRIPT FLUSH");
    let taken = queue.take(noon(), LEASE).await.unwrap().unwrap();
    server.command::<()>("SCRIPT FLUSH");
    assert!(queue.renew(&taken, noon(), LEASE).await.unwrap());
    server.command::<()>("SCRIPT FLUSH");
    queue.finish(taken, None).await.unwrap();
    assert_eq!(server.command::<Vec<String>>("KEYS *"), [""; 0], "nothing is left of a chain that is done");
}

#[tokio::test]
async fn a_killed_server_is_found_again() {
    let mut server = RedisServer::with(&["--appendonly", "yes", "--appendfsync", "always"]);
    let queue = queue_at(&server);
    queue.schedule(chain(1), noon()).await.unwrap();
    let taken = queue.take(noon(), LEASE).await.unwrap().unwrap();
    server.kill();
    fails_in_time(&*queue).await;
    server.restart();
    schedule_in_the_end(&*queue, 2).await;
    // What was on the disk is there, the lease too.
    assert_eq!(queue.take(noon(), LEASE).await.unwrap().unwrap().chain, chain(2));
    assert!(queue.renew(&taken, noon(), LEASE).await.unwrap());

    server.kill();
    server.restart();
    // A server that is back before anybody noticed costs not even an error.
    queue.finish(taken, None).await.unwrap();
    assert!(tokio::time::timeout(PATIENCE, queue.forgotten()).await.is_ok(), "a sweep is asked for");
}

#[tokio::test]
async fn a_server_that_falls_silent_keeps_nobody() {
    let server = RedisServer::start();
    let queue = queue_at(&server);
    queue.schedule(chain(1), noon()).await.unwrap();
    server.pause();
    fails_in_time(&*queue).await;
    server.resume();
    schedule_in_the_end(&*queue, 2).await;
    queue.probe().await.unwrap();
}

/// The call that tries whether the server is back goes away before it knows.
#[tokio::test]
async fn a_caller_that_goes_away_shuts_nobody_out() {
    let server = RedisServer::start();
    let queue = queue_at(&server);
    queue.probe().await.unwrap();
    server.pause();
    assert!(queue.probe().await.is_err());
    let deadline = Instant::now() + PATIENCE;
    // While it rests, a call fails at once; the one that does not is the one that tries.
    while timeout(Duration::from_millis(50), queue.probe()).await.is_ok() {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    server.resume();
    queue.probe().await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_not_there_yet_is_waited_for() {
    let mut server = RedisServer::start();
    server.kill();
    let queue = queue_at(&server);
    fails_in_time(&*queue).await;
    server.restart();
    schedule_in_the_end(&*queue, 1).await;
    assert!(queue.take(noon(), LEASE).await.unwrap().is_some());
}

#[tokio::test]
async fn a_master_that_became_a_replica_is_an_error_and_no_hang() {
    let (master, server) = (RedisServer::start(), RedisServer::start());
    let queue = queue_at(&server);
    queue.schedule(chain(1), noon()).await.unwrap();
    server.command::<()>(&format!("REPLICAOF 127.0.0.1 {}", master.port()));
    fails_in_time(&*queue).await;
    server.command::<()>("REPLICAOF NO ONE");
    schedule_in_the_end(&*queue, 1).await;
    queue.probe().await.unwrap();
}

#[tokio::test]
async fn a_chain_scheduled_by_one_process_wakes_the_workers_of_another() {
    let server = RedisServer::start();
    let (api, worker) = (queue_at(&server), queue_at(&server));
    // The first look subscribes.
    worker.wait(noon(), Duration::from_millis(10)).await;
    let mut slowest = Duration::ZERO;
    for number in 0..20 {
        let waiting = tokio::spawn({
            let worker = worker.clone();
            async move { worker.wait(noon(), Duration::from_secs(3600)).await }
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
        let began = Instant::now();
        api.schedule(chain(number), noon()).await.unwrap();
        tokio::time::timeout(PATIENCE, waiting).await.expect("woken").unwrap();
        slowest = slowest.max(began.elapsed());
        let taken = worker.take(noon(), LEASE).await.unwrap().unwrap();
        worker.finish(taken, None).await.unwrap();
    }
    // The look of every second would come too late.
    assert!(slowest < Duration::from_millis(700), "{slowest:?}");
}

#[tokio::test]
async fn a_lease_belongs_to_one_process() {
    let server = RedisServer::start();
    let (one, other) = (queue_at(&server), queue_at(&server));
    one.schedule(chain(1), noon()).await.unwrap();
    let taken = one.take(noon(), LEASE).await.unwrap().unwrap();
    assert_eq!(other.take(noon(), LEASE).await.unwrap(), None);
    assert!(!other.renew(&taken, noon(), LEASE).await.unwrap());
    other.finish(taken.clone(), Some(noon())).await.unwrap();
    assert_eq!(other.take(noon(), LEASE).await.unwrap(), None);
    assert!(one.renew(&taken, noon(), LEASE).await.unwrap());
    let stolen = other.take(noon() + 30.seconds(), LEASE).await.unwrap().unwrap();
    assert_ne!(stolen.token, taken.token);
    assert!(!one.renew(&taken, noon() + 31.seconds(), LEASE).await.unwrap());
}

#[tokio::test]
async fn what_an_eviction_leaves_hides_no_chain() {
    let server = RedisServer::start();
    let queue = queue_at(&server);
    for lost in ["{verifactu:test}:due", "{verifactu:test}:leases", "{verifactu:test}:waiting"] {
        queue.schedule(chain(1), noon()).await.unwrap();
        let taken = queue.take(noon(), LEASE).await.unwrap().unwrap();
        queue.schedule(chain(1), noon() + 5.seconds()).await.unwrap();
        server.command::<()>(&format!("DEL {lost}"));
        queue.finish(taken, None).await.unwrap();
        queue.schedule(chain(1), noon() + 6.seconds()).await.unwrap();
        let again = queue.take(noon() + 6.seconds(), LEASE).await.unwrap().expect("due, whatever was lost");
        queue.finish(again, None).await.unwrap();
        assert_eq!(server.command::<Vec<String>>("KEYS *"), [""; 0], "without {lost}");
    }
}

/// Chains keep coming while the server is killed again and again; each is taken in the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_in_the_middle_of_work_lose_no_chain_that_is_swept() {
    let mut server = RedisServer::start();
    let queue = queue_at(&server);
    let left =
        Arc::new(std::sync::Mutex::new((0..200).map(chain).collect::<std::collections::BTreeSet<_>>()));
    let work = tokio::spawn({
        let (queue, left) = (queue.clone(), left.clone());
        async move {
            let (mut now, mut swept) = (noon(), Instant::now() - PATIENCE);
            while !left.lock().unwrap().is_empty() {
                if swept.elapsed() > Duration::from_millis(300) {
                    let missing: Vec<_> = left.lock().unwrap().iter().copied().collect();
                    for chain in missing {
                        if queue.schedule(chain, noon()).await.is_err() {
                            break;
                        }
                    }
                    (swept, now) = (Instant::now(), now + 31.seconds());
                }
                if let Ok(Some(taken)) = queue.take(now, LEASE).await {
                    left.lock().unwrap().remove(&taken.chain);
                    let _ = queue.finish(taken, None).await;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    });
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(400)).await;
        server.kill();
        server.restart();
    }
    tokio::time::timeout(Duration::from_secs(60), work).await.expect("all taken").unwrap();
}
