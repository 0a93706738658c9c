//! Rows of tables as the ledger's types, for every backend that keeps tables: which columns a type is
//! read from, and in which order.

use std::collections::BTreeSet;

use crate::{job::Progress, record::InvoiceId, types::Cents, xml::envelope::SpanishParty};

use super::{
    ApiKey, Attempt, AuditEntry, AuditLine, Batch, Caller, ChainKey, ChainState, Delivery, DeliveryOutcome,
    Head, Hold, JobRow, RecordRow, SealedCertificate, SentMessage, Submission, Sums, Tenant, Webhook,
    column::{Column, Json},
};

/// The columns of a row, from left to right.
pub(super) trait Cells {
    type Error;
    fn next<T: Column>(&mut self) -> Result<T, Self::Error>;
}

/// Columns of a chain, read by [`ChainRow::read`].
macro_rules! chain_columns {
    () => {
        "seq, epoch, id, tenant, issuer, producer, system, installation, length, last_huella, last_number, \
         pending, next_slot_at, wait_seconds, last_slot, unreachable_count, suspects, hold, closed, \
         updated_at"
    };
}

/// Columns of a record, its chain and the bytes it was sent as, read by [`read_record`].
macro_rules! record_columns {
    () => {
        "r.id, c.id, r.position, r.kind, r.issuer, r.number, r.date, r.issuer_name, r.total, \
         r.external_reference, r.huella, r.previous, r.generated_at, r.xml, s.xml"
    };
}

/// Columns of a job's progress, read by [`read_progress`].
macro_rules! progress_columns {
    () => {
        "j.state, j.standing, j.attempts, j.sent, j.alone, j.next_retry_at, j.failure, j.csv, j.answer, \
         j.completed_at"
    };
}

/// Columns of a record with its job, read by [`read_item`].
macro_rules! item_columns {
    () => {
        concat!(
            "j.id, r.tenant, j.kind, j.request, ",
            $crate::ledger::table::progress_columns!(),
            ", j.created_at, j.updated_at, ",
            $crate::ledger::table::record_columns!()
        )
    };
}

macro_rules! tenant_columns {
    () => {
        "id, name, issuer_name, allowed_nif, parent, plan, own_system, representative_name, \
         representative_nif, verifactu_end, status, created_at"
    };
}

macro_rules! key_columns {
    () => {
        "id, tenant, name, public, hash, scopes, created_at, expires_at, revoked_at, sealed"
    };
}

/// The query for a caller by the public part of its key, read by [`read_caller`].
macro_rules! caller_query {
    ($public:literal) => {
        concat!(
            "SELECT k.*, t.*, c.not_after FROM (SELECT ",
            $crate::ledger::table::key_columns!(),
            " FROM api_key WHERE public = ",
            $public,
            ") k JOIN (SELECT ",
            $crate::ledger::table::tenant_columns!(),
            " FROM tenant) t ON t.id = k.tenant LEFT JOIN certificate c ON c.tenant = k.tenant"
        )
    };
}

macro_rules! certificate_columns {
    () => {
        "tenant, sealed, not_after, uploaded_at"
    };
}

macro_rules! webhook_columns {
    () => {
        "tenant, url, secret, enabled, updated_at"
    };
}

macro_rules! delivery_columns {
    () => {
        "id, tenant, job, created_at, attempted_at, duration_ms, status, error"
    };
}

macro_rules! audit_columns {
    () => {
        "seq, at, actor, action, subject, request, hash"
    };
}

pub(super) use {
    audit_columns, caller_query, certificate_columns, chain_columns, delivery_columns, item_columns,
    key_columns, progress_columns, record_columns, tenant_columns, webhook_columns,
};

/// A chain as it is stored.
pub(super) struct ChainRow {
    pub(super) seq: i64,
    pub(super) epoch: u64,
    pub(super) state: ChainState,
}

