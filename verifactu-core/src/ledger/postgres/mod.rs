//! The ledger of several nodes, in PostgreSQL (14 or newer).
//!
//! The database serialises what must not happen twice: a record is appended under the lock of its
//! chain's row, a worker writes under that lock and its epoch, and unique indexes keep keys, invoices and
//! links from being taken by two nodes at once. Appends that meet on a node, of whatever chains, share a
//! transaction, which is two trips to the server whatever their number.
//!
//! Nothing is kept in memory between calls, so any node answers any request. A call that the server or the
//! network fails is `Unavailable` while nothing can have been written, and `Unknown` from the commit on.

mod accept;
mod accounts;
mod address;
mod append;
mod callers;
mod column;
mod error;
mod group;
mod listing;
mod pool;
mod row;
mod schema;
mod settle;
mod upkeep;
mod webhook;
mod work;
mod write;

use std::{ops::Range, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use jiff::Timestamp;

use crate::{
    job::{JobKind, Progress},
    record::InvoiceId,
    types::{ChainId, Environment, JobId, Nif, RecordId, TenantId},
};

use self::{
    callers::Callers,
    group::Groups,
    pool::{Access, Pool, Session, repeated},
};
use super::{
    Append, Appended, Attempt, ChainSearch, ChainState, Claimed, Fenced, Filter, Hold, HoldReason, Lease,
    Ledger, LedgerError, Listing, NewMessage, Overview, Page, Reassess, RecordRow, Search, Selection,
    SentMessage, Settlement, Submission, Turnover, Usage,
};

/// A ledger in a database.
///
/// ```no_run
/// use verifactu_core::{ledger::{Ledger, postgres::{PostgresLedger, PostgresOptions}}, types::Environment};
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let address = "postgres://verifactu:secret@db.example.com/verifactu";
/// let ledger = PostgresLedger::open(address, Environment::Sandbox, &PostgresOptions::default()).await?;
/// ledger.probe().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct PostgresLedger {
    pool: Pool,
    groups: Groups,
    callers: Callers,
    /// Keeps the ledger for this process alone.
    _alone: Option<Session>,
}

/// How a [`PostgresLedger`] uses its server.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// The most connections of this process, each made when it is first needed.
    pub connections: usize,
    /// The longest wait for a connection, for a lock, or for an answer.
    pub patience: Duration,
    /// The only roots to trust (PEM); those of the operating system if absent.
    pub roots: Option<Vec<u8>>,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self { connections: 10, patience: Duration::from_secs(10), roots: None }
    }
}

