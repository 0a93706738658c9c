//! Calendar months, as usage is counted.

use std::fmt;

use jiff::{Timestamp, ToSpan, civil};

use super::{Date, timestamp::madrid};

/// A month, spelled `YYYY-MM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Month(civil::Date);

impl Month {
    /// The month of an instant in the time zone of peninsular Spain.
    ///
    /// ```
    /// use verifactu_core::types::Month;
    /// let month = Month::in_madrid("2025-12-31T23:30:00Z".parse()?);
    /// assert_eq!(month.to_string(), "2026-01");
    /// assert_eq!(month.before(2).to_string(), "2025-11");
    /// # Ok::<(), jiff::Error>(())
    /// ```
    #[must_use]
    pub fn in_madrid(instant: Timestamp) -> Self {
        Self(Date::in_madrid(instant).civil().first_of_month())
    }

    /// So many months earlier.
    #[must_use]
    pub fn before(self, months: u32) -> Self {
        Self(self.0.saturating_sub(i64::from(months).months()).first_of_month())
    }

    /// The first instant of the next month.
    #[must_use]
    pub fn end(self) -> Option<Timestamp> {
        let next = self.0.saturating_add(1.month());
        madrid().to_ambiguous_timestamp(next.at(0, 0, 0, 0)).compatible().ok()
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.0.year(), self.0.month())
    }
}
