//! What the processes of a service tell each other about requests that arrive: how many a caller has
//! made, and which are under way.
//!
//! A rate is kept as a token bucket, of which one time is written down: when the bucket will be full
//! again. A request moves that time by its share of a minute, and is refused if the bucket would need
//! longer than a whole filling.
//!
//! Like the queue it may be lost at any time. Then callers begin with full buckets, and a request that is
//! made twice at the same time is found out by the ledger alone, which decides in any case.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use super::QueueError;

/// Buckets and marks of requests.
#[async_trait]
pub trait Gate: Send + Sync {
    /// Takes one from a bucket, if there is one in it.
    async fn charge(&self, bucket: &str, rate: Rate, now: Timestamp) -> Result<Charge, QueueError>;

    /// Marks a request as under way for as long as `life`; `false` when another holder has it marked.
    async fn enter(
        &self,
        mark: &str,
        holder: Uuid,
        now: Timestamp,
        life: Duration,
    ) -> Result<bool, QueueError>;

    /// Takes a mark away, if it is still its holder's.
    async fn leave(&self, mark: &str, holder: Uuid) -> Result<(), QueueError>;
}

/// So many a minute, and so many of them at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    per_minute: u32,
    burst: u32,
}

const MINUTE: i64 = 60_000_000;

impl Rate {
    /// So many a minute, which may all come at once: 1 to 1 000 000; what lies outside becomes the
    /// nearest of these.
    #[must_use]
    pub const fn per_minute(number: u32) -> Self {
        let number = within(number);
        Self { per_minute: number, burst: number }
    }

    /// So many at once instead, within the same bounds.
    #[must_use]
    pub const fn with_burst(self, number: u32) -> Self {
        Self { burst: within(number), ..self }
    }

    /// How many a minute.
    #[must_use]
    pub const fn of_a_minute(self) -> u32 {
        self.per_minute
    }

    /// The time that one takes, in microseconds.
    pub(super) const fn interval(self) -> i64 {
        MINUTE / self.per_minute as i64
    }

    /// The time in which an empty bucket fills, in microseconds.
    pub(super) const fn span(self) -> i64 {
        self.interval() * self.burst as i64
    }

    /// What a bucket tells that is full at a time.
    pub(super) fn told(self, admitted: bool, full_at: i64, now: i64) -> Charge {
        let missing = (full_at - now).max(0);
        let left = (self.span() - missing).max(0) / self.interval();
        let others = (i64::from(self.burst) - left - 1).max(0) * self.interval();
        Charge {
            admitted,
            left: u32::try_from(left).unwrap_or(self.burst),
            next_in: micros(missing + self.interval() - self.span()),
            more_in: micros(missing - others),
        }
    }

    /// When a bucket is full, as far as it can be known now. A time that no rate leads to is another
    /// clock's, and ours has gone back since.
    fn known(self, full_at: Option<i64>, now: i64) -> i64 {
        full_at.filter(|at| (now..=now + 2 * self.span()).contains(at)).unwrap_or(now)
    }
}

const fn within(number: u32) -> u32 {
    match number {
        0 => 1,
        1..=1_000_000 => number,
        _ => 1_000_000,
    }
}

fn micros(number: i64) -> Duration {
    Duration::from_micros(u64::try_from(number).unwrap_or(0))
}

/// What became of a request's share of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Whether there was one left for it.
    pub admitted: bool,
    /// How many are left.
    pub left: u32,
    /// When the next one may come; zero if it may now.
    pub next_in: Duration,
    /// When there is one more; zero if the bucket is full.
    pub more_in: Duration,
}

/// Buckets in memory. Above a number of them the full ones are forgotten, and if that does not help, all:
/// what never ends is a flood, and a flood must not take the memory.
#[derive(Debug)]
pub struct Buckets<K> {
    most: usize,
    full_at: Mutex<HashMap<K, i64>>,
}

impl<K: Eq + Hash> Buckets<K> {
    /// No buckets yet, and so many at most.
    #[must_use]
    pub fn holding(most: usize) -> Self {
        Self { most, full_at: Mutex::default() }
    }

    /// Takes one from a bucket, if there is one in it.
    pub fn charge(&self, bucket: K, rate: Rate, now: Timestamp) -> Charge {
        let (mut buckets, now) = (lock(&self.full_at), now.as_microsecond());
        let full_at = rate.known(buckets.get(&bucket).copied(), now) + rate.interval();
        if full_at - now > rate.span() {
            return rate.told(false, full_at - rate.interval(), now);
        }
        if buckets.len() >= self.most && !buckets.contains_key(&bucket) {
            buckets.retain(|_, full_at| *full_at > now);
            if buckets.len() > self.most / 2 {
                buckets.clear();
            }
        }
        buckets.insert(bucket, full_at);
        rate.told(true, full_at, now)
    }

    /// What [`Self::charge`] would find, without taking anything.
    pub fn look(&self, bucket: &K, rate: Rate, now: Timestamp) -> Charge {
        let now = now.as_microsecond();
        let full_at = rate.known(lock(&self.full_at).get(bucket).copied(), now);
        rate.told(full_at + rate.interval() - now <= rate.span(), full_at, now)
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        lock(&self.full_at).len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The gate of a single process.
#[derive(Debug)]
pub struct MemoryGate {
    buckets: Buckets<String>,
    marks: Mutex<HashMap<String, (Uuid, Timestamp)>>,
}

/// Most buckets of a process: those of fifteen thousand accounts that use all there is within a minute.
const MOST_BUCKETS: usize = 100_000;

impl Default for MemoryGate {
    fn default() -> Self {
        Self { buckets: Buckets::holding(MOST_BUCKETS), marks: Mutex::default() }
    }
}

#[async_trait]
impl Gate for MemoryGate {
    async fn charge(&self, bucket: &str, rate: Rate, now: Timestamp) -> Result<Charge, QueueError> {
        Ok(self.buckets.charge(bucket.to_owned(), rate, now))
    }

    async fn enter(
        &self,
        mark: &str,
        holder: Uuid,
        now: Timestamp,
        life: Duration,
    ) -> Result<bool, QueueError> {
        let mut marks = lock(&self.marks);
        if marks.get(mark).is_some_and(|(known, until)| *known != holder && *until > now) {
            return Ok(false);
        }
        if marks.len() >= MOST_BUCKETS {
            marks.retain(|_, (_, until)| *until > now);
        }
        marks.insert(mark.to_owned(), (holder, now.saturating_add(life).unwrap_or(Timestamp::MAX)));
        Ok(true)
    }

    async fn leave(&self, mark: &str, holder: Uuid) -> Result<(), QueueError> {
        let mut marks = lock(&self.marks);
        if marks.get(mark).is_some_and(|(known, _)| *known == holder) {
            marks.remove(mark);
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
