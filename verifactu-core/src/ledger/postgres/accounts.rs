//! Accounts in the same database.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::{
    certificate::Purpose,
    ledger::{
        Accounts, ApiKey, ApiKeyId, AuditEntry, AuditLine, Batch, Caller, Delivery, DeliveryOutcome,
        LedgerError, Listing, Page, SealedCertificate, Tenant, Webhook,
        table::{self, audit_columns, certificate_columns, key_columns, tenant_columns},
    },
    types::{BatchId, DeliveryId, TenantId},
};

use super::{
    PostgresLedger,
    column::{Col, Json, each},
    error::StoreError,
    listing::{MOST_COUNTED, counted, one_above},
    pool::{Pool, repeated, together},
    row, webhook,
};

macro_rules! tenant_query {
    ($rest:literal) => {
        concat!("SELECT ", tenant_columns!(), " FROM tenant ", $rest)
    };
}

macro_rules! key_query {
    ($rest:literal) => {
        concat!("SELECT ", key_columns!(), " FROM api_key ", $rest)
    };
}

macro_rules! certificate_query {
    ($rest:literal) => {
        concat!("SELECT ", certificate_columns!(), " FROM certificate ", $rest)
    };
}

#[async_trait]
impl Accounts for PostgresLedger {
    async fn create_tenant(&self, tenant: &Tenant) -> Result<bool, LedgerError> {
        const CREATE: &str = concat!(
            "INSERT INTO tenant (",
            tenant_columns!(),
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (id) DO NOTHING \
             RETURNING 1"
        );
        let party = tenant.representative.as_ref();
        let created = self
            .pool
            .write(
                CREATE,
                &[
                    &Col(&tenant.id),
                    &Col(&tenant.name),
                    &Col(&tenant.issuer_name),
                    &Col(&tenant.allowed_nif),
                    &Col(&tenant.parent),
                    &Col(&tenant.plan),
                    &tenant.own_system,
                    &Col(&party.map(|party| party.name.clone())),
                    &Col(&party.map(|party| party.nif)),
                    &Col(&tenant.verifactu_end),
                    &Col(&tenant.status),
                    &Col(&tenant.created_at),
                ],
            )
            .await?;
        Ok(!created.is_empty())
    }

    async fn tenant(&self, id: &TenantId) -> Result<Option<Tenant>, LedgerError> {
        let rows = self.pool.read(tenant_query!("WHERE id = $1"), &[&Col(id)]).await?;
        Ok(row::first(&rows, table::read_tenant)?)
    }

    /// One statement, which looks at the row once nobody else holds it.
    async fn update_tenant(&self, known: &Tenant, changed: &Tenant) -> Result<bool, LedgerError> {
        const UPDATE: &str = concat!(
            "UPDATE tenant SET name = $13, issuer_name = $14, allowed_nif = $15, plan = $16, \
             own_system = $17, representative_name = $18, representative_nif = $19, \
             verifactu_end = $20, status = $21 WHERE id = $1 AND (",
            tenant_columns!(),
            ") IS NOT DISTINCT FROM ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING 1"
        );
        let [known_party, party] = [known, changed].map(|tenant| tenant.representative.as_ref());
        let updated = self
            .pool
            .write(
                UPDATE,
                &[
                    &Col(&known.id),
                    &Col(&known.name),
                    &Col(&known.issuer_name),
                    &Col(&known.allowed_nif),
                    &Col(&known.parent),
                    &Col(&known.plan),
                    &known.own_system,
                    &Col(&known_party.map(|party| party.name.clone())),
                    &Col(&known_party.map(|party| party.nif)),
                    &Col(&known.verifactu_end),
                    &Col(&known.status),
                    &Col(&known.created_at),
                    &Col(&changed.name),
                    &Col(&changed.issuer_name),
                    &Col(&changed.allowed_nif),
                    &Col(&changed.plan),
                    &changed.own_system,
                    &Col(&party.map(|party| party.name.clone())),
                    &Col(&party.map(|party| party.nif)),
                    &Col(&changed.verifactu_end),
                    &Col(&changed.status),
                ],
            )
            .await?;
        Ok(!updated.is_empty())
    }

