//! The suite that defines a [`Queue`].

use std::{sync::Arc, time::Duration};

use jiff::{Timestamp, ToSpan};
use uuid::Uuid;

use crate::{
    queue::{MemoryQueue, Queue, Taken},
    types::ChainId,
};

use super::Chance;

/// Runs the queue suite; the expression makes `(Arc<dyn Queue>, guard)`.
#[macro_export]
macro_rules! queue_suite {
    ($open:expr) => {
        $crate::conformance_cases!($open, queue {
            q1_chains_are_taken_in_the_order_of_their_times
            q2_a_chain_keeps_its_soonest_time
            q3_a_taken_chain_is_nobody_elses
            q4_a_lease_runs_out
            q5_a_lease_can_be_prolonged
            q6_a_stale_token_changes_nothing
            q7_a_chain_scheduled_while_taken_comes_again
            q8_a_finished_chain_is_gone_or_due_again
            q9_a_wait_ends_when_a_chain_is_scheduled
            q10_a_probe_answers
            q12_a_lease_is_told
            q11_random_steps_agree_with_the_queue_in_memory
        });
    };
}

const LEASE: Duration = Duration::from_secs(30);

fn chain(number: u128) -> ChainId {
    ChainId(Uuid::from_u128(number))
}

fn noon() -> Timestamp {
    "2026-07-01T12:00:00Z".parse().unwrap()
}

/// The chains that can be taken now, in order.
async fn takeable(queue: &dyn Queue, now: Timestamp) -> Vec<ChainId> {
    let mut taken = Vec::new();
    while let Some(next) = queue.take(now, LEASE).await.unwrap() {
        taken.push(next.chain);
    }
    taken
}

/// Q12. The end of a lease is told while the chain is taken, and nothing before and after.
pub async fn q12_a_lease_is_told(queue: Arc<dyn Queue>) {
    let until = async || queue.leased_until(chain(1)).await.unwrap();
    assert_eq!(until().await, None);
    queue.schedule(chain(1), noon()).await.unwrap();
    assert_eq!(until().await, None);
    let taken = queue.take(noon(), LEASE).await.unwrap().unwrap();
    assert_eq!(until().await, Some(noon() + LEASE));
    assert!(queue.renew(&taken, noon() + 10.seconds(), LEASE).await.unwrap());
    assert_eq!(until().await, Some(noon() + 10.seconds() + LEASE));
    queue.finish(taken, Some(noon() + 60.seconds())).await.unwrap();
    assert_eq!(until().await, None);
}

/// Q1. Chains are taken in the order of their due times, and none before it.
pub async fn q1_chains_are_taken_in_the_order_of_their_times(queue: Arc<dyn Queue>) {
    for (number, seconds) in [(1, 3), (2, 1), (3, 2), (4, 60)] {
        queue.schedule(chain(number), noon() + seconds.seconds()).await.unwrap();
    }
    assert_eq!(queue.take(noon(), LEASE).await.unwrap(), None);
    assert_eq!(takeable(&*queue, noon() + 3.seconds()).await, [chain(2), chain(3), chain(1)]);
}

/// Q2. A chain scheduled twice keeps the sooner time and is taken once.
pub async fn q2_a_chain_keeps_its_soonest_time(queue: Arc<dyn Queue>) {
    for seconds in [10, 5, 20] {
        queue.schedule(chain(1), noon() + seconds.seconds()).await.unwrap();
    }
    assert_eq!(queue.take(noon() + 4.seconds(), LEASE).await.unwrap(), None);
    assert_eq!(takeable(&*queue, noon() + 5.seconds()).await, [chain(1)]);
}

/// Q3. A taken chain is nobody else's while its lease runs, and does not hold up others.
pub async fn q3_a_taken_chain_is_nobody_elses(queue: Arc<dyn Queue>) {
    queue.schedule(chain(1), noon()).await.unwrap();
    let taken = queue.take(noon(), LEASE).await.unwrap().unwrap();
    assert_eq!(taken.chain, chain(1));
    assert_eq!(queue.take(noon() + 29.seconds(), LEASE).await.unwrap(), None);
    queue.schedule(chain(2), noon()).await.unwrap();
    assert_eq!(takeable(&*queue, noon() + 29.seconds()).await, [chain(2)]);
}

/// Q4. When a lease runs out, the chain can be taken again under another token.
pub async fn q4_a_lease_runs_out(queue: Arc<dyn Queue>) {
    queue.schedule(chain(1), noon()).await.unwrap();
    let first = queue.take(noon(), LEASE).await.unwrap().unwrap();
    let second = queue.take(noon() + 30.seconds(), LEASE).await.unwrap().unwrap();
    assert_eq!(second.chain, first.chain);
    assert_ne!(second.token, first.token);
}

/// Q5. A lease that is prolonged runs from the moment of prolonging.
pub async fn q5_a_lease_can_be_prolonged(queue: Arc<dyn Queue>) {
    queue.schedule(chain(1), noon()).await.unwrap();
    let taken = queue.take(noon(), LEASE).await.unwrap().unwrap();
    assert!(queue.renew(&taken, noon() + 20.seconds(), LEASE).await.unwrap());
    assert_eq!(queue.take(noon() + 49.seconds(), LEASE).await.unwrap(), None);
    assert!(queue.take(noon() + 50.seconds(), LEASE).await.unwrap().is_some());
}

