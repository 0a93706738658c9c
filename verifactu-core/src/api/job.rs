//! Jobs as REST shows them.

use serde::{Deserialize, Serialize};

use crate::types::{Date, Huella, InvoiceNumber, JobId, Nif, RecordId};

use super::Timestamp;

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum JobType {
    /// Sends an invoice record.
    SendInvoice,
    /// Sends a cancellation record.
    CancelInvoice,
}

/// Where a job stands. SUCCEEDED and DEAD are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum JobStatus {
    /// Waits for its first sending.
    Pending,
    /// Is being sent.
    Processing,
    /// The authority holds the record.
    Succeeded,
    /// The last attempt failed, and there will be another.
    Failed,
    /// Every attempt failed.
    Dead,
}

impl JobStatus {
    /// The name in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Processing => "PROCESSING",
            Self::Succeeded => "SUCCEEDED",
            Self::Failed => "FAILED",
            Self::Dead => "DEAD",
        }
    }

    /// Whether nothing will change any more.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Dead)
    }
}

/// What is printed on an invoice, and the authority's receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct QrInfo {
    /// The authority's verification code, once it answered.
    #[serde(default)]
    pub csv: Option<String>,
    /// Why there is a code, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csv_status: Option<CsvStatus>,
    /// The record's huella.
    pub huella: Huella,
    /// The text of the QR; a cancellation has none.
    #[serde(default)]
    pub qr_text: Option<String>,
}

/// What became of the verification code of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CsvStatus {
    /// It was received.
    Present,
    /// The record is accepted, but the answer with the code never arrived.
    Lost,
    /// The submission was given none.
    None,
}

/// The answer to a request that was accepted: the record exists, is chained and stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// The job.
    pub job_id: JobId,
    /// What it does.
    #[serde(rename = "type")]
    pub kind: JobType,
    /// Where it stands.
    pub status: JobStatus,
    /// The record.
    pub record_id: RecordId,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When it will be tried again, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_retry_at: Option<Timestamp>,
    /// What can be printed at once.
    pub qr_info: QrInfo,
    /// What the authority would accept with errors.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

/// Something that does not hold a request up, but should be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// The authority's code, or the name of a rule.
    pub code: String,
    /// The field concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What is wrong.
    pub message: String,
}

/// Why nothing of a chain is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Held {
    /// What has to happen: `certificate` waits for one that works, `operator` for the operator, who has
    /// paused the issuer, `suspended` for the operator, because the authority has suspended the presenter.
    pub reason: String,
    /// In words.
    pub description: String,
    /// Since when.
    pub since: Timestamp,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// The job.
    pub job_id: JobId,
    /// What it does.
    #[serde(rename = "type")]
    pub kind: JobType,
    /// Where it stands.
    pub status: JobStatus,
    /// The issuer.
    pub nif: Nif,
    /// Series and number of the invoice.
    pub num_serie: InvoiceNumber,
    /// Date of issue.
    pub fecha: Date,
    /// The caller's own reference.
    pub ref_externa: Option<String>,
    /// The record.
    pub record_id: RecordId,
    /// Attempts that count.
    pub attempts: u32,
    /// Attempts before the job is dead.
    pub max_attempts: u32,
    /// When the next attempt is due.
    pub next_retry_at: Option<Timestamp>,
    /// When the request was accepted.
    pub created_at: Timestamp,
    /// When the job last changed.
    pub updated_at: Timestamp,
    /// When it became final.
    pub completed_at: Option<Timestamp>,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
    /// The same, in parts.
    pub last_error_detail: Option<LastErrorDetail>,
    /// What the authority answered; absent until it did.
    pub result: Option<JobResult>,
    /// Why nothing is sent for now; null when its chain is not held.
    #[serde(default)]
    pub held: Option<Held>,
}

/// A job that somebody waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WaitedJob {
    /// The job.
    #[serde(flatten)]
    pub job: Job,
    /// What is to be printed on the invoice.
    pub qr_info: QrInfo,
    /// What the authority would accept with errors.
    pub warnings: Vec<Warning>,
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LastErrorDetail {
    /// Whose failure it was.
    pub source: ErrorSource,
    /// The kind of failure, such as `rejected`, `in_doubt` or `superseded`.
    pub class: String,
    /// The authority's code.
    pub code: Option<String>,
    /// What it says.
    pub description: String,
    /// When it happened.
    pub at: Timestamp,
    /// The later job of the same invoice that took this one's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<JobId>,
    /// What to do about it, where the authority gave a code that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// Whose failure it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ErrorSource {
    /// The authority refused.
    Authority,
    /// The authority was not reached, or did not answer.
    Network,
    /// The service itself.
    Internal,
}

/// What the authority answered for a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JobResult {
    /// Verification code, huella and QR.
    pub qr_info: QrInfo,
    /// The authority's own words.
    pub authority: Option<AuthorityResult>,
    /// The code of its first error.
    pub error_code: Option<String>,
    /// Every error.
    #[serde(default)]
    pub errors: Vec<ErrorItem>,
    /// The record was accepted with errors that a correction must mend.
    pub requires_subsanacion: bool,
}

/// The authority's states for a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuthorityResult {
    /// State of the submission: `Correcto`, `ParcialmenteCorrecto` or `Incorrecto`.
    pub estado_envio: Option<String>,
    /// State of the record: `Correcto`, `AceptadoConErrores` or `Incorrecto`.
    pub estado_registro: Option<String>,
    /// The authority's clock at the submission, as it writes it.
    pub timestamp_presentacion: Option<String>,
    /// The state was found by the query service, because no answer arrived.
    pub reconciled: bool,
}

/// One error of the authority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorItem {
    /// Its code, whatever it is.
    pub code: String,
    /// Its words.
    pub description: String,
    /// What it concerns.
    pub level: ErrorLevel,
    /// What to do about it, where the code is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// What an error of the authority concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ErrorLevel {
    /// The record is rejected.
    Record,
    /// The record is accepted with errors.
    Admitted,
    /// The whole submission is refused.
    Submission,
}

/// State of a record in the lists of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RecordState {
    /// Not sent, or not yet answered.
    Pendiente,
    /// Sent, and no answer came.
    EnDuda,
    /// Accepted.
    Correcto,
    /// Accepted with errors.
    AceptadoConErrores,
    /// Rejected.
    Incorrecto,
}
