//! Sentences about the append and what it leaves behind.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use jiff::ToSpan;
use tokio::task::JoinSet;

use crate::{
    job::{JobState, Progress, Standing},
    ledger::{
        Append, Appended, Installation, Ledger, LedgerErrorKind, PriorRecord, Quota, Refusal, Submission,
    },
    record::SystemId,
    testing::{Draft, Scene, Sealing},
    types::{JobId, Text},
};

/// L1. The first record of a chain has position 1 and no predecessor; its job is PENDING and due now.
pub async fn l01_the_first_record_starts_the_chain(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let draft = scene.invoice("F-1");
    let Appended::New { submission, due } = ledger.append(draft.append()).await.unwrap() else {
        panic!("not appended");
    };
    assert_eq!(due, Some(scene.now()));
    let Submission { job, record } = *submission;
    assert_eq!((record.position, record.previous, record.id), (1, None, draft.record));
    assert_eq!(record.invoice, draft.invoice);
    assert_eq!(record.total.unwrap().to_string(), "121.0");
    // The record's own identifier, which stands in for a reference, is not the caller's.
    assert_eq!(record.external_reference, None);
    assert_eq!(record.sent_xml, None);
    assert_eq!((job.id, job.kind, job.request), (draft.job, draft.kind, draft.request));
    assert_eq!((job.created_at, job.updated_at), (draft.at, draft.at));
    assert_eq!(job.progress, Progress::new());
}

/// L2. Records of a chain follow one another, whatever their kind and series: each names the huella of
/// the one before, and positions have no gap.
pub async fn l02_records_follow_one_another(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let drafts = [
        scene.invoice("A-1"),
        scene.invoice("B/1"),
        scene.cancellation("A-1"),
        scene.correction("B/1"),
        scene.invoice("A-2"),
    ];
    let mut previous = None;
    for (draft, position) in drafts.iter().zip(1..) {
        let record = scene.accept(&*ledger, draft).await.record;
        assert_eq!((record.position, record.previous), (position, previous));
        assert_eq!(record.kind, draft.kind.record_kind());
        previous = Some(record.huella);
    }
}

/// L3. Account, issuer, producer, product and installation make the chain.
pub async fn l03_chains_are_apart(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let first = scene.accept(&*ledger, &scene.invoice("F-1")).await.record;
    let mut other_issuer = scene.invoice("F-2");
    other_issuer.invoice.issuer = crate::types::Nif::parse("12345678Z").unwrap();
    let apart = [
        scene.of("other").invoice("F-1"),
        other_issuer,
        Draft { producer: "A58818501".to_owned(), ..scene.invoice("F-3") },
        Draft { system: SystemId::parse("78").unwrap(), ..scene.invoice("F-4") },
        Draft { installation: Installation::Named(Text::parse("2").unwrap()), ..scene.invoice("F-5") },
    ];
    let mut chains = std::collections::HashSet::from([first.chain]);
    for draft in &apart {
        let record = scene.accept(&*ledger, draft).await.record;
        assert_eq!(record.position, 1, "{draft:?}");
        assert!(chains.insert(record.chain), "{draft:?}");
    }
    let again = scene.accept(&*ledger, &scene.invoice("F-6")).await.record;
    assert_eq!((again.chain, again.position), (first.chain, 2));
}

/// L4. A key that was used answers with the first request's fingerprint and what it became, whatever
/// else the new request says, and writes nothing.
pub async fn l04_a_used_key_replays(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let first = scene.invoice("F-1");
    let accepted = scene.accept(&*ledger, &first).await;
    let failed = Progress { state: JobState::Failed, attempts: 1, sent: true, ..Progress::new() };
    scene.set(&*ledger, accepted.record.chain, &[(accepted.job.id, failed.clone())]).await;

    let again = Draft { key: first.key.clone(), ..scene.invoice("F-2") };
    for draft in [&first, &again] {
        let Appended::Replay { fingerprint, submission } = ledger.append(draft.append()).await.unwrap()
        else {
            panic!("not a replay");
        };
        assert_eq!((fingerprint, submission.job.id), (first.fingerprint, accepted.job.id));
        assert_eq!(submission.job.progress, failed);
        assert_eq!(submission.record, accepted.record);
    }
    let (fingerprint, replayed) =
        ledger.replay(&first.tenant, first.kind, &first.key).await.unwrap().unwrap();
    assert_eq!((fingerprint, replayed.record), (first.fingerprint, accepted.record));
    assert_eq!(ledger.chains(&scene.tenant).await.unwrap()[0].length, 1);
}

