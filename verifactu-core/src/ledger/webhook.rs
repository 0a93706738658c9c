//! Webhooks of accounts, and the deliveries that are owed to them.
//!
//! A job that becomes final owes one delivery. It is noted by the ledger in the step that makes the job
//! final, so that no crash loses it, and marked as attempted before it is sent, so that it is sent at
//! most once (specification, Events).

use jiff::Timestamp;

use crate::types::{DeliveryId, JobId, TenantId};

/// Where an account's events go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// The account.
    pub tenant: TenantId,
    /// The address.
    pub url: String,
    /// The secret that signs, sealed by the vault.
    pub secret: Vec<u8>,
    /// Whether events are sent; if not, none is owed.
    pub enabled: bool,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// One event for one account, with its single attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Identifier; that of a job's event is the job's own.
    pub id: DeliveryId,
    /// The account.
    pub tenant: TenantId,
    /// The job it tells of; none for a trial by the operator.
    pub job: Option<JobId>,
    /// When it became owed.
    pub created_at: Timestamp,
    /// When the attempt was marked, just before it was made.
    pub attempted_at: Option<Timestamp>,
    /// How the attempt ended; none while it goes on, or when the process stopped meanwhile.
    pub outcome: Option<DeliveryOutcome>,
}

/// How an attempt at a delivery ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryOutcome {
    /// How long it took.
    pub duration_ms: u64,
    /// The receiver's HTTP status, if it answered.
    pub status: Option<u32>,
    /// Why it did not arrive, if so.
    pub error: Option<String>,
}

impl Delivery {
    /// What a job that became final owes to an account.
    pub(super) fn owed(tenant: TenantId, job: JobId, at: Timestamp) -> Self {
        Self {
            id: DeliveryId(job.0),
            tenant,
            job: Some(job),
            created_at: at,
            attempted_at: None,
            outcome: None,
        }
    }
}
