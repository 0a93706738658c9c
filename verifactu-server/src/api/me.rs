//! `GET /me`: the account behind a key.

use std::sync::Arc;

use verifactu_core::api::Me;

use super::{
    Service,
    auth::Account,
    call::Call,
    error::{Fault, Success},
    reply::Reply,
};

pub(super) async fn show(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let Account { tenant, key, .. } = account;
    let me = Me {
        tenant_id: tenant.id,
        name: tenant.name.map(|name| name.to_string()),
        environment: service.environment,
        allowed_nif: tenant.allowed_nif,
        scopes: key.scopes.into_iter().collect(),
        key_id: key.id.0.to_string(),
    };
    Reply::json(Success::Ok, call.request, me)
}
