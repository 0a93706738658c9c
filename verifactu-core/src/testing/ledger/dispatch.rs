//! Sentences about claims, messages, settlements and operators.

use std::sync::Arc;

use bytes::Bytes;
use jiff::ToSpan;

use crate::{
    job::{
        AuthorityAnswer, Csv, Failure, FailureClass, FailureSource, JobState, Progress, RecordOutcome,
        Standing, SubmissionOutcome,
    },
    ledger::{
        Attempt, AttemptOutcome, ChainSearch, Claim, Fenced, Hold, HoldReason, JobUpdate, Ledger,
        LedgerErrorKind, Page, Selection, Settlement, SlotKind, Start, Submission, Suspects,
    },
    testing::{Draft, Scene, quick_settlement},
    types::{ChainId, MessageId, Nif, RecordId},
};

fn items(accepted: &[Submission]) -> Vec<Submission> {
    accepted
        .iter()
        .map(|submission| Submission { job: submission.job.clone(), record: submission.record.clone() })
        .collect()
}

fn update(submission: &Submission, progress: Progress) -> JobUpdate {
    JobUpdate { job: submission.job.id, progress, attempt: None, answer_line: None }
}

fn processing() -> Progress {
    Progress { state: JobState::Processing, ..Progress::new() }
}

async fn claim(ledger: &dyn Ledger, chain: ChainId) -> Claim {
    ledger.claim(chain).await.unwrap().expect("the chain exists")
}

/// L20. Every claim raises the chain's epoch; a chain that does not exist cannot be claimed.
pub async fn l20_a_claim_raises_the_epoch(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let chain = scene.accept(&*ledger, &scene.invoice("F-1")).await.record.chain;
    let other = scene.accept(&*ledger, &scene.of("other").invoice("F-1")).await.record.chain;
    let first = claim(&*ledger, chain).await;
    claim(&*ledger, other).await;
    let second = claim(&*ledger, chain).await;
    assert!(second.lease.epoch > first.lease.epoch);
    assert_eq!((second.state.id, second.state.length), (chain, 1));
    assert!(second.open.is_empty());
    assert!(ledger.claim(ChainId(uuid::Uuid::nil())).await.unwrap().is_none());
}

/// L21. Under a lease that is not the chain's last, nothing is written.
pub async fn l21_a_stale_lease_writes_nothing(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let accepted = scene.accept_many(&*ledger, 1).await;
    let chain = accepted[0].record.chain;
    let stale = claim(&*ledger, chain).await;
    let before = claim(&*ledger, chain).await.state;
    let message = scene.message(&items(&accepted), vec![update(&accepted[0], processing())]);
    assert_eq!(ledger.open_message(stale.lease, message).await.unwrap(), Fenced::Stale);
    let mut settlement = quick_settlement(&stale, scene.now());
    settlement.updates = vec![update(&accepted[0], processing())];
    settlement.wait_seconds = Some(7);
    assert_eq!(ledger.settle(stale.lease, settlement).await.unwrap(), Fenced::Stale);
    assert_eq!(ledger.chains(&scene.tenant).await.unwrap(), [before]);
    assert_eq!(ledger.job(&scene.tenant, accepted[0].job.id).await.unwrap().as_ref(), Some(&accepted[0]));
    assert!(claim(&*ledger, chain).await.open.is_empty());
}

/// L22. A message that was written down is handed to every later claim, with its records in its own
/// order, until it is settled.
pub async fn l22_a_message_is_open_until_it_is_settled(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let accepted = scene.accept_many(&*ledger, 3).await;
    let chain = accepted[0].record.chain;
    let first = claim(&*ledger, chain).await;
    let carried = [accepted[2].clone(), accepted[0].clone()];
    let updates = carried.iter().map(|submission| update(submission, processing())).collect();
    let message = scene.message(&items(&carried), updates);
    assert_eq!(ledger.open_message(first.lease, message.clone()).await.unwrap(), Fenced::Done);

    let second = claim(&*ledger, chain).await;
    let [open] = second.open.as_slice() else { panic!("one open message: {:?}", second.open) };
    assert_eq!((open.id, open.at), (message.id, message.at));
    let order: Vec<_> = open.items.iter().map(|item| item.record.id).collect();
    assert_eq!(order, [carried[0].record.id, carried[1].record.id]);
    assert!(open.items.iter().all(|item| item.job.progress == processing()));
    assert_eq!(second.state.last_slot, Some(SlotKind::First));

    let settlement = Settlement { message: Some(message.id), ..quick_settlement(&second, scene.now()) };
    assert_eq!(ledger.settle(second.lease, settlement).await.unwrap(), Fenced::Done);
    assert!(claim(&*ledger, chain).await.open.is_empty());
}