/// L5. A key belongs to one account and one kind of job.
pub async fn l05_a_key_belongs_to_account_and_kind(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let first = scene.invoice("F-1");
    scene.accept(&*ledger, &first).await;
    let key = first.key.clone();
    scene.accept(&*ledger, &Draft { key: key.clone(), ..scene.cancellation("F-1") }).await;
    scene.accept(&*ledger, &Draft { key: key.clone(), ..scene.of("other").invoice("F-1") }).await;
    let stranger = scene.of("third").tenant;
    assert!(ledger.replay(&stranger, first.kind, &key).await.unwrap().is_none());
    assert!(ledger.replay(&first.tenant, first.kind, "unknown").await.unwrap().is_none());
}

/// L6. An account submits an invoice once, in whatever installation and whatever became of it: a second
/// request answers with the job of its newest alta, writes nothing and leaves its key unused.
pub async fn l06_an_invoice_is_submitted_once(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let first = scene.accept(&*ledger, &scene.invoice("F-1")).await;
    let dead = Progress { state: JobState::Dead, ..Progress::new() };
    scene.set(&*ledger, first.record.chain, &[(first.job.id, dead)]).await;
    let elsewhere =
        Draft { installation: Installation::Named(Text::parse("2").unwrap()), ..scene.invoice("F-1") };
    for draft in [scene.invoice("F-1"), elsewhere] {
        let appended = ledger.append(draft.append()).await.unwrap();
        assert!(matches!(appended, Appended::AlreadySubmitted(job) if job == first.job.id), "{appended:?}");
        assert!(ledger.replay(&draft.tenant, draft.kind, &draft.key).await.unwrap().is_none());
    }
    let newest = scene.accept(&*ledger, &scene.correction("F-1")).await.job.id;
    scene.accept(&*ledger, &scene.cancellation("F-1")).await;
    let appended = ledger.append(scene.invoice("F-1").append()).await.unwrap();
    assert!(matches!(appended, Appended::AlreadySubmitted(job) if job == newest), "{appended:?}");

    // Only cancelled here, so known all the same.
    let cancelled = scene.accept(&*ledger, &scene.cancellation("F-9")).await.job.id;
    let appended = ledger.append(scene.invoice("F-9").append()).await.unwrap();
    assert!(matches!(appended, Appended::AlreadySubmitted(job) if job == cancelled), "{appended:?}");

    let mut other_day = scene.invoice("F-1");
    other_day.invoice.date = crate::types::Date::parse("2026-07-02").unwrap();
    scene.accept(&*ledger, &other_day).await;
    scene.accept(&*ledger, &scene.of("other").invoice("F-1")).await;
}

/// L7. A record that may repeat an invoice sees the account's earlier records of it, oldest first, from
/// every chain, with what the authority holds of each.
pub async fn l07_a_repeat_sees_the_history(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let alta = scene.accept(&*ledger, &scene.invoice("F-1")).await;
    let elsewhere =
        Draft { installation: Installation::Named(Text::parse("2").unwrap()), ..scene.cancellation("F-1") };
    let cancelled = scene.accept(&*ledger, &elsewhere).await;
    scene.accept(&*ledger, &scene.invoice("F-2")).await;
    let rejected = Progress { standing: Standing::Rejected, sent: true, ..Progress::new() };
    scene.set(&*ledger, cancelled.record.chain, &[(cancelled.job.id, rejected)]).await;

    let (append, seen) = watched(&scene.correction("F-1"));
    assert!(matches!(ledger.append(append).await.unwrap(), Appended::New { .. }));
    let seen: Vec<_> = seen
        .lock()
        .unwrap()
        .iter()
        .map(|prior| (prior.job, prior.kind, prior.held, prior.rejected))
        .collect();
    let expected = [
        (alta.job.id, alta.record.kind, true, false),
        (cancelled.job.id, cancelled.record.kind, false, true),
    ];
    assert_eq!(seen, expected);
}

/// The draft's request, and the history that its sealer sees; the last one, should it run again.
fn watched(draft: &Draft) -> (Append, Arc<Mutex<Vec<PriorRecord>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (mut append, inner, sink) = (draft.append(), draft.append().seal, seen.clone());
    append.seal = Box::new(move |place| {
        sink.lock().unwrap().clone_from(&place.history);
        inner(place)
    });
    (append, seen)
}

