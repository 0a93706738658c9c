//! Sentences about lists and what is shown of single records.

use std::sync::Arc;

use bytes::Bytes;
use jiff::{Timestamp, ToSpan};

use crate::{
    job::{JobKind, JobState, Progress, Standing},
    ledger::{Fenced, Filter, JobUpdate, Ledger, Listing, Page, Start},
    testing::{Draft, Scene, quick_settlement},
    types::{Date, InvoiceNumber, JobId, Nif},
};

const ALL: Page = Page { start: Start::Skip(0), limit: 100 };

async fn numbers(ledger: &dyn Ledger, scene: &Scene, filter: &Filter, page: Page) -> (Vec<String>, Listing) {
    let listing = ledger.list(&scene.tenant, filter, page).await.unwrap().unwrap();
    (listing.items.iter().map(|item| item.record.invoice.number.to_string()).collect(), listing)
}

/// L50. A list has the newest first; every filter narrows it down, alone and together with others, and
/// what belongs to another account is in none.
pub async fn l50_lists_are_narrowed_down(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let begin = scene.now();
    let number = |text: &str| InvoiceNumber::parse(text).unwrap();
    let mut accepted = Vec::new();
    for draft in [scene.invoice("A-1"), scene.invoice("A-2"), scene.invoice("B-1"), scene.cancellation("A-1")]
    {
        let draft = Draft { at: scene.now(), ..draft };
        accepted.push(scene.accept(&*ledger, &draft).await);
        scene.clock.set(scene.now() + 1.minute());
    }
    let mut other_issuer = Draft { at: scene.now(), ..scene.invoice("A-3") };
    other_issuer.invoice.issuer = Nif::parse("12345678Z").unwrap();
    other_issuer.invoice.date = Date::parse("2026-06-30").unwrap();
    scene.accept(&*ledger, &other_issuer).await;
    scene.accept(&*ledger, &scene.of("other").invoice("A-1")).await;
    let progress = |state, standing| Progress { state, standing, sent: true, ..Progress::new() };
    let updates = [
        (accepted[0].job.id, progress(JobState::Succeeded, Standing::Accepted)),
        (accepted[1].job.id, progress(JobState::Failed, Standing::Rejected)),
        (accepted[2].job.id, progress(JobState::Dead, Standing::Rejected)),
    ];
    scene.set(&*ledger, accepted[0].record.chain, &updates).await;

    let none = Filter::default;
    let day = |text| Date::parse(text).unwrap();
    let at = |minutes: i64| Some(begin + minutes.minutes());
    let cases: Vec<(Filter, &[&str])> = vec![
        (none(), &["A-3", "A-1", "B-1", "A-2", "A-1"]),
        (Filter { kind: Some(JobKind::Cancel), ..none() }, &["A-1"]),
        (Filter { kind: Some(JobKind::Send), ..none() }, &["A-3", "B-1", "A-2", "A-1"]),
        (Filter { state: Some(JobState::Succeeded), ..none() }, &["A-1"]),
        (Filter { state: Some(JobState::Pending), ..none() }, &["A-3", "A-1"]),
        (Filter { state: Some(JobState::Processing), ..none() }, &[]),
        (Filter { standing: Some(Standing::Rejected), ..none() }, &["B-1", "A-2"]),
        (Filter { standing: Some(Standing::Accepted), ..none() }, &["A-1"]),
        (Filter { issuer: Some(scene.issuer), ..none() }, &["A-1", "B-1", "A-2", "A-1"]),
        (Filter { number: Some(number("A-1")), ..none() }, &["A-1", "A-1"]),
        (Filter { number: Some(number("A-")), ..none() }, &[]),
        (Filter { series: Some(number("A-")), ..none() }, &["A-3", "A-1", "A-2", "A-1"]),
        (Filter { issued: Some(day("2026-06-30")..=day("2026-06-30")), ..none() }, &["A-3"]),
        (
            Filter { issued: Some(day("2026-07-01")..=day("2026-07-31")), ..none() },
            &["A-1", "B-1", "A-2", "A-1"],
        ),
        (Filter { issued: Some(day("2026-07-02")..=day("2026-07-31")), ..none() }, &[]),
        (Filter { from: at(1), ..none() }, &["A-3", "A-1", "B-1", "A-2"]),
        (Filter { from: at(1), until: at(3), ..none() }, &["B-1", "A-2"]),
        (
            Filter { series: Some(number("A")), state: Some(JobState::Failed), from: at(1), ..none() },
            &["A-2"],
        ),
        (
            Filter {
                standing: Some(Standing::Rejected),
                kind: Some(JobKind::Cancel),
                until: at(9),
                ..none()
            },
            &[],
        ),
        (Filter { issuer: Some(scene.issuer), state: Some(JobState::Pending), ..none() }, &["A-1"]),
    ];
    for (filter, wanted) in cases {
        let (found, listing) = numbers(&*ledger, &scene, &filter, ALL).await;
        assert_eq!(found, wanted, "{filter:?}");
        assert_eq!((listing.total, listing.more), (Some(wanted.len() as u32), false), "{filter:?}");
    }
}

