//! Sentences about the records that a worker is given.

use std::sync::Arc;

use jiff::{Timestamp, ToSpan};

use crate::{
    job::{JobState, Progress, Standing},
    ledger::{Lease, Ledger, Selection},
    testing::Scene,
};

/// The states a job is put in, by a word each.
fn progress(word: &str, retry_at: Option<Timestamp>) -> Progress {
    let mut progress = Progress::new();
    for part in word.split('+') {
        match part {
            "pending" => progress.state = JobState::Pending,
            "processing" => progress.state = JobState::Processing,
            "failed" => progress.state = JobState::Failed,
            "succeeded" => progress.state = JobState::Succeeded,
            "dead" => progress.state = JobState::Dead,
            "sent" => progress.sent = true,
            "doubt" => progress.standing = Standing::InDoubt,
            "rejected" => progress.standing = Standing::Rejected,
            other => panic!("no such state: {other}"),
        }
    }
    progress.next_retry_at = retry_at;
    progress
}

/// A chain whose records have these states, and a lease on it.
async fn chain_of(ledger: &dyn Ledger, scene: &Scene, states: &[(&str, Option<Timestamp>)]) -> Lease {
    let accepted = scene.accept_many(ledger, states.len()).await;
    let jobs: Vec<_> = accepted
        .iter()
        .zip(states)
        .map(|(submission, (word, retry_at))| (submission.job.id, progress(word, *retry_at)))
        .collect();
    scene.set(ledger, accepted[0].record.chain, &jobs).await.lease
}

async fn positions(ledger: &dyn Ledger, lease: Lease, selection: Selection) -> Vec<u64> {
    let work = ledger.work(lease, selection).await.unwrap();
    work.iter().map(|item| item.record.position).collect()
}

/// L30. The first run has the records never sent, from the front on, in order and up to the limit; it
/// steps over those that were sent or are final, and takes a record that was never reached before its
/// time.
pub async fn l30_the_first_run_is_in_order(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let later = Some(scene.now() + 10.minutes());
    let lease = chain_of(
        &*ledger,
        &scene,
        &[
            ("succeeded+sent", None),
            ("failed", later),
            ("failed+sent+rejected", later),
            ("pending", None),
            ("dead", None),
            ("processing+sent", None),
            ("failed+sent+doubt", None),
            ("pending", None),
        ],
    )
    .await;
    assert_eq!(positions(&*ledger, lease, Selection::First { limit: 1000 }).await, [2, 4, 8]);
    assert_eq!(positions(&*ledger, lease, Selection::First { limit: 2 }).await, [2, 4]);
    assert!(positions(&*ledger, lease, Selection::First { limit: 0 }).await.is_empty());
    let unknown = Lease { chain: crate::types::ChainId(uuid::Uuid::nil()), epoch: 1 };
    assert!(positions(&*ledger, unknown, Selection::First { limit: 9 }).await.is_empty());
}

/// L31. The run ends before a record that is under way or waits for the first look into its doubt; it
/// is empty when that is the front.
pub async fn l31_the_run_ends_before_a_barrier(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    for (tenant, barrier) in [("one", "processing"), ("two", "failed+doubt"), ("three", "pending+doubt")] {
        let scene = scene.of(tenant);
        let lease = chain_of(
            &*ledger,
            &scene,
            &[("pending", None), ("pending", None), (barrier, None), ("pending", None)],
        )
        .await;
        assert_eq!(positions(&*ledger, lease, Selection::First { limit: 9 }).await, [1, 2], "{barrier}");
    }
    let scene = scene.of("front");
    let lease = chain_of(&*ledger, &scene, &[("processing", None), ("pending", None)]).await;
    assert!(positions(&*ledger, lease, Selection::First { limit: 9 }).await.is_empty());
}

/// L32. Retries are records that were sent, are not in doubt and not under way, and whose time has come,
/// in order and up to the limit.
pub async fn l32_retries_are_sent_due_and_not_in_doubt(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let (now, later) = (scene.now(), scene.now() + 10.minutes());
    let lease = chain_of(
        &*ledger,
        &scene,
        &[
            ("failed+sent+rejected", Some(later)),
            ("failed+sent+rejected", Some(now)),
            ("failed+sent+doubt", None),
            ("pending+sent", None),
            ("processing+sent", None),
            ("failed", None),
            ("failed+sent", None),
            ("dead+sent", None),
            ("pending", None),
        ],
    )
    .await;
    let retry = |due, limit| Selection::Retry { due, limit };
    assert_eq!(positions(&*ledger, lease, retry(now, 100)).await, [2, 4, 7]);
    assert_eq!(positions(&*ledger, lease, retry(later, 100)).await, [1, 2, 4, 7]);
    assert_eq!(positions(&*ledger, lease, retry(later, 2)).await, [1, 2]);
    assert_eq!(positions(&*ledger, lease, retry(now - 1.microsecond(), 100)).await, [4, 7]);
}

/// L33. Doubts are looked into when their time has come or an operator asks, whether their record
/// counts as sent or not, but not while it is under way.
pub async fn l33_doubts_are_looked_into_when_due(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let (now, later) = (scene.now(), scene.now() + 10.minutes());
    let lease = chain_of(
        &*ledger,
        &scene,
        &[
            ("failed+doubt", Some(now)),
            ("failed+doubt", Some(later)),
            ("failed+sent+doubt", None),
            ("pending+sent+doubt", None),
            ("pending+doubt", None),
            ("processing+doubt", None),
            ("succeeded+doubt", None),
            ("failed+sent+rejected", None),
        ],
    )
    .await;
    assert_eq!(positions(&*ledger, lease, Selection::Doubtful { due: now }).await, [1, 3, 4, 5]);
    assert_eq!(positions(&*ledger, lease, Selection::Doubtful { due: later }).await, [1, 2, 3, 4, 5]);
}

/// L34. Overtaken are the earlier records of the same invoice in the same chain that failed, or that an
/// operator made due again; each once, in order.
pub async fn l34_earlier_failures_are_overtaken(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let mut accepted = Vec::new();
    for draft in [
        scene.invoice("F-1"),
        scene.correction("F-1"),
        scene.correction("F-1"),
        scene.correction("F-1"),
        scene.invoice("F-2"),
        scene.cancellation("F-1"),
        scene.correction("F-1"),
    ] {
        accepted.push(scene.accept(&*ledger, &draft).await);
    }
    let states =
        ["failed+sent", "pending+sent", "succeeded+sent", "processing", "failed+sent", "pending", "failed"];
    let jobs: Vec<_> = accepted
        .iter()
        .zip(states)
        .map(|(submission, word)| (submission.job.id, progress(word, None)))
        .collect();
    let lease = scene.set(&*ledger, accepted[0].record.chain, &jobs).await.lease;
    let overtaken = |indices: &'static [usize]| {
        let records: Vec<_> = indices.iter().map(|index| accepted[*index].record.id).collect();
        let ledger = &ledger;
        async move {
            let items = ledger.overtaken(lease, &records).await.unwrap();
            items.iter().map(|item| item.record.position).collect::<Vec<_>>()
        }
    };
    assert_eq!(overtaken(&[5]).await, [1, 2]);
    assert_eq!(overtaken(&[5, 3, 4]).await, [1, 2]);
    assert!(overtaken(&[0, 4]).await.is_empty());
    assert!(overtaken(&[]).await.is_empty());
    let elsewhere = scene.accept(&*ledger, &scene.of("other").correction("F-1")).await.record.id;
    assert!(ledger.overtaken(lease, &[elsewhere]).await.unwrap().is_empty());
}
