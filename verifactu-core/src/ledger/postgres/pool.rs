//! Connections, and how they are used: a few of them, and nothing that waits without a bound.
//!
//! What can be sent together is sent together: a transaction is two trips to the server. The first begins
//! it and reads, the second writes and commits. A connection goes back to the others only when its
//! transaction has come to an end; one that failed, or whose caller went away halfway, is closed.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinHandle,
    time::timeout,
};
use tokio_postgres::{
    Client, Config, Row, Statement,
    types::{FromSql, ToSql},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    column::Cells,
    error::{StoreError, in_commit},
    row,
};

/// How often a step that lost a race is done again.
pub(super) const REPEATS: u32 = 3;
/// What the server has on top of its own limits, to tell of them.
const GRACE: Duration = Duration::from_secs(2);

/// Does a step, and does it again when it lost a race against another node, or met a connection that had
/// died meanwhile.
macro_rules! repeated {
    ($step:expr) => {{
        let mut left = $crate::ledger::postgres::pool::REPEATS;
        loop {
            match $step.await {
                Err(error) if left > 0 && error.may_be_repeated() => left -= 1,
                outcome => break outcome,
            }
        }
    }};
}

/// Sends statements one behind the other without waiting for answers between, and waits for all of them.
/// The first that fails is the reason why those behind it do.
macro_rules! together {
    ($($statement:expr),+ $(,)?) => {
        ::tokio::try_join!(biased; $(async { $statement.await }),+)
    };
}
pub(super) use {repeated, together};

pub(super) type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The connections of one process.
#[derive(Clone)]
pub(super) struct Pool(Arc<Shared>);

/// What connections are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Write,
    Read,
}

struct Shared {
    config: Config,
    access: Access,
    tls: MakeRustlsConnect,
    patience: Duration,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

struct Connection {
    client: Client,
    statements: HashMap<&'static str, Statement>,
    task: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Pool {
    /// At most `count` connections, each made when it is first needed. Nothing waits longer than
    /// `patience`: for a connection, for a lock, for an answer.
    pub(super) fn new(
        config: Config,
        tls: MakeRustlsConnect,
        access: Access,
        count: usize,
        patience: Duration,
    ) -> Self {
        let permits = Arc::new(Semaphore::new(count.max(1)));
        Self(Arc::new(Shared { config, access, tls, patience, idle: Mutex::default(), permits }))
    }

    /// Reads by one statement, which is a snapshot of its own.
    pub(super) async fn read(
        &self,
        statement: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        repeated!(self.read_once(statement, parameters))
    }

    /// Reads a number by one statement.
    pub(super) async fn count(
        &self,
        statement: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<u32, StoreError> {
        let rows = self.read(statement, parameters).await?;
        Ok(row::first(&rows, Cells::next::<u32>)?.unwrap_or_default())
    }

    async fn read_once(
        &self,
        statement: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let mut session = self.session().await?;
        let [statement] = session.prepare([statement]).await?;
        let rows = session.trip(session.query(&statement, parameters)).await?;
        session.release();
        Ok(rows)
    }

    /// Writes by one statement, which is a transaction of its own.
    pub(super) async fn write(
        &self,
        statement: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        repeated!(self.write_once(statement, parameters))
    }

    async fn write_once(
        &self,
        statement: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let mut session = self.session().await?;
        let [statement] = session.prepare([statement]).await?;
        let rows = session.last_trip(session.query(&statement, parameters)).await?;
        session.release();
        Ok(rows)
    }

    /// A connection of one's own, outside any transaction.
    pub(super) async fn session(&self) -> Result<Session, StoreError> {
        let permit = timeout(self.0.patience, self.0.permits.clone().acquire_owned());
        let permit = permit.await.ok().and_then(Result::ok).ok_or(StoreError::Busy)?;
        let known = loop {
            let idle = self.idle().pop();
            match idle {
                Some(connection) if connection.client.is_closed() => {}
                other => break other,
            }
        };
        let connection = match known {
            Some(connection) => connection,
            None => timeout(self.0.patience, self.connect()).await.map_err(|_| StoreError::TimedOut)??,
        };
        Ok(Session { connection, pool: self.clone(), permit })
    }

    async fn connect(&self) -> Result<Connection, StoreError> {
        let refused = StoreError::NoConnection;
        let (client, driver) = self.0.config.connect(self.0.tls.clone()).await.map_err(refused)?;
        let task = tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::debug!(error = &error as &dyn std::error::Error, "a connection to the ledger ended");
            }
        });
        let connection = Connection { client, statements: HashMap::new(), task };
        connection.client.batch_execute(&settings(self.0.access, self.0.patience)).await.map_err(refused)?;
        Ok(connection)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("free", &self.0.permits.available_permits()).finish_non_exhaustive()
    }
}