/// L23. The bytes a record was first written down with stay, and come with it ever after.
pub async fn l23_the_first_bytes_stay(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let accepted = scene.accept_many(&*ledger, 1).await;
    let lease = claim(&*ledger, accepted[0].record.chain).await.lease;
    let first = scene.message(&items(&accepted), Vec::new());
    let second = scene.message(&items(&accepted), Vec::new());
    assert_ne!(first.records, second.records);
    for message in [first.clone(), second] {
        assert_eq!(ledger.open_message(lease, message).await.unwrap(), Fenced::Done);
    }
    let work = ledger.work(lease, Selection::First { limit: 9 }).await.unwrap();
    assert_eq!(work[0].record.sent_xml.as_ref(), Some(&first.records[0].1));
    assert_eq!(work[0].record.xml, accepted[0].record.xml);
}

/// L24. A message that is written down or settled a second time changes nothing.
pub async fn l24_repeated_writes_change_nothing(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let accepted = scene.accept_many(&*ledger, 1).await;
    let chain = accepted[0].record.chain;
    let claimed = claim(&*ledger, chain).await;
    let message = scene.message(&items(&accepted), vec![update(&accepted[0], processing())]);
    let done = Progress { state: JobState::Succeeded, sent: true, ..Progress::new() };
    let mut final_update = update(&accepted[0], done);
    final_update.attempt = Some(attempt(&scene, AttemptOutcome::Accepted, Some(message.id)));
    let settlement = Settlement {
        message: Some(message.id),
        updates: vec![final_update],
        ..quick_settlement(&claimed, scene.now())
    };
    for _ in 0..2 {
        assert_eq!(ledger.open_message(claimed.lease, message.clone()).await.unwrap(), Fenced::Done);
        assert_eq!(ledger.settle(claimed.lease, settlement.clone()).await.unwrap(), Fenced::Done);
    }
    let job = ledger.job(&scene.tenant, accepted[0].job.id).await.unwrap().unwrap().job;
    assert_eq!(job.progress.state, JobState::Succeeded);
    assert_eq!(ledger.attempts(job.id).await.unwrap().len(), 1);
    assert!(claim(&*ledger, chain).await.open.is_empty());
    assert_eq!(ledger.chains(&scene.tenant).await.unwrap()[0].pending, 0);
}

/// L25. A record, job or message that is not of the leased chain is an error, and nothing is written.
pub async fn l25_what_is_not_of_the_chain_is_an_error(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let accepted = scene.accept_many(&*ledger, 1).await;
    let other = scene.accept(&*ledger, &scene.of("other").invoice("F-1")).await;
    let claimed = claim(&*ledger, accepted[0].record.chain).await;
    let own = || update(&accepted[0], processing());

    let mut with_record = scene.message(&items(&accepted), vec![own()]);
    with_record.records.push((other.record.id, Bytes::new()));
    let mut with_unknown = scene.message(&items(&accepted), vec![own()]);
    with_unknown.records.push((RecordId(uuid::Uuid::nil()), Bytes::new()));
    let with_job = scene.message(&items(&accepted), vec![own(), update(&other, processing())]);
    for message in [with_record, with_unknown, with_job] {
        let error = ledger.open_message(claimed.lease, message).await.unwrap_err();
        assert_eq!(error.kind, LedgerErrorKind::Corrupt);
    }

    let foreign = claim(&*ledger, other.record.chain).await;
    let message = scene.message(&items(std::slice::from_ref(&other)), Vec::new());
    assert_eq!(ledger.open_message(foreign.lease, message.clone()).await.unwrap(), Fenced::Done);
    for settlement in [
        Settlement {
            message: Some(message.id),
            updates: vec![own()],
            ..quick_settlement(&claimed, scene.now())
        },
        Settlement {
            message: Some(MessageId(uuid::Uuid::nil())),
            updates: vec![own()],
            ..quick_settlement(&claimed, scene.now())
        },
        Settlement {
            updates: vec![own(), update(&other, processing())],
            ..quick_settlement(&claimed, scene.now())
        },
    ] {
        let error = ledger.settle(claimed.lease, settlement).await.unwrap_err();
        assert_eq!(error.kind, LedgerErrorKind::Corrupt);
    }
    assert_eq!(ledger.job(&scene.tenant, accepted[0].job.id).await.unwrap().as_ref(), Some(&accepted[0]));
    assert!(claim(&*ledger, accepted[0].record.chain).await.open.is_empty());
}

