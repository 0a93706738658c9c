//! Rates: how often an account may call, by the kind of what it calls.

use verifactu_core::queue::Rate;

use super::{error::ConfigError, value::Reader};

/// The kinds of calls that are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RateClass {
    /// Invoices and cancellations one by one.
    Writes,
    /// Batches.
    Batches,
    /// Asking what became of jobs.
    JobReads,
    /// Everything else that only reads.
    Reads,
    /// What asks the authority while the caller waits.
    Authority,
    /// Changing the certificate.
    Certificates,
}

impl RateClass {
    /// What callers are told it is called.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Batches => "batches",
            Self::JobReads => "job-reads",
            Self::Reads => "reads",
            Self::Authority => "authority",
            Self::Certificates => "certificates",
        }
    }
}

/// How often accounts may call.
#[derive(Clone, Debug)]
pub struct Rates {
    /// Whether any of them holds.
    pub enforced: bool,
    /// Of an account, for [`RateClass::Writes`].
    pub writes: Rate,
    /// For [`RateClass::Batches`].
    pub batches: Rate,
    /// For [`RateClass::JobReads`].
    pub job_reads: Rate,
    /// For [`RateClass::Reads`].
    pub reads: Rate,
    /// For [`RateClass::Authority`].
    pub authority: Rate,
    /// For [`RateClass::Certificates`].
    pub certificates: Rate,
    /// Wrong keys from an address.
    pub wrong_keys: Rate,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            enforced: true,
            writes: Rate::per_minute(600).with_burst(100),
            batches: Rate::per_minute(60),
            job_reads: Rate::per_minute(1200),
            reads: Rate::per_minute(300),
            authority: Rate::per_minute(60),
            certificates: Rate::per_minute(10),
            wrong_keys: Rate::per_minute(20),
        }
    }
}

impl Rates {
    /// The same rate for all.
    #[must_use]
    pub const fn all(rate: Rate) -> Self {
        Self {
            enforced: true,
            writes: rate,
            batches: rate,
            job_reads: rate,
            reads: rate,
            authority: rate,
            certificates: rate,
            wrong_keys: rate,
        }
    }

    /// The rate of a kind of calls.
    pub(crate) const fn of(&self, class: RateClass) -> Rate {
        match class {
            RateClass::Writes => self.writes,
            RateClass::Batches => self.batches,
            RateClass::JobReads => self.job_reads,
            RateClass::Reads => self.reads,
            RateClass::Authority => self.authority,
            RateClass::Certificates => self.certificates,
        }
    }

    pub(super) fn read(&mut self, reader: &Reader<'_>) -> Result<(), ConfigError> {
        reader.boolean(&mut self.enforced, "rates")?;
        let read = |place: &mut Rate, name| reader.set(place, name, RATE, rate);
        read(&mut self.writes, "rate-writes")?;
        read(&mut self.batches, "rate-batches")?;
        read(&mut self.job_reads, "rate-job-reads")?;
        read(&mut self.reads, "rate-reads")?;
        read(&mut self.authority, "rate-authority")?;
        read(&mut self.certificates, "rate-certificates")?;
        read(&mut self.wrong_keys, "rate-wrong-keys")
    }
}

const RATE: &str = "a number per minute from 1 to 1000000, such as 600, or with a burst, such as 600/100";

/// `600`, or `600/100` with a burst.
fn rate(text: &str) -> Option<Rate> {
    let number =
        |text: &str| text.trim().parse::<u32>().ok().filter(|number| (1..=1_000_000).contains(number));
    match text.split_once('/') {
        None => Some(Rate::per_minute(number(text)?)),
        Some((rate, burst)) => Some(Rate::per_minute(number(rate)?).with_burst(number(burst)?)),
    }
}
