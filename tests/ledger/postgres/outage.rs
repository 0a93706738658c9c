//! Connections that are cut, and servers that stop, die and fall silent.

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use harness::postgres_server::{PostgresServer, connect};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::watch,
    task::JoinSet,
    time::{Instant, timeout},
};
use verifactu_core::{
    ledger::{
        Appended, Filter, Ledger, LedgerErrorKind, Page, Start,
        postgres::{PostgresLedger, PostgresOptions},
    },
    testing::{NEVER, Scene, claim},
    types::{Environment, Huella},
};

use super::{
    open,
    support::{WAITS, assert_passing, count, prove_chain, until},
};

/// Sends invoices until each is acknowledged, again and again with its key, as callers do. Returns what
/// was acknowledged.
async fn insist(ledger: Arc<PostgresLedger>, scene: Scene, numbers: std::ops::Range<u32>) -> Vec<Huella> {
    let mut acknowledged = Vec::new();
    for number in numbers {
        let draft = scene.invoice(&format!("F-{number}"));
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match ledger.append(draft.append()).await {
                Ok(Appended::New { submission, .. } | Appended::Replay { submission, .. }) => {
                    acknowledged.push(submission.record.huella);
                    break;
                }
                Ok(other) => panic!("{other:?}"),
                Err(error) => {
                    assert_passing(&error);
                    assert!(Instant::now() < deadline, "never again: {error}");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
    }
    acknowledged
}

/// Four callers at the same time.
fn four_callers(ledger: &Arc<PostgresLedger>, scene: &Scene, each: u32) -> JoinSet<Vec<Huella>> {
    let mut callers = JoinSet::new();
    for caller in 0..4 {
        callers.spawn(insist(ledger.clone(), scene.clone(), caller * each..(caller + 1) * each));
    }
    callers
}

/// Every acknowledged record stands on one whole chain, and nothing else does.
async fn assert_whole(ledger: &PostgresLedger, scene: &Scene, acknowledged: &[Huella]) {
    let stored = prove_chain(ledger, &scene.tenant).await;
    assert_eq!(stored.len(), acknowledged.len());
    assert!(acknowledged.iter().all(|huella| stored.contains(huella)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_connections_lose_and_double_nothing() {
    let address = PostgresServer::shared().database().await;
    let (ledger, client) = (Arc::new(open(&address).await), connect(&address).await);
    let scene = Scene::new();
    let callers = four_callers(&ledger, &scene, 40);
    for length in [5, 30, 60, 90, 120] {
        until(&client, &format!("SELECT count(*) FROM chain WHERE length >= {length}")).await;
        let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                   WHERE application_name = 'verifactu' AND datname = current_database()";
        assert!(count(&client, cut).await > 0, "the ledger has a connection");
    }
    assert_whole(&ledger, &scene, &callers.join_all().await.concat()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_or_restarted_server_loses_nothing_it_acknowledged() {
    let mut server = PostgresServer::start();
    let address = server.database().await;
    let ledger = Arc::new(open(&address).await);
    let scene = Scene::new();
    let callers = four_callers(&ledger, &scene, 50);
    for (kill, length) in [(true, 30), (false, 80), (true, 130)] {
        let watch = connect(&address).await;
        until(&watch, &format!("SELECT count(*) FROM chain WHERE length >= {length}")).await;
        if kill {
            server.kill();
        } else {
            server.stop();
        }
        server.restart();
    }
    assert_whole(&ledger, &scene, &callers.join_all().await.concat()).await;
}

#[tokio::test]
async fn a_server_that_is_away_is_an_error_that_passes() {
    let mut server = PostgresServer::quick();
    let ledger = open(&server.database().await).await;
    let scene = Scene::new();
    let job = scene.accept(&ledger, &scene.invoice("F-1")).await;
    server.stop();
    let draft = scene.invoice("F-2");
    for error in [
        ledger.append(draft.append()).await.unwrap_err(),
        ledger.probe().await.unwrap_err(),
        ledger.job(&scene.tenant, job.job.id).await.unwrap_err(),
    ] {
        assert_eq!(error.kind, LedgerErrorKind::Unavailable);
    }
    server.restart();
    ledger.probe().await.unwrap();
    assert_eq!(scene.accept(&ledger, &draft).await.record.position, 2);
}

#[tokio::test]
async fn a_server_that_falls_silent_is_waited_for_only_so_long() {
    let server = PostgresServer::quick();
    let options = PostgresOptions { patience: Duration::from_secs(2), ..PostgresOptions::default() };
    let address = server.database().await;
    let ledger = PostgresLedger::open(&address, Environment::Sandbox, &options).await.unwrap();
    let scene = Scene::new();
    scene.accept(&ledger, &scene.invoice("F-1")).await;
    server.pause();
    let begin = Instant::now();
    let draft = scene.invoice("F-2");
    assert_passing(&ledger.append(draft.append()).await.unwrap_err());
    assert_passing(&ledger.probe().await.unwrap_err());
    assert!(begin.elapsed() < Duration::from_secs(20));
    server.resume();
    let deadline = Instant::now() + Duration::from_secs(30);
    while let Err(error) = ledger.append(draft.append()).await {
        assert_passing(&error);
        assert!(Instant::now() < deadline, "never again: {error}");
    }
    assert_eq!(prove_chain(&ledger, &scene.tenant).await.len(), 2);
}

/// A port on which a connection is neither made nor refused, while the sockets live.
async fn silent_port() -> (u16, (TcpListener, Vec<TcpStream>)) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(connected) = timeout(Duration::from_millis(200), TcpStream::connect(address)).await {
        waiting.push(connected.unwrap());
    }
    (address.port(), (listener, waiting))
}

#[tokio::test]
async fn a_silent_host_does_not_hide_the_next_one() {
    let (silent, _held) = silent_port().await;
    let address = PostgresServer::shared().database().await;
    let both = address.replace("127.0.0.1:", &format!("127.0.0.1:{silent},127.0.0.1:"));
    let options = PostgresOptions { patience: Duration::from_secs(4), ..PostgresOptions::default() };
    let ledger = PostgresLedger::open(&both, Environment::Sandbox, &options).await.unwrap();
    ledger.probe().await.unwrap();
}

/// Passes on what comes to a server, until it is told to be silent on the connections of before.
async fn relay(port: u16) -> (u16, watch::Sender<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let own = listener.local_addr().unwrap().port();
    let silence = watch::Sender::new(());
    let told = silence.subscribe();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((mut near, _)) = listener.accept().await {
            let mut told = told.clone();
            told.mark_unchanged();
            held.push(tokio::spawn(async move {
                let mut far = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                    _ = told.changed() => std::future::pending().await,
                }
            }));
        }
    });
    (own, silence)
}

/// As when another machine has taken over the server's address.
#[tokio::test]
async fn connections_that_fell_silent_cost_one_caller() {
    let server = PostgresServer::shared();
    let (port, silence) = relay(server.port()).await;
    let address = server.database().await.replace(&server.port().to_string(), &port.to_string());
    let options = PostgresOptions { patience: Duration::from_secs(3), ..PostgresOptions::default() };
    let ledger = PostgresLedger::open(&address, Environment::Sandbox, &options).await.unwrap();
    let probe = || ledger.probe();
    let (first, second, third, fourth) = tokio::join!(probe(), probe(), probe(), probe());
    first.and(second).and(third).and(fourth).unwrap();
    silence.send_replace(());
    assert_passing(&ledger.probe().await.unwrap_err());
    ledger.probe().await.unwrap();
}

/// Hundreds of appends that waited for a server in vain do not each try it in their turn.
#[tokio::test]
async fn appends_that_have_waited_too_long_are_refused_together() {
    let server = PostgresServer::quick();
    let patience = Duration::from_secs(2);
    let options = PostgresOptions { patience, ..PostgresOptions::default() };
    let address = server.database().await;
    let ledger = PostgresLedger::open(&address, Environment::Sandbox, &options).await.unwrap();
    let ledger = Arc::new(ledger);
    let scene = Scene::new();
    scene.accept(&*ledger, &scene.invoice("F-0")).await;
    server.pause();
    let begin = Instant::now();
    let mut callers = JoinSet::new();
    for number in 1..=640 {
        let (ledger, draft) = (ledger.clone(), scene.invoice(&format!("F-{number}")));
        callers.spawn(async move { ledger.append(draft.append()).await.unwrap_err() });
    }
    for error in callers.join_all().await {
        assert_passing(&error);
    }
    // The first of them waits for an answer, which the server has some time more to give.
    assert!(begin.elapsed() < 8 * patience, "ten groups took {:?}", begin.elapsed());
    server.resume();
}

#[tokio::test]
async fn lists_leave_connections_to_the_others() {
    let address = PostgresServer::shared().database().await;
    let (ledger, client) = (Arc::new(open(&address).await), connect(&address).await);
    let scene = Scene::new();
    scene.accept(&*ledger, &scene.invoice("F-1")).await;
    client.batch_execute("BEGIN; LOCK TABLE sent IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let mut lists = JoinSet::new();
    for _ in 0..PostgresOptions::default().connections {
        let (ledger, tenant) = (ledger.clone(), scene.tenant.clone());
        let page = Page { start: Start::Skip(0), limit: 10 };
        lists.spawn(async move { ledger.list(&tenant, &Filter::default(), page).await.unwrap().unwrap() });
    }
    until(&client, &format!("SELECT greatest(({WAITS}) - 2, 0)")).await;
    timeout(Duration::from_secs(5), ledger.probe()).await.unwrap().unwrap();
    assert_eq!(count(&client, WAITS).await, 3);
    client.batch_execute("COMMIT").await.unwrap();
    assert!(lists.join_all().await.iter().all(|list| list.items.len() == 1));
}

#[tokio::test]
async fn a_lock_and_a_connection_are_waited_for_only_so_long() {
    let address = PostgresServer::shared().database().await;
    let options = PostgresOptions { connections: 1, patience: Duration::from_secs(2), roots: None };
    let ledger = PostgresLedger::open(&address, Environment::Sandbox, &options).await.unwrap();
    let scene = Scene::new();
    let chain = scene.accept(&ledger, &scene.invoice("F-1")).await.record.chain;
    let client = connect(&address).await;
    client.batch_execute("BEGIN; SELECT 1 FROM chain FOR UPDATE").await.unwrap();
    // The one waits for the lock, and has the only connection; the others wait for that.
    let take = || ledger.claim(chain, NEVER);
    let (first, second, third) = tokio::join!(take(), take(), take());
    for error in [first.unwrap_err(), second.unwrap_err(), third.unwrap_err()] {
        assert_eq!(error.kind, LedgerErrorKind::Unavailable);
    }
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(claim(&ledger, chain).await.lease.epoch, 1);
}
