//! The append: how a request becomes a record, a job and an idempotency entry in one step.

use jiff::Timestamp;

use crate::{
    job::{JobKind, Progress, Standing},
    record::{InvoiceId, Link, PriorRejection, Record, RecordKind, Statement, SystemId},
    types::{ChainId, GenerationTime, Huella, JobId, Nif, RecordId, RequestId, TenantId, Text},
};

use super::row::{ChainKey, JobRow, RecordRow};

/// A request to append one record.
pub struct Append {
    /// What the job does.
    pub kind: JobKind,
    /// The caller's key, and the fingerprint of the request it stands for.
    pub idempotency: Idempotency,
    /// Which chain.
    pub chain: ChainSelector,
    /// The invoice the record speaks of.
    pub invoice: InvoiceId,
    /// Whether the account may have used this invoice's key before.
    pub repeats_invoice: bool,
    /// The month to count the record in, with the allowance that a new invoice takes from.
    pub quota: Option<Quota>,
    /// Identifiers for what is created.
    pub job: JobId,
    /// As above.
    pub record: RecordId,
    /// The request that asked.
    pub request: RequestId,
    /// When it asked.
    pub at: Timestamp,
    /// Links and seals the record.
    pub seal: Sealer,
}

/// The caller's idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// 1 to 128 visible ASCII characters; belongs to tenant and kind of job.
    pub key: String,
    /// Digest of the request's canonical form.
    pub fingerprint: [u8; 32],
}

/// Names a chain by what the caller knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainSelector {
    /// The account.
    pub tenant: TenantId,
    /// The issuer.
    pub issuer: Nif,
    /// NIF or other identification of the software's producer.
    pub producer: String,
    /// The product.
    pub system: SystemId,
    /// The installation.
    pub installation: Installation,
}

/// How the installation of a chain is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installation {
    /// The caller names it.
    Named(Text<100>),
    /// The one minted for account, issuer and product; this text, never used before, if there is none.
    Minted(Text<100>),
}

/// A monthly allowance of new invoices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Month of the usage, `YYYY-MM` in Europe/Madrid.
    pub month: String,
    /// The most invoices it allows; `None` only counts.
    pub limit: Option<u64>,
}

/// Where the new record will stand; read under the chain's lock.
#[derive(Clone, Debug)]
pub struct Place {
    /// The chain, with its installation.
    pub key: ChainKey,
    /// The last record of the chain, or `None` for a new chain.
    pub head: Option<Head>,
    /// Whether the account has more than one chain, counting this one, but not closed ones of its issuer.
    pub several_chains: bool,
    /// Earlier records of the same invoice, oldest first.
    pub history: Vec<PriorRecord>,
}

/// The last record of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its position, from 1.
    pub position: u64,
    /// The invoice it speaks of.
    pub invoice: InvoiceId,
    /// Its huella.
    pub huella: Huella,
    /// When it was generated.
    pub generated_at: GenerationTime,
}

/// An earlier record of the same invoice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorRecord {
    /// Its job.
    pub job: JobId,
    /// Alta or cancellation.
    pub kind: RecordKind,
    /// Whether the authority refused it by its line.
    pub rejected: bool,
    /// Whether the authority will hold it: see [`Progress::counts_as_held`].
    pub held: bool,
}

impl PriorRecord {
    /// What a job's progress says of its record.
    pub(super) fn new(job: JobId, kind: RecordKind, progress: &Progress) -> Self {
        Self { job, kind, rejected: progress.standing == Standing::Rejected, held: progress.counts_as_held() }
    }
}

/// Links and seals the record at its place, or says why not. Runs under the chain's lock, at most
/// once for each attempt at the transaction, so it must be quick and repeatable.
pub type Sealer = Box<dyn Fn(&Place) -> Result<Sealed, Box<Refusal>> + Send + Sync>;

/// What an unfinished job comes to when its chain is closed. Must be quick and repeatable.
pub type Reassess = Box<dyn Fn(&Progress) -> Progress + Send + Sync>;

/// A sealed record with its XML.
#[derive(Clone, Debug)]
pub struct Sealed {
    /// The record.
    pub record: Record,
    /// Name of the issuer, which heads the message.
    pub issuer_name: Text<120>,
    /// Its XML, unsigned.
    pub xml: bytes::Bytes,
}

