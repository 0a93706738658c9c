//! The queue: which chain to look at next. It holds chains, never jobs, and may be lost at any time:
//! the ledger knows what is due, and a sweep tells the queue again.

mod gate;
mod memory;
#[cfg(feature = "redis")]
mod redis;

pub use gate::{Buckets, Charge, Gate, MemoryGate, Rate};
pub use memory::MemoryQueue;
#[cfg(feature = "redis")]
pub use redis::{RedisOptions, RedisQueue, RedisSetupError};

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::types::ChainId;

/// Due times of chains, and who works on which.
#[async_trait]
pub trait Queue: Send + Sync {
    /// Makes a chain due at a time, or earlier if it already was.
    async fn schedule(&self, chain: ChainId, at: Timestamp) -> Result<(), QueueError>;

    /// Takes the chain that has been due longest at `now`, for as long as `lease` lasts. Nobody else
    /// gets it meanwhile.
    async fn take(&self, now: Timestamp, lease: Duration) -> Result<Option<Taken>, QueueError>;

    /// Prolongs a lease from `now`; `false` when it has run out and another may have it.
    async fn renew(&self, taken: &Taken, now: Timestamp, lease: Duration) -> Result<bool, QueueError>;

    /// Gives a chain back, due again at `next` or when it was scheduled meanwhile, whichever is
    /// earlier. A lease that has run out changes nothing.
    async fn finish(&self, taken: Taken, next: Option<Timestamp>) -> Result<(), QueueError>;

    /// When the lease on a chain ends, if it is taken: for operators. It may have run out already.
    async fn leased_until(&self, chain: ChainId) -> Result<Option<Timestamp>, QueueError>;

    /// Returns once a chain may be due: at once if one is at `now`, when one is scheduled, or after
    /// `at_most`.
    async fn wait(&self, now: Timestamp, at_most: Duration);

    /// Proves that the queue answers and takes what it is told.
    async fn probe(&self) -> Result<(), QueueError>;

    /// Returns once the queue may have forgotten what it was told, so that it is told again; never, if
    /// it lives as long as the process.
    async fn forgotten(&self) {
        std::future::pending().await
    }
}

/// A chain that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The chain.
    pub chain: ChainId,
    /// Tells this taking from any other.
    pub token: u64,
}

/// The queue is out of reach. Nothing is lost by it.
#[derive(Debug, thiserror::Error)]
#[error("queue: out of reach")]
pub struct QueueError(#[source] pub Box<dyn std::error::Error + Send + Sync>);
