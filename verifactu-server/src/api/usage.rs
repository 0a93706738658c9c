//! What an account may use and has used: `GET /me/plan`, `/me/usage` and `/me/ledger`.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use verifactu_core::{
    api::{
        MonthlyLedger, MonthlyUsage, Months, PlanInfo, PlanStatus, PlanUsage, TenantStatus as ShownStatus,
    },
    ledger::{Accounts, LedgerError, Quota, TenantStatus},
    types::{Cents, Month, TenantId},
};

use super::{
    Service,
    auth::Account,
    call::Call,
    error::{Fault, Success},
    query::Parameters,
    reply::Reply,
};

/// Most months that are shown.
pub(super) const MAX_MONTHS: u32 = 36;

/// Requests of each account that are not written down yet. Nothing depends on their number, so they
/// are written together from time to time, and a crash may lose the last of them.
#[derive(Debug, Default)]
pub(crate) struct Requests(Mutex<HashMap<(TenantId, Month), u64>>);

impl Requests {
    pub(super) fn count(&self, tenant: &TenantId, month: Month) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((tenant.clone(), month)).or_default() += 1;
    }

    /// Writes the counts down.
    pub(crate) async fn flush(&self, accounts: &dyn Accounts) -> Result<(), LedgerError> {
        let counts = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if counts.is_empty() {
            return Ok(());
        }
        let counts: Vec<_> =
            counts.into_iter().map(|((tenant, month), count)| (tenant, month.to_string(), count)).collect();
        accounts.count_requests(&counts).await
    }

    fn waiting(&self, tenant: &TenantId, month: Month) -> u64 {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(&(tenant.clone(), month)).copied().unwrap_or_default()
    }
}

impl Service {
    /// The allowance that an account's new invoices take from.
    pub(super) fn quota(&self, account: &Account) -> Quota {
        Quota {
            month: Month::in_madrid(self.clock.now()).to_string(),
            limit: self.plans.limit(account.tenant.plan.as_deref()),
        }
    }

    /// The requests of an account since a month, by month.
    async fn requests_since(
        &self,
        tenant: &TenantId,
        since: &str,
    ) -> Result<BTreeMap<String, u64>, LedgerError> {
        let mut requests: BTreeMap<_, _> = self.accounts.requests(tenant, since).await?.into_iter().collect();
        let month = Month::in_madrid(self.clock.now());
        *requests.entry(month.to_string()).or_default() += self.requests.waiting(tenant, month);
        Ok(requests)
    }
}

pub(super) async fn plan(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let tenant = &account.tenant;
    let month = Month::in_madrid(service.clock.now());
    let text = month.to_string();
    let used = service.engine.ledger().usage(&tenant.id, &text).await?;
    let requests = service.requests_since(&tenant.id, &text).await?;
    let name = service.plans.name(tenant.plan.as_deref());
    let status = PlanStatus {
        plan: PlanInfo {
            id: name.to_owned(),
            name: name.to_owned(),
            max_invoices_per_month: service.plans.limit(tenant.plan.as_deref()),
            max_requests_per_month: None,
        },
        usage: PlanUsage {
            invoices: used.iter().find(|usage| usage.month == text).map_or(0, |usage| usage.invoices),
            requests: requests.get(&text).copied().unwrap_or_default(),
            month: text,
        },
        resets_at: month.end().map(Into::into),
        status: match tenant.status {
            TenantStatus::Active => ShownStatus::Active,
            TenantStatus::Suspended | TenantStatus::SuspendedByPartner => ShownStatus::Suspended,
        },
    };
    Reply::json(Success::Ok, call.request, status)
}

pub(super) async fn usage(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let since = since(&service, &call)?;
    let tenant = &account.tenant.id;
    let mut months = BTreeMap::<String, MonthlyUsage>::new();
    let mut of = |month: &str, change: &dyn Fn(&mut MonthlyUsage)| {
        let row = months.entry(month.to_owned()).or_default();
        month.clone_into(&mut row.month);
        change(row);
    };
    for used in service.engine.ledger().usage(tenant, &since).await? {
        of(&used.month, &|row| (row.invoices, row.cancellations) = (used.invoices, used.cancellations));
    }
    for (month, requests) in service.requests_since(tenant, &since).await? {
        of(&month, &|row| row.requests = requests);
    }
    Reply::json(Success::Ok, call.request, Months { months: months.into_values().rev().collect::<Vec<_>>() })
}

pub(super) async fn ledger(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let since = since(&service, &call)?;
    let turnover = service.engine.ledger().turnover(&account.tenant.id, &since).await?;
    let months: Vec<_> = turnover
        .into_iter()
        .map(|row| MonthlyLedger {
            month: row.month,
            nif: row.issuer,
            altas: row.sums.invoices,
            anulaciones: row.sums.cancellations,
            base: euros(row.sums.base),
            cuota: euros(row.sums.tax),
            total: euros(row.sums.total),
        })
        .collect();
    Reply::json(Success::Ok, call.request, Months { months })
}

/// The first of the months that are asked for, the present one counted.
fn since(service: &Service, call: &Call) -> Result<String, Fault> {
    let mut parameters = Parameters::of(call);
    let months = parameters.number("months", 1..=MAX_MONTHS).unwrap_or(12);
    parameters.finish()?;
    Ok(Month::in_madrid(service.clock.now()).before(months - 1).to_string())
}

fn euros(cents: Cents) -> String {
    let sign = if cents.0 < 0 { "-" } else { "" };
    let cents = cents.0.unsigned_abs();
    format!("{sign}{}.{:02}", cents / 100, cents % 100)
}
