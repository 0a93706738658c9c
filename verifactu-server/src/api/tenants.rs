//! Accounts: the operator's routes, and what partners' routes share with them.

use std::sync::Arc;

use verifactu_core::{
    api::{self, Representative, Tenants},
    ledger::{Page, Tenant, TenantStatus},
    types::{Date, Nif, TenantId, Text},
    validation::{Context, validate_verifactu_end},
    xml::envelope::SpanishParty,
};

use super::{
    NOBODY, Service,
    call::{Call, Members},
    error::{Fault, Success},
    query::{self, Parameters},
    reply::Reply,
};

/// Who calls with the operator's key, in the audit log.
pub(super) const OPERATOR: &str = "admin";

/// How often a change is tried while others change the same account.
pub(super) const MOST_TRIES: usize = 100;

const ABSENT: Fault = Fault::NotFound("account");

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
        verifactu_end: None,
        status: TenantStatus::Active,
        created_at: service.clock.now(),
    };
    let reply = made(&service, &call, OPERATOR, &tenant).await?;
    Ok(reply.at(&format!("/v1/admin/tenants/{}", tenant.id)))
}

/// Stores a new account, and shows it.
pub(super) async fn made(
    service: &Service,
    call: &Call,
    actor: &str,
    tenant: &Tenant,
) -> Result<Reply, Fault> {
    if !store(service, tenant).await? {
        return Err(Fault::TenantExists);
    }
    service.audit(actor, "tenant.create", tenant.id.to_string(), call.request).await?;
    Reply::json(Success::Created, call.request, shown(tenant))
}

/// Stores a new account; `false` when its identifier is taken. Every account comes through here.
pub(super) async fn store(service: &Service, tenant: &Tenant) -> Result<bool, Fault> {
    if [OPERATOR, NOBODY].contains(&tenant.id.as_str()) {
        return Err(Fault::field("id", "is reserved: the audit log has a use of its own for it"));
    }
    if let Some(parent) = &tenant.parent {
        let most = service.limits.children;
        let children = service.accounts.tenants(Some(parent), Page::behind(None, 1)).await?;
        if children.total.is_none_or(|total| total >= most) {
            return Err(Fault::Full { what: "child accounts", most });
        }
    }
    Ok(service.accounts.create_tenant(tenant).await?)
}

pub(super) async fn list(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let reply = page(&service, &call, None).await?;
    service.audit(OPERATOR, "tenants.list", call.query, call.request).await?;
    Ok(reply)
}

/// One page of the accounts; with a parent, of its children.
pub(super) async fn page(service: &Service, call: &Call, parent: Option<&TenantId>) -> Result<Reply, Fault> {
    let mut parameters = Parameters::of(call);
    let page = parameters.page(TenantId::parse);
    parameters.finish()?;
    let listing = service.accounts.tenants(parent, page).await?;
    let paging = query::paging(&listing, |last| last.id.clone());
    let tenants = listing.items.iter().map(shown).collect();
    query::answer(call, Tenants { tenants, paging: paging.clone() }, &paging)
}

pub(super) async fn show(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let tenant = find(&service, &call).await?;
    service.audit(OPERATOR, "tenant.read", tenant.id.to_string(), call.request).await?;
    Reply::json(Success::Ok, call.request, shown(&tenant))
}

/// Changes what the request names; null removes a value.
pub(super) async fn change(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let known = find(&service, &call).await?;
    let body = call.json()?;
    let mut members = Members::of(&body)?;
    let name = members.nullable("name", Text::parse);
    let issuer_name = members.nullable("issuerName", Text::parse);
    let plan = members.nullable("planId", |text| service.plans.known(text));
    let allowed_nif = members.nullable("allowedNif", Nif::parse);
    let status = members.optional("status", status);
    let own_system = members.switch("clientSifEnabled");
    let representative = members.inner("representante", |party| {
        let (name, nif) = (party.text("nombre", Text::parse), party.text("nif", Nif::parse));
        Some(SpanishParty { name: name?, nif: nif? })
    });
    let verifactu_end = members.nullable("fechaFinVeriFactu", Date::parse);
    if let Some(Some(day)) = verifactu_end {
        let context = Context { today: Date::in_madrid(service.clock.now()) };
        members.broken(validate_verifactu_end(day, &context));
    }
    members.finish()?;
    let tenant = changed(&service, known, |known| {
        Ok(Tenant {
            name: name.clone().unwrap_or(known.name),
            issuer_name: issuer_name.clone().unwrap_or(known.issuer_name),
            plan: plan.clone().unwrap_or(known.plan),
            allowed_nif: allowed_nif.unwrap_or(known.allowed_nif),
            status: status.unwrap_or(known.status),
            own_system: own_system.unwrap_or(known.own_system),
            representative: representative.clone().unwrap_or(known.representative),
            verifactu_end: verifactu_end.unwrap_or(known.verifactu_end),
            ..known
        })
    })
    .await?;
    service.audit(OPERATOR, "tenant.change", tenant.id.to_string(), call.request).await?;
    Reply::json(Success::Ok, call.request, shown(&tenant))
}

/// Changes an account. Where another request was first, its change is looked at and kept.
pub(super) async fn changed(
    service: &Service,
    mut known: Tenant,
    change: impl Fn(Tenant) -> Result<Tenant, Fault>,
) -> Result<Tenant, Fault> {
    for _ in 0..MOST_TRIES {
        let tenant = change(known.clone())?;
        if service.accounts.update_tenant(&known, &tenant).await? {
            return Ok(tenant);
        }
        known = service.accounts.tenant(&known.id).await?.ok_or(ABSENT)?;
    }
    Err(Fault::Overloaded)
}

/// Reads the status that an account shall have.
pub(super) fn status(text: &str) -> Result<TenantStatus, &'static str> {
    match text {
        "ACTIVE" => Ok(TenantStatus::Active),
        "SUSPENDED" => Ok(TenantStatus::Suspended),
        _ => Err("must be one of ACTIVE, SUSPENDED"),
    }
}

/// The account that the path names.
pub(super) async fn find(service: &Service, call: &Call) -> Result<Tenant, Fault> {
    let id = TenantId::parse(call.variable()).map_err(|_| ABSENT)?;
    service.accounts.tenant(&id).await?.ok_or(ABSENT)
}

pub(super) fn shown(tenant: &Tenant) -> api::Tenant {
    api::Tenant {
        tenant_id: tenant.id.clone(),
        name: tenant.name.as_ref().map(ToString::to_string),
        issuer_name: tenant.issuer_name.as_ref().map(ToString::to_string),
        plan_id: tenant.plan.clone(),
        status: match tenant.status {
            TenantStatus::Active => api::TenantStatus::Active,
            TenantStatus::Suspended | TenantStatus::SuspendedByPartner => api::TenantStatus::Suspended,
        },
        parent_tenant_id: tenant.parent.clone(),
        allowed_nif: tenant.allowed_nif,
        client_sif_enabled: tenant.own_system,
        representante: tenant
            .representative
            .as_ref()
            .map(|party| Representative { nombre: party.name.to_string(), nif: party.nif }),
        fecha_fin_veri_factu: tenant.verifactu_end,
        created_at: tenant.created_at.into(),
    }
}
