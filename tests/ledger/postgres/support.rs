//! Two nodes, and what a third party sees of their database.

use std::{sync::Arc, time::Duration};

use harness::postgres_server::{PostgresServer, connect};
use tokio::time::Instant;
use tokio_postgres::Client;
use verifactu_core::{
    ledger::{Ledger, LedgerError, LedgerErrorKind, postgres::PostgresLedger},
    types::{Huella, TenantId},
};

use super::open;

/// A database with two ledgers on it, as two nodes have it, and a connection beside them.
pub(super) async fn two_nodes() -> ([Arc<PostgresLedger>; 2], Client) {
    let address = PostgresServer::shared().database().await;
    let (first, second) = (open(&address).await, open(&address).await);
    ([Arc::new(first), Arc::new(second)], connect(&address).await)
}

pub(super) async fn count(client: &Client, query: &str) -> i64 {
    client.query_one(query, &[]).await.unwrap().get(0)
}

/// Waits until a look at the database finds more than nothing.
pub(super) async fn until(client: &Client, query: &str) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while count(client, query).await == 0 {
        // Inside a transaction the first look at other sessions would be kept.
        client.batch_execute("SELECT pg_stat_clear_snapshot()").await.unwrap();
        assert!(Instant::now() < deadline, "never: {query}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A ledger's statement that waits for a lock.
pub(super) const WAITS: &str = "SELECT count(*) FROM pg_stat_activity \
     WHERE application_name = 'verifactu' AND wait_event_type = 'Lock' AND datname = current_database()";

/// Proves a chain whole by its rows, and returns its huellas.
pub(super) async fn prove_chain(ledger: &PostgresLedger, tenant: &TenantId) -> Vec<Huella> {
    let chains = ledger.chains(tenant).await.unwrap();
    let Some(chain) = chains.first() else { return Vec::new() };
    let mut huellas = Vec::<Huella>::new();
    for (record, position) in ledger.records(chain.id, 1, u32::MAX).await.unwrap().iter().zip(1..) {
        assert_eq!((record.position, record.previous), (position, huellas.last().copied()));
        huellas.push(record.huella);
    }
    assert_eq!((chain.length, chain.pending), (huellas.len() as u64, huellas.len() as u64));
    assert_eq!(chain.last_huella, huellas.last().copied());
    huellas
}

/// The failure of a server or of the way to it, which leaves it open at most whether it was written.
pub(super) fn assert_passing(error: &LedgerError) {
    assert!(
        matches!(error.kind, LedgerErrorKind::Unavailable | LedgerErrorKind::Unknown),
        "{error}: {:?}",
        error.source
    );
}