/// L8. A plan's month counts new invoices, up to its limit; corrections, cancellations, replays and
/// refused requests are free, and so are requests without a plan.
pub async fn l08_the_plan_counts_new_invoices(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let plan = |month: &str, limit| Some(Quota { month: month.to_owned(), limit });
    let with = |draft: Draft, limit| Draft { quota: plan("2026-07", limit), ..draft };
    let first = with(scene.invoice("F-1"), Some(2));
    scene.accept(&*ledger, &first).await;
    for free in [
        with(scene.correction("F-1"), Some(2)),
        with(scene.cancellation("F-1"), Some(2)),
        scene.invoice("F-2"),
    ] {
        scene.accept(&*ledger, &free).await;
    }
    let refused = Draft { sealing: Sealing::Refuse, ..with(scene.invoice("F-3"), Some(2)) };
    for nothing in [first, with(scene.invoice("F-1"), Some(2)), refused] {
        ledger.append(nothing.append()).await.unwrap();
    }
    scene.accept(&*ledger, &with(scene.invoice("F-3"), Some(2))).await;
    let over = with(scene.invoice("F-4"), Some(2));
    let appended = ledger.append(over.append()).await.unwrap();
    assert!(matches!(appended, Appended::QuotaReached { used: 2 }), "{appended:?}");
    scene.accept(&*ledger, &with(scene.correction("F-4"), Some(2))).await;
    scene.accept(&*ledger, &Draft { quota: plan("2026-08", Some(1)), ..scene.invoice("F-5") }).await;
    scene.accept(&*ledger, &with(scene.of("other").invoice("F-1"), Some(1))).await;
    scene.accept(&*ledger, &with(scene.invoice("F-6"), None)).await;
    let appended = ledger.append(with(scene.invoice("F-7"), Some(3)).append()).await.unwrap();
    assert!(matches!(appended, Appended::QuotaReached { used: 3 }), "{appended:?}");
}

/// L9. A sealer that refuses leaves no trace: no chain, no record, no used key.
pub async fn l09_a_refusal_leaves_no_trace(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let draft = Draft { sealing: Sealing::Refuse, ..scene.invoice("F-1") };
    let appended = ledger.append(draft.append()).await.unwrap();
    let Appended::Refused(refusal) = appended else { panic!("not refused: {appended:?}") };
    assert_eq!(*refusal, Refusal::NotFirst);
    assert!(ledger.chains(&scene.tenant).await.unwrap().is_empty());
    let accepted = scene.accept(&*ledger, &Draft { sealing: Sealing::Honest, ..draft }).await;
    assert_eq!(accepted.record.position, 1);
}

/// L10. A sealed record that does not continue its chain is an error and leaves no trace: one with
/// another predecessor, of another invoice, or dated before its predecessor; and so is an identifier
/// that was given before.
pub async fn l10_a_misfit_is_an_error_without_trace(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let first = scene.accept(&*ledger, &scene.invoice("F-1")).await;
    let draft = scene.invoice("F-2");
    let misfits = [Sealing::WrongPredecessor, Sealing::WrongInvoice, Sealing::Backdated]
        .map(|sealing| Draft { sealing, ..draft.clone() });
    let twice =
        [Draft { job: first.job.id, ..draft.clone() }, Draft { record: first.record.id, ..draft.clone() }];
    for misfit in misfits.into_iter().chain(twice) {
        let error = ledger.append(misfit.append()).await.unwrap_err();
        assert_eq!(error.kind, LedgerErrorKind::Corrupt, "{misfit:?}");
    }
    assert_eq!(ledger.records(first.record.chain, 1, 9).await.unwrap(), [first.record]);
    assert_eq!(scene.accept(&*ledger, &draft).await.record.position, 2);
}

