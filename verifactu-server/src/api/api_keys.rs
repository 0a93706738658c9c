//! API keys: made, listed and revoked, by the operator and by the partner of an account.
//!
//! A key that manages child accounts does not send invoices, and a child account has no children of
//! its own: no key reaches further than the routes it was made for.

use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;
use verifactu_core::{
    api::{self, ApiKeys, CreatedApiKey, NewApiKey, RevokedApiKey, Scope},
    ledger::{ApiKey, ApiKeyId, Page, Tenant},
    types::{TenantId, Text},
};

use crate::accounts::KeyText;

use super::{
    Service,
    auth::{self, Account},
    call::{Call, Members},
    error::{Fault, Success},
    query::{self, Parameters},
    reply::Reply,
    tenants::OPERATOR,
};

pub(super) async fn create(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let body = call.json()?;
    let mut members = Members::of(&body)?;
    let tenant = members.text("tenantId", TenantId::parse);
    let wanted = Wanted::read(&mut members, service.clock.now());
    members.finish()?;
    let tenant = tenant.ok_or_else(|| Fault::field("tenantId", "is required"))?;
    let tenant = service.accounts.tenant(&tenant).await?.ok_or(Fault::NotFound("account"))?;
    make(&service, &call, OPERATOR, &tenant, wanted).await
}

pub(super) async fn create_for_child(
    service: Arc<Service>,
    call: Call,
    child: Account,
) -> Result<Reply, Fault> {
    let body = call.json()?;
    child.may_write()?;
    let mut members = Members::of(&body)?;
    let wanted = Wanted::read(&mut members, service.clock.now());
    members.finish()?;
    make(&service, &call, child.caller().id.as_str(), &child.tenant, wanted).await
}

pub(super) async fn list(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let mut parameters = Parameters::of(&call);
    let tenant = parameters.read("tenantId", TenantId::parse);
    let reply = page(&service, &call, parameters, tenant.as_ref()).await?;
    service.audit(OPERATOR, "api_keys.list", call.query, call.request).await?;
    Ok(reply)
}

pub(super) async fn list_of_child(service: Arc<Service>, call: Call, child: Account) -> Result<Reply, Fault> {
    page(&service, &call, Parameters::of(&call), Some(&child.tenant.id)).await
}

/// From the next request on the key lets nobody in. Revoking it again changes nothing.
pub(super) async fn revoke(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    revoke_of(&service, &call, OPERATOR, None).await
}

/// A key of a suspended child can be revoked too.
pub(super) async fn revoke_of_child(
    service: Arc<Service>,
    call: Call,
    child: Account,
) -> Result<Reply, Fault> {
    auth::active(child.caller())?;
    revoke_of(&service, &call, child.caller().id.as_str(), Some(&child.tenant.id)).await
}

/// What a new key shall be.
struct Wanted {
    name: Option<Text<120>>,
    scopes: Vec<Scope>,
    expires_at: Option<Timestamp>,
}

impl Wanted {
    fn read(members: &mut Members<'_>, now: Timestamp) -> Self {
        let scope = |text: &str| Scope::ALL.iter().copied().find(|scope| scope.as_str() == text);
        Self {
            name: members.optional("name", Text::parse),
            scopes: members.list("scopes", scope, "is no scope"),
            expires_at: members.optional("expiresAt", |text| match text.parse::<Timestamp>() {
                Ok(time) if time > now => Ok(time),
                Ok(_) => Err("must lie in the future"),
                Err(_) => Err("must be a time such as 2030-01-01T00:00:00Z"),
            }),
        }
    }

    /// That the account may have such a key.
    fn fits(&self, tenant: &Tenant) -> Result<(), Fault> {
        let partner =
            self.scopes.iter().any(|scope| matches!(scope, Scope::PartnerRead | Scope::PartnerWrite));
        if partner && tenant.parent.is_some() {
            return Err(Fault::field("scopes", "a child account has no children: leave partner:… out"));
        }
        if partner && self.scopes.contains(&Scope::InvoicesWrite) {
            return Err(Fault::field(
                "scopes",
                "a partner's key does not send: leave invoices:write out, or make two keys",
            ));
        }
        Ok(())
    }
}

