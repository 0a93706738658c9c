//! What operators see and change.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::types::{ChainId, DeliveryId, JobId, MessageId, Nif, RequestId, TenantId};

use super::{ApiKey, Held, Job, Paging, Tenant, Timestamp};

/// One event for a webhook, with its single attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WebhookDelivery {
    /// Identifier, which the receiver sees as `webhook-id`.
    pub id: DeliveryId,
    /// The job it tells of; null for a trial.
    pub job_id: Option<JobId>,
    /// When it became owed.
    pub created_at: Timestamp,
    /// When it was sent; null while it waits.
    pub attempted_at: Option<Timestamp>,
    /// Whether the receiver took it; null until the attempt has ended, or when its end is not known.
    pub delivered: Option<bool>,
    /// The receiver's HTTP status.
    pub status: Option<u32>,
    /// How long the attempt took.
    pub duration_ms: Option<u64>,
    /// Why it did not arrive.
    pub error: Option<String>,
}

/// A page of deliveries, the last first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WebhookDeliveries {
    /// The deliveries.
    pub deliveries: Vec<WebhookDelivery>,
    /// The list as a whole.
    #[serde(flatten)]
    pub paging: Paging<DeliveryId>,
}

/// The answer to a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebhookTrial {
    /// What became of it.
    pub delivery: WebhookDelivery,
}

/// A page of accounts, in the order of their identifiers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Tenants {
    /// The accounts.
    pub tenants: Vec<Tenant>,
    /// The list as a whole.
    #[serde(flatten)]
    pub paging: Paging<TenantId>,
}

/// A page of keys, the oldest first. None of them can be shown again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ApiKeys {
    /// The keys.
    pub api_keys: Vec<ApiKey>,
    /// The list as a whole.
    #[serde(flatten)]
    pub paging: Paging<Uuid>,
}

/// The answer to the revocation of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RevokedApiKey {
    /// The key, which lets nobody in any more.
    pub api_key: ApiKey,
}

/// A job with what only operators see of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OperatorJob {
    /// The account.
    pub tenant_id: TenantId,
    /// The request that was accepted.
    pub accepted_request_id: RequestId,
    /// The job.
    #[serde(flatten)]
    pub job: Job,
}

/// A page of jobs of all accounts, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OperatorJobs {
    /// The jobs.
    pub jobs: Vec<OperatorJob>,
    /// The list as a whole.
    #[serde(flatten)]
    pub paging: Paging<JobId>,
}

/// A page of chains of all accounts, or the chains of one issuer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Issuers {
    /// The chains, by identifier. An issuer has one for each installation of the computer system.
    pub issuers: Vec<Issuer>,
    /// The list as a whole.
    #[serde(flatten)]
    pub paging: Paging<ChainId>,
}

/// Why an issuer is to be paused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PauseIssuer {
    /// What its jobs show; up to 250 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::types::Text<250>>"))]
    pub reason: Option<String>,
}

/// A chain as the operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Issuer {
    /// The account.
    pub tenant_id: TenantId,
    /// The issuer.
    pub nif: Nif,
    /// The chain.
    pub chain_id: ChainId,
    /// The installation.
    pub numero_instalacion: String,
    /// Jobs that are not final.
    pub pending: u64,
    /// When the oldest of them was accepted.
    pub oldest_pending_at: Option<Timestamp>,
    /// How long ago that is.
    pub oldest_pending_seconds: Option<i64>,
    /// The wait that the authority last asked for, in seconds.
    pub wait_seconds: Option<u32>,
    /// When the next message may go; null before the first one.
    pub next_slot_at: Option<Timestamp>,
    /// When the lease of the worker that has the chain ends; null when none has.
    pub leased_until: Option<Timestamp>,
    /// Connections to the authority that failed in a row.
    pub unreachable_count: u32,
    /// Why nothing is sent; null when it is not held.
    pub held: Option<Held>,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What went out for a job, and what came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JobMessages {
    /// The account.
    pub tenant_id: TenantId,
    /// The record's XML as it was first sent, which every later sending repeats; null before.
    pub sent_xml: Option<String>,
    /// The messages that carried the record, in order.
    pub messages: Vec<JobMessage>,
}

/// One message that carried a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JobMessage {
    /// Its identifier.
    pub id: MessageId,
    /// When it was written down, just before it was sent.
    pub sent_at: Timestamp,
    /// Whether it says that an incident delayed its records.
    pub incidencia: bool,
    /// When its answer was settled; null while it is under way.
    pub settled_at: Option<Timestamp>,
    /// The whole answer, for all records of the message; null if there was none.
    pub answer: Option<String>,
}

/// Certificates that end soon or have ended, the first to end first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExpiringCertificates {
    /// The certificates.
    pub certificates: Vec<ExpiringCertificate>,
}

/// A certificate that ends soon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExpiringCertificate {
    /// The account.
    pub tenant_id: TenantId,
    /// The end of its validity.
    pub not_after: Timestamp,
    /// Days until then; negative afterwards.
    pub days_until_expiry: i64,
    /// When it was uploaded.
    pub uploaded_at: Timestamp,
}

/// A page of the audit log, the last line first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuditEvents {
    /// The lines.
    pub events: Vec<AuditEvent>,
    /// The list as a whole.
    #[serde(flatten)]
    pub paging: Paging<u64>,
}

/// A line of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuditEvent {
    /// Its place, from 1.
    pub position: u64,
    /// When.
    pub at: Timestamp,
    /// Who: `admin`, or an account.
    pub actor: String,
    /// What was done.
    pub action: String,
    /// To what.
    pub subject: String,
    /// In which request.
    pub caused_by: Option<RequestId>,
    /// SHA-256 over the hash of the line before and this line, in hexadecimal digits.
    pub hash: String,
}
