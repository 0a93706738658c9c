//! Receiving webhooks: what arrives at your address, proved to come from the service.
//!
//! ```
//! use std::time::{Duration, SystemTime};
//! use verifactu_client::{types::Secret, webhook::{self, Delivery, Received, Webhook}};
//!
//! let receiver = Webhook::new(Secret::new("the secret that the operator gave you".into()));
//! # let secret = Secret::new("the secret that the operator gave you".into());
//! # let body = br#"{"event":"invoice.succeeded","tenantId":"acme","timestamp":"2026-01-15T09:00:00Z","jobId":"6f1f7a0e-8f0b-4b5c-9d5e-0a1b2c3d4e5f","type":"SEND_INVOICE","numSerie":"F-1"}"#;
//! # let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_768_467_600);
//! # let signed = Delivery { id: "1", timestamp: "1768467600" };
//! # let headers = std::collections::BTreeMap::from([
//! #     ("webhook-id", "1".to_owned()), ("webhook-timestamp", "1768467600".to_owned()),
//! #     ("webhook-signature", signed.sign(&secret, body)), ("x-service-signature", webhook::sign(&secret, body)),
//! # ]);
//! // `headers` and `body` are those of the request, the body as its bytes came.
//! let header = |name: &str| headers.get(name).map(String::as_str);
//! match receiver.verify(header, body, now)? {
//!     Received::Event(event) => println!("{:?} of {:?}", event.event, event.num_serie),
//!     Received::Unknown(value) => println!("something newer: {value}"),
//! }
//! # Ok::<(), webhook::WebhookError>(())
//! ```
//!
//! Answer with a 2xx at once and do the work afterwards: a delivery is attempted once. What was missed is
//! found by [`Client::jobs`](crate::Client::jobs). An event can be told from one that was seen before by its
//! `webhook-id`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use verifactu_core::types::Secret;
pub use verifactu_core::webhook::*;

/// Checks deliveries with the secret that they are signed with.
#[derive(Clone, Debug)]
#[must_use]
pub struct Webhook {
    secret: Secret,
    tolerance: Duration,
}

/// A delivery that came from the service.
#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    /// An event.
    Event(Box<Event>),
    /// One that this version does not know.
    Unknown(serde_json::Value),
}

/// Why a delivery is not to be trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebhookError {
    /// A header that every delivery has is missing.
    #[error("the delivery has no header {0}")]
    Missing(&'static str),
    /// A signature, or the time, is wrong.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// It is signed, and is not JSON.
    #[error("the delivery is not JSON")]
    Body(#[source] serde_json::Error),
}

impl Webhook {
    /// Checks with this secret; a delivery may have been sent five minutes ago.
    pub fn new(secret: Secret) -> Self {
        Self { secret, tolerance: Duration::from_secs(TOLERANCE_SECONDS.unsigned_abs()) }
    }

    /// How far a delivery's time may be from `now`.
    pub fn tolerance(self, tolerance: Duration) -> Self {
        Self { tolerance, ..self }
    }

    /// Checks both signatures of a delivery, in constant time, and that it was sent about now, so that it
    /// cannot be played again later. `header` gives the value of a header, by its name in lower case.
    ///
    /// # Errors
    /// [`WebhookError`]. Answer with a 4xx.
    pub fn verify<'a>(
        &self,
        header: impl Fn(&str) -> Option<&'a str>,
        body: &[u8],
        now: SystemTime,
    ) -> Result<Received, WebhookError> {
        let present = |name: &'static str| header(name).ok_or(WebhookError::Missing(name));
        verify(&self.secret, body, present(SERVICE_SIGNATURE)?)?;
        let delivery = Delivery { id: present(WEBHOOK_ID)?, timestamp: present(WEBHOOK_TIMESTAMP)? };
        let since = now.duration_since(UNIX_EPOCH).map_err(|_| SignatureError::Time)?;
        let now = jiff::Timestamp::UNIX_EPOCH.checked_add(since).map_err(|_| SignatureError::Time)?;
        let tolerance = i64::try_from(self.tolerance.as_secs()).unwrap_or(i64::MAX);
        delivery.verify(&self.secret, body, present(WEBHOOK_SIGNATURE)?, now, tolerance)?;
        let value: serde_json::Value = serde_json::from_slice(body).map_err(WebhookError::Body)?;
        Ok(match serde_json::from_value(value.clone()) {
            Ok(event) => Received::Event(Box::new(event)),
            Err(_) => Received::Unknown(value),
        })
    }
}