/// L11. A minted installation is created once for account, issuer, producer and product, and found
/// after that; a named one is taken as it is named.
pub async fn l11_a_minted_installation_is_kept(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let minted = |number: &str, text: &str| Draft {
        installation: Installation::Minted(Text::parse(text).unwrap()),
        ..scene.invoice(number)
    };
    let named = scene.accept(&*ledger, &scene.invoice("F-1")).await.record;
    let first = scene.accept(&*ledger, &minted("F-2", "m-1")).await.record;
    let second = scene.accept(&*ledger, &minted("F-3", "m-2")).await.record;
    assert_ne!(first.chain, named.chain);
    assert_eq!((second.chain, second.position), (first.chain, 2));
    let by_name =
        Draft { installation: Installation::Named(Text::parse("m-1").unwrap()), ..scene.invoice("F-4") };
    assert_eq!(scene.accept(&*ledger, &by_name).await.record.chain, first.chain);

    let other = Draft { system: SystemId::parse("78").unwrap(), ..minted("F-5", "m-3") };
    assert_eq!(scene.accept(&*ledger, &other).await.record.position, 1);
    let taken = Draft { producer: "A58818501".to_owned(), ..scene.invoice("F-6") };
    scene.accept(&*ledger, &taken).await;
    let taken = Draft { installation: Installation::Minted(Text::parse("1").unwrap()), ..taken };
    let taken = Draft { key: "another".to_owned(), repeats: true, ..taken };
    assert_eq!(ledger.append(taken.append()).await.unwrap_err().kind, LedgerErrorKind::Corrupt);
}

/// L12. The sealer is told whether the account has several chains, the new one counted.
pub async fn l12_several_chains_are_told(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let several = |draft: Draft| {
        let ledger = ledger.clone();
        async move {
            let told = Arc::new(Mutex::new(None));
            let mut append = draft.append();
            let (inner, sink) = (draft.append().seal, told.clone());
            append.seal = Box::new(move |place| {
                *sink.lock().unwrap() = Some(place.several_chains);
                inner(place)
            });
            ledger.append(append).await.unwrap();
            told.lock().unwrap().unwrap()
        }
    };
    let second = Installation::Named(Text::parse("2").unwrap());
    assert!(!several(scene.invoice("F-1")).await);
    assert!(!several(scene.invoice("F-2")).await);
    assert!(several(Draft { installation: second, ..scene.invoice("F-3") }).await);
    assert!(several(scene.invoice("F-4")).await);
    assert!(!several(scene.of("other").invoice("F-1")).await);
}

/// Appends all drafts at the same time.
async fn at_once(ledger: &Arc<dyn Ledger>, drafts: Vec<Draft>) -> Vec<Appended> {
    let mut tasks = JoinSet::new();
    for draft in drafts {
        let ledger = ledger.clone();
        tasks.spawn(async move { ledger.append(draft.append()).await.unwrap() });
    }
    tasks.join_all().await
}

/// L13. Requests at the same time make one chain without fork or gap.
pub async fn l13_appends_at_the_same_time_make_one_chain(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let drafts: Vec<_> = (0..100).map(|number| scene.invoice(&format!("F-{number}"))).collect();
    let appended = at_once(&ledger, drafts).await;
    assert!(appended.iter().all(|appended| matches!(appended, Appended::New { .. })));
    let chains = ledger.chains(&scene.tenant).await.unwrap();
    assert_eq!(chains.len(), 1);
    let records = ledger.records(chains[0].id, 1, 1000).await.unwrap();
    assert_eq!((records.len(), chains[0].length, chains[0].pending), (100, 100, 100));
    let mut previous = None;
    for (record, position) in records.iter().zip(1..) {
        assert_eq!((record.position, record.previous), (position, previous));
        previous = Some(record.huella);
    }
    assert_eq!(chains[0].last_huella, previous);
}

/// L14. One key at the same time is one record; the others replay it.
pub async fn l14_the_same_key_at_the_same_time_is_one_record(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let one = scene.invoice("F-1");
    let drafts = (0..20).map(|_| Draft { key: one.key.clone(), ..scene.invoice("F-1") }).collect();
    let appended = at_once(&ledger, drafts).await;
    let new = appended.iter().filter(|appended| matches!(appended, Appended::New { .. })).count();
    let replayed = appended.iter().filter(|appended| matches!(appended, Appended::Replay { .. })).count();
    assert_eq!((new, replayed), (1, 19));
}

/// L15. One invoice at the same time under different keys is one record.
pub async fn l15_the_same_invoice_at_the_same_time_is_one_record(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let appended = at_once(&ledger, (0..20).map(|_| scene.invoice("F-1")).collect()).await;
    let new = appended.iter().filter(|appended| matches!(appended, Appended::New { .. })).count();
    assert_eq!(new, 1);
    assert_eq!(ledger.chains(&scene.tenant).await.unwrap()[0].length, 1);
}

