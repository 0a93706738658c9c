//! Sentences about what operators look for across accounts.

use std::sync::Arc;

use bytes::Bytes;
use jiff::ToSpan;
use uuid::Uuid;

use crate::{
    job::{Failure, FailureClass, FailureSource, JobState, Progress},
    ledger::{Fenced, Ledger, Page, Search, Settlement, Start},
    testing::{Draft, Scene, quick_settlement},
    types::JobId,
};

/// L70. A job of any account is found by its identifier.
pub async fn l70_a_job_of_any_account_is_found(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let job = scene.accept(&*ledger, &scene.invoice("F-1")).await;
    let other = scene.accept(&*ledger, &scene.of("other").invoice("F-1")).await;
    assert_eq!(ledger.find_job(job.job.id).await.unwrap(), Some(job));
    assert_eq!(ledger.find_job(other.job.id).await.unwrap(), Some(other));
    assert_eq!(ledger.find_job(JobId(Uuid::nil())).await.unwrap(), None);
}

/// L71. A search goes through all accounts, newest first; what it asks for narrows it down, alone and
/// together.
pub async fn l71_a_search_goes_through_all_accounts(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let begin = scene.now();
    let other = scene.of("other");
    let mut jobs = Vec::new();
    for (scene, number) in [(&scene, "A"), (&other, "B"), (&scene, "C"), (&other, "D")] {
        let draft = Draft { at: scene.now(), ..scene.invoice(number) };
        jobs.push(scene.accept(&*ledger, &draft).await);
        scene.clock.set(scene.now() + 1.minute());
    }
    let failed = |state, class, code| Progress {
        state,
        failure: Some(Failure {
            source: FailureSource::Authority,
            class,
            code,
            description: "no".to_owned(),
            at: begin,
            superseded_by: None,
        }),
        ..Progress::new()
    };
    let set = [
        (&jobs[0], failed(JobState::Failed, FailureClass::Rejected, Some(1239))),
        (&jobs[1], failed(JobState::Failed, FailureClass::InDoubt, None)),
        (&jobs[2], Progress { state: JobState::Succeeded, ..Progress::new() }),
    ];
    for (job, progress) in set {
        scene.set(&*ledger, job.record.chain, &[(job.job.id, progress)]).await;
    }

    let none = Search::default;
    let cases: Vec<(Search, &str)> = vec![
        (none(), "DCBA"),
        (Search { tenant: Some(other.tenant.clone()), ..none() }, "DB"),
        (Search { request: Some(jobs[2].job.request), ..none() }, "C"),
        (Search { state: Some(JobState::Failed), ..none() }, "BA"),
        (Search { state: Some(JobState::Succeeded), ..none() }, "C"),
        (Search { class: Some(FailureClass::InDoubt), ..none() }, "B"),
        (Search { code: Some(1239), ..none() }, "A"),
        (Search { code: Some(1), ..none() }, ""),
        (Search { until: Some(begin + 2.minutes()), ..none() }, "BA"),
        (
            Search {
                tenant: Some(other.tenant.clone()),
                state: Some(JobState::Failed),
                class: Some(FailureClass::InDoubt),
                until: Some(begin + 2.minutes()),
                ..none()
            },
            "B",
        ),
        (Search { tenant: Some(scene.tenant.clone()), class: Some(FailureClass::InDoubt), ..none() }, ""),
    ];
    let find = async |search: &Search, start, limit| {
        let found = ledger.search(search, Page { start, limit }).await.unwrap();
        let numbers = found.items.iter().map(|found| found.record.invoice.number.to_string());
        (numbers.collect::<String>(), found.more, found.total)
    };
    let told = |numbers: &str, more, total| (numbers.to_owned(), more, Some(total));
    for (search, wanted) in cases {
        let total = u32::try_from(wanted.len()).unwrap();
        assert_eq!(find(&search, Start::Skip(0), 10).await, told(wanted, false, total), "{search:?}");
    }
    assert_eq!(find(&none(), Start::Skip(0), 3).await, told("DCB", true, 4));
    assert_eq!(find(&none(), Start::Skip(1), 3).await, told("CBA", false, 4));
    assert_eq!(find(&none(), Start::After(jobs[2].job.id), 10).await, told("BA", false, 4));
    assert_eq!(find(&none(), Start::After(JobId(Uuid::nil())), 10).await, told("", false, 4));
}

/// L72. The messages that carried a record are told in order, each with its answer once it is settled.
pub async fn l72_messages_are_told_with_their_answers(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let jobs = scene.accept_many(&*ledger, 2).await;
    let claim = ledger.claim(jobs[0].record.chain).await.unwrap().unwrap();
    let (first, second) = (scene.message(&jobs, Vec::new()), scene.message(&jobs[1..], Vec::new()));
    for message in [&first, &second] {
        assert_eq!(ledger.open_message(claim.lease, message.clone()).await.unwrap(), Fenced::Done);
    }
    let at = scene.now() + 1.second();
    let settlement = Settlement {
        message: Some(first.id),
        answer: Some(Bytes::from_static(b"<answer/>")),
        ..quick_settlement(&claim, at)
    };
    assert_eq!(ledger.settle(claim.lease, settlement).await.unwrap(), Fenced::Done);

    let told = ledger.messages(jobs[1].job.id).await.unwrap();
    assert_eq!(told.iter().map(|told| told.id).collect::<Vec<_>>(), [first.id, second.id]);
    assert_eq!((told[0].at, told[0].settled_at), (first.at, Some(at)));
    assert_eq!(told[0].answer.as_deref(), Some(&b"<answer/>"[..]));
    assert_eq!((told[1].settled_at, &told[1].answer), (None, &None));
    assert_eq!(ledger.messages(jobs[0].job.id).await.unwrap(), told[..1]);
    assert_eq!(ledger.messages(JobId(Uuid::nil())).await.unwrap(), []);
}
