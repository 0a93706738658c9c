//! What lists are narrowed by: the parameters of their addresses.

use serde::Serialize;

use crate::types::{Date, InvoiceNumber, Nif, RequestId, TenantId};

use super::{JobStatus, JobType, LookupSource, RecordState, RecordType, Timestamp};

/// A bound in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Moment {
    /// A day in Madrid: as a beginning its first instant, as an end its last.
    Day(Date),
    /// An instant.
    At(Timestamp),
}

impl From<Date> for Moment {
    fn from(day: Date) -> Self {
        Self::Day(day)
    }
}

impl From<Timestamp> for Moment {
    fn from(instant: Timestamp) -> Self {
        Self::At(instant)
    }
}

/// Which jobs of an account; all of them if nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobFilter {
    /// Where they stand.
    pub status: Option<JobStatus>,
    /// What they do.
    #[serde(rename = "type")]
    pub kind: Option<JobType>,
    /// The issuer.
    pub nif: Option<Nif>,
    /// Series and number of the invoice.
    pub num_serie: Option<InvoiceNumber>,
    /// Accepted at this time or later.
    pub from: Option<Moment>,
    /// Accepted before this time.
    pub to: Option<Moment>,
}

/// Which records of an account; all of them if nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecordFilter {
    /// Accepted at this time or later.
    pub from: Option<Moment>,
    /// Accepted before this time.
    pub to: Option<Moment>,
    /// How the invoice's number begins.
    pub serie: Option<InvoiceNumber>,
    /// What they are.
    pub tipo: Option<RecordType>,
    /// The issuer.
    pub nif: Option<Nif>,
    /// What the authority holds of them.
    pub estado: Option<RecordState>,
}

/// Which records of an export, by the time of their generation; all of them if nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ExportFilter {
    /// Generated at this time or later.
    pub from: Option<Moment>,
    /// Generated before this time.
    pub to: Option<Moment>,
}

/// Which invoices are looked up: one, by number and date, or those of a month, by year and month.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LookupFilter {
    /// The issuer.
    pub nif: Nif,
    /// Name of the issuer; needed where the account has no record of it.
    pub nombre: Option<String>,
    /// Series and number of the invoice, with its date.
    pub num_serie: Option<InvoiceNumber>,
    /// Date of issue.
    pub fecha: Option<Date>,
    /// The year, with its month.
    pub ejercicio: Option<u16>,
    /// The month, 1 to 12: that of the operation, else of the issue.
    pub periodo: Option<u8>,
    /// Who is asked; the authority if absent.
    pub source: Option<LookupSource>,
}

impl LookupFilter {
    /// One invoice.
    #[must_use]
    pub fn invoice(nif: Nif, number: InvoiceNumber, date: Date) -> Self {
        Self { num_serie: Some(number), fecha: Some(date), ..Self::of(nif) }
    }

    /// The invoices of a month.
    #[must_use]
    pub fn month(nif: Nif, year: u16, month: u8) -> Self {
        Self { ejercicio: Some(year), periodo: Some(month), ..Self::of(nif) }
    }

    /// Asks the account's own ledger instead of the authority.
    #[must_use]
    pub fn in_ledger(self) -> Self {
        Self { source: Some(LookupSource::Ledger), ..self }
    }

    const fn of(nif: Nif) -> Self {
        Self { nif, nombre: None, num_serie: None, fecha: None, ejercicio: None, periodo: None, source: None }
    }
}

/// Which jobs of all accounts (operator); all of them if nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorJobFilter {
    /// The account.
    pub tenant_id: Option<TenantId>,
    /// Where they stand.
    pub status: Option<JobStatus>,
    /// The kind of their last failure, such as `in_doubt`.
    pub class: Option<String>,
    /// Accepted before this time.
    pub older_than: Option<Moment>,
    /// The authority's code.
    pub code: Option<i64>,
    /// The request that was accepted.
    pub request_id: Option<RequestId>,
}

/// Which issuers (operator); all of them if nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IssuerFilter {
    /// The account.
    pub tenant_id: Option<TenantId>,
    /// The issuer.
    pub nif: Option<Nif>,
    /// Only those that are held, if true.
    pub held: Option<bool>,
}
