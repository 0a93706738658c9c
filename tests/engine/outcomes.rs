//! From an acceptance to a final state, through everything that can go wrong on the way.

use std::{sync::Arc, time::Duration};

use verifactu_core::{
    authority::Service,
    job::{Csv, FailureClass, JobState, Standing},
    ledger::HoldReason,
    types::Date,
};
use verifactu_server::sandbox::{Effect, Fault, FaultSide, Holder, MessageKind};

use crate::{
    wire::{Spoil, fault},
    world::{ISSUER, World, cancel, correct, presentation, send, tenant},
};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn an_invoice_and_its_cancellation_are_registered_once_in_one_chain() {
    let world = World::new().await;
    let first = world.accept(send("F-1")).await;
    let second = world.accept(cancel("F-1")).await;
    assert_eq!(second.record.previous, Some(first.record.huella));
    world.run().await;
    assert_eq!(world.state(first.job.id).await, JobState::Succeeded);
    // Both speak of one invoice, so the second takes a message of its own, after the wait.
    assert_eq!(world.state(second.job.id).await, JobState::Pending);
    world.run_for(2 * MINUTE, MINUTE).await;
    let progress = world.progress(second.job.id).await;
    assert_eq!(progress.state, JobState::Succeeded);
    assert!(matches!(progress.csv, Some(Csv::Present(_))));
    assert_eq!(world.registered("F-1").await, 2);
}

#[tokio::test]
async fn records_that_wait_together_share_a_message_and_its_receipt() {
    let world = World::new().await;
    let mut jobs = Vec::new();
    for n in 0..5 {
        jobs.push(world.accept(send(&format!("F-{n}"))).await.job.id);
    }
    world.run().await;
    let mut receipts = Vec::new();
    for job in jobs {
        let progress = world.progress(job).await;
        assert_eq!((progress.state, progress.attempts), (JobState::Succeeded, 1));
        receipts.push(progress.csv);
    }
    receipts.dedup();
    assert_eq!(receipts.len(), 1);
}

#[tokio::test]
async fn the_pace_holds_between_messages() {
    let world = World::new().await;
    world.accept(send("F-1")).await;
    world.run().await;
    let late = world.accept(send("F-2")).await;
    world.clock.advance(Duration::from_secs(59));
    world.run().await;
    assert_eq!(world.state(late.job.id).await, JobState::Pending);
    world.clock.advance(Duration::from_secs(1));
    world.run().await;
    assert_eq!(world.state(late.job.id).await, JobState::Succeeded);
}

