//! The chain: canonical string, huella, link, and the walk that proves a chain whole.
//!
//! Every record of an issuer's system carries the huella of the record before it (Orden, art. 7). A
//! huella is computed here and nowhere else, from the text that the XML carries.

mod canonical;
mod walk;

pub use canonical::{CancellationFields, Canonical, EventFields, InvoiceFields, huella_of};
pub use walk::{Break, BreakReason, ChainedFields, ChainedRecord, Walk};

use crate::{
    record::{ComputerSystem, Invoice, Link, Record, Statement},
    types::{Amount, Date, GenerationTime, Huella},
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
    let huella = with_fields(&statement, &link, &generated_at, |fields| match fields {
        ChainedFields::Invoice(fields) => fields.huella(),
        ChainedFields::Cancellation(fields) => fields.huella(),
    });
    Record { statement, link, system, generated_at, huella }
}

/// The canonical string of a statement at a place in a chain, to compare with a caller's own.
#[must_use]
pub fn canonical(statement: &Statement, link: &Link, generated_at: &GenerationTime) -> String {
    with_fields(statement, link, generated_at, |fields| match fields {
        ChainedFields::Invoice(fields) => fields.canonical(),
        ChainedFields::Cancellation(fields) => fields.canonical(),
    })
}

/// Hands the hashed fields, in canonical spelling, to `read`.
fn with_fields<T>(
    statement: &Statement,
    link: &Link,
    generated_at: &GenerationTime,
    read: impl FnOnce(ChainedFields<'_>) -> T,
) -> T {
    let previous = link.previous_huella().map_or("", Huella::as_str);
    let id = statement.invoice_id();
    let mut buffer = Vec::with_capacity(48);
    let date = span(&mut buffer, |out| Date::write_to(id.date, out));
    match statement {
        Statement::Cancellation(_) => read(ChainedFields::Cancellation(CancellationFields {
            issuer: id.issuer.as_str(),
            number: id.number.as_str(),
            date: text(&buffer, date),
            previous,
            generated_at: generated_at.as_str(),
        })),
        Statement::Invoice(invoice) => {
            let Invoice { tax_total, total, invoice_type, .. } = &**invoice;
            let tax_total = span(&mut buffer, |out| Amount::write_to(*tax_total, out));
            let total = span(&mut buffer, |out| Amount::write_to(*total, out));
            read(ChainedFields::Invoice(InvoiceFields {
                issuer: id.issuer.as_str(),
                number: id.number.as_str(),
                date: text(&buffer, date),
                invoice_type: invoice_type.code(),
                tax_total: text(&buffer, tax_total),
                total: text(&buffer, total),
                previous,
                generated_at: generated_at.as_str(),
            }))
        }
    }
}

fn span(buffer: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> std::ops::Range<usize> {
    let start = buffer.len();
    write(buffer);
    start..buffer.len()
}

fn text(buffer: &[u8], range: std::ops::Range<usize>) -> &str {
    buffer.get(range).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
}
