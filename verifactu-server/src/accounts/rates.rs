//! How often an account calls, and what it is told of that.
//!
//! The counts are those of all processes that share a queue. While it is out of reach, each counts for
//! itself: a limit that is kept less strictly is better than a service that stands still.

use std::{error::Error, sync::Arc, time::Duration};

use jiff::Timestamp;
use verifactu_core::{
    queue::{Charge, Gate, MemoryGate, Rate},
    types::TenantId,
};

use crate::config::{RateClass, Rates};

/// Counts the calls of accounts.
pub(crate) struct Throttle {
    rates: Rates,
    gate: Arc<dyn Gate>,
    own: MemoryGate,
}

impl Throttle {
    pub(crate) fn new(rates: Rates, gate: Arc<dyn Gate>) -> Self {
        Self { rates, gate, own: MemoryGate::default() }
    }

    /// Counts a call; `None` where no rates hold.
    pub(crate) async fn charge(
        &self,
        tenant: &TenantId,
        class: RateClass,
        now: Timestamp,
    ) -> Option<Standing> {
        if !self.rates.enforced {
            return None;
        }
        let (rate, bucket) = (self.rates.of(class), format!("{tenant}:{}", class.name()));
        let charge = match self.gate.charge(&bucket, rate, now).await {
            Ok(charge) => charge,
            Err(error) => {
                tracing::debug!(error = &error as &dyn Error, "rates are counted by this process alone");
                self.own.charge(&bucket, rate, now).await.ok()?
            }
        };
        Some(Standing { policy: class.name(), rate, charge })
    }
}

/// How a caller stands to the rate that holds for its call, in the words of the IETF's draft on RateLimit
/// header fields (draft-ietf-httpapi-ratelimit-headers-11).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(super) policy: &'static str,
    pub(super) rate: Rate,
    pub(super) charge: Charge,
}

impl Standing {
    /// `RateLimit-Policy`: how many in how many seconds.
    pub(crate) fn policy(&self) -> String {
        format!("\"{}\";q={};w=60", self.policy, self.rate.of_a_minute())
    }

    /// `RateLimit`: how many are left, and the seconds within which there will be no more than these. A
    /// refused caller's `Retry-After` is the end of the same time.
    pub(crate) fn limit(&self) -> String {
        format!("\"{}\";r={};t={}", self.policy, self.charge.left, whole_seconds(self.charge.more_in))
    }

    /// How long to wait, if the call came too early.
    pub(crate) fn refused(&self) -> Option<Duration> {
        (!self.charge.admitted).then_some(self.charge.next_in)
    }
}

/// The first whole second that is not before the end of a time.
pub(crate) const fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + (time.subsec_nanos() > 0) as u64
}
