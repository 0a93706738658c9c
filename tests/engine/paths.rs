//! Paths on which a record could have been lost, sent after its successor, or have held up a chain for
//! good.

use std::{sync::Arc, time::Duration};

use verifactu_core::{
    engine::Submit,
    job::{FailureClass, JobState, Standing},
    ledger::HoldReason,
    record::{Statement, SystemId},
    types::{Date, JobId, Text},
};
use verifactu_server::sandbox::{Effect, Fault, FaultSide, Holder, MessageKind};

use crate::world::{ISSUER, World, correct, presentation, send, system, tenant};

const MINUTE: Duration = Duration::from_secs(60);

/// The same submission from another system of the account, and so on another chain.
fn elsewhere(mut submit: Submit) -> Submit {
    let mut other = system();
    other.id = SystemId::parse("78").unwrap();
    submit.system = Some(other);
    submit
}

async fn flags(world: &World, job: JobId) -> String {
    let record = world.ledger.job(&tenant(), job).await.unwrap().unwrap().record;
    let xml = String::from_utf8(record.xml.to_vec()).unwrap();
    let between = |name: &str| {
        let open = format!("<{name}>");
        xml.split_once(&open).map_or("-", |(_, rest)| &rest[..1]).to_owned()
    };
    between("Subsanacion") + &between("RechazoPrevio")
}

#[tokio::test]
async fn a_record_that_the_authority_never_takes_waits_as_retries_do_and_holds_nobody_up() {
    let always = [
        Fault::new(Effect::Force { code: 3000, number: Some("F-1".into()) }).until_cleared(),
        Fault::new(Effect::HtmlPage).until_cleared().on(MessageKind::Submission),
        Fault::new(Effect::Cut).until_cleared().on(MessageKind::Submission),
    ];
    for fault in always {
        let world = World::new().await;
        world.sandbox.arm(fault.clone());
        let stuck = world.accept(send("F-1")).await.job.id;
        world.run().await;
        let behind = world.accept(send("F-2")).await.job.id;
        world.run_for(120 * MINUTE, MINUTE).await;
        let attempts = world.progress(stuck).await.attempts;
        assert!((4..=7).contains(&attempts), "{fault:?}: {attempts} attempts in two hours");
        assert!(world.progress(behind).await.attempts > 0, "{fault:?}: the chain stands still");
        world.run_for(Duration::from_secs(60 * 3600), 30 * MINUTE).await;
        let progress = world.progress(stuck).await;
        assert_eq!(
            progress.state,
            JobState::Dead,
            "{fault:?}: the query proves it is not held: {progress:?}"
        );
        assert_eq!(progress.attempts, 9, "{fault:?}");
    }
}

#[tokio::test]
async fn an_invoice_that_came_to_nothing_can_be_corrected() {
    let world = World::new().await;
    let refuse = Effect::SoapFault { code: Some(4104), side: FaultSide::Client };
    world.sandbox.arm(Fault::new(refuse).until_cleared().on(MessageKind::Submission));
    let dead = world.accept(send("F-1")).await.job.id;
    world.run_for(Duration::from_secs(60 * 3600), 15 * MINUTE).await;
    assert_eq!(world.state(dead).await, JobState::Dead);
    world.sandbox.clear_faults();
    let correction = world.accept(correct("F-1", "again")).await.job.id;
    assert_eq!(flags(&world, correction).await, "SX", "the authority holds nothing");
    world.run_for(2 * MINUTE, MINUTE).await;
    assert_eq!(world.state(correction).await, JobState::Succeeded);
}

#[tokio::test]
async fn a_correction_takes_the_place_of_a_record_that_a_fault_kept_out() {
    let world = World::new().await;
    let fault = Effect::SoapFault { code: Some(20009), side: FaultSide::Server };
    world.sandbox.arm(Fault::new(fault).on(MessageKind::Submission));
    let kept_out = world.accept(send("F-1")).await.job.id;
    world.run().await;
    let correction = world.accept(correct("F-1", "again")).await.job.id;
    world.run_for(5 * MINUTE, MINUTE).await;
    assert_eq!(world.progress(kept_out).await.failure.unwrap().class, FailureClass::Superseded);
    assert_eq!(world.state(correction).await, JobState::Succeeded);
    assert_eq!(world.registered("F-1").await, 1);
}

#[tokio::test]
async fn a_correction_made_while_the_refused_record_is_under_way_counts_it_as_held() {
    let world = Arc::new(World::new().await);
    world.sandbox.arm(Fault::new(Effect::Force { code: 1110, number: Some("F-1".into()) }));
    let refused = world.accept(send("F-1")).await.job.id;
    world.run().await;
    world.clock.advance(MINUTE);
    world.sandbox.arm(Fault::new(Effect::Delay).delayed(Duration::from_secs(1)));
    let other = world.clone();
    let under_way = tokio::spawn(async move { other.engine.dispatch_next().await.unwrap() });
    while world.state(refused).await != JobState::Processing {
        tokio::task::yield_now().await;
    }
    let correction = world.accept(correct("F-1", "again")).await.job.id;
    assert_eq!(flags(&world, correction).await, "S-");
    assert!(under_way.await.unwrap());
    let behind = world.accept(send("F-9")).await.job.id;
    world.run_for(10 * MINUTE, MINUTE).await;
    for job in [refused, correction, behind] {
        assert_eq!(world.state(job).await, JobState::Succeeded);
    }
}

