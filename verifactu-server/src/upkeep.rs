//! Forgetting what is kept for a time only: whole messages with their answers, attempts, and deliveries of
//! events. Records with their XML and their own answer line, idempotency entries and the audit log are
//! kept for good. And moving what older keys of the vault sealed to the one that seals: again and again,
//! because other processes may go on sealing with an older one.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;
use verifactu_core::{
    certificate::Vault,
    ledger::{Accounts, Ledger, LedgerError},
    types::Clock,
};

use crate::accounts::{Found, reseal};

/// How often what has grown old, or was sealed by an older key, is looked for.
const EVERY: Duration = Duration::from_secs(60 * 60);
/// Messages, attempts or deliveries that are forgotten in one step. A message may carry a thousand
/// records, and whoever writes meanwhile waits for the step.
const STEP: u32 = 20;
/// How long others have the ledger for themselves between two steps.
const PAUSE: Duration = Duration::from_millis(20);

/// Forgets and seals anew, until it is told to stop.
pub(crate) struct Upkeep {
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) accounts: Arc<dyn Accounts>,
    pub(crate) vault: Arc<Vault>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) keep: Duration,
}

/// What a pass over the sealed values is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moving {
    /// There may be values of older keys.
    All,
    /// There were none; another process may have made some.
    Newcomers,
    /// There are no older keys.
    Nothing,
}

impl Upkeep {
    /// Runs until `stop` turns true or its sender is gone; what is left then is left for the next time.
    pub(crate) async fn run(self, mut stop: watch::Receiver<bool>) {
        let forget = async {
            let mut moving = Moving::All;
            loop {
                moving = self.reseal(moving).await;
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

    /// Moves what older vault keys sealed; what the next pass is for.
    async fn reseal(&self, moving: Moving) -> Moving {
        if moving == Moving::Nothing {
            return moving;
        }
        match reseal(&*self.accounts, &self.vault).await {
            Ok(_) if !self.vault.has_older_keys() => Moving::Nothing,
            Ok(Found::Nothing) => {
                if moving == Moving::All {
                    tracing::info!(
                        "nothing is left that an older vault key sealed; older keys can be removed \
                         once no process seals with them"
                    );
                }
                Moving::Newcomers
            }
            Ok(Found::Older) => Moving::All,
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "not everything was sealed with the newest vault key");
                Moving::All
            }
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
