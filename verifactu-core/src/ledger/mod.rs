//! The ledger: chains, records, messages, jobs and idempotency, on stable storage.
//!
//! The ledger compares and stores; it never hashes, never talks to the network and never decides
//! what becomes of a job. What it promises is written as the numbered sentences of the conformance
//! suite in [`testing`](crate::testing), which every backend passes.
//!
//! Every write of a worker names its [`Lease`]. The ledger mints the lease's epoch when a chain is
//! claimed, and a write under an older epoch changes nothing.

mod accounts;
mod append;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod column;
mod listing;
mod memory;
mod message;
mod overview;
mod row;
mod schedule;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod table;
mod usage;
mod webhook;

#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use accounts::{
    Accounts, ApiKey, ApiKeyId, AuditEntry, AuditLine, Batch, BatchItem, Caller, SealedCertificate, Tenant,
    TenantStatus,
};
pub use append::{
    Append, Appended, ChainSelector, Head, Idempotency, Installation, Place, PriorRecord, Quota, Reassess,
    Refusal, Sealed, Sealer, Submission,
};
pub use listing::{ChainSearch, Filter, Listing, Page, Search, Start};
pub use memory::MemoryLedger;
pub use message::{
    Attempt, AttemptOutcome, ChainState, Claim, Claimed, Fenced, Hold, HoldReason, JobUpdate, Lease,
    NewMessage, OpenMessage, Selection, SentMessage, Settlement, SlotKind, Suspects,
};
pub use overview::Overview;
pub use row::{ChainKey, JobRow, RecordRow};
pub use schedule::FULL_MESSAGE;
pub use usage::{Sums, Turnover, Usage};
pub use webhook::{Delivery, DeliveryOutcome, Webhook};

use std::{error::Error, ops::Range};

use async_trait::async_trait;
use bytes::Bytes;
use jiff::Timestamp;

use crate::{
    job::Progress,
    record::InvoiceId,
    types::{ChainId, JobId, Nif, RecordId, TenantId},
};