fn attempt(scene: &Scene, outcome: AttemptOutcome, message: Option<MessageId>) -> Attempt {
    Attempt { started_at: scene.now(), duration_ms: 250, outcome, code: Some(1104), message }
}

/// L26. A settlement is stored whole: progress with failure, receipt and answer, the attempts in
/// order, the chain's pace, count, suspects and hold.
pub async fn l26_a_settlement_is_stored_whole(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let accepted = scene.accept_many(&*ledger, 2).await;
    let claimed = claim(&*ledger, accepted[0].record.chain).await;
    scene.clock.set(scene.now() + 3.seconds());
    let progress = Progress {
        state: JobState::Failed,
        standing: Standing::AcceptedWithErrors,
        attempts: 3,
        sent: true,
        alone: true,
        next_retry_at: Some(scene.now() + 1_234_567.microseconds()),
        failure: Some(Failure {
            source: FailureSource::Authority,
            class: FailureClass::Rejected,
            code: Some(1104),
            description: "El NIF no está identificado\n\"<&>\"".to_owned(),
            at: scene.now(),
            superseded_by: Some(accepted[1].job.id),
        }),
        csv: Some(Csv::Present("A-ABCDEFGHJKLMNP".to_owned())),
        answer: Some(AuthorityAnswer {
            submission: Some(SubmissionOutcome::PartlyAccepted),
            record: RecordOutcome::AcceptedWithErrors,
            presented_at: Some(scene.now()),
            reconciled: true,
            code: None,
            description: None,
        }),
        completed_at: Some(scene.now()),
    };
    let outcomes = [AttemptOutcome::Unreachable, AttemptOutcome::Rejected];
    let attempts = outcomes.map(|outcome| attempt(&scene, outcome, None));
    let updates = attempts.iter().map(|attempt| JobUpdate {
        attempt: Some(attempt.clone()),
        answer_line: Some(Bytes::from_static(b"<linea/>")),
        ..update(&accepted[0], progress.clone())
    });
    let hold = Hold {
        reason: HoldReason::Certificate,
        description: "no certificate".to_owned(),
        since: scene.now(),
    };
    let suspects = Some(Suspects { slot: SlotKind::Retry, records: 250 });
    let settlement = Settlement {
        message: None,
        at: scene.now(),
        answer: None,
        updates: updates.collect(),
        next_slot_at: Some(scene.now() + 90.seconds()),
        wait_seconds: Some(90),
        unreachable_count: 4,
        suspects,
        hold: Some(hold.clone()),
    };
    assert_eq!(ledger.settle(claimed.lease, settlement).await.unwrap(), Fenced::Done);

    let job = ledger.job(&scene.tenant, accepted[0].job.id).await.unwrap().unwrap().job;
    assert_eq!(job.progress, progress);
    assert_eq!((job.created_at, job.updated_at), (accepted[0].job.created_at, scene.now()));
    assert_eq!(ledger.attempts(job.id).await.unwrap(), attempts);
    assert!(ledger.attempts(accepted[1].job.id).await.unwrap().is_empty());
    let state = &ledger.chains(&scene.tenant).await.unwrap()[0];
    assert_eq!((state.next_slot_at, state.wait_seconds), (Some(scene.now() + 90.seconds()), Some(90)));
    assert_eq!((state.unreachable_count, state.hold.as_ref()), (4, Some(&hold)));
    assert_eq!(state.suspects, suspects);
    assert_eq!((state.pending, state.updated_at), (2, scene.now()));
}

/// L27. A job is revised only while it is what the caller saw.
pub async fn l27_jobs_are_revised_only_as_seen(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let accepted = scene.accept_many(&*ledger, 1).await;
    let (job, chain) = (accepted[0].job.id, accepted[0].record.chain);
    let failed = Progress {
        state: JobState::Failed,
        attempts: 2,
        sent: true,
        next_retry_at: Some(scene.now() + 30.minutes()),
        ..Progress::new()
    };
    scene.set(&*ledger, chain, &[(job, failed.clone())]).await;
    let retried = Progress { state: JobState::Pending, next_retry_at: None, ..failed.clone() };
    assert!(!ledger.revise(job, &Progress::new(), &retried).await.unwrap());
    assert!(ledger.revise(job, &failed, &retried).await.unwrap());
    assert!(!ledger.revise(job, &failed, &retried).await.unwrap());
    assert_eq!(ledger.job(&scene.tenant, job).await.unwrap().unwrap().job.progress, retried);
    let dead = Progress { state: JobState::Dead, ..retried.clone() };
    assert!(ledger.revise(job, &retried, &dead).await.unwrap());
    assert_eq!(ledger.chains(&scene.tenant).await.unwrap()[0].pending, 0);
    assert!(!ledger.revise(scene.invoice("F-9").job, &failed, &retried).await.unwrap());
}

