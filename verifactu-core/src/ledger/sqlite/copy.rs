//! Whole copies of a ledger's file.

use std::{path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags, backup::Backup};

use crate::ledger::{LedgerError, LedgerErrorKind};

use super::error::kind_of;

/// How long a copy waits between two steps when the file is locked.
const PAUSE: Duration = Duration::from_millis(50);

/// Copies a ledger as it is at one moment into a new file, while others go on to read and write it. The
/// copy is a file of its own, without a log beside it, and on stable storage when the call returns.
///
/// # Errors
/// Of the source or of the target, which is then no ledger.
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), LedgerError> {
    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let source = Connection::open_with_flags(from, read_only).map_err(failed)?;
    let mut target = Connection::open(to.as_ref()).map_err(failed)?;
    // All pages in one step are read in one snapshot: a writer neither waits nor makes the copy begin anew.
    let backup = Backup::new(&source, &mut target).map_err(failed)?;
    backup.run_to_completion(i32::MAX, PAUSE, None).map_err(failed)?;
    drop(backup);
    drop(target);
    fold(to)
}

/// Folds the log of a ledger that nobody has open into its file, which is then whole by itself.
///
/// # Errors
/// Of the file.
pub fn fold(path: impl AsRef<Path>) -> Result<(), LedgerError> {
    let connection = Connection::open(path.as_ref()).map_err(failed)?;
    connection.pragma_update(None, "journal_mode", "DELETE").map_err(failed)?;
    drop(connection);
    let synced = std::fs::File::open(path).and_then(|file| file.sync_all());
    synced.map_err(|error| LedgerError::new(LedgerErrorKind::Unavailable, error))
}

fn failed(error: rusqlite::Error) -> LedgerError {
    LedgerError::new(kind_of(&error), error)
}
