//! What burns an attempt: a test for each row of the table, named after it.

use std::time::Duration;

use verifactu_core::{
    authority::{Answered, Exchange, NoAnswer, NotReached, Service},
    engine::Settings,
    job::{FailureClass, JobState, Progress, Standing},
    ledger::HoldReason,
    types::{Clock, JobId, TenantId},
};
use verifactu_server::sandbox::{Effect, Fault, FaultSide, MessageKind};

use crate::{
    wire::{Spoil, fault, unreachable},
    world::{World, in_chain, poison, send, system, tenant},
};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const WAITS: [u64; 8] = [30, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR];

/// Runs the job through all its retries, each at its time, and returns what it waited before each.
async fn waits(world: &World, job: JobId) -> (Vec<i64>, Progress) {
    let mut waits = Vec::new();
    loop {
        world.run().await;
        let progress = world.progress(job).await;
        let Some(at) = progress.next_retry_at.filter(|_| waits.len() < 12) else {
            return (waits, progress);
        };
        let now = world.clock.now();
        waits.push(at.duration_since(now).as_secs());
        // The wait between messages is longer than the first one.
        world.clock.set(at.max(now + Duration::from_secs(MINUTE)));
    }
}

fn assert_spread(waits: &[i64], planned: impl IntoIterator<Item = u64>, what: &str) {
    let planned: Vec<i64> = planned.into_iter().map(|wait| wait as i64).collect();
    assert_eq!(waits.len(), planned.len(), "{what}: {waits:?}");
    for (wait, planned) in waits.iter().zip(planned) {
        assert!((planned * 79 / 100..=planned * 120 / 100).contains(wait), "{what}: {wait} for {planned}");
    }
}

#[tokio::test]
async fn row_1_refused_records_and_headers_burn_and_take_the_eight_waits() {
    let header = |code| Effect::SoapFault { code: Some(code), side: FaultSide::Client };
    let cases = [
        (Some(Effect::Force { code: 1110, number: None }), FailureClass::Rejected),
        (None, FailureClass::ContentRefused),
        (Some(header(4104)), FailureClass::HeaderRefused),
        (Some(header(4109)), FailureClass::HeaderRefused),
        (Some(header(4116)), FailureClass::HeaderRefused),
    ];
    for (effect, class) in cases {
        let world = World::new().await;
        let submit = if effect.is_none() { poison("F-1") } else { send("F-1") };
        if let Some(effect) = effect.clone() {
            world.sandbox.arm(Fault::new(effect).until_cleared().on(MessageKind::Submission));
        }
        let job = world.accept(submit).await.job.id;
        let (waits, end) = waits(&world, job).await;
        assert_spread(&waits, WAITS, &format!("{effect:?}"));
        assert_eq!((end.state, end.attempts, end.failure.unwrap().class), (JobState::Dead, 9, class));
    }
}

#[tokio::test]
async fn row_2_an_authority_that_errs_burns_and_is_waited_for_an_hour_at_most() {
    let server = |code| Effect::SoapFault { code, side: FaultSide::Server };
    for effect in [server(Some(20009)), server(None), Effect::Force { code: 1243, number: None }] {
        let world = World::new().await;
        world.sandbox.arm(Fault::new(effect.clone()).until_cleared().on(MessageKind::Submission));
        let job = world.accept(send("F-1")).await.job.id;
        let (waits, end) = waits(&world, job).await;
        assert_spread(&waits, WAITS.map(|wait| wait.min(HOUR)), &format!("{effect:?}"));
        assert_eq!((end.state, end.attempts), (JobState::Dead, 9), "{effect:?}");
    }
    // Without a word of the service nobody knows whether it was processed, so the query comes between. It
    // proves each time that the authority does not hold the record, so the attempts have an end.
    for effect in [Effect::Status(500), Effect::Status(503), Effect::HtmlPage, Effect::Garbage] {
        let world = World::new().await;
        world.sandbox.arm(Fault::new(effect.clone()).until_cleared().on(MessageKind::Submission));
        let job = world.accept(send("F-1")).await.job.id;
        world.run().await;
        let progress = world.progress(job).await;
        assert_eq!((progress.state, progress.attempts), (JobState::Failed, 1), "{effect:?}");
        assert_eq!(progress.failure.unwrap().class, FailureClass::AuthorityError);
        let (waits, end) = waits(&world, job).await;
        assert!(waits.iter().all(|wait| *wait <= (HOUR + HOUR / 5) as i64), "{effect:?}: {waits:?}");
        assert_eq!((end.state, end.attempts), (JobState::Dead, 9), "{effect:?}");
    }
}

