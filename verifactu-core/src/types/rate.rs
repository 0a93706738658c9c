//! Tax rates and surcharge rates, in exact hundredths of a percent point.

use std::fmt;

use super::amount::{DecimalError, parse_hundredths, write_hundredths};

/// A percentage from 0 to 999.99 (XSD, `Tipo2.2Type`): unsigned, at most two decimals. Its text
/// follows the same rule as an [`Amount`](super::Amount): `21.0`, `7.5`, `0.62`.
#[doc(alias = "TipoImpositivo")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rate(u32);

impl Rate {
    /// Zero percent.
    pub const ZERO: Self = Self(0);

    /// Reads a decimal text.
    ///
    /// # Errors
    /// [`DecimalError`]; a negative rate is [`DecimalError::Negative`].
    pub fn parse(text: &str) -> Result<Self, DecimalError> {
        let hundredths = parse_hundredths(text, 3)?;
        u32::try_from(hundredths).map(Self).map_err(|_| DecimalError::Negative)
    }

    /// The rate in hundredths of a percent point: 2100 for 21 %.
    #[must_use]
    pub const fn hundredths(self) -> u32 {
        self.0
    }

    /// Writes the canonical text at the end of a buffer.
    pub fn write_to(self, out: &mut Vec<u8>) {
        write_hundredths(false, u64::from(self.0), out);
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(6);
        self.write_to(&mut text);
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl std::str::FromStr for Rate {
    type Err = DecimalError;
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        Self::parse(text)
    }
}
