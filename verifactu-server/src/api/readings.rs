//! What reads whole chains: once at a time for an account, because each costs as much as the chain is
//! long.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use verifactu_core::types::TenantId;

use super::error::Fault;

/// When a caller may ask again whether the reading before has ended.
const AGAIN: Duration = Duration::from_secs(5);

type Accounts = Arc<Mutex<HashSet<TenantId>>>;

/// The accounts for which chains are being read.
#[derive(Default)]
pub(crate) struct Readings(Accounts);

/// An account's turn, until it is dropped.
pub(super) struct Reading {
    account: TenantId,
    all: Accounts,
}

impl Readings {
    /// Begins an account's reading, unless it has one.
    pub(super) fn begin(&self, account: &TenantId) -> Result<Reading, Fault> {
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(account.clone()) {
            Ok(Reading { account: account.clone(), all: self.0.clone() })
        } else {
            Err(Fault::RateLimited(AGAIN))
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.account);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_reads_once_at_a_time() {
        let readings = Readings::default();
        let [one, other] = ["one", "other"].map(|id| TenantId::parse(id).unwrap());
        let reading = readings.begin(&one).unwrap();
        assert!(matches!(readings.begin(&one), Err(Fault::RateLimited(wait)) if wait == AGAIN));
        assert!(readings.begin(&other).is_ok());
        drop(reading);
        assert!(readings.begin(&one).is_ok());
    }
}
