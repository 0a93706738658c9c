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
    queue::{Queue as _, RedisOptions, RedisQueue, RedisSetupError},
    types::ChainId,
};

use crate::{access::certified, options};

const PATIENCE: Duration = Duration::from_secs(40);

/// A Sentinel of one vote, which loses patience after half a second. Killed when dropped.
struct Sentinel {
    port: u16,
    child: Child,
    _directory: TempDir,
}

impl Sentinel {
    fn watching(master: &RedisServer) -> Self {
        Self::with(master.port(), "port {port}")
    }

    /// With these settings besides; `{port}` in them stands for its own.
    fn with(watched: u16, settings: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let port = free_port();
        let path = directory.path().join("sentinel.conf");
        // What is said of a master comes after its name.
        let settings = format!(
            "bind 127.0.0.1\ndir {}\nsentinel monitor main 127.0.0.1 {watched} 1\n\
             sentinel down-after-milliseconds main 500\nsentinel failover-timeout main 3000\n{}\n",
            directory.path().display(),
            settings.replace("{port}", &port.to_string())
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
        self.replicas_told(&redis::Client::open(format!("redis://127.0.0.1:{}", self.port))?)
    }

    fn replicas_told(&self, client: &redis::Client) -> RedisResult<usize> {
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

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Brings the replica to follow.
async fn follows(replica: &RedisServer) {
    let up = || replica.command::<String>("INFO replication").contains("master_link_status:up");
    until("the replica follows", up).await;
}

#[tokio::test]
async fn the_queue_follows_the_master_that_sentinels_name() {
    let master = RedisServer::with(&["--save", "", "--repl-diskless-sync-delay", "0"]);
    let port = master.port().to_string();
    let replica = RedisServer::with(&["--save", "", "--replicaof", "127.0.0.1", &port]);
    follows(&replica).await;
    let sentinel = Sentinel::watching(&master);
    until("the Sentinel knows the replica", || sentinel.replicas().is_ok_and(|number| number == 1)).await;

    // The first Sentinel of the list is not there.
    let address = format!("redis+sentinel://127.0.0.1:1,127.0.0.1:{}/main/0", sentinel.port);
    moves(RedisQueue::open(&address, options()).unwrap(), master, &replica).await;
}

/// Servers and Sentinels have passwords of their own.
#[tokio::test]
async fn sentinels_and_servers_may_want_passwords() {
    let secured = ["--save", "", "--requirepass", "inner", "--masterauth", "inner"];
    let master = RedisServer::with(&[&secured[..], &["--repl-diskless-sync-delay", "0"]].concat());
    let port = master.port().to_string();
    let replica = RedisServer::with(&[&secured[..], &["--replicaof", "127.0.0.1", &port]].concat());
    follows(&replica).await;
    let sentinel =
        Sentinel::with(master.port(), "port {port}\nrequirepass outer\nsentinel auth-pass main inner");
    let client = redis::Client::open(format!("redis://:outer@127.0.0.1:{}", sentinel.port)).unwrap();
    let known = || sentinel.replicas_told(&client).is_ok_and(|number| number == 1);
    until("the Sentinel knows the replica", known).await;

    let address = |query: &str| format!("redis+sentinel://:inner@127.0.0.1:{}/main{query}", sentinel.port);
    for wrong in ["", "?sentinel=:inner"] {
        let queue = RedisQueue::open(&address(wrong), options()).unwrap();
        let said = format!("{:?} {queue:?}", queue.probe().await.unwrap_err());
        assert!(!said.contains("inner"), "{said}");
    }
    let queue = RedisQueue::open(&address("?sentinel=:outer"), options()).unwrap();
    moves(queue, master, &replica).await;
}

/// Nobody on the way sees anything: clients, replica and Sentinel all speak TLS.
#[tokio::test]
async fn sentinels_and_servers_may_want_tls() {
    let (directory, ca) = certified();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (leaf, key, root) = (file("leaf.pem"), file("key.pem"), file("ca.pem"));
    let tls = ["--tls-cert-file", &leaf, "--tls-key-file", &key, "--tls-ca-cert-file", &root];
    let both = ["--save", "", "--tls-auth-clients", "no", "--tls-replication", "yes"];
    let (master_port, replica_port) = (free_port(), free_port());
    let at = |port: u16| ["--tls-port".to_owned(), port.to_string()];
    let [flag, port] = &at(master_port);
    let own = [&flag[..], port, "--repl-diskless-sync-delay", "0"];
    let master = RedisServer::with(&[&tls[..], &both[..], &own[..]].concat());
    let [flag, of_replica] = &at(replica_port);
    let own = [&flag[..], of_replica, "--replicaof", "127.0.0.1", port];
    let replica = RedisServer::with(&[&tls[..], &both[..], &own[..]].concat());
    follows(&replica).await;
    let settings = format!(
        "port 0\ntls-port {{port}}\ntls-cert-file {leaf}\ntls-key-file {key}\ntls-ca-cert-file {root}\n\
         tls-auth-clients no\ntls-replication yes"
    );
    let sentinel = Sentinel::with(master_port, &settings);
    let roots = || Some(ca.clone().into_bytes());
    let certificates = redis::TlsCertificates { client_tls: None, root_cert: roots() };
    let url = format!("rediss://127.0.0.1:{}", sentinel.port);
    let client = redis::Client::build_with_tls(url, certificates).unwrap();
    let known = || sentinel.replicas_told(&client).is_ok_and(|number| number == 1);

    let open = |scheme: &str, roots| {
        let address = format!("{scheme}+sentinel://127.0.0.1:{}/main", sentinel.port);
        RedisQueue::open(&address, RedisOptions { roots, ..options() }).unwrap()
    };
    // Opening a queue is what chooses how TLS is done here.
    assert!(open("rediss", None).probe().await.is_err(), "a CA that nobody trusts");
    until("the Sentinel knows the replica", known).await;
    assert!(open("redis", None).probe().await.is_err(), "a Sentinel that wants TLS");
    moves(open("rediss", roots()), master, &replica).await;
}

/// The master dies, and the queue goes on at the replica.
async fn moves(queue: RedisQueue, mut master: RedisServer, replica: &RedisServer) {
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
    for address in [
        "redis+sentinel://host",
        "redis+sentinel://host/",
        "http+sentinel://host/main",
        "redis+sentinel://host/main?password=x",
        "redis+sentinel://host/?sentinel=:x",
    ] {
        let refused = RedisQueue::open(address, options()).unwrap_err();
        assert!(matches!(refused, RedisSetupError::Sentinels), "{address}: {refused:?}");
    }
    for address in [
        "redis+sentinel://host/main",
        "redis+sentinel://user:secret@a,b:1,[::1]/main/3",
        "rediss+sentinel://user:secret@a,b:1/main/3?sentinel=watcher:s%40cret",
    ] {
        RedisQueue::open(address, options()).unwrap();
    }
}
