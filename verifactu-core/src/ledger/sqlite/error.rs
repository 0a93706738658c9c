//! What a failure of SQLite means for the caller.

use rusqlite::ErrorCode;

use crate::ledger::{LedgerError, LedgerErrorKind, append::Misfit};

/// A step of a transaction failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The sealed record does not continue its chain.
    #[error(transparent)]
    Misfit(#[from] Misfit),
    /// What is stored, or what the caller brought, does not fit together.
    #[error("{0}")]
    Contradiction(&'static str),
}

impl StoreError {
    /// Whether another program has the file locked.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self, Self::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy))
    }

    /// `None`, and a word in the log, if a row makes no sense: one damaged chain must not keep the others
    /// from being found. A store that does not answer is another matter.
    pub(super) fn unless_damaged<T>(chain: Result<T, Self>) -> Result<Option<T>, Self> {
        match chain {
            Err(Self::Sqlite(error)) if error.sqlite_error_code().is_some() => Err(error.into()),
            Err(error) => {
                tracing::error!(%error, "a chain is damaged and is passed over");
                Ok(None)
            }
            Ok(chain) => Ok(Some(chain)),
        }
    }
}

impl From<StoreError> for LedgerError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Sqlite(error) => Self::new(kind_of(&error), error),
            StoreError::Misfit(misfit) => Self::new(LedgerErrorKind::Corrupt, misfit),
            StoreError::Contradiction(what) => Self::new(LedgerErrorKind::Corrupt, what),
        }
    }
}

/// Whether the same call may succeed later, or what was read makes no sense.
pub(super) fn kind_of(error: &rusqlite::Error) -> LedgerErrorKind {
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::OutOfMemory
            | ErrorCode::OperationInterrupted
            | ErrorCode::OperationAborted
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::SchemaChanged,
        ) => LedgerErrorKind::Unavailable,
        _ => LedgerErrorKind::Corrupt,
    }
}
