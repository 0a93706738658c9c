//! The embedded ledger.

use std::{path::PathBuf, sync::Arc};

use tempfile::TempDir;
use verifactu_core::{
    accounts_suite,
    ledger::sqlite::{SqliteLedger, SqliteOptions},
    ledger_suite,
    testing::compare_with_memory,
    types::Environment,
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
}

fn fresh() -> (Arc<SqliteLedger>, Place) {
    let place = Place::new();
    (Arc::new(place.open()), place)
}

mod suite {
    use super::{accounts_suite, fresh, ledger_suite};

    ledger_suite!(fresh());
    accounts_suite!(fresh());
}

#[tokio::test]
async fn random_operations_agree_with_memory() {
    for seed in 0..60 {
        let (ledger, _place) = fresh();
        compare_with_memory(&*ledger, seed, 60).await;
    }
}
