//! The system's clock set forward and back, by little and by much, while records come in.

use std::time::Duration;

use jiff::SignedDuration;
use verifactu_core::{
    job::JobState,
    ledger::{Appended, Refusal, Submission},
    testing::Chance,
    types::Clock as _,
};

use crate::world::{World, send, tenant};

const STEPS: [SignedDuration; 7] = [
    SignedDuration::from_hours(-26),
    SignedDuration::from_mins(-10),
    SignedDuration::from_secs(-45),
    SignedDuration::ZERO,
    SignedDuration::from_secs(45),
    SignedDuration::from_mins(10),
    SignedDuration::from_hours(26),
];

/// Times never go back along the chain. A record that would have to be dated more than a minute ahead is
/// refused, and taken under the same key once the clock is right again.
#[tokio::test]
async fn a_clock_that_is_set_costs_no_record_and_no_order() {
    for seed in 1..=8 {
        let mut world = World::new().await;
        world.without_signature();
        let mut chance = Chance::seeded(seed);
        let right = world.clock.now();
        let (mut passed, mut refused) = (SignedDuration::ZERO, 0);
        let mut accepted: Vec<Submission> = Vec::new();
        let mut latest = None;
        for _ in 0..60 {
            passed += SignedDuration::from_secs(20);
            world.clock.set(right + passed + *chance.pick(&STEPS));
            let submit = send(&format!("F-{}", accepted.len()));
            let ahead = latest.is_some_and(|latest| latest > world.clock.now() + Duration::from_secs(60));
            match world.engine.accept(submit).await.unwrap() {
                Appended::New { submission, .. } => {
                    assert!(!ahead, "seed {seed}: dated ahead");
                    latest = latest.max(Some(submission.record.generated_at.instant()));
                    accepted.push(*submission);
                }
                Appended::Refused(refusal) => {
                    assert!(
                        ahead && matches!(*refusal, Refusal::ClockSkew { .. }),
                        "seed {seed}: {refusal:?}"
                    );
                    refused += 1;
                }
                other => panic!("seed {seed}: {other:?}"),
            }
            if chance.one_in(8) {
                world.restart().await;
            }
            world.run().await;
        }
        assert!(refused > 0, "seed {seed}: no step went back far enough");

        world.clock.set(right + passed + SignedDuration::from_hours(27));
        accepted.push(world.accept(send(&format!("F-{}", accepted.len()))).await);
        world.run_for(Duration::from_secs(3600), Duration::from_secs(60)).await;
        for submission in &accepted {
            assert_eq!(world.state(submission.job.id).await, JobState::Succeeded, "seed {seed}");
            assert_eq!(world.registered(submission.record.invoice.number.as_str()).await, 1, "seed {seed}");
        }
        let chain = world.ledger.chains(&tenant()).await.unwrap().remove(0);
        let records = world.ledger.records(chain.id, 1, 1000).await.unwrap();
        assert_eq!(records.len(), accepted.len());
        assert!(
            records.is_sorted_by_key(|record| record.generated_at.instant()),
            "seed {seed}: times go back"
        );
        assert!(
            records.windows(2).all(|pair| pair[1].previous == Some(pair[0].huella)),
            "seed {seed}: a fork"
        );
    }
}
