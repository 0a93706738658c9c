//! What becomes of appends whose chains are locked and whose surroundings are read.

use std::{
    collections::{BTreeMap, HashMap},
    panic::{AssertUnwindSafe, catch_unwind},
};

use crate::{
    job::{JobKind, Progress},
    ledger::{
        Append, Appended, ChainKey, ChainSelector, Head, Installation, JobRow, Place, PriorRecord, RecordRow,
        Sealed, Submission, Sums, table::ChainRow,
    },
    record::{InvoiceId, RecordKind},
    types::{ChainId, Nif, TenantId, Text},
};

use super::error::StoreError;

/// An idempotency key of an account.
pub(super) type KeyOf<'a> = (&'a TenantId, JobKind, &'a str);
/// An invoice of an account.
pub(super) type InvoiceOf<'a> = (&'a TenantId, &'a InvoiceId);
/// A month of an account.
pub(super) type MonthOf<'a> = (&'a TenantId, &'a str);

/// What is known of the chains and of what the appends ask for; grows with each of them.
#[derive(Default)]
pub(super) struct Known<'a> {
    pub(super) chains: Vec<Chain<'a>>,
    pub(super) replays: HashMap<KeyOf<'a>, Replay>,
    pub(super) history: HashMap<InvoiceOf<'a>, Vec<PriorRecord>>,
    /// The months that an allowance is taken from.
    pub(super) used: HashMap<MonthOf<'a>, u64>,
    pub(super) sums: BTreeMap<(MonthOf<'a>, Nif), Sums>,
    pub(super) new: Vec<New<'a>>,
}

/// A chain that is appended to.
pub(super) struct Chain<'a> {
    pub(super) selector: &'a ChainSelector,
    pub(super) row: Option<ChainRow>,
    head: Option<Head>,
    several: bool,
    /// Installations that are not free for a new chain.
    pub(super) taken: Vec<Text<100>>,
    /// The chain that the first new record makes.
    pub(super) made: Option<(ChainId, ChainKey)>,
    /// How many records are new.
    pub(super) added: u64,
    /// The last of them, as a place among all that are new.
    pub(super) last: usize,
}

/// Who has used a key before.
pub(super) enum Replay {
    Earlier([u8; 32], Box<Submission>),
    /// One of those that are new, by its place.
    New(usize),
}

pub(super) struct New<'a> {
    pub(super) append: &'a Append,
    pub(super) submission: Box<Submission>,
    /// Which of the account's records of its invoice it is, from 1.
    pub(super) nth: u64,
}

pub(super) enum Outcome {
    /// The next of the new records.
    New,
    Known(Result<Appended, StoreError>),
}

impl<'a> Chain<'a> {
    pub(super) fn new(
        selector: &'a ChainSelector,
        row: Option<ChainRow>,
        head: Option<Head>,
        several: bool,
    ) -> Self {
        Self { selector, row, head, several, taken: Vec::new(), made: None, added: 0, last: 0 }
    }

    /// The chain that the append goes to.
    fn target(&self, append: &Append) -> Result<(ChainId, ChainKey), StoreError> {
        if let Some(made) = &self.made {
            return Ok(made.clone());
        }
        let Some(row) = &self.row else {
            let ChainSelector { tenant, issuer, producer, system, .. } = &append.chain;
            let installation = installation(&append.chain).clone();
            if self.taken.contains(&installation) {
                return Err(StoreError::Contradiction("the new installation is taken"));
            }
            let (tenant, producer) = (tenant.clone(), producer.clone());
            let key = ChainKey { tenant, issuer: *issuer, producer, system: *system, installation };
            // A chain bears the identifier of its first record.
            return Ok((ChainId(append.record.0), key));
        };
        if self.added == 0 && !row.ends_with(self.head.as_ref()) {
            return Err(StoreError::Contradiction("the chain's last record is not the one its head names"));
        }
        Ok((row.state.id, row.state.key.clone()))
    }
}

