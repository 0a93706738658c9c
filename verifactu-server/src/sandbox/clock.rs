//! The authority's clock, passed in so that a test can say what time it is.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::{Offset, TimeZone};
use rustls::time_provider::TimeProvider;
use rustls_pki_types::UnixTime;

/// Where the sandbox reads the time: for the 240 s margin, for "today", for its own stamps and for
/// the validity of client certificates.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The computer's clock.
    #[expect(clippy::disallowed_methods, reason = "the sandbox passes its time in from here")]
    pub fn system() -> Self {
        Self(Arc::new(Timestamp::now))
    }

    /// A clock that says what `now` returns.
    pub fn from_fn(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = u64::try_from(self.now().as_second()).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
    }
}

/// The authority lives in Madrid: its dates and offsets are those of Europe/Madrid.
#[derive(Clone)]
pub(crate) struct Madrid(TimeZone);

impl Madrid {
    pub(crate) fn load() -> Result<Self, jiff::Error> {
        TimeZone::get("Europe/Madrid").map(Self)
    }

    pub(crate) fn date(&self, at: Timestamp) -> Date {
        at.to_zoned(self.0.clone()).date()
    }

    /// `2026-09-22T19:58:55+02:00`, the form of the stamps in AEAT's answers.
    pub(crate) fn stamp(&self, at: Timestamp) -> String {
        let zoned = at.to_zoned(self.0.clone());
        format!("{}{}", zoned.strftime("%Y-%m-%dT%H:%M:%S"), colon_offset(zoned.offset()))
    }

    /// `20260922195855`, the beginning of an `IdPeticion`.
    pub(crate) fn digits(&self, at: Timestamp) -> String {
        at.to_zoned(self.0.clone()).strftime("%Y%m%d%H%M%S").to_string()
    }
}

fn colon_offset(offset: Offset) -> String {
    let seconds = offset.seconds();
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.unsigned_abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}
