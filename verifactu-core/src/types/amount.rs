//! Money in exact cents, and the one spelling that hash, XML and QR share.
//!
//! The specification fixes the canonical text: one decimal when the second is zero (`21.0`), else
//! two (`21.15`). The wire allows an optional sign, up to twelve integer digits and up to two
//! decimals (XSD, `ImporteSgn12.2Type`).

use std::{
    fmt,
    iter::Sum,
    ops::{Add, Neg, Sub},
};

/// The largest number of cents that fits twelve integer digits.
const LIMIT: i64 = 99_999_999_999_999;

/// An amount in euros, exact to the cent, of at most twelve integer digits.
#[doc(alias = "ImporteSgn12.2Type")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Amount(i64);

/// Why a text is not an [`Amount`] or a [`Rate`](super::Rate).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecimalError {
    /// Not a decimal number.
    #[error("not a decimal number: write digits with a dot, such as 126.2")]
    Syntax,
    /// More decimals than can be kept exactly.
    #[error("at most two decimals")]
    Scale,
    /// Too many integer digits.
    #[error("at most {0} integer digits")]
    Magnitude(u8),
    /// A minus sign where none is allowed.
    #[error("must not be negative")]
    Negative,
}

impl Amount {
    /// Zero euros.
    pub const ZERO: Self = Self(0);

    /// An amount from its cents; `None` beyond twelve integer digits.
    #[must_use]
    pub const fn from_cents(cents: i64) -> Option<Self> {
        if cents >= -LIMIT && cents <= LIMIT { Some(Self(cents)) } else { None }
    }

    /// The amount in cents.
    #[must_use]
    pub const fn cents(self) -> i64 {
        self.0
    }

    /// Reads a decimal text, with sign, leading zeros and exponent as JSON allows them
    /// (`1e2` is one hundred). Nothing is rounded: a third significant decimal is an error.
    ///
    /// # Errors
    /// [`DecimalError`].
    ///
    /// ```
    /// use verifactu_core::types::Amount;
    /// assert_eq!(Amount::parse("126.20")?.to_string(), "126.2");
    /// assert_eq!(Amount::parse("21")?.to_string(), "21.0");
    /// assert_eq!(Amount::parse("1e2")?.cents(), 10_000);
    /// assert!(Amount::parse("0.001").is_err());
    /// # Ok::<(), verifactu_core::types::DecimalError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, DecimalError> {
        let hundredths = parse_hundredths(text, 12)?;
        Self::from_cents(hundredths).ok_or(DecimalError::Magnitude(12))
    }

    /// The sum, or `None` beyond twelve integer digits.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        Self::from_cents(self.0 + other.0)
    }

    /// Writes the canonical text at the end of a buffer.
    pub fn write_to(self, out: &mut Vec<u8>) {
        write_hundredths(self.0 < 0, self.0.unsigned_abs(), out);
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(18);
        self.write_to(&mut text);
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl std::str::FromStr for Amount {
    type Err = DecimalError;
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        Self::parse(text)
    }
}

/// Sums of lines are at most twelve times one amount, far from overflow; whether the sum is still
/// an amount is asked with [`Cents::amount`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cents(pub i64);

impl Cents {
    /// Back to an amount, or `None` beyond twelve integer digits.
    #[must_use]
    pub fn amount(self) -> Option<Amount> {
        Amount::from_cents(self.0)
    }
}

impl From<Amount> for Cents {
    fn from(amount: Amount) -> Self {
        Self(amount.0)
    }
}

impl Add for Cents {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Cents {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Amount {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Sum<Amount> for Cents {
    fn sum<I: Iterator<Item = Amount>>(amounts: I) -> Self {
        amounts.fold(Self(0), |sum, amount| sum + amount.into())
    }
}

/// Reads a decimal as hundredths without ever leaving integers.
pub(super) fn parse_hundredths(text: &str, integer_digits: u8) -> Result<i64, DecimalError> {
    let too_large = DecimalError::Magnitude(integer_digits);
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        None => (unsigned, 0),
        Some(at) => {
            let exponent: i32 = unsigned[at + 1..].parse().map_err(|_| DecimalError::Syntax)?;
            (&unsigned[..at], exponent)
        }
    };
    let (integer, fraction) = match mantissa.split_once('.') {
        None => (mantissa, ""),
        Some((_, "")) => return Err(DecimalError::Syntax),
        Some(parts) => parts,
    };
    let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if integer.is_empty() || !all_digits(integer) || !all_digits(fraction) {
        return Err(DecimalError::Syntax);
    }
    // The value is the digits taken as one integer times ten to the power `scale`, in hundredths.
    let digits = || integer.bytes().chain(fraction.bytes());
    let trailing = digits().rev().take_while(|b| *b == b'0').count();
    let total = integer.len() + fraction.len();
    if trailing == total {
        return Ok(0);
    }
    let fraction_len = i64::try_from(fraction.len()).map_err(|_| too_large)?;
    let scale = i64::from(exponent) - fraction_len + 2 + i64::try_from(trailing).map_err(|_| too_large)?;
    if scale < 0 {
        return Err(DecimalError::Scale);
    }
    let mut value: i64 = 0;
    for digit in digits().take(total - trailing) {
        value =
            value.checked_mul(10).and_then(|v| v.checked_add(i64::from(digit - b'0'))).ok_or(too_large)?;
    }
    for _ in 0..scale.min(20) {
        value = value.checked_mul(10).ok_or(too_large)?;
    }
    if value >= 10_i64.pow(u32::from(integer_digits) + 2) {
        return Err(too_large);
    }
    Ok(if negative { -value } else { value })
}

/// Writes hundredths in the canonical spelling: `21.0`, `21.1`, `21.15`.
pub(super) fn write_hundredths(negative: bool, hundredths: u64, out: &mut Vec<u8>) {
    let mut buffer = [0_u8; 24];
    let mut at = buffer.len();
    let cents = hundredths % 100;
    let mut units = hundredths / 100;
    let mut push = |byte: u8| {
        at -= 1;
        buffer[at] = byte;
    };
    if !cents.is_multiple_of(10) {
        push(b'0' + (cents % 10) as u8);
    }
    push(b'0' + (cents / 10) as u8);
    push(b'.');
    loop {
        push(b'0' + (units % 10) as u8);
        units /= 10;
        if units == 0 {
            break;
        }
    }
    if negative {
        push(b'-');
    }
    out.extend_from_slice(&buffer[at..]);
}
