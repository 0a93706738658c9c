//! The flags of records that follow others of the same invoice (Val, annex 6).
//!
//! The flags must say what the authority will hold when the record arrives. Accepted, pending and
//! doubtful records count as held; refused ones, and those that came to nothing, do not; an invoice
//! that the ledger does not know is held unless the caller says otherwise.

use crate::{
    ledger::{PriorRecord, Refusal},
    record::{Cancellation, Correction, Invoice, PriorRejection, RecordKind},
};

/// Fills in the flags of a correction, or finds that the caller's own contradict the ledger.
pub(super) fn complete_invoice(invoice: &mut Invoice, history: &[PriorRecord]) -> Result<(), Box<Refusal>> {
    if invoice.correction.corrects != Some(true) {
        return Ok(());
    }
    let derived = match Known::of(history, RecordKind::Invoice) {
        Known::Nothing => return Ok(()),
        Known::NotHeld => Some(PriorRejection::NotHeld),
        Known::Held { last_rejected: true } => Some(PriorRejection::Yes),
        Known::Held { last_rejected: false } => None,
    };
    let given = invoice.correction.prior_rejection;
    let same = given.unwrap_or(PriorRejection::No) == derived.unwrap_or(PriorRejection::No);
    if given.is_some() && !same {
        return Err(Box::new(Refusal::CorrectionConflict {
            expected: derived.unwrap_or(PriorRejection::No),
        }));
    }
    invoice.correction = Correction { corrects: Some(true), prior_rejection: derived };
    Ok(())
}

/// Fills in the flags of a cancellation, or finds that the caller's own contradict the ledger.
pub(super) fn complete_cancellation(
    cancellation: &mut Cancellation,
    history: &[PriorRecord],
) -> Result<(), Box<Refusal>> {
    let known = Known::of(history, RecordKind::Cancellation);
    let not_held = match known {
        Known::Nothing => return Ok(()),
        Known::NotHeld => true,
        Known::Held { .. } => false,
    };
    let rejected = history.iter().any(|prior| prior.kind == RecordKind::Cancellation && prior.rejected);
    if cancellation.without_prior_record.is_some_and(|given| given != not_held) {
        let expected = if not_held { PriorRejection::NotHeld } else { PriorRejection::No };
        return Err(Box::new(Refusal::CorrectionConflict { expected }));
    }
    if cancellation.prior_rejection.is_some_and(|given| given != rejected) {
        let expected = if rejected { PriorRejection::Yes } else { PriorRejection::No };
        return Err(Box::new(Refusal::CorrectionConflict { expected }));
    }
    cancellation.without_prior_record = not_held.then_some(true);
    cancellation.prior_rejection = rejected.then_some(true);
    Ok(())
}

/// What the ledger knows of an invoice at the authority.
enum Known {
    Nothing,
    NotHeld,
    Held { last_rejected: bool },
}

impl Known {
    fn of(history: &[PriorRecord], kind: RecordKind) -> Self {
        if history.is_empty() {
            return Self::Nothing;
        }
        if !history.iter().any(|prior| prior.held) {
            return Self::NotHeld;
        }
        let last = history.iter().rev().find(|prior| prior.kind == kind);
        Self::Held { last_rejected: last.is_some_and(|prior| prior.rejected && !prior.held) }
    }
}
