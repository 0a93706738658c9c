//! The operator's routes for accounts and their keys.

use std::sync::Arc;

use uuid::Uuid;
use verifactu_core::{
    api::{self, ApiKeys, CreatedApiKey, NewApiKey, Representative, RevokedApiKey, Scope, Tenants},
    ledger::{ApiKey, ApiKeyId, Tenant, TenantStatus},
    types::{Nif, TenantId, Text},
    xml::envelope::SpanishParty,
};

use crate::accounts::KeyText;

use super::{
    Service,
    call::{Call, Members},
    error::{Fault, Success},
    query::Parameters,
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
    let plan = members.optional("planId", |text| service.plans.known(text));
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
        plan,
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

pub(super) async fn list(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let mut parameters = Parameters::of(&call);
    let after = parameters.read("cursor", TenantId::parse);
    let limit = parameters.limit();
    parameters.finish()?;
    let mut rows = service.accounts.tenants(None, after.as_ref(), limit + 1).await?;
    service.audit(OPERATOR, "tenants.list", call.query, call.request).await?;
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let next_cursor = rows.last().filter(|_| more).map(|last| last.id.clone());
    let tenants = rows.iter().map(shown).collect();
    Reply::json(Success::Ok, call.request, Tenants { tenants, next_cursor })
}

pub(super) async fn show(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let tenant = find(&service, &call).await?;
    service.audit(OPERATOR, "tenant.read", tenant.id.to_string(), call.request).await?;
    Reply::json(Success::Ok, call.request, shown(&tenant))
}

/// Changes what the request names; null removes a value.
pub(super) async fn change(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let mut tenant = find(&service, &call).await?;
    let body = call.json()?;
    let mut members = Members::of(&body)?;
    fn set<T>(place: &mut Option<T>, given: Option<Option<T>>) {
        if let Some(given) = given {
            *place = given;
        }
    }
    set(&mut tenant.name, members.nullable("name", Text::parse));
    set(&mut tenant.issuer_name, members.nullable("issuerName", Text::parse));
    set(&mut tenant.plan, members.nullable("planId", |text| service.plans.known(text)));
    set(&mut tenant.allowed_nif, members.nullable("allowedNif", Nif::parse));
    let status = |text: &str| match text {
        "ACTIVE" => Ok(TenantStatus::Active),
        "SUSPENDED" => Ok(TenantStatus::Suspended),
        _ => Err("must be one of ACTIVE, SUSPENDED"),
    };
    tenant.status = members.optional("status", status).unwrap_or(tenant.status);
    tenant.own_system = members.switch("clientSifEnabled").unwrap_or(tenant.own_system);
    set(
        &mut tenant.representative,
        members.inner("representante", |party| {
            let (name, nif) = (party.text("nombre", Text::parse), party.text("nif", Nif::parse));
            Some(SpanishParty { name: name?, nif: nif? })
        }),
    );
    members.finish()?;
    service.accounts.update_tenant(&tenant).await?;
    service.audit(OPERATOR, "tenant.change", tenant.id.to_string(), call.request).await?;
    Reply::json(Success::Ok, call.request, shown(&tenant))
}

pub(super) async fn keys(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let mut parameters = Parameters::of(&call);
    let tenant = parameters.read("tenantId", TenantId::parse);
    let after = parameters.read("cursor", |text| Uuid::try_parse(text).map(ApiKeyId));
    let limit = parameters.limit();
    parameters.finish()?;
    let mut rows = service.accounts.keys(tenant.as_ref(), after, limit + 1).await?;
    service.audit(OPERATOR, "api_keys.list", call.query, call.request).await?;
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let next_cursor = rows.last().filter(|_| more).map(|last| last.id.0);
    let api_keys = rows.iter().map(shown_key).collect();
    Reply::json(Success::Ok, call.request, ApiKeys { api_keys, next_cursor })
}

/// From the next request on the key lets nobody in. Revoking it again changes nothing.
pub(super) async fn revoke_key(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    const ABSENT: Fault = Fault::NotFound("key");
    let id = Uuid::try_parse(call.variable()).map(ApiKeyId).map_err(|_| ABSENT)?;
    let key = service.accounts.revoke_key(None, id, service.clock.now()).await?.ok_or(ABSENT)?;
    service.audit(OPERATOR, "api_key.revoke", format!("{}/{}", key.tenant, id.0), call.request).await?;
    Reply::json(Success::Ok, call.request, RevokedApiKey { api_key: shown_key(&key) })
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

/// The account that the path names.
pub(super) async fn find(service: &Service, call: &Call) -> Result<Tenant, Fault> {
    const ABSENT: Fault = Fault::NotFound("account");
    let id = TenantId::parse(call.variable()).map_err(|_| ABSENT)?;
    service.accounts.tenant(&id).await?.ok_or(ABSENT)
}

/// What may be shown of a key that exists.
fn shown_key(key: &ApiKey) -> api::ApiKey {
    let known = Scope::ALL.iter().copied().filter(|scope| key.scopes.contains(scope.as_str()));
    api::ApiKey {
        id: key.id.0.to_string(),
        tenant_id: key.tenant.clone(),
        name: Some(key.name.clone()).filter(|name| !name.is_empty()),
        scopes: known.collect(),
        created_at: key.created_at.into(),
        expires_at: key.expires_at.map(Into::into),
        revoked_at: key.revoked_at.map(Into::into),
    }
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
        representante: tenant
            .representative
            .as_ref()
            .map(|party| Representative { nombre: party.name.to_string(), nif: party.nif }),
        created_at: tenant.created_at.into(),
    }
}
