//! Lists, and what they show of records and attempts.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::types::{Date, Huella, InvoiceNumber, JobId, MessageId, Nif, RecordId};

use super::{Job, RecordState, Timestamp};

/// What every page of a list says beside its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Paging<C = Uuid> {
    /// Rows of the whole list; null above 10 000.
    pub total: Option<u32>,
    /// The `cursor` of the next page; null on the last one.
    pub next_cursor: Option<C>,
}

/// A page of jobs, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Jobs {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// The list as a whole.
    #[serde(flatten)]
    pub paging: Paging,
}

/// A page of records, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InvoiceRecords {
    /// The records.
    pub records: Vec<InvoiceRecord>,
    /// The list as a whole.
    #[serde(flatten)]
    pub paging: Paging,
}

/// A record of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct InvoiceRecord {
    /// Its identifier.
    pub id: RecordId,
    /// The job that sends it.
    pub job_id: JobId,
    /// The issuer.
    pub nif_emisor: Nif,
    /// Series and number of the invoice.
    pub num_serie: InvoiceNumber,
    /// Date of issue.
    pub fecha: Date,
    /// When it was generated, as it stands in the record.
    pub fecha_hora_huso_gen_registro: String,
    /// What it is.
    pub tipo: RecordType,
    /// Its place in the chain, from 1.
    pub posicion: u64,
    /// Its huella.
    pub huella: Huella,
    /// The huella of the record before it.
    pub huella_anterior: Option<Huella>,
    /// The authority's verification code.
    pub csv: Option<String>,
    /// What the authority holds of it.
    pub estado: RecordState,
    /// When its request was accepted.
    pub created_at: Timestamp,
}

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RecordType {
    /// It registers an invoice.
    Alta,
    /// It registers a cancellation.
    Anulacion,
}

/// A line of the export: a record with its exact bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExportedRecord {
    /// Its identifier.
    pub id: RecordId,
    /// Its chain.
    pub chain_id: crate::types::ChainId,
    /// Its place in the chain, from 1.
    pub posicion: u64,
    /// What it is.
    pub tipo: RecordType,
    /// The issuer.
    pub nif_emisor: Nif,
    /// Series and number of the invoice.
    pub num_serie: InvoiceNumber,
    /// Date of issue.
    pub fecha: Date,
    /// When it was generated, as it stands in the record.
    pub fecha_hora_huso_gen_registro: String,
    /// Its huella.
    pub huella: Huella,
    /// The huella of the record before it.
    pub huella_anterior: Option<Huella>,
    /// The record: as it is sent, or as it was generated if it was not sent yet.
    pub xml: String,
}

/// The attempts of a job, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobAttempts {
    /// The attempts.
    pub attempts: Vec<JobAttempt>,
}

/// One attempt at sending a record, or at finding out what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JobAttempt {
    /// Its number, from 1.
    pub n: u32,
    /// When it began.
    pub started_at: Timestamp,
    /// How long it took.
    pub duration_ms: u64,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// The authority's code.
    pub code: Option<String>,
    /// The message that carried the record; null when the authority was asked.
    pub message_id: Option<MessageId>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// Registered.
    Accepted,
    /// Refused.
    Rejected,
    /// The authority failed.
    Error,
    /// No valid answer.
    InDoubt,
    /// Never reached.
    Unreachable,
}
