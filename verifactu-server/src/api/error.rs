//! From what happened to what the caller is told: the only file with status codes.

use std::{error::Error, time::Duration};

use http::{
    HeaderMap, HeaderValue, Method, StatusCode,
    header::{ALLOW, CONNECTION, CONTENT_TYPE, RETRY_AFTER},
};
use verifactu_core::{
    api::{
        Detail, Details, ErrorBody, ErrorCode, Job, JobStatus, JsonError, Problem, QrInfo, Ready, Scope,
        rest_name,
    },
    authority::{Outcome, Unprocessed},
    certificate::{CertificateError, Malformed},
    engine::EngineError,
    ledger::{LedgerError, LedgerErrorKind, Refusal},
    types::{JobId, RequestId},
    validation::Field,
};

use crate::accounts::whole_seconds;

use super::reply::Reply;

/// Most details of a request that is one of many.
const ITEM_DETAILS: usize = 5;
/// Longest name of a field, and longest word about it, of such a request; in bytes.
const ITEM_TEXT: usize = 120;

/// Everything that keeps a request from its answer.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Fields are missing or wrong.
    Fields(Vec<Detail>),
    Json(JsonError),
    /// The bytes are no request.
    NotHttp,
    IdempotencyKeyMissing,
    IdempotencyKeyInvalid,

    AuthAmbiguous,
    /// No key in the header that the route takes.
    KeyMissing(&'static str),
    KeyInvalid,
    KeyRevoked,
    KeyExpired,
    /// Too many requests, or too many wrong keys; how long to wait.
    RateLimited(Duration),
    Scope(Scope),
    Suspended,

    NotFound(&'static str),
    Method(Vec<Method>),
    BodyTooLarge(usize),
    BodyTooSlow,
    MediaType(&'static str),
    HeadersTooLarge(usize),

    Chain(Box<Refusal>),
    IdempotencyConflict(JobId),
    JobDead(Box<Job>),
    AlreadySubmitted(JobId),
    QuotaReached {
        limit: Option<u64>,
        used: u64,
        resets_at: Option<jiff::Timestamp>,
    },
    /// The account has as many of something as an account may.
    Full {
        what: &'static str,
        most: u32,
    },
    TenantExists,
    /// Only a FAILED job can be tried again by hand.
    NotRetryable(JobStatus),
    /// The chain is held; why.
    IssuerHeld(String),

    CertificateRequired,
    CertificateExpired,
    AllowedNifMismatch,
    CertificateNifMismatch,
    Certificate(CertificateError),

    /// The authority failed, or was out of reach, while the caller waited.
    AuthorityFailed {
        job: JobId,
        qr_info: QrInfo,
    },
    /// The authority did not answer while the caller waited.
    AuthoritySilent {
        job: JobId,
        qr_info: QrInfo,
    },

    /// The authority did not answer a question, or refused to.
    Unanswered(Unprocessed),

    Store(LedgerError),
    Overloaded,
    ShuttingDown,
    NotReady(Ready),
    /// A fault of ours, which the log explains.
    Internal(Box<dyn Error + Send + Sync>),
}

/// The kinds of success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Success {
    Ok,
    Created,
    Accepted,
}

impl Success {
    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Ok => StatusCode::OK,
            Self::Created => StatusCode::CREATED,
            Self::Accepted => StatusCode::ACCEPTED,
        }
    }
}

impl Fault {
    /// One field that is missing or wrong.
    pub(crate) fn field(field: &str, message: impl Into<String>) -> Self {
        Self::Fields(vec![Detail { field: field.to_owned(), code: None, message: message.into() }])
    }

