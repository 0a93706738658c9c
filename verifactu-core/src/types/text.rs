//! Bounded texts: trimmed as the authority trims, and free of what XML cannot carry.

use std::fmt;

/// A text of 1 to `MAX` characters, without blanks around it and without control characters.
///
/// The authority trims every value before it stores, hashes and echoes it (SWeb 6.7); a text is
/// therefore trimmed when it is made, so that what we hash is what it hashes.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Text<const MAX: usize>(Box<str>);

/// Why a text does not fit its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// Nothing but blanks.
    #[error("must not be empty")]
    Empty,
    /// Longer than the field.
    #[error("at most {max} characters")]
    TooLong {
        /// The most characters the field takes.
        max: usize,
    },
    /// A control character, which XML cannot carry or the authority would alter.
    #[error("control characters are not allowed")]
    Control,
    /// A character that the authority refuses in an invoice number (code 1130).
    #[error("only printable ASCII characters (32 to 126) are allowed")]
    NotAscii,
    /// One of the five characters the authority refuses in an invoice number (code 1287).
    #[error("the characters \" ' < > = are not allowed")]
    Forbidden,
}

impl<const MAX: usize> Text<MAX> {
    /// Trims and checks.
    ///
    /// # Errors
    /// [`TextError`].
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let trimmed = text.trim_matches([' ', '\t', '\n', '\r']);
        if trimmed.is_empty() {
            return Err(TextError::Empty);
        }
        if trimmed.chars().nth(MAX).is_some() {
            return Err(TextError::TooLong { max: MAX });
        }
        // U+FFFE and U+FFFF are the only other scalar values outside XML 1.0's Char production.
        if trimmed.chars().any(|c| c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}')) {
            return Err(TextError::Control);
        }
        Ok(Self(trimmed.into()))
    }

    /// The characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> fmt::Display for Text<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<const MAX: usize> fmt::Debug for Text<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<const MAX: usize> std::str::FromStr for Text<MAX> {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        Self::parse(text)
    }
}

/// Series and number of an invoice: 1 to 60 printable ASCII characters without `" ' < > =`
/// (Val 3.1.3.1, codes 1130 and 1287).
#[doc(alias = "NumSerieFactura")]
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InvoiceNumber(Text<60>);

impl InvoiceNumber {
    /// Trims and checks.
    ///
    /// # Errors
    /// [`TextError`].
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let text = Text::parse(text)?;
        if !text.as_str().bytes().all(|b| (32..=126).contains(&b)) {
            return Err(TextError::NotAscii);
        }
        if text.as_str().contains(['"', '\'', '<', '>', '=']) {
            return Err(TextError::Forbidden);
        }
        Ok(Self(text))
    }

    /// The characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

super::text_forms!(InvoiceNumber, TextError);
