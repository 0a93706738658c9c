//! The suite about webhooks, for a store that keeps chains and accounts together.

use std::sync::Arc;

use jiff::{Timestamp, ToSpan};
use uuid::Uuid;

use crate::{
    job::{JobState, Progress},
    ledger::{Accounts, Delivery, DeliveryOutcome, Ledger, Page, Start, Webhook},
    types::{DeliveryId, JobId, TenantId},
};

use super::Scene;

/// Runs the webhook suite; the expression makes `(Arc<S>, guard)`, where `S` is both a ledger and a store
/// of accounts.
#[macro_export]
macro_rules! webhook_suite {
    ($open:expr) => {
        $crate::conformance_cases!($open, webhooks {
            w1_an_account_has_one_webhook
            w2_a_final_job_owes_one_delivery
            w3_without_a_webhook_nothing_is_owed
            w4_a_delivery_is_taken_once
            w5_deliveries_are_listed_and_forgotten
            w6_a_webhook_is_put_in_place_of_what_is_known
        });
    };
}

fn webhook(tenant: &TenantId, at: Timestamp) -> Webhook {
    Webhook {
        tenant: tenant.clone(),
        url: "https://example.com/hook".to_owned(),
        secret: b"sealed".to_vec(),
        enabled: true,
        updated_at: at,
    }
}

fn trial(id: u128, tenant: &TenantId, at: Timestamp) -> Delivery {
    Delivery {
        id: DeliveryId(Uuid::from_u128(id)),
        tenant: tenant.clone(),
        job: None,
        created_at: at,
        attempted_at: None,
        outcome: None,
    }
}

fn done(state: JobState, at: Timestamp) -> Progress {
    Progress { state, completed_at: Some(at), ..Progress::new() }
}

/// W1. An account has at most one webhook: a new one takes the place of the old.
pub async fn w1_an_account_has_one_webhook<S: Ledger + Accounts + 'static>(store: Arc<S>) {
    let scene = Scene::new();
    let first = webhook(&scene.tenant, scene.now());
    let second = Webhook { url: "https://example.com/other".to_owned(), enabled: false, ..first.clone() };
    assert_eq!(store.webhook(&scene.tenant).await.unwrap(), None);
    assert!(store.put_webhook(None, &first).await.unwrap());
    assert_eq!(store.webhook(&scene.tenant).await.unwrap().as_ref(), Some(&first));
    assert!(store.put_webhook(Some(&first), &second).await.unwrap());
    assert_eq!(store.webhook(&scene.tenant).await.unwrap(), Some(second));
    assert_eq!(store.webhook(&scene.of("other").tenant).await.unwrap(), None);
    assert!(store.delete_webhook(&scene.tenant).await.unwrap());
    assert!(!store.delete_webhook(&scene.tenant).await.unwrap());
    assert_eq!(store.webhook(&scene.tenant).await.unwrap(), None);
}

/// W2. A job owes one delivery when it becomes final, by a settlement or by a message that overtakes it,
/// and none before or after.
pub async fn w2_a_final_job_owes_one_delivery<S: Ledger + Accounts + 'static>(store: Arc<S>) {
    let scene = Scene::new();
    store.put_webhook(None, &webhook(&scene.tenant, scene.now())).await.unwrap();
    let jobs = scene.accept_many(&*store, 3).await;
    let (chain, now) = (jobs[0].record.chain, scene.now());
    let failed = Progress { state: JobState::Failed, ..Progress::new() };
    scene.set(&*store, chain, &[(jobs[0].job.id, failed.clone()), (jobs[1].job.id, failed)]).await;
    assert_eq!(store.take_delivery(now, &[]).await.unwrap(), None);

    let succeeded = done(JobState::Succeeded, now);
    let claim = scene.set(&*store, chain, &[(jobs[1].job.id, succeeded.clone())]).await;
    let overtaken = crate::ledger::JobUpdate {
        job: jobs[0].job.id,
        progress: done(JobState::Dead, now),
        attempt: None,
        answer_line: None,
    };
    let message = scene.message(&jobs[2..], vec![overtaken]);
    let _ = store.open_message(claim.lease, message.clone()).await.unwrap();
    let _ = store.open_message(claim.lease, message).await.unwrap();
    scene.set(&*store, chain, &[(jobs[1].job.id, succeeded)]).await;

    let mut owed: Vec<JobId> = Vec::new();
    while let Some(delivery) = store.take_delivery(now, &[]).await.unwrap() {
        assert_eq!(delivery.tenant, scene.tenant);
        assert_eq!(delivery.id.0, delivery.job.unwrap().0);
        owed.extend(delivery.job);
    }
    assert_eq!(owed, [jobs[1].job.id, jobs[0].job.id], "in the order in which they became final");
}

/// W3. Nothing is owed to an account without a webhook, or with one that is not enabled.
pub async fn w3_without_a_webhook_nothing_is_owed<S: Ledger + Accounts + 'static>(store: Arc<S>) {
    let scene = Scene::new();
    let off = Webhook { enabled: false, ..webhook(&scene.of("off").tenant, scene.now()) };
    store.put_webhook(None, &off).await.unwrap();
    store.put_webhook(None, &webhook(&scene.of("other").tenant, scene.now())).await.unwrap();
    for scene in [scene.of("off"), scene.of("none")] {
        let job = scene.accept(&*store, &scene.invoice("F-1")).await;
        let progress = done(JobState::Succeeded, scene.now());
        scene.set(&*store, job.record.chain, &[(job.job.id, progress)]).await;
    }
    assert_eq!(store.take_delivery(scene.now(), &[]).await.unwrap(), None);
}

