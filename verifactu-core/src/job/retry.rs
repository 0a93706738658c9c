//! When a failed job is tried again.

use std::time::Duration;

use super::FailureClass;

/// The growing waits between attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The wait after each failed attempt; as many retries as there are waits.
    pub waits: Vec<Duration>,
    /// The longest wait while the authority errs, is out of reach or leaves us in doubt.
    pub transient_cap: Duration,
    /// How often a doubt is looked into once the attempts are used up.
    pub doubt_interval: Duration,
    /// How far a wait is spread, in percent to either side.
    pub jitter_percent: u32,
    /// Whether an authority that was never reached burns an attempt.
    pub count_unreachable: bool,
}

impl Default for RetryPolicy {
    /// Eight retries after 30 s, 2 min, 10 min, 30 min, 2 h, 6 h, 12 h and 24 h, spread by 20 %.
    fn default() -> Self {
        const MINUTE: u64 = 60;
        const HOUR: u64 = 60 * MINUTE;
        Self {
            waits: [30, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR]
                .map(Duration::from_secs)
                .to_vec(),
            transient_cap: Duration::from_secs(HOUR),
            doubt_interval: Duration::from_secs(HOUR),
            jitter_percent: 20,
            count_unreachable: false,
        }
    }
}

impl RetryPolicy {
    /// The first attempt and every retry.
    #[must_use]
    pub fn max_attempts(&self) -> u32 {
        u32::try_from(self.waits.len()).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// The wait after the failed attempt number `attempt` (from 1).
    pub(super) fn wait(&self, attempt: u32, class: FailureClass, jitter: u32) -> Duration {
        let index = (attempt.max(1) as usize - 1).min(self.waits.len().saturating_sub(1));
        let mut wait = self.waits.get(index).copied().unwrap_or(self.transient_cap);
        if matches!(class, FailureClass::AuthorityError | FailureClass::InDoubt | FailureClass::Unreachable) {
            wait = wait.min(self.transient_cap);
        }
        let percent = 100 - self.jitter_percent.min(100) + jitter % (2 * self.jitter_percent.min(100) + 1);
        wait * percent / 100
    }
}