impl ChainRow {
    pub(super) fn read<C: Cells>(cells: &mut C) -> Result<Self, C::Error> {
        Ok(Self {
            seq: cells.next()?,
            epoch: cells.next()?,
            state: ChainState {
                id: cells.next()?,
                key: ChainKey {
                    tenant: cells.next()?,
                    issuer: cells.next()?,
                    producer: cells.next()?,
                    system: cells.next()?,
                    installation: cells.next()?,
                },
                length: cells.next()?,
                last_huella: cells.next()?,
                last_number: cells.next()?,
                pending: cells.next()?,
                next_slot_at: cells.next()?,
                wait_seconds: cells.next()?,
                last_slot: cells.next()?,
                unreachable_count: cells.next()?,
                suspects: json(cells)?,
                hold: json::<Hold, _>(cells)?,
                closed: cells.next()?,
                updated_at: cells.next()?,
            },
        })
    }

    /// Whether this is the chain's last record. Asked wherever a head is read, so that a damaged chain is
    /// never taken for a shorter one.
    pub(super) fn ends_with(&self, head: Option<&Head>) -> bool {
        let found = head.map_or((0, None), |head| (head.position, Some(head.huella)));
        found == (self.state.length, self.state.last_huella)
    }
}

/// Reads `position, issuer, number, date, huella, generated_at` of a record.
pub(super) fn read_head<C: Cells>(cells: &mut C) -> Result<Head, C::Error> {
    Ok(Head {
        position: cells.next()?,
        invoice: read_invoice(cells)?,
        huella: cells.next()?,
        generated_at: cells.next()?,
    })
}

pub(super) fn read_invoice<C: Cells>(cells: &mut C) -> Result<InvoiceId, C::Error> {
    Ok(InvoiceId { issuer: cells.next()?, number: cells.next()?, date: cells.next()? })
}

pub(super) fn read_record<C: Cells>(cells: &mut C) -> Result<RecordRow, C::Error> {
    Ok(RecordRow {
        id: cells.next()?,
        chain: cells.next()?,
        position: cells.next()?,
        kind: cells.next()?,
        invoice: read_invoice(cells)?,
        issuer_name: cells.next()?,
        total: cells.next()?,
        external_reference: cells.next()?,
        huella: cells.next()?,
        previous: cells.next()?,
        generated_at: cells.next()?,
        xml: cells.next()?,
        sent_xml: cells.next()?,
    })
}

fn json<T, C: Cells>(cells: &mut C) -> Result<Option<T>, C::Error>
where
    Json<T>: Column,
{
    Ok(cells.next::<Option<Json<T>>>()?.map(|Json(value)| value))
}

pub(super) fn read_progress<C: Cells>(cells: &mut C) -> Result<Progress, C::Error> {
    Ok(Progress {
        state: cells.next()?,
        standing: cells.next()?,
        attempts: cells.next()?,
        sent: cells.next()?,
        alone: cells.next()?,
        next_retry_at: cells.next()?,
        failure: json(cells)?,
        csv: json(cells)?,
        answer: json(cells)?,
        completed_at: cells.next()?,
    })
}

pub(super) fn read_item<C: Cells>(cells: &mut C) -> Result<Submission, C::Error> {
    Ok(Submission {
        job: JobRow {
            id: cells.next()?,
            tenant: cells.next()?,
            kind: cells.next()?,
            request: cells.next()?,
            progress: read_progress(cells)?,
            created_at: cells.next()?,
            updated_at: cells.next()?,
        },
        record: read_record(cells)?,
    })
}

/// Reads `id, at, incident, settled_at, answer` of a message.
pub(super) fn read_message<C: Cells>(cells: &mut C) -> Result<SentMessage, C::Error> {
    Ok(SentMessage {
        id: cells.next()?,
        at: cells.next()?,
        incident: cells.next()?,
        settled_at: cells.next()?,
        answer: cells.next()?,
    })
}

