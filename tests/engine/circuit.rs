//! The circuit before a host: five connections that fail in a row open it, and one probe closes it.

use std::{sync::Arc, time::Duration};

use verifactu_core::{
    authority::{CircuitAuthority, Service},
    job::{FailureClass, JobState},
    types::Clock,
};

use crate::{
    wire::{Spoil, unreachable},
    world::{World, in_chain, send},
};

#[tokio::test]
async fn an_open_circuit_spares_the_other_chains_and_one_probe_closes_it() {
    let mut world = World::new().await;
    world.through(Arc::new(CircuitAuthority::new(world.wire.clone(), world.clock.clone())));
    let mut jobs = Vec::new();
    for n in 0..8 {
        jobs.push(world.accept(in_chain(send(&format!("F-{n}")), n)).await.job.id);
    }
    for _ in 0..=CircuitAuthority::FAILURES {
        world.wire.spoil(Spoil::Answer(unreachable()));
    }
    let tried = || world.wire.passed(Service::Registration).len();
    world.run().await;
    assert_eq!(tried(), 5, "the sixth chain is not tried");
    let mut waits = Vec::new();
    for job in &jobs {
        let progress = world.progress(*job).await;
        assert_eq!((progress.state, progress.attempts), (JobState::Failed, 0));
        assert_eq!(progress.failure.unwrap().class, FailureClass::Unreachable);
        waits.push(progress.next_retry_at.unwrap() - world.clock.now());
    }

    world.clock.advance(Duration::from_secs(60));
    world.run().await;
    assert_eq!(tried(), 6, "one probe, which fails");
    for (job, before) in jobs.iter().zip(waits) {
        let progress = world.progress(*job).await;
        assert_eq!(progress.attempts, 0);
        let wait = progress.next_retry_at.unwrap() - world.clock.now();
        assert!(wait.get_seconds() > before.get_seconds(), "the waits grow");
    }

    world.clock.advance(Duration::from_secs(150));
    world.run().await;
    assert_eq!(tried(), 14, "the probe gets through, and the others after it");
    for job in jobs {
        assert_eq!(world.state(job).await, JobState::Succeeded);
    }
}

/// A probe that never ends, because its process gave it up, does not keep the circuit open.
#[tokio::test]
async fn a_lost_probe_is_followed_by_another() {
    let mut world = World::new().await;
    world.through(Arc::new(CircuitAuthority::new(world.wire.clone(), world.clock.clone())));
    for n in 0..5 {
        world.wire.spoil(Spoil::Answer(unreachable()));
        world.accept(in_chain(send(&format!("F-{n}")), n)).await;
    }
    world.run().await;
    world.clock.advance(CircuitAuthority::PAUSE);
    let job = world.accept(in_chain(send("F-9"), 9)).await.job.id;
    world.wire.spoil(Spoil::Hang);
    world.run_until_sent(6).await;
    world.restart().await;
    world.run_for(Duration::from_secs(400), Duration::from_secs(10)).await;
    assert_eq!(world.state(job).await, JobState::Succeeded);
}
