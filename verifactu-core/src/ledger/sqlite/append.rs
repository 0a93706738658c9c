//! The append, inside the writer's transaction.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    job::{JobKind, Progress},
    ledger::{
        Append, Appended, ChainKey, ChainSelector, Installation, JobRow, Place, PriorRecord, RecordRow,
        Submission,
        schedule::{self, Turn},
        table::ChainRow,
    },
    record::RecordKind,
    types::{ChainId, TenantId, Text},
};

use super::{
    column::{Cells, Col},
    error::StoreError,
    row::{self, chain_query},
    usage, work,
};

pub(super) fn append(store: &Connection, append: &Append) -> Result<Appended, StoreError> {
    let tenant = &append.chain.tenant;
    if let Some((fingerprint, submission)) = replay(store, tenant, append.kind, &append.idempotency.key)? {
        return Ok(Appended::Replay { fingerprint, submission: Box::new(submission) });
    }
    let history: Vec<PriorRecord> = row::history(store, tenant, &append.invoice)?
        .iter()
        .map(|known| PriorRecord::new(known.job.id, known.record.kind, &known.job.progress))
        .collect();
    if !append.repeats_invoice
        && let Some(last) = history.last()
    {
        let alta = history.iter().rfind(|prior| prior.kind == RecordKind::Invoice);
        return Ok(Appended::AlreadySubmitted(alta.unwrap_or(last).job));
    }
    if let Some(quota) = append.counted_quota() {
        let used = used(store, tenant, &quota.month)?;
        if quota.limit.is_some_and(|limit| used >= limit) {
            return Ok(Appended::QuotaReached { used });
        }
    }
    let (key, known) = resolve(store, &append.chain)?;
    if known.as_ref().is_some_and(|chain| chain.state.closed) {
        return Ok(Appended::Closed);
    }
    let head = known.as_ref().map(|chain| row::head(store, chain)).transpose()?.flatten();
    let others = store
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM chain WHERE tenant = ?1 AND seq IS NOT ?2 \
             AND NOT (closed AND issuer = ?3))",
        )?
        .query_row(params![Col(tenant), known.as_ref().map(|chain| chain.seq), Col(&key.issuer)], |row| {
            row.get(0)
        })?;
    let place = Place { key, head, several_chains: others, history };
    let sealed = match (append.seal)(&place) {
        Ok(sealed) => sealed,
        Err(refusal) => return Ok(Appended::Refused(refusal)),
    };
    place.check(append.kind, &append.invoice, &sealed)?;

    let (chain_seq, chain) = match &known {
        Some(chain) => (chain.seq, chain.state.id),
        None => create_chain(store, append, &place.key)?,
    };
    let counted = append.counted(&sealed);
    let record = RecordRow::sealed(append.record, chain, &place, sealed);
    let job = JobRow {
        id: append.job,
        tenant: tenant.clone(),
        kind: append.kind,
        request: append.request,
        progress: Progress::new(),
        created_at: append.at,
        updated_at: append.at,
    };
    let seq = insert_record(store, chain_seq, tenant, &record)?;
    insert_job(store, seq, chain_seq, &record, &job)?;
    store
        .prepare_cached(
            "INSERT INTO idempotency (tenant, kind, key, fingerprint, job) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            Col(tenant),
            Col(&append.kind),
            append.idempotency.key,
            append.idempotency.fingerprint,
            seq
        ])?;
    if let Some((month, sums)) = counted {
        usage::count(store, tenant, record.invoice.issuer, month, sums)?;
    }
    store
        .prepare_cached(
            "UPDATE chain SET length = ?2, last_huella = ?3, last_number = ?4, pending = pending + 1, \
             updated_at = ?5 WHERE seq = ?1",
        )?
        .execute(params![
            chain_seq,
            Col(&record.position),
            Col(&record.huella),
            Col(&record.invoice.number),
            Col(&append.at)
        ])?;
    let due = match known {
        Some(mut known) => {
            known.state.pending += 1;
            work::chain_due(store, &known)?
        }
        None => work::due(store, chain)?,
    };
    let due = due.map(|due| due.max(append.at));
    Ok(Appended::New { submission: Box::new(Submission { job, record }), due })
}

pub(super) fn replay(
    store: &Connection,
    tenant: &TenantId,
    kind: JobKind,
    key: &str,
) -> Result<Option<([u8; 32], Submission)>, StoreError> {
    let found = store
        .prepare_cached(
            "SELECT fingerprint, job FROM idempotency WHERE tenant = ?1 AND kind = ?2 AND key = ?3",
        )?
        .query_row(params![Col(tenant), Col(&kind), key], |row| {
            let mut cells = Cells::of(row);
            Ok((cells.next::<[u8; 32]>()?, cells.next::<i64>()?))
        })
        .optional()?;
    let Some((fingerprint, job)) = found else { return Ok(None) };
    Ok(Some((fingerprint, row::item(store, job)?)))
}

