//! After a restore: the ledger is as it was when it was backed up, and the authority is not.
//!
//! Records that were acknowledged after the backup are gone. Their huellas are chained behind a head that
//! the ledger still takes for the last one, so linking to it again would fork the chain: every chain is
//! closed, and the next record of an issuer begins a new one, in an installation of its own. What was
//! not final in the backup may have been sent since, and even corrected, so all of it is in doubt: the
//! authority is asked first, and what it does not hold is sent then.

use std::pin::pin;

use futures_util::TryStreamExt as _;
use jiff::Timestamp;

use crate::{
    authority::query_pages,
    job::{Event, FailureClass, FailureSource, Progress, RetryPolicy},
    ledger::{ChainKey, ChainState, Ledger, LedgerError},
    record::InvoiceId,
    types::{Date, InvoiceNumber, Nif, TenantId},
    xml::{
        envelope::SpanishParty,
        query::{AskedBy, Period, Query, QueryRow},
    },
};

use super::{
    Engine, EngineError,
    settle::{self, Verdict},
};

/// Most pages of an issuer's month that are read: ten million records.
const MAX_PAGES: usize = 1000;

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

/// What the authority says of an issuer's month.
#[derive(Debug)]
pub enum Survey {
    /// What it holds that this ledger does not know.
    Unknown(Vec<QueryRow>),
    /// There is no certificate to ask with.
    NoCertificate,
    /// It did not answer, or would not.
    Unanswered,
}

impl Engine {
    /// Asks the authority for all that it holds of the issuer of a chain in a month, and leaves out what
    /// the ledger knows, whichever account it belongs to among those given.
    ///
    /// # Errors
    /// [`EngineError`] when ledger or certificate store fail.
    pub async fn survey(
        &self,
        chain: &ChainState,
        month: Period,
        tenants: &[TenantId],
    ) -> Result<Survey, EngineError> {
        let ChainKey { tenant, issuer, .. } = &chain.key;
        let Some(presentation) = self.parts.presenters.presentation(tenant, issuer).await? else {
            return Ok(Survey::NoCertificate);
        };
        let last = self.parts.ledger.records(chain.id, chain.length, 1).await?;
        let Some(last) = last.first() else { return Ok(Survey::Unknown(Vec::new())) };
        let asker = SpanishParty { name: last.issuer_name.clone(), nif: *issuer };
        let query = Query::new(AskedBy::Issuer(asker), month);
        let authority = &*self.parts.authority;
        let mut pages = pin!(query_pages(authority, presentation.identity.clone(), query, MAX_PAGES));
        let mut unknown = Vec::new();
        loop {
            let page = match pages.try_next().await {
                Ok(Some(page)) => page,
                Ok(None) => return Ok(Survey::Unknown(unknown)),
                Err(error) => {
                    tracing::warn!(%error, %issuer, "the authority could not be asked for a month");
                    return Ok(Survey::Unanswered);
                }
            };
            for row in page.rows {
                if !self.knows(&row, tenants).await? {
                    unknown.push(row);
                }
            }
        }
    }

    async fn knows(&self, row: &QueryRow, tenants: &[TenantId]) -> Result<bool, EngineError> {
        let key = &row.invoice;
        let (Ok(issuer), Ok(number), Ok(date)) =
            (Nif::parse(&key.issuer), InvoiceNumber::parse(&key.number), Date::parse(&key.date))
        else {
            return Ok(false);
        };
        let invoice = InvoiceId { issuer, number, date };
        for tenant in tenants {
            let history = self.parts.ledger.history(tenant, &invoice).await?;
            if history.iter().any(|known| Some(known.record.huella.as_str()) == row.huella.as_deref()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
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
