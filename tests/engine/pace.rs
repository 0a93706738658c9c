//! The pace against a model: never early, never starved, through restarts; no chain waits for another.

use std::{collections::HashMap, time::Duration};

use jiff::Timestamp;
use verifactu_core::{
    authority::Service,
    job::{JobState, Standing},
    ledger::{SlotKind, Submission},
    testing::Chance,
    types::Clock,
};
use verifactu_server::sandbox::{self, Effect, Fault, FaultSide, PresenterPolicy};

use crate::{
    wire::Passed,
    world::{World, of_issuer, send, tenant},
};

const MINUTE: Duration = Duration::from_secs(60);
const ISSUERS: [&str; 3] = ["B12345674", "A58818501", "B65410011"];

/// What the pace must be, told by what passed on the wire.
#[derive(Default)]
struct Model {
    chains: HashMap<String, Pace>,
    seen: usize,
}

struct Pace {
    wait: Duration,
    next: Timestamp,
}

impl Model {
    /// Reads what passed since the last call. `answered` is the wait that the authority named, if its
    /// answer arrived and named one.
    fn read(&mut self, passed: &[Passed], answered: Option<Duration>, what: &str) {
        for message in &passed[self.seen..] {
            let pace = self
                .chains
                .entry(message.issuer.clone())
                .or_insert(Pace { wait: MINUTE, next: Timestamp::MIN });
            assert!(message.at >= pace.next, "{what}: {} is early: {message:?}", message.issuer);
            pace.wait = answered.unwrap_or(pace.wait);
            pace.next = message.at + pace.wait;
        }
        self.seen = passed.len();
    }

    /// Whether a chain may send now.
    fn is_open(&self, issuer: &str, now: Timestamp) -> bool {
        self.chains.get(issuer).is_none_or(|pace| pace.next <= now)
    }
}

/// What the authority does to the next message, and the wait that the engine learns by it.
fn disturb(world: &World, chance: &mut Chance) -> Option<Duration> {
    let usual = Some(MINUTE);
    let (effect, learnt) = match chance.below(8) {
        0 => {
            let seconds = 10 + chance.below(200) as u16;
            (Effect::Wait(Some(seconds)), Some(Duration::from_secs(u64::from(seconds))))
        }
        1 => (Effect::Wait(None), None),
        2 => (Effect::Status(503), None),
        3 => (Effect::Cut, None),
        4 => (Effect::SoapFault { code: Some(20009), side: FaultSide::Server }, None),
        5 => (Effect::Force { code: 1110, number: None }, usual),
        _ => return usual,
    };
    world.sandbox.arm(Fault::new(effect).on(sandbox::MessageKind::Submission));
    learnt
}

#[tokio::test]
async fn the_pace_is_kept_and_nobody_starves() {
    for seed in 0..6 {
        let mut chance = Chance::seeded(seed);
        let mut world = World::new().await;
        world.without_signature();
        let settings = sandbox::Settings { presenters: PresenterPolicy::Anyone, ..world.sandbox.settings() };
        world.sandbox.set_settings(settings).unwrap();
        let mut model = Model::default();
        let mut accepted: Vec<Submission> = Vec::new();
        for step in 0..250 {
            let what = format!("seed {seed}, step {step}");
            for _ in 0..chance.below(4) {
                let issuer = *chance.pick(&ISSUERS);
                let submit = of_issuer(send(&format!("F-{}", accepted.len())), issuer);
                accepted.push(world.accept(submit).await);
            }
            if chance.one_in(10) {
                world.restart().await;
            }
            // One message after the other, so that each is disturbed for itself.
            loop {
                world.sandbox.clear_faults();
                let learnt = disturb(&world, &mut chance);
                let more = world.engine.dispatch_next().await.unwrap();
                model.read(&world.wire.passed(Service::Registration), learnt, &what);
                if !more {
                    break;
                }
            }
            let now = world.clock.now();
            for submission in &accepted {
                let issuer = submission.record.invoice.issuer;
                let progress = world.progress(submission.job.id).await;
                assert!(
                    progress.state != JobState::Pending || !model.is_open(issuer.as_str(), now),
                    "{what}: {issuer} could send and does not: {progress:?}"
                );
            }
            world.clock.advance(Duration::from_secs(1 + chance.below(45)));
        }
        world.sandbox.clear_faults();
        world.run_for(Duration::from_secs(48 * 3600), Duration::from_secs(600)).await;
        for submission in &accepted {
            let progress = world.progress(submission.job.id).await;
            assert!(
                progress.state == JobState::Succeeded || progress.standing == Standing::Rejected,
                "seed {seed}: {progress:?}"
            );
        }
    }
}