/// L28. A release frees the account's chains that are held for the given reason, and no others.
pub async fn l28_a_release_is_for_one_reason(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let mut chains = Vec::new();
    for (tenant, reason) in [
        ("acme", HoldReason::Certificate),
        ("acme", HoldReason::Operator),
        ("other", HoldReason::Certificate),
    ] {
        let mut draft = scene.of(tenant).invoice(&format!("F-{}", chains.len()));
        draft.producer = format!("P{}", chains.len());
        let chain = scene.accept(&*ledger, &draft).await.record.chain;
        let claimed = claim(&*ledger, chain).await;
        let hold = Some(Hold { reason, description: String::new(), since: scene.now() });
        let settlement = Settlement { hold, ..quick_settlement(&claimed, scene.now()) };
        assert_eq!(ledger.settle(claimed.lease, settlement).await.unwrap(), Fenced::Done);
        assert_eq!(ledger.due(chain).await.unwrap(), None);
        chains.push(chain);
    }
    assert_eq!(ledger.release(&scene.tenant, None, HoldReason::Certificate).await.unwrap(), [chains[0]]);
    assert!(ledger.release(&scene.tenant, None, HoldReason::Certificate).await.unwrap().is_empty());
    assert!(ledger.due(chains[0]).await.unwrap().is_some());
    assert_eq!(ledger.due(chains[1]).await.unwrap(), None);
    assert_eq!(ledger.due(chains[2]).await.unwrap(), None);
}

/// L35. A hold of an account stops all its chains, under whatever lease and in the place of a hold for
/// another reason. Only a release lifts it: a settlement that knows of none leaves it alone.
pub async fn l35_a_hold_stays_until_it_is_released(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let chain = scene.accept(&*ledger, &scene.invoice("F-1")).await.record.chain;
    let mut draft = scene.invoice("F-2");
    draft.producer = "another".to_owned();
    let second = scene.accept(&*ledger, &draft).await.record.chain;
    let other = scene.accept(&*ledger, &scene.of("other").invoice("F-1")).await.record.chain;
    let working = claim(&*ledger, chain).await;
    let without_certificate =
        Hold { reason: HoldReason::Certificate, description: String::new(), since: scene.now() };
    let claimed = claim(&*ledger, second).await;
    let settlement =
        Settlement { hold: Some(without_certificate), ..quick_settlement(&claimed, scene.now()) };
    assert_eq!(ledger.settle(claimed.lease, settlement).await.unwrap(), Fenced::Done);
    let hold = Hold { reason: HoldReason::Operator, description: "4141".to_owned(), since: scene.now() };
    let mut both = vec![chain, second];
    both.sort_unstable();
    assert_eq!(ledger.hold(&scene.tenant, None, &hold).await.unwrap(), both);
    assert!(ledger.hold(&scene.tenant, None, &hold).await.unwrap().is_empty());
    let settlement = quick_settlement(&working, scene.now());
    assert_eq!(settlement.hold, None);
    assert_eq!(ledger.settle(working.lease, settlement).await.unwrap(), Fenced::Done);
    for chain in both {
        assert_eq!(ledger.due(chain).await.unwrap(), None);
    }
    assert!(ledger.due(other).await.unwrap().is_some());
    assert!(
        ledger.chains(&scene.tenant).await.unwrap().iter().all(|state| state.hold.as_ref() == Some(&hold))
    );
    assert_eq!(ledger.release(&scene.tenant, None, HoldReason::Operator).await.unwrap().len(), 2);
    assert!(ledger.due(chain).await.unwrap().is_some());
}

