//! Appends that share a transaction: those that meet on this node, of whatever chains.
//!
//! The first append starts a task. While that waits for the server, others gather, and the next transaction
//! takes them all, as many as it may; a chain is in one transaction at a time. What cannot be done together
//! with others is done by itself, a chain at a time. The tasks outlive their callers, so an append whose
//! caller has gone away still comes to its end; they end themselves when nobody waits any more.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Semaphore, oneshot},
    time::{Instant, timeout},
};

use crate::{
    ledger::{Append, Appended, ChainSelector, Installation, LedgerError, LedgerErrorKind},
    record::SystemId,
    types::{Nif, TenantId, Text},
};

use super::{
    append::{self, Answer, append_alone, append_together},
    pool::Pool,
};

/// The most appends that share a transaction; more would make the first one wait too long.
const GROUP: usize = 64;
/// The most appends of a chain that wait on one node; more are refused.
const WAITING: usize = 1024;

/// Behind a transaction that several shared, the next one waits as long as others keep coming, but no longer
/// than the last one took, and no longer than this: a transaction costs the server as much as many records.
const MOST_PATIENCE: Duration = Duration::from_millis(5);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(1);
/// Whoever has waited for so long while other transactions were under way gets one beside them.
const LONG: Duration = Duration::from_millis(20);

/// The appends that wait, by their chain.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    pool: Pool,
    queue: Arc<Mutex<Queue>>,
    /// For transactions of one chain, of which there are as many side by side as of the others.
    alone: Arc<Semaphore>,
}

/// A chain as its callers name it; without installation for the minted one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Chain {
    tenant: TenantId,
    issuer: Nif,
    producer: String,
    system: SystemId,
    installation: Option<Text<100>>,
}

/// What waits.
#[derive(Debug, Default)]
struct Queue {
    chains: HashMap<Chain, Line>,
    /// Chains whose appends wait while none is under way, in the order in which they came.
    ready: VecDeque<Chain>,
    /// How many appends the ready ones have.
    appends: usize,
    lanes: usize,
}

/// The appends of a chain. It is there from the first until none waits or is under way.
#[derive(Debug, Default)]
struct Line {
    waiting: Vec<Waiting>,
    under_way: bool,
}

struct Waiting {
    since: Instant,
    append: Append,
    reply: oneshot::Sender<Answer>,
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiting").finish_non_exhaustive()
    }
}

impl Groups {
    pub(super) fn new(pool: Pool) -> Self {
        Self { alone: Arc::new(Semaphore::new(pool.share())), pool, queue: Arc::default() }
    }

    pub(super) async fn append(&self, append: Append) -> Result<Appended, LedgerError> {
        let mut answer = self.enqueue(append)?;
        let answer = loop {
            match timeout(LONG, &mut answer).await {
                Ok(answer) => break answer,
                Err(_) => self.open_lane(self.lock()),
            }
        };
        answer.unwrap_or_else(|_| Err(LedgerError::new(LedgerErrorKind::Unknown, "the append was cut off")))
    }

    fn enqueue(&self, append: Append) -> Result<oneshot::Receiver<Answer>, LedgerError> {
        let (reply, answer) = oneshot::channel();
        let chain = Chain::of(&append.chain);
        let mut queue = self.lock();
        if !queue.push(chain, Waiting { since: Instant::now(), append, reply }) {
            return Err(refused("too many appends wait for this chain"));
        }
        if queue.lanes == 0 || queue.appends >= GROUP {
            self.open_lane(queue);
        }
        Ok(answer)
    }

