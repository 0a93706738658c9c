//! Accounts of the web application: made by its back end, which then acts for them with the operator's key.
//!
//! Such an account has an API key like any other, so that what it may do, and that it may be revoked, is
//! decided where it is for all. The key lies sealed beside the account, and nobody ever sees it
//! (specification, Resources). What the back end can act for are the accounts with the prefix, and of those
//! only the ones made here.

use std::sync::Arc;

use http::HeaderMap;
use verifactu_core::{
    api::Scope,
    certificate::Purpose,
    ledger::{ApiKey, Page, Tenant, TenantStatus},
    types::TenantId,
};

use crate::accounts::KeyText;

use super::{
    Service, api_keys,
    auth::ACT_AS,
    call::Call,
    error::{Fault, Success},
    reply::Reply,
    tenants::{self, OPERATOR},
};

/// What a web account may do: all that an account can, and nothing of a partner.
const SCOPES: &[Scope] = &[
    Scope::InvoicesWrite,
    Scope::InvoicesRead,
    Scope::NifRead,
    Scope::CertificatesRead,
    Scope::CertificatesWrite,
];

/// Makes the account and its key, if they are not there.
pub(super) async fn put(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let id = TenantId::parse(&format!("{}{}", service.web_account_prefix, call.variable()));
    let id = id.map_err(|error| Fault::field("userId", format!("with the prefix: {error}")))?;
    let known = service.accounts.tenant(&id).await?;
    let found = known.is_some();
    let tenant = known.unwrap_or(Tenant {
        id,
        name: None,
        issuer_name: None,
        allowed_nif: None,
        parent: None,
        plan: None,
        own_system: false,
        representative: None,
        verifactu_end: None,
        status: TenantStatus::Active,
        created_at: service.clock.now(),
    });
    if tenant.parent.is_some() {
        return Err(Fault::TenantExists);
    }
    // Two requests at once may both find nothing; then one of them creates, and both are right.
    let created = !found && tenants::store(&service, &tenant).await?;
    if service.web_key(&tenant.id).await?.is_none() {
        let (text, mut key) = api_keys::mint(&service, &tenant.id, SCOPES)?;
        let secret = text.into_secret();
        let sealed = service.keys.vault.seal(&tenant.id, Purpose::ApiKey, secret.expose().as_bytes());
        key.sealed = Some(sealed.map_err(|error| Fault::Internal(error.into()))?);
        api_keys::store(&service, &key).await?;
    }
    service.audit(OPERATOR, "web_account.put", tenant.id.to_string(), call.request).await?;
    let success = if created { Success::Created } else { Success::Ok };
    let reply = Reply::json(success, call.request, tenants::shown(&tenant))?;
    Ok(reply.at(&format!("/v1/admin/tenants/{}", tenant.id)))
}

impl Service {
    /// The key of the web account that the operator acts for.
    pub(super) async fn acted_for(&self, headers: &HeaderMap) -> Result<KeyText, Fault> {
        const ABSENT: Fault = Fault::NotFound("web account");
        let mut named = headers.get_all(ACT_AS).iter();
        let (Some(name), None) = (named.next(), named.next()) else {
            return Err(Fault::field("x-act-as", "names one account"));
        };
        let name = name.to_str().ok().filter(|name| name.starts_with(&self.web_account_prefix));
        let id = name.and_then(|name| TenantId::parse(name).ok()).ok_or(ABSENT)?;
        let key = self.web_key(&id).await?.ok_or(ABSENT)?;
        let opened = self.keys.vault.open(&id, Purpose::ApiKey, key.sealed.as_deref().unwrap_or_default());
        let opened = opened.map_err(|error| Fault::Internal(error.into()))?;
        let text = std::str::from_utf8(opened.expose()).ok().and_then(KeyText::parse);
        text.ok_or(Fault::KeyInvalid)
    }

    /// The sealed key of an account that was not revoked.
    async fn web_key(&self, tenant: &TenantId) -> Result<Option<ApiKey>, Fault> {
        let keys = self.accounts.keys(Some(tenant), Page::behind(None, self.limits.keys)).await?;
        Ok(keys.items.into_iter().find(|key| key.sealed.is_some() && key.revoked_at.is_none()))
    }
}