/// Reads `started_at, duration_ms, outcome, code, message` of an attempt.
pub(super) fn read_attempt<C: Cells>(cells: &mut C) -> Result<Attempt, C::Error> {
    Ok(Attempt {
        started_at: cells.next()?,
        duration_ms: cells.next()?,
        outcome: cells.next()?,
        code: cells.next()?,
        message: cells.next()?,
    })
}

/// Reads `invoices, cancellations, base, tax, total`.
pub(super) fn read_sums<C: Cells>(cells: &mut C) -> Result<Sums, C::Error> {
    Ok(Sums {
        invoices: cells.next()?,
        cancellations: cells.next()?,
        base: Cents(cells.next()?),
        tax: Cents(cells.next()?),
        total: Cents(cells.next()?),
    })
}

pub(super) fn read_tenant<C: Cells>(cells: &mut C) -> Result<Tenant, C::Error> {
    Ok(Tenant {
        id: cells.next()?,
        name: cells.next()?,
        issuer_name: cells.next()?,
        allowed_nif: cells.next()?,
        parent: cells.next()?,
        plan: cells.next()?,
        own_system: cells.next()?,
        representative: match (cells.next()?, cells.next()?) {
            (Some(name), Some(nif)) => Some(SpanishParty { name, nif }),
            _ => None,
        },
        verifactu_end: cells.next()?,
        status: cells.next()?,
        created_at: cells.next()?,
    })
}

pub(super) fn read_key<C: Cells>(cells: &mut C) -> Result<ApiKey, C::Error> {
    Ok(ApiKey {
        id: cells.next()?,
        tenant: cells.next()?,
        name: cells.next()?,
        public: cells.next()?,
        hash: cells.next()?,
        scopes: cells.next::<Json<BTreeSet<String>>>()?.0,
        created_at: cells.next()?,
        expires_at: cells.next()?,
        revoked_at: cells.next()?,
        sealed: cells.next()?,
    })
}

pub(super) fn read_caller<C: Cells>(cells: &mut C) -> Result<Caller, C::Error> {
    Ok(Caller { key: read_key(cells)?, tenant: read_tenant(cells)?, certificate_until: cells.next()? })
}

pub(super) fn read_certificate<C: Cells>(cells: &mut C) -> Result<SealedCertificate, C::Error> {
    Ok(SealedCertificate {
        tenant: cells.next()?,
        sealed: cells.next()?,
        not_after: cells.next()?,
        uploaded_at: cells.next()?,
    })
}

/// Reads `id, tenant, created_at, items`.
pub(super) fn read_batch<C: Cells>(cells: &mut C) -> Result<Batch, C::Error> {
    let (id, tenant, created_at) = (cells.next()?, cells.next()?, cells.next()?);
    let Json(items) = cells.next()?;
    Ok(Batch { id, tenant, created_at, items })
}

pub(super) fn read_webhook<C: Cells>(cells: &mut C) -> Result<Webhook, C::Error> {
    Ok(Webhook {
        tenant: cells.next()?,
        url: cells.next()?,
        secret: cells.next()?,
        enabled: cells.next()?,
        updated_at: cells.next()?,
    })
}

pub(super) fn read_delivery<C: Cells>(cells: &mut C) -> Result<Delivery, C::Error> {
    Ok(Delivery {
        id: cells.next()?,
        tenant: cells.next()?,
        job: cells.next()?,
        created_at: cells.next()?,
        attempted_at: cells.next()?,
        outcome: {
            let (duration, status, error) = (cells.next::<Option<u64>>()?, cells.next()?, cells.next()?);
            duration.map(|duration_ms| DeliveryOutcome { duration_ms, status, error })
        },
    })
}

pub(super) fn read_audit_line<C: Cells>(cells: &mut C) -> Result<AuditLine, C::Error> {
    Ok(AuditLine {
        position: cells.next()?,
        entry: AuditEntry {
            at: cells.next()?,
            actor: cells.next()?,
            action: cells.next()?,
            subject: cells.next()?,
            request: cells.next()?,
        },
        hash: cells.next()?,
    })
}