/// Q6. Who holds a lease no longer neither prolongs nor finishes it.
pub async fn q6_a_stale_token_changes_nothing(queue: Arc<dyn Queue>) {
    queue.schedule(chain(1), noon()).await.unwrap();
    let stale = queue.take(noon(), LEASE).await.unwrap().unwrap();
    let valid = queue.take(noon() + 30.seconds(), LEASE).await.unwrap().unwrap();
    assert!(!queue.renew(&stale, noon() + 31.seconds(), LEASE).await.unwrap());
    queue.finish(stale.clone(), Some(noon())).await.unwrap();
    assert_eq!(queue.take(noon() + 32.seconds(), LEASE).await.unwrap(), None);
    assert!(queue.renew(&valid, noon() + 32.seconds(), LEASE).await.unwrap());
    queue.finish(valid.clone(), None).await.unwrap();
    assert!(!queue.renew(&valid, noon() + 33.seconds(), LEASE).await.unwrap());
    queue.finish(valid, Some(noon())).await.unwrap();
    assert_eq!(queue.take(noon() + 99.seconds(), LEASE).await.unwrap(), None);
}

/// Q7. A chain that is scheduled while it is taken comes again once it is finished, at the sooner of
/// the two times.
pub async fn q7_a_chain_scheduled_while_taken_comes_again(queue: Arc<dyn Queue>) {
    for (next, expected) in [(None, 5), (Some(9), 5), (Some(2), 2)] {
        queue.schedule(chain(1), noon()).await.unwrap();
        let taken = queue.take(noon(), LEASE).await.unwrap().unwrap();
        queue.schedule(chain(1), noon() + 5.seconds()).await.unwrap();
        assert_eq!(queue.take(noon() + 6.seconds(), LEASE).await.unwrap(), None);
        queue.finish(taken, next.map(|next: i64| noon() + next.seconds())).await.unwrap();
        assert_eq!(queue.take(noon() + (expected - 1).seconds(), LEASE).await.unwrap(), None);
        let again = queue.take(noon() + expected.seconds(), LEASE).await.unwrap().unwrap();
        queue.finish(again, None).await.unwrap();
    }
}

/// Q8. A finished chain is due again at the time it was given back for, or gone.
pub async fn q8_a_finished_chain_is_gone_or_due_again(queue: Arc<dyn Queue>) {
    queue.schedule(chain(1), noon()).await.unwrap();
    let taken = queue.take(noon(), LEASE).await.unwrap().unwrap();
    queue.finish(taken, Some(noon() + 7.seconds())).await.unwrap();
    assert_eq!(queue.take(noon() + 6.seconds(), LEASE).await.unwrap(), None);
    let taken = queue.take(noon() + 7.seconds(), LEASE).await.unwrap().unwrap();
    queue.finish(taken, None).await.unwrap();
    assert_eq!(queue.take(noon() + 999.seconds(), LEASE).await.unwrap(), None);
}

/// Q9. A wait ends at once when a chain is due, when one is scheduled, or when its time is over.
pub async fn q9_a_wait_ends_when_a_chain_is_scheduled(queue: Arc<dyn Queue>) {
    let (hour, deadline) = (Duration::from_secs(3600), Duration::from_secs(20));
    queue.wait(noon(), Duration::from_millis(1)).await;
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.wait(noon(), hour).await }
    });
    // Whether the schedule comes before the wait or after it has begun, the wait ends.
    queue.schedule(chain(1), noon()).await.unwrap();
    tokio::time::timeout(deadline, waiting).await.expect("the wait ended").unwrap();
    tokio::time::timeout(deadline, queue.wait(noon(), hour)).await.expect("a chain is due");
}

/// Q10. A probe of a queue that works answers, and changes nothing that is due.
pub async fn q10_a_probe_answers(queue: Arc<dyn Queue>) {
    queue.schedule(chain(1), noon()).await.unwrap();
    queue.probe().await.unwrap();
    assert_eq!(takeable(&*queue, noon()).await, [chain(1)]);
}

/// Q11. Whatever is done in whatever order, it answers as the queue in memory does.
pub async fn q11_random_steps_agree_with_the_queue_in_memory(queue: Arc<dyn Queue>) {
    let (model, mut chance) = (MemoryQueue::default(), Chance::seeded(11));
    let mut now = noon();
    let mut taken: Vec<(Taken, Taken)> = Vec::new();
    for step in 0..1500 {
        let at = now + (chance.below(90) as i64 - 30).seconds();
        let held = (!taken.is_empty()).then(|| chance.below(taken.len() as u64) as usize);
        match (chance.below(8), held) {
            (0..3, _) => {
                let chain = chain(u128::from(chance.below(12)));
                model.schedule(chain, at).await.unwrap();
                queue.schedule(chain, at).await.unwrap();
            }
            (3..5, _) => {
                let expected = model.take(now, LEASE).await.unwrap();
                let found = queue.take(now, LEASE).await.unwrap();
                assert_eq!(
                    found.as_ref().map(|taken| taken.chain),
                    expected.as_ref().map(|taken| taken.chain),
                    "step {step}"
                );
                taken.extend(expected.zip(found));
            }
            (5, Some(held)) => {
                let (expected, found) = &taken[held];
                let expected = model.renew(expected, now, LEASE).await.unwrap();
                assert_eq!(queue.renew(found, now, LEASE).await.unwrap(), expected, "step {step}");
            }
            (6, Some(held)) => {
                let (expected, found) = taken.swap_remove(held);
                let next = (!chance.one_in(3)).then_some(at);
                model.finish(expected, next).await.unwrap();
                queue.finish(found, next).await.unwrap();
            }
            _ => now += (chance.below(12) as i64).seconds(),
        }
    }
}
