//! Batches and previews.

use serde::{Deserialize, Serialize};

use crate::types::{BatchId, Huella, JobId};

use super::{CancelInvoice, ErrorBody, JobStatus, SendInvoice, Timestamp, Warning};

/// Many sends and cancels in one request, at most 1000, taken in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct CreateBatch {
    /// Each with its own key and outcome.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Vec<super::schema::Any<BatchItem>>", length(min = 1, max = 1000))
    )]
    pub items: Vec<BatchItem>,
}

/// A send or a cancel within a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchItem {
    /// Its idempotency key.
    pub idempotency_key: String,
    /// What is to be done.
    #[serde(flatten)]
    pub body: BatchBody,
}

/// What an item of a batch does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "op", content = "body", rename_all = "lowercase")]
pub enum BatchBody {
    /// Sends an invoice.
    Send(Box<SendInvoice>),
    /// Cancels one.
    Cancel(Box<CancelInvoice>),
}

/// What became of a batch as it was taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BatchTaken {
    /// The batch.
    pub batch_id: BatchId,
    /// Items for which there is a job.
    pub accepted: u32,
    /// Items that were refused.
    pub rejected: u32,
    /// Each item, in the order they were sent.
    pub items: Vec<BatchEntry>,
}

/// How a batch stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Batch {
    /// The batch.
    pub batch_id: BatchId,
    /// When it was taken.
    pub created_at: Timestamp,
    /// Its items, counted by what became of them.
    pub counts: BatchCounts,
    /// Each item, in the order they were sent.
    pub items: Vec<BatchEntry>,
}

/// The items of a batch by the state of their jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct BatchCounts {
    /// Wait for their first sending.
    pub pending: u32,
    /// Are being sent.
    pub processing: u32,
    /// The authority holds them.
    pub succeeded: u32,
    /// Will be tried again.
    pub failed: u32,
    /// Were given up.
    pub dead: u32,
    /// Were refused, so that they have no job.
    pub rejected: u32,
}

impl BatchCounts {
    /// Counts a job.
    pub fn add(&mut self, status: JobStatus) {
        *match status {
            JobStatus::Pending => &mut self.pending,
            JobStatus::Processing => &mut self.processing,
            JobStatus::Succeeded => &mut self.succeeded,
            JobStatus::Failed => &mut self.failed,
            JobStatus::Dead => &mut self.dead,
        } += 1;
    }
}

/// An item of a batch.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BatchEntry {
    /// Its place in the batch, from 0.
    pub index: u32,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: BatchOutcome,
}

/// What became of an item.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum BatchOutcome {
    /// There is a job for it.
    #[serde(rename_all = "camelCase")]
    Job {
        /// The job.
        job_id: JobId,
        /// Where it stands.
        status: JobStatus,
    },
    /// It was refused.
    Refused {
        /// Why.
        error: Box<ErrorBody>,
    },
}

/// The record that an invoice would become now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// The string that the huella covers.
    pub canonical: String,
    /// The huella.
    pub huella: Huella,
    /// The huella of the record before it.
    pub huella_anterior: Option<Huella>,
    /// The record, unsigned.
    pub xml: String,
    /// The text of the QR.
    pub qr_text: String,
    /// The QR as a picture.
    pub qr_svg: String,
    /// What the authority would accept with errors.
    pub warnings: Vec<Warning>,
}
