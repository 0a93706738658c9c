//! Doubt in bulk: answers are lost, some of the records are stored, and every one settles right.

use std::{collections::HashMap, time::Duration};

use verifactu_core::{
    authority::Service,
    job::{Csv, FailureClass, JobKind, JobState, Standing},
    ledger::Submission,
    testing::Chance,
    types::TenantId,
};
use verifactu_server::sandbox::{self, Effect, Fault, MessageKind};

use crate::{
    wire::Spoil,
    world::{World, correct, send, tenant},
};

const MINUTE: Duration = Duration::from_secs(60);

/// How many runs; `VERIFACTU_RUNS` asks for more, and more than the usual 20 for bigger batches too.
#[allow(clippy::disallowed_methods)] // The command line of `cargo test` has no place for it.
fn runs() -> u64 {
    std::env::var("VERIFACTU_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(20)
}

fn largest_batch() -> usize {
    if runs() > 20 { 1000 } else { 200 }
}

async fn batch(world: &World, count: usize) -> Vec<Submission> {
    let mut accepted = Vec::with_capacity(count);
    for n in 0..count {
        accepted.push(world.accept(send(&format!("F-{n}"))).await);
    }
    accepted
}

/// Whether the query was of use.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    WithSuccess,
    /// It was down for a while.
    InVain,
}

/// Every job is done, every record is registered once, and every receipt is of the submission that
/// registered the record.
async fn assert_settled_right(world: &World, accepted: &[Submission], query: Asked, what: &str) {
    let mut held: HashMap<String, Vec<String>> = HashMap::new();
    for registration in world.sandbox.registrations(None).await.unwrap() {
        held.entry(registration.huella).or_default().push(registration.csv);
    }
    for submission in accepted {
        let number = &submission.record.invoice.number;
        let progress = world.progress(submission.job.id).await;
        assert_eq!(progress.state, JobState::Succeeded, "{what}: {number}: {progress:?}");
        assert!(matches!(progress.standing, Standing::Accepted | Standing::AcceptedWithErrors), "{what}");
        let csvs = held.remove(submission.record.huella.as_str()).unwrap_or_default();
        // A correction that goes again while the query is down replaces itself: the same bytes once more.
        let replaces_itself = query == Asked::InVain && submission.job.kind == JobKind::Send && {
            let xml = String::from_utf8_lossy(&submission.record.xml);
            xml.contains("<Subsanacion>S</Subsanacion>")
        };
        assert!(csvs.len() == 1 || (replaces_itself && csvs.len() > 1), "{what}: {number}: {csvs:?}");
        match progress.csv {
            Some(Csv::Present(csv)) => {
                assert_eq!(Some(&csv), csvs.last(), "{what}: {number} has another's receipt");
            }
            Some(Csv::Lost) => assert!(progress.answer.unwrap().reconciled, "{what}: {number}"),
            None => panic!("{what}: {number} has no receipt"),
        }
    }
    assert!(held.is_empty(), "{what}: nothing else is registered");
}

#[tokio::test]
async fn lost_answers_settle_right_whatever_was_stored() {
    for run in 0..runs() {
        let mut chance = Chance::seeded(run);
        let world = World::new().await;
        world.without_signature();
        let size = *chance.pick(&[1, 10, largest_batch()]);
        let query = if run % 3 == 0 { Asked::InVain } else { Asked::WithSuccess };
        let what = format!("run {run}, batch of {size}, {query:?}");
        let mut accepted = batch(&world, size).await;
        if chance.one_in(2) {
            // The corrections are what must not overtake, nor be overtaken.
            world.run().await;
            world.clock.advance(MINUTE);
            for n in (0..size).step_by(3) {
                accepted.push(world.accept(correct(&format!("F-{n}"), &format!("correction-{n}"))).await);
            }
        }
        for _ in 0..=chance.below(3) {
            world.wire.spoil(Spoil::LoseAnswerToSome(Chance::seeded(chance.draw())));
        }
        if query == Asked::InVain {
            world.sandbox.arm(Fault::new(Effect::Status(503)).until_cleared().on(MessageKind::Query));
            world.run_for(10 * MINUTE, MINUTE).await;
            world.sandbox.clear_faults();
        }
        world.run_for(Duration::from_secs(4 * 3600), 5 * MINUTE).await;
        assert_settled_right(&world, &accepted, query, &what).await;
    }
}

#[tokio::test]
async fn many_doubts_cost_few_queries_and_one_costs_an_exact_one() {
    for (size, page, queries) in [(1, 10_000, 1), (5, 10_000, 5), (120, 10_000, 1), (120, 50, 3)] {
        let world = World::new().await;
        world.without_signature();
        let settings = sandbox::Settings { page_size: page, ..world.sandbox.settings() };
        world.sandbox.set_settings(settings).unwrap();
        let accepted = batch(&world, size).await;
        world.sandbox.arm(Fault::new(Effect::Cut).after_storing().on(MessageKind::Submission));
        world.run().await;
        world.clock.advance(MINUTE);
        world.run().await;
        assert_eq!(world.wire.passed(Service::Query).len(), queries, "{size} in pages of {page}");
        assert_eq!(world.wire.passed(Service::Registration).len(), 1, "nothing goes twice");
        assert_settled_right(&world, &accepted, Asked::WithSuccess, &format!("{size} in pages of {page}"))
            .await;
    }
}

/// The authority holds a record under the invoice's key that nobody here made.
#[tokio::test]
async fn a_record_of_somebody_else_is_told_and_not_taken_for_ours() {
    let world = World::new().await;
    let mut theirs = send("F-1");
    theirs.tenant = TenantId::parse("otro").unwrap();
    world.accept(theirs).await;
    world.run().await;
    // At the same moment both would be the same record.
    world.clock.advance(MINUTE);
    let ours = world.accept(send("F-1")).await.job.id;
    world.run().await;
    assert_eq!(world.progress(ours).await.standing, Standing::InDoubt, "a duplicate has no huella");
    world.clock.advance(MINUTE);
    world.run().await;
    let progress = world.progress(ours).await;
    assert_eq!((progress.state, progress.standing), (JobState::Failed, Standing::Rejected));
    assert_eq!(progress.failure.unwrap().class, FailureClass::ForeignDuplicate);
    assert_eq!(progress.csv, None);
    assert_eq!(world.registered("F-1").await, 1);
}

/// A list without end is not read to its end, and its invoices are still found out about.
#[tokio::test]
async fn a_list_that_is_too_long_is_read_in_part() {
    let world = World::new().await;
    world.without_signature();
    let mut accepted = batch(&world, 60).await;
    world.run().await;
    world.clock.advance(MINUTE);
    // The authority lists what came last first; what came before is beyond the pages that are read.
    for n in 60..80 {
        accepted.push(world.accept(send(&format!("F-{n}"))).await);
    }
    let settings = sandbox::Settings { page_size: 1, ..world.sandbox.settings() };
    world.sandbox.set_settings(settings).unwrap();
    world.sandbox.arm(Fault::new(Effect::Cut).after_storing().on(MessageKind::Submission));
    world.run().await;
    world.clock.advance(MINUTE);
    world.run().await;
    assert!(world.wire.passed(Service::Query).len() <= 15);
    world.run_for(Duration::from_secs(4 * 3600), 5 * MINUTE).await;
    assert_settled_right(&world, &accepted, Asked::WithSuccess, "long list").await;
    assert_eq!(world.ledger.chains(&tenant()).await.unwrap()[0].pending, 0);
}