    async fn tenants(
        &self,
        parent: Option<&TenantId>,
        page: Page<TenantId>,
    ) -> Result<Listing<Tenant>, LedgerError> {
        const OF_PARENT: &str = tenant_query!("WHERE id > $1 AND parent = $4 ORDER BY id LIMIT $2 OFFSET $3");
        const ALL: &str = tenant_query!("WHERE id > $1 ORDER BY id LIMIT $2 OFFSET $3");
        const COUNTED: &str = counted!("FROM tenant");
        const COUNTED_OF_PARENT: &str = counted!("FROM tenant WHERE parent = $2");
        let limit = page.limit;
        let (after, skipped) = page.begin();
        let after = after.as_ref().map_or("", TenantId::as_str);
        let most = one_above(limit);
        let (most, skipped) = (&Col(&most), &Col(&skipped));
        let (total, rows) = match parent {
            Some(parent) => (
                self.pool.count(COUNTED_OF_PARENT, &[&MOST_COUNTED, &Col(parent)]).await?,
                self.pool.read(OF_PARENT, &[&after, most, skipped, &Col(parent)]).await?,
            ),
            None => (
                self.pool.count(COUNTED, &[&MOST_COUNTED]).await?,
                self.pool.read(ALL, &[&after, most, skipped]).await?,
            ),
        };
        Ok(Listing::of(row::all(&rows, table::read_tenant)?, limit, total))
    }

    async fn create_key(&self, key: &ApiKey) -> Result<(), LedgerError> {
        const CREATE: &str = concat!(
            "INSERT INTO api_key (",
            key_columns!(),
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
        );
        self.pool
            .write(
                CREATE,
                &[
                    &Col(&key.id),
                    &Col(&key.tenant),
                    &Col(&key.name),
                    &Col(&key.public),
                    &Col(&key.hash),
                    &Col(&Json(key.scopes.clone())),
                    &Col(&key.created_at),
                    &Col(&key.expires_at),
                    &Col(&key.revoked_at),
                    &Col(&key.sealed),
                ],
            )
            .await?;
        Ok(())
    }

    async fn caller(&self, public: &str) -> Result<Option<Caller>, LedgerError> {
        self.callers.find(public).await
    }

    async fn keys(
        &self,
        tenant: Option<&TenantId>,
        page: Page<ApiKeyId>,
    ) -> Result<Listing<ApiKey>, LedgerError> {
        const OF_TENANT: &str =
            key_query!("WHERE ($1::uuid IS NULL OR id > $1) AND tenant = $4 ORDER BY id LIMIT $2 OFFSET $3");
        const ALL: &str = key_query!("WHERE $1::uuid IS NULL OR id > $1 ORDER BY id LIMIT $2 OFFSET $3");
        const COUNTED: &str = counted!("FROM api_key");
        const COUNTED_OF_TENANT: &str = counted!("FROM api_key WHERE tenant = $2");
        let limit = page.limit;
        let (after, skipped) = page.begin();
        let most = one_above(limit);
        let (after, most, skipped) = (&Col(&after), &Col(&most), &Col(&skipped));
        let (total, rows) = match tenant {
            Some(tenant) => (
                self.pool.count(COUNTED_OF_TENANT, &[&MOST_COUNTED, &Col(tenant)]).await?,
                self.pool.read(OF_TENANT, &[after, most, skipped, &Col(tenant)]).await?,
            ),
            None => (
                self.pool.count(COUNTED, &[&MOST_COUNTED]).await?,
                self.pool.read(ALL, &[after, most, skipped]).await?,
            ),
        };
        Ok(Listing::of(row::all(&rows, table::read_key)?, limit, total))
    }

    async fn revoke_key(
        &self,
        tenant: Option<&TenantId>,
        id: ApiKeyId,
        at: Timestamp,
    ) -> Result<Option<ApiKey>, LedgerError> {
        const REVOKE: &str = concat!(
            "UPDATE api_key SET revoked_at = coalesce(revoked_at, $3) \
             WHERE id = $2 AND tenant = coalesce($1, tenant) RETURNING ",
            key_columns!()
        );
        let rows = self.pool.write(REVOKE, &[&Col(&tenant.cloned()), &Col(&id), &Col(&at)]).await?;
        Ok(row::first(&rows, table::read_key)?)
    }

