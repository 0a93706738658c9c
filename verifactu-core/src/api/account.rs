//! Accounts, keys, certificates and the state of the service as REST shows them.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::types::{Date, Environment, Nif, Secret, TenantId};

use super::{Timestamp, Warning};

/// The account behind a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Me {
    /// Its identifier.
    pub tenant_id: TenantId,
    /// Its name.
    pub name: Option<String>,
    /// `sandbox`, `preproduction` or `production`.
    pub environment: Environment,
    /// The only issuer it may act for.
    pub allowed_nif: Option<Nif>,
    /// What the key allows.
    pub scopes: Vec<String>,
    /// Identifies the key.
    pub key_id: String,
}

/// The body of a certificate upload as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CertificateUpload {
    /// Base64 of the PKCS#12 file.
    #[serde(serialize_with = "expose")]
    pub pfx_base64: Secret,
    /// Its passphrase.
    #[serde(serialize_with = "expose")]
    pub pfx_passphrase: Secret,
}

/// The body of a certificate upload as a form; only its shape, since no client builds it this way.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(dead_code, reason = "its shape is all that matters")]
pub struct CertificateForm {
    /// The PKCS#12 file.
    #[schemars(extend("contentMediaType" = "application/octet-stream"))]
    pfx: String,
    /// Its passphrase.
    pfx_passphrase: String,
}

/// What a certificate is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CertificateKind {
    /// Of a natural person.
    Persona,
    /// Of somebody who represents an entity.
    Representante,
    /// An entity's seal.
    Sello,
}

/// What may be shown of a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CertificateInfo {
    /// Its holder.
    pub nif: Option<Nif>,
    /// The subject's common name.
    pub common_name: String,
    /// Who issued it.
    pub issuer: String,
    /// Its serial number, in hexadecimal digits.
    pub serial: String,
    /// What it is for.
    pub kind: CertificateKind,
    /// First instant of its validity.
    pub not_before: Timestamp,
    /// Last instant of its validity.
    pub not_after: Timestamp,
    /// Days until then; negative afterwards.
    pub days_until_expiry: i64,
    /// True, or absent: the file was of a legacy format and was converted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub normalized_from_legacy: bool,
}

/// The certificate of an account, or that it has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CertificateStatus {
    /// Whether there is one.
    pub has_certificate: bool,
    /// It.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateInfo>,
}

/// The answer to the removal of a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CertificateRemoved {
    /// Always false.
    pub has_certificate: bool,
    /// Jobs that wait until there is another certificate.
    pub waiting_jobs: u64,
}

/// Whether an account may write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TenantStatus {
    /// It may.
    #[default]
    Active,
    /// It may only read.
    Suspended,
}

/// A new account (operator).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateTenant {
    /// Its identifier.
    pub id: TenantId,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::types::Text<120>>"))]
    pub name: Option<String>,
    /// Name of the issuer, for bodies without `nombre`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::types::Text<120>>"))]
    pub issuer_name: Option<String>,
    /// Its plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::types::Text<64>>"))]
    pub plan_id: Option<String>,
    /// The partner it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_tenant_id: Option<TenantId>,
    /// The only issuer it may act for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_nif: Option<Nif>,
    /// Whether its bodies may name their own computer system.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<bool>"))]
    pub client_sif_enabled: bool,
}

impl CreateTenant {
    /// An account with this identifier, and nothing else said of it.
    #[must_use]
    pub const fn new(id: TenantId) -> Self {
        Self {
            id,
            name: None,
            issuer_name: None,
            plan_id: None,
            parent_tenant_id: None,
            allowed_nif: None,
            client_sif_enabled: false,
        }
    }
}

/// A new child account (partner).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateChildTenant {
    /// Its identifier; one is made up if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<TenantId>,
    /// Its name.
    #[cfg_attr(feature = "schema", schemars(with = "crate::types::Text<120>"))]
    pub name: String,
    /// The only issuer it may act for.
    pub allowed_nif: Nif,
}

/// What a partner changes of a child account. What is `None` stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ChangeChildTenant {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::types::Text<120>>"))]
    pub name: Option<String>,
    /// Whether it may write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TenantStatus>,
}

/// An account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Tenant {
    /// Its identifier.
    pub tenant_id: TenantId,
    /// Its name.
    pub name: Option<String>,
    /// Name of the issuer, for bodies without `nombre`.
    pub issuer_name: Option<String>,
    /// Its plan.
    pub plan_id: Option<String>,
    /// Whether it may write.
    pub status: TenantStatus,
    /// The partner it belongs to.
    pub parent_tenant_id: Option<TenantId>,
    /// The only issuer it may act for.
    pub allowed_nif: Option<Nif>,
    /// Whether its bodies may name their own computer system.
    pub client_sif_enabled: bool,
    /// Whom it names in the header as its representative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub representante: Option<Representative>,
    /// The last day of VERI*FACTU that its messages state, if it renounces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fecha_fin_veri_factu: Option<Date>,
    /// When it was created.
    pub created_at: Timestamp,
}

/// The representative of an issuer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Representative {
    /// Name.
    #[cfg_attr(feature = "schema", schemars(with = "crate::types::Text<120>"))]
    pub nombre: String,
    /// NIF.
    pub nif: Nif,
}

/// What a key allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Send and cancel invoices.
    InvoicesWrite,
    /// Read jobs, records, plan and usage.
    InvoicesRead,
    /// Verify tax identification numbers.
    NifRead,
    /// See whether there is a certificate.
    CertificatesRead,
    /// Upload or delete the certificate.
    CertificatesWrite,
    /// List and read child accounts.
    PartnerRead,
    /// Create child accounts, their certificates and keys.
    PartnerWrite,
}

