//! What an engine does, for those who measure it.
//!
//! The engine counts nothing by itself: it tells one [`Observer`], which is passed in, so that two engines
//! in one process are measured apart.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;

use crate::{
    authority::{Authority, Exchange, Request, Service},
    job::JobState,
    ledger::{AttemptOutcome, JobUpdate},
};

use super::Engine;

/// Is told what an engine does. It is called in the midst of the work, so it must neither block nor panic.
pub trait Observer: Send + Sync {
    /// Something was done.
    fn observe(&self, observation: Observation);
}

/// Something that an engine has done.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Observation {
    /// The ledger wrote something down.
    Committed {
        /// What.
        write: Write,
        /// How long the call took.
        elapsed: Duration,
    },
    /// A message with so many records is about to be sent.
    Sending {
        /// How many.
        records: usize,
    },
    /// The authority was asked for something, or should have been.
    Exchanged {
        /// What.
        service: Service,
        /// What came of it.
        reply: Reply,
        /// How long it took.
        elapsed: Duration,
    },
    /// The authority asked for this wait before the next message of a chain.
    WaitAsked(Duration),
    /// An attempt at a record ended.
    Attempted(AttemptOutcome),
    /// A job became final.
    Finished(JobState),
}

/// A write of the engine to its ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Write {
    /// A record, with its job.
    Append,
    /// A message, before it is sent.
    Message,
    /// What became of records.
    Settlement,
}

/// What came of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// An answer, whatever is in it.
    Answered,
    /// None, though the message may have been sent.
    Missing,
    /// The authority was not reached.
    NotReached,
}

impl Engine {
    pub(super) fn observe(&self, observation: Observation) {
        if let Some(observer) = &self.observer {
            observer.observe(observation);
        }
    }

    /// A write has taken place that began then.
    pub(super) fn committed(&self, write: Write, began: Instant) {
        self.observe(Observation::Committed { write, elapsed: began.elapsed() });
    }

    /// Jobs have become what these updates say.
    pub(super) fn updated(&self, updates: &[JobUpdate]) {
        for update in updates {
            if let Some(attempt) = &update.attempt {
                self.observe(Observation::Attempted(attempt.outcome));
            }
            if update.progress.state.is_final() {
                self.observe(Observation::Finished(update.progress.state));
            }
        }
    }
}

/// An authority whose exchanges are told.
pub(super) struct Observed {
    pub(super) authority: Arc<dyn Authority>,
    pub(super) observer: Arc<dyn Observer>,
}

#[async_trait]
impl Authority for Observed {
    async fn exchange(&self, request: Request) -> Exchange {
        let (service, began) = (request.service, Instant::now());
        let exchange = self.authority.exchange(request).await;
        let reply = match &exchange {
            Exchange::Answered(_) => Reply::Answered,
            Exchange::NoAnswer { .. } => Reply::Missing,
            Exchange::NotReached { .. } => Reply::NotReached,
        };
        self.observer.observe(Observation::Exchanged { service, reply, elapsed: began.elapsed() });
        exchange
    }

    fn host(&self, request: &Request) -> String {
        self.authority.host(request)
    }
}
