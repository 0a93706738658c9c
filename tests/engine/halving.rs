//! A record that makes the authority refuse every message it is in: found by halves, within the pace,
//! at no one else's cost.

use std::{sync::Arc, time::Duration};

use tempfile::TempDir;
use verifactu_core::{
    authority::Service,
    job::{FailureClass, JobState},
    ledger::{
        Ledger, MemoryLedger,
        sqlite::{SqliteLedger, SqliteOptions},
    },
    types::{Environment, JobId},
};
use verifactu_server::sandbox::{Effect, Fault, FaultSide};

use crate::{
    wire::{Spoil, fault},
    world::{World, poison, send, tenant},
};

const MINUTE: Duration = Duration::from_secs(60);

/// So many invoices, the one at `bad` (from 1) poisonous.
async fn fill(world: &World, count: usize, bad: usize) -> Vec<JobId> {
    let submit = |n: usize| {
        let number = format!("F-{n}");
        if n == bad { poison(&number) } else { send(&number) }
    };
    world.accept_all((1..=count).map(submit).collect()).await
}

/// Sends until all but the poisonous record are settled, and returns how many messages that took.
/// `None` restarts nothing; else the process is killed in the middle of that exchange.
async fn isolate(world: &mut World, jobs: &[JobId], bad: usize, killed_in: Option<usize>) -> usize {
    let mut sent = 0;
    for slot in 1..=40 {
        if killed_in == Some(slot) {
            let slow = Fault::new(Effect::Delay).delayed(Duration::from_secs(3600));
            world.sandbox.arm(slow);
            let cut = tokio::time::timeout(Duration::from_millis(1500), world.run()).await;
            // A message with the poison does not reach the sandbox, so its exchange was not cut.
            if cut.is_ok() {
                world.sandbox.clear_faults();
            }
            world.restart().await;
        } else {
            world.run().await;
        }
        let now_sent = world.wire.passed(Service::Registration).len();
        assert!(now_sent <= sent + 1, "one message in a slot");
        sent = now_sent;
        let mut waiting = 0;
        for (n, job) in jobs.iter().enumerate() {
            waiting += usize::from(n + 1 != bad && world.state(*job).await != JobState::Succeeded);
        }
        if waiting == 0 && world.progress(jobs[bad - 1]).await.alone {
            return sent;
        }
        world.clock.advance(MINUTE);
    }
    panic!("not isolated in 40 slots");
}

async fn nobody_else_paid(world: &World, jobs: &[JobId], bad: usize) {
    for (n, job) in jobs.iter().enumerate() {
        let progress = world.progress(*job).await;
        if n + 1 == bad {
            assert_eq!((progress.state, progress.alone), (JobState::Failed, true));
            assert_eq!(progress.failure.unwrap().class, FailureClass::ContentRefused);
        } else {
            assert_eq!((progress.state, progress.attempts), (JobState::Succeeded, 1), "record {}", n + 1);
        }
    }
}

#[tokio::test]
async fn one_of_a_thousand_is_isolated_and_the_others_go_through() {
    for bad in [1, 617, 1000] {
        let mut world = World::new().await;
        world.without_signature();
        let jobs = fill(&world, 1000, bad).await;
        let sent = isolate(&mut world, &jobs, bad, None).await;
        assert!(sent <= 24, "{sent} messages");
        nobody_else_paid(&world, &jobs, bad).await;
        assert_eq!(world.sandbox.registrations(None).await.unwrap().len(), 999);
        let sizes: Vec<usize> =
            world.wire.passed(Service::Registration).iter().map(|passed| passed.records).collect();
        assert_eq!(sizes[..2], [1000, 500], "the left half first");
    }
}

#[tokio::test]
async fn the_search_outlives_the_process() {
    for killed_in in [1, 2, 3, 6] {
        let mut world = World::new().await;
        world.without_signature();
        let jobs = fill(&world, 1000, 613).await;
        let sent = isolate(&mut world, &jobs, 613, Some(killed_in)).await;
        assert!(sent <= 24, "{sent} messages when killed in the {killed_in}th");
        for (n, job) in jobs.iter().enumerate() {
            assert!(n + 1 == 613 || world.state(*job).await == JobState::Succeeded, "record {}", n + 1);
        }
        assert_eq!(world.sandbox.registrations(None).await.unwrap().len(), 999);
    }
}