/// A fault that leaves the authority without the record, and what the job says of it.
#[tokio::test]
async fn a_failed_exchange_is_told_and_made_good_by_the_retries() {
    let server = |code| Effect::SoapFault { code, side: FaultSide::Server };
    let cases = [
        (Fault::new(Effect::HtmlPage), FailureClass::AuthorityError),
        (Fault::new(Effect::Garbage), FailureClass::AuthorityError),
        (Fault::new(Effect::EmptyBody), FailureClass::AuthorityError),
        (Fault::new(Effect::Status(500)), FailureClass::AuthorityError),
        (Fault::new(Effect::Status(503)), FailureClass::AuthorityError),
        (Fault::new(server(Some(20009))), FailureClass::AuthorityError),
        (Fault::new(server(None)), FailureClass::AuthorityError),
        (
            Fault::new(Effect::SoapFault { code: Some(4104), side: FaultSide::Client }),
            FailureClass::HeaderRefused,
        ),
        (
            Fault::new(Effect::SoapFault { code: Some(4102), side: FaultSide::Client }),
            FailureClass::ContentRefused,
        ),
        (Fault::new(Effect::Cut), FailureClass::InDoubt),
        (Fault::new(Effect::Force { code: 1110, number: None }), FailureClass::Rejected),
        (Fault::new(Effect::Force { code: 1243, number: None }), FailureClass::AuthorityError),
        (Fault::new(Effect::DropLine(0)).after_storing(), FailureClass::InDoubt),
    ];
    for (fault, class) in cases {
        let world = World::new().await;
        world.sandbox.arm(fault.clone().on(MessageKind::Submission));
        let job = world.accept(send("F-1")).await.job.id;
        world.run().await;
        let progress = world.progress(job).await;
        assert_eq!(progress.state, JobState::Failed, "{fault:?}");
        assert_eq!(progress.failure.as_ref().unwrap().class, class, "{fault:?}");
        assert_eq!(progress.attempts, 1, "{fault:?}");
        assert!(progress.next_retry_at.is_some(), "{fault:?}");
        world.run_for(5 * MINUTE, MINUTE).await;
        let progress = world.progress(job).await;
        assert_eq!(progress.state, JobState::Succeeded, "{fault:?}: {:?}", progress.failure);
        assert_eq!(world.registered("F-1").await, 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_lost_answer_is_found_out_and_no_receipt_is_made_up() {
    let lost = [
        Fault::new(Effect::Cut).after_storing(),
        Fault::new(Effect::CutAnswer).after_storing(),
        Fault::new(Effect::HtmlPage).after_storing(),
        Fault::new(Effect::Garbage).after_storing(),
    ];
    for fault in lost {
        let world = World::new().await;
        world.sandbox.arm(fault.clone().on(MessageKind::Submission));
        let job = world.accept(send("F-1")).await.job.id;
        world.run().await;
        assert_eq!(world.progress(job).await.standing, Standing::InDoubt, "{fault:?}");
        // The successor waits until the doubt was looked into.
        let next = world.accept(send("F-2")).await.job.id;
        world.run_for(3 * MINUTE, MINUTE).await;
        let progress = world.progress(job).await;
        assert_eq!(progress.state, JobState::Succeeded, "{fault:?}: {progress:?}");
        assert_eq!(progress.csv, Some(Csv::Lost), "{fault:?}");
        assert!(progress.answer.unwrap().reconciled);
        assert_eq!(world.state(next).await, JobState::Succeeded, "{fault:?}");
        assert_eq!(world.registered("F-1").await, 1, "{fault:?}");
    }
}

#[tokio::test]
async fn without_the_query_a_doubt_stays_and_is_never_given_up() {
    let world = World::new().await;
    world.sandbox.arm(Fault::new(Effect::Cut).after_storing().on(MessageKind::Submission));
    world.sandbox.arm(Fault::new(Effect::Status(503)).until_cleared().on(MessageKind::Query));
    let job = world.accept(send("F-1")).await.job.id;
    world.run_for(Duration::from_secs(24 * 3600), Duration::from_secs(600)).await;
    let progress = world.progress(job).await;
    assert_eq!((progress.state, progress.standing), (JobState::Failed, Standing::InDoubt));
    assert!(progress.attempts >= 9, "{}", progress.attempts);
    world.sandbox.clear_faults();
    world.run_for(Duration::from_secs(2 * 3600), Duration::from_secs(600)).await;
    assert_eq!(world.state(job).await, JobState::Succeeded);
    assert_eq!(world.registered("F-1").await, 1);
}

#[tokio::test]
async fn a_record_that_is_always_refused_dies_after_eight_retries() {
    let world = World::new().await;
    world.sandbox.arm(Fault::new(Effect::Force { code: 1110, number: Some("F-1".into()) }).until_cleared());
    let job = world.accept(send("F-1")).await.job.id;
    let behind = world.accept(send("F-2")).await.job.id;
    world.run().await;
    assert_eq!(world.state(behind).await, JobState::Succeeded, "a refused record holds nobody up");
    world.run_for(Duration::from_secs(60 * 3600), Duration::from_secs(900)).await;
    let progress = world.progress(job).await;
    assert_eq!((progress.state, progress.attempts), (JobState::Dead, 9));
    assert_eq!(progress.failure.unwrap().code, Some(1110));
    assert_eq!(world.ledger.attempts(job).await.unwrap().len(), 9);
    assert_eq!(world.registered("F-1").await, 0);
}

#[tokio::test]
async fn a_correction_replaces_a_refused_record_which_is_never_sent_after_it() {
    let world = World::new().await;
    world.sandbox.arm(Fault::new(Effect::Force { code: 1110, number: Some("F-1".into()) }));
    let refused = world.accept(send("F-1")).await.job.id;
    world.run().await;
    let correction = world.accept(correct("F-1", "again")).await;
    world.clock.advance(MINUTE);
    world.run().await;
    assert_eq!(world.state(correction.job.id).await, JobState::Succeeded);
    let progress = world.progress(refused).await;
    assert_eq!(progress.state, JobState::Dead);
    let failure = progress.failure.unwrap();
    assert_eq!((failure.class, failure.superseded_by), (FailureClass::Superseded, Some(correction.job.id)));
    world.run_for(Duration::from_secs(3600), Duration::from_secs(60)).await;
    assert_eq!(world.registered("F-1").await, 1);
}

#[tokio::test]
async fn a_refused_correction_that_is_overtaken_is_never_sent_again() {
    let world = World::new().await;
    world.accept(send("F-1")).await;
    world.run().await;
    world.sandbox.arm(Fault::new(Effect::Force { code: 1110, number: Some("F-1".into()) }));
    let refused = world.accept(correct("F-1", "first")).await;
    world.clock.advance(MINUTE);
    world.run().await;
    assert_eq!(world.progress(refused.job.id).await.standing, Standing::Rejected);
    let later = world.accept(correct("F-1", "second")).await;
    world.run_for(Duration::from_secs(3 * 24 * 3600), Duration::from_secs(3600)).await;
    assert_eq!(world.state(later.job.id).await, JobState::Succeeded);
    let progress = world.progress(refused.job.id).await;
    assert_eq!((progress.state, progress.attempts), (JobState::Dead, 1));
    let registered = world.sandbox.registrations(Some(ISSUER)).await.unwrap();
    let last = registered.iter().max_by_key(|registration| registration.seq).unwrap();
    assert_eq!(last.huella, later.record.huella.as_str());
    assert!(registered.iter().all(|registration| registration.huella != refused.record.huella.as_str()));
}

#[tokio::test]
async fn an_authority_out_of_reach_delays_and_burns_nothing() {
    let mut world = World::new().await;
    let url = world.sandbox.url();
    // A port that was free a moment ago refuses connections.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    world.at(&format!("https://{closed}"));
    let job = world.accept(send("F-1")).await.job.id;
    world.run().await;
    let progress = world.progress(job).await;
    assert_eq!((progress.state, progress.attempts), (JobState::Failed, 0));
    assert_eq!(progress.failure.unwrap().class, FailureClass::Unreachable);
    let behind = world.accept(send("F-2")).await.job.id;
    world.clock.advance(Duration::from_secs(20));
    world.run().await;
    assert_eq!(world.state(behind).await, JobState::Pending, "what stands behind it waits");
    world.at(&url);
    world.restart().await;
    world.run_for(5 * MINUTE, MINUTE).await;
    for job in [job, behind] {
        assert_eq!(world.state(job).await, JobState::Succeeded);
    }
}

#[tokio::test]
async fn a_certificate_that_is_not_entitled_holds_the_chain_and_burns_nothing() {
    let world = World::new().await;
    let other = presentation(&world.sandbox, &Holder::person("12345678Z", "Otra Persona"));
    let right = world.presenter.0.lock().unwrap().replace(other.into());
    let job = world.accept(send("F-1")).await.job.id;
    world.run().await;
    let progress = world.progress(job).await;
    assert_eq!((progress.state, progress.attempts), (JobState::Pending, 0));
    assert_eq!(progress.failure.unwrap().code, Some(4112));
    let chain = &world.ledger.chains(&tenant()).await.unwrap()[0];
    assert_eq!(chain.hold.as_ref().unwrap().reason, HoldReason::Certificate);
    world.run_for(10 * MINUTE, MINUTE).await;
    assert_eq!(world.state(job).await, JobState::Pending);

    *world.presenter.0.lock().unwrap() = right;
    world.ledger.release(&tenant(), None, HoldReason::Certificate).await.unwrap();
    world.engine.sweep().await.unwrap();
    world.run().await;
    assert_eq!(world.state(job).await, JobState::Succeeded);
}

#[tokio::test]
async fn a_chain_without_certificate_waits_for_one() {
    let world = World::new().await;
    let right = world.presenter.0.lock().unwrap().take();
    let job = world.accept(send("F-1")).await.job.id;
    world.run().await;
    let progress = world.progress(job).await;
    assert_eq!((progress.state, progress.attempts, progress.next_retry_at), (JobState::Pending, 0, None));
    assert_eq!(progress.failure.unwrap().class, FailureClass::AccessRefused);
    *world.presenter.0.lock().unwrap() = right;
    world.ledger.release(&tenant(), None, HoldReason::Certificate).await.unwrap();
    world.engine.sweep().await.unwrap();
    world.run().await;
    assert_eq!(world.state(job).await, JobState::Succeeded);
}

#[tokio::test]
async fn late_records_say_so_and_are_not_flagged() {
    let world = World::new().await;
    let right = world.presenter.0.lock().unwrap().take();
    let late = world.accept(send("F-1")).await.job.id;
    world.run().await;
    world.clock.advance(10 * MINUTE);
    let fresh = world.accept(send("F-2")).await.job.id;
    *world.presenter.0.lock().unwrap() = right;
    world.ledger.release(&tenant(), None, HoldReason::Certificate).await.unwrap();
    world.engine.sweep().await.unwrap();
    world.run().await;
    assert_eq!(world.progress(late).await.standing, Standing::Accepted, "sent with its incident, so no 2004");
    assert_eq!(world.state(fresh).await, JobState::Pending, "a fresh record is not mixed with late ones");
    world.clock.advance(MINUTE);
    world.run().await;
    assert_eq!(world.progress(fresh).await.standing, Standing::Accepted);
}

#[tokio::test]
async fn a_process_that_stops_after_sending_finds_out_what_became_of_it() {
    for stored in [true, false] {
        let mut world = World::new().await;
        let job = world.accept(send("F-1")).await.job.id;
        let effect = Fault::new(Effect::Delay).delayed(Duration::from_secs(2));
        world.sandbox.arm(if stored { effect.after_storing() } else { effect });
        // The dispatch is dropped while it waits for the answer, as a killed process would be.
        let cut =
            tokio::time::timeout(Duration::from_millis(if stored { 1000 } else { 100 }), world.run()).await;
        assert!(cut.is_err());
        assert_eq!(world.state(job).await, JobState::Processing);
        tokio::time::sleep(Duration::from_secs(2)).await;
        world.restart().await;
        world.run_for(3 * MINUTE, MINUTE).await;
        assert_eq!(world.state(job).await, JobState::Succeeded);
        assert_eq!(world.sandbox.registrations(Some(ISSUER)).await.unwrap().len(), 1);
    }
}

/// The authority would refuse the whole message for it.
#[tokio::test]
async fn a_last_day_that_the_authority_no_longer_takes_is_left_out() {
    let world = World::new().await;
    let mut renouncing = presentation(&world.sandbox, &Holder::seal(ISSUER, "Talleres Ebro SL"));
    renouncing.verifactu_end = Date::parse("31-12-2026").ok();
    *world.presenter.0.lock().unwrap() = Some(Arc::new(renouncing));
    for (number, now, stated) in [
        ("F-1", "2026-11-20T10:00:00Z", Some("31-12-2026")),
        ("F-2", "2027-12-31T22:59:00Z", Some("31-12-2026")),
        ("F-3", "2027-12-31T23:01:00Z", None),
    ] {
        world.clock.set(now.parse().unwrap());
        let job = world.accept(send(number)).await.job.id;
        world.run().await;
        assert_eq!(world.state(job).await, JobState::Succeeded, "{number}");
        let last = world.wire.passed(Service::Registration).pop().unwrap();
        assert_eq!(last.last_day.as_deref(), stated, "{number}");
    }
}

/// It is late by then, and says so; without that the authority would note it for coming after others (2007).
#[tokio::test]
async fn a_first_record_that_comes_after_others_is_accepted_without_a_fault() {
    let world = World::new().await;
    for _ in 0..2 {
        world.wire.spoil(Spoil::Answer(fault("soapenv:Server", "Error interno en el servidor.")));
    }
    let first = world.accept(send("F-1")).await.job.id;
    world.run().await;
    let second = world.accept(send("F-2")).await.job.id;
    world.run_for(6 * MINUTE, MINUTE).await;
    for job in [second, first] {
        assert_eq!(world.progress(job).await.standing, Standing::Accepted);
    }
    let incidents: Vec<bool> =
        world.wire.passed(Service::Registration).iter().map(|passed| passed.incident).collect();
    assert_eq!(incidents, [false, false, false, true], "fault, fault, the second, and the first again");
}
