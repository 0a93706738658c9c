//! The record model: what an invoice or a cancellation says, under English names. The wire's own
//! names are search aliases here and are spelled only where XML is written and read.
//!
//! A [`Record`] is a statement about an invoice together with its place in a chain. It never
//! changes once it is sealed (Orden HAC/1177/2024, art. 7).

mod breakdown;
mod cancellation;
mod codes;
mod invoice;
mod party;
mod system;

pub use breakdown::BreakdownLine;
pub use cancellation::Cancellation;
pub use codes::{
    Exemption, ForeignIdType, GeneratedBy, InvoiceType, IssuedBy, PriorRejection, Qualification,
    RectificationMode, Regime, Tax,
};
pub use invoice::{Correction, Invoice, InvoiceId, RectifiedAmounts};
pub use party::{Country, ForeignId, Identification, Party};
pub use system::{ComputerSystem, SystemId};

use crate::types::{GenerationTime, Huella};

/// What a record states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// An invoice was issued, or an earlier record of it is corrected.
    Invoice(Box<Invoice>),
    /// An invoice is cancelled.
    Cancellation(Box<Cancellation>),
}

impl Statement {
    /// The invoice that is spoken of.
    #[must_use]
    pub fn invoice_id(&self) -> &InvoiceId {
        match self {
            Self::Invoice(invoice) => &invoice.id,
            Self::Cancellation(cancellation) => &cancellation.id,
        }
    }

    /// Which of the two it is.
    #[must_use]
    pub const fn kind(&self) -> RecordKind {
        match self {
            Self::Invoice(_) => RecordKind::Invoice,
            Self::Cancellation(_) => RecordKind::Cancellation,
        }
    }
}

/// The two kinds of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordKind {
    /// `RegistroAlta`.
    Invoice,
    /// `RegistroAnulacion`.
    Cancellation,
}

/// A record's tie to its predecessor.
#[doc(alias = "Encadenamiento")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// The first record of its chain.
    #[doc(alias = "PrimerRegistro")]
    First,
    /// Any other.
    #[doc(alias = "RegistroAnterior")]
    Previous(Predecessor),
}

impl Link {
    /// The predecessor's huella, if there is one.
    #[must_use]
    pub fn previous_huella(&self) -> Option<&Huella> {
        match self {
            Self::First => None,
            Self::Previous(previous) => Some(&previous.huella),
        }
    }
}

/// The record before another: its invoice and its huella.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predecessor {
    /// The invoice it spoke of.
    pub invoice: InvoiceId,
    /// Its huella.
    pub huella: Huella,
}

/// A sealed record: what the authority receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What it states.
    pub statement: Statement,
    /// Its tie to the record before it.
    pub link: Link,
    /// The system that generated it.
    pub system: ComputerSystem,
    /// When it was generated.
    pub generated_at: GenerationTime,
    /// Its huella, computed by [`chain`](crate::chain).
    pub huella: Huella,
}