#[tokio::test]
async fn what_comes_later_is_told_by_acceptance_and_not_by_the_place_on_a_chain() {
    let world = World::new().await;
    world.accept(send("F-1")).await;
    world.accept(send("F-2")).await;
    world.run().await;
    world.sandbox.arm(Fault::new(Effect::Cut).on(MessageKind::Submission));
    let correction = world.accept(elsewhere(correct("F-2", "again"))).await;
    assert_eq!(correction.record.position, 1, "it corrects the second record of another chain");
    world.run_for(5 * MINUTE, MINUTE).await;
    assert_eq!(world.state(correction.job.id).await, JobState::Succeeded);
    assert_eq!(world.registered("F-2").await, 2);
}

#[tokio::test]
async fn a_refused_correction_is_never_sent_after_a_later_one_of_another_chain() {
    let world = World::new().await;
    world.accept(send("F-1")).await;
    world.run().await;
    world.clock.advance(MINUTE);
    world.sandbox.arm(Fault::new(Effect::Force { code: 1110, number: Some("F-1".into()) }));
    let old = world.accept(correct("F-1", "old")).await.job.id;
    world.run().await;
    assert_eq!(world.progress(old).await.standing, Standing::Rejected);
    let new = world.accept(elsewhere(correct("F-1", "new"))).await;
    world.run_for(10 * MINUTE, MINUTE).await;
    assert_eq!(world.state(new.job.id).await, JobState::Succeeded);
    let failure = world.progress(old).await.failure.unwrap();
    assert_eq!((failure.class, failure.superseded_by), (FailureClass::Superseded, Some(new.job.id)));
    let last = world.sandbox.registrations(Some(ISSUER)).await.unwrap().pop().unwrap();
    assert_eq!(last.huella, new.record.huella.as_str());
}

#[tokio::test]
async fn a_slot_that_opens_early_is_for_full_messages_alone() {
    let world = World::new().await;
    world.sandbox.arm(Fault::new(Effect::Force { code: 1110, number: Some("BAD".into()) }).until_cleared());
    let bad = world.accept(send("BAD")).await.job.id;
    world.run().await;
    world.clock.advance(Duration::from_secs(40));
    for number in 0..1003 {
        let mut submit = send(&format!("F-{number}"));
        if number == 0 {
            submit.issuer_name = Text::parse("Talleres Ebro Sociedad Limitada").unwrap();
        }
        world.accept(submit).await;
    }
    let pending = async || world.ledger.chains(&tenant()).await.unwrap()[0].pending;
    world.run().await;
    assert_eq!(world.progress(bad).await.attempts, 1, "a due retry does not use it");
    assert_eq!(pending().await, 1004, "nor does a message of one record, which another name cuts off");
    world.clock.advance(Duration::from_secs(20));
    world.run().await;
    // The slot itself is for the retry, whose turn it is; then 1002 wait behind the first.
    world.clock.advance(MINUTE);
    world.run().await;
    assert_eq!(pending().await, 3, "the one is followed by a full message at once");
}

#[tokio::test]
async fn a_certificate_uploaded_during_a_refusal_is_not_missed() {
    let world = Arc::new(World::new().await);
    let other = presentation(&world.sandbox, &Holder::person("12345678Z", "Otra Persona"));
    let right = world.presenter.0.lock().unwrap().replace(other.into());
    world.sandbox.arm(Fault::new(Effect::Delay).delayed(Duration::from_secs(1)));
    let job = world.accept(send("F-1")).await.job.id;
    let runner = world.clone();
    let refused = tokio::spawn(async move { runner.engine.dispatch_next().await.unwrap() });
    while world.state(job).await != JobState::Processing {
        tokio::task::yield_now().await;
    }
    *world.presenter.0.lock().unwrap() = right;
    let released = world.ledger.release(&tenant(), None, HoldReason::Certificate).await.unwrap();
    assert!(released.is_empty(), "nothing was held yet");
    assert!(refused.await.unwrap());
    world.run_for(2 * MINUTE, MINUTE).await;
    assert_eq!(world.state(job).await, JobState::Succeeded);
}

#[tokio::test]
async fn a_doubt_is_looked_up_in_the_month_that_the_record_states() {
    let world = World::new().await;
    world.sandbox.arm(Fault::new(Effect::Force { code: 1110, number: Some("F-1".into()) }));
    let mut first = send("F-1");
    if let Statement::Invoice(invoice) = &mut first.statement {
        invoice.operation_date = Some(Date::parse("10-10-2026").unwrap());
    }
    world.accept(first).await;
    world.run().await;
    world.clock.advance(MINUTE);
    world.sandbox.arm(Fault::new(Effect::Cut).after_storing().on(MessageKind::Submission));
    let correction = world.accept(correct("F-1", "again")).await.job.id;
    world.run_for(3 * MINUTE, MINUTE).await;
    let progress = world.progress(correction).await;
    assert_eq!(progress.state, JobState::Succeeded, "{progress:?}");
    assert_eq!(world.registered("F-1").await, 1);
}

#[tokio::test]
async fn a_query_that_is_shut_out_holds_the_chain_and_sends_nothing() {
    for (code, reason) in [(4141, HoldReason::Suspended), (4112, HoldReason::Certificate)] {
        let world = World::new().await;
        world.sandbox.arm(Fault::new(Effect::Cut).on(MessageKind::Submission));
        let refuse = Effect::SoapFault { code: Some(code), side: FaultSide::Client };
        world.sandbox.arm(Fault::new(refuse).until_cleared().on(MessageKind::Query));
        let job = world.accept(send("F-1")).await.job.id;
        world.run_for(10 * MINUTE, MINUTE).await;
        let chain = &world.ledger.chains(&tenant()).await.unwrap()[0];
        assert_eq!(chain.hold.as_ref().unwrap().reason, reason);
        assert_eq!(world.progress(job).await.attempts, 1);
        assert_eq!(world.registered("F-1").await, 0);
    }
}
