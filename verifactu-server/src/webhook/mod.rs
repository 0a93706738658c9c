//! Webhooks: each delivery that a final job owes is taken from the store, where it was marked as attempted
//! before, and sent once (specification, Events). What is not taken yet waits in the store; what was taken
//! when the process stopped is not sent again.

mod send;
mod target;

pub use send::SendError;

pub(crate) use send::Sender;
pub(crate) use target::Targets;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
};
use verifactu_core::{
    engine::Engine,
    ledger::{Accounts, Delivery, LedgerError},
    types::{Clock, TenantId},
};

use crate::metrics::Metrics;

/// Deliveries that are sent side by side.
const SIDE_BY_SIDE: usize = 32;
/// As many of them as may be of one account, so that a slow receiver holds up only itself.
const OF_ONE_ACCOUNT: usize = 4;
/// The longest sleep without a look at the store: other processes may note deliveries too.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Sends what is owed, until it is told to stop.
pub(crate) struct Deliverer {
    pub(crate) engine: Engine,
    pub(crate) accounts: Arc<dyn Accounts>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) sender: Arc<Sender>,
    pub(crate) metrics: Arc<Metrics>,
}

/// How many deliveries of each account are under way.
type UnderWay = Arc<Mutex<HashMap<TenantId, usize>>>;

impl Deliverer {
    /// Runs until `stop` turns true or its sender is gone; attempts under way are then finished.
    pub(crate) async fn run(self, mut stop: watch::Receiver<bool>) {
        let room = Arc::new(Semaphore::new(SIDE_BY_SIDE));
        let under_way = UnderWay::default();
        let mut attempts = JoinSet::new();
        let mut changes = self.engine.changes();
        while !*stop.borrow() && stop.has_changed().is_ok() {
            changes.mark_unchanged();
            let Ok(permit) = room.clone().acquire_owned().await else { break };
            match self.take(&under_way).await {
                Ok(Some(delivery)) => {
                    let (sender, metrics) = (self.sender.clone(), self.metrics.clone());
                    let under_way = under_way.clone();
                    attempts.spawn(async move {
                        metrics.webhook(&sender.attempt(&delivery).await);
                        leave(&under_way, &delivery.tenant);
                        drop(permit);
                    });
                    while attempts.try_join_next().is_some() {}
                    continue;
                }
                Ok(None) => {}
                Err(error) => tracing::error!(%error, "deliveries are out of reach"),
            }
            drop(permit);
            tokio::select! {
                _ = changes.changed() => {}
                () = tokio::time::sleep(LONGEST_WAIT) => {}
                _ = stop.wait_for(|stop| *stop) => {}
            }
        }
        while attempts.join_next().await.is_some() {}
    }

    async fn take(&self, under_way: &UnderWay) -> Result<Option<Delivery>, LedgerError> {
        let full: Vec<TenantId> = {
            let under_way = under_way.lock().unwrap_or_else(PoisonError::into_inner);
            let full = under_way.iter().filter(|(_, count)| **count >= OF_ONE_ACCOUNT);
            full.map(|(tenant, _)| tenant.clone()).collect()
        };
        let taken = self.accounts.take_delivery(self.clock.now(), &full).await?;
        if let Some(delivery) = &taken {
            let mut under_way = under_way.lock().unwrap_or_else(PoisonError::into_inner);
            *under_way.entry(delivery.tenant.clone()).or_default() += 1;
        }
        Ok(taken)
    }
}

fn leave(under_way: &UnderWay, tenant: &TenantId) {
    let mut under_way = under_way.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(count) = under_way.get_mut(tenant) {
        *count -= 1;
        if *count == 0 {
            under_way.remove(tenant);
        }
    }
}
