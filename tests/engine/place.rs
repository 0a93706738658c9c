//! The place in the chain: what a caller may say of it, and what is refused.

use std::time::Duration;

use verifactu_core::{
    chain::{self, PlaceClaim, Stamp},
    ledger::{Appended, Refusal},
    record::{PriorRejection, Statement},
    types::{Clock, GenerationTime, Huella},
};
use verifactu_server::sandbox::{Effect, Fault};

use crate::world::{World, cancel, correct, invoice, of_issuer, send, submit};

async fn refusal(world: &World, submit: verifactu_core::engine::Submit) -> Refusal {
    match world.engine.accept(submit).await.unwrap() {
        Appended::Refused(refusal) => *refusal,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn continuity_and_state_are_held() {
    let world = World::new().await;
    let head = world.accept(send("F-1")).await.record.huella;
    let received = Huella::from_digest([7; 32]);

    let mut wrong = send("F-2");
    wrong.place.previous = Some(received);
    assert_eq!(refusal(&world, wrong).await, Refusal::Discontinuous { expected: Some(head), received });

    let mut first = send("F-2");
    first.place.first = Some(true);
    assert_eq!(refusal(&world, first).await, Refusal::NotFirst);

    let mut right = send("F-2");
    right.place = PlaceClaim { first: Some(false), previous: Some(head) };
    assert_eq!(world.accept(right).await.record.position, 2);
}

#[tokio::test]
async fn times_never_go_back_along_a_chain() {
    let world = World::new().await;
    let ahead = GenerationTime::in_madrid(world.clock.now() + Duration::from_secs(50));
    let stamped = |number: &str, previous: Option<Huella>, time: &GenerationTime| {
        let statement = Statement::Invoice(Box::new(invoice(number)));
        let huella = chain::huella(&statement, previous.as_ref(), time);
        let mut submit = submit(statement, number);
        submit.place = PlaceClaim { first: Some(previous.is_none()), previous };
        submit.stamp = Some(Stamp { generated_at: time.clone(), huella });
        submit
    };
    let first = world.accept(stamped("F-1", None, &ahead)).await;
    let ours = world.accept(send("F-2")).await;
    assert_eq!(ours.record.generated_at.instant(), ahead.instant(), "the head's time, since it is later");

    let before = GenerationTime::in_madrid(world.clock.now());
    let early = refusal(&world, stamped("F-3", Some(ours.record.huella), &before)).await;
    assert!(matches!(early, Refusal::TimeOutOfBounds { .. }), "{early:?}");
    let far = GenerationTime::in_madrid(world.clock.now() + Duration::from_secs(70));
    let late = refusal(&world, stamped("F-3", Some(ours.record.huella), &far)).await;
    assert!(matches!(late, Refusal::TimeOutOfBounds { .. }), "{late:?}");

    let mut false_huella = stamped("F-3", Some(ours.record.huella), &ahead);
    false_huella.stamp.as_mut().unwrap().huella = first.record.huella;
    let mismatch = refusal(&world, false_huella).await;
    assert!(matches!(mismatch, Refusal::HuellaMismatch { .. }), "{mismatch:?}");
    world.accept(stamped("F-3", Some(ours.record.huella), &ahead)).await;

    // The chain's head is now 50 s ahead of the clock; a clock that was set back is told of.
    world.clock.set(world.clock.now() - Duration::from_secs(11));
    let skewed = refusal(&world, send("F-4")).await;
    assert!(matches!(skewed, Refusal::ClockSkew { .. }), "{skewed:?}");
}

/// An account that invoices for several issuers says so in every record from then on.
#[tokio::test]
async fn the_number_of_issuers_is_stated() {
    let world = World::new().await;
    for (submit, several) in [
        (send("F-1"), "N"),
        (send("F-2"), "N"),
        (of_issuer(send("G-1"), "A58818501"), "S"),
        (send("F-3"), "S"),
    ] {
        let xml = world.accept(submit).await.record.xml;
        let stated = format!("<IndicadorMultiplesOT>{several}</IndicadorMultiplesOT>");
        assert!(String::from_utf8_lossy(&xml).contains(&stated), "{several}");
    }
}

#[tokio::test]
async fn flags_follow_what_the_authority_will_hold() {
    let world = World::new().await;
    world.sandbox.arm(Fault::new(Effect::Force { code: 1110, number: Some("F-1".into()) }));
    world.accept(send("F-1")).await;
    world.run().await;
    let after_refusal = world.accept(correct("F-1", "k1")).await;
    let xml = |row: &verifactu_core::ledger::Submission| String::from_utf8(row.record.xml.to_vec()).unwrap();
    assert!(xml(&after_refusal).contains("<Subsanacion>S</Subsanacion><RechazoPrevio>X</RechazoPrevio>"));
    // The correction is pending, so it counts as held.
    let on_pending = world.accept(correct("F-1", "k2")).await;
    assert!(xml(&on_pending).contains("<Subsanacion>S</Subsanacion><TipoFactura>"));
    let mut contradicts = correct("F-1", "k3");
    if let Statement::Invoice(invoice) = &mut contradicts.statement {
        invoice.correction.prior_rejection = Some(PriorRejection::NotHeld);
    }
    assert_eq!(
        refusal(&world, contradicts).await,
        Refusal::CorrectionConflict { expected: PriorRejection::No }
    );
    let unknown = world.accept(cancel("F-9")).await;
    assert!(!xml(&unknown).contains("SinRegistroPrevio"), "an unknown invoice counts as held");
}

#[tokio::test]
async fn replays_and_repeated_invoices_append_nothing() {
    let world = World::new().await;
    let first = world.accept(send("F-1")).await;
    match world.engine.accept(send("F-1")).await.unwrap() {
        Appended::Replay { submission, .. } => assert_eq!(submission.job.id, first.job.id),
        other => panic!("not a replay: {other:?}"),
    }
    let mut other_key = send("F-1");
    other_key.idempotency.key = "other".into();
    match world.engine.accept(other_key).await.unwrap() {
        Appended::AlreadySubmitted(job) => assert_eq!(job, first.job.id),
        other => panic!("not refused: {other:?}"),
    }
    assert_eq!(world.accept(send("F-2")).await.record.position, 2);
}
