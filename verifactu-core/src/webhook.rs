//! Webhooks: the event that tells a tenant that a job is final, and the signatures that prove it.
//!
//! Every delivery is signed twice: `X-Service-Signature` over the raw body (specification, Events), and
//! the three headers of Standard Webhooks, which also cover identifier and time, so that a receiver
//! can refuse a delivery it has seen before. A receiver checks either.

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::{
    api::{JobType, Timestamp},
    types::{Huella, InvoiceNumber, JobId, Secret, TenantId},
};

/// Name of the header of the specification's own signature.
pub const SERVICE_SIGNATURE: &str = "x-service-signature";
/// Name of the header that identifies a delivery.
pub const WEBHOOK_ID: &str = "webhook-id";
/// Name of the header that says when it was sent, in seconds since 1970.
pub const WEBHOOK_TIMESTAMP: &str = "webhook-timestamp";
/// Name of the header with the signature over identifier, time and body.
pub const WEBHOOK_SIGNATURE: &str = "webhook-signature";

/// How far a delivery's time may be from the receiver's clock, in seconds, by default.
pub const TOLERANCE_SECONDS: i64 = 300;

/// Marks a Standard Webhooks secret that is the base64 of its key.
const SECRET_PREFIX: &str = "whsec_";

/// What a tenant is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// What happened.
    pub event: EventKind,
    /// The tenant.
    pub tenant_id: TenantId,
    /// When it happened.
    pub timestamp: Timestamp,
    /// The job.
    pub job_id: JobId,
    /// What the job does.
    #[serde(rename = "type")]
    pub kind: JobType,
    /// Series and number of the invoice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_serie: Option<InvoiceNumber>,
    /// The authority's verification code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csv: Option<String>,
    /// The record's huella.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huella: Option<Huella>,
    /// The text of the QR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qr_text: Option<String>,
    /// Why the job is dead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EventKind {
    /// The authority accepted the record.
    #[serde(rename = "invoice.succeeded")]
    Succeeded,
    /// The job is dead.
    #[serde(rename = "invoice.failed")]
    Failed,
    /// An operator tries the address.
    #[serde(rename = "webhook.ping")]
    Ping,
}

/// Why a delivery is not to be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// The header is not of the form that signatures have.
    #[error("the signature header is malformed")]
    Malformed,
    /// No signature of the header belongs to the body.
    #[error("the signature does not belong to the body")]
    Mismatch,
    /// The time is not a number, or too far from the receiver's clock.
    #[error("the delivery's time is unreadable or too far away")]
    Time,
}

/// The value of [`SERVICE_SIGNATURE`]: `sha256=` and the HMAC-SHA256 of the raw body in lower-case
/// hexadecimal digits.
#[must_use]
pub fn sign(secret: &Secret, body: &[u8]) -> String {
    use std::fmt::Write;
    let digest = mac(secret.expose().as_bytes(), &[body]).finalize().into_bytes();
    digest.iter().fold(String::from("sha256="), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Checks the value of [`SERVICE_SIGNATURE`], in constant time.
///
/// ```
/// use verifactu_core::{types::Secret, webhook};
/// let secret = Secret::new("s3cret".into());
/// let header = webhook::sign(&secret, b"{}");
/// assert!(webhook::verify(&secret, b"{}", &header).is_ok());
/// assert!(webhook::verify(&secret, b"{ }", &header).is_err());
/// ```
///
/// # Errors
/// [`SignatureError`].
pub fn verify(secret: &Secret, body: &[u8], header: &str) -> Result<(), SignatureError> {
    let digits = header.trim().strip_prefix("sha256=").ok_or(SignatureError::Malformed)?;
    let digest = unhex(digits).ok_or(SignatureError::Malformed)?;
    mac(secret.expose().as_bytes(), &[body]).verify_slice(&digest).map_err(|_| SignatureError::Mismatch)
}

/// The identifier and time of a delivery, as its headers carry them.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// Value of [`WEBHOOK_ID`].
    pub id: &'a str,
    /// Value of [`WEBHOOK_TIMESTAMP`].
    pub timestamp: &'a str,
}

impl Delivery<'_> {
    /// The value of [`WEBHOOK_SIGNATURE`]: `v1,` and the HMAC-SHA256 of identifier, time and body in
    /// base64 (Standard Webhooks). The key is the secret's own bytes, or what a secret that begins with
    /// `whsec_` decodes to.
    #[must_use]
    pub fn sign(&self, secret: &Secret, body: &[u8]) -> String {
        format!("v1,{}", BASE64.encode(self.mac(secret, body).finalize().into_bytes()))
    }

    /// Checks the value of [`WEBHOOK_SIGNATURE`], which may hold several signatures, in constant time,
    /// and that the delivery was sent about now.
    ///
    /// # Errors
    /// [`SignatureError`].
    pub fn verify(
        &self,
        secret: &Secret,
        body: &[u8],
        header: &str,
        now: jiff::Timestamp,
        tolerance_seconds: i64,
    ) -> Result<(), SignatureError> {
        let sent: i64 = self.timestamp.parse().map_err(|_| SignatureError::Time)?;
        if now.as_second().abs_diff(sent) > tolerance_seconds.unsigned_abs() {
            return Err(SignatureError::Time);
        }
        let mut error = SignatureError::Malformed;
        for signature in header.split(' ').filter_map(|part| part.strip_prefix("v1,")) {
            let Ok(digest) = BASE64.decode(signature) else { continue };
            if self.mac(secret, body).verify_slice(&digest).is_ok() {
                return Ok(());
            }
            error = SignatureError::Mismatch;
        }
        Err(error)
    }

    fn mac(&self, secret: &Secret, body: &[u8]) -> Hmac<Sha256> {
        let decoded = secret.expose().strip_prefix(SECRET_PREFIX).and_then(|text| BASE64.decode(text).ok());
        let key = Zeroizing::new(decoded.unwrap_or_else(|| secret.expose().as_bytes().to_vec()));
        mac(&key, &[self.id.as_bytes(), b".", self.timestamp.as_bytes(), b".", body])
    }
}

/// The key is padded to a block, or hashed first when it is longer (RFC 2104), so that no length fails.
fn mac(key: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut block = Zeroizing::new([0_u8; 64]);
    match block.get_mut(..key.len()) {
        Some(start) => start.copy_from_slice(key),
        None => block[..32].copy_from_slice(&Sha256::digest(key)),
    }
    let mut mac = <Hmac<Sha256> as KeyInit>::new(&(*block).into());
    parts.iter().for_each(|part| mac.update(part));
    mac
}

fn unhex(digits: &str) -> Option<[u8; 32]> {
    let digits: &[u8; 64] = digits.as_bytes().try_into().ok()?;
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let value = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(bytes)
}