/// Why a record cannot be linked at the end of the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The caller's predecessor is not the last record.
    Discontinuous {
        /// Huella of the last record; `None` for a new chain.
        expected: Option<Huella>,
        /// What the caller named.
        received: Huella,
    },
    /// The caller says "first", but the chain has records.
    NotFirst,
    /// The last record lies in the future.
    ClockSkew {
        /// When the last record was generated.
        head: GenerationTime,
    },
    /// The caller's own time lies outside what the chain allows.
    TimeOutOfBounds {
        /// Not before this; a new chain has no bound.
        earliest: Option<GenerationTime>,
        /// Not after this.
        latest: GenerationTime,
    },
    /// The caller's own huella is not the one its fields give.
    HuellaMismatch {
        /// The string that was hashed.
        canonical: String,
        /// The huella it gives.
        computed: Huella,
    },
    /// The caller only wanted to see the record.
    Previewed,
    /// The caller's flags of a correction or cancellation contradict what the ledger knows.
    CorrectionConflict {
        /// What fits: the prior rejection, or "not held" for a cancellation without prior record.
        expected: PriorRejection,
    },
}

/// A job with its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The job.
    pub job: JobRow,
    /// Its record.
    pub record: RecordRow,
}

/// What an append came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Appended {
    /// A new record at the end of the chain.
    New {
        /// What was written.
        submission: Box<Submission>,
        /// When the chain should be looked at; `None` while it is held.
        due: Option<Timestamp>,
    },
    /// The key was used before, for the request with this fingerprint.
    Replay {
        /// Fingerprint of that request.
        fingerprint: [u8; 32],
        /// What it became.
        submission: Box<Submission>,
    },
    /// The account used the invoice's key before.
    AlreadySubmitted(JobId),
    /// The month's allowance is used up.
    QuotaReached {
        /// How many invoices the month has.
        used: u64,
    },
    /// The installation that the caller names has a chain that is closed.
    Closed,
    /// The sealer refused.
    Refused(Box<Refusal>),
}

/// A sealed record does not continue the chain it was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sealed record does not continue the chain: {0}")]
pub(super) struct Misfit(&'static str);

impl Place {
    /// Where a record that is appended here will stand.
    pub(super) fn position(&self) -> u64 {
        self.head.as_ref().map_or(1, |head| head.position + 1)
    }

    /// A last proof before a record is written for good: it speaks of the invoice that was asked for
    /// and names the head as its predecessor, and its time does not go back.
    pub(super) fn check(&self, kind: JobKind, invoice: &InvoiceId, sealed: &Sealed) -> Result<(), Misfit> {
        let record = &sealed.record;
        let linked = match (&record.link, &self.head) {
            (Link::First, None) => true,
            (Link::Previous(named), Some(head)) => {
                named.huella == head.huella && named.invoice == head.invoice
            }
            _ => false,
        };
        let goes_back = |head: &Head| record.generated_at.instant() < head.generated_at.instant();
        if !linked {
            Err(Misfit("it names another predecessor"))
        } else if record.statement.invoice_id() != invoice || record.statement.kind() != kind.record_kind() {
            Err(Misfit("it speaks of another invoice"))
        } else if self.head.as_ref().is_some_and(goes_back) {
            Err(Misfit("its time lies before its predecessor's"))
        } else {
            Ok(())
        }
    }
}

impl Append {
    /// Whether the record is a new invoice, which is what an allowance counts.
    pub(super) fn counted_quota(&self) -> Option<&Quota> {
        self.quota.as_ref().filter(|_| self.kind == JobKind::Send && !self.repeats_invoice)
    }
}

impl RecordRow {
    /// The row of a sealed record at its place.
    pub(super) fn sealed(id: RecordId, chain: ChainId, place: &Place, sealed: Sealed) -> Self {
        let Sealed { record, issuer_name, xml } = sealed;
        let (total, external_reference) = match &record.statement {
            Statement::Invoice(invoice) => (Some(invoice.total), invoice.external_reference.clone()),
            Statement::Cancellation(cancellation) => (None, cancellation.external_reference.clone()),
        };
        Self {
            id,
            chain,
            position: place.position(),
            kind: record.statement.kind(),
            invoice: record.statement.invoice_id().clone(),
            issuer_name,
            total,
            // The record's own identifier stands in where the caller gave no reference.
            external_reference: external_reference.filter(|reference| reference.as_str() != id.to_string()),
            huella: record.huella,
            previous: record.link.previous_huella().copied(),
            generated_at: record.generated_at,
            xml,
            sent_xml: None,
        }
    }
}