impl<'a> Known<'a> {
    pub(super) fn key(append: &'a Append) -> KeyOf<'a> {
        (&append.chain.tenant, append.kind, &append.idempotency.key)
    }

    pub(super) const fn invoice(append: &'a Append) -> InvoiceOf<'a> {
        (&append.chain.tenant, &append.invoice)
    }

    pub(super) fn month(append: &'a Append) -> Option<MonthOf<'a>> {
        append.quota.as_ref().map(|quota| (&append.chain.tenant, quota.month.as_str()))
    }

    /// The appends to one of the chains, each behind all before it.
    pub(super) fn append(&mut self, chain: usize, run: &[&'a Append]) -> Vec<Outcome> {
        run.iter()
            .map(|append| match self.one(chain, append) {
                Ok(None) => Outcome::New,
                Ok(Some(answer)) => Outcome::Known(Ok(answer)),
                Err(error) => Outcome::Known(Err(error)),
            })
            .collect()
    }

    /// `None` for a new record.
    fn one(&mut self, chain: usize, append: &'a Append) -> Result<Option<Appended>, StoreError> {
        if let Some(replay) = self.replays.get(&Self::key(append)) {
            let (fingerprint, submission) = match replay {
                Replay::Earlier(fingerprint, submission) => (fingerprint, submission),
                Replay::New(at) => {
                    let new = &self.new[*at];
                    (&new.append.idempotency.fingerprint, &new.submission)
                }
            };
            let (fingerprint, submission) = (*fingerprint, submission.clone());
            return Ok(Some(Appended::Replay { fingerprint, submission }));
        }
        let history = self.history.get(&Self::invoice(append)).cloned().unwrap_or_default();
        if !append.repeats_invoice
            && let Some(last) = history.last()
        {
            let alta = history.iter().rfind(|prior| prior.kind == RecordKind::Invoice);
            return Ok(Some(Appended::AlreadySubmitted(alta.unwrap_or(last).job)));
        }
        if let Some(quota) = append.counted_quota() {
            let used = Self::month(append).and_then(|month| self.used.get(&month).copied());
            let used = used.unwrap_or_default();
            if quota.limit.is_some_and(|limit| used >= limit) {
                return Ok(Some(Appended::QuotaReached { used }));
            }
        }
        let to = &self.chains[chain];
        if to.row.as_ref().is_some_and(|row| row.state.closed) {
            return Ok(Some(Appended::Closed));
        }
        let (id, key) = to.target(append)?;
        let place = Place { key, head: to.head.clone(), several_chains: to.several, history };
        // The sealer is not ours. If it panics, that is the end of this append alone.
        let sealed = catch_unwind(AssertUnwindSafe(|| (append.seal)(&place)))
            .map_err(|_| StoreError::Contradiction("the call panicked"))?;
        let sealed = match sealed {
            Ok(sealed) => sealed,
            Err(refusal) => return Ok(Some(Appended::Refused(refusal))),
        };
        place.check(append.kind, &append.invoice, &sealed)?;
        self.take(chain, append, id, place, sealed);
        Ok(None)
    }

    /// What the record changes for those behind it.
    fn take(&mut self, chain: usize, append: &'a Append, id: ChainId, place: Place, sealed: Sealed) {
        if let Some((_, sums)) = append.counted(&sealed)
            && let Some(month) = Self::month(append)
        {
            let known = self.sums.entry((month, append.invoice.issuer)).or_default();
            *known = known.plus(sums);
            if let Some(used) = self.used.get_mut(&month) {
                *used += sums.invoices;
            }
        }
        let at = self.new.len();
        let record = RecordRow::sealed(append.record, id, &place, sealed);
        let job = JobRow {
            id: append.job,
            tenant: append.chain.tenant.clone(),
            kind: append.kind,
            request: append.request,
            progress: Progress::new(),
            created_at: append.at,
            updated_at: append.at,
        };
        let to = &mut self.chains[chain];
        if to.row.is_none() {
            to.made = Some((id, place.key));
        }
        (to.added, to.last) = (to.added + 1, at);
        to.head = Some(Head {
            position: record.position,
            invoice: record.invoice.clone(),
            huella: record.huella,
            generated_at: record.generated_at.clone(),
        });
        let history = self.history.entry(Self::invoice(append)).or_default();
        history.push(PriorRecord::new(job.id, record.kind, &job.progress));
        let nth = history.len() as u64;
        self.replays.insert(Self::key(append), Replay::New(at));
        self.new.push(New { append, submission: Box::new(Submission { job, record }), nth });
    }
}

/// The installation that the caller names, or has minted.
pub(super) const fn installation(selector: &ChainSelector) -> &Text<100> {
    match &selector.installation {
        Installation::Named(installation) | Installation::Minted(installation) => installation,
    }
}
