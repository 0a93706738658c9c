//! Addresses, passwords, TLS, and databases that are no ledger of ours.

use harness::postgres_server::{PostgresServer, connect};
use verifactu_core::{
    ledger::{
        Ledger, LedgerErrorKind,
        postgres::{PostgresLedger, PostgresOptions, PostgresSetupError},
    },
    testing::Scene,
    types::Environment,
};

use super::{
    open,
    support::{WAITS, assert_passing, count, until},
};

async fn refused(address: &str, environment: Environment, options: &PostgresOptions) -> PostgresSetupError {
    PostgresLedger::open(address, environment, options).await.unwrap_err()
}

async fn refused_by(address: &str) -> (LedgerErrorKind, String) {
    match refused(address, Environment::Sandbox, &PostgresOptions::default()).await {
        PostgresSetupError::Ledger(error) => (error.kind, format!("{error} {error:?}")),
        other => panic!("{other:?}"),
    }
}

fn assert_kind(error: PostgresSetupError, kind: LedgerErrorKind) {
    match error {
        PostgresSetupError::Ledger(error) => assert_eq!(error.kind, kind, "{error:?}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_address_that_cannot_work_is_refused_and_not_shown() {
    for address in
        ["http://localhost", "postgres://u:hush@", "postgres://u:hush@h/d?x=y", "postgres://u:hush@h"]
    {
        let error = refused(address, Environment::Sandbox, &PostgresOptions::default()).await;
        assert!(matches!(error, PostgresSetupError::Address), "{address}");
        assert!(!format!("{error} {error:?}").contains("hush"));
    }
    let none = PostgresOptions { roots: Some(b"hush".to_vec()), ..PostgresOptions::default() };
    let error = refused("postgres://u@localhost/d", Environment::Sandbox, &none).await;
    assert!(matches!(error, PostgresSetupError::Roots), "{error}");
}

#[tokio::test]
async fn a_wrong_password_is_told_and_not_shown() {
    let right = PostgresServer::shared().database().await;
    let (kind, said) = refused_by(&right.replace("correct", "hush")).await;
    assert_eq!(kind, LedgerErrorKind::Unavailable);
    assert!(said.contains("password authentication failed"), "{said}");
    assert!(!said.contains("hush") && !said.contains("horse"), "{said}");
}

#[tokio::test]
async fn tls_trusts_the_roots_that_were_given_and_no_others() {
    let (server, ca) = PostgresServer::with_tls();
    let named = server.database().await.replace("127.0.0.1", "localhost");
    let ours = PostgresOptions { roots: Some(ca.into_bytes()), ..PostgresOptions::default() };
    for mode in ["require", "verify-full", "prefer"] {
        let address = format!("{named}?sslmode={mode}");
        let ledger = PostgresLedger::open(&address, Environment::Sandbox, &ours).await.unwrap();
        ledger.probe().await.unwrap();
        let client = connect(&server.database().await).await;
        let secured = "SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) \
                       WHERE s.ssl AND a.application_name = 'verifactu'";
        assert!(count(&client, secured).await > 0, "{mode}");
        let (kind, said) = refused_by(&address).await;
        assert_eq!(kind, LedgerErrorKind::Unavailable, "a CA that nobody trusts: {said}");
        let by_number = address.replace("localhost", "127.0.0.1");
        refused(&by_number, Environment::Sandbox, &ours).await;
    }
    let plain = format!("{}?sslmode=require", PostgresServer::shared().database().await);
    assert_eq!(refused_by(&plain).await.0, LedgerErrorKind::Unavailable, "a server without TLS");
}

#[tokio::test]
async fn a_ledger_belongs_to_its_environment_and_version() {
    let address = PostgresServer::shared().database().await;
    drop(open(&address).await);
    drop(open(&address).await);
    let wrong = |error| assert_kind(error, LedgerErrorKind::Incompatible);
    wrong(refused(&address, Environment::Production, &PostgresOptions::default()).await);
    let client = connect(&address).await;
    client.batch_execute("UPDATE ledger SET schema_version = 99").await.unwrap();
    wrong(refused(&address, Environment::Sandbox, &PostgresOptions::default()).await);

    let foreign = PostgresServer::shared().database().await;
    connect(&foreign).await.batch_execute("CREATE TABLE ledger (entry text)").await.unwrap();
    wrong(refused(&foreign, Environment::Sandbox, &PostgresOptions::default()).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_start_together_make_one_ledger() {
    let address = PostgresServer::shared().database().await;
    let starts: Vec<_> = (0..6)
        .map(|_| {
            let address = address.clone();
            tokio::spawn(async move { open(&address).await.probe().await.unwrap() })
        })
        .collect();
    for start in starts {
        start.await.unwrap();
    }
    assert_eq!(count(&connect(&address).await, "SELECT probes FROM ledger").await, 6);
}

/// Also where the server as a whole is set to acknowledge first and write later.
#[tokio::test]
async fn an_acknowledged_record_is_on_stable_storage() {
    let server = PostgresServer::with(&["synchronous_commit=off", "wal_writer_delay=10s", "fsync=off"]);
    let address = server.database().await;
    let (ledger, client) = (open(&address).await, connect(&address).await);
    let scene = Scene::new();
    scene.accept(&ledger, &scene.invoice("F-1")).await;
    let written = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint";
    let flushed = "SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint";
    let before = count(&client, written).await;
    scene.accept(&ledger, &scene.invoice("F-2")).await;
    assert!(count(&client, flushed).await > before);
}

#[tokio::test]
async fn a_record_and_an_audit_line_never_change() {
    let address = PostgresServer::shared().database().await;
    let (ledger, client) = (open(&address).await, connect(&address).await);
    let scene = Scene::new();
    scene.accept(&ledger, &scene.invoice("F-1")).await;
    for change in
        ["UPDATE record SET number = 'x'", "DELETE FROM record", "TRUNCATE record CASCADE", "TRUNCATE audit"]
    {
        let error = client.batch_execute(change).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "23000", "{change}: {error:?}");
    }
    client.batch_execute("UPDATE chain SET length = 7").await.unwrap();
    let error = ledger.append(scene.invoice("F-2").append()).await.unwrap_err();
    assert_eq!(error.kind, LedgerErrorKind::Corrupt, "a head that is not the last record");
}

#[tokio::test]
async fn what_is_opened_to_be_read_is_left_as_it_is() {
    let address = PostgresServer::shared().database().await;
    let options = PostgresOptions::default();
    let read = async || PostgresLedger::open_read_only(&address, Environment::Sandbox, &options).await;
    assert_kind(read().await.unwrap_err(), LedgerErrorKind::Incompatible);
    let client = connect(&address).await;
    assert_eq!(count(&client, "SELECT count(*) FROM pg_class WHERE relname = 'ledger'").await, 0);

    let (ledger, scene) = (open(&address).await, Scene::new());
    let record = scene.accept(&ledger, &scene.invoice("F-1")).await.record;
    let reader = read().await.unwrap();
    assert_eq!(reader.records(record.chain, 1, 9).await.unwrap(), [record]);
    assert_passing(&reader.append(scene.invoice("F-2").append()).await.unwrap_err());
    client.batch_execute("UPDATE ledger SET schema_version = 0").await.unwrap();
    assert_kind(read().await.unwrap_err(), LedgerErrorKind::Incompatible);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_a_ledger_alone_keeps_the_others_waiting() {
    let address = PostgresServer::shared().database().await;
    let options = PostgresOptions { connections: 1, ..PostgresOptions::default() };
    let alone = async || PostgresLedger::open_alone(&address, Environment::Sandbox, &options).await;
    assert_kind(alone().await.unwrap_err(), LedgerErrorKind::Incompatible);
    let in_use = open(&address).await;
    let scene = Scene::new();
    scene.accept(&in_use, &scene.invoice("F-1")).await;
    assert_kind(alone().await.unwrap_err(), LedgerErrorKind::Unavailable);
    drop(in_use);

    let ledger = alone().await.unwrap();
    let (client, theirs) = (connect(&address).await, address.clone());
    let opening = tokio::spawn(async move { open(&theirs).await });
    until(&client, WAITS).await;
    let same = |progress: &verifactu_core::job::Progress| progress.clone();
    assert_eq!(ledger.close_chains(scene.now(), Box::new(same)).await.unwrap(), 1);
    drop(ledger);
    assert!(opening.await.unwrap().chains(&scene.tenant).await.unwrap()[0].closed);
}
