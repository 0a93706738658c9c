//! The error document that every answer other than a success carries.

use serde::{Deserialize, Serialize};

use crate::types::{Huella, JobId, RequestId};

use super::{Dependency, Job, QrInfo, Timestamp};

/// One thing that is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Detail {
    /// The field, such as `desglose[0].calif`; empty for the body as a whole.
    pub field: String,
    /// The authority's code, where there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<String>,
    /// What is wrong.
    pub message: String,
}

impl Detail {
    /// What is wrong with a field, with the authority's code for it if there is one.
    #[must_use]
    pub fn new(field: String, code: Option<u16>, message: impl std::fmt::Display) -> Self {
        Self { field, code: code.map(|code| code.to_string()), message: message.to_string() }
    }
}

/// Defines [`ErrorCode`] with its two spellings.
macro_rules! error_codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $code:literal, $name:literal;)+) => {
        /// What an error is, in one word. A server may add words; a client must expect that.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode { $($(#[doc = $doc])+ $variant,)+ }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The value of `code`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)+ }
            }

            /// What it means, in a sentence.
            #[must_use]
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim_ascii(),)+ }
            }

            /// The value of `error`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

error_codes! {
    /// A field is missing or wrong; `details` says which.
    ValidationFailed = "validation_failed", "ValidationError";
    /// The body is not JSON, or has a key twice.
    InvalidJson = "invalid_json", "InvalidJsonError";
    /// A send or cancel without idempotency key.
    IdempotencyKeyMissing = "idempotency_key_missing", "IdempotencyKeyError";
    /// Not 1 to 128 visible ASCII characters.
    IdempotencyKeyInvalid = "idempotency_key_invalid", "IdempotencyKeyError";
    /// The caller's huella is not the one its data give.
    HuellaMismatch = "huella_mismatch", "HuellaMismatchError";
    /// Two keys that differ.
    AuthAmbiguous = "auth_ambiguous", "AuthenticationError";
    /// No key.
    ApiKeyMissing = "api_key_missing", "AuthenticationError";
    /// An unknown key.
    ApiKeyInvalid = "api_key_invalid", "AuthenticationError";
    /// A revoked key.
    ApiKeyRevoked = "api_key_revoked", "AuthenticationError";
    /// An expired key.
    ApiKeyExpired = "api_key_expired", "AuthenticationError";
    /// The plan's limit is reached.
    PlanLimitReached = "plan_limit_reached", "PlanLimitError";
    /// The key lacks the scope in `required`.
    InsufficientScope = "insufficient_scope", "AuthorizationError";
    /// The account is suspended.
    AccountSuspended = "account_suspended", "AuthorizationError";
    /// No such thing, or none of this account.
    NotFound = "not_found", "NotFoundError";
    /// The route has other methods.
    MethodNotAllowed = "method_not_allowed", "MethodNotAllowedError";
    /// The body did not arrive in time.
    RequestTimeout = "request_timeout", "RequestTimeoutError";
    /// The body is too large.
    PayloadTooLarge = "payload_too_large", "PayloadTooLargeError";
    /// The body is of another type than the route takes.
    UnsupportedMediaType = "unsupported_media_type", "UnsupportedMediaTypeError";
    /// The headers are too large.
    HeadersTooLarge = "headers_too_large", "HeadersTooLargeError";
    /// The huella given is not that of the chain's last record.
    ChainContinuity = "chain_continuity", "ChainContinuityError";
    /// A first record for a chain that has records.
    ChainState = "chain_state", "ChainStateError";
    /// A correction flag that contradicts what the ledger knows.
    CorrectionConflict = "correction_conflict", "CorrectionConflictError";
    /// The key was used with another body.
    IdempotencyConflict = "idempotency_conflict", "IdempotencyConflictError";
    /// The key's job is dead.
    IdempotencyJobDead = "idempotency_job_dead", "IdempotencyJobDeadError";
    /// The invoice was submitted before.
    InvoiceAlreadySubmitted = "invoice_already_submitted", "InvoiceAlreadySubmittedError";
    /// The issuer's chain is held.
    IssuerHeld = "issuer_held", "IssuerHeldError";
    /// The job is not FAILED.
    JobNotRetryable = "job_not_retryable", "JobNotRetryableError";
    /// The account exists.
    TenantExists = "tenant_exists", "TenantExistsError";
    /// The account has no certificate.
    TenantCertificateRequired = "tenant_certificate_required", "CertificateError";
    /// The issuer is not the one the account may act for.
    AllowedNifMismatch = "allowed_nif_mismatch", "NifNotAuthorisedError";
    /// The certificate is not of the account's holder.
    CertNifMismatch = "cert_nif_mismatch", "CertificateError";
    /// The certificate's passphrase is wrong.
    WrongPassphrase = "wrong_passphrase", "CertificateError";
    /// The file is not a PKCS#12 with a key and its certificate.
    Malformed = "malformed", "CertificateError";
    /// A legacy file that could not be converted.
    LegacyRc2 = "legacy_rc2", "CertificateError";
    /// The certificate has expired.
    Expired = "expired", "CertificateError";
    /// Too many requests.
    RateLimited = "rate_limited", "RateLimitError";
    /// The authority answered with an error.
    AuthorityError = "authority_error", "AuthorityError";
    /// The authority did not answer.
    AuthorityTimeout = "authority_timeout", "AuthorityTimeoutError";
    /// Too much work.
    Overloaded = "overloaded", "UnavailableError";
    /// The store does not answer.
    StoreUnavailable = "store_unavailable", "UnavailableError";
    /// The chain's last record lies in the future.
    ClockSkew = "clock_skew", "UnavailableError";
    /// The service is stopping.
    ShuttingDown = "shutting_down", "UnavailableError";
    /// A fault of the service itself.
    Internal = "internal_error", "InternalError";
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for ErrorCode {
    type Err = UnknownErrorCode;
    fn from_str(text: &str) -> Result<Self, UnknownErrorCode> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text).ok_or(UnknownErrorCode)
    }
}

