//! The walk: recomputes every huella of a chain and finds the first place where it does not hold.

use std::fmt;

use crate::types::GenerationTime;

use super::canonical::{CancellationFields, Canonical, InvoiceFields};

/// The hashed fields of a record, of either kind.
#[derive(Clone, Copy, Debug)]
pub enum ChainedFields<'a> {
    /// Of an invoice record.
    Invoice(InvoiceFields<'a>),
    /// Of a cancellation record.
    Cancellation(CancellationFields<'a>),
}

/// A record as the walk reads it, every value spelled as in the record.
#[derive(Clone, Copy, Debug)]
pub struct ChainedRecord<'a> {
    /// What its huella covers.
    pub fields: ChainedFields<'a>,
    /// The predecessor it names: issuer, number and date; `None` when it says it is the first.
    pub predecessor: Option<[&'a str; 3]>,
    /// The huella it carries.
    pub huella: &'a str,
}

/// Walks a chain from its first record, one record at a time, in constant memory.
///
/// ```
/// use verifactu_core::chain::Walk;
/// assert_eq!(Walk::default().checked(), 0);
/// ```
#[derive(Debug, Default)]
pub struct Walk {
    checked: u64,
    last: Option<Last>,
}

#[derive(Debug)]
struct Last {
    invoice: [String; 3],
    huella: String,
    generated_at: Option<GenerationTime>,
}

/// Where a chain does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// Position of the offending record; the first record of a chain has position 1.
    pub position: u64,
    /// What is wrong with it.
    pub reason: BreakReason,
}

/// What is wrong with a record of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BreakReason {
    /// Its huella is not the one its fields give.
    Huella {
        /// The huella its fields give.
        computed: String,
    },
    /// It names a predecessor though it is the first, or none though it is not.
    Start,
    /// The huella it names is not its predecessor's.
    PreviousHuella {
        /// The predecessor's huella.
        expected: String,
    },
    /// The invoice it names is not its predecessor's.
    PreviousInvoice,
    /// Its time cannot be read, or lies before its predecessor's.
    Time,
}

impl fmt::Display for BreakReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Huella { computed } => {
                write!(f, "the huella does not match the fields, which give {computed}")
            }
            Self::Start => {
                f.write_str("it is the first and names one before it, or says it is the first and is not")
            }
            Self::PreviousHuella { expected } => {
                write!(f, "the previous huella is not that of the record before, {expected}")
            }
            Self::PreviousInvoice => f.write_str("the previous invoice is not that of the record before"),
            Self::Time => {
                f.write_str("the generation time is unreadable or before that of the record before")
            }
        }
    }
}

impl Walk {
    /// Checks the next record.
    ///
    /// # Errors
    /// The [`Break`]; the walk should stop there.
    pub fn next(&mut self, record: ChainedRecord<'_>) -> Result<(), Break> {
        let position = self.checked + 1;
        self.check(&record).map_err(|reason| Break { position, reason })?;
        let (invoice, generated_at) = match record.fields {
            ChainedFields::Invoice(f) => ([f.issuer, f.number, f.date], f.generated_at),
            ChainedFields::Cancellation(f) => ([f.issuer, f.number, f.date], f.generated_at),
        };
        self.last = Some(Last {
            invoice: invoice.map(str::to_owned),
            huella: record.huella.to_owned(),
            generated_at: GenerationTime::parse(generated_at).ok(),
        });
        self.checked = position;
        Ok(())
    }

    /// How many records held so far.
    #[must_use]
    pub const fn checked(&self) -> u64 {
        self.checked
    }

    fn check(&self, record: &ChainedRecord<'_>) -> Result<(), BreakReason> {
        let (computed, previous, time) = match record.fields {
            ChainedFields::Invoice(f) => (f.huella(), f.previous, f.generated_at),
            ChainedFields::Cancellation(f) => (f.huella(), f.previous, f.generated_at),
        };
        if computed.as_str() != record.huella {
            return Err(BreakReason::Huella { computed: computed.as_str().to_owned() });
        }
        let time = GenerationTime::parse(time).map_err(|_| BreakReason::Time)?;
        match (&self.last, record.predecessor) {
            (None, None) if previous.is_empty() => Ok(()),
            (None, _) | (Some(_), None) => Err(BreakReason::Start),
            (Some(last), Some(named)) => {
                if last.huella != previous {
                    return Err(BreakReason::PreviousHuella { expected: last.huella.clone() });
                }
                if last.invoice != named {
                    return Err(BreakReason::PreviousInvoice);
                }
                if last.generated_at.as_ref().is_some_and(|before| before.instant() > time.instant()) {
                    return Err(BreakReason::Time);
                }
                Ok(())
            }
        }
    }
}
