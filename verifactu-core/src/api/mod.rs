//! The wire types of the REST interface, shared by server and client. REST names are spelled here
//! and nowhere else.
//!
//! Request bodies that become records are read by hand ([`SendRequest`], [`CancelRequest`]), because
//! a caller must be told everything that is wrong at once, with exact amounts and the field's own
//! path. Everything else is plain serde.

mod account;
mod authority;
mod batch;
mod cancel;
mod chain;
mod declaration;
mod envelope;
mod error;
mod filter;
mod fingerprint;
mod job;
mod json;
mod judge;
mod list;
mod names;
mod object;
mod operator;
mod parts;
mod request;
#[cfg(feature = "schema")]
mod schema;
mod send;
mod time;
mod usage;

pub use account::*;
pub use authority::{
    CheckNif, CheckNifs, CheckedNif, CheckedNifs, FoundInvoice, FoundState, Lookup, LookupSource,
};
pub use batch::{
    Batch, BatchBody, BatchCounts, BatchEntry, BatchItem, BatchOutcome, BatchTaken, CreateBatch, Preview,
};
pub use cancel::CancelRequest;
pub use chain::{Chain, ChainVerification, Chains, FirstBreak};
pub use declaration::{Declaration, DeclarationItem};
pub use envelope::Envelope;
pub use error::{Detail, Details, ErrorBody, ErrorCode, Problem, UnknownErrorCode};
pub use filter::{ExportFilter, JobFilter, LookupFilter, Moment, OperatorJobFilter, RecordFilter};
pub use fingerprint::{canonical, fingerprint};
pub use job::{
    Accepted, AuthorityResult, CsvStatus, ErrorItem, ErrorLevel, ErrorSource, Held, Job, JobResult,
    JobStatus, JobType, LastErrorDetail, QrInfo, RecordState, WaitedJob, Warning,
};
pub use json::{Json, JsonError, JsonProblem, MAX_DEPTH, MAX_MEMBERS, MAX_VALUES};
pub use list::{
    AttemptOutcome, ExportedRecord, InvoiceRecord, InvoiceRecords, JobAttempt, JobAttempts, Jobs, Paging,
    RecordType,
};
pub use names::{rest_name, rest_path};
pub use operator::*;
pub use parts::SystemClaim;
pub use request::{
    CancelInvoice, ForeignDocument, InvoiceKey, Line, Person, PersonId, Place, ReplacedAmounts, Seal,
    SendInvoice, System,
};
pub use send::{Defaults, SendRequest};
pub use time::Timestamp;
pub use usage::{MonthlyLedger, MonthlyUsage, Months, PlanInfo, PlanStatus, PlanUsage};
