//! What can go wrong, told apart by what a caller can do about it.

use std::{error::Error as StdError, fmt, time::Duration};

use verifactu_core::{
    api::{ErrorBody, ErrorCode},
    types::RequestId,
};

/// Why there is no answer to a request, or not the one that was wished for.
///
/// ```no_run
/// # use verifactu_client::{Client, Error, IdempotencyKey, api::SendInvoice};
/// # async fn run(client: Client, key: IdempotencyKey, invoice: SendInvoice) {
/// match client.send_invoice(&key, &invoice).await {
///     Ok(submitted) => println!("job {}", submitted.job_id()),
///     Err(Error::Service(error)) if error.is_validation() => println!("{:?}", error.document.details),
///     Err(Error::Service(error)) if error.is_already_submitted() => println!("{:?}", error.document.job_id),
///     // The invoice may have arrived. Keep the key, and send the same again.
///     Err(error) if error.is_retryable() => println!("later, at least in {:?}", error.retry_after()),
///     Err(error) => println!("{error}, request {:?}", error.request_id()),
/// }
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The service said no, and why.
    #[error(transparent)]
    Service(Box<ServiceError>),
    /// Something answered, but not as the service does: a proxy's page, a body that was cut off, or a
    /// version that this client does not know. Whether the request was acted upon is not known.
    #[error("unexpected answer with status {status}: {}", shown(.excerpt))]
    Unexpected {
        /// HTTP status.
        status: u16,
        /// Identifies the request, if the service itself answered.
        request_id: Option<RequestId>,
        /// How long the answer asks to wait.
        retry_after: Option<Duration>,
        /// How the body begins, at most 200 characters; empty for what may hold a secret.
        excerpt: String,
        /// What is wrong with the body.
        source: Option<Box<dyn StdError + Send + Sync>>,
    },
    /// There was no connection, or it broke. Unless [`Error::is_unsent`], the request may have arrived.
    #[error("the service was not reached, or the connection broke")]
    Transport(#[source] Box<dyn StdError + Send + Sync>),
    /// No answer in time. The request may have arrived.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The client cannot make this request as it is set up. Nothing was sent.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
}

impl Error {
    /// Whether the same request, with the same idempotency key and body, may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Service(error) => error.is_retryable(),
            // A success that was cut off is repeated by the service.
            Self::Unexpected { status, .. } => is_passing(*status) || (200..300).contains(status),
            Self::Transport(_) | Self::Timeout(_) => true,
            Self::Configuration(_) => false,
        }
    }

    /// Whether the request certainly did not arrive.
    #[must_use]
    pub fn is_unsent(&self) -> bool {
        match self {
            Self::Transport(source) => {
                source.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect)
            }
            Self::Configuration(_) => true,
            Self::Service(_) | Self::Unexpected { .. } | Self::Timeout(_) => false,
        }
    }

    /// HTTP status of the answer, if there was one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Service(error) => Some(error.status),
            Self::Unexpected { status, .. } => Some(*status),
            Self::Transport(_) | Self::Timeout(_) | Self::Configuration(_) => None,
        }
    }

    /// Identifies the request, for support.
    #[must_use]
    pub fn request_id(&self) -> Option<RequestId> {
        match self {
            Self::Service(error) => Some(error.document.request_id),
            Self::Unexpected { request_id, .. } => *request_id,
            Self::Transport(_) | Self::Timeout(_) | Self::Configuration(_) => None,
        }
    }

    /// How long the answer asks to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Service(error) => error.retry_after,
            Self::Unexpected { retry_after, .. } => *retry_after,
            Self::Transport(_) | Self::Timeout(_) | Self::Configuration(_) => None,
        }
    }

    /// The service's own error, if it is one.
    #[must_use]
    pub fn service(&self) -> Option<&ServiceError> {
        match self {
            Self::Service(error) => Some(error),
            _ => None,
        }
    }
}

/// The states that pass by themselves.
const fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 429 | 502 | 503 | 504)
}

fn shown(excerpt: &str) -> &str {
    if excerpt.is_empty() { "(body not shown)" } else { excerpt }
}

/// An error of the service: its document, with what the answer's headers say.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServiceError {
    /// HTTP status.
    pub status: u16,
    /// How long to wait before the request is repeated.
    pub retry_after: Option<Duration>,
    /// The document: code, message, details, request id, and what the code brings along, such as the
    /// huella that was expected.
    pub document: ErrorBody,
}

impl ServiceError {
    /// The error in one word, unless a newer service uses a word unknown here; the text itself is in
    /// `document.code`.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        self.document.code.parse().ok()
    }

    /// Fields are missing or wrong; `document.details` says which.
    #[must_use]
    pub fn is_validation(&self) -> bool {
        self.code() == Some(ErrorCode::ValidationFailed)
    }

    /// The place in the chain that the caller gave is not the chain's end.
    /// `document.expected_huella` is the huella to follow; leaving the place out is simpler.
    #[must_use]
    pub fn is_chain_conflict(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::ChainContinuity | ErrorCode::ChainState))
    }

    /// The idempotency key was used with another body.
    #[must_use]
    pub fn is_idempotency_conflict(&self) -> bool {
        self.code() == Some(ErrorCode::IdempotencyConflict)
    }

    /// The invoice was submitted before, under the key of the job in `document.job_id`.
    #[must_use]
    pub fn is_already_submitted(&self) -> bool {
        self.code() == Some(ErrorCode::InvoiceAlreadySubmitted)
    }

    /// There is no such thing, or none of this account.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(ErrorCode::NotFound)
    }

    /// The key is missing, wrong, revoked or expired, or lacks a scope.
    #[must_use]
    pub const fn is_access_denied(&self) -> bool {
        matches!(self.status, 401 | 403)
    }

    /// Whether the same request, with the same idempotency key and body, may succeed later.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        is_passing(self.status)
    }

    /// Too many requests.
    #[must_use]
    pub fn is_rate_limited(&self) -> bool {
        self.code() == Some(ErrorCode::RateLimited)
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ErrorBody { code, message, request_id, .. } = &self.document;
        write!(f, "{message} ({code}, status {}, request {request_id})", self.status)
    }
}

impl StdError for ServiceError {}

/// Why a client cannot be set up, or cannot make a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigurationError {
    /// Not an address of the service.
    #[error("give the address as https://host/v1, without user, query or fragment")]
    Address,
    /// Keys and invoices do not travel in the clear.
    #[error("plain http is for loopback addresses only")]
    PlainHttp,
    /// A key is empty, or holds characters that no key has.
    #[error("a key has visible ASCII characters, and at least one")]
    Key,
    /// The request needs an API key.
    #[error("the client has no API key")]
    NoApiKey,
    /// The request needs the operator's key.
    #[error("the client has no admin key")]
    NoAdminKey,
    /// No root certificate was found, or the text given holds none.
    #[error("no root certificates")]
    NoRoots,
    /// The root certificates given are not PEM.
    #[error("the root certificates are not PEM")]
    Pem(#[source] rustls::pki_types::pem::Error),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
    /// The HTTP client cannot be set up.
    #[error("the HTTP client cannot be set up")]
    Http(#[source] Box<dyn StdError + Send + Sync>),
    /// The body cannot be written as JSON.
    #[error("the body cannot be written as JSON")]
    Body(#[source] serde_json::Error),
}
