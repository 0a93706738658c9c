//! Calendar dates as invoices carry them.

use std::fmt;

use jiff::civil;

/// A calendar date of the years 1900 to 2999, spelled `DD-MM-YYYY` on the wire.
#[doc(alias = "fecha")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Date(civil::Date);

/// The text is not a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DateError {
    /// Neither `DD-MM-YYYY` nor `YYYY-MM-DD`.
    #[error("write the date as DD-MM-YYYY or YYYY-MM-DD")]
    Syntax,
    /// Well formed, but no such day, or outside the years 1900 to 2999.
    #[error("no such day in the calendar")]
    NoSuchDay,
}

impl Date {
    /// Reads `DD-MM-YYYY` or `YYYY-MM-DD`.
    ///
    /// # Errors
    /// [`DateError`].
    ///
    /// ```
    /// use verifactu_core::types::Date;
    /// assert_eq!(Date::parse("2026-01-15")?.to_string(), "15-01-2026");
    /// assert!(Date::parse("30-02-2025").is_err());
    /// # Ok::<(), verifactu_core::types::DateError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, DateError> {
        let bytes: &[u8; 10] = text.as_bytes().try_into().map_err(|_| DateError::Syntax)?;
        let number = |range: std::ops::Range<usize>| {
            bytes[range].iter().try_fold(0_i16, |value, byte| {
                byte.is_ascii_digit().then(|| value * 10 + i16::from(byte - b'0'))
            })
        };
        let parts = if bytes[2] == b'-' && bytes[5] == b'-' {
            (number(6..10), number(3..5), number(0..2))
        } else if bytes[4] == b'-' && bytes[7] == b'-' {
            (number(0..4), number(5..7), number(8..10))
        } else {
            return Err(DateError::Syntax);
        };
        let (Some(year), Some(month), Some(day)) = parts else {
            return Err(DateError::Syntax);
        };
        Self::new(year, month, day).ok_or(DateError::NoSuchDay)
    }

    fn new(year: i16, month: i16, day: i16) -> Option<Self> {
        if !(1900..=2999).contains(&year) {
            return None;
        }
        civil::Date::new(year, month.try_into().ok()?, day.try_into().ok()?).ok().map(Self)
    }

    /// The calendar value, to compute with.
    #[must_use]
    pub const fn civil(self) -> civil::Date {
        self.0
    }

    /// The day of an instant in the time zone of peninsular Spain, which the authority keeps.
    #[must_use]
    pub fn in_madrid(instant: jiff::Timestamp) -> Self {
        Self(super::timestamp::madrid().to_datetime(instant).date())
    }

    /// The first instant of the day in the time zone of peninsular Spain; `None` at the edge of what
    /// can be reckoned.
    #[must_use]
    pub fn start(self) -> Option<jiff::Timestamp> {
        super::timestamp::madrid().to_ambiguous_timestamp(self.0.at(0, 0, 0, 0)).compatible().ok()
    }

    /// The first instant of the next day.
    #[must_use]
    pub fn end(self) -> Option<jiff::Timestamp> {
        Self(self.0.tomorrow().ok()?).start()
    }

    /// Writes `DD-MM-YYYY` at the end of a buffer.
    pub fn write_to(self, out: &mut Vec<u8>) {
        let two = |value: i16| [b'0' + (value / 10) as u8, b'0' + (value % 10) as u8];
        let [d, e] = two(self.0.day().into());
        let [m, n] = two(self.0.month().into());
        let [c, i] = two(self.0.year() / 100);
        let [x, y] = two(self.0.year() % 100);
        out.extend_from_slice(&[d, e, b'-', m, n, b'-', c, i, x, y]);
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}-{:02}-{:04}", self.0.day(), self.0.month(), self.0.year())
    }
}

impl fmt::Debug for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Date {
    type Err = DateError;
    fn from_str(text: &str) -> Result<Self, DateError> {
        Self::parse(text)
    }
}

impl serde::Serialize for Date {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Date {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <String as serde::Deserialize>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}