/// L16. A job is shown to its account only.
pub async fn l16_jobs_belong_to_their_account(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let accepted = scene.accept(&*ledger, &scene.invoice("F-1")).await;
    assert_eq!(ledger.job(&scene.tenant, accepted.job.id).await.unwrap(), Some(accepted.clone()));
    assert_eq!(ledger.job(&scene.of("other").tenant, accepted.job.id).await.unwrap(), None);
    assert_eq!(ledger.job(&scene.tenant, scene.invoice("F-2").job).await.unwrap(), None);
}

/// L17. Records are read from a position on, in order, up to a limit, exactly as they were sealed.
pub async fn l17_records_are_read_in_order(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let accepted = scene.accept_many(&*ledger, 5).await;
    let records: Vec<_> = accepted.into_iter().map(|submission| submission.record).collect();
    let chain = records[0].chain;
    assert_eq!(ledger.records(chain, 1, 100).await.unwrap(), records);
    assert_eq!(ledger.records(chain, 0, 2).await.unwrap(), records[..2]);
    assert_eq!(ledger.records(chain, 4, 100).await.unwrap(), records[3..]);
    assert!(ledger.records(chain, 6, 100).await.unwrap().is_empty());
    assert!(ledger.records(chain, u64::MAX, 100).await.unwrap().is_empty());
    let unknown = crate::types::ChainId(uuid::Uuid::nil());
    assert!(ledger.records(unknown, 1, 100).await.unwrap().is_empty());
}

/// L18. An account's chains are listed with their length, head and number of unfinished jobs.
pub async fn l18_chains_are_listed_for_their_account(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let accepted = scene.accept_many(&*ledger, 3).await;
    scene.accept(&*ledger, &scene.of("other").invoice("F-1")).await;
    scene.clock.set(scene.now() + 5.seconds());
    let chain = accepted[0].record.chain;
    let done = Progress { state: JobState::Succeeded, sent: true, ..Progress::new() };
    scene.set(&*ledger, chain, &[(accepted[0].job.id, done)]).await;
    let chains = ledger.chains(&scene.tenant).await.unwrap();
    let [state] = chains.as_slice() else { panic!("one chain: {chains:?}") };
    let last = &accepted[2].record;
    assert_eq!((state.id, state.length, state.pending), (chain, 3, 2));
    assert_eq!(
        (state.last_huella, state.last_number.as_ref()),
        (Some(last.huella), Some(&last.invoice.number))
    );
    assert_eq!((state.wait_seconds, state.next_slot_at, state.last_slot), (None, None, None));
    assert_eq!((&state.hold, state.unreachable_count, state.updated_at), (&None, 0, scene.now()));
    assert_eq!((state.key.tenant.as_str(), state.key.installation.as_str()), ("acme", "1"));
}

/// L19. Records of one invoice at the same time, on several chains of the account, stand in one order:
/// each sees all that are before it, and a new invoice none.
pub async fn l19_records_of_an_invoice_see_one_another(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    for round in 0..25 {
        let number = format!("F-{round}");
        let drafts = [
            scene.invoice(&number),
            scene.correction(&number),
            scene.cancellation(&number),
            scene.correction(&number),
        ];
        let invoice = drafts[0].invoice.clone();
        let mut tasks = JoinSet::new();
        for (draft, installation) in drafts.into_iter().zip(["1", "2", "3", "4"]) {
            let installation = Installation::Named(Text::parse(installation).unwrap());
            let (append, seen) = watched(&Draft { installation, ..draft });
            let (job, ledger) = (append.job, ledger.clone());
            tasks.spawn(async move { (job, ledger.append(append).await.unwrap(), seen) });
        }
        let (mut appended, mut refused) = (HashMap::new(), 0);
        for (job, outcome, seen) in tasks.join_all().await {
            match outcome {
                Appended::New { .. } => drop(appended.insert(job, seen)),
                Appended::AlreadySubmitted(_) => refused += 1,
                other => panic!("{other:?}"),
            }
        }
        let history = ledger.history(&scene.tenant, &invoice).await.unwrap();
        assert_eq!((history.len(), history.len() + refused), (appended.len(), 4));
        let order: Vec<JobId> = history.iter().map(|known| known.job.id).collect();
        for (known, before) in history.iter().zip(0..) {
            let seen = appended[&known.job.id].lock().unwrap();
            let seen: Vec<JobId> = seen.iter().map(|prior| prior.job).collect();
            assert_eq!(seen, order[..before], "{:?} of round {round}", known.record.kind);
        }
    }
}
