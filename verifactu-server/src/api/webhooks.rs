//! The operator's routes for webhooks: where an account's events go, a trial, and the log of attempts.

use std::sync::Arc;

use verifactu_core::{
    api::{WebhookDeliveries, WebhookDelivery, WebhookInfo, WebhookTrial},
    certificate::Purpose,
    ledger::{Delivery, Webhook},
    types::{DeliveryId, Secret},
};

use super::{
    Service,
    call::{Call, Members},
    error::{Fault, Success},
    query::{self, Parameters},
    reply::Reply,
    tenants::{self, MOST_TRIES, OPERATOR},
};

/// Most bytes of a secret.
const MAX_SECRET: usize = 512;

/// Sets what the request names and keeps the rest, also where another request was first; a `url` of null
/// removes all.
pub(super) async fn configure(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let tenant = tenants::find(&service, &call).await?.id;
    let body = call.json()?;
    let mut members = Members::of(&body)?;
    let url = members.nullable("url", |text| service.webhooks.targets.read(text));
    let secret = members.optional("secret", |text| {
        let fits = (1..=MAX_SECRET).contains(&text.len()) && !text.chars().any(char::is_control);
        if fits { Ok(Secret::new(text.to_owned())) } else { Err("must have 1 to 512 characters") }
    });
    let enabled = members.switch("enabled");
    let mut known = service.accounts.webhook(&tenant).await?;
    if url == Some(None) {
        members.finish()?;
        service.accounts.delete_webhook(&tenant).await?;
        service.audit(OPERATOR, "webhook.remove", tenant.to_string(), call.request).await?;
        return Reply::json(Success::Ok, call.request, info(None));
    }
    let url = url.flatten().map(|url| url.to_string());
    if url.is_none() && known.is_none() {
        members.missing("url");
    }
    if secret.is_none() && known.is_none() {
        members.missing("secret");
    }
    members.finish()?;
    let seal =
        |secret: Secret| service.keys.vault.seal(&tenant, Purpose::WebhookSecret, secret.expose().as_bytes());
    let secret = secret.map(seal).transpose().map_err(|error| Fault::Internal(error.into()))?;
    for _ in 0..MOST_TRIES {
        let before = known.as_ref();
        let url = url.as_ref().or(before.map(|before| &before.url));
        let secret = secret.as_ref().or(before.map(|before| &before.secret));
        let (Some(url), Some(secret)) = (url, secret) else {
            return Err(Fault::NotFound("webhook"));
        };
        let webhook = Webhook {
            tenant: tenant.clone(),
            url: url.clone(),
            secret: secret.clone(),
            enabled: enabled.unwrap_or_else(|| before.is_none_or(|before| before.enabled)),
            updated_at: service.clock.now(),
        };
        if service.accounts.put_webhook(before, &webhook).await? {
            service.audit(OPERATOR, "webhook.set", tenant.to_string(), call.request).await?;
            return Reply::json(Success::Ok, call.request, info(Some(&webhook)));
        }
        known = service.accounts.webhook(&tenant).await?;
    }
    Err(Fault::Overloaded)
}

pub(super) async fn show(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let tenant = tenants::find(&service, &call).await?.id;
    let webhook = service.accounts.webhook(&tenant).await?;
    service.audit(OPERATOR, "webhook.read", tenant.to_string(), call.request).await?;
    Reply::json(Success::Ok, call.request, info(webhook.as_ref()))
}

/// Sends one event to try the address, also if it is not enabled, and tells what became of it.
pub(super) async fn ping(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let tenant = tenants::find(&service, &call).await?.id;
    if service.accounts.webhook(&tenant).await?.is_none() {
        return Err(Fault::NotFound("webhook"));
    }
    service.audit(OPERATOR, "webhook.ping", tenant.to_string(), call.request).await?;
    let now = service.clock.now();
    let mut delivery = Delivery {
        id: DeliveryId(service.ids.next()),
        tenant,
        job: None,
        created_at: now,
        attempted_at: Some(now),
        outcome: None,
    };
    service.accounts.put_delivery(&delivery).await?;
    delivery.outcome = Some(service.webhooks.attempt(&delivery).await);
    Reply::json(Success::Ok, call.request, WebhookTrial { delivery: shown(delivery) })
}

pub(super) async fn deliveries(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let tenant = tenants::find(&service, &call).await?.id;
    let mut parameters = Parameters::of(&call);
    let page = parameters.page(DeliveryId::parse);
    parameters.finish()?;
    let listing = service.accounts.deliveries(&tenant, page).await?;
    service.audit(OPERATOR, "webhook.deliveries", tenant.to_string(), call.request).await?;
    let paging = query::paging(&listing, |last| last.id);
    let deliveries = listing.items.into_iter().map(shown).collect();
    query::answer(&call, WebhookDeliveries { deliveries, paging: paging.clone() }, &paging)
}

fn info(webhook: Option<&Webhook>) -> WebhookInfo {
    WebhookInfo {
        url: webhook.map(|webhook| webhook.url.clone()),
        has_secret: webhook.is_some(),
        enabled: webhook.is_some_and(|webhook| webhook.enabled),
    }
}

fn shown(delivery: Delivery) -> WebhookDelivery {
    let outcome = delivery.outcome.as_ref();
    WebhookDelivery {
        id: delivery.id,
        job_id: delivery.job,
        created_at: delivery.created_at.into(),
        attempted_at: delivery.attempted_at.map(Into::into),
        delivered: outcome.map(|outcome| outcome.error.is_none()),
        status: outcome.and_then(|outcome| outcome.status),
        duration_ms: outcome.map(|outcome| outcome.duration_ms),
        error: outcome.and_then(|outcome| outcome.error.clone()),
    }
}
