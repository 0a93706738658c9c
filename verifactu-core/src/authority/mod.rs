//! The tax authority, as one exchange: a message goes out, and something comes back or does not.
//!
//! What matters most is what is known afterwards. An [`Exchange`] that was never reached is certainly
//! not processed; one without an answer may have been, and is *in doubt*; an answer is turned into
//! an [`Outcome`] by [`outcome`], which never touches the network.

mod circuit;
pub mod codes;
#[cfg(feature = "https")]
pub mod https;
mod nif_check;
pub mod outcome;
mod query;

pub use circuit::CircuitAuthority;
pub use nif_check::{NifCheckError, NifChecked, nif_check, nif_checks};
pub use outcome::{Outcome, Unprocessed};
pub use query::{QueryError, query, query_pages};

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use crate::certificate::Identity;

/// The other end of the wire: the authority, the sandbox, or a scripted one in tests.
#[async_trait::async_trait]
pub trait Authority: Send + Sync {
    /// Sends one message and waits for what becomes of it. Every failure is a value: see
    /// [`Exchange`]. An implementation never sends a message twice, and classifies in doubt: what
    /// may have left is [`Exchange::NoAnswer`].
    async fn exchange(&self, request: Request) -> Exchange;

    /// Names the host that a request would go to, so that what is learnt of a host is kept per host.
    /// An authority that has but one need not say.
    fn host(&self, _request: &Request) -> String {
        String::new()
    }
}

/// A message to the authority.
#[derive(Clone, Debug)]
pub struct Request {
    /// What is asked of it.
    pub service: Service,
    /// Who presents it.
    pub identity: Arc<Identity>,
    /// The SOAP envelope, in UTF-8.
    pub body: Bytes,
}

/// A service of the authority. Registration and query share one address, where the first element of
/// the body decides; the check of NIFs has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// Voluntary remission of records.
    #[doc(alias = "RegFactuSistemaFacturacion")]
    Registration,
    /// Query of records that were remitted.
    #[doc(alias = "ConsultaFactuSistemaFacturacion")]
    Query,
    /// Check of NIFs against the census.
    #[doc(alias = "VNifV2")]
    NifCheck,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// A whole HTTP answer came, whatever is in it.
    Answered(Answered),
    /// Bytes may have been sent, and no whole answer came: whether it was processed is unknown.
    NoAnswer {
        /// Why there is no answer.
        reason: NoAnswer,
        /// Time from the start to the failure.
        elapsed: Duration,
    },
    /// Certainly not processed.
    NotReached {
        /// What stood in the way.
        reason: NotReached,
        /// Time from the start to the failure.
        elapsed: Duration,
    },
}

/// A whole HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type`, if there was one.
    pub content_type: Option<String>,
    /// The `Location` of a redirect. Redirects are never followed.
    pub location: Option<String>,
    /// The body, whole.
    pub body: Bytes,
    /// Time from the start to the last byte.
    pub elapsed: Duration,
}

impl Answered {
    /// An answer with a status and a body of XML.
    #[must_use]
    pub fn xml(status: u16, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            content_type: Some("text/xml;charset=UTF-8".to_owned()),
            location: None,
            body: body.into(),
            elapsed: Duration::ZERO,
        }
    }
}

/// Why no answer came to bytes that may have been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NoAnswer {
    /// The whole exchange took too long.
    #[error("no whole answer in time")]
    TimedOut,
    /// The connection was closed or reset before an answer began.
    #[error("the connection broke before an answer")]
    Broken,
    /// The answer began and was cut off.
    #[error("the answer was cut off")]
    Cut,
    /// The answer is larger than is read.
    #[error("the answer is too large")]
    TooLarge,
}

/// Why a message was certainly not processed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NotReached {
    /// The name of the host was not found.
    #[error("the host's name was not found")]
    Dns,
    /// No connection: refused, unreachable, or not in time.
    #[error("no connection to the host")]
    Connect,
    /// The host refused the connection in the TLS handshake.
    #[error("refused in the TLS handshake: {alert}")]
    TlsAlert {
        /// The alert's name, such as `CertificateRequired`.
        alert: String,
    },
    /// The handshake failed on our side: the host's certificate, or the protocol.
    #[error("the TLS handshake failed: {detail}")]
    Tls {
        /// What rustls says about it.
        detail: String,
    },
    /// Not tried, because the last connections to the host failed.
    #[error("the host was out of reach for the last messages, and is not tried for a while")]
    CircuitOpen,
    /// The certificate and key cannot be used for TLS.
    #[error("the certificate cannot be used: {detail}")]
    Identity {
        /// What rustls says about it.
        detail: String,
    },
}
