//! A master, a replica and a Sentinel that watches them.

use std::{
    net::{Ipv4Addr, TcpListener},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use harness::redis_server::RedisServer;
use jiff::Timestamp;
use redis::RedisResult;
use tempfile::TempDir;
use uuid::Uuid;
use verifactu_core::{
    queue::{Queue as _, RedisQueue, RedisSetupError},
    types::ChainId,
};

use crate::options;

const PATIENCE: Duration = Duration::from_secs(40);

/// A Sentinel of one vote, which loses patience after half a second. Killed when dropped.
struct Sentinel {
    port: u16,
    child: Child,
    _directory: TempDir,
}

impl Sentinel {
    fn watching(master: &RedisServer) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let (path, watched) = (directory.path().join("sentinel.conf"), master.port());
        let settings = format!(
            "port {port}\nbind 127.0.0.1\ndir {}\nsentinel monitor main 127.0.0.1 {watched} 1\n\
             sentinel down-after-milliseconds main 500\nsentinel failover-timeout main 3000\n",
            directory.path().display()
        );
        std::fs::write(&path, settings).unwrap();
        let child = Command::new("redis-server")
            .arg(&path)
            .arg("--sentinel")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("redis-server (package redis-server)");
        Self { port, child, _directory: directory }
    }

    /// How many replicas it would make master.
    fn replicas(&self) -> RedisResult<usize> {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port))?;
        let mut connection = client.get_connection()?;
        let master: std::collections::HashMap<String, String> =
            redis::cmd("SENTINEL").arg("master").arg("main").query(&mut connection)?;
        Ok(master.get("num-slaves").and_then(|number| number.parse().ok()).unwrap_or(0))
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn the_queue_follows_the_master_that_sentinels_name() {
    let mut master = RedisServer::with(&["--save", "", "--repl-diskless-sync-delay", "0"]);
    let port = master.port().to_string();
    let replica = RedisServer::with(&["--save", "", "--replicaof", "127.0.0.1", &port]);
    until("the replica follows", || {
        replica.command::<String>("INFO replication").contains("master_link_status:up")
    })
    .await;
    let sentinel = Sentinel::watching(&master);
    until("the Sentinel knows the replica", || sentinel.replicas().is_ok_and(|number| number == 1)).await;

    // The first Sentinel of the list is not there.
    let address = format!("redis+sentinel://127.0.0.1:1,127.0.0.1:{}/main/0", sentinel.port);
    let queue = RedisQueue::open(&address, options()).unwrap();
    let now: Timestamp = "2026-07-01T12:00:00Z".parse().unwrap();
    let chain = ChainId(Uuid::from_u128(1));
    queue.schedule(chain, now).await.unwrap();
    assert_eq!(master.command::<u32>("ZCARD {verifactu:test}:due"), 1);

    master.kill();
    let deadline = Instant::now() + PATIENCE;
    while let Err(error) = queue.schedule(chain, now).await {
        assert!(Instant::now() < deadline, "{error:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(replica.command::<u32>("ZCARD {verifactu:test}:due"), 1, "the replica is the master now");
    let taken = queue.take(now, Duration::from_secs(30)).await.unwrap();
    assert_eq!(taken.map(|taken| taken.chain), Some(chain));
}

#[tokio::test]
async fn a_master_that_no_sentinel_knows_is_out_of_reach() {
    let master = RedisServer::start();
    let sentinel = Sentinel::watching(&master);
    until("the Sentinel answers", || sentinel.replicas().is_ok()).await;
    let address = format!("redis+sentinel://127.0.0.1:{}/another", sentinel.port);
    let queue = RedisQueue::open(&address, options()).unwrap();
    assert!(queue.probe().await.is_err());
}

#[test]
fn addresses_of_sentinels_have_all_their_parts() {
    for address in ["redis+sentinel://host", "redis+sentinel://host/", "http+sentinel://host/main"] {
        let refused = RedisQueue::open(address, options()).unwrap_err();
        assert!(matches!(refused, RedisSetupError::Sentinels), "{address}: {refused:?}");
    }
    for address in ["redis+sentinel://host/main", "redis+sentinel://user:secret@a,b:1,[::1]/main/3"] {
        RedisQueue::open(address, options()).unwrap();
    }
}
