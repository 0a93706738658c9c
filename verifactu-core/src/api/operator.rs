//! What operators see and change.

use serde::{Deserialize, Serialize};

use crate::types::{DeliveryId, JobId};

use super::Timestamp;

/// One event for a webhook, with its single attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookDelivery {
    /// Identifier, which the receiver sees as `webhook-id`.
    pub id: DeliveryId,
    /// The job it tells of; null for a trial.
    pub job_id: Option<JobId>,
    /// When it became owed.
    pub created_at: Timestamp,
    /// When it was sent; null while it waits.
    pub attempted_at: Option<Timestamp>,
    /// Whether the receiver took it; null until the attempt has ended, or when its end is not known.
    pub delivered: Option<bool>,
    /// The receiver's HTTP status.
    pub status: Option<u32>,
    /// How long the attempt took.
    pub duration_ms: Option<u64>,
    /// Why it did not arrive.
    pub error: Option<String>,
}

/// A page of deliveries, the last first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookDeliveries {
    /// The deliveries.
    pub deliveries: Vec<WebhookDelivery>,
    /// The `cursor` of the next page; null on the last one.
    pub next_cursor: Option<DeliveryId>,
}

/// The answer to a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookTrial {
    /// What became of it.
    pub delivery: WebhookDelivery,
}
