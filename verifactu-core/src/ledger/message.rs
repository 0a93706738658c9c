//! Claims, messages and settlements: what a worker reads and writes under its lease.

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    job::Progress,
    types::{ChainId, Huella, InvoiceNumber, JobId, MessageId, RecordId},
};

use super::{append::Submission, row::ChainKey};

/// The right to write on a chain, until somebody claims it anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The chain.
    pub chain: ChainId,
    /// Grows with every claim; minted by the ledger.
    pub epoch: u64,
}

/// Whether a write under a lease took place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Fenced {
    /// It did.
    Done,
    /// The lease is stale: nothing was written.
    Stale,
}

/// A claimed chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The right to write.
    pub lease: Lease,
    /// What is known of the chain.
    pub state: ChainState,
    /// Messages that were written down and never settled: their fate is unknown.
    pub open: Vec<OpenMessage>,
}

/// A chain as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainState {
    /// Identifier.
    pub id: ChainId,
    /// What makes the chain.
    pub key: ChainKey,
    /// Number of records.
    pub length: u64,
    /// Huella of the last one.
    pub last_huella: Option<Huella>,
    /// Number of its invoice.
    pub last_number: Option<InvoiceNumber>,
    /// Jobs that are not final.
    pub pending: u64,
    /// When the next slot opens; `None` before the first message.
    pub next_slot_at: Option<Timestamp>,
    /// The wait the authority last asked for, in seconds; `None` until it did.
    pub wait_seconds: Option<u32>,
    /// What the last slot was used for.
    pub last_slot: Option<SlotKind>,
    /// Connections that failed in a row.
    pub unreachable_count: u32,
    /// Records among which one is looked for that makes the authority refuse whole messages.
    pub suspects: Option<Suspects>,
    /// Why nothing is sent, if so.
    pub hold: Option<Hold>,
    /// Whether nothing is appended any more.
    pub closed: bool,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What a slot was used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SlotKind {
    /// Records that were never sent before.
    First,
    /// Records that were.
    Retry,
}

/// The first so many of the records that wait for one kind of slot: they were refused as a whole, so
/// one of them at least is to blame. It is found by halves, and the count says where the search stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspects {
    /// What they wait for.
    pub slot: SlotKind,
    /// How many, from the front; never zero.
    pub records: u32,
}

/// Why a chain is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// What has to happen before it goes on.
    pub reason: HoldReason,
    /// In words.
    pub description: String,
    /// Since when.
    pub since: Timestamp,
}

/// What a held chain waits for. A later one outweighs those before it: it takes their place, and they do
/// not take its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HoldReason {
    /// A certificate that is entitled.
    Certificate,
    /// The operator, who has paused the issuer.
    Operator,
    /// The operator, because the authority has suspended the presenter.
    Suspended,
}

impl HoldReason {
    /// Every reason.
    pub const ALL: [Self; 3] = [Self::Certificate, Self::Operator, Self::Suspended];
}

impl Hold {
    /// Whether this hold takes the place of another.
    pub(super) fn outweighs(&self, other: Option<&Self>) -> bool {
        other.is_none_or(|other| self.reason > other.reason)
    }
}

/// A message that was never settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenMessage {
    /// Identifier.
    pub id: MessageId,
    /// When it was written down, just before it was sent.
    pub at: Timestamp,
    /// Its records, with their jobs.
    pub items: Vec<Submission>,
}

/// Which records of a chain are asked for. All come in order of position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// In doubt and due for another look, sent or not: FAILED with no later retry, or PENDING by an
    /// operator's wish. At most [`FULL_MESSAGE`](super::FULL_MESSAGE) of them.
    Doubtful {
        /// Due at or before this.
        due: Timestamp,
    },
    /// Never sent: the run from the front of the chain. It takes the records that wait (PENDING, or
    /// FAILED because the authority was never reached, whatever their time), steps over those that were
    /// sent or are final, and ends before one that is under way or waits for the first look into its
    /// doubt.
    First {
        /// The most records.
        limit: u32,
    },
    /// Sent before, not in doubt, and due again: PENDING by an operator's wish, or FAILED with no later
    /// retry.
    Retry {
        /// Due at or before this.
        due: Timestamp,
        /// The most records.
        limit: u32,
    },
}

/// A message about to be sent.
#[derive(Clone, Debug)]
pub struct NewMessage {
    /// Identifier.
    pub id: MessageId,
    /// When it is written down.
    pub at: Timestamp,
    /// SHA-256 of its bytes.
    pub digest: [u8; 32],
    /// Whether it says that an incident delayed its records.
    pub incident: bool,
    /// What the slot is used for.
    pub slot: SlotKind,
    /// Its records in order, with the bytes they are sent as.
    pub records: Vec<(RecordId, Bytes)>,
    /// The new progress of their jobs, and of jobs they overtake.
    pub updates: Vec<JobUpdate>,
}

/// A message that carried a record, and what came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentMessage {
    /// Identifier.
    pub id: MessageId,
    /// When it was written down, just before it was sent.
    pub at: Timestamp,
    /// Whether it says that an incident delayed its records.
    pub incident: bool,
    /// When it was settled; none while it is under way.
    pub settled_at: Option<Timestamp>,
    /// The answer's bytes, if there was one.
    pub answer: Option<Bytes>,
}

/// What became of a message, or of records outside any message.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// The message, if there was one.
    pub message: Option<MessageId>,
    /// When the exchange ended.
    pub at: Timestamp,
    /// The answer's bytes, if there was one.
    pub answer: Option<Bytes>,
    /// The new progress of the jobs it concerns.
    pub updates: Vec<JobUpdate>,
    /// When the next slot opens.
    pub next_slot_at: Option<Timestamp>,
    /// The wait the authority last asked for, in seconds.
    pub wait_seconds: Option<u32>,
    /// Connections that failed in a row.
    pub unreachable_count: u32,
    /// The search for a record that makes the authority refuse whole messages, if one goes on.
    pub suspects: Option<Suspects>,
    /// Why nothing more is to be sent, if so. Without one, or where it is outweighed, a hold that stands
    /// stays.
    pub hold: Option<Hold>,
}

/// A job's new progress.
#[derive(Clone, Debug)]
pub struct JobUpdate {
    /// The job.
    pub job: JobId,
    /// Its whole progress from now on.
    pub progress: Progress,
    /// The attempt that brought it, if it was one.
    pub attempt: Option<Attempt>,
    /// The authority's own line for the record.
    pub answer_line: Option<Bytes>,
}

/// One attempt at sending or resolving a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// When it began.
    pub started_at: Timestamp,
    /// How long it took.
    pub duration_ms: u64,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// The authority's code, if it gave one.
    pub code: Option<i64>,
    /// The message; none for a query.
    pub message: Option<MessageId>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AttemptOutcome {
    /// Registered.
    Accepted,
    /// Refused.
    Rejected,
    /// The authority failed.
    Error,
    /// No valid answer.
    InDoubt,
    /// Never reached.
    Unreachable,
}
