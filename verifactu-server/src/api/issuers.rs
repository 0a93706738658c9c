//! The operator's view of issuers, each with its pace, and the brake: pause and resume.
//!
//! A pause stops the sending and nothing else: invoices of the issuer are still accepted, with their QR, and
//! their jobs say that they are held. A resume lifts every hold of the issuer, whatever it waits for; where
//! the cause is still there, the next message brings the hold back, and nothing is burnt by that.

use std::sync::Arc;

use verifactu_core::{
    api::{Issuer, Issuers},
    ledger::{ChainSearch, ChainState, Hold, HoldReason, Page},
    types::{ChainId, Nif, TenantId, Text},
};

use super::{
    Service,
    call::{Call, Members},
    error::{Fault, Success},
    query::{self, Parameters},
    reply::Reply,
    tenants::OPERATOR,
    view,
};

/// Most installations of one issuer that are shown.
const INSTALLATIONS: u32 = 200;

pub(super) async fn list(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let mut parameters = Parameters::of(&call);
    let search = ChainSearch {
        tenant: parameters.read("tenantId", TenantId::parse),
        issuer: parameters.read("nif", Nif::parse),
        held: parameters.word("held", &[("true", true), ("false", false)]).unwrap_or_default(),
    };
    let page = parameters.page(ChainId::parse);
    parameters.finish()?;
    let found = found(&service, &search, page).await?;
    service.audit(OPERATOR, "issuers.list", call.query.clone(), call.request).await?;
    query::answer(&call, &found, &found.paging)
}

pub(super) async fn pause(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let (tenant, issuer) = named(&call)?;
    let reason = match call.body.is_empty() {
        true => None,
        false => {
            let body = call.json()?;
            let mut members = Members::of(&body)?;
            let reason = members.optional("reason", Text::<250>::parse);
            members.finish()?;
            reason
        }
    };
    let said = reason.as_ref().map_or("an operator has paused the issuer", Text::as_str);
    let hold =
        Hold { reason: HoldReason::Operator, description: said.to_owned(), since: service.clock.now() };
    known(&service, &tenant, issuer).await?;
    service.engine.ledger().hold(&tenant, Some(issuer), &hold).await?;
    service.audit(OPERATOR, "issuer.pause", format!("{tenant}/{issuer}"), call.request).await?;
    Reply::json(Success::Ok, call.request, known(&service, &tenant, issuer).await?)
}

pub(super) async fn resume(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let (tenant, issuer) = named(&call)?;
    known(&service, &tenant, issuer).await?;
    for reason in HoldReason::ALL {
        for chain in service.engine.ledger().release(&tenant, Some(issuer), reason).await? {
            service.wake(chain).await;
        }
    }
    service.audit(OPERATOR, "issuer.resume", format!("{tenant}/{issuer}"), call.request).await?;
    Reply::json(Success::Ok, call.request, known(&service, &tenant, issuer).await?)
}

const ABSENT: Fault = Fault::NotFound("issuer");

/// The issuer that the path names.
fn named(call: &Call) -> Result<(TenantId, Nif), Fault> {
    let [tenant, issuer] = call.variables.as_slice() else { return Err(ABSENT) };
    Ok((TenantId::parse(tenant).map_err(|_| ABSENT)?, Nif::parse(issuer).map_err(|_| ABSENT)?))
}

/// The chains of an issuer, which has at least one.
async fn known(service: &Service, tenant: &TenantId, issuer: Nif) -> Result<Issuers, Fault> {
    let search = ChainSearch { tenant: Some(tenant.clone()), issuer: Some(issuer), held: false };
    let found = found(service, &search, Page::behind(None, INSTALLATIONS)).await?;
    if found.issuers.is_empty() { Err(ABSENT) } else { Ok(found) }
}

async fn found(service: &Service, search: &ChainSearch, page: Page<ChainId>) -> Result<Issuers, Fault> {
    let listing = service.engine.ledger().search_chains(search, page).await?;
    let paging = query::paging(&listing, |(last, _)| last.id);
    let mut issuers = Vec::with_capacity(listing.items.len());
    for (state, oldest) in listing.items {
        issuers.push(shown(service, state, oldest).await);
    }
    Ok(Issuers { issuers, paging })
}

/// A queue out of reach hides leases, and nothing else.
async fn shown(service: &Service, state: ChainState, oldest: Option<jiff::Timestamp>) -> Issuer {
    let now = service.clock.now();
    let leased_until = service.queue.leased_until(state.id).await.ok().flatten();
    Issuer {
        tenant_id: state.key.tenant,
        nif: state.key.issuer,
        chain_id: state.id,
        numero_instalacion: state.key.installation.to_string(),
        pending: state.pending,
        oldest_pending_at: oldest.map(Into::into),
        oldest_pending_seconds: oldest.map(|oldest| now.duration_since(oldest).as_secs()),
        wait_seconds: state.wait_seconds,
        next_slot_at: state.next_slot_at.map(Into::into),
        leased_until: leased_until.filter(|until| *until > now).map(Into::into),
        unreachable_count: state.unreachable_count,
        held: state.hold.as_ref().map(view::shown_hold),
        updated_at: state.updated_at.into(),
    }
}