    /// A runtime that comes to its end drops the lane at once, which locks the queue again.
    fn open_lane(&self, mut queue: MutexGuard<'_, Queue>) {
        if queue.lanes < self.pool.share() && !queue.ready.is_empty() {
            queue.lanes += 1;
            drop(queue);
            tokio::spawn(Lane { groups: self.clone(), done: false }.run());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const LATE: &str = "those before it took too long";

fn refused(why: &'static str) -> LedgerError {
    LedgerError::new(LedgerErrorKind::Unavailable, why)
}

impl Queue {
    /// Says no when too many wait.
    fn push(&mut self, chain: Chain, waiting: Waiting) -> bool {
        let line = match self.chains.entry(chain) {
            Entry::Occupied(line) => line.into_mut(),
            Entry::Vacant(nobody) => {
                self.ready.push_back(nobody.key().clone());
                nobody.insert(Line::default())
            }
        };
        if line.waiting.len() >= WAITING {
            return false;
        }
        line.waiting.push(waiting);
        self.appends += usize::from(!line.under_way);
        true
    }

    /// Those whose turn it is, by their chains, which are under way from now on.
    fn take(&mut self) -> Vec<(Chain, Vec<Waiting>)> {
        let (mut taken, mut left) = (Vec::new(), GROUP);
        while left > 0
            && let Some(chain) = self.ready.pop_front()
        {
            let Some(line) = self.chains.get_mut(&chain) else { continue };
            self.appends -= line.waiting.len();
            line.under_way = true;
            let first: Vec<_> = line.waiting.drain(..line.waiting.len().min(left)).collect();
            left -= first.len();
            taken.push((chain, first));
        }
        taken
    }

    /// What has come meanwhile for a chain of which so many are under way.
    fn more(&mut self, chain: &Chain, under_way: usize) -> Vec<Waiting> {
        let Some(line) = self.chains.get_mut(chain) else { return Vec::new() };
        let room = GROUP.saturating_sub(under_way).min(line.waiting.len());
        line.waiting.drain(..room).collect()
    }

    /// The chain is not under way any more.
    fn put_back(&mut self, chain: &Chain) {
        let Some(line) = self.chains.get_mut(chain) else { return };
        line.under_way = false;
        if line.waiting.is_empty() {
            self.chains.remove(chain);
        } else {
            self.appends += line.waiting.len();
            self.ready.push_back(chain.clone());
        }
    }
}

/// Appends of a chain that are under way, with those who wait for them.
struct Run {
    groups: Groups,
    chain: Chain,
    waiting: Vec<Waiting>,
}

impl Run {
    /// Refuses those who have waited too long already.
    fn refuse_late(&mut self) {
        let patience = self.groups.pool.patience();
        for late in self.waiting.extract_if(.., |waiting| waiting.since.elapsed() > patience) {
            let _ = late.reply.send(Err(refused(LATE)));
        }
    }

    fn appends(&self) -> append::Run<'_> {
        self.waiting.iter().map(|waiting| &waiting.append).collect()
    }

    fn answer(mut self, answers: Vec<Answer>) {
        for (waiting, answer) in self.waiting.drain(..).zip(answers) {
            // A caller that has gone away needs no answer.
            let _ = waiting.reply.send(answer);
        }
    }

    /// By itself, together with those who have come meanwhile.
    async fn alone(mut self) {
        let groups = self.groups.clone();
        let permit = timeout(groups.pool.patience(), groups.alone.acquire()).await;
        self.waiting.extend(groups.lock().more(&self.chain, self.waiting.len()));
        self.refuse_late();
        let answers = if let Ok(Ok(_permit)) = permit {
            append_alone(&groups.pool, &self.appends()).await
        } else {
            self.waiting.iter().map(|_| Err(refused(LATE))).collect()
        };
        self.answer(answers);
        let queue = groups.lock();
        if queue.lanes == 0 {
            groups.open_lane(queue);
        }
    }
}

impl Drop for Run {
    /// If it was cut off, those who wait are told, and those behind them have their turn.
    fn drop(&mut self) {
        self.groups.lock().put_back(&self.chain);
    }
}

/// Works off what waits, a transaction after the other.
struct Lane {
    groups: Groups,
    done: bool,
}

impl Lane {
    async fn run(mut self) {
        loop {
            let Some(taken) = self.next() else { return };
            let mut runs: Vec<Run> = taken
                .into_iter()
                .map(|(chain, waiting)| Run { groups: self.groups.clone(), chain, waiting })
                .collect();
            runs.iter_mut().for_each(Run::refuse_late);
            runs.retain(|run| !run.waiting.is_empty());
            if runs.is_empty() {
                continue;
            }
            let (count, began) = (runs.iter().map(|run| run.waiting.len()).sum::<usize>(), Instant::now());
            let appends: Vec<_> = runs.iter().map(Run::appends).collect();
            let answers = append_together(&self.groups.pool, &appends).await;
            for (run, answers) in runs.into_iter().zip(answers) {
                match answers {
                    Some(answers) => run.answer(answers),
                    None => drop(tokio::spawn(run.alone())),
                }
            }
            if count > 1 {
                self.gather(began.elapsed().min(MOST_PATIENCE)).await;
            }
        }
    }

    async fn gather(&self, patience: Duration) {
        let waiting = || self.groups.lock().appends;
        let (began, mut seen) = (Instant::now(), waiting());
        while seen < GROUP && began.elapsed() < patience {
            tokio::time::sleep(PAUSE).await;
            let now = waiting();
            if now <= seen {
                return;
            }
            seen = now;
        }
    }

    fn next(&mut self) -> Option<Vec<(Chain, Vec<Waiting>)>> {
        let mut queue = self.groups.lock();
        let taken = queue.take();
        if taken.is_empty() {
            queue.lanes -= 1;
            drop(queue);
            self.done = true;
            return None;
        }
        Some(taken)
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        if !self.done {
            self.groups.lock().lanes -= 1;
        }
    }
}

impl Chain {
    fn of(selector: &ChainSelector) -> Self {
        let ChainSelector { tenant, issuer, producer, system, installation } = selector;
        Self {
            tenant: tenant.clone(),
            issuer: *issuer,
            producer: producer.clone(),
            system: *system,
            installation: match installation {
                Installation::Named(installation) => Some(installation.clone()),
                Installation::Minted(_) => None,
            },
        }
    }
}
