//! The shared ledger, on a server of the tests' own.

mod access;
mod neighbours;
mod outage;
mod races;
mod support;

use std::sync::Arc;

use harness::postgres_server::PostgresServer;
use verifactu_core::{
    accounts_suite,
    ledger::postgres::{PostgresLedger, PostgresOptions},
    ledger_suite,
    testing::compare_with_memory,
    types::Environment,
    webhook_suite,
};

async fn open(address: &str) -> PostgresLedger {
    PostgresLedger::open(address, Environment::Sandbox, &PostgresOptions::default()).await.unwrap()
}

/// A ledger in a database of its own.
async fn fresh() -> (Arc<PostgresLedger>, ()) {
    (Arc::new(open(&PostgresServer::shared().database().await).await), ())
}

mod suite {
    use super::{accounts_suite, fresh, ledger_suite, webhook_suite};

    ledger_suite!(fresh().await);
    accounts_suite!(fresh().await);
    webhook_suite!(fresh().await);
}

#[tokio::test]
async fn random_operations_agree_with_memory() {
    for seed in 0..30 {
        let (ledger, ()) = fresh().await;
        compare_with_memory(&*ledger, seed, 60).await;
    }
}