#[tokio::test]
async fn row_3_no_answer_burns_and_is_in_doubt_until_resolved() {
    for reason in [NoAnswer::TimedOut, NoAnswer::Broken, NoAnswer::Cut, NoAnswer::TooLarge] {
        let world = World::new().await;
        world.wire.spoil(Spoil::Answer(Exchange::NoAnswer { reason, elapsed: Duration::ZERO }));
        let job = world.accept(send("F-1")).await.job.id;
        world.run().await;
        let progress = world.progress(job).await;
        assert_eq!((progress.state, progress.standing), (JobState::Failed, Standing::InDoubt));
        assert_eq!((progress.attempts, progress.failure.unwrap().class), (1, FailureClass::InDoubt));
        assert_eq!(progress.next_retry_at, Some(world.clock.now() + Duration::from_secs(MINUTE)));
        world.clock.advance(Duration::from_secs(MINUTE));
        world.run().await;
        assert_eq!(world.wire.passed(Service::Query).len(), 1);
        assert_eq!(world.state(job).await, JobState::Succeeded);
    }
    let world = World::new().await;
    world.sandbox.arm(Fault::new(Effect::Cut).after_storing().on(MessageKind::Submission));
    world.sandbox.arm(Fault::new(Effect::Status(503)).until_cleared().on(MessageKind::Query));
    let job = world.accept(send("F-1")).await.job.id;
    let (waits, end) = waits(&world, job).await;
    assert!(waits.iter().all(|wait| *wait <= (HOUR + HOUR / 5) as i64), "{waits:?}");
    assert_eq!((end.state, end.standing), (JobState::Failed, Standing::InDoubt));
}

#[tokio::test]
async fn row_4_never_reached_burns_nothing_and_waits_longer_each_time() {
    let reasons = [
        NotReached::Dns,
        NotReached::Connect,
        NotReached::Tls { detail: "protocol".into() },
        NotReached::TlsAlert { alert: "HandshakeFailure".into() },
        NotReached::CircuitOpen,
    ];
    for reason in reasons {
        let world = World::new().await;
        let elapsed = Duration::ZERO;
        for _ in 0..7 {
            world.wire.spoil(Spoil::Answer(Exchange::NotReached { reason: reason.clone(), elapsed }));
        }
        let job = world.accept(send("F-1")).await.job.id;
        let (waits, end) = waits(&world, job).await;
        let planned = [30, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, HOUR, HOUR];
        assert_spread(&waits, planned, &reason.to_string());
        assert_eq!((end.state, end.attempts), (JobState::Succeeded, 1), "{reason:?}");
    }
}

#[tokio::test]
async fn row_4_a_query_that_is_not_sent_burns_nothing_either() {
    let mut world = World::new().await;
    world.sandbox.arm(Fault::new(Effect::Cut).after_storing().on(MessageKind::Submission));
    let job = world.accept(send("F-1")).await.job.id;
    world.run().await;
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    world.at(&format!("https://{closed}"));
    world.restart().await;
    world.run_for(Duration::from_secs(HOUR), Duration::from_secs(MINUTE)).await;
    let progress = world.progress(job).await;
    assert_eq!((progress.state, progress.standing), (JobState::Failed, Standing::InDoubt));
    assert_eq!(progress.attempts, 1, "that of the lost answer");
    world.through(world.wire.clone());
    world.restart().await;
    world.run_for(Duration::from_secs(2 * HOUR), Duration::from_secs(MINUTE)).await;
    assert_eq!(world.state(job).await, JobState::Succeeded);
    assert_eq!(world.registered("F-1").await, 1);
}

#[tokio::test]
async fn row_4_a_setting_makes_unreachable_count() {
    let mut world = World::new().await;
    let mut settings = Settings::new(system());
    settings.retry.count_unreachable = true;
    world.set(settings);
    world.wire.spoil(Spoil::Answer(unreachable()));
    let job = world.accept(send("F-1")).await.job.id;
    world.run().await;
    assert_eq!(world.progress(job).await.attempts, 1);
}

