//! Idempotency keys, and the only place that makes random values.

use std::{fmt, str::FromStr, time::Duration};

use uuid::Uuid;

/// Longest key (specification, Limits).
const MAX: usize = 128;

/// What makes a repeated request the same request: 1 to 128 visible ASCII characters, chosen by the
/// caller and kept with the invoice.
///
/// ```
/// use verifactu_client::IdempotencyKey;
/// let key = IdempotencyKey::parse("erp-7/invoice-2026-001")?;
/// assert_eq!(key.as_str(), "erp-7/invoice-2026-001");
/// assert!(IdempotencyKey::parse("with blank").is_err());
/// # Ok::<(), verifactu_client::IdempotencyKeyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(Box<str>);

/// The text is not an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an idempotency key has 1 to 128 visible ASCII characters")]
pub struct IdempotencyKeyError;

impl IdempotencyKey {
    /// A key that was never used: a UUID that increases with time. Store it before the first sending.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "a key is random by nature; a caller may parse its own")]
    pub fn random() -> Self {
        Self(Uuid::now_v7().to_string().into())
    }

    /// Checks the characters.
    ///
    /// # Errors
    /// [`IdempotencyKeyError`].
    pub fn parse(text: &str) -> Result<Self, IdempotencyKeyError> {
        let fits = (1..=MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Self(text.into())) } else { Err(IdempotencyKeyError) }
    }

    /// The characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for IdempotencyKey {
    type Err = IdempotencyKeyError;
    fn from_str(text: &str) -> Result<Self, IdempotencyKeyError> {
        Self::parse(text)
    }
}

/// A wait that is up to a quarter longer, so that clients that failed together do not return together.
#[expect(clippy::disallowed_methods, reason = "nothing but the spread of waits depends on it")]
pub(crate) fn spread(wait: Duration) -> Duration {
    let part = u32::from(Uuid::new_v4().as_bytes()[0]);
    wait.saturating_add((wait / 1024).saturating_mul(part))
}
