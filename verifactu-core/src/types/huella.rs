//! The fingerprint of a record.

/// A SHA-256 digest as 64 upper-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Huella([u8; 64]);

/// The text is not 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a huella has 64 upper-case hexadecimal digits")]
pub struct HuellaError;

impl Huella {
    /// Spells a digest.
    #[must_use]
    pub fn from_digest(digest: [u8; 32]) -> Self {
        // Arithmetic and no table, which the compiler turns into vector instructions.
        let digit = |half: u8| half + if half > 9 { b'A' - 10 } else { b'0' };
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(digest) {
            pair[0] = digit(byte >> 4);
            pair[1] = digit(byte & 15);
        }
        Self(text)
    }

    /// Reads 64 upper-case hexadecimal digits.
    ///
    /// # Errors
    /// [`HuellaError`].
    pub fn parse(text: &str) -> Result<Self, HuellaError> {
        let digits: [u8; 64] = text.as_bytes().try_into().map_err(|_| HuellaError)?;
        if digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'A'..=b'F')) {
            Ok(Self(digits))
        } else {
            Err(HuellaError)
        }
    }

    /// The 64 digits, in ASCII.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }

    /// The 64 digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

super::text_forms!(Huella, HuellaError);