#[tokio::test]
async fn row_5_a_certificate_that_is_not_let_in_holds_the_chain() {
    let page = |status| Exchange::Answered(Answered { status, ..Answered::xml(status, "<html/>") });
    let alert = NotReached::TlsAlert { alert: "CertificateExpired".into() };
    let cases = [
        page(401),
        page(403),
        fault("soapenv:Client", "Codigo[103].Certificado no identificado."),
        fault("soapenv:Client", "Codigo[4112].El titular del certificado no puede presentar."),
        Exchange::NotReached { reason: alert, elapsed: Duration::ZERO },
    ];
    for exchange in cases {
        let world = World::new().await;
        world.wire.spoil(Spoil::Answer(exchange.clone()));
        let job = world.accept(send("F-1")).await.job.id;
        world.run().await;
        let progress = world.progress(job).await;
        assert_eq!(
            (progress.state, progress.attempts, progress.next_retry_at),
            (JobState::Pending, 0, None),
            "{exchange:?}"
        );
        assert_eq!(progress.failure.unwrap().class, FailureClass::AccessRefused, "{exchange:?}");
        let chain = &world.ledger.chains(&tenant()).await.unwrap()[0];
        assert_eq!(chain.hold.as_ref().unwrap().reason, HoldReason::Certificate, "{exchange:?}");
        world.run_for(Duration::from_secs(HOUR), Duration::from_secs(MINUTE)).await;
        assert_eq!(world.wire.passed(Service::Registration).len(), 1, "{exchange:?}");
        world.ledger.release(&tenant(), None, HoldReason::Certificate).await.unwrap();
        world.engine.sweep().await.unwrap();
        world.run().await;
        assert_eq!(world.state(job).await, JobState::Succeeded, "{exchange:?}");
    }
    // A job that failed before stays FAILED, without a time.
    let world = World::new().await;
    world.sandbox.arm(Fault::new(Effect::Force { code: 1110, number: None }));
    let job = world.accept(send("F-1")).await.job.id;
    world.run().await;
    world.wire.spoil(Spoil::Answer(page(403)));
    world.clock.advance(Duration::from_secs(MINUTE));
    world.run().await;
    let progress = world.progress(job).await;
    assert_eq!((progress.state, progress.attempts, progress.next_retry_at), (JobState::Failed, 1, None));
}

#[tokio::test]
async fn row_6_a_suspended_presenter_is_held_in_all_its_chains() {
    let world = World::new().await;
    let elsewhere = TenantId::parse("otro").unwrap();
    let mut jobs = Vec::new();
    for n in 0..3 {
        jobs.push(world.accept(in_chain(send(&format!("F-{n}")), n)).await.job.id);
    }
    world.wire.spoil(Spoil::Answer(fault("soapenv:Client", "Codigo[4141].Acceso suspendido.")));
    assert!(world.engine.dispatch_next().await.unwrap());
    // Another account goes on; a new chain of the suspended one never begins.
    let mut other = send("F-8");
    other.tenant = elsewhere.clone();
    let other = world.accept(other).await.job.id;
    jobs.push(world.accept(in_chain(send("F-9"), 9)).await.job.id);
    world.run_for(Duration::from_secs(HOUR), Duration::from_secs(MINUTE)).await;
    assert_eq!(world.wire.passed(Service::Registration).len(), 2);
    let other = world.ledger.job(&elsewhere, other).await.unwrap().unwrap();
    assert_eq!(other.job.progress.state, JobState::Succeeded);
    for job in &jobs {
        let progress = world.progress(*job).await;
        assert_eq!((progress.state, progress.attempts), (JobState::Pending, 0));
    }
    for chain in world.ledger.chains(&tenant()).await.unwrap() {
        assert_eq!(chain.hold.unwrap().reason, HoldReason::Suspended);
    }
    // A new certificate is not enough.
    assert!(world.ledger.release(&tenant(), None, HoldReason::Certificate).await.unwrap().is_empty());
    assert_eq!(world.ledger.release(&tenant(), None, HoldReason::Suspended).await.unwrap().len(), 4);
    world.engine.sweep().await.unwrap();
    world.run().await;
    for job in jobs {
        assert_eq!(world.state(job).await, JobState::Succeeded);
    }
}