    /// Fields with what is wrong with each.
    pub(crate) fn fields(fields: impl IntoIterator<Item = (String, &'static str)>) -> Self {
        let detail = |(field, message): (_, &str)| Detail { field, code: None, message: message.to_owned() };
        Self::Fields(fields.into_iter().map(detail).collect())
    }

    /// The answer, as a problem document if the caller prefers one.
    pub(crate) fn into_reply(self, request: RequestId, accepted: &HeaderMap) -> Reply {
        if let Self::Internal(error) = &self {
            tracing::error!(%request, error = &**error as &dyn Error, "the request failed");
        }
        if let Self::Store(error) = &self {
            tracing::error!(%request, error = error as &dyn Error, "the ledger failed");
        }
        let mut headers = HeaderMap::new();
        if let Some(seconds) = self.retry_after() {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        match &self {
            Self::Method(allowed) => {
                let allowed = allowed.iter().map(Method::as_str).collect::<Vec<_>>().join(", ");
                if let Ok(value) = HeaderValue::from_str(&allowed) {
                    headers.insert(ALLOW, value);
                }
            }
            Self::ShuttingDown | Self::BodyTooSlow => {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        let code = self.code();
        let status = status(code);
        let body = self.document(code, request);
        let (kind, body) = if wants_problem(accepted) {
            let problem = Problem::new(body, status.as_u16());
            ("application/problem+json", serde_json::to_string(&problem))
        } else {
            ("application/json", serde_json::to_string(&body))
        };
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        Reply::new(status, headers, body.unwrap_or_default())
    }

    /// The word for it.
    pub(super) fn code(&self) -> ErrorCode {
        match self {
            Self::Fields(_) | Self::NotHttp => ErrorCode::ValidationFailed,
            Self::Json(_) => ErrorCode::InvalidJson,
            Self::IdempotencyKeyMissing => ErrorCode::IdempotencyKeyMissing,
            Self::IdempotencyKeyInvalid => ErrorCode::IdempotencyKeyInvalid,
            Self::AuthAmbiguous => ErrorCode::AuthAmbiguous,
            Self::KeyMissing(_) => ErrorCode::ApiKeyMissing,
            Self::KeyInvalid => ErrorCode::ApiKeyInvalid,
            Self::KeyRevoked => ErrorCode::ApiKeyRevoked,
            Self::KeyExpired => ErrorCode::ApiKeyExpired,
            Self::RateLimited(_) => ErrorCode::RateLimited,
            Self::Scope(_) => ErrorCode::InsufficientScope,
            Self::Suspended => ErrorCode::AccountSuspended,
            Self::NotFound(_) => ErrorCode::NotFound,
            Self::Method(_) => ErrorCode::MethodNotAllowed,
            Self::BodyTooLarge(_) => ErrorCode::PayloadTooLarge,
            Self::BodyTooSlow => ErrorCode::RequestTimeout,
            Self::MediaType(_) => ErrorCode::UnsupportedMediaType,
            Self::HeadersTooLarge(_) => ErrorCode::HeadersTooLarge,
            Self::Chain(refusal) => match **refusal {
                Refusal::Discontinuous { .. } => ErrorCode::ChainContinuity,
                Refusal::NotFirst => ErrorCode::ChainState,
                Refusal::ClockSkew { .. } => ErrorCode::ClockSkew,
                Refusal::TimeOutOfBounds { .. } => ErrorCode::ValidationFailed,
                Refusal::HuellaMismatch { .. } => ErrorCode::HuellaMismatch,
                Refusal::CorrectionConflict { .. } => ErrorCode::CorrectionConflict,
                _ => ErrorCode::Internal,
            },
            Self::IdempotencyConflict(_) => ErrorCode::IdempotencyConflict,
            Self::JobDead(_) => ErrorCode::IdempotencyJobDead,
            Self::AlreadySubmitted(_) => ErrorCode::InvoiceAlreadySubmitted,
            Self::QuotaReached { .. } | Self::Full { .. } => ErrorCode::PlanLimitReached,
            Self::TenantExists => ErrorCode::TenantExists,
            Self::NotRetryable(_) => ErrorCode::JobNotRetryable,
            Self::IssuerHeld(_) => ErrorCode::IssuerHeld,
            Self::CertificateRequired => ErrorCode::TenantCertificateRequired,
            Self::CertificateExpired => ErrorCode::Expired,
            Self::AllowedNifMismatch => ErrorCode::AllowedNifMismatch,
            Self::CertificateNifMismatch => ErrorCode::CertNifMismatch,
            Self::Certificate(error) => match error {
                CertificateError::WrongPassphrase => ErrorCode::WrongPassphrase,
                CertificateError::Malformed(Malformed::TooLarge) => ErrorCode::PayloadTooLarge,
                CertificateError::Malformed(_) | CertificateError::UnsupportedKey => ErrorCode::Malformed,
                CertificateError::LegacyEncryption | CertificateError::UnsupportedMac => ErrorCode::LegacyRc2,
                CertificateError::Expired { .. } => ErrorCode::Expired,
                _ => ErrorCode::Internal,
            },
            Self::Store(error) => match error.kind {
                LedgerErrorKind::Unavailable
                | LedgerErrorKind::Unknown
                // Another database server has taken over, and the operator has not spoken yet.
                | LedgerErrorKind::Incompatible => ErrorCode::StoreUnavailable,
                _ => ErrorCode::Internal,
            },
            Self::AuthorityFailed { .. } => ErrorCode::AuthorityError,
            Self::AuthoritySilent { .. } => ErrorCode::AuthorityTimeout,
            Self::Unanswered(Outcome::NoAnswer(_)) => ErrorCode::AuthorityTimeout,
            Self::Unanswered(_) => ErrorCode::AuthorityError,
            Self::Overloaded => ErrorCode::Overloaded,
            Self::ShuttingDown => ErrorCode::ShuttingDown,
            Self::NotReady(_) => ErrorCode::StoreUnavailable,
            Self::Internal(_) => ErrorCode::Internal,
        }
    }

    /// Seconds after which the same request may succeed.
    fn retry_after(&self) -> Option<u64> {
        match self {
            Self::RateLimited(wait) => Some(whole_seconds(*wait).max(1)),
            _ => (status(self.code()) == StatusCode::SERVICE_UNAVAILABLE).then_some(5),
        }
    }

    /// The document alone, for a request that is one of many. There may be a thousand of them, so each
    /// is short whatever was sent.
    pub(super) fn into_item(mut self, request: RequestId) -> ErrorBody {
        let mut wrong = 0;
        if let Self::Fields(details) = &mut self {
            wrong = details.len();
            details.truncate(ITEM_DETAILS);
            for Detail { field, message, .. } in details {
                clip(field);
                clip(message);
            }
        }
        let code = self.code();
        let mut body = self.document(code, request);
        if wrong > ITEM_DETAILS {
            body.message = format!("{wrong} fields are wrong; details names the first {ITEM_DETAILS}");
        }
        // The identifier beside it names the job.
        body.job = None;
        body
    }

    fn document(self, code: ErrorCode, request: RequestId) -> ErrorBody {
        let mut body = ErrorBody::new(code, self.message(), request);
        if status(code) == StatusCode::UNPROCESSABLE_ENTITY {
            body.details = Some(Details::Code { code: code.as_str().to_owned() });
        }
        match self {
            Self::Fields(details) => body.details = Some(Details::Fields(details)),
            Self::Scope(scope) => body.required = Some(scope.as_str().to_owned()),
            Self::IdempotencyConflict(job) | Self::AlreadySubmitted(job) => body.job_id = Some(job),
            Self::JobDead(job) => {
                body.job_id = Some(job.job_id);
                body.job = Some(job);
            }
            Self::AuthorityFailed { job, qr_info } | Self::AuthoritySilent { job, qr_info } => {
                body.job_id = Some(job);
                body.qr_info = Some(qr_info);
            }
            Self::QuotaReached { limit, used, resets_at } => {
                body.resets_at = resets_at.map(Into::into);
                body.limit = limit;
                body.used = Some(used);
            }
            Self::Full { most, .. } => body.limit = Some(most.into()),
            Self::Chain(refusal) => chain_members(*refusal, &mut body),
            Self::NotReady(ready) => body.dependencies = Some(ready.dependencies),
            _ => {}
        }
        body
    }

    /// The sentence for it. Nothing of the inside of the service, and nothing secret.
    fn message(&self) -> String {
        let fixed = match self {
            Self::Fields(details) => match details.as_slice() {
                [only] if only.field.is_empty() => return only.message.clone(),
                [only] => return format!("{}: {}", only.field, only.message),
                several => return format!("{} fields are wrong; details names each", several.len()),
            },
            Self::Json(error) => return error.to_string(),
            Self::NotHttp => "not a valid HTTP request",
            Self::IdempotencyKeyMissing => "the header x-idempotency-key is required",
            Self::IdempotencyKeyInvalid => {
                "x-idempotency-key takes one value of 1 to 128 visible ASCII characters"
            }
            Self::AuthAmbiguous => "two different keys were sent; send one",
            Self::KeyMissing(header) => return format!("a key is required in the header {header}"),
            Self::KeyInvalid => "the key is not valid",
            Self::KeyRevoked => "the key has been revoked",
            Self::KeyExpired => "the key has expired",
            Self::RateLimited(_) => "too many requests; Retry-After says how many seconds to wait",
            Self::Scope(scope) => return format!("the key lacks the scope {}", scope.as_str()),
            Self::Suspended => "the account is suspended; it can only read",
            Self::NotFound(what) => return format!("there is no such {what}"),
            Self::Method(_) => "the route does not take this method; Allow names those it takes",
            Self::BodyTooLarge(limit) => return format!("the body is larger than {limit} bytes"),
            Self::BodyTooSlow => "the body did not arrive in time",
            Self::MediaType(wanted) => return format!("the body must be {wanted}"),
            Self::HeadersTooLarge(limit) => {
                return format!("request line and headers are larger than {limit} bytes");
            }
            Self::Chain(refusal) => return chain_message(refusal),
            Self::IdempotencyConflict(_) => "the idempotency key was used with another body",
            Self::JobDead(_) => "the job of this idempotency key is dead; issue a rectifying invoice",
            Self::AlreadySubmitted(_) => {
                "the account submitted this invoice before; send a correction with subsanacion, or a rectifying invoice"
            }
            Self::QuotaReached { .. } => "the plan's limit is reached",
            Self::Full { what, most } => return format!("an account may have {most} {what}, and has them"),
            Self::TenantExists => "an account with this identifier exists",
            Self::NotRetryable(status) => {
                return format!("only a FAILED job can be retried; it is {status:?}");
            }
            Self::IssuerHeld(why) => return format!("the chain is held: {why}"),
            Self::CertificateRequired => "the account has no certificate; upload one first",
            Self::CertificateExpired => "the account's certificate has expired; upload another one",
            Self::AllowedNifMismatch => "the account may not act for this nif",
            Self::CertificateNifMismatch => "the certificate does not belong to the account's holder",
            Self::Certificate(error) => return error.to_string(),
            Self::AuthorityFailed { .. } => {
                "the authority failed or was out of reach; the record is kept and sent again by itself"
            }
            Self::AuthoritySilent { .. } => {
                "the authority did not answer in time; what it holds is found out by itself"
            }
            Self::Unanswered(outcome) => return format!("the authority gave no answer: {outcome}"),
            Self::Store(_) => "the store does not answer; the same request may succeed later",
            Self::Overloaded => "the service is busy; try again later",
            Self::ShuttingDown => "the service is stopping; try again later",
            Self::NotReady(_) => "the service is not ready; dependencies says why",
            Self::Internal(_) => "the service failed; support can find the request by its requestId",
        };
        fixed.to_owned()
    }
}

/// Cuts what is too long to be told of a request that is one of many.
fn clip(text: &mut String) {
    if text.len() > ITEM_TEXT {
        let end = (0..=ITEM_TEXT).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        text.push('…');
    }
}

/// What a refusal adds to its document.
fn chain_members(refusal: Refusal, body: &mut ErrorBody) {
    match refusal {
        Refusal::Discontinuous { expected, received } => {
            body.expected_huella = expected;
            body.received_huella = Some(received);
        }
        Refusal::HuellaMismatch { canonical, computed } => {
            body.canonical = Some(canonical);
            body.expected_huella = Some(computed);
        }
        Refusal::CorrectionConflict { expected } => body.expected = Some(expected.code().to_owned()),
        Refusal::TimeOutOfBounds { .. } => {
            let field = rest_name(Field::GeneratedAt).to_owned();
            let detail = Detail { field, code: None, message: body.message.clone() };
            body.details = Some(Details::Fields(vec![detail]));
        }
        _ => {}
    }
}

fn chain_message(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Discontinuous { expected: Some(_), .. } => {
            "the huella given is not that of the chain's last record; use expectedHuella or omit encadenamiento"
                .to_owned()
        }
        Refusal::Discontinuous { expected: None, .. } => {
            "the chain has no records yet; omit encadenamiento".to_owned()
        }
        Refusal::NotFirst => "the chain has records already; omit primerRegistro".to_owned(),
        Refusal::ClockSkew { head } => {
            format!("the chain's last record, of {head}, lies in the future; check the clocks")
        }
        Refusal::TimeOutOfBounds { earliest: Some(earliest), latest } => {
            format!("must lie between {earliest} and {latest}")
        }
        Refusal::TimeOutOfBounds { earliest: None, latest } => format!("must not be later than {latest}"),
        Refusal::HuellaMismatch { .. } => {
            "the huella is not the one that the canonical string gives".to_owned()
        }
        Refusal::CorrectionConflict { expected } => {
            format!("the flags contradict what is known of the invoice; expected {}", expected.code())
        }
        _ => "the record cannot stand at the end of its chain".to_owned(),
    }
}

/// The status of each word.
pub(crate) const fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::ValidationFailed
        | ErrorCode::InvalidJson
        | ErrorCode::IdempotencyKeyMissing
        | ErrorCode::IdempotencyKeyInvalid
        | ErrorCode::HuellaMismatch
        | ErrorCode::AuthAmbiguous => StatusCode::BAD_REQUEST,
        ErrorCode::ApiKeyMissing
        | ErrorCode::ApiKeyInvalid
        | ErrorCode::ApiKeyRevoked
        | ErrorCode::ApiKeyExpired => StatusCode::UNAUTHORIZED,
        ErrorCode::PlanLimitReached => StatusCode::PAYMENT_REQUIRED,
        ErrorCode::InsufficientScope | ErrorCode::AccountSuspended => StatusCode::FORBIDDEN,
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        ErrorCode::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
        ErrorCode::ChainContinuity
        | ErrorCode::ChainState
        | ErrorCode::CorrectionConflict
        | ErrorCode::IdempotencyConflict
        | ErrorCode::IdempotencyJobDead
        | ErrorCode::InvoiceAlreadySubmitted
        | ErrorCode::IssuerHeld
        | ErrorCode::JobNotRetryable
        | ErrorCode::TenantExists => StatusCode::CONFLICT,
        ErrorCode::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ErrorCode::TenantCertificateRequired
        | ErrorCode::AllowedNifMismatch
        | ErrorCode::CertNifMismatch
        | ErrorCode::WrongPassphrase
        | ErrorCode::Malformed
        | ErrorCode::LegacyRc2
        | ErrorCode::Expired => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorCode::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::HeadersTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        ErrorCode::AuthorityError => StatusCode::BAD_GATEWAY,
        ErrorCode::AuthorityTimeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorCode::Overloaded
        | ErrorCode::StoreUnavailable
        | ErrorCode::ClockSkew
        | ErrorCode::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn wants_problem(headers: &HeaderMap) -> bool {
    headers
        .get_all(http::header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains("application/problem+json"))
}

impl From<LedgerError> for Fault {
    fn from(error: LedgerError) -> Self {
        Self::Store(error)
    }
}

impl From<EngineError> for Fault {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Ledger(error) => Self::Store(error),
            other => Self::Internal(other.into()),
        }
    }
}
