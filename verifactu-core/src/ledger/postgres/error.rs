//! What a failure of the server, or of the way to it, means for the caller.

use std::{error::Error, sync::Arc};

use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::ledger::{LedgerError, LedgerErrorKind, append::Misfit, column::Unreadable};

/// A step failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    /// The server refused, or the connection broke. Nothing was written.
    #[error(transparent)]
    Server(#[from] tokio_postgres::Error),
    /// The server does not let us in, or is out of reach.
    #[error("no connection to the server")]
    NoConnection(#[source] tokio_postgres::Error),
    /// Every connection was in use for too long.
    #[error("no connection became free")]
    Busy,
    /// The server took too long. Nothing was written.
    #[error("the server did not answer in time")]
    TimedOut,
    /// The connection broke, or the server took too long, after it was told to commit.
    #[error("the connection was lost in a commit")]
    InCommit(#[source] Option<tokio_postgres::Error>),
    /// What is stored cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// The sealed record does not continue its chain.
    #[error(transparent)]
    Misfit(#[from] Misfit),
    /// The connection leads to something else than this process has opened.
    #[error("{0}")]
    Incompatible(String),
    /// What is stored, or what the caller brought, does not fit together.
    #[error("{0}")]
    Contradiction(&'static str),
}

impl StoreError {
    /// Whether the step may be done again at once: it lost a race, or the connection had died before.
    pub(super) fn may_be_repeated(&self) -> bool {
        match self {
            Self::Server(error) => match error.as_db_error() {
                Some(refusal) => lost_a_race(refusal) || ends_connection(refusal),
                None => is_broken(error),
            },
            _ => false,
        }
    }

    /// Whether the reason may lie with one of several that shared the step, so that the others may succeed
    /// without it.
    pub(super) fn may_concern_one(&self) -> bool {
        let locked = |error: &tokio_postgres::Error| error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE);
        self.kind() == LedgerErrorKind::Corrupt
            || matches!(self, Self::Server(error) if locked(error) || error.as_db_error().is_some_and(lost_a_race))
    }

    /// `None`, and a word in the log, if a row makes no sense: one damaged chain must not keep the others
    /// from being found.
    pub(super) fn unless_damaged<T>(chain: Result<T, impl std::fmt::Display>) -> Option<T> {
        chain.inspect_err(|error| tracing::error!(%error, "a chain is damaged and is passed over")).ok()
    }

    /// The constraint that a write would have broken.
    pub(super) fn constraint(&self) -> Option<&str> {
        let Self::Server(error) = self else { return None };
        let refusal = error.as_db_error()?;
        if *refusal.code() == SqlState::UNIQUE_VIOLATION { refusal.constraint() } else { None }
    }

    pub(super) fn kind(&self) -> LedgerErrorKind {
        match self {
            Self::Server(error) => kind_of(error),
            Self::NoConnection(_) | Self::Busy | Self::TimedOut => LedgerErrorKind::Unavailable,
            Self::InCommit(_) => LedgerErrorKind::Unknown,
            Self::Incompatible(_) => LedgerErrorKind::Incompatible,
            Self::Unreadable(_) | Self::Misfit(_) | Self::Contradiction(_) => LedgerErrorKind::Corrupt,
        }
    }
}

/// A failure that several callers are told.
pub(super) struct Shared(LedgerErrorKind, Arc<StoreError>);

impl From<StoreError> for Shared {
    fn from(error: StoreError) -> Self {
        Self(error.kind(), Arc::new(error))
    }
}

impl Shared {
    pub(super) fn to_each<T>(&self, count: usize) -> Vec<Result<T, LedgerError>> {
        (0..count).map(|_| Err(LedgerError::new(self.0, self.1.clone()))).collect()
    }
}

impl From<StoreError> for LedgerError {
    fn from(error: StoreError) -> Self {
        let kind = error.kind();
        Self::new(kind, error)
    }
}

/// A statement of the trip that ends with the commit failed. Only a refusal that the connection outlives
/// proves that the commit did not take place.
pub(super) fn in_commit(error: tokio_postgres::Error) -> StoreError {
    match error.as_db_error() {
        Some(refusal) if !ends_connection(refusal) => StoreError::Server(error),
        _ => StoreError::InCommit(Some(error)),
    }
}

/// The word for people is in the server's language; this one never is.
fn ends_connection(refusal: &DbError) -> bool {
    matches!(refusal.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
}

/// Indexes on what two nodes may take at the same time.
const CONTESTED: [&str; 4] = ["chain_key", "chain_minted", "record_invoice", "idempotency_pkey"];

fn lost_a_race(refusal: &DbError) -> bool {
    match *refusal.code() {
        SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED => true,
        SqlState::UNIQUE_VIOLATION => refusal.constraint().is_some_and(|name| CONTESTED.contains(&name)),
        _ => false,
    }
}

fn is_broken(error: &tokio_postgres::Error) -> bool {
    error.is_closed() || error.source().is_some_and(|source| source.is::<std::io::Error>())
}

fn kind_of(error: &tokio_postgres::Error) -> LedgerErrorKind {
    let Some(refusal) = error.as_db_error() else {
        return if is_broken(error) { LedgerErrorKind::Unavailable } else { LedgerErrorKind::Corrupt };
    };
    let code = refusal.code().code();
    // Connections, transaction states, authorization, catalogs, rollbacks, resources, the state of
    // objects, operators' actions, the system, and what a node that only reads refuses.
    const PASSING: [&str; 10] = ["08", "25", "28", "3D", "40", "42501", "53", "55", "57", "58"];
    if ends_connection(refusal) || lost_a_race(refusal) || PASSING.iter().any(|class| code.starts_with(class))
    {
        LedgerErrorKind::Unavailable
    } else {
        LedgerErrorKind::Corrupt
    }
}
