//! Reading beside the writer: a few connections that cannot write, each call in one snapshot.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;

use crate::ledger::{LedgerError, LedgerErrorKind};

use super::{error::StoreError, schema};

/// Connections that only read.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    busy_timeout: Duration,
    idle: Mutex<Vec<Connection>>,
    permits: Semaphore,
    /// For what may take long: lists.
    lists: Semaphore,
}

impl Readers {
    /// At most `count` connections, each opened when it is first needed.
    pub(super) fn new(path: PathBuf, busy_timeout: Duration, count: usize) -> Arc<Self> {
        let permits = Semaphore::new(count.max(1));
        let lists = Semaphore::new((count / 2).max(1));
        Arc::new(Self { path, busy_timeout, idle: Mutex::default(), permits, lists })
    }

    /// The same for a list, of which there are only a few at a time, so that no other call waits for them.
    pub(super) async fn list<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let _permit = self
            .lists
            .acquire()
            .await
            .map_err(|error| LedgerError::new(LedgerErrorKind::Unavailable, error))?;
        self.read(work).await
    }

    /// Runs `work` on one snapshot, off the async threads.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let unavailable = |error| LedgerError::new(LedgerErrorKind::Unavailable, error);
        let _permit = self.permits.acquire().await.map_err(|error| unavailable(error.into()))?;
        let readers = self.clone();
        tokio::task::spawn_blocking(move || readers.read_now(work))
            .await
            .map_err(|error| unavailable(Box::<dyn std::error::Error + Send + Sync>::from(error)))?
            .map_err(LedgerError::from)
    }

    /// Runs `work`, which looks a row up by its key, where the caller is: that takes some microseconds,
    /// less than the way to another thread and back. Each statement sees a state of its own.
    pub(super) fn look_up<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let idle = self.idle().pop();
        let connection = idle.map_or_else(|| self.open(), Ok)?;
        let value = work(&connection)?;
        // A connection that failed is not used again.
        self.idle().push(connection);
        Ok(value)
    }

    fn read_now<T>(&self, work: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.look_up(|connection| {
            let snapshot = connection.unchecked_transaction()?;
            let value = work(&snapshot)?;
            snapshot.finish()?;
            Ok(value)
        })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(self.busy_timeout)?;
        connection.pragma_update(None, "cache_size", super::READER_CACHE_KIB)?;
        schema::keep_plans(&connection)?;
        Ok(connection)
    }
}
