//! Accounts in the same file.

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{
    certificate::Purpose,
    ledger::{
        Accounts, ApiKey, ApiKeyId, AuditEntry, AuditLine, Batch, Caller, Delivery, DeliveryOutcome,
        LedgerError, Listing, Page, SealedCertificate, Tenant, Webhook,
        table::{self, audit_columns, caller_query, certificate_columns, key_columns, tenant_columns},
    },
    types::{BatchId, DeliveryId, TenantId},
};

use super::{
    SqliteLedger,
    column::{Cells, Col, Json},
    error::StoreError,
    listing::{counted, one_above},
    webhook,
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
impl Accounts for SqliteLedger {
    async fn create_tenant(&self, tenant: &Tenant) -> Result<bool, LedgerError> {
        let tenant = tenant.clone();
        self.write(move |store| {
            let party = tenant.representative.as_ref();
            let created = store
                .prepare_cached(
                    "INSERT INTO tenant (id, name, issuer_name, allowed_nif, parent, plan, own_system, \
                     representative_name, representative_nif, verifactu_end, status, created_at) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT (id) DO NOTHING",
                )?
                .execute(params![
                    Col(&tenant.id),
                    Col(&tenant.name),
                    Col(&tenant.issuer_name),
                    Col(&tenant.allowed_nif),
                    Col(&tenant.parent),
                    tenant.plan,
                    tenant.own_system,
                    Col(&party.map(|party| party.name.clone())),
                    Col(&party.map(|party| party.nif)),
                    Col(&tenant.verifactu_end),
                    Col(&tenant.status),
                    Col(&tenant.created_at)
                ])?;
            Ok(created == 1)
        })
        .await
    }

    async fn tenant(&self, id: &TenantId) -> Result<Option<Tenant>, LedgerError> {
        let id = id.clone();
        self.read(move |store| find_tenant(store, &id)).await
    }

    async fn update_tenant(&self, known: &Tenant, changed: &Tenant) -> Result<bool, LedgerError> {
        let (known, changed) = (known.clone(), changed.clone());
        self.write(move |store| {
            if find_tenant(store, &known.id)?.as_ref() != Some(&known) {
                return Ok(false);
            }
            let party = changed.representative.as_ref();
            store
                .prepare_cached(
                    "UPDATE tenant SET name = ?2, issuer_name = ?3, allowed_nif = ?4, plan = ?5, \
                     own_system = ?6, representative_name = ?7, representative_nif = ?8, \
                     verifactu_end = ?9, status = ?10 WHERE id = ?1",
                )?
                .execute(params![
                    Col(&known.id),
                    Col(&changed.name),
                    Col(&changed.issuer_name),
                    Col(&changed.allowed_nif),
                    changed.plan,
                    changed.own_system,
                    Col(&party.map(|party| party.name.clone())),
                    Col(&party.map(|party| party.nif)),
                    Col(&changed.verifactu_end),
                    Col(&changed.status)
                ])?;
            Ok(true)
        })
        .await
    }

    async fn tenants(
        &self,
        parent: Option<&TenantId>,
        page: Page<TenantId>,
    ) -> Result<Listing<Tenant>, LedgerError> {
        let (parent, limit) = (parent.cloned(), page.limit);
        let (after, skipped) = page.begin();
        self.read(move |store| {
            let (all, some) = match parent {
                Some(_) => (
                    "FROM tenant WHERE parent = ?1",
                    tenant_query!("WHERE parent = ?1 AND id > ifnull(?2, '') ORDER BY id LIMIT ?3 OFFSET ?4"),
                ),
                None => (
                    "FROM tenant WHERE ?1 IS NULL",
                    tenant_query!("WHERE ?1 IS NULL AND id > ifnull(?2, '') ORDER BY id LIMIT ?3 OFFSET ?4"),
                ),
            };
            let total = counted(store, all, [Col(&parent)])?;
            let mut query = store.prepare_cached(some)?;
            let values = params![Col(&parent), Col(&after), one_above(limit), skipped];
            let rows = query.query_map(values, read_tenant)?;
            Ok(Listing::of(rows.collect::<Result<_, _>>()?, limit, total))
        })
        .await
    }

    async fn create_key(&self, key: &ApiKey) -> Result<(), LedgerError> {
        let key = key.clone();
        self.write(move |store| {
            store
                .prepare_cached(
                    "INSERT INTO api_key (id, tenant, name, public, hash, scopes, created_at, expires_at, \
                     revoked_at, sealed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                )?
                .execute(params![
                    Col(&key.id),
                    Col(&key.tenant),
                    key.name,
                    key.public,
                    key.hash,
                    Col(&Json(key.scopes.clone())),
                    Col(&key.created_at),
                    Col(&key.expires_at),
                    Col(&key.revoked_at),
                    key.sealed
                ])?;
            Ok(())
        })
        .await
    }

    async fn caller(&self, public: &str) -> Result<Option<Caller>, LedgerError> {
        let public = public.to_owned();
        self.look_up(move |store| {
            let mut query = store.prepare_cached(caller_query!("?1"))?;
            Ok(query.query_row([&public], |row| table::read_caller(&mut Cells::of(row))).optional()?)
        })
        .await
    }

    async fn keys(
        &self,
        tenant: Option<&TenantId>,
        page: Page<ApiKeyId>,
    ) -> Result<Listing<ApiKey>, LedgerError> {
        let (tenant, limit) = (tenant.cloned(), page.limit);
        let (after, skipped) = page.begin();
        self.read(move |store| {
            let (all, some) = match tenant {
                Some(_) => (
                    "FROM api_key WHERE tenant = ?1",
                    key_query!("WHERE tenant = ?1 AND id > ifnull(?2, x'') ORDER BY id LIMIT ?3 OFFSET ?4"),
                ),
                None => (
                    "FROM api_key WHERE ?1 IS NULL",
                    key_query!("WHERE ?1 IS NULL AND id > ifnull(?2, x'') ORDER BY id LIMIT ?3 OFFSET ?4"),
                ),
            };
            let total = counted(store, all, [Col(&tenant)])?;
            let mut query = store.prepare_cached(some)?;
            let values = params![Col(&tenant), Col(&after), one_above(limit), skipped];
            let rows = query.query_map(values, read_key)?;
            Ok(Listing::of(rows.collect::<Result<_, _>>()?, limit, total))
        })
        .await
    }

    async fn revoke_key(
        &self,
        tenant: Option<&TenantId>,
        id: ApiKeyId,
        at: Timestamp,
    ) -> Result<Option<ApiKey>, LedgerError> {
        let tenant = tenant.cloned();
        self.write(move |store| {
            let mut query = store.prepare_cached(concat!(
                "UPDATE api_key SET revoked_at = ifnull(revoked_at, ?3) \
                 WHERE id = ?2 AND tenant = ifnull(?1, tenant) RETURNING ",
                key_columns!()
            ))?;
            Ok(query.query_row(params![Col(&tenant), Col(&id), Col(&at)], read_key).optional()?)
        })
        .await
    }

    async fn put_certificate(&self, certificate: &SealedCertificate) -> Result<(), LedgerError> {
        let certificate = certificate.clone();
        self.write(move |store| {
            store
                .prepare_cached(
                    "INSERT OR REPLACE INTO certificate (tenant, sealed, not_after, uploaded_at) \
                     VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![
                    Col(&certificate.tenant),
                    certificate.sealed,
                    Col(&certificate.not_after),
                    Col(&certificate.uploaded_at)
                ])?;
            Ok(())
        })
        .await
    }

    async fn certificate(&self, tenant: &TenantId) -> Result<Option<SealedCertificate>, LedgerError> {
        let tenant = tenant.clone();
        self.read(move |store| {
            let mut query = store.prepare_cached(certificate_query!("WHERE tenant = ?1"))?;
            Ok(query.query_row([Col(&tenant)], read_certificate).optional()?)
        })
        .await
    }

    async fn delete_certificate(&self, tenant: &TenantId) -> Result<bool, LedgerError> {
        let tenant = tenant.clone();
        self.write(move |store| {
            let deleted =
                store.prepare_cached("DELETE FROM certificate WHERE tenant = ?1")?.execute([Col(&tenant)])?;
            Ok(deleted == 1)
        })
        .await
    }

    async fn reseal(
        &self,
        tenant: &TenantId,
        purpose: Purpose,
        known: &[u8],
        sealed: &[u8],
    ) -> Result<bool, LedgerError> {
        let update = match purpose {
            Purpose::Identity => "UPDATE certificate SET sealed = ?3 WHERE tenant = ?1 AND sealed = ?2",
            Purpose::WebhookSecret => "UPDATE webhook SET secret = ?3 WHERE tenant = ?1 AND secret = ?2",
            Purpose::ApiKey => "UPDATE api_key SET sealed = ?3 WHERE tenant = ?1 AND sealed = ?2",
        };
        let (tenant, known, sealed) = (tenant.clone(), known.to_vec(), sealed.to_vec());
        self.write(move |store| {
            Ok(store.prepare_cached(update)?.execute(params![Col(&tenant), known, sealed])? == 1)
        })
        .await
    }

    async fn put_batch(&self, batch: &Batch, expired: Timestamp) -> Result<(), LedgerError> {
        let batch = batch.clone();
        self.write(move |store| {
            store.prepare_cached("DELETE FROM batch WHERE created_at < ?1")?.execute([Col(&expired)])?;
            store
                .prepare_cached("INSERT INTO batch (id, tenant, created_at, items) VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![
                    Col(&batch.id),
                    Col(&batch.tenant),
                    Col(&batch.created_at),
                    Col(&Json(batch.items.clone()))
                ])?;
            Ok(())
        })
        .await
    }

    async fn batch(&self, tenant: &TenantId, id: BatchId) -> Result<Option<Batch>, LedgerError> {
        let tenant = tenant.clone();
        self.read(move |store| {
            let mut query = store.prepare_cached(
                "SELECT id, tenant, created_at, items FROM batch WHERE id = ?1 AND tenant = ?2",
            )?;
            let batch = query
                .query_row(params![Col(&id), Col(&tenant)], |row| table::read_batch(&mut Cells::of(row)));
            Ok(batch.optional()?)
        })
        .await
    }

    async fn count_requests(&self, counts: &[(TenantId, String, u64)]) -> Result<(), LedgerError> {
        let counts = counts.to_owned();
        self.write(move |store| {
            let mut add = store.prepare_cached(
                "INSERT INTO request_count (tenant, month, requests) VALUES (?1, ?2, ?3) \
                 ON CONFLICT DO UPDATE SET requests = requests + ?3",
            )?;
            for (tenant, month, count) in &counts {
                add.execute(params![Col(tenant), month, Col(count)])?;
            }
            Ok(())
        })
        .await
    }

    async fn requests(&self, tenant: &TenantId, since: &str) -> Result<Vec<(String, u64)>, LedgerError> {
        let (tenant, since) = (tenant.clone(), since.to_owned());
        self.read(move |store| {
            let mut query = store.prepare_cached(
                "SELECT month, requests FROM request_count WHERE tenant = ?1 AND month >= ?2 ORDER BY month",
            )?;
            let rows = query.query_map(params![Col(&tenant), since], |row| {
                let mut cells = Cells::of(row);
                Ok((cells.next()?, cells.next()?))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    async fn expiring_certificates(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<SealedCertificate>, LedgerError> {
        self.read(move |store| {
            let mut query = store.prepare_cached(certificate_query!(
                "WHERE not_after < ?1 ORDER BY not_after, tenant LIMIT ?2"
            ))?;
            let rows = query.query_map(params![Col(&before), limit], read_certificate)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    async fn put_webhook(&self, known: Option<&Webhook>, webhook: &Webhook) -> Result<bool, LedgerError> {
        let (known, webhook) = (known.cloned(), webhook.clone());
        self.write(move |store| webhook::put(store, known.as_ref(), &webhook)).await
    }

    async fn webhook(&self, tenant: &TenantId) -> Result<Option<Webhook>, LedgerError> {
        let tenant = tenant.clone();
        self.read(move |store| webhook::find(store, &tenant)).await
    }

    async fn delete_webhook(&self, tenant: &TenantId) -> Result<bool, LedgerError> {
        let tenant = tenant.clone();
        self.write(move |store| webhook::delete(store, &tenant)).await
    }

    async fn put_delivery(&self, delivery: &Delivery) -> Result<(), LedgerError> {
        let delivery = delivery.clone();
        self.write(move |store| webhook::put_delivery(store, &delivery)).await
    }

    async fn take_delivery(
        &self,
        at: Timestamp,
        except: &[TenantId],
    ) -> Result<Option<Delivery>, LedgerError> {
        let except = except.to_vec();
        // Mostly nothing is owed, and to see that nothing need be written.
        let owed = {
            let except = except.clone();
            self.read(move |store| webhook::owed(store, &except)).await?
        };
        match owed {
            None => Ok(None),
            Some(_) => self.write(move |store| webhook::take(store, at, &except)).await,
        }
    }

    async fn finish_delivery(&self, id: DeliveryId, outcome: &DeliveryOutcome) -> Result<(), LedgerError> {
        let outcome = outcome.clone();
        self.write(move |store| webhook::finish(store, id, &outcome)).await
    }

    async fn deliveries(
        &self,
        tenant: &TenantId,
        page: Page<DeliveryId>,
    ) -> Result<Listing<Delivery>, LedgerError> {
        let tenant = tenant.clone();
        self.read(move |store| webhook::deliveries(store, &tenant, page)).await
    }

    async fn prune_deliveries(&self, before: Timestamp, limit: u32) -> Result<u64, LedgerError> {
        self.write(move |store| webhook::prune(store, before, limit)).await
    }

    async fn audit(&self, entry: &AuditEntry) -> Result<(), LedgerError> {
        let entry = entry.clone();
        self.write(move |store| {
            let last = store
                .prepare_cached("SELECT hash FROM audit ORDER BY seq DESC LIMIT 1")?
                .query_row([], |row| row.get::<_, [u8; 32]>(0))
                .optional()?;
            store
                .prepare_cached(
                    "INSERT INTO audit (at, actor, action, subject, request, hash) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .execute(params![
                    Col(&entry.at),
                    entry.actor,
                    entry.action,
                    entry.subject,
                    Col(&entry.request),
                    entry.hash_behind(&last.unwrap_or_default())
                ])?;
            Ok(())
        })
        .await
    }

    async fn audit_lines(&self, page: Page<u64>) -> Result<Listing<AuditLine>, LedgerError> {
        let limit = page.limit;
        let (before, skipped) = page.begin();
        self.read(move |store| {
            let total = counted(store, "FROM audit", [])?;
            let mut query = store.prepare_cached(concat!(
                "SELECT ",
                audit_columns!(),
                " FROM audit WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2 OFFSET ?3"
            ))?;
            let before = before.map_or(i64::MAX, |before| i64::try_from(before).unwrap_or(i64::MAX));
            let read = |row: &Row<'_>| table::read_audit_line(&mut Cells::of(row));
            let rows = query.query_map(params![before, one_above(limit), skipped], read)?;
            Ok(Listing::of(rows.collect::<Result<_, _>>()?, limit, total))
        })
        .await
    }
}

fn find_tenant(store: &Connection, id: &TenantId) -> Result<Option<Tenant>, StoreError> {
    let mut query = store.prepare_cached(tenant_query!("WHERE id = ?1"))?;
    Ok(query.query_row([Col(id)], read_tenant).optional()?)
}

fn read_tenant(row: &Row<'_>) -> rusqlite::Result<Tenant> {
    table::read_tenant(&mut Cells::of(row))
}

fn read_key(row: &Row<'_>) -> rusqlite::Result<ApiKey> {
    table::read_key(&mut Cells::of(row))
}

fn read_certificate(row: &Row<'_>) -> rusqlite::Result<SealedCertificate> {
    table::read_certificate(&mut Cells::of(row))
}
