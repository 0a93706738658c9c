//! The suite that defines a [`Gate`].

use std::{sync::Arc, time::Duration};

use jiff::{Timestamp, ToSpan};
use uuid::Uuid;

use crate::queue::{Gate, MemoryGate, Rate};

use super::Chance;

/// Runs the gate suite; the expression makes `(Arc<dyn Gate>, guard)`.
#[macro_export]
macro_rules! gate_suite {
    ($open:expr) => {
        $crate::conformance_cases!($open, gate {
            g1_a_bucket_gives_its_burst_and_no_more
            g2_a_bucket_fills_evenly
            g3_buckets_are_apart
            g4_a_clock_that_goes_back_locks_nobody_out
            g5_a_request_under_way_is_marked_once
            g6_a_mark_ends
            g7_random_charges_agree_with_the_gate_in_memory
        });
    };
}

const LIFE: Duration = Duration::from_secs(5);

/// One every two seconds, three at once.
const RATE: Rate = Rate::per_minute(30).with_burst(3);

fn noon() -> Timestamp {
    "2026-07-01T12:00:00Z".parse().unwrap()
}

/// G1. A full bucket gives as many as its burst, tells how many are left, and then when the next may come.
pub async fn g1_a_bucket_gives_its_burst_and_no_more(gate: Arc<dyn Gate>) {
    for left in [2, 1, 0] {
        let charge = gate.charge("a", RATE, noon()).await.unwrap();
        assert_eq!((charge.admitted, charge.left), (true, left));
        assert_eq!(charge.more_in, Duration::from_secs(2));
    }
    for _ in 0..3 {
        let refused = gate.charge("a", RATE, noon()).await.unwrap();
        assert_eq!((refused.admitted, refused.left), (false, 0));
        assert_eq!(refused.next_in, Duration::from_secs(2), "a refusal costs nothing");
        assert_eq!(refused.more_in, refused.next_in);
    }
}

/// G2. One more is admitted with each share of a minute, and never more than the burst at once.
pub async fn g2_a_bucket_fills_evenly(gate: Arc<dyn Gate>) {
    for _ in 0..3 {
        assert!(gate.charge("a", RATE, noon()).await.unwrap().admitted);
    }
    assert!(!gate.charge("a", RATE, noon() + 1999.milliseconds()).await.unwrap().admitted);
    assert!(gate.charge("a", RATE, noon() + 2.seconds()).await.unwrap().admitted);
    let early = gate.charge("a", RATE, noon() + 3.seconds()).await.unwrap();
    assert_eq!((early.admitted, early.more_in), (false, Duration::from_secs(1)));
    let late = gate.charge("a", RATE, noon() + 7.seconds()).await.unwrap();
    assert_eq!((late.admitted, late.left, late.more_in), (true, 1, Duration::from_secs(1)));
    let later = noon() + 1.hour();
    for admitted in [true, true, true, false] {
        assert_eq!(gate.charge("a", RATE, later).await.unwrap().admitted, admitted);
    }
}

/// G3. One bucket says nothing of another.
pub async fn g3_buckets_are_apart(gate: Arc<dyn Gate>) {
    while gate.charge("a", RATE, noon()).await.unwrap().admitted {}
    assert_eq!(gate.charge("b", RATE, noon()).await.unwrap().left, 2);
}

/// G4. A bucket that seems full in a future that its rate cannot lead to counts as full.
pub async fn g4_a_clock_that_goes_back_locks_nobody_out(gate: Arc<dyn Gate>) {
    while gate.charge("a", RATE, noon()).await.unwrap().admitted {}
    assert!(gate.charge("a", RATE, noon() - 1.hour()).await.unwrap().admitted);
}

/// G5. While a request is marked, nobody else marks it. Its holder may do so again, since an answer may get
/// lost on the way to it.
pub async fn g5_a_request_under_way_is_marked_once(gate: Arc<dyn Gate>) {
    let (first, second) = (Uuid::from_u128(1), Uuid::from_u128(2));
    assert!(gate.enter("a", first, noon(), LIFE).await.unwrap());
    assert!(gate.enter("a", first, noon(), LIFE).await.unwrap());
    assert!(!gate.enter("a", second, noon() + 4.seconds(), LIFE).await.unwrap());
    assert!(gate.enter("b", second, noon(), LIFE).await.unwrap());
}

/// G6. A mark ends when its holder takes it away, or with its life; nobody else ends it.
pub async fn g6_a_mark_ends(gate: Arc<dyn Gate>) {
    let (first, second) = (Uuid::from_u128(1), Uuid::from_u128(2));
    assert!(gate.enter("a", first, noon(), LIFE).await.unwrap());
    gate.leave("a", second).await.unwrap();
    assert!(!gate.enter("a", second, noon(), LIFE).await.unwrap());
    gate.leave("a", first).await.unwrap();
    assert!(gate.enter("a", second, noon(), LIFE).await.unwrap());
    assert!(gate.enter("a", first, noon() + 5.seconds(), LIFE).await.unwrap());
    gate.leave("a", second).await.unwrap();
    assert!(!gate.enter("a", second, noon() + 5.seconds(), LIFE).await.unwrap());
}

/// G7. Whatever comes when, it answers as the gate in memory does.
pub async fn g7_random_charges_agree_with_the_gate_in_memory(gate: Arc<dyn Gate>) {
    let (model, mut chance) = (MemoryGate::default(), Chance::seeded(7));
    let rates = [RATE, Rate::per_minute(600).with_burst(100), Rate::per_minute(7)];
    let mut now = noon();
    for step in 0..1500 {
        now += (chance.below(4000) as i64).milliseconds();
        let which = chance.below(3);
        let (bucket, rate) = (format!("bucket {which}"), rates[which as usize]);
        let expected = model.charge(&bucket, rate, now).await.unwrap();
        assert_eq!(gate.charge(&bucket, rate, now).await.unwrap(), expected, "step {step}");
    }
}
