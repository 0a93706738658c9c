//! The chain: canonical string, huella, link, and the walk that proves a chain whole.
//!
//! Every record of an issuer's system carries the huella of the record before it (Orden, art. 7). A
//! huella is computed here and nowhere else, from the text that the XML carries.

mod canonical;
mod walk;

pub use canonical::{CancellationFields, Canonical, CanonicalValue, EventFields, InvoiceFields, huella_of};
pub use walk::{Break, BreakReason, ChainedFields, ChainedRecord, Walk};

use crate::{
    record::{ComputerSystem, InvoiceId, Link, Record, Statement},
    types::{GenerationTime, Huella},
};

/// What a caller says about a record's place in the chain. Nothing said means: at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaceClaim {
    /// Whether the record is the first of its chain.
    pub first: Option<bool>,
    /// Huella of the record before it.
    pub previous: Option<Huella>,
}

/// Time and huella of a record that its caller sealed; kept if they prove right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// When the record was generated.
    pub generated_at: GenerationTime,
    /// The huella the caller computed.
    pub huella: Huella,
}

/// Seals a statement: computes its huella over the given link and time.
///
/// ```
/// # use verifactu_core::{chain, record::*, types::*};
/// # fn system() -> ComputerSystem { ComputerSystem { producer: Party { name: Text::parse("Productor SL").unwrap(),
/// #   identification: Identification::Nif(Nif::parse("B65410011").unwrap()) }, name: Text::parse("ERP").unwrap(),
/// #   id: SystemId::parse("77").unwrap(), version: Text::parse("1.0").unwrap(), installation: Text::parse("1").unwrap(),
/// #   verifactu_only: true, multiple_issuers_possible: true, multiple_issuers: false } }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cancelled = InvoiceId {
///     issuer: Nif::parse("89890001K")?,
///     number: InvoiceNumber::parse("12345679/G34")?,
///     date: Date::parse("01-01-2024")?,
/// };
/// let record = chain::seal(
///     Statement::Cancellation(Box::new(Cancellation::new(cancelled))),
///     Link::First,
///     system(),
///     GenerationTime::parse("2024-01-01T19:20:40+01:00")?,
/// );
/// assert_eq!(record.huella.as_str().len(), 64);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn seal(
    statement: Statement,
    link: Link,
    system: ComputerSystem,
    generated_at: GenerationTime,
) -> Record {
    let huella = huella(&statement, link.previous_huella(), &generated_at);
    Record { statement, link, system, generated_at, huella }
}

/// The huella of a statement after a record with the given huella, to compare with a caller's own.
#[must_use]
pub fn huella(statement: &Statement, previous: Option<&Huella>, generated_at: &GenerationTime) -> Huella {
    Placed { statement, previous, generated_at }.huella()
}

/// The canonical string that [`huella`] covers.
#[must_use]
pub fn canonical(statement: &Statement, previous: Option<&Huella>, generated_at: &GenerationTime) -> String {
    Placed { statement, previous, generated_at }.canonical()
}

/// A statement at a place in a chain: all that a huella covers.
struct Placed<'a> {
    statement: &'a Statement,
    previous: Option<&'a Huella>,
    generated_at: &'a GenerationTime,
}

impl Canonical for Placed<'_> {
    fn write_canonical(&self, out: &mut Vec<u8>) {
        let (previous, generated_at) = (self.previous, self.generated_at.as_str());
        let InvoiceId { issuer, number, date } = self.statement.invoice_id();
        let (number, date) = (number.as_str(), *date);
        match self.statement {
            Statement::Invoice(invoice) => InvoiceFields {
                issuer,
                number,
                date,
                invoice_type: invoice.invoice_type.code(),
                tax_total: invoice.tax_total,
                total: invoice.total,
                previous,
                generated_at,
            }
            .write_canonical(out),
            Statement::Cancellation(_) => {
                CancellationFields { issuer, number, date, previous, generated_at }.write_canonical(out);
            }
        }
    }
}
