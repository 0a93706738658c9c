//! The database: its stamp, its schema, and what it must be able to do.
//!
//! A new ledger is stamped with its environment, and no other environment opens it after that, because
//! records of the sandbox, of pre-production and of production never share a chain. Schema changes are
//! numbered; each is applied once, all inside one transaction, while a lock keeps the other nodes waiting.

use std::time::Duration;

use crate::{
    ledger::{LedgerError, LedgerErrorKind},
    types::Environment,
};

use super::pool::Session;

/// Schema changes in order; the first makes version 1. What is published never changes.
const MIGRATIONS: &[&str] = &[include_str!("migrations/0001.sql")];

/// "VFAC": whoever holds the lock of this number looks after the schema, or has the ledger alone.
const LOCK: &str = "SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0; \
                    SELECT pg_advisory_xact_lock(x'56464143'::bigint)";
/// The same for the life of the session, without waiting for it.
const TAKE: &str = "SELECT pg_try_advisory_lock(x'56464143'::bigint)";

/// Clients of the database beside this one, also those that are not ours. The server's own processes have
/// no user, or are workers of another kind; which kind is not shown to everybody.
const OTHERS: &str = "SELECT count(*) FROM pg_stat_activity \
     WHERE datname = current_database() AND pid <> pg_backend_pid() \
     AND usesysid IS NOT NULL AND coalesce(backend_type, 'client backend') = 'client backend'";

/// A program that has just ended is seen a little longer.
const LOOKS: u32 = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Refuses what is not a ledger of this environment and version, and brings the rest up to date. An empty
/// database becomes a ledger.
pub(super) async fn migrate(session: &Session, environment: Environment) -> Result<(), LedgerError> {
    let encoding: Option<String> = session.ask("SELECT current_setting('server_encoding')").await?;
    if encoding.as_deref() != Some("UTF8") {
        return Err(incompatible("the database's encoding is not UTF8"));
    }
    let fsync: Option<String> = session.ask("SELECT current_setting('fsync')").await?;
    if fsync.as_deref() == Some("off") {
        tracing::warn!("the ledger's server runs with fsync off: what it has acknowledged may be lost");
    }

    session.run("BEGIN").await?;
    session.run(LOCK).await?;
    let applied = applied(session).await?.unwrap_or_default();
    for migration in MIGRATIONS.iter().skip(applied) {
        session.run(migration).await?;
    }
    let newest = MIGRATIONS.len();
    if applied == 0 {
        let stamp =
            format!("INSERT INTO ledger (environment, schema_version) VALUES ('{environment}', {newest})");
        session.run(&stamp).await?;
    } else if applied < newest {
        session.run(&format!("UPDATE ledger SET schema_version = {newest}")).await?;
    }
    check_stamp(session, environment).await?;
    session.run("COMMIT").await?;
    Ok(())
}

/// Refuses what is not a ledger of this environment and of the schema of this program.
pub(super) async fn check(session: &Session, environment: Environment) -> Result<(), LedgerError> {
    let applied = present(session).await?;
    if applied < MIGRATIONS.len() {
        return Err(incompatible(format!("the ledger has schema {applied} and has to be migrated first")));
    }
    check_stamp(session, environment).await
}

/// Takes a ledger for this session alone and brings it up to date. Who opens it waits until the session
/// ends, and that nobody has it open already can be seen by the connections.
pub(super) async fn take(session: &Session, environment: Environment) -> Result<(), LedgerError> {
    let in_use = |what: String| LedgerError::new(LedgerErrorKind::Unavailable, what);
    present(session).await?;
    if session.ask(TAKE).await? != Some(true) {
        return Err(in_use("another process is opening the ledger".into()));
    }
    let mut others: i64 = 1;
    for _ in 0..LOOKS {
        others = session.ask(OTHERS).await?.unwrap_or_default();
        if others == 0 {
            break;
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
    if others > 0 {
        return Err(in_use(format!(
            "the ledger is in use: its database has {others} other connections; stop the service, and end \
             every other program on it"
        )));
    }
    migrate(session, environment).await
}

/// How many schema changes the ledger has that has to be there.
async fn present(session: &Session) -> Result<usize, LedgerError> {
    applied(session).await?.ok_or_else(|| incompatible("the database holds no ledger"))
}

/// How many schema changes a ledger has, if there is one; what is something else is refused.
async fn applied(session: &Session) -> Result<Option<usize>, LedgerError> {
    if session.ask::<String>("SELECT to_regclass('ledger')::text").await?.is_none() {
        return Ok(None);
    }
    let Ok(Some(version)) = session.ask::<i64>("SELECT schema_version FROM ledger").await else {
        return Err(incompatible("the database has a table `ledger` of something else"));
    };
    let known = usize::try_from(version).ok().filter(|version| *version <= MIGRATIONS.len());
    known.map(Some).ok_or_else(|| {
        incompatible(format!(
            "the ledger has schema {version}, this program knows up to {}",
            MIGRATIONS.len()
        ))
    })
}

async fn check_stamp(session: &Session, environment: Environment) -> Result<(), LedgerError> {
    let stamp: String = session.ask("SELECT environment FROM ledger").await?.unwrap_or_default();
    if stamp == environment.as_str() {
        Ok(())
    } else {
        Err(incompatible(format!("the ledger belongs to {stamp}, not to {environment}")))
    }
}

fn incompatible(what: impl Into<String>) -> LedgerError {
    LedgerError::new(LedgerErrorKind::Incompatible, what.into())
}
