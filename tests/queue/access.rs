//! Servers that want TLS, a password and a user with few rights, or are many.

use std::time::{Duration, Instant};

use harness::redis_server::RedisServer;
use jiff::Timestamp;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use uuid::Uuid;
use verifactu_core::{
    queue::{Queue, RedisOptions, RedisQueue, RedisSetupError},
    types::ChainId,
};

use crate::options;

const LEASE: Duration = Duration::from_secs(30);
const CHAIN: ChainId = ChainId(Uuid::from_u128(1));

fn noon() -> Timestamp {
    "2026-07-01T12:00:00Z".parse().unwrap()
}

/// A chain's whole way through the queue.
async fn works(queue: &dyn Queue) {
    queue.probe().await.unwrap();
    queue.schedule(CHAIN, noon()).await.unwrap();
    queue.wait(noon(), Duration::from_secs(20)).await;
    let taken = queue.take(noon(), LEASE).await.unwrap().unwrap();
    assert!(queue.renew(&taken, noon(), LEASE).await.unwrap());
    queue.finish(taken, None).await.unwrap();
}

/// A directory with the certificate of a server on this machine, and whom it is to be trusted for.
pub(crate) fn certified() -> (TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".into(), "127.0.0.1".into()];
    let mut params = CertificateParams::new(names).unwrap();
    // OpenSSL takes a certificate with its issuer's name for its own issuer.
    params.distinguished_name.push(DnType::CommonName, "server");
    let leaf = params.signed_by(&key, &issuer).unwrap();
    for (name, pem) in [("ca.pem", &ca), ("leaf.pem", &leaf.pem()), ("key.pem", &key.serialize_pem())] {
        std::fs::write(directory.path().join(name), pem).unwrap();
    }
    (directory, ca)
}

#[tokio::test]
async fn tls_trusts_the_roots_that_were_given_and_no_others() {
    let (directory, ca) = certified();
    let server = RedisServer::prepared(
        directory,
        &[
            "--port",
            "0",
            "--tls-port",
            "{port}",
            "--tls-cert-file",
            "{dir}/leaf.pem",
            "--tls-key-file",
            "{dir}/key.pem",
            "--tls-ca-cert-file",
            "{dir}/ca.pem",
            "--tls-auth-clients",
            "no",
        ],
    );
    let url = format!("rediss://localhost:{}", server.port());
    let open = |roots| RedisQueue::open(&url, RedisOptions { roots, ..options() }).unwrap();
    works(&open(Some(ca.into_bytes()))).await;
    assert!(open(None).probe().await.is_err(), "a CA that nobody trusts");
}

#[tokio::test]
async fn a_user_needs_no_more_than_the_queues_own_keys() {
    let rights = "resetchannels ~{verifactu:*}* &{verifactu:*}* -@all +@scripting +@string +@hash \
                  +@sortedset +@pubsub +@connection";
    let user = ["--save", "", "--user", "worker", "on", ">secret"].into_iter();
    let server = RedisServer::with(&user.chain(rights.split(' ')).collect::<Vec<_>>());
    let at = |user: &str| format!("redis://{user}@127.0.0.1:{}", server.port());
    works(&RedisQueue::open(&at("worker:secret"), options()).unwrap()).await;
    let wrong = RedisQueue::open(&at("worker:wrong"), options()).unwrap();
    let said = format!("{:?} {wrong:?}", wrong.probe().await.unwrap_err());
    assert!(!said.contains("worker:wrong"), "{said}");
}

#[tokio::test]
async fn addresses_and_names_that_cannot_work_are_refused_at_once() {
    let open = |address: &str| RedisQueue::open(address, options()).unwrap_err();
    assert!(matches!(open("http://localhost"), RedisSetupError::Address(_)));
    assert!(matches!(open("redis://:hush@:x"), RedisSetupError::Address(_)));
    assert!(matches!(open("rediss://localhost/#insecure"), RedisSetupError::Insecure));
    for name in ["", "a{b}", "with space", &"x".repeat(65)] {
        let options = RedisOptions { name: name.into(), ..options() };
        let error = RedisQueue::open("redis://localhost", options).unwrap_err();
        assert!(matches!(error, RedisSetupError::Name), "{name}");
    }
}

/// Two nodes share the slots; whichever is named, the queue is found, and found again once it moves.
#[tokio::test]
async fn any_node_of_a_cluster_will_do() {
    let cluster = ["--save", "", "--cluster-enabled", "yes", "--cluster-config-file", "{dir}/nodes"];
    let nodes = [RedisServer::with(&cluster), RedisServer::with(&cluster)];
    nodes[0].command::<()>("CLUSTER ADDSLOTSRANGE 0 8191");
    nodes[1].command::<()>("CLUSTER ADDSLOTSRANGE 8192 16383");
    nodes[0].command::<()>(&format!("CLUSTER MEET 127.0.0.1 {}", nodes[1].port()));
    let deadline = Instant::now() + Duration::from_secs(30);
    for node in &nodes {
        while !node.command::<String>("CLUSTER INFO").contains("cluster_state:ok") {
            assert!(Instant::now() < deadline, "no cluster");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    let queues = nodes.each_ref().map(|node| RedisQueue::open(&node.url(), options()).unwrap());
    for queue in &queues {
        works(queue).await;
    }
    let slot: u16 = nodes[0].command("CLUSTER KEYSLOT {verifactu:test}:due");
    let ids = nodes.each_ref().map(|node| node.command::<String>("CLUSTER MYID"));
    let new_owner = usize::from(slot < 8192);
    for node in [&nodes[new_owner], &nodes[1 - new_owner]] {
        // What is left of the probe would have to be moved too.
        if std::ptr::eq(node, &nodes[1 - new_owner]) {
            node.command::<()>("DEL {verifactu:test}:probe");
        }
        node.command::<()>(&format!("CLUSTER SETSLOT {slot} NODE {}", ids[new_owner]));
    }
    for queue in &queues {
        works(queue).await;
    }
}
