//! The queue of a single process.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::Notify;

use crate::types::ChainId;

use super::{Queue, QueueError, Taken};

/// Keeps due times in memory. One instance serves all workers of a process.
#[derive(Debug, Default)]
pub struct MemoryQueue {
    state: Mutex<State>,
    scheduled: Notify,
}

#[derive(Debug, Default)]
struct State {
    chains: HashMap<ChainId, Entry>,
    /// Due chains in order, kept beside the map so that taking one costs the same at any size.
    order: std::collections::BTreeSet<(Timestamp, ChainId)>,
    last_token: u64,
}

#[derive(Debug, Default)]
struct Entry {
    due: Option<Timestamp>,
    taken: Option<(u64, Timestamp)>,
}

impl Entry {
    /// When the chain can be taken: a running lease comes before the due time.
    fn takeable_at(&self) -> Option<Timestamp> {
        match (self.taken, self.due) {
            (Some((_, until)), _) => Some(until),
            (None, due) => due,
        }
    }
}

impl State {
    fn change(&mut self, chain: ChainId, change: impl FnOnce(&mut Entry)) {
        let entry = self.chains.entry(chain).or_default();
        if let Some(at) = entry.takeable_at() {
            self.order.remove(&(at, chain));
        }
        change(entry);
        match entry.takeable_at() {
            Some(at) => {
                self.order.insert((at, chain));
            }
            None => {
                self.chains.remove(&chain);
            }
        }
    }

    fn holds(&self, taken: &Taken) -> bool {
        self.chains
            .get(&taken.chain)
            .and_then(|entry| entry.taken)
            .is_some_and(|(token, _)| token == taken.token)
    }
}

impl MemoryQueue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Queue for MemoryQueue {
    async fn schedule(&self, chain: ChainId, at: Timestamp) -> Result<(), QueueError> {
        self.lock().change(chain, |entry| entry.due = Some(entry.due.map_or(at, |due| due.min(at))));
        self.scheduled.notify_waiters();
        Ok(())
    }

    async fn take(&self, now: Timestamp, lease: Duration) -> Result<Option<Taken>, QueueError> {
        let mut state = self.lock();
        let Some(&(at, chain)) = state.order.first() else { return Ok(None) };
        if at > now {
            return Ok(None);
        }
        state.last_token += 1;
        let token = state.last_token;
        state.change(chain, |entry| {
            entry.due = None;
            entry.taken = Some((token, now.saturating_add(lease).unwrap_or(Timestamp::MAX)));
        });
        Ok(Some(Taken { chain, token }))
    }

    async fn renew(&self, taken: &Taken, now: Timestamp, lease: Duration) -> Result<bool, QueueError> {
        let mut state = self.lock();
        if !state.holds(taken) {
            return Ok(false);
        }
        let until = now.saturating_add(lease).unwrap_or(Timestamp::MAX);
        state.change(taken.chain, |entry| entry.taken = Some((taken.token, until)));
        Ok(true)
    }

    async fn finish(&self, taken: Taken, next: Option<Timestamp>) -> Result<(), QueueError> {
        let mut state = self.lock();
        if state.holds(&taken) {
            state.change(taken.chain, |entry| {
                entry.taken = None;
                entry.due = [entry.due, next].into_iter().flatten().min();
            });
            self.scheduled.notify_waiters();
        }
        Ok(())
    }

    async fn leased_until(&self, chain: ChainId) -> Result<Option<Timestamp>, QueueError> {
        Ok(self.lock().chains.get(&chain).and_then(|entry| entry.taken).map(|(_, until)| until))
    }

    async fn wait(&self, now: Timestamp, at_most: Duration) {
        let notified = self.scheduled.notified();
        tokio::pin!(notified);
        notified.as_mut().enable();
        let first = self.lock().order.first().map(|(at, _)| *at);
        let until_due =
            first.map_or(at_most, |at| Duration::try_from(at.duration_since(now)).unwrap_or_default());
        // An elapsed time-out is the other half of what this waits for.
        let _ = tokio::time::timeout(until_due.min(at_most), notified).await;
    }

    async fn probe(&self) -> Result<(), QueueError> {
        Ok(())
    }
}