    async fn put_certificate(&self, certificate: &SealedCertificate) -> Result<(), LedgerError> {
        const PUT: &str = concat!(
            "INSERT INTO certificate (",
            certificate_columns!(),
            ") VALUES ($1, $2, $3, $4) ON CONFLICT (tenant) DO UPDATE SET sealed = excluded.sealed, \
             not_after = excluded.not_after, uploaded_at = excluded.uploaded_at"
        );
        let SealedCertificate { tenant, sealed, not_after, uploaded_at } = certificate;
        self.pool.write(PUT, &[&Col(tenant), &Col(sealed), &Col(not_after), &Col(uploaded_at)]).await?;
        Ok(())
    }

    async fn certificate(&self, tenant: &TenantId) -> Result<Option<SealedCertificate>, LedgerError> {
        let rows = self.pool.read(certificate_query!("WHERE tenant = $1"), &[&Col(tenant)]).await?;
        Ok(row::first(&rows, table::read_certificate)?)
    }

    async fn delete_certificate(&self, tenant: &TenantId) -> Result<bool, LedgerError> {
        const DELETE: &str = "DELETE FROM certificate WHERE tenant = $1 RETURNING 1";
        Ok(!self.pool.write(DELETE, &[&Col(tenant)]).await?.is_empty())
    }

    async fn put_batch(&self, batch: &Batch, expired: Timestamp) -> Result<(), LedgerError> {
        const PUT: &str = "WITH gone AS (DELETE FROM batch WHERE created_at < $5) \
                           INSERT INTO batch (id, tenant, created_at, items) VALUES ($1, $2, $3, $4)";
        let items = Json(batch.items.clone());
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&Col(&batch.id), &Col(&batch.tenant), &Col(&batch.created_at), &Col(&items), &Col(&expired)];
        self.pool.write(PUT, &values).await?;
        Ok(())
    }

    async fn batch(&self, tenant: &TenantId, id: BatchId) -> Result<Option<Batch>, LedgerError> {
        const QUERY: &str = "SELECT id, tenant, created_at, items FROM batch WHERE id = $1 AND tenant = $2";
        Ok(row::first(&self.pool.read(QUERY, &[&Col(&id), &Col(tenant)]).await?, table::read_batch)?)
    }

    async fn count_requests(&self, counts: &[(TenantId, String, u64)]) -> Result<(), LedgerError> {
        // In one order on every node, so that two of them never wait for each other.
        const ADD: &str = "INSERT INTO request_count AS known (tenant, month, requests) \
             SELECT tenant, month, sum(requests)::bigint \
             FROM unnest($1::text[], $2::text[], $3::bigint[]) new (tenant, month, requests) \
             GROUP BY tenant, month ORDER BY tenant COLLATE \"C\", month COLLATE \"C\" \
             ON CONFLICT (tenant, month) DO UPDATE SET requests = known.requests + excluded.requests";
        let tenants = each(counts, |(tenant, _, _)| tenant);
        let months = each(counts, |(_, month, _)| month);
        let requests = each(counts, |(_, _, requests)| requests);
        self.pool.write(ADD, &[&tenants, &months, &requests]).await?;
        Ok(())
    }

    async fn requests(&self, tenant: &TenantId, since: &str) -> Result<Vec<(String, u64)>, LedgerError> {
        const QUERY: &str =
            "SELECT month, requests FROM request_count WHERE tenant = $1 AND month >= $2 ORDER BY month";
        let rows = self.pool.read(QUERY, &[&Col(tenant), &since]).await?;
        Ok(row::all(&rows, |cells| Ok((cells.next()?, cells.next()?)))?)
    }

    async fn expiring_certificates(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<SealedCertificate>, LedgerError> {
        const QUERY: &str = certificate_query!("WHERE not_after < $1 ORDER BY not_after, tenant LIMIT $2");
        let rows = self.pool.read(QUERY, &[&Col(&before), &Col(&limit)]).await?;
        Ok(row::all(&rows, table::read_certificate)?)
    }

    async fn reseal(
        &self,
        tenant: &TenantId,
        purpose: Purpose,
        known: &[u8],
        sealed: &[u8],
    ) -> Result<bool, LedgerError> {
        let update = match purpose {
            Purpose::Identity => {
                "UPDATE certificate SET sealed = $3 WHERE tenant = $1 AND sealed = $2 RETURNING 1"
            }
            Purpose::WebhookSecret => {
                "UPDATE webhook SET secret = $3 WHERE tenant = $1 AND secret = $2 RETURNING 1"
            }
            Purpose::ApiKey => "UPDATE api_key SET sealed = $3 WHERE tenant = $1 AND sealed = $2 RETURNING 1",
        };
        Ok(!self.pool.write(update, &[&Col(tenant), &known, &sealed]).await?.is_empty())
    }

    async fn put_webhook(&self, known: Option<&Webhook>, webhook: &Webhook) -> Result<bool, LedgerError> {
        Ok(webhook::put(&self.pool, known, webhook).await?)
    }

    async fn webhook(&self, tenant: &TenantId) -> Result<Option<Webhook>, LedgerError> {
        Ok(webhook::find(&self.pool, tenant).await?)
    }

    async fn delete_webhook(&self, tenant: &TenantId) -> Result<bool, LedgerError> {
        Ok(webhook::delete(&self.pool, tenant).await?)
    }

    async fn put_delivery(&self, delivery: &Delivery) -> Result<(), LedgerError> {
        Ok(webhook::put_delivery(&self.pool, delivery).await?)
    }

    async fn take_delivery(
        &self,
        at: Timestamp,
        except: &[TenantId],
    ) -> Result<Option<Delivery>, LedgerError> {
        Ok(webhook::take(&self.pool, at, except).await?)
    }

    async fn finish_delivery(&self, id: DeliveryId, outcome: &DeliveryOutcome) -> Result<(), LedgerError> {
        Ok(webhook::finish(&self.pool, id, outcome).await?)
    }

    async fn deliveries(
        &self,
        tenant: &TenantId,
        page: Page<DeliveryId>,
    ) -> Result<Listing<Delivery>, LedgerError> {
        Ok(webhook::deliveries(&self.pool, tenant, page).await?)
    }

    async fn prune_deliveries(&self, before: Timestamp, limit: u32) -> Result<u64, LedgerError> {
        Ok(webhook::prune(&self.pool, before, limit).await?)
    }

    async fn audit(&self, entry: &AuditEntry) -> Result<(), LedgerError> {
        Ok(repeated!(audit(&self.pool, entry))?)
    }

    async fn audit_lines(&self, page: Page<u64>) -> Result<Listing<AuditLine>, LedgerError> {
        const QUERY: &str = concat!(
            "SELECT ",
            audit_columns!(),
            " FROM audit WHERE seq < $1 ORDER BY seq DESC LIMIT $2 OFFSET $3"
        );
        let total = self.pool.count(counted!("FROM audit"), &[&MOST_COUNTED]).await?;
        let limit = page.limit;
        let (before, skipped) = page.begin();
        let before = before.map_or(i64::MAX, |before| i64::try_from(before).unwrap_or(i64::MAX));
        let rows = self.pool.read(QUERY, &[&before, &Col(&one_above(limit)), &Col(&skipped)]).await?;
        Ok(Listing::of(row::all(&rows, table::read_audit_line)?, limit, total))
    }
}

