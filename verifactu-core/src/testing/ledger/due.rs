//! Sentences about when a chain is due.

use std::sync::Arc;

use jiff::{Timestamp, ToSpan};
use tokio::task::JoinSet;

use crate::{
    job::{JobState, Progress, Standing},
    ledger::{
        Appended, FULL_MESSAGE, Fenced, Hold, HoldReason, Ledger, Settlement, SlotKind, Submission, Suspects,
    },
    testing::{Draft, Scene, claim, quick_settlement},
    types::ChainId,
};

fn failed(retry_at: Option<Timestamp>) -> Progress {
    Progress { state: JobState::Failed, next_retry_at: retry_at, ..Progress::new() }
}

fn sent(progress: Progress) -> Progress {
    Progress { sent: true, ..progress }
}

/// Sets when the chain's next slot opens.
async fn open_slot_at(ledger: &dyn Ledger, scene: &Scene, chain: ChainId, at: Option<Timestamp>) {
    let claim = claim(ledger, chain).await;
    let settlement = Settlement { next_slot_at: at, ..quick_settlement(&claim, scene.now()) };
    assert_eq!(ledger.settle(claim.lease, settlement).await.unwrap(), Fenced::Done);
}

async fn set(ledger: &dyn Ledger, scene: &Scene, of: &Submission, progress: Progress) {
    scene.set(ledger, of.record.chain, &[(of.job.id, progress)]).await;
}

/// L40. A chain without unfinished jobs is not due, nor is one that is held or does not exist.
pub async fn l40_nothing_is_due_without_work(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let accepted = scene.accept_many(&*ledger, 2).await;
    let chain = accepted[0].record.chain;
    assert_eq!(ledger.due(chain).await.unwrap(), Some(Timestamp::MIN));
    for (submission, state) in accepted.iter().zip([JobState::Succeeded, JobState::Dead]) {
        set(&*ledger, &scene, submission, Progress { state, ..Progress::new() }).await;
    }
    assert_eq!(ledger.due(chain).await.unwrap(), None);
    assert!(ledger.due_chains(None, 10).await.unwrap().is_empty());
    assert_eq!(ledger.due(ChainId(uuid::Uuid::nil())).await.unwrap(), None);

    let claim = claim(&*ledger, chain).await;
    let hold =
        Some(Hold { reason: HoldReason::Operator, description: "stopped".to_owned(), since: scene.now() });
    let settlement = Settlement { hold, ..quick_settlement(&claim, scene.now()) };
    assert_eq!(ledger.settle(claim.lease, settlement).await.unwrap(), Fenced::Done);
    let appended = ledger.append(scene.invoice("F-3").append()).await.unwrap();
    assert!(matches!(appended, Appended::New { due: None, .. }), "{appended:?}");
    assert_eq!(ledger.due(chain).await.unwrap(), None);
    assert!(ledger.due_chains(None, 10).await.unwrap().is_empty());
}

/// L41. A chain is not due before its slot opens; a new record says so too.
pub async fn l41_a_chain_waits_for_its_slot(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let accepted = scene.accept_many(&*ledger, 1).await;
    let chain = accepted[0].record.chain;
    let slot = scene.now() + 60.seconds();
    open_slot_at(&*ledger, &scene, chain, Some(slot)).await;
    assert_eq!(ledger.due(chain).await.unwrap(), Some(slot));
    let appended = ledger.append(scene.invoice("F-2").append()).await.unwrap();
    assert!(matches!(appended, Appended::New { due: Some(due), .. } if due == slot), "{appended:?}");
    scene.clock.set(slot + 1.second());
    let appended = ledger.append(scene.invoice("F-3").append()).await.unwrap();
    assert!(matches!(appended, Appended::New { due: Some(due), .. } if due == scene.now()), "{appended:?}");
}

/// L42. Of the records never sent only the front's time counts: the others wait behind it.
pub async fn l42_only_the_front_counts_among_the_never_sent(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let accepted = scene.accept_many(&*ledger, 3).await;
    let chain = accepted[0].record.chain;
    let later = scene.now() + 10.minutes();
    set(&*ledger, &scene, &accepted[0], failed(Some(later))).await;
    assert_eq!(ledger.due(chain).await.unwrap(), Some(later));
    let doubtful = Progress { standing: Standing::InDoubt, ..failed(Some(later + 1.minute())) };
    set(&*ledger, &scene, &accepted[0], doubtful).await;
    assert_eq!(ledger.due(chain).await.unwrap(), Some(later + 1.minute()));
    let appended = ledger.append(scene.invoice("F-4").append()).await.unwrap();
    assert!(
        matches!(appended, Appended::New { due: Some(due), .. } if due == later + 1.minute()),
        "{appended:?}"
    );
    set(&*ledger, &scene, &accepted[0], failed(None)).await;
    assert_eq!(ledger.due(chain).await.unwrap(), Some(Timestamp::MIN));
}

