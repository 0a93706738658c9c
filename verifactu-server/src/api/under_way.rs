//! Requests with one idempotency key at the same time.
//!
//! The first one marks the key, in one round trip where processes share a queue. Another one, on whatever
//! process, then looks for what the first makes of it in the ledger instead of doing the work as well. A
//! mark is never an answer: if it stands too long, or cannot be asked for, the request goes on, and the
//! ledger decides.

use std::time::Duration;

use tokio::time::Instant;
use verifactu_core::{
    job::JobKind,
    ledger::Submission,
    types::{RequestId, TenantId},
};

use super::{Service, error::Fault};

/// How long a mark stands at most.
const LIFE: Duration = Duration::from_secs(5);
/// How long a request waits for the one before it.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(25);

/// A request on its way, by its idempotency key.
pub(super) struct UnderWay {
    mark: String,
    holder: RequestId,
}

impl UnderWay {
    pub(super) fn new(tenant: &TenantId, kind: JobKind, key: &str, holder: RequestId) -> Self {
        let operation = match kind {
            JobKind::Send => "send",
            JobKind::Cancel => "cancel",
        };
        Self { mark: format!("{tenant}:{operation}:{key}"), holder }
    }

    /// Marks the request. While another one has, what that one put into the ledger, once it has.
    pub(super) async fn wait(
        &self,
        service: &Service,
        tenant: &TenantId,
        kind: JobKind,
        key: &str,
    ) -> Result<Option<([u8; 32], Submission)>, Fault> {
        let deadline = Instant::now() + PATIENCE;
        while !self.enter(service).await && Instant::now() < deadline {
            if let Some(found) = service.engine.ledger().replay(tenant, kind, key).await? {
                return Ok(Some(found));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(None)
    }

    async fn enter(&self, service: &Service) -> bool {
        let entered = service.gate.enter(&self.mark, self.holder.0, service.clock.now(), LIFE).await;
        entered.unwrap_or_else(|error| {
            tracing::debug!(error = &error as &dyn std::error::Error, "a request goes on without its mark");
            true
        })
    }

    /// Lets the next one try. Where the work succeeded that is not needed: the ledger knows.
    pub(super) async fn leave(&self, service: &Service) {
        if let Err(error) = service.gate.leave(&self.mark, self.holder.0).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "a mark stands until its life ends");
        }
    }
}