/// What every connection begins with.
///
/// An acknowledged record is on stable storage, also where the server as a whole is set to promise less;
/// a setting that promises more stays. Every query here has its index, so the planner, which may know the
/// tables only as they were when they were empty, is kept from reading them whole.
fn settings(access: Access, patience: Duration) -> String {
    let (patience, read_only) = (patience.as_millis(), access == Access::Read);
    format!(
        "SET statement_timeout = {patience}; SET lock_timeout = {patience}; \
         SET idle_in_transaction_session_timeout = {idle}; \
         SET default_transaction_isolation = 'read committed'; \
         SET default_transaction_read_only = {read_only}; SET client_min_messages = 'warning'; \
         SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; \
         SELECT set_config('synchronous_commit', 'on', false) \
         WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')",
        idle = 3 * patience
    )
}

/// A connection in one caller's hands.
pub(super) struct Session {
    connection: Connection,
    pool: Pool,
    permit: OwnedSemaphorePermit,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

impl Session {
    /// The statements, which the server keeps for the life of the connection.
    pub(super) async fn prepare<const N: usize>(
        &mut self,
        texts: [&'static str; N],
    ) -> Result<[Statement; N], StoreError> {
        let Connection { client, statements, .. } = &mut self.connection;
        let patience = self.pool.0.patience + GRACE;
        for text in texts {
            if !statements.contains_key(text) {
                let prepared =
                    timeout(patience, client.prepare(text)).await.map_err(|_| StoreError::TimedOut)?;
                statements.insert(text, prepared?);
            }
        }
        Ok(texts.map(|text| statements[text].clone()))
    }

    /// Runs statements that return nothing.
    pub(super) async fn run(&self, statements: &str) -> Result<(), StoreError> {
        Ok(self.connection.client.batch_execute(statements).await?)
    }

    /// The value that a statement returns, if it returns one.
    pub(super) async fn ask<T: for<'a> FromSql<'a>>(&self, statement: &str) -> Result<Option<T>, StoreError> {
        let row = self.connection.client.query_opt(statement, &[]).await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?.flatten())
    }

    /// Begins a transaction.
    pub(super) async fn start(&self) -> Result<(), tokio_postgres::Error> {
        self.connection.client.batch_execute("BEGIN; SET LOCAL plan_cache_mode = force_generic_plan").await
    }

    pub(super) async fn query(
        &self,
        statement: &Statement,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        self.connection.client.query(statement, parameters).await
    }

    pub(super) fn client(&self) -> &Client {
        &self.connection.client
    }

    /// Waits for the answers to statements that write nothing for good.
    pub(super) async fn trip<T>(
        &self,
        statements: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, StoreError> {
        let answers = timeout(self.pool.0.patience + GRACE, statements).await;
        Ok(answers.map_err(|_| StoreError::TimedOut)??)
    }

    /// Ends the transaction; to be sent behind the statements of its last trip.
    pub(super) async fn commit(&self) -> Result<(), tokio_postgres::Error> {
        self.connection.client.batch_execute("COMMIT").await
    }

    /// Waits for the answers to statements of which the last one commits.
    pub(super) async fn last_trip<T>(
        &self,
        statements: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, StoreError> {
        let answers = timeout(self.pool.0.patience + GRACE, statements).await;
        answers.map_err(|_| StoreError::InCommit(None))?.map_err(in_commit)
    }

    /// Gives the transaction up, of which nothing is to stay.
    pub(super) async fn roll_back(self) -> Result<(), StoreError> {
        self.trip(self.connection.client.batch_execute("ROLLBACK")).await?;
        self.release();
        Ok(())
    }

    /// Gives the connection back, outside any transaction.
    pub(super) fn release(self) {
        let Self { connection, pool, permit } = self;
        pool.idle().push(connection);
        drop(permit);
    }
}