fn used(store: &Connection, tenant: &TenantId, month: &str) -> Result<u64, StoreError> {
    let used = store
        .prepare_cached("SELECT invoices FROM usage WHERE tenant = ?1 AND month = ?2")?
        .query_row(params![Col(tenant), month], |row| Cells::of(row).next())
        .optional()?;
    Ok(used.unwrap_or_default())
}

/// The key of the chain that is meant, and the chain if it exists.
fn resolve(store: &Connection, selector: &ChainSelector) -> Result<(ChainKey, Option<ChainRow>), StoreError> {
    let ChainSelector { tenant, issuer, producer, system, .. } = selector;
    let key = |installation: &Text<100>| ChainKey {
        tenant: tenant.clone(),
        issuer: *issuer,
        producer: producer.clone(),
        system: *system,
        installation: installation.clone(),
    };
    let named = |installation: &Text<100>| {
        store
            .prepare_cached(chain_query!(
                "tenant = ?1 AND issuer = ?2 AND producer = ?3 AND system = ?4 AND installation = ?5"
            ))?
            .query_row(
                params![Col(tenant), Col(issuer), producer, Col(system), Col(installation)],
                row::read_chain,
            )
            .optional()
    };
    match &selector.installation {
        Installation::Named(installation) => Ok((key(installation), named(installation)?)),
        Installation::Minted(installation) => {
            let minted = store
                .prepare_cached(chain_query!(
                    "tenant = ?1 AND issuer = ?2 AND producer = ?3 AND system = ?4 AND minted = 1"
                ))?
                .query_row(params![Col(tenant), Col(issuer), producer, Col(system)], row::read_chain)
                .optional()?;
            match minted {
                Some(chain) => Ok((chain.state.key.clone(), Some(chain))),
                None if named(installation)?.is_some() => {
                    Err(StoreError::Contradiction("the new installation is taken"))
                }
                None => Ok((key(installation), None)),
            }
        }
    }
}

/// A chain bears the identifier of its first record.
fn create_chain(store: &Connection, append: &Append, key: &ChainKey) -> Result<(i64, ChainId), StoreError> {
    let id = ChainId(append.record.0);
    let minted = matches!(append.chain.installation, Installation::Minted(_));
    store
        .prepare_cached(
            "INSERT INTO chain (id, tenant, issuer, producer, system, installation, minted, updated_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            Col(&id),
            Col(&key.tenant),
            Col(&key.issuer),
            key.producer,
            Col(&key.system),
            Col(&key.installation),
            minted,
            Col(&append.at)
        ])?;
    Ok((store.last_insert_rowid(), id))
}

fn insert_record(
    store: &Connection,
    chain: i64,
    tenant: &TenantId,
    record: &RecordRow,
) -> Result<i64, StoreError> {
    store
        .prepare_cached(
            "INSERT INTO record (id, chain, position, tenant, kind, issuer, number, date, issuer_name, \
             total, external_reference, huella, previous, generated_at, xml) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        )?
        .execute(params![
            Col(&record.id),
            chain,
            Col(&record.position),
            Col(tenant),
            Col(&record.kind),
            Col(&record.invoice.issuer),
            Col(&record.invoice.number),
            Col(&record.invoice.date),
            Col(&record.issuer_name),
            Col(&record.total),
            Col(&record.external_reference),
            Col(&record.huella),
            Col(&record.previous),
            Col(&record.generated_at),
            Col(&record.xml)
        ])?;
    Ok(store.last_insert_rowid())
}

fn insert_job(
    store: &Connection,
    seq: i64,
    chain: i64,
    record: &RecordRow,
    job: &JobRow,
) -> Result<(), StoreError> {
    let progress = &job.progress;
    let (turn, due): (Option<Turn>, Option<Timestamp>) = (Turn::of(progress), schedule::own_time(progress));
    store
        .prepare_cached(
            "INSERT INTO job (seq, id, chain, position, tenant, issuer, number, date, kind, request, state, \
             standing, attempts, sent, created_at, updated_at, turn, due_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        )?
        .execute(params![
            seq,
            Col(&job.id),
            chain,
            Col(&record.position),
            Col(&job.tenant),
            Col(&record.invoice.issuer),
            Col(&record.invoice.number),
            Col(&record.invoice.date),
            Col(&job.kind),
            Col(&job.request),
            Col(&progress.state),
            Col(&progress.standing),
            progress.attempts,
            progress.sent,
            Col(&job.created_at),
            Col(&job.updated_at),
            Col(&turn),
            Col(&due)
        ])?;
    Ok(())
}
