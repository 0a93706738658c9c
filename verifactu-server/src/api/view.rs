//! Jobs, records and certificates as REST shows them.

use verifactu_core::{
    api::{
        self, Accepted, AuthorityResult, CertificateInfo, CertificateKind, CsvStatus, ErrorItem, ErrorLevel,
        ErrorSource, InvoiceRecord, Job, JobAttempt, JobAttempts, JobResult, JobStatus, JobType,
        LastErrorDetail, QrInfo, RecordState, RecordType, Warning,
    },
    authority::codes,
    certificate::{Certificate, HolderKind},
    job::{
        AuthorityAnswer, Csv, Failure, FailureClass, FailureSource, JobKind, JobState, Progress,
        RecordOutcome, Standing, SubmissionOutcome,
    },
    ledger::{Attempt, AttemptOutcome, Hold, HoldReason, RecordRow, Submission},
    qr::CheckService,
    record::{Invoice, RecordKind},
    webhook::{Event, EventKind},
};

/// Shows what the ledger holds.
pub(crate) struct Views {
    check: CheckService,
    max_attempts: u32,
}

impl Views {
    pub(super) fn new(check: CheckService, max_attempts: u32) -> Self {
        Self { check, max_attempts }
    }

    /// The answer to a request that was accepted, or that repeats one whose job goes on.
    pub(super) fn accepted(&self, submission: &Submission, warnings: Vec<Warning>) -> Accepted {
        let Submission { job, record } = submission;
        Accepted {
            job_id: job.id,
            kind: kind(job.kind),
            status: status(job.progress.state),
            record_id: record.id,
            created_at: job.created_at.into(),
            next_retry_at: job.progress.next_retry_at.map(Into::into),
            qr_info: self.qr_info(record, &job.progress),
            warnings,
        }
    }

    pub(super) fn job(&self, submission: &Submission) -> Job {
        let Submission { job, record } = submission;
        let progress = &job.progress;
        Job {
            job_id: job.id,
            kind: kind(job.kind),
            status: status(progress.state),
            nif: record.invoice.issuer,
            num_serie: record.invoice.number.clone(),
            fecha: record.invoice.date,
            ref_externa: reference(record),
            record_id: record.id,
            attempts: progress.attempts,
            max_attempts: self.max_attempts,
            next_retry_at: progress.next_retry_at.map(Into::into),
            created_at: job.created_at.into(),
            updated_at: job.updated_at.into(),
            completed_at: progress.completed_at.map(Into::into),
            last_error: progress.failure.as_ref().map(last_error),
            last_error_detail: progress.failure.as_ref().map(last_error_detail),
            result: self.result(record, progress),
            held: None,
        }
    }

    /// What an account is told of a job that is final.
    pub(crate) fn event(&self, submission: &Submission) -> Event {
        let Submission { job, record } = submission;
        let progress = &job.progress;
        let succeeded = progress.state == JobState::Succeeded;
        let csv = match &progress.csv {
            Some(Csv::Present(csv)) => Some(csv.clone()),
            _ => None,
        };
        Event {
            event: if succeeded { EventKind::Succeeded } else { EventKind::Failed },
            tenant_id: job.tenant.clone(),
            timestamp: progress.completed_at.unwrap_or(job.updated_at).into(),
            job_id: job.id,
            kind: kind(job.kind),
            num_serie: Some(record.invoice.number.clone()),
            csv: csv.filter(|_| succeeded),
            huella: succeeded.then_some(record.huella),
            qr_text: self.qr_text(record).filter(|_| succeeded),
            last_error: progress.failure.as_ref().filter(|_| !succeeded).map(last_error),
        }
    }

    /// The text of an invoice's QR; a cancellation has none.
    pub(super) fn qr_text(&self, record: &RecordRow) -> Option<String> {
        record.total.map(|total| self.check.text_of(&record.invoice, total))
    }

    /// The text of the QR of an invoice that is no record yet.
    pub(super) fn invoice_qr(&self, invoice: &Invoice) -> String {
        self.check.text(invoice)
    }

    pub(super) fn qr_info(&self, record: &RecordRow, progress: &Progress) -> QrInfo {
        let (csv, csv_status) = match &progress.csv {
            Some(Csv::Present(csv)) => (Some(csv.clone()), Some(CsvStatus::Present)),
            Some(Csv::Lost) => (None, Some(CsvStatus::Lost)),
            None if progress.answer.is_some() => (None, Some(CsvStatus::None)),
            None => (None, None),
        };
        QrInfo { csv, csv_status, huella: record.huella, qr_text: self.qr_text(record) }
    }