impl Scope {
    /// Every scope.
    pub const ALL: &'static [Self] = &[
        Self::InvoicesWrite,
        Self::InvoicesRead,
        Self::NifRead,
        Self::CertificatesRead,
        Self::CertificatesWrite,
        Self::PartnerRead,
        Self::PartnerWrite,
    ];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvoicesWrite => "invoices:write",
            Self::InvoicesRead => "invoices:read",
            Self::NifRead => "nif:read",
            Self::CertificatesRead => "tenant:certificates:read",
            Self::CertificatesWrite => "tenant:certificates:write",
            Self::PartnerRead => "partner:tenants:read",
            Self::PartnerWrite => "partner:tenants:write",
        }
    }
}

impl Serialize for Scope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let known = Self::ALL.iter().copied().find(|scope| scope.as_str() == text);
        known.ok_or_else(|| serde::de::Error::custom("not a scope"))
    }
}

/// A new key (operator).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateApiKey {
    /// The account it is for.
    pub tenant_id: TenantId,
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::types::Text<120>>"))]
    pub name: Option<String>,
    /// What it allows.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub scopes: Vec<Scope>,
    /// When it stops working.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl CreateApiKey {
    /// A key of an account, which allows this much and works until it is revoked.
    #[must_use]
    pub const fn new(tenant_id: TenantId, scopes: Vec<Scope>) -> Self {
        Self { tenant_id, name: None, scopes, expires_at: None }
    }
}

/// A new key of a child account (partner); the account is named by the route.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateChildApiKey {
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::types::Text<120>>"))]
    pub name: Option<String>,
    /// What it allows.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub scopes: Vec<Scope>,
    /// When it stops working.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl CreateChildApiKey {
    /// A key that allows this much and works until it is revoked.
    #[must_use]
    pub const fn new(scopes: Vec<Scope>) -> Self {
        Self { name: None, scopes, expires_at: None }
    }
}

/// The answer to the creation of a key: the only one that shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CreatedApiKey {
    /// The key.
    pub api_key: NewApiKey,
}

/// A key that was just created.
#[derive(Clone, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NewApiKey {
    /// Its identifier, for revoking it.
    pub id: Uuid,
    /// The key itself.
    #[serde(serialize_with = "expose")]
    pub key: Secret,
    /// What it is called.
    pub name: Option<String>,
    /// What it allows.
    pub scopes: Vec<Scope>,
    /// When it stops working.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl std::fmt::Debug for NewApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewApiKey").field("id", &self.id).field("key", &self.key).finish_non_exhaustive()
    }
}

/// A secret is written where it is handed over: a key in the answer to its creation, a certificate's
/// file and passphrase in the upload.
fn expose<S: serde::Serializer>(key: &Secret, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(key.expose())
}

/// A key as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ApiKey {
    /// Its identifier.
    pub id: Uuid,
    /// The account it is for.
    pub tenant_id: TenantId,
    /// What it is called.
    pub name: Option<String>,
    /// What it allows.
    pub scopes: Vec<Scope>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// What an operator changes of an account. What is `None` stays; `Some(None)` removes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
#[serde(rename_all = "camelCase")]
pub struct ChangeTenant {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::types::Text<120>>"))]
    pub name: Option<Option<String>>,
    /// Name of the issuer, for bodies without `nombre`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::types::Text<120>>"))]
    pub issuer_name: Option<Option<String>>,
    /// Its plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::types::Text<64>>"))]
    pub plan_id: Option<Option<String>>,
    /// Whether it may write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<TenantStatus>,
    /// The only issuer it may act for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_nif: Option<Option<Nif>>,
    /// Whether its bodies may name their own computer system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_sif_enabled: Option<bool>,
    /// Whom it names in the header as its representative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub representante: Option<Option<Representative>>,
    /// The last day of VERI*FACTU that its messages state: its issuers renounce. From 2027 on it is
    /// 31 December of this year or of the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fecha_fin_veri_factu: Option<Option<Date>>,
}

/// Where the events of an account go (operator). What is `None` stays; a `url` of `Some(None)` removes
/// the webhook.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
#[serde(rename_all = "camelCase")]
pub struct WebhookPatch {
    /// HTTPS address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Option<String>>,
    /// Secret that signs the events.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "expose_if_given")]
    pub secret: Option<Secret>,
    /// Whether events are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

fn expose_if_given<S: serde::Serializer>(secret: &Option<Secret>, serializer: S) -> Result<S::Ok, S::Error> {
    match secret {
        Some(secret) => expose(secret, serializer),
        None => serializer.serialize_none(),
    }
}

/// Where the events of an account go; never the secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WebhookInfo {
    /// The address.
    pub url: Option<String>,
    /// Whether there is a secret.
    pub has_secret: bool,
    /// Whether events are sent.
    pub enabled: bool,
}

/// That the service is alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Health {
    /// `ok`
    pub status: String,
    /// Version of the service.
    pub version: String,
}

/// Whether the service can work, dependency by dependency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ready {
    /// Whether every dependency can.
    pub ready: bool,
    /// Each dependency by name.
    pub dependencies: Vec<Dependency>,
    /// What should be looked at but stops nothing.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

/// One dependency of the service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dependency {
    /// Its name.
    pub name: String,
    /// Whether it works.
    pub ready: bool,
    /// What is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
