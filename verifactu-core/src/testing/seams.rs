//! Time and identifiers that a test controls.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use uuid::Uuid;

use crate::types::{Clock, Ids};

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock(Mutex<Timestamp>);

impl ManualClock {
    /// A clock that shows `now`.
    #[must_use]
    pub const fn at(now: Timestamp) -> Self {
        Self(Mutex::new(now))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *now += by;
    }

    /// Sets the clock, forward or back.
    pub fn set(&self, now: Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Identifiers that count up, from 1 by default.
#[derive(Debug, Default)]
pub struct SequentialIds(AtomicU64);

impl SequentialIds {
    /// Identifiers that count up from `last` + 1, to go on where another source has ended.
    #[must_use]
    pub const fn after(last: u64) -> Self {
        Self(AtomicU64::new(last))
    }
}

impl Ids for SequentialIds {
    fn next(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::Relaxed)) + 1)
    }
}
