//! When a job is due, and which selection it belongs to: the rules that every backend shares.
//!
//! A job that is not final has a *time of its own*: a FAILED one its next retry, or the beginning of
//! time without one; a PENDING one the beginning of time; a PROCESSING one too, because its message is
//! open and after a crash somebody must look at it.
//!
//! The *front* of a chain is its first record that was never sent (`!sent`) and whose job is not
//! final. First sending keeps the order of the chain, so among the records never sent only the front's
//! time counts, and the *run* that may be sent together begins there: it takes the records that wait,
//! steps over those that were sent or are final, and ends before one that is under way or in doubt.
//!
//! A chain that is not held is due at the soonest of these times, but not before its slot opens. A run
//! of [`FULL_MESSAGE`] records opens the slot early (Orden, art. 16; SWeb 2), but not while one of its
//! records is searched for that makes the authority refuse whole messages: what is sent then is less.

use jiff::Timestamp;

use crate::job::{JobState, Progress, Standing};

/// The most records of one message; as many waiting records open a slot early.
pub const FULL_MESSAGE: u32 = 1000;

/// Where an unfinished job stands in the order of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Never sent, and part of the run from the front.
    First,
    /// Never sent, and the run from the front ends before it.
    Barrier,
    /// Sent before, so it holds nobody up.
    Again,
}

impl Turn {
    /// `None` for a final job.
    pub(super) fn of(progress: &Progress) -> Option<Self> {
        match progress.state {
            JobState::Succeeded | JobState::Dead => None,
            _ if progress.sent => Some(Self::Again),
            JobState::Pending | JobState::Failed if progress.standing == Standing::Waiting => {
                Some(Self::First)
            }
            _ => Some(Self::Barrier),
        }
    }
}

/// The job's own time, if it is not final.
pub(super) fn own_time(progress: &Progress) -> Option<Timestamp> {
    match progress.state {
        JobState::Succeeded | JobState::Dead => None,
        JobState::Pending | JobState::Processing => Some(Timestamp::MIN),
        JobState::Failed => Some(progress.next_retry_at.unwrap_or(Timestamp::MIN)),
    }
}

/// Whether the job belongs to [`Selection::Retry`](super::Selection::Retry).
pub(super) fn is_retry(progress: &Progress, due: Timestamp) -> bool {
    Turn::of(progress) == Some(Turn::Again)
        && progress.standing != Standing::InDoubt
        && progress.state != JobState::Processing
        && own_time(progress).is_some_and(|own| own <= due)
}

/// Whether the job belongs to [`Selection::Doubtful`](super::Selection::Doubtful).
pub(super) fn is_doubtful(progress: &Progress, due: Timestamp) -> bool {
    progress.standing == Standing::InDoubt
        && progress.state != JobState::Processing
        && own_time(progress).is_some_and(|own| own <= due)
}

/// Whether the job must not be sent once a later record of its invoice is: its last attempt failed,
/// or an operator has just asked for another.
pub(super) fn can_be_overtaken(progress: &Progress) -> bool {
    match progress.state {
        JobState::Failed => true,
        JobState::Pending => progress.sent,
        JobState::Processing | JobState::Succeeded | JobState::Dead => false,
    }
}

/// When a chain is due whose soonest job is due at `soonest`.
pub(super) fn chain_due(
    soonest: Timestamp,
    next_slot_at: Option<Timestamp>,
    full_message_waits: impl FnOnce() -> bool,
) -> Timestamp {
    match next_slot_at {
        Some(slot) if slot > soonest && !full_message_waits() => slot,
        _ => soonest,
    }
}
