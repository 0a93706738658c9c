//! Webhooks and what is owed to them.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{
    ledger::{
        Delivery, DeliveryOutcome, Listing, Page, Webhook,
        table::{self, delivery_columns, webhook_columns},
    },
    types::{DeliveryId, JobId, TenantId},
};

use super::{
    column::{Cells, Col, Json},
    error::StoreError,
    listing::{counted, one_above},
};

pub(super) fn put(
    store: &Connection,
    known: Option<&Webhook>,
    webhook: &Webhook,
) -> Result<bool, StoreError> {
    if find(store, &webhook.tenant)?.as_ref() != known {
        return Ok(false);
    }
    store
        .prepare_cached(
            "INSERT OR REPLACE INTO webhook (tenant, url, secret, enabled, updated_at) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            Col(&webhook.tenant),
            webhook.url,
            webhook.secret,
            webhook.enabled,
            Col(&webhook.updated_at)
        ])?;
    Ok(true)
}

pub(super) fn find(store: &Connection, tenant: &TenantId) -> Result<Option<Webhook>, StoreError> {
    let mut query =
        store.prepare_cached(concat!("SELECT ", webhook_columns!(), " FROM webhook WHERE tenant = ?1"))?;
    let found = query.query_row([Col(tenant)], |row| table::read_webhook(&mut Cells::of(row)));
    Ok(found.optional()?)
}

pub(super) fn delete(store: &Connection, tenant: &TenantId) -> Result<bool, StoreError> {
    Ok(store.prepare_cached("DELETE FROM webhook WHERE tenant = ?1")?.execute([Col(tenant)])? == 1)
}

/// Notes that a job of a chain has become final, for the account's webhook if it has one.
pub(super) fn owe(store: &Connection, chain: i64, job: JobId, at: Timestamp) -> Result<(), StoreError> {
    store
        .prepare_cached(
            "INSERT INTO delivery (id, tenant, job, created_at) SELECT ?2, w.tenant, ?2, ?3 \
             FROM chain c JOIN webhook w ON w.tenant = c.tenant WHERE c.seq = ?1 AND w.enabled",
        )?
        .execute(params![chain, Col(&job), Col(&at)])?;
    Ok(())
}

pub(super) fn put_delivery(store: &Connection, delivery: &Delivery) -> Result<(), StoreError> {
    let outcome = delivery.outcome.as_ref();
    store
        .prepare_cached(concat!(
            "INSERT INTO delivery (",
            delivery_columns!(),
            ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
        ))?
        .execute(params![
            Col(&delivery.id),
            Col(&delivery.tenant),
            Col(&delivery.job),
            Col(&delivery.created_at),
            Col(&delivery.attempted_at),
            Col(&outcome.map(|outcome| outcome.duration_ms)),
            outcome.and_then(|outcome| outcome.status),
            outcome.and_then(|outcome| outcome.error.as_deref())
        ])?;
    Ok(())
}

/// The number of the delivery that is next.
pub(super) fn owed(store: &Connection, except: &[TenantId]) -> Result<Option<i64>, StoreError> {
    let mut query = store.prepare_cached(
        "SELECT seq FROM delivery WHERE attempted_at IS NULL \
         AND tenant NOT IN (SELECT value FROM json_each(?1)) ORDER BY seq LIMIT 1",
    )?;
    Ok(query.query_row([Col(&Json(except.to_vec()))], |row| row.get(0)).optional()?)
}

pub(super) fn take(
    store: &Connection,
    at: Timestamp,
    except: &[TenantId],
) -> Result<Option<Delivery>, StoreError> {
    let Some(seq) = owed(store, except)? else { return Ok(None) };
    let mut query = store.prepare_cached(concat!(
        "UPDATE delivery SET attempted_at = ?2 WHERE seq = ?1 RETURNING ",
        delivery_columns!()
    ))?;
    Ok(Some(query.query_row(params![seq, Col(&at)], read)?))
}

pub(super) fn finish(
    store: &Connection,
    id: DeliveryId,
    outcome: &DeliveryOutcome,
) -> Result<(), StoreError> {
    store
        .prepare_cached("UPDATE delivery SET duration_ms = ?2, status = ?3, error = ?4 WHERE id = ?1")?
        .execute(params![Col(&id), Col(&outcome.duration_ms), outcome.status, outcome.error])?;
    Ok(())
}

pub(super) fn deliveries(
    store: &Connection,
    tenant: &TenantId,
    page: Page<DeliveryId>,
) -> Result<Listing<Delivery>, StoreError> {
    let total = counted(store, "FROM delivery WHERE tenant = ?1", [Col(tenant)])?;
    let limit = page.limit;
    let (after, skipped) = page.begin();
    let mut query = store.prepare_cached(concat!(
        "SELECT ",
        delivery_columns!(),
        " FROM delivery WHERE tenant = ?1 \
         AND (?2 IS NULL OR seq < (SELECT seq FROM delivery WHERE id = ?2 AND tenant = ?1)) \
         ORDER BY seq DESC LIMIT ?3 OFFSET ?4"
    ))?;
    let rows = query.query_map(params![Col(tenant), Col(&after), one_above(limit), skipped], read)?;
    Ok(Listing::of(rows.collect::<Result<_, _>>()?, limit, total))
}

pub(super) fn prune(store: &Connection, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let mut query = store.prepare_cached(
        "DELETE FROM delivery WHERE seq IN (SELECT seq FROM delivery \
         WHERE created_at < ?1 AND attempted_at IS NOT NULL LIMIT ?2)",
    )?;
    Ok(query.execute(params![Col(&before), limit])? as u64)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    table::read_delivery(&mut Cells::of(row))
}
