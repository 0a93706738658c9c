//! After a restore: the ledger is as it was when it was backed up, and the authority is not.
//!
//! Records that were acknowledged after the backup are gone. Their huellas are chained behind a head that
//! the ledger still takes for the last one, so linking to it again would fork the chain: every chain is
//! closed, and the next record of an issuer begins a new one, in an installation of its own. What was
//! not final in the backup may have been sent since, and even corrected, so all of it is in doubt: the
//! authority is asked first, and what it does not hold is sent then.

use jiff::Timestamp;

use crate::{
    job::{Event, FailureClass, FailureSource, Progress, RetryPolicy},
    ledger::{Ledger, LedgerError},
};

use super::settle::{self, Verdict};

/// Begins a new epoch of a ledger that was restored from a backup, once and before anything works on it.
/// Returns how many chains were closed by it.
///
/// # Errors
/// Of the ledger; it is as it was then.
pub async fn begin_epoch(ledger: &dyn Ledger, now: Timestamp) -> Result<u64, LedgerError> {
    let text =
        "the ledger was restored from a backup; whether the authority holds the record is being found out";
    let failure = settle::failure(FailureSource::Internal, FailureClass::InDoubt, None, text, now);
    let policy = RetryPolicy::default();
    let reassess =
        move |progress: &Progress| progress.after(Event::Restored(failure.clone()), now, &policy, 0);
    ledger.close_chains(now, Box::new(reassess)).await
}

/// What a finding means on a closed chain: another record of the invoice is one that was lost, or one of
/// somebody else's; either way ours must never be sent over it.
pub(super) fn conclusive(verdict: Verdict) -> Verdict {
    match verdict.event {
        Event::Rejected { failure, .. } if failure.class == FailureClass::ForeignDuplicate => {
            Verdict { event: Event::Superseded(failure), ..verdict }
        }
        event => Verdict { event, ..verdict },
    }
}
