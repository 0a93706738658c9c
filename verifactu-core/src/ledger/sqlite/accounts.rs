//! Accounts in the same file.

use std::collections::BTreeSet;

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};

use crate::{
    ledger::{Accounts, ApiKey, AuditEntry, Batch, LedgerError, SealedCertificate, Tenant},
    types::{BatchId, TenantId},
};

use super::{
    SqliteLedger,
    column::{Cells, Col, Json},
};

#[async_trait]
impl Accounts for SqliteLedger {
    async fn create_tenant(&self, tenant: &Tenant) -> Result<bool, LedgerError> {
        let tenant = tenant.clone();
        self.write(move |store| {
            let created = store
                .prepare_cached(
                    "INSERT INTO tenant (id, name, issuer_name, allowed_nif, parent, plan, own_system, \
                     status, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
                     ON CONFLICT (id) DO NOTHING",
                )?
                .execute(params![
                    Col(&tenant.id),
                    Col(&tenant.name),
                    Col(&tenant.issuer_name),
                    Col(&tenant.allowed_nif),
                    Col(&tenant.parent),
                    tenant.plan,
                    tenant.own_system,
                    Col(&tenant.status),
                    Col(&tenant.created_at)
                ])?;
            Ok(created == 1)
        })
        .await
    }

    async fn tenant(&self, id: &TenantId) -> Result<Option<Tenant>, LedgerError> {
        let id = id.clone();
        self.read(move |store| {
            let mut query = store.prepare_cached(
                "SELECT id, name, issuer_name, allowed_nif, parent, plan, own_system, status, created_at \
                 FROM tenant WHERE id = ?1",
            )?;
            let tenant = query.query_row([Col(&id)], |row| {
                let mut cells = Cells::of(row);
                Ok(Tenant {
                    id: cells.next()?,
                    name: cells.next()?,
                    issuer_name: cells.next()?,
                    allowed_nif: cells.next()?,
                    parent: cells.next()?,
                    plan: cells.next()?,
                    own_system: cells.next()?,
                    status: cells.next()?,
                    created_at: cells.next()?,
                })
            });
            Ok(tenant.optional()?)
        })
        .await
    }

    async fn create_key(&self, key: &ApiKey) -> Result<(), LedgerError> {
        let key = key.clone();
        self.write(move |store| {
            store
                .prepare_cached(
                    "INSERT INTO api_key (id, tenant, name, public, hash, scopes, created_at, expires_at, \
                     revoked_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                )?
                .execute(params![
                    Col(&key.id),
                    Col(&key.tenant),
                    key.name,
                    key.public,
                    key.hash,
                    Col(&Json(key.scopes)),
                    Col(&key.created_at),
                    Col(&key.expires_at),
                    Col(&key.revoked_at)
                ])?;
            Ok(())
        })
        .await
    }

    async fn key(&self, public: &str) -> Result<Option<ApiKey>, LedgerError> {
        let public = public.to_owned();
        self.read(move |store| {
            let mut query = store.prepare_cached(
                "SELECT id, tenant, name, public, hash, scopes, created_at, expires_at, revoked_at \
                 FROM api_key WHERE public = ?1",
            )?;
            let key = query.query_row([public], |row| {
                let mut cells = Cells::of(row);
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
                })
            });
            Ok(key.optional()?)
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
            let mut query = store.prepare_cached(
                "SELECT tenant, sealed, not_after, uploaded_at FROM certificate WHERE tenant = ?1",
            )?;
            let certificate = query.query_row([Col(&tenant)], |row| {
                let mut cells = Cells::of(row);
                Ok(SealedCertificate {
                    tenant: cells.next()?,
                    sealed: cells.next()?,
                    not_after: cells.next()?,
                    uploaded_at: cells.next()?,
                })
            });
            Ok(certificate.optional()?)
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
                    Col(&Json(batch.items))
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
            let batch = query.query_row(params![Col(&id), Col(&tenant)], |row| {
                let mut cells = Cells::of(row);
                let (id, tenant, created_at) = (cells.next()?, cells.next()?, cells.next()?);
                let Json(items) = cells.next()?;
                Ok(Batch { id, tenant, created_at, items })
            });
            Ok(batch.optional()?)
        })
        .await
    }

    async fn audit(&self, entry: &AuditEntry) -> Result<(), LedgerError> {
        let entry = entry.clone();
        self.write(move |store| {
            store
                .prepare_cached(
                    "INSERT INTO audit (at, actor, action, subject, request) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![
                    Col(&entry.at),
                    entry.actor,
                    entry.action,
                    entry.subject,
                    Col(&entry.request)
                ])?;
            Ok(())
        })
        .await
    }
}
