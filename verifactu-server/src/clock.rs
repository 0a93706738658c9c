//! The system's clock and new identifiers: the only place that asks the system for either.

use jiff::Timestamp;
use uuid::Uuid;
use verifactu_core::types::{Clock, Ids};

/// The system's clock, in microseconds: what a ledger keeps of a time is then the whole of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is where time comes in")]
    fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
    }
}

/// UUIDs of version 7, which increase with time and so keep indexes compact.
#[derive(Clone, Copy, Debug, Default)]
pub struct UuidV7Ids;

impl Ids for UuidV7Ids {
    #[expect(clippy::disallowed_methods, reason = "this is where identifiers come in")]
    fn next(&self) -> Uuid {
        Uuid::now_v7()
    }
}
