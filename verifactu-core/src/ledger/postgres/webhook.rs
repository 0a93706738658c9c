//! Webhooks and what is owed to them.

use jiff::Timestamp;
use tokio_postgres::types::ToSql;

use crate::{
    ledger::{
        Delivery, DeliveryOutcome, Listing, Page, Webhook,
        table::{self, delivery_columns, webhook_columns},
    },
    types::{DeliveryId, TenantId},
};

use super::{
    column::{Col, each},
    error::StoreError,
    listing::{MOST_COUNTED, counted, one_above},
    pool::Pool,
    row,
};

/// One statement, which looks at the row once nobody else holds it.
pub(super) async fn put(pool: &Pool, known: Option<&Webhook>, webhook: &Webhook) -> Result<bool, StoreError> {
    const INSERT: &str = concat!(
        "INSERT INTO webhook (",
        webhook_columns!(),
        ") VALUES ($1, $2, $3, $4, $5) ON CONFLICT (tenant) DO NOTHING RETURNING 1"
    );
    const REPLACE: &str = "UPDATE webhook SET url = $2, secret = $3, enabled = $4, updated_at = $5 \
         WHERE tenant = $1 AND url = $6 AND secret = $7 AND enabled = $8 AND updated_at = $9 RETURNING 1";
    let Webhook { tenant, url, secret, enabled, updated_at } = webhook;
    let new: [&(dyn ToSql + Sync); 5] = [&Col(tenant), &Col(url), &Col(secret), enabled, &Col(updated_at)];
    let put = match known {
        None => pool.write(INSERT, &new).await?,
        Some(Webhook { tenant: _, url, secret, enabled, updated_at }) => {
            let old: [&(dyn ToSql + Sync); 4] = [&Col(url), &Col(secret), enabled, &Col(updated_at)];
            pool.write(REPLACE, &[&new[..], &old[..]].concat()).await?
        }
    };
    Ok(!put.is_empty())
}

pub(super) async fn find(pool: &Pool, tenant: &TenantId) -> Result<Option<Webhook>, StoreError> {
    const QUERY: &str = concat!("SELECT ", webhook_columns!(), " FROM webhook WHERE tenant = $1");
    row::first(&pool.read(QUERY, &[&Col(tenant)]).await?, table::read_webhook)
}

pub(super) async fn delete(pool: &Pool, tenant: &TenantId) -> Result<bool, StoreError> {
    let deleted = pool.write("DELETE FROM webhook WHERE tenant = $1 RETURNING 1", &[&Col(tenant)]).await?;
    Ok(!deleted.is_empty())
}

/// Notes that jobs of a chain have become final, for the account's webhook if it has one.
pub(super) const OWE: &str = "INSERT INTO delivery (id, tenant, job, created_at) \
     SELECT f.id, w.tenant, f.id, $3 FROM unnest($2::uuid[]) WITH ORDINALITY f (id, ordinal) \
     CROSS JOIN chain c JOIN webhook w ON w.tenant = c.tenant \
     WHERE c.seq = $1 AND w.enabled ORDER BY f.ordinal";

pub(super) async fn put_delivery(pool: &Pool, delivery: &Delivery) -> Result<(), StoreError> {
    const PUT: &str =
        concat!("INSERT INTO delivery (", delivery_columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)");
    let Delivery { id, tenant, job, created_at, attempted_at, outcome } = delivery;
    let (duration, status, error) = match outcome {
        Some(DeliveryOutcome { duration_ms, status, error }) => {
            (Some(*duration_ms), *status, error.as_deref())
        }
        None => (None, None, None),
    };
    pool.write(
        PUT,
        &[
            &Col(id),
            &Col(tenant),
            &Col(job),
            &Col(created_at),
            &Col(attempted_at),
            &Col(&duration),
            &Col(&status),
            &error,
        ],
    )
    .await?;
    Ok(())
}

/// One statement, in which a row that another node is taking is stepped over: no delivery is given twice.
pub(super) async fn take(
    pool: &Pool,
    at: Timestamp,
    except: &[TenantId],
) -> Result<Option<Delivery>, StoreError> {
    const TAKE: &str = concat!(
        "UPDATE delivery SET attempted_at = $1 WHERE seq = (SELECT seq FROM delivery \
         WHERE attempted_at IS NULL AND tenant <> ALL ($2::text[]) \
         ORDER BY seq LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING ",
        delivery_columns!()
    );
    let taken = pool.write(TAKE, &[&Col(&at), &each(except, |tenant| tenant)]).await?;
    row::first(&taken, table::read_delivery)
}

pub(super) async fn finish(pool: &Pool, id: DeliveryId, outcome: &DeliveryOutcome) -> Result<(), StoreError> {
    const FINISH: &str = "UPDATE delivery SET duration_ms = $2, status = $3, error = $4 WHERE id = $1";
    let DeliveryOutcome { duration_ms, status, error } = outcome;
    pool.write(FINISH, &[&Col(&id), &Col(duration_ms), &Col(status), error]).await?;
    Ok(())
}

pub(super) async fn deliveries(
    pool: &Pool,
    tenant: &TenantId,
    page: Page<DeliveryId>,
) -> Result<Listing<Delivery>, StoreError> {
    const QUERY: &str = concat!(
        "SELECT ",
        delivery_columns!(),
        " FROM delivery WHERE tenant = $1 AND seq < coalesce(CASE WHEN $2::uuid IS NULL \
         THEN 9223372036854775807 ELSE (SELECT seq FROM delivery WHERE id = $2 AND tenant = $1) END, 0) \
         ORDER BY seq DESC LIMIT $3 OFFSET $4"
    );
    const COUNTED: &str = counted!("FROM delivery WHERE tenant = $2");
    let total = pool.count(COUNTED, &[&MOST_COUNTED, &Col(tenant)]).await?;
    let (limit, most) = (page.limit, one_above(page.limit));
    let (after, skipped) = page.begin();
    let values: [&(dyn ToSql + Sync); 4] = [&Col(tenant), &Col(&after), &Col(&most), &Col(&skipped)];
    Ok(Listing::of(row::all(&pool.read(QUERY, &values).await?, table::read_delivery)?, limit, total))
}

pub(super) async fn prune(pool: &Pool, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    const PRUNE: &str = "DELETE FROM delivery WHERE seq IN (SELECT seq FROM delivery \
         WHERE created_at < $1 AND attempted_at IS NOT NULL LIMIT $2) RETURNING 1";
    Ok(pool.write(PRUNE, &[&Col(&before), &Col(&limit)]).await?.len() as u64)
}
