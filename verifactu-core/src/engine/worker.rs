//! Workers: take due chains and dispatch them, for ever.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use crate::queue::Taken;

use super::{Engine, EngineError, turns::Turns};

/// The longest sleep without a look at the queue. Bounds how late a worker sees a clock that was set.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Dispatches due chains until it is told to stop; the dispatch under way is then finished.
pub struct Worker {
    engine: Engine,
}

impl Worker {
    /// A worker of an engine.
    #[must_use]
    pub fn new(engine: Engine) -> Self {
        Self { engine }
    }

    /// Runs `concurrency` dispatches side by side, and sweeps the ledger at the start and from time
    /// to time, until `stop` turns true or its sender is gone.
    pub async fn run(self, concurrency: usize, stop: watch::Receiver<bool>) {
        let engine = Arc::new(self.engine);
        let mut tasks = tokio::task::JoinSet::new();
        let mut sweep = tasks.spawn(sweep_for_ever(engine.clone(), stop.clone(), Duration::ZERO)).id();
        let turns = Arc::new(Turns::among(concurrency));
        for _ in 0..concurrency.max(1) {
            tasks.spawn(dispatch_for_ever(engine.clone(), turns.clone(), stop.clone()));
        }
        while let Some(ended) = tasks.join_next().await {
            match ended {
                Err(error) if error.is_panic() && error.id() == sweep => {
                    tracing::error!("a sweep panicked; it is made again");
                    sweep = tasks.spawn(sweep_for_ever(engine.clone(), stop.clone(), LONGEST_WAIT)).id();
                }
                Err(error) if error.is_panic() => {
                    tracing::error!("a dispatch panicked; its worker starts anew");
                    tasks.spawn(dispatch_for_ever(engine.clone(), turns.clone(), stop.clone()));
                }
                _ => {}
            }
        }
    }
}

impl Engine {
    /// Tells the queue every chain that is due some time, as the ledger knows it.
    ///
    /// # Errors
    /// [`EngineError`] when ledger or queue are out of reach.
    pub async fn sweep(&self) -> Result<(), EngineError> {
        const PAGE: u32 = 1000;
        let now = self.parts.clock.now();
        let mut after = None;
        loop {
            let page = self.parts.ledger.due_chains(after, PAGE).await?;
            for (chain, due) in &page {
                self.parts.queue.schedule(*chain, (*due).max(now)).await?;
            }
            match page.last() {
                Some((chain, _)) => after = Some(*chain),
                None => return Ok(()),
            }
        }
    }

    /// Takes one due chain, if there is one, and dispatches it. `false` when nothing is due.
    ///
    /// # Errors
    /// [`EngineError`]; a chain that was taken stays due.
    pub async fn dispatch_next(&self) -> Result<bool, EngineError> {
        let Some(taken) = self.take().await? else { return Ok(false) };
        self.dispatch_taken(taken).await?;
        Ok(true)
    }

    /// As [`dispatch_next`](Self::dispatch_next), but puts the chain back if its account has its share.
    async fn dispatch_next_in_turn(&self, turns: &Turns) -> Result<bool, EngineError> {
        let Some(taken) = self.take().await? else { return Ok(false) };
        let state = match self.parts.ledger.chain(taken.chain).await {
            Ok(state) => state,
            Err(error) => return self.put_back(taken).await.and(Err(error.into())),
        };
        let turn = state.map(|state| turns.begin(state.key.tenant));
        match turn {
            Some(None) => self.put_back(taken).await?,
            _ => self.dispatch_taken(taken).await?,
        }
        Ok(true)
    }

    async fn take(&self) -> Result<Option<Taken>, EngineError> {
        Ok(self.parts.queue.take(self.parts.clock.now(), self.settings.lease).await?)
    }

    /// Has a chain looked at again in a moment.
    async fn put_back(&self, taken: Taken) -> Result<(), EngineError> {
        let again = self.parts.clock.now() + LONGEST_WAIT;
        Ok(self.parts.queue.finish(taken, Some(again)).await?)
    }

    async fn dispatch_taken(&self, taken: Taken) -> Result<(), EngineError> {
        let chain = taken.chain;
        let result = {
            let dispatch = self.dispatch(chain);
            tokio::pin!(dispatch);
            loop {
                tokio::select! {
                    result = &mut dispatch => break result,
                    () = tokio::time::sleep(self.settings.lease / 3) => self.keep(&taken).await,
                }
            }
        };
        match result {
            // Not before now, so that a chain with a long backlog takes its turn behind the others.
            Ok(next) => {
                let now = self.parts.clock.now();
                Ok(self.parts.queue.finish(taken, next.map(|due| due.max(now))).await?)
            }
            Err(error) => self.put_back(taken).await.and(Err(error)),
        }
    }

    /// Prolongs a lease. Losing it is no error here: the ledger's epoch keeps a late writer out.
    async fn keep(&self, taken: &Taken) {
        match self.parts.queue.renew(taken, self.parts.clock.now(), self.settings.lease).await {
            Ok(true) => {}
            Ok(false) => tracing::warn!(chain = %taken.chain, "the lease on the chain has run out"),
            Err(error) => tracing::warn!(%error, chain = %taken.chain, "the lease could not be prolonged"),
        }
    }
}

async fn dispatch_for_ever(engine: Arc<Engine>, turns: Arc<Turns>, mut stop: watch::Receiver<bool>) {
    loop {
        if *stop.borrow() || stop.has_changed().is_err() {
            return;
        }
        let idle = match engine.dispatch_next_in_turn(&turns).await {
            Ok(true) => continue,
            Ok(false) => engine.parts.queue.wait(engine.parts.clock.now(), LONGEST_WAIT),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "dispatch failed");
                Box::pin(tokio::time::sleep(LONGEST_WAIT))
            }
        };
        tokio::select! {
            () = idle => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
    }
}

/// A sweep that failed is made up for soon, and so is what the queue has forgotten. The first one comes
/// after `pause`.
async fn sweep_for_ever(engine: Arc<Engine>, mut stop: watch::Receiver<bool>, pause: Duration) {
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        _ = stop.wait_for(|stop| *stop) => return,
    }
    loop {
        let pause = match engine.sweep().await {
            Ok(()) => engine.settings.sweep_every,
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "sweep failed");
                LONGEST_WAIT.min(engine.settings.sweep_every)
            }
        };
        let next = async {
            tokio::time::sleep(pause.min(LONGEST_WAIT)).await;
            tokio::select! {
                () = tokio::time::sleep(pause.saturating_sub(LONGEST_WAIT)) => {}
                () = engine.parts.queue.forgotten() => {}
            }
        };
        tokio::select! {
            () = next => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
    }
}
