//! What waits in the whole ledger, for those who operate it.

use jiff::Timestamp;

use crate::job::{JobState, Progress, Standing};

use super::HoldReason;

/// Unfinished jobs and held chains of all accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    /// PENDING jobs.
    pub pending: u64,
    /// PROCESSING jobs.
    pub processing: u64,
    /// FAILED jobs.
    pub failed: u64,
    /// Those of them that are in doubt, whatever their state.
    pub in_doubt: u64,
    /// When the oldest PENDING job was accepted.
    pub oldest_pending: Option<Timestamp>,
    /// Chains that wait for a certificate.
    pub held_for_certificate: u64,
    /// Chains that wait for the operator.
    pub held_by_operator: u64,
    /// Chains that are held because the authority has suspended their presenter.
    pub held_as_suspended: u64,
}

impl Overview {
    /// A store may stop counting here, so that a backlog does not make looking at it slow; the oldest
    /// job is then that of the jobs it counted.
    pub const COUNTED: u32 = 200_000;

    /// Counts jobs of a state, the oldest of which was accepted at that time.
    pub(super) fn count(&mut self, state: JobState, jobs: u64, oldest: Option<Timestamp>) {
        match state {
            JobState::Pending => {
                self.pending += jobs;
                self.oldest_pending = self.oldest_pending.into_iter().chain(oldest).min();
            }
            JobState::Processing => self.processing += jobs,
            JobState::Failed => self.failed += jobs,
            JobState::Succeeded | JobState::Dead => {}
        }
    }

    /// Counts chains that are held.
    pub(super) fn count_held(&mut self, reason: HoldReason, chains: u64) {
        match reason {
            HoldReason::Certificate => self.held_for_certificate += chains,
            HoldReason::Operator => self.held_by_operator += chains,
            HoldReason::Suspended => self.held_as_suspended += chains,
        }
    }

    /// Counts one job that is not final.
    pub(super) fn count_job(&mut self, progress: &Progress, accepted: Timestamp) {
        self.count(progress.state, 1, Some(accepted));
        self.in_doubt += u64::from(progress.standing == Standing::InDoubt);
    }
}