/// L43. Beside the front, the soonest of the records that were sent counts.
pub async fn l43_the_soonest_retry_counts(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let accepted = scene.accept_many(&*ledger, 4).await;
    let chain = accepted[0].record.chain;
    let at = |minutes: i64| scene.now() + minutes.minutes();
    set(&*ledger, &scene, &accepted[0], sent(failed(Some(at(30))))).await;
    set(&*ledger, &scene, &accepted[1], failed(Some(at(20)))).await;
    set(&*ledger, &scene, &accepted[3], sent(failed(Some(at(10))))).await;
    assert_eq!(ledger.due(chain).await.unwrap(), Some(at(10)));
    open_slot_at(&*ledger, &scene, chain, Some(at(15))).await;
    assert_eq!(ledger.due(chain).await.unwrap(), Some(at(15)));
    set(&*ledger, &scene, &accepted[3], Progress { state: JobState::Dead, ..Progress::new() }).await;
    assert_eq!(ledger.due(chain).await.unwrap(), Some(at(20)));
    set(&*ledger, &scene, &accepted[0], sent(Progress::new())).await;
    assert_eq!(ledger.due(chain).await.unwrap(), Some(at(15)));
}

/// L44. A record under way makes its chain due, for its message is open and nobody may have it.
pub async fn l44_an_open_message_is_due(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let accepted = scene.accept_many(&*ledger, 1).await;
    let processing = Progress { state: JobState::Processing, ..Progress::new() };
    for progress in [processing.clone(), sent(processing)] {
        set(&*ledger, &scene, &accepted[0], progress).await;
        assert_eq!(ledger.due(accepted[0].record.chain).await.unwrap(), Some(Timestamp::MIN));
    }
}

/// L45. A run of [`FULL_MESSAGE`] records opens the slot early.
pub async fn l45_a_full_message_opens_the_slot(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let first = scene.accept(&*ledger, &scene.invoice("first")).await;
    let chain = first.record.chain;
    let slot = scene.now() + 60.seconds();
    open_slot_at(&*ledger, &scene, chain, Some(slot)).await;
    let mut tasks = JoinSet::new();
    for number in 2..FULL_MESSAGE {
        let (ledger, append) = (ledger.clone(), scene.invoice(&format!("F-{number}")).append());
        tasks.spawn(async move { ledger.append(append).await.unwrap() });
    }
    for appended in tasks.join_all().await {
        assert!(matches!(appended, Appended::New { due: Some(due), .. } if due == slot), "{appended:?}");
    }
    assert_eq!(ledger.due(chain).await.unwrap(), Some(slot));
    let last = ledger.append(scene.invoice("last").append()).await.unwrap();
    assert!(matches!(last, Appended::New { due: Some(due), .. } if due == scene.now()), "{last:?}");
    assert_eq!(ledger.due(chain).await.unwrap(), Some(Timestamp::MIN));

    // Nor while one is searched for among them: the next message carries less.
    let claim = claim(&*ledger, chain).await;
    for suspects in [Some(Suspects { slot: SlotKind::First, records: FULL_MESSAGE }), None] {
        let settlement = Settlement { suspects, ..quick_settlement(&claim, scene.now()) };
        assert_eq!(ledger.settle(claim.lease, settlement).await.unwrap(), Fenced::Done);
        let due = if suspects.is_some() { slot } else { Timestamp::MIN };
        assert_eq!(ledger.due(chain).await.unwrap(), Some(due));
    }

    // Behind a barrier the records cannot be sent, so they open nothing.
    let doubtful = Progress { standing: Standing::InDoubt, ..failed(None) };
    set(&*ledger, &scene, &first, doubtful).await;
    assert_eq!(ledger.due(chain).await.unwrap(), Some(slot));
}

/// L46. Due chains come in pages, in the order of their identifiers, each with its due time.
pub async fn l46_due_chains_come_in_pages(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let mut chains = Vec::new();
    for number in 0..7_u8 {
        let draft = Draft { producer: format!("P{number}"), ..scene.invoice(&format!("F-{number}")) };
        let accepted = scene.accept(&*ledger, &draft).await;
        if number == 3 {
            let done = Progress { state: JobState::Succeeded, ..Progress::new() };
            set(&*ledger, &scene, &accepted, done).await;
        } else {
            let at = scene.now() + i64::from(10 - number).minutes();
            set(&*ledger, &scene, &accepted, failed(Some(at))).await;
            chains.push((accepted.record.chain, at));
        }
    }
    chains.sort_unstable();
    assert_eq!(ledger.due_chains(None, 100).await.unwrap(), chains);
    let mut paged = Vec::new();
    loop {
        let page = ledger.due_chains(paged.last().map(|(chain, _)| *chain), 2).await.unwrap();
        if page.is_empty() {
            break;
        }
        paged.extend(page);
    }
    assert_eq!(paged, chains);
}