/// L36. A hold of one issuer stops its chains alone, and so does the release. A hold for a weightier
/// reason takes the place of another and is not displaced by it, also where a worker settles.
pub async fn l36_a_hold_is_for_an_issuer_and_has_its_weight(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let chain = scene.accept(&*ledger, &scene.invoice("F-1")).await.record.chain;
    let mut draft = scene.invoice("F-1");
    draft.invoice.issuer = Nif::parse("12345678Z").unwrap();
    let neighbour = scene.accept(&*ledger, &draft).await.record.chain;
    let hold = |reason| Hold { reason, description: format!("{reason:?}"), since: scene.now() };
    let reason = async || ledger.chain(chain).await.unwrap().unwrap().hold.map(|hold| hold.reason);
    let issuer = Some(scene.issuer);
    for (heavier, lighter) in [
        (HoldReason::Operator, HoldReason::Certificate),
        (HoldReason::Suspended, HoldReason::Operator),
        (HoldReason::Suspended, HoldReason::Certificate),
    ] {
        assert_eq!(ledger.hold(&scene.tenant, issuer, &hold(lighter)).await.unwrap(), [chain]);
        assert_eq!(ledger.hold(&scene.tenant, issuer, &hold(heavier)).await.unwrap(), [chain]);
        assert!(ledger.hold(&scene.tenant, issuer, &hold(lighter)).await.unwrap().is_empty());
        let claimed = claim(&*ledger, chain).await;
        let settlement = Settlement { hold: Some(hold(lighter)), ..quick_settlement(&claimed, scene.now()) };
        assert_eq!(ledger.settle(claimed.lease, settlement).await.unwrap(), Fenced::Done);
        assert_eq!(reason().await, Some(heavier));
        assert!(ledger.release(&scene.tenant, issuer, lighter).await.unwrap().is_empty());
        assert_eq!(ledger.release(&scene.tenant, issuer, heavier).await.unwrap(), [chain]);
        assert_eq!(reason().await, None);
    }
    assert_eq!(ledger.chain(neighbour).await.unwrap().unwrap().hold, None);
    assert_eq!(ledger.hold(&scene.tenant, None, &hold(HoldReason::Operator)).await.unwrap().len(), 2);
    assert_eq!(ledger.release(&scene.tenant, issuer, HoldReason::Operator).await.unwrap(), [chain]);
    assert!(ledger.chain(neighbour).await.unwrap().unwrap().hold.is_some());
    assert_eq!(ledger.chain(ChainId(scene.invoice("F-9").job.0)).await.unwrap(), None);
}

/// L37. An operator's search goes through the chains of all accounts in the order of their identifiers,
/// and tells since when the oldest job of each waits.
pub async fn l37_chains_of_all_accounts_are_searched(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let began = scene.now();
    let first = scene.accept(&*ledger, &scene.invoice("F-1")).await;
    scene.clock.set(began + 5.seconds());
    let second = scene.accept(&*ledger, &Draft { at: scene.now(), ..scene.invoice("F-2") }).await;
    let other = scene.of("other");
    let elsewhere = scene.accept(&*ledger, &Draft { at: scene.now(), ..other.invoice("F-1") }).await;
    let (chain, beside) = (first.record.chain, elsewhere.record.chain);
    let page = async |search: ChainSearch, page| ledger.search_chains(&search, page).await.unwrap();
    let found = async |search: ChainSearch, after, limit| {
        let found = page(search, Page::behind(after, limit)).await.items;
        found.into_iter().map(|(state, oldest)| (state.id, oldest)).collect::<Vec<_>>()
    };
    let all = ChainSearch::default;
    let (of_first, of_other) = ((chain, Some(began)), (beside, Some(began + 5.seconds())));
    assert_eq!(found(all(), None, 9).await, [of_first, of_other]);
    assert_eq!(found(all(), None, 1).await, [of_first]);
    assert_eq!(found(all(), Some(chain), 9).await, [of_other]);
    for (search, skipped, items, more, total) in [
        (all(), 0, 1, true, 2),
        (all(), 1, 1, false, 2),
        (ChainSearch { tenant: Some(other.tenant.clone()), ..all() }, 0, 1, false, 1),
    ] {
        let page = page(search, Page { start: Start::Skip(skipped), limit: 1 }).await;
        assert_eq!((page.items.len(), page.more, page.total), (items, more, Some(total)));
    }
    let own = ChainSearch { tenant: Some(other.tenant.clone()), ..all() };
    assert_eq!(found(own, None, 9).await, [of_other]);
    let stranger = ChainSearch { issuer: Some(Nif::parse("12345678Z").unwrap()), ..all() };
    assert_eq!(found(stranger, None, 9).await, []);

    let hold = Hold { reason: HoldReason::Operator, description: String::new(), since: scene.now() };
    ledger.hold(&other.tenant, None, &hold).await.unwrap();
    assert_eq!(found(ChainSearch { held: true, ..all() }, None, 9).await, [of_other]);

    let done = Progress { state: JobState::Succeeded, ..Progress::new() };
    scene.set(&*ledger, chain, &[(first.job.id, done.clone())]).await;
    assert_eq!(found(all(), None, 1).await, [(chain, Some(began + 5.seconds()))]);
    scene.set(&*ledger, chain, &[(second.job.id, done)]).await;
    assert_eq!(found(all(), None, 1).await, [(chain, None)]);
}

/// L29. A ledger that works says so.
pub async fn l29_the_store_can_be_probed(ledger: Arc<dyn Ledger>) {
    ledger.probe().await.unwrap();
    ledger.probe().await.unwrap();
}
