//! The file: its stamp, its schema, and who may open it.
//!
//! A new file is stamped with its environment, and no other environment opens it after that, because
//! records of the sandbox, of pre-production and of production never share a chain. Schema changes are
//! numbered; each is applied once, all inside one transaction.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::ErrorKind,
    path::Path,
};

use rusqlite::{Connection, OpenFlags, TransactionBehavior, config::DbConfig};

use crate::{
    ledger::{LedgerError, LedgerErrorKind},
    types::Environment,
};

use super::{SqliteOptions, error::kind_of};

/// "VFAC": marks the file as a ledger among SQLite databases.
const APPLICATION_ID: i32 = 0x5646_4143;

/// Schema changes in order; the first makes version 1. What is published never changes.
const MIGRATIONS: &[&str] = &[include_str!("migrations/0001.sql")];

/// Takes the file for this process, creates or migrates it, and returns the writing connection with
/// the lock that keeps other writers out.
pub(super) fn open(
    path: &Path,
    environment: Environment,
    options: &SqliteOptions,
) -> Result<(Connection, File), LedgerError> {
    let lock = lock(path)?;
    make(path)?;
    let mut connection = connect(path, options).map_err(failed)?;
    migrate(&mut connection, environment)?;
    configure(&connection, options).map_err(failed)?;
    Ok((connection, lock))
}

/// Refuses what is not a ledger of this environment and of the schema of this program.
pub(super) fn check(
    path: &Path,
    environment: Environment,
    options: &SqliteOptions,
) -> Result<(), LedgerError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(options.busy_timeout).map_err(failed)?;
    let applied = applied(&connection)?;
    if applied < MIGRATIONS.len() {
        return Err(incompatible(format!("the ledger has schema {applied} and has to be migrated first")));
    }
    check_stamp(&connection, environment)
}

/// How many schema changes a ledger has; what is none is refused.
fn applied(connection: &Connection) -> Result<usize, LedgerError> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(failed);
    let version = number("PRAGMA user_version")?;
    let is_new = number("SELECT count(*) FROM sqlite_schema")? == 0 && version == 0;
    if !is_new && number("PRAGMA application_id")? != i64::from(APPLICATION_ID) {
        return Err(incompatible("the file is not a ledger".into()));
    }
    let known = usize::try_from(version).ok().filter(|version| *version <= MIGRATIONS.len());
    known.ok_or_else(|| {
        incompatible(format!(
            "the ledger has schema {version}, this program knows up to {}",
            MIGRATIONS.len()
        ))
    })
}

fn check_stamp(connection: &Connection, environment: Environment) -> Result<(), LedgerError> {
    let stamp: String =
        connection.query_row("SELECT environment FROM ledger", [], |row| row.get(0)).map_err(failed)?;
    if stamp == environment.as_str() {
        Ok(())
    } else {
        Err(incompatible(format!("the ledger belongs to {stamp}, not to {environment}")))
    }
}

fn incompatible(what: String) -> LedgerError {
    LedgerError::new(LedgerErrorKind::Incompatible, what)
}

/// One process writes at a time: it holds an advisory lock on a file beside the ledger, which the
/// system releases however the process ends. The ledger's own file is not locked that way, because
/// closing a second handle on it would drop SQLite's locks.
fn lock(path: &Path) -> Result<File, LedgerError> {
    let mut name = path.as_os_str().to_owned();
    name.push("-lock");
    let file = for_owner().create(true).truncate(false).open(name).map_err(unavailable)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(unavailable("another process writes to this ledger")),
        Err(TryLockError::Error(error)) => Err(unavailable(error)),
    }
}

/// Makes the file of a new ledger before SQLite would, which lets everybody read it. Files that SQLite
/// makes beside it take its mode.
fn make(path: &Path) -> Result<(), LedgerError> {
    match for_owner().create_new(true).open(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(unavailable(error)),
        _ => Ok(()),
    }
}

/// To write a file that, if it is new, only its owner may read.
fn for_owner() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn unavailable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> LedgerError {
    LedgerError::new(LedgerErrorKind::Unavailable, error)
}

fn connect(path: &Path, options: &SqliteOptions) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(options.busy_timeout)?;
    keep_plans(&connection)?;
    Ok(connection)
}

/// A statement that is kept keeps its plan. Otherwise SQLite makes a new one whenever a bound value could
/// bear on the choice of a partial index, which costs more than to run it.
pub(super) fn keep_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(super::STATEMENTS);
    Ok(())
}

fn configure(connection: &Connection, options: &SqliteOptions) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "cache_size", super::WRITER_CACHE_KIB)?;
    connection.pragma_update(None, "wal_autocheckpoint", super::CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "journal_size_limit", super::JOURNAL_LIMIT_BYTES)?;
    if let Some(pages) = options.max_pages {
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    Ok(())
}

/// Refuses what is not a ledger of this environment and version, and brings the rest up to date.
fn migrate(connection: &mut Connection, environment: Environment) -> Result<(), LedgerError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let applied = applied(&transaction)?;
    for migration in MIGRATIONS.iter().skip(applied) {
        transaction.execute_batch(migration).map_err(failed)?;
    }
    // A ledger has one schema change at least.
    if applied == 0 {
        transaction
            .execute("INSERT INTO ledger (only, environment) VALUES (1, ?1)", [environment.as_str()])
            .map_err(failed)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    }
    if applied < MIGRATIONS.len() {
        transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64).map_err(failed)?;
    }
    check_stamp(&transaction, environment)?;
    transaction.commit().map_err(failed)
}

fn failed(error: rusqlite::Error) -> LedgerError {
    LedgerError::new(kind_of(&error), error)
}
