//! Plans and usage as REST shows them.

use serde::{Deserialize, Serialize};

use crate::types::Nif;

use super::{TenantStatus, Timestamp};

/// What an account may use, and has used this month.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlanStatus {
    /// Its plan.
    pub plan: PlanInfo,
    /// This month.
    pub usage: PlanUsage,
    /// When the next month begins.
    pub resets_at: Option<Timestamp>,
    /// Whether the account may write.
    pub status: TenantStatus,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlanInfo {
    /// Its identifier.
    pub id: String,
    /// Its name.
    pub name: String,
    /// New invoices of a calendar month; null for no limit.
    pub max_invoices_per_month: Option<u64>,
    /// Requests of a calendar month; null for no limit.
    pub max_requests_per_month: Option<u64>,
}

/// What was used in a month so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanUsage {
    /// The month, `YYYY-MM` in Europe/Madrid.
    pub month: String,
    /// New invoices.
    pub invoices: u64,
    /// Requests.
    pub requests: u64,
}

/// Months, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "{T}Months"))]
pub struct Months<T> {
    /// The months in which there was anything.
    pub months: Vec<T>,
}

/// What was used in a month.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MonthlyUsage {
    /// The month, `YYYY-MM` in Europe/Madrid.
    pub month: String,
    /// New invoices.
    pub invoices: u64,
    /// Cancellations.
    pub cancellations: u64,
    /// Requests.
    pub requests: u64,
}

/// What an issuer stated in a month. The amounts are those of the new invoices; corrections and
/// cancellations do not change them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MonthlyLedger {
    /// The month of acceptance, `YYYY-MM` in Europe/Madrid.
    pub month: String,
    /// The issuer.
    pub nif: Nif,
    /// New invoices.
    pub altas: u64,
    /// Cancellations.
    pub anulaciones: u64,
    /// Taxable bases, a decimal.
    pub base: String,
    /// Tax, a decimal.
    pub cuota: String,
    /// Totals, a decimal.
    pub total: String,
}
