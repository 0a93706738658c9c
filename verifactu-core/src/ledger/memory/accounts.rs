//! Accounts under the same lock.

use async_trait::async_trait;

use crate::{
    ledger::{Accounts, ApiKey, AuditEntry, LedgerError, LedgerErrorKind, SealedCertificate, Tenant},
    types::TenantId,
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

    async fn audit(&self, entry: &AuditEntry) -> Result<(), LedgerError> {
        self.lock().audit.push(entry.clone());
        Ok(())
    }
}
