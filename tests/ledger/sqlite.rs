//! The embedded ledger.

mod crash;
mod damage;
mod exhaustion;

use std::{path::PathBuf, sync::Arc};

use tempfile::TempDir;
use verifactu_core::{
    accounts_suite,
    ledger::{
        Ledger,
        sqlite::{SqliteLedger, SqliteOptions},
    },
    ledger_suite,
    testing::compare_with_memory,
    types::{Environment, Huella, TenantId},
    webhook_suite,
};

/// A directory for a ledger, removed after the test.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("ledger.db")
    }

    fn open(&self) -> SqliteLedger {
        SqliteLedger::open(self.path(), Environment::Sandbox, &SqliteOptions::default()).unwrap()
    }

    /// The file as another program sees it.
    fn raw(&self) -> rusqlite::Connection {
        let raw = rusqlite::Connection::open(self.path()).unwrap();
        raw.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
        raw
    }
}

/// Proves a chain whole by its rows: positions without gap, each record naming the one before, and the
/// chain's own row in agreement. Returns its huellas.
async fn prove_chain(ledger: &SqliteLedger, tenant: &TenantId) -> Vec<Huella> {
    let chains = ledger.chains(tenant).await.unwrap();
    let Some(chain) = chains.first() else { return Vec::new() };
    let records = ledger.records(chain.id, 1, u32::MAX).await.unwrap();
    let mut huellas = Vec::<Huella>::new();
    for (record, position) in records.iter().zip(1..) {
        assert_eq!((record.position, record.previous), (position, huellas.last().copied()));
        huellas.push(record.huella);
    }
    assert_eq!((chain.length, chain.pending), (records.len() as u64, records.len() as u64));
    assert_eq!(chain.last_huella, huellas.last().copied());
    huellas
}

fn fresh() -> (Arc<SqliteLedger>, Place) {
    let place = Place::new();
    (Arc::new(place.open()), place)
}

mod suite {
    use super::{accounts_suite, fresh, ledger_suite, webhook_suite};

    ledger_suite!(fresh());
    accounts_suite!(fresh());
    webhook_suite!(fresh());
}

#[tokio::test]
async fn random_operations_agree_with_memory() {
    for seed in 0..60 {
        let (ledger, _place) = fresh();
        compare_with_memory(&*ledger, seed, 60).await;
    }
}