    /// Nothing until the authority has said something about the record.
    fn result(&self, record: &RecordRow, progress: &Progress) -> Option<JobResult> {
        let answer = progress.answer.as_ref();
        let refused = progress.failure.as_ref().filter(|failure| {
            matches!(failure.class, FailureClass::ContentRefused | FailureClass::HeaderRefused)
        });
        if answer.is_none() && refused.is_none() {
            return None;
        }
        let of_line = answer.and_then(error_of_line);
        let of_message = refused.and_then(|failure| {
            Some(ErrorItem {
                code: failure.code?.to_string(),
                description: failure.description.clone(),
                level: ErrorLevel::Submission,
                advice: failure.code.and_then(advice),
            })
        });
        let errors: Vec<ErrorItem> = of_line.into_iter().chain(of_message).collect();
        Some(JobResult {
            qr_info: self.qr_info(record, progress),
            authority: answer.map(authority),
            error_code: errors.first().map(|error| error.code.clone()),
            errors,
            requires_subsanacion: progress.standing == Standing::AcceptedWithErrors,
        })
    }
}

/// What a job shows while its chain is held: nothing is due, and why.
pub(super) fn held(job: &mut api::Job, hold: &Hold) {
    job.next_retry_at = None;
    job.last_error.get_or_insert_with(|| hold.description.clone());
    job.held = Some(shown_hold(hold));
}

pub(super) fn shown_hold(hold: &Hold) -> api::Held {
    api::Held {
        reason: hold_reason(hold.reason).to_owned(),
        description: hold.description.clone(),
        since: hold.since.into(),
    }
}

pub(super) const fn hold_reason(reason: HoldReason) -> &'static str {
    match reason {
        HoldReason::Certificate => "certificate",
        HoldReason::Operator => "operator",
        HoldReason::Suspended => "suspended",
    }
}

/// The caller's own reference; without one the record's identifier is sent in its place.
pub(super) fn reference(record: &RecordRow) -> Option<String> {
    let sent = record.external_reference.as_ref().map(ToString::to_string);
    sent.filter(|sent| *sent != record.id.to_string())
}

/// What may be shown of a certificate.
pub(super) fn certificate(
    certificate: &Certificate,
    now: jiff::Timestamp,
    normalized_from_legacy: bool,
) -> CertificateInfo {
    const DAY: i64 = 24 * 60 * 60;
    let holder = &certificate.holder;
    CertificateInfo {
        nif: holder.nif(),
        common_name: holder.common_name.clone(),
        issuer: certificate.issuer.clone(),
        serial: certificate.serial.clone(),
        kind: match holder.kind {
            HolderKind::Representative => CertificateKind::Representante,
            HolderKind::Seal => CertificateKind::Sello,
            _ => CertificateKind::Persona,
        },
        not_before: certificate.not_before.into(),
        not_after: certificate.not_after.into(),
        days_until_expiry: (certificate.not_after.as_second() - now.as_second()).div_euclid(DAY),
        normalized_from_legacy,
    }
}

/// A record with what became of it.
pub(super) fn record(submission: &Submission) -> InvoiceRecord {
    let Submission { job, record } = submission;
    InvoiceRecord {
        id: record.id,
        job_id: job.id,
        nif_emisor: record.invoice.issuer,
        num_serie: record.invoice.number.clone(),
        fecha: record.invoice.date,
        fecha_hora_huso_gen_registro: record.generated_at.to_string(),
        tipo: record_type(record.kind),
        posicion: record.position,
        huella: record.huella,
        huella_anterior: record.previous,
        csv: match &job.progress.csv {
            Some(Csv::Present(csv)) => Some(csv.clone()),
            Some(Csv::Lost) | None => None,
        },
        estado: match job.progress.standing {
            Standing::Waiting => RecordState::Pendiente,
            Standing::InDoubt => RecordState::EnDuda,
            Standing::Accepted => RecordState::Correcto,
            Standing::AcceptedWithErrors => RecordState::AceptadoConErrores,
            Standing::Rejected => RecordState::Incorrecto,
        },
        created_at: job.created_at.into(),
    }
}

