//! Accounts under the same lock.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::{
    certificate::Purpose,
    ledger::{
        Accounts, ApiKey, ApiKeyId, AuditEntry, AuditLine, Batch, Caller, Delivery, DeliveryOutcome,
        LedgerError, LedgerErrorKind, Listing, Page, SealedCertificate, Tenant, Webhook,
    },
    types::{BatchId, DeliveryId, TenantId},
};

use super::{MemoryLedger, listing};

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

    async fn update_tenant(&self, known: &Tenant, changed: &Tenant) -> Result<bool, LedgerError> {
        let mut state = self.lock();
        let place = state.tenants.get_mut(&known.id).filter(|place| *place == known);
        let Tenant { id, parent, created_at, .. } = known.clone();
        Ok(place.map(|place| *place = Tenant { id, parent, created_at, ..changed.clone() }).is_some())
    }

    async fn tenants(
        &self,
        parent: Option<&TenantId>,
        page: Page<TenantId>,
    ) -> Result<Listing<Tenant>, LedgerError> {
        let state = self.lock();
        let own =
            state.tenants.values().filter(|tenant| parent.is_none() || tenant.parent.as_ref() == parent);
        Ok(listing::page(own, page, |tenant, after| tenant.id > *after, Tenant::clone))
    }

    async fn create_key(&self, key: &ApiKey) -> Result<(), LedgerError> {
        let mut state = self.lock();
        if state.api_keys.values().any(|known| known.public == key.public || known.id == key.id) {
            return Err(LedgerError::new(LedgerErrorKind::Corrupt, "the key's public part is taken"));
        }
        state.api_keys.insert(key.public.clone(), key.clone());
        Ok(())
    }

    async fn caller(&self, public: &str) -> Result<Option<Caller>, LedgerError> {
        let state = self.lock();
        Ok(state.api_keys.get(public).and_then(|key| {
            let tenant = state.tenants.get(&key.tenant)?.clone();
            let certificate_until = state.certificates.get(&key.tenant).map(|known| known.not_after);
            Some(Caller { key: key.clone(), tenant, certificate_until })
        }))
    }

    async fn keys(
        &self,
        tenant: Option<&TenantId>,
        page: Page<ApiKeyId>,
    ) -> Result<Listing<ApiKey>, LedgerError> {
        let state = self.lock();
        let own = state.api_keys.values().filter(|key| tenant.is_none_or(|tenant| key.tenant == *tenant));
        let mut keys: Vec<&ApiKey> = own.collect();
        keys.sort_unstable_by_key(|key| key.id.0);
        Ok(listing::page(keys.into_iter(), page, |key, after| key.id.0 > after.0, ApiKey::clone))
    }

    async fn revoke_key(
        &self,
        tenant: Option<&TenantId>,
        id: ApiKeyId,
        at: Timestamp,
    ) -> Result<Option<ApiKey>, LedgerError> {
        let mut state = self.lock();
        let found = state
            .api_keys
            .values_mut()
            .find(|key| key.id == id && tenant.is_none_or(|tenant| key.tenant == *tenant));
        Ok(found.map(|key| {
            key.revoked_at.get_or_insert(at);
            key.clone()
        }))
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

    async fn reseal(
        &self,
        tenant: &TenantId,
        purpose: Purpose,
        known: &[u8],
        sealed: &[u8],
    ) -> Result<bool, LedgerError> {
        let mut state = self.lock();
        let place = match purpose {
            Purpose::Identity => state.certificates.get_mut(tenant).map(|found| &mut found.sealed),
            Purpose::WebhookSecret => state.webhooks.get_mut(tenant).map(|found| &mut found.secret),
            Purpose::ApiKey => {
                let mut own = state.api_keys.values_mut().filter(|key| key.tenant == *tenant);
                own.find_map(|key| key.sealed.as_mut().filter(|sealed| **sealed == known))
            }
        };
        let place = place.filter(|place| **place == known);
        Ok(place.map(|place| *place = sealed.to_vec()).is_some())
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

    async fn count_requests(&self, counts: &[(TenantId, String, u64)]) -> Result<(), LedgerError> {
        let mut state = self.lock();
        for (tenant, month, count) in counts {
            *state.requests.entry((tenant.clone(), month.clone())).or_default() += count;
        }
        Ok(())
    }

    async fn requests(&self, tenant: &TenantId, since: &str) -> Result<Vec<(String, u64)>, LedgerError> {
        let state = self.lock();
        let own = state.requests.iter().filter(|((of, month), _)| of == tenant && **month >= *since);
        Ok(own.map(|((_, month), count)| (month.clone(), *count)).collect())
    }

    async fn expiring_certificates(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<SealedCertificate>, LedgerError> {
        let state = self.lock();
        let ending = state.certificates.values().filter(|certificate| certificate.not_after < before);
        let mut ending: Vec<SealedCertificate> = ending.cloned().collect();
        ending.sort_unstable_by(|a, b| (a.not_after, &a.tenant).cmp(&(b.not_after, &b.tenant)));
        ending.truncate(limit as usize);
        Ok(ending)
    }

    async fn put_webhook(&self, known: Option<&Webhook>, webhook: &Webhook) -> Result<bool, LedgerError> {
        let mut state = self.lock();
        let unchanged = state.webhooks.get(&webhook.tenant) == known;
        if unchanged {
            state.webhooks.insert(webhook.tenant.clone(), webhook.clone());
        }
        Ok(unchanged)
    }

    async fn webhook(&self, tenant: &TenantId) -> Result<Option<Webhook>, LedgerError> {
        Ok(self.lock().webhooks.get(tenant).cloned())
    }

    async fn delete_webhook(&self, tenant: &TenantId) -> Result<bool, LedgerError> {
        Ok(self.lock().webhooks.remove(tenant).is_some())
    }

    async fn put_delivery(&self, delivery: &Delivery) -> Result<(), LedgerError> {
        self.lock().deliveries.push(delivery.clone());
        Ok(())
    }

    async fn take_delivery(
        &self,
        at: Timestamp,
        except: &[TenantId],
    ) -> Result<Option<Delivery>, LedgerError> {
        let mut state = self.lock();
        let mut owed = state.deliveries.iter_mut().filter(|delivery| delivery.attempted_at.is_none());
        Ok(owed.find(|delivery| !except.contains(&delivery.tenant)).map(|delivery| {
            delivery.attempted_at = Some(at);
            delivery.clone()
        }))
    }

    async fn finish_delivery(&self, id: DeliveryId, outcome: &DeliveryOutcome) -> Result<(), LedgerError> {
        if let Some(known) = self.lock().deliveries.iter_mut().find(|delivery| delivery.id == id) {
            known.outcome = Some(outcome.clone());
        }
        Ok(())
    }

    async fn deliveries(
        &self,
        tenant: &TenantId,
        page: Page<DeliveryId>,
    ) -> Result<Listing<Delivery>, LedgerError> {
        let state = self.lock();
        let own: Vec<&Delivery> =
            state.deliveries.iter().rev().filter(|delivery| delivery.tenant == *tenant).collect();
        let behind = |row: &(usize, &Delivery), after: &DeliveryId| {
            own.iter().position(|delivery| delivery.id == *after).is_some_and(|mark| row.0 > mark)
        };
        Ok(listing::page(own.iter().copied().enumerate(), page, behind, |(_, delivery)| delivery.clone()))
    }

    async fn prune_deliveries(&self, before: Timestamp, limit: u32) -> Result<u64, LedgerError> {
        let mut forgotten = 0;
        self.lock().deliveries.retain(|delivery| {
            let goes = forgotten < u64::from(limit)
                && delivery.created_at < before
                && delivery.attempted_at.is_some();
            forgotten += u64::from(goes);
            !goes
        });
        Ok(forgotten)
    }

    async fn audit(&self, entry: &AuditEntry) -> Result<(), LedgerError> {
        let mut state = self.lock();
        let previous = state.audit.last().map_or([0; 32], |line| line.hash);
        let position = state.audit.len() as u64 + 1;
        let hash = entry.hash_behind(&previous);
        state.audit.push(AuditLine { position, entry: entry.clone(), hash });
        Ok(())
    }

    async fn audit_lines(&self, page: Page<u64>) -> Result<Listing<AuditLine>, LedgerError> {
        let state = self.lock();
        let lines = state.audit.iter().rev();
        Ok(listing::page(lines, page, |line, before| line.position < *before, AuditLine::clone))
    }
}