/// What the authority asked for is in the ledger, so a process that starts anew keeps to it.
#[tokio::test]
async fn a_wait_survives_a_restart_and_slows_no_other_issuer() {
    let mut world = World::new().await;
    let settings = sandbox::Settings { presenters: PresenterPolicy::Anyone, ..world.sandbox.settings() };
    world.sandbox.set_settings(settings).unwrap();
    world.sandbox.arm(Fault::new(Effect::Wait(Some(1800))));
    world.accept(send("F-1")).await;
    world.run().await;
    let slow = world.accept(send("F-2")).await.job.id;
    world.accept(of_issuer(send("G-1"), ISSUERS[1])).await;
    world.run().await;
    let fast = world.accept(of_issuer(send("G-2"), ISSUERS[1])).await.job.id;
    world.restart().await;
    world.clock.advance(MINUTE);
    world.run().await;
    assert_eq!(world.state(fast).await, JobState::Succeeded);
    world.clock.advance(28 * MINUTE);
    world.restart().await;
    world.run().await;
    assert_eq!(world.state(slow).await, JobState::Pending, "a minute is missing");
    world.clock.advance(MINUTE);
    world.run().await;
    assert_eq!(world.state(slow).await, JobState::Succeeded);
}

/// A thousand waiting records open the slot, and it is theirs: a due retry waits for its own.
#[tokio::test]
async fn a_thousand_waiting_records_do_not_wait_and_take_nobody_along() {
    let world = World::new().await;
    world.without_signature();
    world.sandbox.arm(Fault::new(Effect::Force { code: 1110, number: None }));
    let refused = world.accept(send("R-1")).await.job.id;
    world.run().await;
    world.clock.advance(Duration::from_secs(50));
    for n in 0..999 {
        world.accept(send(&format!("F-{n}"))).await;
        if n % 100 == 0 {
            world.run().await;
        }
    }
    world.run().await;
    let sizes = || -> Vec<usize> {
        world.wire.passed(Service::Registration).iter().map(|passed| passed.records).collect()
    };
    assert_eq!(sizes(), [1], "999 wait");
    world.accept(send("F-999")).await;
    world.run().await;
    assert_eq!(sizes(), [1, 1000]);
    assert_eq!(world.state(refused).await, JobState::Failed, "its slot has not come");
    let chain = &world.ledger.chains(&tenant()).await.unwrap()[0];
    assert_eq!(chain.last_slot, Some(SlotKind::First));
    assert_eq!(chain.next_slot_at, Some(world.clock.now() + MINUTE));
    world.clock.advance(MINUTE);
    world.run().await;
    assert_eq!(world.state(refused).await, JobState::Succeeded);
}

/// The messages of late records say so, and carry no others.
#[tokio::test]
async fn late_records_travel_in_messages_of_their_own() {
    let world = World::new().await;
    world.sandbox.arm(Fault::new(Effect::Wait(Some(300))));
    world.sandbox.arm(Fault::new(Effect::Wait(Some(1))));
    world.accept(send("F-0")).await;
    world.run().await;
    let mut jobs = Vec::new();
    // By the next slot they are 300, 225, 140 and 65 s old; 150 s is late.
    for (n, seconds) in [(1, 75), (2, 85), (3, 75), (4, 65)] {
        jobs.push(world.accept(send(&format!("F-{n}"))).await.job.id);
        world.clock.advance(Duration::from_secs(seconds));
    }
    world.run().await;
    world.clock.advance(Duration::from_secs(1));
    world.run().await;
    let sent = world.wire.passed(Service::Registration);
    let sent: Vec<(usize, bool)> = sent.iter().map(|passed| (passed.records, passed.incident)).collect();
    assert_eq!(sent, [(1, false), (2, true), (2, false)]);
    for job in jobs {
        assert_eq!(world.progress(job).await.standing, Standing::Accepted, "without 2004");
    }
}
