//! Sentences about what operators see and do across all accounts.

use std::{collections::HashMap, sync::Arc};

use jiff::ToSpan;

use crate::{
    job::{JobState, Progress, Standing},
    ledger::{
        Appended, Attempt, AttemptOutcome, ChainSearch, Fenced, Hold, HoldReason, Installation, JobUpdate,
        Ledger, Overview, Page, Settlement,
    },
    testing::{Draft, Scene, quick_settlement},
    types::{ChainId, Text},
};

/// L80. All chains come in pages, whatever their account, in the order of their identifiers.
pub async fn l80_all_chains_come_in_pages(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let mut chains = Vec::new();
    for tenant in ["a", "b", "c"] {
        chains.push(scene.accept(&*ledger, &scene.of(tenant).invoice("F-1")).await.record.chain);
    }
    chains.sort_unstable();
    let page = async |after: Option<ChainId>| -> Vec<ChainId> {
        let found = ledger.search_chains(&ChainSearch::default(), Page::behind(after, 2)).await.unwrap();
        found.items.into_iter().map(|(chain, _)| chain.id).collect()
    };
    assert_eq!(page(None).await, chains[..2]);
    assert_eq!(page(Some(chains[1])).await, chains[2..]);
    assert!(page(Some(chains[2])).await.is_empty());
}

/// L81. The overview counts unfinished jobs by state and held chains by reason, and names the oldest job
/// that waits.
pub async fn l81_the_overview_counts_what_waits(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    assert_eq!(ledger.overview().await.unwrap(), Overview::default());
    let begin = scene.now();
    let mut jobs = Vec::new();
    for number in 1..=7 {
        let draft = Draft { at: scene.now(), ..scene.invoice(&format!("F-{number}")) };
        jobs.push(scene.accept(&*ledger, &draft).await);
        scene.clock.set(scene.now() + 1.minute());
    }
    let of = |state| Progress { state, ..Progress::new() };
    let retry_at = Some(scene.now() + 1.hour());
    let doubtful = Progress { standing: Standing::InDoubt, next_retry_at: retry_at, ..of(JobState::Failed) };
    let set = [
        (jobs[0].job.id, of(JobState::Succeeded)),
        (jobs[1].job.id, of(JobState::Dead)),
        (jobs[2].job.id, Progress { sent: true, next_retry_at: retry_at, ..of(JobState::Failed) }),
        (jobs[3].job.id, doubtful),
        (jobs[4].job.id, of(JobState::Processing)),
    ];
    scene.set(&*ledger, jobs[0].record.chain, &set).await;
    let other = scene.of("other");
    scene.accept(&*ledger, &other.invoice("F-1")).await;
    for (tenant, reason) in [(&scene.tenant, HoldReason::Operator), (&other.tenant, HoldReason::Certificate)]
    {
        let hold = Hold { reason, description: "held".to_owned(), since: begin };
        assert_eq!(ledger.hold(tenant, None, &hold).await.unwrap().len(), 1);
    }
    let wanted = Overview {
        pending: 3,
        processing: 1,
        failed: 2,
        in_doubt: 1,
        oldest_pending: Some(begin + 5.minutes()),
        held_for_certificate: 1,
        held_by_operator: 1,
        held_as_suspended: 0,
    };
    assert_eq!(ledger.overview().await.unwrap(), wanted);
}

/// L82. Messages that were settled and attempts are forgotten once they are old, in steps; records, the
/// bytes they were sent as, their answer lines and keys stay, and so does a message that is open.
pub async fn l82_old_messages_and_attempts_are_forgotten(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let jobs = scene.accept_many(&*ledger, 3).await;
    let chain = jobs[0].record.chain;
    let mut kept = Vec::new();
    for job in &jobs {
        let claim = ledger.claim(chain).await.unwrap().unwrap();
        let message = scene.message(std::slice::from_ref(job), Vec::new());
        assert_eq!(ledger.open_message(claim.lease, message.clone()).await.unwrap(), Fenced::Done);
        let attempt = Attempt {
            started_at: scene.now(),
            duration_ms: 5,
            outcome: AttemptOutcome::Accepted,
            code: None,
            message: Some(message.id),
        };
        let update = JobUpdate {
            job: job.job.id,
            progress: Progress { state: JobState::Succeeded, sent: true, ..Progress::new() },
            attempt: Some(attempt),
            answer_line: Some(bytes::Bytes::from_static(b"<line/>")),
        };
        let settlement = Settlement {
            message: Some(message.id),
            answer: Some(bytes::Bytes::from_static(b"<answer/>")),
            updates: vec![update],
            ..quick_settlement(&claim, scene.now())
        };
        assert_eq!(ledger.settle(claim.lease, settlement).await.unwrap(), Fenced::Done);
        kept.push(ledger.job(&scene.tenant, job.job.id).await.unwrap().unwrap());
        scene.clock.set(scene.now() + 24.hours());
    }
    let claim = ledger.claim(chain).await.unwrap().unwrap();
    let open = scene.message(&jobs[..1], Vec::new());
    assert_eq!(ledger.open_message(claim.lease, open.clone()).await.unwrap(), Fenced::Done);

    let before = scene.now() - 36.hours();
    let mut steps = Vec::new();
    while steps.last() != Some(&0) {
        steps.push(ledger.prune(before, 1).await.unwrap());
    }
    assert_eq!(steps, [2, 2, 0]);
    assert_eq!(ledger.prune(before, 100).await.unwrap(), 0);
    for (job, left) in jobs.iter().zip([0, 0, 1]) {
        let carried = ledger.messages(job.job.id).await.unwrap();
        assert_eq!(carried.iter().filter(|message| message.settled_at.is_some()).count(), left);
        assert_eq!(ledger.attempts(job.job.id).await.unwrap().len(), left);
        assert_eq!(ledger.answer_line(job.job.id).await.unwrap().as_deref(), Some(&b"<line/>"[..]));
    }
    for known in &kept {
        assert_eq!(ledger.job(&scene.tenant, known.job.id).await.unwrap().as_ref(), Some(known));
        assert!(known.record.sent_xml.is_some());
    }
    assert_eq!(ledger.prune(scene.now() + 1.hour(), 100).await.unwrap(), 2);
    assert_eq!(ledger.messages(jobs[0].job.id).await.unwrap()[0].id, open.id);
    assert_eq!(ledger.claim(chain).await.unwrap().unwrap().open[0].id, open.id);
}

