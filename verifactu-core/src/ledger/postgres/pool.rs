//! Connections, and how they are used: a few of them, and nothing that waits without a bound.
//!
//! What can be sent together is sent together: a transaction is two trips to the server. The first begins
//! it and reads, the second writes and commits. A connection goes back to the others only when its
//! transaction has come to an end; one that failed, or whose caller went away halfway, is closed.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinHandle,
    time::timeout,
};
use tokio_postgres::{
    Client, Config, Row, SimpleQueryMessage, SimpleQueryRow, Statement,
    types::{FromSql, ToSql},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::types::Environment;

use super::{
    column::Cells,
    error::{StoreError, in_commit},
    row, schema,
};

/// How often a step that lost a race is done again.
pub(super) const REPEATS: u32 = 3;
/// What the server has on top of its own limits, to tell of them.
const GRACE: Duration = Duration::from_secs(2);
/// A host that is there takes a connection long before.
const LONGEST_CONNECT: Duration = Duration::from_secs(5);

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
    /// What every connection has to lead to, once the ledger is known to be there.
    environment: OnceLock<Environment>,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
    /// What one kind of use may take of the connections, where it could take all.
    share: usize,
    /// For what may take long: lists.
    lists: Arc<Semaphore>,
}

struct Connection {
    client: Client,
    /// What begins a transaction.
    begin: &'static str,
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
    ///
    /// Hosts are tried one after another, so one that is silent must leave the others their share.
    pub(super) fn new(
        mut config: Config,
        tls: MakeRustlsConnect,
        access: Access,
        count: usize,
        patience: Duration,
    ) -> Self {
        if config.get_connect_timeout().is_none() {
            let hosts = u32::try_from(config.get_hosts().len()).unwrap_or(u32::MAX);
            let share = patience / hosts.saturating_add(1);
            config.connect_timeout(share.clamp(Duration::from_secs(1), LONGEST_CONNECT));
        }
        let permits = Arc::new(Semaphore::new(count.max(1)));
        let share = (count * 3 / 10).max(1);
        let lists = Arc::new(Semaphore::new(share));
        let environment = OnceLock::new();
        Self(Arc::new(Shared {
            config,
            access,
            tls,
            patience,
            environment,
            idle: Mutex::default(),
            permits,
            share,
            lists,
        }))
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

    /// Reads by one statement whose plan is made once and kept, as those of transactions are.
    pub(super) async fn look_up(
        &self,
        statement: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.write(statement, parameters).await
    }

    async fn write_once(
        &self,
        statement: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let mut session = self.session().await?;
        let [statement] = session.prepare([statement]).await?;
        let write =
            async { together!(session.start(), session.query(&statement, parameters), session.commit()) };
        let (_, rows, _) = session.last_trip(write).await?;
        session.release();
        Ok(rows)
    }

    /// Looks at the ledger of a session, and from now on at that of every new connection: it may lead to
    /// another server than the last one did.
    pub(super) async fn keep_to(
        &self,
        environment: Environment,
        session: &Session,
    ) -> Result<(), StoreError> {
        self.0.environment.get_or_init(|| environment);
        let said = session.trip(session.client().simple_query(schema::STAMP)).await?;
        rows(&said).try_for_each(|row| schema::prove(row, environment))
    }

    /// What one kind of use may take of the connections.
    pub(super) fn share(&self) -> usize {
        self.0.share
    }

    /// The longest wait for one thing.
    pub(super) fn patience(&self) -> Duration {
        self.0.patience
    }

    /// A connection of one's own, outside any transaction.
    pub(super) async fn session(&self) -> Result<Session, StoreError> {
        let permit = self.permit(&self.0.permits).await?;
        let known = loop {
            let idle = self.idle().pop();
            match idle {
                Some(connection) if connection.client.is_closed() => {}
                other => break other,
            }
        };
        let connection = match known {
            Some(connection) => connection,
            None => self.within(self.0.patience, self.connect()).await.ok_or(StoreError::TimedOut)??,
        };
        Ok(Session { connection, pool: self.clone(), permit, list: None })
    }

    /// The same for a list, of which there are only a few at a time.
    pub(super) async fn session_for_lists(&self) -> Result<Session, StoreError> {
        let list = Some(self.permit(&self.0.lists).await?);
        Ok(Session { list, ..self.session().await? })
    }

    async fn permit(&self, permits: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, StoreError> {
        let permit = timeout(self.0.patience, permits.clone().acquire_owned()).await;
        permit.ok().and_then(Result::ok).ok_or(StoreError::Busy)
    }

    /// `None` when it takes too long. What fell silent is taken to be the server, or the way to it, so that
    /// nobody waits once more on each connection that was made before.
    async fn within<T>(&self, patience: Duration, answer: impl Future<Output = T>) -> Option<T> {
        let answer = timeout(patience, answer).await.ok();
        if answer.is_none() {
            self.idle().clear();
        }
        answer
    }

    async fn connect(&self) -> Result<Connection, StoreError> {
        let refused = StoreError::NoConnection;
        let (client, driver) = self.0.config.connect(self.0.tls.clone()).await.map_err(refused)?;
        let task = tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::debug!(error = &error as &dyn std::error::Error, "a connection to the ledger ended");
            }
        });
        let mut connection = Connection { client, begin: BEGIN, statements: HashMap::new(), task };
        let environment = self.0.environment.get();
        let settings = settings(self.0.access, self.0.patience, environment.map(|_| schema::STAMP));
        let said = connection.client.simple_query(&settings).await.map_err(refused)?;
        for row in rows(&said) {
            match environment {
                Some(environment) if row.len() > 1 => schema::prove(row, *environment)?,
                _ => connection.begin = BEGIN_DURABLE,
            }
        }
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

fn rows(said: &[SimpleQueryMessage]) -> impl Iterator<Item = &SimpleQueryRow> {
    said.iter().filter_map(|said| match said {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    })
}

/// What every transaction begins with. It is no setting of the connection, because a pooler between us and
/// the server may give each transaction to another one. Plans are made once and kept.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL plan_cache_mode = force_generic_plan";
/// The same where the server as a whole is set to acknowledge what is not on stable storage yet. A setting
/// that promises more stays.
const BEGIN_DURABLE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
                             SET LOCAL plan_cache_mode = force_generic_plan; \
                             SET LOCAL synchronous_commit = on";

/// What every connection begins with. It answers with a row of one cell where the server promises too
/// little, and with the ledger's stamp where that is asked for.
///
/// Every query here has its index, so the planner, which may know the tables only as they were when they
/// were empty, is kept from reading them whole.
fn settings(access: Access, patience: Duration, stamp: Option<&str>) -> String {
    let (patience, read_only) = (patience.as_millis(), access == Access::Read);
    format!(
        "SET statement_timeout = {patience}; SET lock_timeout = {patience}; \
         SET idle_in_transaction_session_timeout = {idle}; \
         SET default_transaction_read_only = {read_only}; SET client_min_messages = 'warning'; \
         SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; \
         SELECT 1 WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write'); {stamp}",
        idle = 3 * patience,
        stamp = stamp.unwrap_or_default()
    )
}

/// A connection in one caller's hands.
pub(super) struct Session {
    connection: Connection,
    pool: Pool,
    permit: OwnedSemaphorePermit,
    list: Option<OwnedSemaphorePermit>,
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
                let prepared = self.pool.within(patience, client.prepare(text)).await;
                statements.insert(text, prepared.ok_or(StoreError::TimedOut)??);
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
        self.connection.client.batch_execute(self.connection.begin).await
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
        let answers = self.pool.within(self.pool.0.patience + GRACE, statements).await;
        Ok(answers.ok_or(StoreError::TimedOut)??)
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
        let answers = self.pool.within(self.pool.0.patience + GRACE, statements).await;
        answers.ok_or(StoreError::InCommit(None))?.map_err(in_commit)
    }

    /// Gives the transaction up, of which nothing is to stay.
    pub(super) async fn roll_back(self) -> Result<(), StoreError> {
        self.trip(self.connection.client.batch_execute("ROLLBACK")).await?;
        self.release();
        Ok(())
    }

    /// Gives the connection back, outside any transaction.
    pub(super) fn release(self) {
        let Self { connection, pool, permit, list } = self;
        pool.idle().push(connection);
        drop((permit, list));
    }
}
