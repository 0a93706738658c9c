//! What an account has used in a month, counted in the step that appends a record.

use crate::{
    job::JobKind,
    record::Statement,
    types::{Cents, Nif},
};

use super::append::{Append, Sealed};

/// The records of a month.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The month, as the quota of the append named it.
    pub month: String,
    /// New invoices; corrections are free.
    pub invoices: u64,
    /// Cancellations.
    pub cancellations: u64,
}

/// What an issuer stated in a month.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turnover {
    /// The month, as the quota of the append named it.
    pub month: String,
    /// The issuer.
    pub issuer: Nif,
    /// What it came to.
    pub sums: Sums,
}

/// New invoices with their amounts as they were stated, and cancellations. Corrections count nowhere,
/// because they state an invoice once more. Sums stop at the ends of 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// New invoices.
    pub invoices: u64,
    /// Cancellations.
    pub cancellations: u64,
    /// Their taxable bases.
    pub base: Cents,
    /// Their tax.
    pub tax: Cents,
    /// Their totals.
    pub total: Cents,
}

impl Sums {
    /// Both together.
    #[must_use]
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            invoices: self.invoices.saturating_add(other.invoices),
            cancellations: self.cancellations.saturating_add(other.cancellations),
            base: self.base + other.base,
            tax: self.tax + other.tax,
            total: self.total + other.total,
        }
    }
}

impl Append {
    /// The month to count the record in, and what it adds; `None` where nothing is counted.
    pub(super) fn counted(&self, sealed: &Sealed) -> Option<(&str, Sums)> {
        let month = self.quota.as_ref()?.month.as_str();
        let sums = match &sealed.record.statement {
            Statement::Cancellation(_) => Sums { cancellations: 1, ..Sums::default() },
            Statement::Invoice(_) if self.kind != JobKind::Send || self.repeats_invoice => return None,
            Statement::Invoice(invoice) => Sums {
                invoices: 1,
                base: invoice.breakdown.iter().fold(Cents(0), |sum, line| sum + line.base.into()),
                tax: invoice.tax_total.into(),
                total: invoice.total.into(),
                ..Sums::default()
            },
        };
        Some((month, sums))
    }
}