/// L51. A page begins where the one before ended, also when rows were added since; without a row to
/// begin behind there is no page.
pub async fn l51_pages_follow_one_another(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    // The same time, so the order of writing decides.
    let accepted = scene.accept_many(&*ledger, 5).await;
    let page = |start| Page { start, limit: 2 };
    let none = Filter::default();
    let (first, listing) = numbers(&*ledger, &scene, &none, page(Start::Skip(0))).await;
    assert_eq!((first, listing.more, listing.total), (vec!["F-5".into(), "F-4".into()], true, Some(5)));
    let last = listing.items[1].job.id;

    scene.clock.set(scene.now() + 1.minute());
    scene.accept(&*ledger, &Draft { at: scene.now(), ..scene.invoice("G-1") }).await;
    let (second, listing) = numbers(&*ledger, &scene, &none, page(Start::After(last))).await;
    assert_eq!((second, listing.more), (vec!["F-3".into(), "F-2".into()], true));
    let (third, listing) =
        numbers(&*ledger, &scene, &none, page(Start::After(listing.items[1].job.id))).await;
    assert_eq!((third, listing.more, listing.total), (vec!["F-1".into()], false, Some(6)));
    let (skipped, _) = numbers(&*ledger, &scene, &none, page(Start::Skip(1))).await;
    assert_eq!(skipped, ["F-5", "F-4"]);
    let (beyond, _) = numbers(&*ledger, &scene, &none, page(Start::Skip(100))).await;
    assert!(beyond.is_empty());

    // The job to begin behind need not be in the list itself.
    let filter = Filter { number: Some(InvoiceNumber::parse("F-2").unwrap()), ..Filter::default() };
    let (found, _) = numbers(&*ledger, &scene, &filter, page(Start::After(last))).await;
    assert_eq!(found, ["F-2"]);
    let stranger = scene.of("other").tenant;
    for (tenant, job) in [(&stranger, last), (&scene.tenant, JobId(uuid::Uuid::nil()))] {
        assert_eq!(ledger.list(tenant, &none, page(Start::After(job))).await.unwrap(), None);
    }
    assert_eq!(
        ledger.list(&stranger, &none, ALL).await.unwrap(),
        Some(Listing { items: Vec::new(), more: false, total: Some(0) })
    );
    assert_eq!(accepted.len(), 5);
}

/// L52. A record is found for its own account only.
pub async fn l52_records_belong_to_their_account(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let accepted = scene.accept(&*ledger, &scene.invoice("F-1")).await;
    let found = ledger.record(&scene.tenant, accepted.record.id).await.unwrap();
    assert_eq!(found, Some(accepted.clone()));
    assert_eq!(ledger.record(&scene.of("other").tenant, accepted.record.id).await.unwrap(), None);
}

/// L53. The authority's last line for a record is kept; a step without one leaves it.
pub async fn l53_the_answer_line_is_kept(ledger: Arc<dyn Ledger>) {
    let scene = Scene::new();
    let accepted = scene.accept(&*ledger, &scene.invoice("F-1")).await;
    assert_eq!(ledger.answer_line(accepted.job.id).await.unwrap(), None);
    for (line, wanted) in [(Some("one"), "one"), (None, "one"), (Some("two"), "two")] {
        let claim = ledger.claim(accepted.record.chain).await.unwrap().unwrap();
        let update = JobUpdate {
            job: accepted.job.id,
            progress: Progress {
                state: JobState::Failed,
                next_retry_at: Some(Timestamp::UNIX_EPOCH),
                ..Progress::new()
            },
            attempt: None,
            answer_line: line.map(Bytes::from),
        };
        let settlement =
            crate::ledger::Settlement { updates: vec![update], ..quick_settlement(&claim, scene.now()) };
        assert_eq!(ledger.settle(claim.lease, settlement).await.unwrap(), Fenced::Done);
        let line = ledger.answer_line(accepted.job.id).await.unwrap();
        assert_eq!(line.as_deref(), Some(wanted.as_bytes()));
    }
}