/// Where the search stands is in the ledger's file, and so is who travels alone.
#[tokio::test]
async fn the_search_is_written_down() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("ledger.db");
    let open = || -> Arc<dyn Ledger> {
        Arc::new(SqliteLedger::open(&path, Environment::Sandbox, &SqliteOptions::default()).unwrap())
    };
    let mut world = World::on(open()).await;
    world.without_signature();
    let jobs = fill(&world, 32, 20).await;
    for _ in 0..12 {
        world.run().await;
        // The old ledger has to let go of its file first.
        world.reopen(Arc::new(MemoryLedger::new())).await;
        world.reopen(open()).await;
        world.clock.advance(MINUTE);
    }
    let sizes: Vec<usize> =
        world.wire.passed(Service::Registration).iter().map(|passed| passed.records).collect();
    // 32 are bad; 1 to 16 are good; of 17 to 32 the halves. Then the rest in one message, between the
    // retries of the one that was found.
    assert_eq!(sizes[..7], [32, 16, 8, 4, 2, 1, 1], "{sizes:?}");
    let others: Vec<usize> = sizes[7..].iter().copied().filter(|size| *size != 1).collect();
    assert_eq!(others, [12], "alone ever after: {sizes:?}");
    assert!(world.progress(jobs[19]).await.alone);
    assert_eq!(world.ledger.chains(&tenant()).await.unwrap()[0].suspects, None);
}

#[tokio::test]
async fn two_bad_records_are_found_one_after_the_other() {
    let world = World::new().await;
    world.without_signature();
    let submit = |n: usize| {
        let number = format!("F-{n}");
        if n == 3 || n == 11 { poison(&number) } else { send(&number) }
    };
    let jobs = world.accept_all((1..=16).map(submit).collect()).await;
    world.run_for(20 * MINUTE, MINUTE).await;
    for (n, job) in (1..).zip(&jobs) {
        let progress = world.progress(*job).await;
        assert_eq!(progress.alone, n == 3 || n == 11, "record {n}");
        assert!(progress.alone || progress.state == JobState::Succeeded, "record {n}");
    }
}

/// First sendings keep their order also while halves are tried.
#[tokio::test]
async fn the_order_holds_during_the_search() {
    let world = World::new().await;
    world.without_signature();
    let jobs = fill(&world, 20, 13).await;
    for _ in 0..10 {
        world.run().await;
        let mut waiting = false;
        for job in &jobs {
            let progress = world.progress(*job).await;
            assert!(!(waiting && progress.sent), "sent before an earlier one");
            waiting |= !progress.sent;
        }
        world.clock.advance(MINUTE);
    }
}

#[tokio::test]
async fn a_refused_header_is_never_halved() {
    let world = World::new().await;
    world.without_signature();
    let jobs = fill(&world, 8, 0).await;
    let refusal = Effect::SoapFault { code: Some(4104), side: FaultSide::Client };
    world.sandbox.arm(Fault::new(refusal));
    world.run().await;
    for job in &jobs {
        let progress = world.progress(*job).await;
        assert_eq!((progress.state, progress.attempts, progress.alone), (JobState::Failed, 1, false));
        assert_eq!(progress.failure.unwrap().class, FailureClass::HeaderRefused);
    }
    world.run_for(5 * MINUTE, MINUTE).await;
    let sizes: Vec<usize> =
        world.wire.passed(Service::Registration).iter().map(|passed| passed.records).collect();
    assert_eq!(sizes[0], 8);
    for job in jobs {
        assert_eq!(world.state(job).await, JobState::Succeeded);
    }
}

/// A refusal that does not come again leaves no limit behind.
#[tokio::test]
async fn a_search_that_finds_nobody_ends() {
    let world = World::new().await;
    world.without_signature();
    let jobs = fill(&world, 100, 0).await;
    world.wire.spoil(Spoil::Answer(fault("soapenv:Client", "Codigo[9999].Otro error.")));
    world.run_for(10 * MINUTE, MINUTE).await;
    for job in jobs {
        let progress = world.progress(job).await;
        assert_eq!((progress.state, progress.attempts), (JobState::Succeeded, 1));
    }
    assert_eq!(world.ledger.chains(&tenant()).await.unwrap()[0].suspects, None);
}