/// W4. A delivery is taken once, the longest owed first, and none of the accounts that are left out. How
/// it ended is kept.
pub async fn w4_a_delivery_is_taken_once<S: Ledger + Accounts + 'static>(store: Arc<S>) {
    let scene = Scene::new();
    let (now, later) = (scene.now(), scene.now() + 1.second());
    let (acme, other) = (scene.tenant.clone(), scene.of("other").tenant);
    for (id, tenant) in [(3, &acme), (1, &acme), (2, &other)] {
        store.put_delivery(&trial(id, tenant, now)).await.unwrap();
    }
    let take = async |except: &[TenantId]| {
        store.take_delivery(later, except).await.unwrap().map(|taken| {
            assert_eq!((taken.attempted_at, taken.created_at), (Some(later), now));
            taken.id.0.as_u128()
        })
    };
    assert_eq!(take(std::slice::from_ref(&acme)).await, Some(2));
    assert_eq!(take(&[acme.clone(), other]).await, None);
    assert_eq!(take(&[]).await, Some(3));
    assert_eq!(take(&[]).await, Some(1));
    assert_eq!(take(&[]).await, None);
    let outcome = DeliveryOutcome { duration_ms: 12, status: Some(500), error: Some("no".to_owned()) };
    store.finish_delivery(DeliveryId(Uuid::from_u128(3)), &outcome).await.unwrap();
    let kept = store.deliveries(&acme, Page::behind(None, 10)).await.unwrap().items;
    assert_eq!(kept.iter().map(|kept| kept.outcome.clone()).collect::<Vec<_>>(), [None, Some(outcome)]);
}

/// W5. An account's deliveries are listed from the last noted on, and old ones are forgotten unless they
/// are still owed.
pub async fn w5_deliveries_are_listed_and_forgotten<S: Ledger + Accounts + 'static>(store: Arc<S>) {
    let scene = Scene::new();
    let (now, other) = (scene.now(), scene.of("other").tenant);
    for id in 1..=4 {
        let at = now + i64::try_from(id).unwrap().hours();
        store.put_delivery(&trial(id, &scene.tenant, at)).await.unwrap();
    }
    store.put_delivery(&trial(9, &other, now)).await.unwrap();
    let list = async |start: Start<u128>, limit| {
        let start = match start {
            Start::After(id) => Start::After(DeliveryId(Uuid::from_u128(id))),
            Start::Skip(rows) => Start::Skip(rows),
        };
        let page = store.deliveries(&scene.tenant, Page { start, limit }).await.unwrap();
        let ids = page.items.iter().map(|delivery| delivery.id.0.as_u128()).collect::<Vec<_>>();
        (ids, page.more, page.total)
    };
    let begin = || Start::Skip(0);
    assert_eq!(list(begin(), 2).await, (vec![4, 3], true, Some(4)));
    assert_eq!(list(Start::After(3), 9).await, (vec![2, 1], false, Some(4)));
    assert_eq!(list(Start::Skip(1), 2).await, (vec![3, 2], true, Some(4)));
    assert_eq!(list(Start::After(9), 9).await, (vec![], false, Some(4)), "behind one of another account");
    for _ in 0..2 {
        store.take_delivery(now, std::slice::from_ref(&other)).await.unwrap();
    }
    for forgotten in [1, 1, 0] {
        assert_eq!(store.prune_deliveries(now + 9.hours(), 1).await.unwrap(), forgotten);
    }
    assert_eq!(list(begin(), 9).await, (vec![4, 3], false, Some(2)));
}

/// W6. A webhook is put in place of what its caller knows, nothing included. Where that is no longer so,
/// nothing changes.
pub async fn w6_a_webhook_is_put_in_place_of_what_is_known<S: Ledger + Accounts + 'static>(store: Arc<S>) {
    let scene = Scene::new();
    let first = webhook(&scene.tenant, scene.now());
    let others = [
        Webhook { url: "https://example.com/other".to_owned(), ..first.clone() },
        Webhook { secret: b"other".to_vec(), ..first.clone() },
        Webhook { enabled: false, ..first.clone() },
        Webhook { updated_at: scene.now() + 1.second(), ..first.clone() },
    ];
    let put = async |known, new| store.put_webhook(known, new).await.unwrap();
    assert!(!put(Some(&first), &others[0]).await, "there is none yet");
    assert_eq!(store.webhook(&scene.tenant).await.unwrap(), None);
    assert!(put(None, &first).await);
    for other in &others {
        assert!(!put(None, other).await, "there is one");
        assert!(!put(Some(other), &others[0]).await, "{other:?} is not known");
        assert_eq!(store.webhook(&scene.tenant).await.unwrap().as_ref(), Some(&first));
        assert!(put(Some(&first), other).await);
        assert!(put(Some(other), &first).await);
    }
}
