//! Accounts under the same lock.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::{
    ledger::{Accounts, ApiKey, AuditEntry, Batch, LedgerError, LedgerErrorKind, SealedCertificate, Tenant},
    types::{BatchId, TenantId},
};

use super::MemoryLedger;

#[async_trait]
impl Accounts for MemoryLedger {
    async fn create_tenant(&self, tenant: &Tenant) -> Result<bool, LedgerError> {
        let mut state = self.lock();
        if state.tenants.contains_key(&tenant.id) {
            return Ok(false);
        }
        state.tenants.insert(tenant.id.clone(), tenant.clone());
        Ok(true)
    }

    async fn tenant(&self, id: &TenantId) -> Result<Option<Tenant>, LedgerError> {
        Ok(self.lock().tenants.get(id).cloned())
    }

    async fn create_key(&self, key: &ApiKey) -> Result<(), LedgerError> {
        let mut state = self.lock();
        if state.api_keys.values().any(|known| known.public == key.public || known.id == key.id) {
            return Err(LedgerError::new(LedgerErrorKind::Corrupt, "the key's public part is taken"));
        }
        state.api_keys.insert(key.public.clone(), key.clone());
        Ok(())
    }

    async fn key(&self, public: &str) -> Result<Option<ApiKey>, LedgerError> {
        Ok(self.lock().api_keys.get(public).cloned())
    }

    async fn put_certificate(&self, certificate: &SealedCertificate) -> Result<(), LedgerError> {
        self.lock().certificates.insert(certificate.tenant.clone(), certificate.clone());
        Ok(())
    }

    async fn certificate(&self, tenant: &TenantId) -> Result<Option<SealedCertificate>, LedgerError> {
        Ok(self.lock().certificates.get(tenant).cloned())
    }

    async fn delete_certificate(&self, tenant: &TenantId) -> Result<bool, LedgerError> {
        Ok(self.lock().certificates.remove(tenant).is_some())
    }

    async fn put_batch(&self, batch: &Batch, expired: Timestamp) -> Result<(), LedgerError> {
        let mut state = self.lock();
        state.batches.retain(|_, known| known.created_at >= expired);
        state.batches.insert(batch.id, batch.clone());
        Ok(())
    }

    async fn batch(&self, tenant: &TenantId, id: BatchId) -> Result<Option<Batch>, LedgerError> {
        Ok(self.lock().batches.get(&id).filter(|batch| batch.tenant == *tenant).cloned())
    }

    async fn audit(&self, entry: &AuditEntry) -> Result<(), LedgerError> {
        self.lock().audit.push(entry.clone());
        Ok(())
    }
}