/// The ledger cannot be opened. Nothing of the address is shown, because it may hold a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresSetupError {
    /// The address is no address.
    #[error("the address is not postgres://user:password@host:port/database")]
    Address,
    /// The roots cannot be read.
    #[error("the roots are not certificates in PEM")]
    Roots,
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
    /// The server is out of reach or refuses, or the database is no ledger of this environment.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl PostgresLedger {
    /// Opens the ledger at an address of the form `postgres://user:password@host:port/database`, or
    /// creates it there with the stamp of the environment. Of PostgreSQL's parameters `sslmode` is
    /// `disable`, `prefer`, `require` or `verify-full`; the last two are the same, because TLS always
    /// checks the server's certificate and name. Without it, TLS is required unless every host is this
    /// computer.
    ///
    /// # Errors
    /// [`PostgresSetupError`]; a [`LedgerError`] in it is `Unavailable` when the server is out of reach or
    /// lets nobody in, and `Incompatible` when the database belongs to another environment, was written
    /// by a newer version, is no ledger, or is on another server than it was before, which the operator has
    /// to confirm.
    pub async fn open(
        address: &str,
        environment: Environment,
        options: &PostgresOptions,
    ) -> Result<Self, PostgresSetupError> {
        let pool = pool(address, options, Access::Write)?;
        let session = pool.session().await.map_err(LedgerError::from)?;
        schema::migrate(&session, environment).await?;
        pool.keep_to(environment, &session).await.map_err(LedgerError::from)?;
        session.release();
        Ok(Self::on(pool, None))
    }

    /// Opens a ledger that is there to read it, beside those who write to it or on a server that only
    /// repeats another; it is neither made nor migrated, and what would write fails.
    ///
    /// # Errors
    /// As [`open`](Self::open); `Incompatible` also when there is no ledger yet, or a newer schema would have
    /// to be applied.
    pub async fn open_read_only(
        address: &str,
        environment: Environment,
        options: &PostgresOptions,
    ) -> Result<Self, PostgresSetupError> {
        let pool = pool(address, options, Access::Read)?;
        let session = pool.session().await.map_err(LedgerError::from)?;
        schema::check(&session, environment).await?;
        session.release();
        Ok(Self::on(pool, None))
    }

    /// Opens a ledger that is there for this process alone, such as one that was restored from a dump and
    /// whose chains are to be closed. Until it is dropped, everybody else who opens it waits.
    ///
    /// # Errors
    /// As [`open`](Self::open); `Incompatible` also when there is no ledger, `Unavailable` also while any
    /// other program is connected to the database.
    pub async fn open_alone(
        address: &str,
        environment: Environment,
        options: &PostgresOptions,
    ) -> Result<Self, PostgresSetupError> {
        // One connection does nothing but keep the others out.
        let options = PostgresOptions { connections: options.connections + 1, ..options.clone() };
        let pool = pool(address, &options, Access::Write)?;
        let session = pool.session().await.map_err(LedgerError::from)?;
        schema::take(&session, environment).await?;
        Ok(Self::on(pool, Some(session)))
    }

    /// Proves that a ledger could be opened at an address as far as that can be told without a connection.
    ///
    /// # Errors
    /// [`PostgresSetupError`], of the address or of the roots.
    pub fn check(address: &str, options: &PostgresOptions) -> Result<(), PostgresSetupError> {
        pool(address, options, Access::Write).map(drop)
    }

    fn on(pool: Pool, alone: Option<Session>) -> Self {
        Self { groups: Groups::new(pool.clone()), callers: Callers::new(pool.clone()), pool, _alone: alone }
    }
}

fn pool(address: &str, options: &PostgresOptions, access: Access) -> Result<Pool, PostgresSetupError> {
    let config = address::read(address, access)?;
    let tls = address::tls(options.roots.as_deref())?;
    Ok(Pool::new(config, tls, access, options.connections, options.patience))
}

#[async_trait]
impl Ledger for PostgresLedger {
    async fn append(&self, append: Append) -> Result<Appended, LedgerError> {
        self.groups.append(append).await
    }

    async fn replay(
        &self,
        tenant: &TenantId,
        kind: JobKind,
        key: &str,
    ) -> Result<Option<([u8; 32], Submission)>, LedgerError> {
        Ok(row::replay(&self.pool, tenant, kind, key).await?)
    }

    async fn job(&self, tenant: &TenantId, job: JobId) -> Result<Option<Submission>, LedgerError> {
        Ok(row::job(&self.pool, job, tenant).await?)
    }

    async fn find_job(&self, job: JobId) -> Result<Option<Submission>, LedgerError> {
        Ok(row::find_job(&self.pool, job).await?)
    }

    async fn search(&self, search: &Search, page: Page) -> Result<Listing, LedgerError> {
        Ok(repeated!(listing::search(&self.pool, search, page))?)
    }

    async fn messages(&self, job: JobId) -> Result<Vec<SentMessage>, LedgerError> {
        Ok(row::messages(&self.pool, job).await?)
    }

    async fn record(&self, tenant: &TenantId, record: RecordId) -> Result<Option<Submission>, LedgerError> {
        Ok(row::record(&self.pool, record, tenant).await?)
    }

    async fn list(
        &self,
        tenant: &TenantId,
        filter: &Filter,
        page: Page,
    ) -> Result<Option<Listing>, LedgerError> {
        Ok(repeated!(listing::list(&self.pool, tenant, filter, page))?)
    }

    async fn claim(&self, chain: ChainId, under_way: Range<Timestamp>) -> Result<Claimed, LedgerError> {
        Ok(repeated!(work::claim(&self.pool, chain, &under_way))?)
    }

    async fn work(&self, lease: Lease, selection: Selection) -> Result<Vec<Submission>, LedgerError> {
        Ok(work::select(&self.pool, lease.chain, selection).await?)
    }

