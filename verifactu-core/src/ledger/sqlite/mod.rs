//! The embedded ledger: one SQLite file, for one writing process.
//!
//! Appends are on stable storage when they return (write-ahead log, `synchronous=FULL`); those that
//! arrive together share one flush. Reading goes on beside writing. Nothing is kept in memory between
//! calls, so what the file says is the truth, also after a crash or a restored copy; the file can be
//! inspected and copied with SQLite's own tools while the service runs.
//!
//! Work of an engine (due chains, waiting records) is found through indexes that hold unfinished jobs
//! only, so its cost does not grow with the ledger.

mod accounts;
mod append;
mod column;
mod copy;
mod error;
mod listing;
mod reader;
mod row;
mod schema;
mod settle;
mod upkeep;
mod usage;
mod webhook;
mod work;
mod writer;

use std::{ops::Range, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use jiff::Timestamp;

use crate::{
    job::{JobKind, Progress},
    record::InvoiceId,
    types::{ChainId, Environment, JobId, Nif, RecordId, TenantId},
};

pub use copy::{copy, fold};

use self::{error::StoreError, reader::Readers, writer::Writer};
use super::{
    Append, Appended, Attempt, ChainSearch, ChainState, Claimed, Fenced, Filter, Hold, HoldReason, Lease,
    Ledger, LedgerError, Listing, NewMessage, Overview, Page, Reassess, RecordRow, Search, Selection,
    SentMessage, Settlement, Submission, Turnover, Usage,
};

/// Memory for pages, in SQLite's spelling: a negative number counts KiB.
const WRITER_CACHE_KIB: i64 = -65_536;
const READER_CACHE_KIB: i64 = -16_384;
/// Pages of 4 KiB that the write-ahead log gathers before they move to the file: the larger the ledger, the
/// more pages a record touches, and those that many records touch move once.
const CHECKPOINT_PAGES: i64 = 8000;
/// The write-ahead log is cut back to this after it has grown.
const JOURNAL_LIMIT_BYTES: i64 = 64 << 20;
/// Prepared statements kept per connection; more than there are.
const STATEMENTS: usize = 96;

/// A ledger in one file.
///
/// Dropping it finishes what waits, and blocks until the writing thread has ended.
///
/// ```
/// use verifactu_core::{ledger::{Ledger, sqlite::{SqliteLedger, SqliteOptions}}, types::Environment};
/// # async fn example() -> Result<(), verifactu_core::ledger::LedgerError> {
/// let ledger = SqliteLedger::open("ledger.db", Environment::Sandbox, &SqliteOptions::default())?;
/// ledger.probe().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SqliteLedger {
    writer: Writer,
    readers: Arc<Readers>,
    /// They never wait for another program.
    lookups: Arc<Readers>,
    /// The last message that was open when the file was opened. Whoever sent it is gone, because the file
    /// has one writing process.
    found: i64,
}

/// How a [`SqliteLedger`] uses its file.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// The most connections that read at the same time.
    pub readers: usize,
    /// How long a call waits while another program holds the file locked.
    pub busy_timeout: Duration,
    /// The most pages of 4 KiB that the file may have; `None` for as many as the disk has room for.
    pub max_pages: Option<u32>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { readers: 4, busy_timeout: Duration::from_secs(5), max_pages: None }
    }
}

impl SqliteLedger {
    /// Opens the file, or creates it with the stamp of the environment. Blocks for some milliseconds,
    /// whatever the size of the ledger, unless a newer schema has to be applied.
    ///
    /// # Errors
    /// `Unavailable` when another process writes to the ledger or the file is out of reach,
    /// `Incompatible` when it belongs to another environment, was written by a newer version or is no
    /// ledger, `Corrupt` when it is no database.
    pub fn open(
        path: impl AsRef<Path>,
        environment: Environment,
        options: &SqliteOptions,
    ) -> Result<Self, LedgerError> {
        let path = path.as_ref();
        let (connection, lock) = schema::open(path, environment, options)?;
        let found = work::last_open_message(&connection)?;
        let writer = Writer::start(connection, lock)
            .map_err(|error| LedgerError::new(super::LedgerErrorKind::Unavailable, error))?;
        Ok(Self::with(writer, path, options, found))
    }

