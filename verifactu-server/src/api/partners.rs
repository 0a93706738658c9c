//! The routes of partners for their child accounts (specification, Scopes).
//!
//! A partner sees and manages its own children alone, and does not send for them. What a child sees of
//! itself its partner sees through the same endpoints, which the route table hands the child's account.

use std::sync::Arc;

use verifactu_core::{
    ledger::{Tenant, TenantStatus},
    types::{Nif, TenantId, Text},
};

use super::{
    Service,
    auth::{self, Account},
    call::{Call, Members},
    error::{Fault, Success},
    reply::Reply,
    tenants,
};

pub(super) async fn list(service: Arc<Service>, call: Call, partner: Account) -> Result<Reply, Fault> {
    tenants::page(&service, &call, Some(&partner.tenant.id)).await
}

pub(super) async fn create(service: Arc<Service>, call: Call, partner: Account) -> Result<Reply, Fault> {
    let body = call.json()?;
    auth::active(&partner.tenant)?;
    let mut members = Members::of(&body)?;
    let id = members.optional("id", |text| match TenantId::parse(text) {
        Ok(id) if !text.starts_with(&service.web_account_prefix) => Ok(id),
        Ok(_) => Err("is reserved: accounts of the web application begin like this".to_owned()),
        Err(error) => Err(error.to_string()),
    });
    let name = members.text("name", Text::parse);
    let allowed_nif = members.text("allowedNif", Nif::parse);
    members.finish()?;
    let id = match id {
        Some(id) => id,
        None => {
            TenantId::parse(&service.ids.next().to_string()).map_err(|error| Fault::Internal(error.into()))?
        }
    };
    let actor = partner.tenant.id;
    let child = Tenant {
        id,
        name,
        issuer_name: None,
        allowed_nif,
        parent: Some(actor.clone()),
        plan: None,
        own_system: false,
        representative: None,
        verifactu_end: None,
        status: TenantStatus::Active,
        created_at: service.clock.now(),
    };
    let reply = tenants::made(&service, &call, actor.as_str(), &child).await?;
    Ok(reply.at(&format!("/v1/partner/tenants/{}", child.id)))
}

pub(super) async fn show(_service: Arc<Service>, call: Call, child: Account) -> Result<Reply, Fault> {
    Reply::json(Success::Ok, call.request, tenants::shown(&child.tenant))
}

/// Changes name and status. What the operator has suspended only the operator lets go on, and the
/// holder's NIF never changes.
pub(super) async fn change(service: Arc<Service>, call: Call, child: Account) -> Result<Reply, Fault> {
    let body = call.json()?;
    auth::active(child.caller())?;
    let mut members = Members::of(&body)?;
    let name = members.optional("name", Text::parse);
    let status = members.optional("status", tenants::status);
    members.finish()?;
    let tenant = tenants::changed(&service, child.tenant.clone(), |known| {
        let status = match (known.status, status) {
            (known, None) => known,
            (TenantStatus::Suspended, Some(TenantStatus::Active)) => return Err(Fault::Suspended),
            (_, Some(TenantStatus::Active)) => TenantStatus::Active,
            (TenantStatus::Suspended, Some(_)) => TenantStatus::Suspended,
            (_, Some(_)) => TenantStatus::SuspendedByPartner,
        };
        Ok(Tenant { name: name.clone().or(known.name), status, ..known })
    })
    .await?;
    let actor = child.caller().id.as_str();
    service.audit(actor, "tenant.change", tenant.id.to_string(), call.request).await?;
    Reply::json(Success::Ok, call.request, tenants::shown(&tenant))
}
