//! Accounts: tenants, their keys and their sealed certificates.

use std::collections::BTreeSet;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{
    certificate::Purpose,
    types::{BatchId, Date, DeliveryId, JobId, Nif, TenantId, Text},
    xml::envelope::SpanishParty,
};

use super::{Delivery, DeliveryOutcome, LedgerError, Listing, Page, Webhook};

/// The durable store of accounts. The service needs it; an ERP that embeds the engine does not.
#[async_trait]
pub trait Accounts: Send + Sync {
    /// Creates an account; `false` when the identifier is taken.
    async fn create_tenant(&self, tenant: &Tenant) -> Result<bool, LedgerError>;

    /// An account.
    async fn tenant(&self, id: &TenantId) -> Result<Option<Tenant>, LedgerError>;

    /// Changes an account that still is as it is known; `false` when it is not, or when there is none.
    /// Identifier, parent and time of creation stay.
    async fn update_tenant(&self, known: &Tenant, changed: &Tenant) -> Result<bool, LedgerError>;

    /// Accounts in the order of their identifiers; with a parent, only its own.
    async fn tenants(
        &self,
        parent: Option<&TenantId>,
        page: Page<TenantId>,
    ) -> Result<Listing<Tenant>, LedgerError>;

    /// Stores a key.
    async fn create_key(&self, key: &ApiKey) -> Result<(), LedgerError>;

    /// Who calls by the key with this public part.
    async fn caller(&self, public: &str) -> Result<Option<Caller>, LedgerError>;

    /// Keys in the order of their identifiers; with an account, only its own.
    async fn keys(
        &self,
        tenant: Option<&TenantId>,
        page: Page<ApiKeyId>,
    ) -> Result<Listing<ApiKey>, LedgerError>;

    /// Revokes a key, with an account only if it is its own, and returns it; `None` when there is no such
    /// key. A revoked one keeps its first time.
    async fn revoke_key(
        &self,
        tenant: Option<&TenantId>,
        id: ApiKeyId,
        at: Timestamp,
    ) -> Result<Option<ApiKey>, LedgerError>;

    /// Stores an account's certificate in place of any earlier one.
    async fn put_certificate(&self, certificate: &SealedCertificate) -> Result<(), LedgerError>;

    /// An account's certificate.
    async fn certificate(&self, tenant: &TenantId) -> Result<Option<SealedCertificate>, LedgerError>;

    /// Removes an account's certificate; `false` when there was none.
    async fn delete_certificate(&self, tenant: &TenantId) -> Result<bool, LedgerError>;

    /// Replaces the sealed value that an account has for a purpose, if it still is the one that is known;
    /// `false` otherwise. Nothing else of it changes.
    async fn reseal(
        &self,
        tenant: &TenantId,
        purpose: Purpose,
        known: &[u8],
        sealed: &[u8],
    ) -> Result<bool, LedgerError>;

    /// Keeps what became of a batch, and forgets batches that were created before `expired`.
    async fn put_batch(&self, batch: &Batch, expired: Timestamp) -> Result<(), LedgerError>;

    /// A batch; `None` when it does not exist or belongs to another account.
    async fn batch(&self, tenant: &TenantId, id: BatchId) -> Result<Option<Batch>, LedgerError>;

    /// Adds to the requests that accounts made in months (`YYYY-MM`).
    async fn count_requests(&self, counts: &[(TenantId, String, u64)]) -> Result<(), LedgerError>;

    /// The requests of an account in each month from `since` on, in order.
    async fn requests(&self, tenant: &TenantId, since: &str) -> Result<Vec<(String, u64)>, LedgerError>;

