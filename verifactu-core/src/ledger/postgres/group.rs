//! Appends that share a transaction: those of one chain that meet on this node.
//!
//! The first append of a chain starts a task. While that waits for the server, others gather, and the
//! next transaction takes them all. The task outlives its callers, so an append whose caller has gone away
//! still comes to its end; it ends itself when nobody waits any more.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::oneshot;

use crate::{
    ledger::{Append, Appended, ChainSelector, Installation, LedgerError, LedgerErrorKind},
    record::SystemId,
    types::{Nif, TenantId, Text},
};

use super::{append::append_all, pool::Pool};

/// The most appends that share a transaction; more would make the first one wait too long.
const GROUP: usize = 64;
/// The most appends of a chain that wait on one node; more are refused.
const WAITING: usize = 1024;

/// Callers who were answered together tend to come back together. While less than half of them have, the
/// next transaction waits for so long.
const PAUSE: Duration = Duration::from_millis(1);

type Answer = Result<Appended, LedgerError>;

/// The appends that wait, by their chain.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    pool: Pool,
    waiting: Arc<Mutex<HashMap<Chain, Vec<Waiting>>>>,
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

struct Waiting {
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
        Self { pool, waiting: Arc::default() }
    }

    pub(super) async fn append(&self, append: Append) -> Answer {
        let chain = Chain::of(&append.chain);
        let (reply, answer) = oneshot::channel();
        match self.lock().entry(chain.clone()) {
            Entry::Occupied(mut waiting) => {
                if waiting.get().len() >= WAITING {
                    return Err(LedgerError::new(
                        LedgerErrorKind::Unavailable,
                        "too many appends wait for this chain",
                    ));
                }
                waiting.get_mut().push(Waiting { append, reply });
            }
            Entry::Vacant(nobody) => {
                nobody.insert(vec![Waiting { append, reply }]);
                tokio::spawn(Runner { groups: self.clone(), chain, done: false }.run());
            }
        }
        answer
            .await
            .unwrap_or_else(|_| Err(LedgerError::new(LedgerErrorKind::Unknown, "the append was cut off")))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Chain, Vec<Waiting>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Works off what waits for one chain.
struct Runner {
    groups: Groups,
    chain: Chain,
    done: bool,
}

impl Runner {
    async fn run(mut self) {
        let mut last = 0;
        loop {
            if self.waiting() * 2 < last {
                tokio::time::sleep(PAUSE).await;
            }
            let Some(group) = self.next() else { return };
            last = group.len();
            let (appends, replies): (Vec<Append>, Vec<_>) =
                group.into_iter().map(|waiting| (waiting.append, waiting.reply)).unzip();
            let answers = append_all(&self.groups.pool, &appends).await;
            for (reply, answer) in replies.into_iter().zip(answers) {
                // A caller that has gone away needs no answer.
                let _ = reply.send(answer);
            }
        }
    }

    fn waiting(&self) -> usize {
        self.groups.lock().get(&self.chain).map_or(0, Vec::len)
    }

    fn next(&mut self) -> Option<Vec<Waiting>> {
        let mut all = self.groups.lock();
        let waiting = all.get_mut(&self.chain).filter(|waiting| !waiting.is_empty());
        let group = waiting.map(|waiting| waiting.drain(..waiting.len().min(GROUP)).collect());
        if group.is_none() {
            all.remove(&self.chain);
            drop(all);
            self.done = true;
        }
        group
    }
}

impl Drop for Runner {
    /// If it is cut off, those who wait are told, and the next one starts anew.
    fn drop(&mut self) {
        if !self.done {
            self.groups.lock().remove(&self.chain);
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
