//! The operator's routes for accounts and their keys.

use std::sync::Arc;

use verifactu_core::{
    api::{self, CreatedApiKey, NewApiKey, Scope},
    ledger::{ApiKey, ApiKeyId, Tenant, TenantStatus},
    types::{Nif, TenantId, Text},
};

use crate::accounts::KeyText;

use super::{
    Service,
    call::{Call, Members},
    error::{Fault, Success},
    reply::Reply,
};

/// Who calls with the operator's key, in the audit log.
pub(super) const OPERATOR: &str = "admin";

pub(super) async fn create(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let body = call.json()?;
    let mut members = Members::of(&body)?;
    let id = members.text("id", TenantId::parse);
    let name = members.optional("name", Text::parse);
    let issuer_name = members.optional("issuerName", Text::parse);
    let plan = members.optional("planId", Text::<64>::parse);
    let parent = members.optional("parentTenantId", TenantId::parse);
    let allowed_nif = members.optional("allowedNif", Nif::parse);
    let own_system = members.flag("clientSifEnabled");
    members.finish()?;
    let id = id.ok_or_else(|| Fault::field("id", "is required"))?;
    if let Some(parent) = &parent
        && service.accounts.tenant(parent).await?.is_none()
    {
        return Err(Fault::field("parentTenantId", "there is no such account"));
    }
    let tenant = Tenant {
        id,
        name,
        issuer_name,
        allowed_nif,
        parent,
        plan: plan.map(|plan| plan.to_string()),
        own_system,
        representative: None,
        status: TenantStatus::Active,
        created_at: service.clock.now(),
    };
    if !service.accounts.create_tenant(&tenant).await? {
        return Err(Fault::TenantExists);
    }
    service.audit(OPERATOR, "tenant.create", tenant.id.to_string(), call.request).await?;
    let reply = Reply::json(Success::Created, call.request, shown(&tenant))?;
    Ok(reply.at(&format!("/v1/admin/tenants/{}", tenant.id)))
}

pub(super) async fn create_key(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let body = call.json()?;
    let now = service.clock.now();
    let mut members = Members::of(&body)?;
    let tenant = members.text("tenantId", TenantId::parse);
    let name = members.optional("name", Text::<120>::parse);
    let scope = |text: &str| Scope::ALL.iter().copied().find(|scope| scope.as_str() == text);
    let scopes = members.list("scopes", scope, "is no scope");
    let expires_at = members.optional("expiresAt", |text| match text.parse::<jiff::Timestamp>() {
        Ok(time) if time > now => Ok(time),
        Ok(_) => Err("must lie in the future"),
        Err(_) => Err("must be a time such as 2030-01-01T00:00:00Z"),
    });
    members.finish()?;
    let tenant = tenant.ok_or_else(|| Fault::field("tenantId", "is required"))?;
    if service.accounts.tenant(&tenant).await?.is_none() {
        return Err(Fault::NotFound("account"));
    }
    let text = KeyText::generate().map_err(|error| Fault::Internal(error.into()))?;
    let key = ApiKey {
        id: ApiKeyId(service.ids.next()),
        tenant,
        name: name.as_ref().map(ToString::to_string).unwrap_or_default(),
        public: text.public().to_owned(),
        hash: service.keys.pepper.hash(&text),
        scopes: scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        created_at: now,
        expires_at,
        revoked_at: None,
    };
    service.accounts.create_key(&key).await?;
    let subject = format!("{}/{}", key.tenant, key.id.0);
    service.audit(OPERATOR, "api_key.create", subject, call.request).await?;
    let created = CreatedApiKey {
        api_key: NewApiKey {
            id: key.id.0.to_string(),
            key: text.into_secret(),
            name: name.map(|name| name.to_string()),
            scopes,
            expires_at: expires_at.map(Into::into),
        },
    };
    Reply::json(Success::Created, call.request, created)
}

fn shown(tenant: &Tenant) -> api::Tenant {
    api::Tenant {
        tenant_id: tenant.id.clone(),
        name: tenant.name.as_ref().map(ToString::to_string),
        issuer_name: tenant.issuer_name.as_ref().map(ToString::to_string),
        plan_id: tenant.plan.clone(),
        status: match tenant.status {
            TenantStatus::Active => api::TenantStatus::Active,
            TenantStatus::Suspended => api::TenantStatus::Suspended,
        },
        parent_tenant_id: tenant.parent.clone(),
        allowed_nif: tenant.allowed_nif,
        client_sif_enabled: tenant.own_system,
        representante: None,
        created_at: tenant.created_at.into(),
    }
}