/// The word is not one of the known [`ErrorCode`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown error code")]
pub struct UnknownErrorCode;

/// `details`: a list of fields, or the code once more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Details {
    /// What is wrong, field by field.
    Fields(Vec<Detail>),
    /// The code, for 422.
    Code {
        /// The same as the document's own.
        code: String,
    },
}

/// An error document. What a code has no use for is absent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", schemars(rename = "Error"))]
pub struct ErrorBody {
    /// Always false.
    pub success: bool,
    /// The kind of error.
    pub error: String,
    /// The error in one word: an [`ErrorCode`], or one a newer server knows.
    pub code: String,
    /// The error in a sentence.
    pub message: String,
    /// The fields concerned, or the code once more.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub details: Option<Details>,
    /// Identifies the request, for support.
    pub request_id: RequestId,
    /// The huella of the chain's last record.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expected_huella: Option<Huella>,
    /// The huella that was sent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub received_huella: Option<Huella>,
    /// The canonical string that the expected huella covers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub canonical: Option<String>,
    /// The value a correction flag should have.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expected: Option<String>,
    /// The scope that the key lacks.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub required: Option<String>,
    /// The plan's limit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limit: Option<u64>,
    /// How much of it is used.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub used: Option<u64>,
    /// When it starts anew.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub resets_at: Option<Timestamp>,
    /// The job that is concerned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub job_id: Option<JobId>,
    /// The job itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub job: Option<Box<Job>>,
    /// What is to be printed on the invoice, accepted or not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub qr_info: Option<QrInfo>,
    /// Each dependency of a service that is not ready.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dependencies: Option<Vec<Dependency>>,
}

/// An error document as a problem document (RFC 9457), for who asks for `application/problem+json`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Problem {
    /// Names the kind of problem: `urn:verifactu:error:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind of error.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The error in a sentence.
    pub detail: String,
    /// `urn:uuid:` and the request's identifier.
    pub instance: String,
    /// The error document.
    #[serde(flatten)]
    pub body: ErrorBody,
}

impl Problem {
    /// The same error, answered with this status.
    #[must_use]
    pub fn new(body: ErrorBody, status: u16) -> Self {
        Self {
            kind: format!("urn:verifactu:error:{}", body.code),
            title: body.error.clone(),
            status,
            detail: body.message.clone(),
            instance: format!("urn:uuid:{}", body.request_id),
            body,
        }
    }
}

impl ErrorBody {
    /// A document without details.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>, request_id: RequestId) -> Self {
        Self {
            success: false,
            error: code.name().to_owned(),
            code: code.as_str().to_owned(),
            message: message.into(),
            details: None,
            request_id,
            expected_huella: None,
            received_huella: None,
            canonical: None,
            expected: None,
            required: None,
            limit: None,
            used: None,
            resets_at: None,
            job_id: None,
            job: None,
            qr_info: None,
            dependencies: None,
        }
    }
}