    /// Opens the file to read it, beside whoever writes to it; it is neither created nor migrated, and what
    /// would write fails.
    ///
    /// # Errors
    /// As [`open`](Self::open); `Incompatible` also when a newer schema would have to be applied.
    pub fn open_read_only(
        path: impl AsRef<Path>,
        environment: Environment,
        options: &SqliteOptions,
    ) -> Result<Self, LedgerError> {
        let path = path.as_ref();
        schema::check(path, environment, options)?;
        Ok(Self::with(Writer::absent(), path, options, 0))
    }

    fn with(writer: Writer, path: &Path, options: &SqliteOptions, found: i64) -> Self {
        let readers = |patience| Readers::new(path.to_owned(), patience, options.readers);
        Self { writer, readers: readers(options.busy_timeout), lookups: readers(Duration::ZERO), found }
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&rusqlite::Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        self.writer.write(work).await
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&rusqlite::Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        self.readers.read(work).await
    }

    /// Looks up by keys, at once where nothing is in the way.
    async fn look_up<T: Send + 'static>(
        &self,
        work: impl Fn(&rusqlite::Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        match self.lookups.look_up(&work) {
            Err(error) if error.is_busy() => self.read(work).await,
            found => found.map_err(LedgerError::from),
        }
    }
}

#[async_trait]
impl Ledger for SqliteLedger {
    async fn append(&self, append: Append) -> Result<Appended, LedgerError> {
        self.write(move |store| append::append(store, &append)).await
    }

    async fn replay(
        &self,
        tenant: &TenantId,
        kind: JobKind,
        key: &str,
    ) -> Result<Option<([u8; 32], Submission)>, LedgerError> {
        let (tenant, key) = (tenant.clone(), key.to_owned());
        self.look_up(move |store| append::replay(store, &tenant, kind, &key)).await
    }

    async fn job(&self, tenant: &TenantId, job: JobId) -> Result<Option<Submission>, LedgerError> {
        let tenant = tenant.clone();
        self.look_up(move |store| row::job(store, job, &tenant)).await
    }

    async fn find_job(&self, job: JobId) -> Result<Option<Submission>, LedgerError> {
        self.read(move |store| row::find_job(store, job)).await
    }

    async fn search(&self, search: &Search, page: Page) -> Result<Listing, LedgerError> {
        let search = search.clone();
        self.readers.list(move |store| listing::search(store, &search, page)).await
    }

    async fn messages(&self, job: JobId) -> Result<Vec<SentMessage>, LedgerError> {
        self.read(move |store| row::messages(store, job)).await
    }

    async fn record(&self, tenant: &TenantId, record: RecordId) -> Result<Option<Submission>, LedgerError> {
        let tenant = tenant.clone();
        self.read(move |store| row::record(store, record, &tenant)).await
    }

    async fn list(
        &self,
        tenant: &TenantId,
        filter: &Filter,
        page: Page,
    ) -> Result<Option<Listing>, LedgerError> {
        let (tenant, filter) = (tenant.clone(), filter.clone());
        self.readers.list(move |store| listing::list(store, &tenant, &filter, page)).await
    }

    async fn claim(&self, chain: ChainId, under_way: Range<Timestamp>) -> Result<Claimed, LedgerError> {
        let found = self.found;
        self.write(move |store| work::claim(store, chain, &under_way, found)).await
    }

    async fn work(&self, lease: Lease, selection: Selection) -> Result<Vec<Submission>, LedgerError> {
        self.read(move |store| work::select(store, lease.chain, selection)).await
    }

    async fn overtaken(&self, lease: Lease, records: &[RecordId]) -> Result<Vec<Submission>, LedgerError> {
        let records = records.to_owned();
        self.read(move |store| work::overtaken(store, lease.chain, &records)).await
    }

    async fn history(&self, tenant: &TenantId, invoice: &InvoiceId) -> Result<Vec<Submission>, LedgerError> {
        let (tenant, invoice) = (tenant.clone(), invoice.clone());
        self.read(move |store| row::history(store, &tenant, &invoice)).await
    }