/// One line at a time, so that each stands behind the one before. The lock is a number ("VFAU"), since one
/// on the table would keep autovacuum out, and wait for it.
async fn audit(pool: &Pool, entry: &AuditEntry) -> Result<(), StoreError> {
    const LOCK: &str = "SELECT pg_advisory_xact_lock(x'56464155'::bigint)";
    const LAST: &str = "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1";
    const INSERT: &str =
        concat!("INSERT INTO audit (", audit_columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7)");
    let mut session = pool.session().await?;
    let [lock, last, insert] = session.prepare([LOCK, LAST, INSERT]).await?;
    let (_, _, last) = session
        .trip(async { together!(session.start(), session.query(&lock, &[]), session.query(&last, &[])) })
        .await?;
    let last = row::first(&last, |cells| Ok((cells.next::<u64>()?, cells.next::<[u8; 32]>()?)))?;
    let (position, previous) = last.unwrap_or_default();
    let AuditEntry { at, actor, action, subject, request } = entry;
    session
        .last_trip(async {
            together!(
                session.query(
                    &insert,
                    &[
                        &Col(&(position + 1)),
                        &Col(at),
                        &Col(actor),
                        &Col(action),
                        &Col(subject),
                        &Col(request),
                        &Col(&entry.hash_behind(&previous)),
                    ],
                ),
                session.commit()
            )
        })
        .await?;
    session.release();
    Ok(())
}
