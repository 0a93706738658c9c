//! Forgetting what is kept for a time only: whole messages with their answers, attempts, and deliveries of
//! events. Records with their XML and their own answer line, idempotency entries and the audit log are
//! kept for good.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;
use verifactu_core::{
    ledger::{Accounts, Ledger, LedgerError},
    types::Clock,
};

/// How often what has grown old is looked for.
const EVERY: Duration = Duration::from_secs(60 * 60);
/// Messages, attempts or deliveries that are forgotten in one step. A message may carry a thousand
/// records, and whoever writes meanwhile waits for the step.
const STEP: u32 = 20;
/// How long others have the ledger for themselves between two steps.
const PAUSE: Duration = Duration::from_millis(20);

/// Forgets, until it is told to stop.
pub(crate) struct Upkeep {
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) accounts: Arc<dyn Accounts>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) keep: Duration,
}

impl Upkeep {
    /// Runs until `stop` turns true or its sender is gone; what is left then is left for the next time.
    pub(crate) async fn run(self, mut stop: watch::Receiver<bool>) {
        let forget = async {
            loop {
                match self.forget().await {
                    Ok(0) => {}
                    Ok(forgotten) => tracing::info!(forgotten, "old messages, attempts and deliveries"),
                    Err(error) => {
                        tracing::warn!(error = &error as &dyn std::error::Error, "what is old stays for now");
                    }
                }
                tokio::time::sleep(EVERY).await;
            }
        };
        tokio::select! {
            () = forget => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
    }

    /// Forgets all that has grown old, in small steps; how much.
    async fn forget(&self) -> Result<u64, LedgerError> {
        let Ok(before) = self.clock.now().checked_sub(self.keep) else { return Ok(0) };
        let mut forgotten = 0;
        loop {
            let step =
                self.ledger.prune(before, STEP).await? + self.accounts.prune_deliveries(before, STEP).await?;
            if step == 0 {
                return Ok(forgotten);
            }
            forgotten += step;
            tokio::time::sleep(PAUSE).await;
        }
    }
}
