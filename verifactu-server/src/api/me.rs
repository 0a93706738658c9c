//! `GET /me`: the account behind a key.

use std::sync::Arc;

use serde::Serialize;
use verifactu_core::types::{Environment, Nif, TenantId};

use super::{
    Service,
    auth::Account,
    call::Call,
    error::{Fault, Success},
    reply::Reply,
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Me<'a> {
    tenant_id: &'a TenantId,
    name: Option<&'a str>,
    environment: Environment,
    allowed_nif: Option<Nif>,
    scopes: Vec<&'a str>,
    key_id: String,
}

pub(super) async fn show(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let Account { tenant, key, .. } = &account;
    let me = Me {
        tenant_id: &tenant.id,
        name: tenant.name.as_ref().map(|name| name.as_str()),
        environment: service.environment,
        allowed_nif: tenant.allowed_nif,
        scopes: key.scopes.iter().map(String::as_str).collect(),
        key_id: key.id.0.to_string(),
    };
    Reply::json(Success::Ok, call.request, me)
}
