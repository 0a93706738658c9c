//! A full disk, a locked file and a panicking caller cost the calls concerned, and nothing else.

use std::{sync::Arc, time::Duration};

use tokio::task::JoinSet;
use verifactu_core::{
    ledger::{
        Appended, Ledger, LedgerErrorKind,
        sqlite::{SqliteLedger, SqliteOptions},
    },
    testing::{Draft, Scene, Sealing},
    types::Environment,
};

use super::{Place, prove_chain};

#[tokio::test]
async fn a_full_store_recovers_by_itself() {
    let place = Place::new();
    drop(place.open());
    let raw = place.raw();
    raw.execute_batch("CREATE TABLE ballast (x); INSERT INTO ballast VALUES (zeroblob(1000000));").unwrap();
    let pages: u32 = raw.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    let options = SqliteOptions { max_pages: Some(pages + 30), ..SqliteOptions::default() };
    let ledger = Arc::new(SqliteLedger::open(place.path(), Environment::Sandbox, &options).unwrap());

    let scene = Scene::new();
    let mut stored = 0;
    let mut refused = Vec::new();
    for round in 0..40 {
        let mut tasks = JoinSet::new();
        for number in 0..16 {
            let (ledger, draft) = (ledger.clone(), scene.invoice(&format!("F-{round}-{number}")));
            tasks.spawn(async move { (ledger.append(draft.append()).await, draft) });
        }
        for (outcome, draft) in tasks.join_all().await {
            match outcome {
                Ok(Appended::New { .. }) => stored += 1,
                Ok(other) => panic!("{other:?}"),
                Err(error) => {
                    assert_eq!(error.kind, LedgerErrorKind::Unavailable, "{error:?}");
                    refused.push(draft);
                }
            }
        }
        if refused.len() > 100 {
            break;
        }
    }
    assert!(stored > 0 && refused.len() > 100, "{stored} stored, {} refused", refused.len());
    assert_eq!(prove_chain(&ledger, &scene.tenant).await.len(), stored);

    raw.execute_batch("DELETE FROM ballast").unwrap();
    for draft in &refused[..50] {
        let record = scene.accept(&*ledger, draft).await.record;
        stored += 1;
        assert_eq!(record.position, stored as u64);
    }
    assert_eq!(prove_chain(&ledger, &scene.tenant).await.len(), stored);
}

#[tokio::test]
async fn a_locked_store_recovers_by_itself() {
    let place = Place::new();
    let options = SqliteOptions { busy_timeout: Duration::from_millis(20), ..SqliteOptions::default() };
    let ledger = SqliteLedger::open(place.path(), Environment::Sandbox, &options).unwrap();
    let scene = Scene::new();
    let first = scene.accept(&ledger, &scene.invoice("F-1")).await;

    let raw = place.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    let draft = scene.invoice("F-2");
    assert_eq!(ledger.append(draft.append()).await.unwrap_err().kind, LedgerErrorKind::Unavailable);
    assert_eq!(ledger.probe().await.unwrap_err().kind, LedgerErrorKind::Unavailable);
    // Reading goes on.
    assert_eq!(ledger.job(&scene.tenant, first.job.id).await.unwrap(), Some(first));
    raw.execute_batch("ROLLBACK").unwrap();
    ledger.probe().await.unwrap();
    assert_eq!(scene.accept(&ledger, &draft).await.record.position, 2);
}

/// Calls of one group fail alone: each of the others is stored.
#[tokio::test(flavor = "multi_thread")]
async fn a_failing_call_leaves_its_group_alone() {
    let place = Place::new();
    let ledger = Arc::new(place.open());
    let scene = Scene::new();
    let faults = [Sealing::Honest, Sealing::Panic, Sealing::WrongPredecessor, Sealing::Refuse];
    let mut tasks = JoinSet::new();
    for (number, sealing) in faults.into_iter().cycle().take(200).enumerate() {
        let draft = Draft { sealing, ..scene.invoice(&format!("F-{number}")) };
        let ledger = ledger.clone();
        tasks
            .spawn(async move { (sealing, ledger.append(draft.append()).await.map_err(|error| error.kind)) });
    }
    for (sealing, outcome) in tasks.join_all().await {
        match sealing {
            Sealing::Honest => assert!(matches!(outcome, Ok(Appended::New { .. })), "{outcome:?}"),
            Sealing::Refuse => assert!(matches!(outcome, Ok(Appended::Refused(_))), "{outcome:?}"),
            _ => assert_eq!(outcome.unwrap_err(), LedgerErrorKind::Corrupt),
        }
    }
    assert_eq!(prove_chain(&ledger, &scene.tenant).await.len(), 50);
}
