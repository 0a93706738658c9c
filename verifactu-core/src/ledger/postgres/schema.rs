//! The database: its stamp, its schema, and what it must be able to do.
//!
//! A new ledger is stamped with its environment, and no other environment opens it after that, because
//! records of the sandbox, of pre-production and of production never share a chain. Schema changes are
//! numbered; each is applied once, all inside one transaction, while a lock keeps the other nodes waiting.

use tokio_postgres::Row;

use crate::{
    ledger::{LedgerError, LedgerErrorKind},
    types::Environment,
};

use super::{error::StoreError, pool::Pool};

/// Schema changes in order; the first makes version 1. What is published never changes.
const MIGRATIONS: &[&str] = &[include_str!("migrations/0001.sql")];

/// "VFAC": whoever holds the lock of this number looks after the schema.
const LOCK: &str = "SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0; \
                    SELECT pg_advisory_xact_lock(x'56464143'::bigint)";

/// Refuses what is not a ledger of this environment and version, and brings the rest up to date.
pub(super) async fn migrate(pool: &Pool, environment: Environment) -> Result<(), LedgerError> {
    let incompatible = |what: String| LedgerError::new(LedgerErrorKind::Incompatible, what);
    let session = pool.session().await?;
    let run = async |text: &str| session.client().batch_execute(text).await.map_err(StoreError::from);
    let ask = async |text: &str| session.client().query_opt(text, &[]).await.map_err(StoreError::from);

    let encoding = text(ask("SELECT current_setting('server_encoding')").await?)?;
    if encoding.as_deref() != Some("UTF8") {
        return Err(incompatible("the database's encoding is not UTF8".into()));
    }
    if text(ask("SELECT current_setting('fsync')").await?)?.as_deref() == Some("off") {
        tracing::warn!("the ledger's server runs with fsync off: what it has acknowledged may be lost");
    }

    run("BEGIN").await?;
    run(LOCK).await?;
    let found = text(ask("SELECT to_regclass('ledger')::text").await?)?;
    let version: i64 = match found {
        None => 0,
        Some(_) => match ask("SELECT schema_version FROM ledger").await {
            Ok(Some(row)) => row.try_get(0).map_err(StoreError::from)?,
            _ => return Err(incompatible("the database has a table `ledger` of something else".into())),
        },
    };
    let known = usize::try_from(version).ok().filter(|version| *version <= MIGRATIONS.len());
    let Some(applied) = known else {
        return Err(incompatible(format!(
            "the ledger has schema {version}, this program knows up to {}",
            MIGRATIONS.len()
        )));
    };
    for migration in MIGRATIONS.iter().skip(applied) {
        run(migration).await?;
    }
    let newest = MIGRATIONS.len();
    if applied == 0 {
        run(&format!("INSERT INTO ledger (environment, schema_version) VALUES ('{environment}', {newest})"))
            .await?;
    } else if applied < newest {
        run(&format!("UPDATE ledger SET schema_version = {newest}")).await?;
    }
    let stamp = text(ask("SELECT environment FROM ledger").await?)?.unwrap_or_default();
    if stamp != environment.as_str() {
        return Err(incompatible(format!("the ledger belongs to {stamp}, not to {environment}")));
    }
    run("COMMIT").await?;
    session.release();
    Ok(())
}

fn text(row: Option<Row>) -> Result<Option<String>, StoreError> {
    Ok(row.map(|row| row.try_get(0)).transpose()?.flatten())
}
