//! Accounts: tenants, their keys and their sealed certificates.

use std::collections::BTreeSet;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::types::{BatchId, JobId, Nif, TenantId, Text};

use super::LedgerError;

/// The durable store of accounts. The service needs it; an ERP that embeds the engine does not.
#[async_trait]
pub trait Accounts: Send + Sync {
    /// Creates an account; `false` when the identifier is taken.
    async fn create_tenant(&self, tenant: &Tenant) -> Result<bool, LedgerError>;

    /// An account.
    async fn tenant(&self, id: &TenantId) -> Result<Option<Tenant>, LedgerError>;

    /// Stores a key.
    async fn create_key(&self, key: &ApiKey) -> Result<(), LedgerError>;

    /// The key with this public part.
    async fn key(&self, public: &str) -> Result<Option<ApiKey>, LedgerError>;

    /// Stores an account's certificate in place of any earlier one.
    async fn put_certificate(&self, certificate: &SealedCertificate) -> Result<(), LedgerError>;

    /// An account's certificate.
    async fn certificate(&self, tenant: &TenantId) -> Result<Option<SealedCertificate>, LedgerError>;

    /// Removes an account's certificate; `false` when there was none.
    async fn delete_certificate(&self, tenant: &TenantId) -> Result<bool, LedgerError>;

    /// Keeps what became of a batch, and forgets batches that were created before `expired`.
    async fn put_batch(&self, batch: &Batch, expired: Timestamp) -> Result<(), LedgerError>;

    /// A batch; `None` when it does not exist or belongs to another account.
    async fn batch(&self, tenant: &TenantId, id: BatchId) -> Result<Option<Batch>, LedgerError>;

    /// Appends to the audit log.
    async fn audit(&self, entry: &AuditEntry) -> Result<(), LedgerError>;
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
    /// It may only read.
    Suspended,
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