/// The durable truth about chains, records and jobs.
///
/// An `Err` means that the store failed; whether anything was written is then unknown only where
/// [`LedgerErrorKind`] says so. Everything a caller can expect, such as a replay, a conflict or a
/// stale lease, is a value.
///
/// Times are kept to the microsecond at least.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Appends one record to a chain, with its job and idempotency entry, in one atomic step that is
    /// on stable storage when the call returns.
    ///
    /// In order: the idempotency key is looked up; then the invoice's own key, unless the record may
    /// repeat it; then the plan; then the chain's head is read and handed to the caller's [`Sealer`],
    /// which links the record. Only a new record leaves a trace. A new chain bears the identifier of its
    /// first record.
    ///
    /// # Errors
    /// `Corrupt` when the chain's head cannot be read, when the sealed record does not continue it, when
    /// an identifier is given twice, or when a minted installation is not new.
    async fn append(&self, append: Append) -> Result<Appended, LedgerError>;

    /// The job that an idempotency key stands for, with the fingerprint of its request.
    async fn replay(
        &self,
        tenant: &TenantId,
        kind: crate::job::JobKind,
        key: &str,
    ) -> Result<Option<([u8; 32], Submission)>, LedgerError>;

    /// A job with its record; `None` when it does not exist or belongs to another tenant.
    async fn job(&self, tenant: &TenantId, job: JobId) -> Result<Option<Submission>, LedgerError>;

    /// A job of any tenant, for operators.
    async fn find_job(&self, job: JobId) -> Result<Option<Submission>, LedgerError>;

    /// Jobs of all tenants, for operators: newest first as in [`Ledger::list`]. Behind a job that there is
    /// not, nothing is found.
    async fn search(&self, search: &Search, page: Page) -> Result<Listing, LedgerError>;

    /// The messages that carried the record of a job, in order.
    async fn messages(&self, job: JobId) -> Result<Vec<SentMessage>, LedgerError>;

    /// A record with its job; `None` when it does not exist or belongs to another tenant.
    async fn record(&self, tenant: &TenantId, record: RecordId) -> Result<Option<Submission>, LedgerError>;

    /// Records of a tenant with their jobs, newest first; of those accepted at the same time the one
    /// that was written later comes first. `None` when the page begins behind a job that the tenant
    /// does not have; whether that job passes the filter does not matter.
    async fn list(
        &self,
        tenant: &TenantId,
        filter: &Filter,
        page: Page,
    ) -> Result<Option<Listing>, LedgerError>;

    /// Takes a chain for dispatch: raises its epoch and returns what is known of it. A chain is left to
    /// whoever sends a message that was written down within `under_way` and is not settled, unless
    /// whoever wrote it is known to be gone: a store that one process opens knows that of every message it
    /// has found there.
    async fn claim(&self, chain: ChainId, under_way: Range<Timestamp>) -> Result<Claimed, LedgerError>;

    /// Records of a claimed chain that wait for what the selection says, in order of position.
    async fn work(&self, lease: Lease, selection: Selection) -> Result<Vec<Submission>, LedgerError>;

    /// Jobs of earlier records of the same invoices in the chain that must not be sent once the given
    /// records are: FAILED ones, and sent ones that an operator made PENDING again.
    async fn overtaken(&self, lease: Lease, records: &[RecordId]) -> Result<Vec<Submission>, LedgerError>;

    /// Every record that a tenant has of an invoice, with its job, oldest first.
    async fn history(&self, tenant: &TenantId, invoice: &InvoiceId) -> Result<Vec<Submission>, LedgerError>;

    /// Writes a message down before it is sent, with the signed bytes of its records and the new
    /// state of their jobs. The bytes a record was first written down with stay; a message that is
    /// already known is not written again, so the call may be repeated.
    ///
    /// # Errors
    /// `Corrupt` when a record or job is not of this chain. Nothing is written then.
    async fn open_message(&self, lease: Lease, message: NewMessage) -> Result<Fenced, LedgerError>;

    /// Writes down what became of a message, or of the records of a chain outside any message. Each job
    /// that becomes final owes a [`Delivery`] to its account's webhook, if that is enabled in this store;
    /// so does one that [`Ledger::open_message`] makes final. Pace
    /// and suspects are replaced as a whole; a hold is set, but lifted only by [`release`](Self::release),
    /// so that a worker in the middle of an exchange does not undo one. A settled message is not settled again, so the call may be
    /// repeated.
    ///
    /// # Errors
    /// `Corrupt` when the message or a job is not of this chain. Nothing is written then.
    async fn settle(&self, lease: Lease, settlement: Settlement) -> Result<Fenced, LedgerError>;

    /// When the chain is due next: `None` when nothing waits or the chain is held. Computed from the
    /// jobs and the pace, never from memory.
    ///
    /// A FAILED job is due at its next retry; PENDING, PROCESSING (whose message is open) and FAILED
    /// without a next retry at the beginning of time ([`Timestamp::MIN`]). Of the records never sent only
    /// the first counts, the others wait behind it. The chain is due at the soonest of these, but not
    /// before its slot opens, unless the run from the front has [`FULL_MESSAGE`] records and nothing is
    /// searched for among them.
    async fn due(&self, chain: ChainId) -> Result<Option<Timestamp>, LedgerError>;

    /// Chains that are due some time, in the order of their identifiers, after an earlier page's last.
    async fn due_chains(
        &self,
        after: Option<ChainId>,
        limit: u32,
    ) -> Result<Vec<(ChainId, Timestamp)>, LedgerError>;

    /// Holds every chain of a tenant, or of one of its issuers, that is not held for this or a weightier
    /// [`HoldReason`] yet, whoever works on it, and returns them.
    async fn hold(
        &self,
        tenant: &TenantId,
        issuer: Option<Nif>,
        hold: &Hold,
    ) -> Result<Vec<ChainId>, LedgerError>;

    /// Releases the chains of a tenant, or of one of its issuers, that are held for the given reason, and
    /// returns them.
    async fn release(
        &self,
        tenant: &TenantId,
        issuer: Option<Nif>,
        reason: HoldReason,
    ) -> Result<Vec<ChainId>, LedgerError>;

    /// Sets a job's progress if it still is what the caller saw: for operators' actions, which come
    /// from outside the lease. `false` when it has changed meanwhile.
    async fn revise(&self, job: JobId, seen: &Progress, next: &Progress) -> Result<bool, LedgerError>;

    /// The chains of a tenant.
    async fn chains(&self, tenant: &TenantId) -> Result<Vec<ChainState>, LedgerError>;

    /// A chain.
    async fn chain(&self, chain: ChainId) -> Result<Option<ChainState>, LedgerError>;

    /// Chains of all tenants, for operators, in the order of their identifiers, each with the time at
    /// which the oldest of its jobs that are not final was accepted.
    async fn search_chains(
        &self,
        search: &ChainSearch,
        page: Page<ChainId>,
    ) -> Result<Listing<(ChainState, Option<Timestamp>)>, LedgerError>;

    /// Records of a chain with their bytes, from a position on, in order.
    async fn records(&self, chain: ChainId, from: u64, limit: u32) -> Result<Vec<RecordRow>, LedgerError>;

    /// The attempts of a job, in order.
    async fn attempts(&self, job: JobId) -> Result<Vec<Attempt>, LedgerError>;

    /// The authority's own line for the record of a job, as it last answered; `None` before it did.
    async fn answer_line(&self, job: JobId) -> Result<Option<Bytes>, LedgerError>;

    /// What a tenant has used in each month from `since` on (`YYYY-MM`), newest first.
    async fn usage(&self, tenant: &TenantId, since: &str) -> Result<Vec<Usage>, LedgerError>;

    /// What the issuers of a tenant stated in each month from `since` on, newest first, and by issuer.
    async fn turnover(&self, tenant: &TenantId, since: &str) -> Result<Vec<Turnover>, LedgerError>;

    /// What waits in the whole ledger. Its cost grows with the unfinished jobs and the held chains, up to
    /// [`Overview::COUNTED`], and not with the ledger.
    async fn overview(&self) -> Result<Overview, LedgerError>;

    /// Forgets some messages, at most `limit`, that are settled and were written down before this time,
    /// and at most as many attempts that began before it; how many of both, 0 when none is left. One
    /// that was written after younger ones may be left until they are old too. Records, the bytes they
    /// were sent as, their own answer lines, and idempotency entries stay.
    async fn prune(&self, before: Timestamp, limit: u32) -> Result<u64, LedgerError>;

    /// Closes every chain, in one step with what that makes of each unfinished job: for a ledger that was
    /// restored from a backup, whose heads may have successors that it does not know. Nothing is appended
    /// to a closed chain; where the installation was minted, the next record mints another. What waits
    /// on closed chains is sent as before, but whoever holds a lease on one has lost it. Returns how many
    /// chains were open.
    async fn close_chains(&self, at: Timestamp, reassess: Reassess) -> Result<u64, LedgerError>;

    /// Proves that the store answers and can write.
    async fn probe(&self) -> Result<(), LedgerError>;
}

/// The store failed.
#[derive(Debug, thiserror::Error)]
#[error("ledger: {kind}")]
pub struct LedgerError {
    /// What to do about it.
    pub kind: LedgerErrorKind,
    /// What the backend said.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

/// What a failure of the store means for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LedgerErrorKind {
    /// Full, locked, or out of reach: nothing was written, and the same call may succeed later.
    Unavailable,
    /// The call may or may not have been written; repeating it with the same key is safe.
    Unknown,
    /// What was read makes no sense. Never taken for "empty".
    Corrupt,
    /// The ledger belongs to another environment, was written by a newer version, or is on a server that
    /// nobody has confirmed.
    Incompatible,
}

impl std::fmt::Display for LedgerErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unavailable => "the store is unavailable",
            Self::Unknown => "the store broke off, and the outcome is unknown",
            Self::Corrupt => "the store holds something unreadable",
            Self::Incompatible => "the store is not the one that this program works with",
        })
    }
}

impl LedgerError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn may_pass(&self) -> bool {
        matches!(self.kind, LedgerErrorKind::Unavailable | LedgerErrorKind::Unknown)
    }

    /// An error with its cause.
    pub fn new(kind: LedgerErrorKind, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind, source: Some(source.into()) }
    }
}