pub(super) const fn record_type(kind: RecordKind) -> RecordType {
    match kind {
        RecordKind::Invoice => RecordType::Alta,
        RecordKind::Cancellation => RecordType::Anulacion,
    }
}

pub(super) fn attempts(attempts: &[Attempt]) -> JobAttempts {
    let shown = |(n, attempt): (u32, &Attempt)| JobAttempt {
        n,
        started_at: attempt.started_at.into(),
        duration_ms: attempt.duration_ms,
        outcome: match attempt.outcome {
            AttemptOutcome::Accepted => api::AttemptOutcome::Accepted,
            AttemptOutcome::Rejected => api::AttemptOutcome::Rejected,
            AttemptOutcome::Error => api::AttemptOutcome::Error,
            AttemptOutcome::InDoubt => api::AttemptOutcome::InDoubt,
            AttemptOutcome::Unreachable => api::AttemptOutcome::Unreachable,
        },
        code: attempt.code.map(|code| code.to_string()),
        message_id: attempt.message,
    };
    JobAttempts { attempts: (1..).zip(attempts).map(shown).collect() }
}

const fn kind(kind: JobKind) -> JobType {
    match kind {
        JobKind::Send => JobType::SendInvoice,
        JobKind::Cancel => JobType::CancelInvoice,
    }
}

pub(super) const fn status(state: JobState) -> JobStatus {
    match state {
        JobState::Pending => JobStatus::Pending,
        JobState::Processing => JobStatus::Processing,
        JobState::Succeeded => JobStatus::Succeeded,
        JobState::Failed => JobStatus::Failed,
        JobState::Dead => JobStatus::Dead,
    }
}

fn last_error(failure: &Failure) -> String {
    match failure.code {
        Some(code) => format!("{code}: {}", failure.description),
        None => failure.description.clone(),
    }
}

fn last_error_detail(failure: &Failure) -> LastErrorDetail {
    LastErrorDetail {
        source: match failure.source {
            FailureSource::Authority => ErrorSource::Authority,
            FailureSource::Network => ErrorSource::Network,
            FailureSource::Internal => ErrorSource::Internal,
        },
        class: class(failure.class).to_owned(),
        code: failure.code.map(|code| code.to_string()),
        description: failure.description.clone(),
        at: failure.at.into(),
        superseded_by: failure.superseded_by,
        advice: failure.code.and_then(advice),
    }
}

pub(super) const fn class(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Rejected => "rejected",
        FailureClass::ContentRefused => "content_refused",
        FailureClass::HeaderRefused => "header_refused",
        FailureClass::AuthorityError => "authority_error",
        FailureClass::InDoubt => "in_doubt",
        FailureClass::Unreachable => "unreachable",
        FailureClass::AccessRefused => "access_refused",
        FailureClass::Suspended => "suspended",
        FailureClass::Paused => "paused",
        FailureClass::ForeignDuplicate => "foreign_duplicate",
        FailureClass::Superseded => "superseded",
        _ => "other",
    }
}

fn authority(answer: &AuthorityAnswer) -> AuthorityResult {
    let submission = answer.submission.map(|outcome| match outcome {
        SubmissionOutcome::Accepted => "Correcto",
        SubmissionOutcome::PartlyAccepted => "ParcialmenteCorrecto",
        SubmissionOutcome::Rejected => "Incorrecto",
    });
    let record = match answer.record {
        RecordOutcome::Accepted => "Correcto",
        RecordOutcome::AcceptedWithErrors => "AceptadoConErrores",
        RecordOutcome::Rejected => "Incorrecto",
    };
    AuthorityResult {
        estado_envio: submission.map(str::to_owned),
        estado_registro: Some(record.to_owned()),
        timestamp_presentacion: answer.presented_at.map(|at| at.to_string()),
        reconciled: answer.reconciled,
    }
}

/// What to do about an error of the authority.
fn advice(code: i64) -> Option<String> {
    codes::lookup(code).map(|row| row.advice().text_en().to_owned())
}

fn error_of_line(answer: &AuthorityAnswer) -> Option<ErrorItem> {
    Some(ErrorItem {
        code: answer.code?.to_string(),
        description: answer.description.clone().unwrap_or_default(),
        level: match answer.record {
            RecordOutcome::AcceptedWithErrors => ErrorLevel::Admitted,
            _ => ErrorLevel::Record,
        },
        advice: answer.code.and_then(advice),
    })
}
