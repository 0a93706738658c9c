//! One attempt at one delivery.

use std::{
    error::Error,
    sync::Arc,
    time::{Duration, Instant},
};

use reqwest::{Client, StatusCode, Url, header::CONTENT_TYPE, redirect::Policy};
use rustls::{ClientConfig, RootCertStore};
use verifactu_core::{
    api::JobType,
    certificate::{Purpose, Vault, VaultError},
    ledger::{Accounts, Delivery, DeliveryOutcome, Ledger, LedgerError, Webhook},
    types::{Clock, JobId, Secret},
    webhook::{self, Event, EventKind},
};

use crate::api::Views;

use super::target::{Refused, Targets};

/// Limit of connecting, TLS included.
const CONNECT: Duration = Duration::from_secs(5);
/// Limit of the whole attempt.
const WHOLE: Duration = Duration::from_secs(15);

/// Sends deliveries, and writes down how that ended.
pub(crate) struct Sender {
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) accounts: Arc<dyn Accounts>,
    pub(crate) vault: Arc<Vault>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) views: Arc<Views>,
    pub(crate) targets: Targets,
    client: Client,
}

/// Sending cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("webhooks cannot be sent")]
pub struct SendError(#[source] Box<dyn Error + Send + Sync>);

/// Why a delivery did not arrive. Nothing of what the receiver answered.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("the webhook was removed or disabled")]
    Off,
    #[error("the job is not there")]
    NoJob,
    #[error("the address {0}")]
    Target(#[from] Refused),
    #[error("the name or an address behind it {0}")]
    Resolved(Refused),
    #[error("no connection")]
    Connect,
    #[error("no answer in time")]
    Time,
    #[error("the connection broke off")]
    Broken,
    #[error("the receiver redirects, which is not followed")]
    Redirect(StatusCode),
    #[error("the receiver refused it")]
    Status(StatusCode),
    #[error("the store: {0}")]
    Store(#[from] LedgerError),
    #[error("the secret does not open: {0}")]
    Secret(#[from] VaultError),
    #[error("the event cannot be written")]
    Event(#[from] serde_json::Error),
}

impl Sender {
    pub(crate) fn new(
        ledger: Arc<dyn Ledger>,
        accounts: Arc<dyn Accounts>,
        vault: Arc<Vault>,
        clock: Arc<dyn Clock>,
        views: Arc<Views>,
        targets: Targets,
    ) -> Result<Self, SendError> {
        let client = client(targets).map_err(SendError)?;
        Ok(Self { ledger, accounts, vault, clock, views, targets, client })
    }

    /// Sends a delivery that was marked as attempted. Whatever happens, it is not sent again.
    pub(crate) async fn attempt(&self, delivery: &Delivery) -> DeliveryOutcome {
        let began = Instant::now();
        let result = self.send(delivery).await;
        let (status, error) = match &result {
            Ok(status) => (Some(*status), None),
            Err(failed @ (Failed::Status(status) | Failed::Redirect(status))) => {
                (Some(*status), Some(failed))
            }
            Err(failed) => (None, Some(failed)),
        };
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let outcome = DeliveryOutcome {
            duration_ms,
            status: status.map(|status| u32::from(status.as_u16())),
            error: error.map(ToString::to_string),
        };
        tracing::info!(
            target: "webhook",
            tenant = %delivery.tenant,
            delivery = %delivery.id,
            status = outcome.status,
            error = outcome.error,
            ms = duration_ms
        );
        if let Err(error) = self.accounts.finish_delivery(delivery.id, &outcome).await {
            tracing::error!(%error, delivery = %delivery.id, "the end of a delivery could not be written down");
        }
        outcome
    }

    async fn send(&self, delivery: &Delivery) -> Result<StatusCode, Failed> {
        let webhook = self.accounts.webhook(&delivery.tenant).await?;
        let webhook =
            webhook.filter(|webhook| webhook.enabled || delivery.job.is_none()).ok_or(Failed::Off)?;
        let url = self.targets.read(&webhook.url)?;
        let event = self.event(delivery).await?;
        self.post(url, delivery, &self.secret(&webhook)?, serde_json::to_vec(&event)?).await
    }

    async fn event(&self, delivery: &Delivery) -> Result<Event, Failed> {
        let Some(job) = delivery.job else {
            return Ok(Event {
                event: EventKind::Ping,
                tenant_id: delivery.tenant.clone(),
                timestamp: delivery.created_at.into(),
                job_id: JobId(uuid::Uuid::nil()),
                kind: JobType::SendInvoice,
                num_serie: None,
                csv: None,
                huella: None,
                qr_text: None,
                last_error: None,
            });
        };
        let submission = self.ledger.job(&delivery.tenant, job).await?.ok_or(Failed::NoJob)?;
        Ok(self.views.event(&submission))
    }

    fn secret(&self, webhook: &Webhook) -> Result<Secret, Failed> {
        let bytes = self.vault.open(&webhook.tenant, Purpose::WebhookSecret, &webhook.secret)?;
        let text = std::str::from_utf8(bytes.expose()).map_err(|_| VaultError::Malformed)?;
        Ok(Secret::new(text.to_owned()))
    }

    async fn post(
        &self,
        url: Url,
        delivery: &Delivery,
        secret: &Secret,
        body: Vec<u8>,
    ) -> Result<StatusCode, Failed> {
        let (id, timestamp) = (delivery.id.to_string(), self.clock.now().as_second().to_string());
        let signed = webhook::Delivery { id: &id, timestamp: &timestamp };
        let request = self
            .client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header(webhook::SERVICE_SIGNATURE, webhook::sign(secret, &body))
            .header(webhook::WEBHOOK_ID, &id)
            .header(webhook::WEBHOOK_TIMESTAMP, &timestamp)
            .header(webhook::WEBHOOK_SIGNATURE, signed.sign(secret, &body))
            .body(body);
        let response = request.send().await.map_err(|error| failed(&error))?;
        match response.status() {
            status if status.is_success() => Ok(status),
            status if status.is_redirection() => Err(Failed::Redirect(status)),
            status => Err(Failed::Status(status)),
        }
    }
}

fn failed(error: &reqwest::Error) -> Failed {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(refused) = inner.downcast_ref::<Refused>() {
            return Failed::Resolved(*refused);
        }
        cause = inner.source();
    }
    if error.is_timeout() {
        Failed::Time
    } else if error.is_connect() {
        Failed::Connect
    } else {
        Failed::Broken
    }
}

fn client(targets: Targets) -> Result<Client, Box<dyn Error + Send + Sync>> {
    let mut roots = RootCertStore::empty();
    // The system's store may hold certificates that no TLS library takes; they do no harm.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Client::builder()
        .tls_backend_preconfigured(tls)
        .http1_only()
        .no_proxy()
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .dns_resolver(targets)
        .connect_timeout(CONNECT)
        .timeout(WHOLE)
        // A connection is for one delivery: the next one is checked anew.
        .pool_max_idle_per_host(0)
        .user_agent(concat!("verifactu-server/", env!("CARGO_PKG_VERSION")))
        .build()?)
}