    async fn overtaken(&self, lease: Lease, records: &[RecordId]) -> Result<Vec<Submission>, LedgerError> {
        Ok(work::overtaken(&self.pool, lease.chain, records).await?)
    }

    async fn history(&self, tenant: &TenantId, invoice: &InvoiceId) -> Result<Vec<Submission>, LedgerError> {
        Ok(row::history(&self.pool, tenant, invoice).await?)
    }

    async fn open_message(&self, lease: Lease, message: NewMessage) -> Result<Fenced, LedgerError> {
        Ok(repeated!(settle::open_message(&self.pool, lease, &message))?)
    }

    async fn settle(&self, lease: Lease, settlement: Settlement) -> Result<Fenced, LedgerError> {
        Ok(repeated!(settle::settle(&self.pool, lease, &settlement))?)
    }

    async fn due(&self, chain: ChainId) -> Result<Option<Timestamp>, LedgerError> {
        Ok(work::due(&self.pool, chain).await?)
    }

    async fn due_chains(
        &self,
        after: Option<ChainId>,
        limit: u32,
    ) -> Result<Vec<(ChainId, Timestamp)>, LedgerError> {
        Ok(work::due_chains(&self.pool, after, limit).await?)
    }

    async fn hold(
        &self,
        tenant: &TenantId,
        issuer: Option<Nif>,
        hold: &Hold,
    ) -> Result<Vec<ChainId>, LedgerError> {
        Ok(settle::hold(&self.pool, tenant, issuer, hold).await?)
    }

    async fn release(
        &self,
        tenant: &TenantId,
        issuer: Option<Nif>,
        reason: HoldReason,
    ) -> Result<Vec<ChainId>, LedgerError> {
        Ok(settle::release(&self.pool, tenant, issuer, reason).await?)
    }

    async fn revise(&self, job: JobId, seen: &Progress, next: &Progress) -> Result<bool, LedgerError> {
        Ok(repeated!(settle::revise(&self.pool, job, seen, next))?)
    }

    async fn chain(&self, chain: ChainId) -> Result<Option<ChainState>, LedgerError> {
        Ok(row::chain(&self.pool, chain).await?)
    }

    async fn search_chains(
        &self,
        search: &ChainSearch,
        page: Page<ChainId>,
    ) -> Result<Listing<(ChainState, Option<Timestamp>)>, LedgerError> {
        Ok(row::search_chains(&self.pool, search, page).await?)
    }

    async fn chains(&self, tenant: &TenantId) -> Result<Vec<ChainState>, LedgerError> {
        Ok(row::chains(&self.pool, tenant).await?)
    }

    async fn records(&self, chain: ChainId, from: u64, limit: u32) -> Result<Vec<RecordRow>, LedgerError> {
        Ok(row::records(&self.pool, chain, from, limit).await?)
    }

    async fn attempts(&self, job: JobId) -> Result<Vec<Attempt>, LedgerError> {
        Ok(row::attempts(&self.pool, job).await?)
    }

    async fn answer_line(&self, job: JobId) -> Result<Option<Bytes>, LedgerError> {
        Ok(row::answer_line(&self.pool, job).await?)
    }

    async fn usage(&self, tenant: &TenantId, since: &str) -> Result<Vec<Usage>, LedgerError> {
        Ok(row::usage(&self.pool, tenant, since).await?)
    }

    async fn turnover(&self, tenant: &TenantId, since: &str) -> Result<Vec<Turnover>, LedgerError> {
        Ok(row::turnover(&self.pool, tenant, since).await?)
    }

    async fn overview(&self) -> Result<Overview, LedgerError> {
        Ok(upkeep::overview(&self.pool).await?)
    }

    async fn prune(&self, before: Timestamp, limit: u32) -> Result<u64, LedgerError> {
        Ok(upkeep::prune(&self.pool, before, limit).await?)
    }

    async fn close_chains(&self, at: Timestamp, reassess: Reassess) -> Result<u64, LedgerError> {
        Ok(repeated!(upkeep::close_chains(&self.pool, at, &*reassess))?)
    }

    async fn probe(&self) -> Result<(), LedgerError> {
        self.pool.write("UPDATE ledger SET probes = probes + 1", &[]).await?;
        Ok(())
    }
}