async fn make(
    service: &Service,
    call: &Call,
    actor: &str,
    tenant: &Tenant,
    wanted: Wanted,
) -> Result<Reply, Fault> {
    wanted.fits(tenant)?;
    let Wanted { name, scopes, expires_at } = wanted;
    let (text, key) = mint(service, &tenant.id, &scopes)?;
    let name_of_key = name.as_ref().map(ToString::to_string).unwrap_or_default();
    let key = ApiKey { name: name_of_key, expires_at, ..key };
    store(service, &key).await?;
    let subject = format!("{}/{}", key.tenant, key.id.0);
    service.audit(actor, "api_key.create", subject, call.request).await?;
    let created = CreatedApiKey {
        api_key: NewApiKey {
            id: key.id.0,
            key: text.into_secret(),
            name: name.map(|name| name.to_string()),
            scopes,
            expires_at: expires_at.map(Into::into),
        },
    };
    Reply::json(Success::Created, call.request, created)
}

/// A new key of an account, which is not stored yet.
pub(super) fn mint(
    service: &Service,
    tenant: &TenantId,
    scopes: &[Scope],
) -> Result<(KeyText, ApiKey), Fault> {
    let text = KeyText::generate().map_err(|error| Fault::Internal(error.into()))?;
    let key = ApiKey {
        id: ApiKeyId(service.ids.next()),
        tenant: tenant.clone(),
        name: String::new(),
        public: text.public().to_owned(),
        hash: service.keys.pepper.hash(&text),
        scopes: scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        created_at: service.clock.now(),
        expires_at: None,
        revoked_at: None,
        sealed: None,
    };
    Ok((text, key))
}

/// Stores a new key. Revoked ones count too, because they are kept.
pub(super) async fn store(service: &Service, key: &ApiKey) -> Result<(), Fault> {
    let most = service.limits.keys;
    let keys = service.accounts.keys(Some(&key.tenant), Page::behind(None, 1)).await?;
    if keys.total.is_none_or(|total| total >= most) {
        return Err(Fault::Full { what: "keys", most });
    }
    Ok(service.accounts.create_key(key).await?)
}

/// One page of the keys; with an account, of its own.
async fn page(
    service: &Service,
    call: &Call,
    mut parameters: Parameters,
    tenant: Option<&TenantId>,
) -> Result<Reply, Fault> {
    let page = parameters.page(|text| Uuid::try_parse(text).map(ApiKeyId));
    parameters.finish()?;
    let listing = service.accounts.keys(tenant, page).await?;
    let paging = query::paging(&listing, |last| last.id.0);
    let api_keys = listing.items.iter().map(shown).collect();
    query::answer(call, ApiKeys { api_keys, paging: paging.clone() }, &paging)
}

/// Revokes the key that the path names last; with an account, only if it is its own.
async fn revoke_of(
    service: &Service,
    call: &Call,
    actor: &str,
    tenant: Option<&TenantId>,
) -> Result<Reply, Fault> {
    const ABSENT: Fault = Fault::NotFound("key");
    let id = Uuid::try_parse(call.last_variable()).map(ApiKeyId).map_err(|_| ABSENT)?;
    let key = service.accounts.revoke_key(tenant, id, service.clock.now()).await?.ok_or(ABSENT)?;
    service.audit(actor, "api_key.revoke", format!("{}/{}", key.tenant, id.0), call.request).await?;
    Reply::json(Success::Ok, call.request, RevokedApiKey { api_key: shown(&key) })
}

/// What may be shown of a key that exists.
fn shown(key: &ApiKey) -> api::ApiKey {
    let known = Scope::ALL.iter().copied().filter(|scope| key.scopes.contains(scope.as_str()));
    api::ApiKey {
        id: key.id.0,
        tenant_id: key.tenant.clone(),
        name: Some(key.name.clone()).filter(|name| !name.is_empty()),
        scopes: known.collect(),
        created_at: key.created_at.into(),
        expires_at: key.expires_at.map(Into::into),
        revoked_at: key.revoked_at.map(Into::into),
    }
}