    async fn open_message(&self, lease: Lease, message: NewMessage) -> Result<Fenced, LedgerError> {
        self.write(move |store| settle::open_message(store, lease, &message)).await
    }

    async fn settle(&self, lease: Lease, settlement: Settlement) -> Result<Fenced, LedgerError> {
        self.write(move |store| settle::settle(store, lease, &settlement)).await
    }

    async fn due(&self, chain: ChainId) -> Result<Option<Timestamp>, LedgerError> {
        self.read(move |store| work::due(store, chain)).await
    }

    async fn due_chains(
        &self,
        after: Option<ChainId>,
        limit: u32,
    ) -> Result<Vec<(ChainId, Timestamp)>, LedgerError> {
        self.read(move |store| work::due_chains(store, after, limit)).await
    }

    async fn hold(
        &self,
        tenant: &TenantId,
        issuer: Option<Nif>,
        hold: &Hold,
    ) -> Result<Vec<ChainId>, LedgerError> {
        let (tenant, hold) = (tenant.clone(), hold.clone());
        self.write(move |store| settle::hold(store, &tenant, issuer, &hold)).await
    }

    async fn release(
        &self,
        tenant: &TenantId,
        issuer: Option<Nif>,
        reason: HoldReason,
    ) -> Result<Vec<ChainId>, LedgerError> {
        let tenant = tenant.clone();
        self.write(move |store| settle::release(store, &tenant, issuer, reason)).await
    }

    async fn revise(&self, job: JobId, seen: &Progress, next: &Progress) -> Result<bool, LedgerError> {
        let (seen, next) = (seen.clone(), next.clone());
        self.write(move |store| settle::revise(store, job, &seen, &next)).await
    }

    async fn chains(&self, tenant: &TenantId) -> Result<Vec<ChainState>, LedgerError> {
        let tenant = tenant.clone();
        self.read(move |store| row::chains(store, &tenant)).await
    }

    async fn chain(&self, chain: ChainId) -> Result<Option<ChainState>, LedgerError> {
        self.read(move |store| Ok(row::chain(store, chain)?.map(|chain| chain.state))).await
    }

    async fn search_chains(
        &self,
        search: &ChainSearch,
        page: Page<ChainId>,
    ) -> Result<Listing<(ChainState, Option<Timestamp>)>, LedgerError> {
        let search = search.clone();
        self.read(move |store| listing::search_chains(store, &search, page)).await
    }

    async fn records(&self, chain: ChainId, from: u64, limit: u32) -> Result<Vec<RecordRow>, LedgerError> {
        self.read(move |store| row::records(store, chain, from, limit)).await
    }

    async fn attempts(&self, job: JobId) -> Result<Vec<Attempt>, LedgerError> {
        self.read(move |store| row::attempts(store, job)).await
    }

    async fn answer_line(&self, job: JobId) -> Result<Option<Bytes>, LedgerError> {
        self.read(move |store| row::answer_line(store, job)).await
    }

    async fn usage(&self, tenant: &TenantId, since: &str) -> Result<Vec<Usage>, LedgerError> {
        let (tenant, since) = (tenant.clone(), since.to_owned());
        self.read(move |store| usage::usage(store, &tenant, &since)).await
    }

    async fn turnover(&self, tenant: &TenantId, since: &str) -> Result<Vec<Turnover>, LedgerError> {
        let (tenant, since) = (tenant.clone(), since.to_owned());
        self.read(move |store| usage::turnover(store, &tenant, &since)).await
    }

    async fn overview(&self) -> Result<Overview, LedgerError> {
        self.read(upkeep::overview).await
    }

    async fn prune(&self, before: Timestamp, limit: u32) -> Result<u64, LedgerError> {
        self.write(move |store| upkeep::prune(store, before, limit)).await
    }

    async fn close_chains(&self, at: Timestamp, reassess: Reassess) -> Result<u64, LedgerError> {
        self.write(move |store| upkeep::close_chains(store, at, &*reassess)).await
    }

    async fn probe(&self) -> Result<(), LedgerError> {
        self.write(|store| {
            store.prepare_cached("UPDATE ledger SET probes = probes + 1")?.execute([])?;
            Ok(())
        })
        .await
    }
}
