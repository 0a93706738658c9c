//! The one thread that writes. It takes what is waiting, up to [`GROUP`] calls, into one transaction,
//! so that callers at the same time share one flush to the disk, and answers them after the commit.
//!
//! A call that fails leaves no trace and does not touch the others. Since hardly any does, the group runs
//! without savepoints, for each of which SQLite would copy every page that is changed; once a call has
//! failed, all of them run again, each in its own. If the transaction as a whole is lost, every call of the
//! group fails, whatever it had found.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode};
use tokio::sync::{mpsc, oneshot};

use crate::ledger::{LedgerError, LedgerErrorKind};

use super::error::{StoreError, kind_of};

/// The most calls that share a transaction; more would make the first one wait too long.
const GROUP: usize = 64;
/// The most calls that wait for the thread; further callers wait for room.
const WAITING: usize = 1024;
/// Callers who were answered together tend to come back together. While less than half of them have, the
/// thread waits for more, as long as the last transaction took, and no longer than this.
const MOST_PATIENCE: Duration = Duration::from_millis(2);
/// Between two looks.
const PAUSE: Duration = Duration::from_micros(100);

/// A handle on the writing thread. Dropping it lets the thread finish what waits, and joins it.
#[derive(Debug)]
pub(super) struct Writer {
    calls: Option<mpsc::Sender<Box<dyn Call>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread. `guard` is dropped after the connection, when the thread ends.
    pub(super) fn start(connection: Connection, guard: impl Send + 'static) -> std::io::Result<Self> {
        let (calls, mut waiting) = mpsc::channel::<Box<dyn Call>>(WAITING);
        let thread = thread::Builder::new().name("ledger-writer".into()).spawn(move || {
            let (mut last, mut took) = (0, Duration::ZERO);
            while let Some(first) = waiting.blocking_recv() {
                let mut group = vec![first];
                let began = Instant::now();
                gather(&mut waiting, &mut group);
                while group.len() * 2 < last && began.elapsed() < took.min(MOST_PATIENCE) {
                    thread::sleep(PAUSE);
                    gather(&mut waiting, &mut group);
                }
                let began = Instant::now();
                let lost = run_group(&connection, &mut group).err();
                (last, took) = (group.len(), began.elapsed());
                for call in group {
                    call.answer(lost.as_ref());
                }
            }
            drop(connection);
            drop(guard);
        })?;
        Ok(Self { calls: Some(calls), thread: Some(thread) })
    }

    /// No writer: every call fails.
    pub(super) const fn absent() -> Self {
        Self { calls: None, thread: None }
    }

    /// Runs `work` in a transaction and returns once it is on stable storage. It may run twice.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let (reply, answer) = oneshot::channel();
        let call = Box::new(Pending { work, outcome: None, reply });
        let stopped = || LedgerError::new(LedgerErrorKind::Unavailable, "nothing writes to this ledger");
        self.calls.as_ref().ok_or_else(stopped)?.send(call).await.map_err(|_| stopped())?;
        answer.await.unwrap_or_else(|_| {
            Err(LedgerError::new(LedgerErrorKind::Unknown, "the writer stopped before it answered"))
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.calls.take();
        if let Some(thread) = self.thread.take() {
            // The thread catches the panics of its callers; its own end is all that matters here.
            let _ = thread.join();
        }
    }
}

/// Takes what waits, as far as it has room in a group.
fn gather(waiting: &mut mpsc::Receiver<Box<dyn Call>>, group: &mut Vec<Box<dyn Call>>) {
    while group.len() < GROUP
        && let Ok(next) = waiting.try_recv()
    {
        group.push(next);
    }
}

/// One waiting call.
trait Call: Send {
    /// Does the work and keeps the outcome; whether its writes are to stay.
    fn run(&mut self, connection: &Connection) -> bool;
    /// Tells the caller; with the reason when the whole transaction was lost.
    fn answer(self: Box<Self>, lost: Option<&Lost>);
}

struct Pending<T, W> {
    work: W,
    outcome: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, LedgerError>>,
}

impl<T: Send, W: Fn(&Connection) -> Result<T, StoreError> + Send> Call for Pending<T, W> {
    fn run(&mut self, connection: &Connection) -> bool {
        // The work calls a sealer that is not ours. Whatever it had written is rolled back.
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.work)(connection)))
            .unwrap_or(Err(StoreError::Contradiction("the call panicked")));
        let stays = outcome.is_ok();
        self.outcome = Some(outcome);
        stays
    }

    fn answer(self: Box<Self>, lost: Option<&Lost>) {
        let answer = match (self.outcome, lost) {
            (Some(Err(error)), _) => Err(error.into()),
            (_, Some(lost)) => Err(LedgerError::new(lost.kind, lost.cause.clone())),
            (Some(Ok(value)), None) => Ok(value),
            (None, None) => Err(LedgerError::new(LedgerErrorKind::Unavailable, "the call was not run")),
        };
        // A caller that has gone away needs no answer.
        let _ = self.reply.send(answer);
    }
}

/// The transaction was lost, and with it what every call of the group had written.
struct Lost {
    kind: LedgerErrorKind,
    cause: Arc<rusqlite::Error>,
}

impl Lost {
    fn with(kind: LedgerErrorKind) -> impl Fn(rusqlite::Error) -> Self {
        move |cause| Self { kind, cause: Arc::new(cause) }
    }
}

fn run_group(connection: &Connection, group: &mut [Box<dyn Call>]) -> Result<(), Lost> {
    let all = transact(connection, || Ok(group.iter_mut().all(|call| call.run(connection))))?;
    if !all {
        transact(connection, || run_apart(connection, group).map(|()| true))?;
    }
    Ok(())
}

fn run_apart(connection: &Connection, group: &mut [Box<dyn Call>]) -> Result<(), Lost> {
    let nothing_written = Lost::with(LedgerErrorKind::Unavailable);
    for call in group {
        execute(connection, "SAVEPOINT call").map_err(&nothing_written)?;
        if !call.run(connection) {
            // SQLite gives the whole transaction up after some failures (a full disk, an I/O error);
            // then there is no savepoint left, and this fails.
            execute(connection, "ROLLBACK TO call").map_err(&nothing_written)?;
        }
        execute(connection, "RELEASE call").map_err(&nothing_written)?;
    }
    Ok(())
}

/// Runs `work` in a transaction, which is committed if that is what the work comes to.
fn transact(connection: &Connection, work: impl FnOnce() -> Result<bool, Lost>) -> Result<bool, Lost> {
    execute(connection, "BEGIN IMMEDIATE").map_err(|error| Lost::with(kind_of(&error))(error))?;
    let outcome = work().and_then(|stays| {
        if stays {
            execute(connection, "COMMIT").map_err(|error| {
                // A busy commit wrote nothing. After any other failure the last pages may have reached
                // the disk.
                let kind = match error.sqlite_error_code() {
                    Some(ErrorCode::DatabaseBusy) => LedgerErrorKind::Unavailable,
                    _ => LedgerErrorKind::Unknown,
                };
                Lost::with(kind)(error)
            })?;
        }
        Ok(stays)
    });
    if !connection.is_autocommit() {
        // If this fails too, the next `begin` does, and says so to its callers.
        let _ = connection.execute_batch("ROLLBACK");
    }
    outcome
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