    /// Certificates that end before this time, those that end first before the others.
    async fn expiring_certificates(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<SealedCertificate>, LedgerError>;

    /// Stores where an account's events go, in place of what is known, if that still is so; `false`
    /// otherwise.
    async fn put_webhook(&self, known: Option<&Webhook>, webhook: &Webhook) -> Result<bool, LedgerError>;

    /// Where an account's events go.
    async fn webhook(&self, tenant: &TenantId) -> Result<Option<Webhook>, LedgerError>;

    /// Forgets where an account's events go; `false` when that was not known.
    async fn delete_webhook(&self, tenant: &TenantId) -> Result<bool, LedgerError>;

    /// Stores a delivery that belongs to no job.
    async fn put_delivery(&self, delivery: &Delivery) -> Result<(), LedgerError>;

    /// The delivery that has been owed longest, of accounts other than these, marked as attempted at
    /// this time. The mark is on stable storage when the call returns, and no delivery is given twice.
    async fn take_delivery(
        &self,
        at: Timestamp,
        except: &[TenantId],
    ) -> Result<Option<Delivery>, LedgerError>;

    /// Writes down how an attempt ended.
    async fn finish_delivery(&self, id: DeliveryId, outcome: &DeliveryOutcome) -> Result<(), LedgerError>;

    /// An account's deliveries, the last noted first.
    async fn deliveries(
        &self,
        tenant: &TenantId,
        page: Page<DeliveryId>,
    ) -> Result<Listing<Delivery>, LedgerError>;

    /// Forgets deliveries that were attempted and became owed before this time, at most `limit`; how many.
    async fn prune_deliveries(&self, before: Timestamp, limit: u32) -> Result<u64, LedgerError>;

    /// Appends to the audit log, linked to the line before.
    async fn audit(&self, entry: &AuditEntry) -> Result<(), LedgerError>;

    /// Lines of the audit log, the last first; their keys are their positions.
    async fn audit_lines(&self, page: Page<u64>) -> Result<Listing<AuditLine>, LedgerError>;
}

/// An account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Identifier.
    pub id: TenantId,
    /// Display name.
    pub name: Option<Text<120>>,
    /// The issuer's registered name, used where a request names none.
    pub issuer_name: Option<Text<120>>,
    /// The only issuer a child account may act for.
    pub allowed_nif: Option<Nif>,
    /// The partner that owns the account.
    pub parent: Option<TenantId>,
    /// The plan.
    pub plan: Option<String>,
    /// Whether requests may name a computer system of their own.
    pub own_system: bool,
    /// Whom its messages name as the issuer's representative.
    pub representative: Option<SpanishParty>,
    /// The last day of VERI*FACTU operation that its messages state, for issuers that renounce.
    pub verifactu_end: Option<Date>,
    /// Whether it may write.
    pub status: TenantStatus,
    /// When it was created.
    pub created_at: Timestamp,
}

/// Whether an account may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TenantStatus {
    /// It may.
    Active,
    /// It may only read, until the operator says otherwise.
    Suspended,
    /// It may only read, until its partner or the operator says otherwise.
    SuspendedByPartner,
}

/// Identifier of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ApiKeyId(pub Uuid);

/// An API key as it is stored: its secret part only as a keyed hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Identifier.
    pub id: ApiKeyId,
    /// Account it acts for.
    pub tenant: TenantId,
    /// Display name.
    pub name: String,
    /// The part of the key that finds it.
    pub public: String,
    /// Keyed hash of the whole key.
    pub hash: [u8; 32],
    /// What it may do.
    pub scopes: BTreeSet<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// The whole key, sealed by the vault, where the service itself calls by it.
    pub sealed: Option<Vec<u8>>,
}

/// A key with what is asked of its account at every call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The key.
    pub key: ApiKey,
    /// Its account.
    pub tenant: Tenant,
    /// End of validity of the account's certificate, if it has one.
    pub certificate_until: Option<Timestamp>,
}

/// A certificate as it is stored: key and chain sealed, what may be shown beside them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedCertificate {
    /// Account it belongs to.
    pub tenant: TenantId,
    /// Key and chain, sealed by the vault.
    pub sealed: Vec<u8>,
    /// End of validity.
    pub not_after: Timestamp,
    /// When it was uploaded.
    pub uploaded_at: Timestamp,
}

/// Requests that were sent together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Identifier.
    pub id: BatchId,
    /// Account that sent it.
    pub tenant: TenantId,
    /// When.
    pub created_at: Timestamp,
    /// What became of each, in order.
    pub items: Vec<BatchItem>,
}

/// What became of a request in a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BatchItem {
    /// There is a job for it.
    Accepted(JobId),
    /// Why there is none, as its sender was told.
    Refused(String),
}

/// A line of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// When.
    pub at: Timestamp,
    /// Who: `admin`, or an account.
    pub actor: String,
    /// What was done.
    pub action: String,
    /// To what.
    pub subject: String,
    /// In which request.
    pub request: Option<crate::types::RequestId>,
}

/// A line of the audit log at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditLine {
    /// Its place, from 1.
    pub position: u64,
    /// What it says.
    pub entry: AuditEntry,
    /// Digest of the line and of all before it.
    pub hash: [u8; 32],
}

impl AuditEntry {
    /// The digest of this line behind one with the given digest; the first stands behind zeros. It is the
    /// SHA-256 of that digest and of the JSON array `[at, actor, action, subject, request]`, with the time
    /// in microseconds since 1970.
    #[must_use]
    pub fn hash_behind(&self, previous: &[u8; 32]) -> [u8; 32] {
        let Self { at, actor, action, subject, request } = self;
        let line = serde_json::json!([at.as_microsecond(), actor, action, subject, request]);
        Sha256::new().chain_update(previous).chain_update(line.to_string()).finalize().into()
    }
}
