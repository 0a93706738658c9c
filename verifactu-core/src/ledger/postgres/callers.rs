//! Who calls, asked for all who wait: the keys of requests that meet on this node are looked up in one trip
//! to the server. A trip begins after its requests have come, so a key that was revoked before is refused.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::{
    sync::oneshot,
    time::{Duration, timeout},
};

use tokio_postgres::Row;

use crate::ledger::{
    Caller, LedgerError,
    table::{self, caller_query},
};

use super::{
    column::Cells,
    error::{Shared, StoreError},
    pool::Pool,
    row,
};

/// The most keys of a trip.
const MOST: usize = 64;
/// Whoever has waited for so long while other trips were under way gets one beside them.
const LONG: Duration = Duration::from_millis(20);

const CALLERS: &str = concat!(
    "SELECT asked.nth, known.* FROM unnest($1::text[]) WITH ORDINALITY asked (public, nth) \
     CROSS JOIN LATERAL (",
    caller_query!("asked.public"),
    " LIMIT 1) known"
);

type Answer = Result<Option<Caller>, LedgerError>;

/// The keys that wait to be looked up.
#[derive(Clone, Debug)]
pub(super) struct Callers {
    pool: Pool,
    queue: Arc<Mutex<Queue>>,
}

#[derive(Debug, Default)]
struct Queue {
    asked: Vec<Asked>,
    trips: usize,
}

#[derive(Debug)]
struct Asked {
    public: String,
    reply: oneshot::Sender<Answer>,
}

impl Callers {
    pub(super) fn new(pool: Pool) -> Self {
        Self { pool, queue: Arc::default() }
    }

    pub(super) async fn find(&self, public: &str) -> Answer {
        let (reply, mut answer) = oneshot::channel();
        self.ask(Asked { public: public.to_owned(), reply });
        let patience = 2 * self.pool.patience();
        let answer = timeout(patience, async {
            loop {
                match timeout(LONG, &mut answer).await {
                    Ok(answer) => break answer,
                    Err(_) => self.travel(self.lock()),
                }
            }
        });
        answer.await.ok().and_then(Result::ok).unwrap_or_else(|| Err(StoreError::Busy.into()))
    }

    fn ask(&self, asked: Asked) {
        let mut queue = self.lock();
        queue.asked.push(asked);
        if queue.trips == 0 {
            self.travel(queue);
        }
    }

    /// A runtime that comes to its end drops the trip at once, which locks the queue again.
    fn travel(&self, mut queue: MutexGuard<'_, Queue>) {
        if queue.trips < self.pool.share() && !queue.asked.is_empty() {
            queue.trips += 1;
            drop(queue);
            tokio::spawn(Trip { callers: self.clone(), done: false }.run());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Goes to the server as long as somebody waits.
struct Trip {
    callers: Callers,
    done: bool,
}

impl Trip {
    async fn run(mut self) {
        loop {
            let asked = self.next();
            if asked.is_empty() {
                return;
            }
            let publics: Vec<&str> = asked.iter().map(|asked| &*asked.public).collect();
            let found = match self.callers.pool.look_up(CALLERS, &[&publics]).await {
                Ok(rows) => read(&rows, asked.len()),
                Err(error) => Shared::from(error).to_each(asked.len()),
            };
            for (asked, found) in asked.into_iter().zip(found) {
                // A caller that has gone away needs no answer.
                let _ = asked.reply.send(found);
            }
        }
    }

    fn next(&mut self) -> Vec<Asked> {
        let mut queue = self.callers.lock();
        queue.asked.retain(|asked| !asked.reply.is_closed());
        let count = queue.asked.len().min(MOST);
        let asked: Vec<Asked> = queue.asked.drain(..count).collect();
        if asked.is_empty() {
            queue.trips -= 1;
            drop(queue);
            self.done = true;
        }
        asked
    }
}

impl Drop for Trip {
    fn drop(&mut self) {
        if !self.done {
            self.callers.lock().trips -= 1;
        }
    }
}

/// The callers by the places of their keys in the list. A row that cannot be read is the fault of one.
fn read(rows: &[Row], count: usize) -> Vec<Answer> {
    let mut found: Vec<Answer> = (0..count).map(|_| Ok(None)).collect();
    for told in rows {
        let mut cells = Cells::of(told);
        if let Some(found) = cells.next().ok().and_then(row::place).and_then(|at| found.get_mut(at)) {
            *found = table::read_caller(&mut cells).map(Some).map_err(|error| StoreError::from(error).into());
        }
    }
    found
}