/// L83. Nothing is appended to a closed chain: a minted installation is minted anew, a named one is told to
/// be closed. Keys still replay, and invoices are still known.
pub async fn l83_a_closed_chain_gets_no_record(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let minted = |text: &str| Installation::Minted(Text::parse(text).unwrap());
    let with = |draft: Draft, installation| Draft { installation, ..draft };
    let first = with(scene.invoice("F-1"), minted("one"));
    let old = scene.accept(&*ledger, &first).await;
    let named = scene.accept(&*ledger, &scene.invoice("F-2")).await;
    let same = |progress: &Progress| progress.clone();
    assert_eq!(ledger.close_chains(scene.now(), Box::new(same)).await.unwrap(), 2);
    assert_eq!(ledger.close_chains(scene.now(), Box::new(same)).await.unwrap(), 0);

    let appended = ledger.append(scene.invoice("F-3").append()).await.unwrap();
    assert!(matches!(appended, Appended::Closed), "{appended:?}");
    // The text of a closed chain's minted installation does not open it either.
    let by_name = with(scene.invoice("F-3"), Installation::Named(Text::parse("one").unwrap()));
    let appended = ledger.append(by_name.append()).await.unwrap();
    assert!(matches!(appended, Appended::Closed), "{appended:?}");

    let appended = ledger.append(first.append()).await.unwrap();
    assert!(matches!(appended, Appended::Replay { .. }), "{appended:?}");
    let appended = ledger.append(with(scene.invoice("F-1"), minted("two")).append()).await.unwrap();
    assert!(matches!(appended, Appended::AlreadySubmitted(job) if job == old.job.id), "{appended:?}");

    let new = scene.accept(&*ledger, &with(scene.invoice("F-3"), minted("two"))).await.record;
    assert_eq!((new.position, new.previous), (1, None));
    let next = scene.accept(&*ledger, &with(scene.invoice("F-4"), minted("three"))).await.record;
    assert_eq!((next.chain, next.position, next.previous), (new.chain, 2, Some(new.huella)));
    let closed: HashMap<ChainId, bool> = ledger
        .chains(&scene.tenant)
        .await
        .unwrap()
        .into_iter()
        .map(|chain| (chain.id, chain.closed))
        .collect();
    let wanted = [(old.record.chain, true), (named.record.chain, true), (new.chain, false)];
    assert_eq!(closed, HashMap::from(wanted));
}

/// L84. Closing reassesses every unfinished job and leaves final ones; what waits on a closed chain is due and
/// can be sent. A closed chain does not make its issuer's next one the second of several.
pub async fn l84_closing_reassesses_what_is_unfinished(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let jobs = scene.accept_many(&*ledger, 3).await;
    let chain = jobs[0].record.chain;
    let done = Progress { state: JobState::Succeeded, ..Progress::new() };
    scene.set(&*ledger, chain, &[(jobs[0].job.id, done.clone())]).await;
    let at = scene.now() + 1.minute();
    let doubtful = Progress {
        state: JobState::Failed,
        standing: Standing::InDoubt,
        next_retry_at: Some(at),
        ..Progress::new()
    };
    let (fate, last) = (doubtful.clone(), jobs[2].job.id);
    let dead = Progress { state: JobState::Dead, ..Progress::new() };
    scene.set(&*ledger, chain, &[(last, Progress { attempts: 3, ..Progress::new() })]).await;
    let end = dead.clone();
    let reassess = move |progress: &Progress| if progress.attempts == 3 { end.clone() } else { fate.clone() };
    assert_eq!(ledger.close_chains(at, Box::new(reassess)).await.unwrap(), 1);
    for (job, wanted) in jobs.iter().zip([done, doubtful, dead]) {
        let found = ledger.job(&scene.tenant, job.job.id).await.unwrap().unwrap();
        assert_eq!(found.job.progress, wanted);
        assert_eq!(found.record, job.record);
    }
    assert_eq!(ledger.due(chain).await.unwrap(), Some(at));
    let claim = ledger.claim(chain).await.unwrap().unwrap();
    assert_eq!((claim.state.pending, claim.state.closed), (1, true));
    let message = scene.message(&jobs[1..2], Vec::new());
    assert_eq!(ledger.open_message(claim.lease, message).await.unwrap(), Fenced::Done);

    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut other_issuer = scene.invoice("F-9");
    other_issuer.invoice.issuer = crate::types::Nif::parse("12345678Z").unwrap();
    let named = Installation::Named(Text::parse("2").unwrap());
    for draft in [Draft { installation: named, ..scene.invoice("F-8") }, other_issuer] {
        let (mut append, inner, sink) = (draft.append(), draft.append().seal, seen.clone());
        append.seal = Box::new(move |place| {
            sink.lock().unwrap().push(place.several_chains);
            inner(place)
        });
        ledger.append(append).await.unwrap();
    }
    assert_eq!(*seen.lock().unwrap(), [false, true]);
}
