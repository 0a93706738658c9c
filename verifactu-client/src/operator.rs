//! The operator's routes: accounts, keys, jobs, webhooks and the audit log.

use reqwest::Method;
use uuid::Uuid;
use verifactu_core::{
    api::{
        ApiKey, ApiKeys, AuditEvents, ChangeTenant, CreateApiKey, CreateTenant, CreatedApiKey,
        ExpiringCertificates, IssuerFilter, Issuers, Job, JobMessages, NewApiKey, OperatorJobFilter,
        OperatorJobs, PauseIssuer, RevokedApiKey, Tenant, Tenants, WebhookDeliveries, WebhookDelivery,
        WebhookInfo, WebhookPatch, WebhookTrial,
    },
    types::{JobId, Nif, TenantId},
};

use crate::{
    Client, Error, List,
    exchange::{Caller, Repeat, Request},
};

/// What the operator can do; needs the operator's key. Every call is written to the audit log.
///
/// ```no_run
/// use verifactu_client::{Client, api::{CreateApiKey, CreateTenant, Scope}, types::{Secret, TenantId}};
///
/// # async fn run(operators_key: Secret) -> Result<(), Box<dyn std::error::Error>> {
/// let service = Client::builder("https://verifactu.example.com/v1").admin_key(operators_key).build()?;
/// let operator = service.operator();
/// let account = CreateTenant {
///     issuer_name: Some("TALLERES EBRO SL".to_owned()),
///     ..CreateTenant::new(TenantId::parse("ebro")?)
/// };
/// operator.create_tenant(&account).await?;
/// let scopes = vec![Scope::InvoicesWrite, Scope::InvoicesRead, Scope::CertificatesWrite];
/// let created = operator.create_api_key(&CreateApiKey::new(account.id, scopes)).await?;
/// println!("{} for the customer; it is shown once", created.key.expose());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Operator(Client);

impl Client {
    /// The operator's routes.
    #[must_use]
    pub fn operator(&self) -> Operator {
        Operator(self.clone())
    }
}

impl Operator {
    /// Creates an account.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn create_tenant(&self, tenant: &CreateTenant) -> Result<Tenant, Error> {
        self.0.call(&creation("/admin/tenants").json(tenant)?).await?.json()
    }

    /// The accounts, by their identifiers.
    pub fn tenants(&self) -> List<Tenants> {
        List::new(&self.0, reading("/admin/tenants"))
    }

    /// An account.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn tenant(&self, id: &TenantId) -> Result<Tenant, Error> {
        self.0.call(&reading(format!("/admin/tenants/{id}"))).await?.json()
    }

    /// Changes what is named of an account, such as its status or its plan.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn change_tenant(&self, id: &TenantId, change: &ChangeTenant) -> Result<Tenant, Error> {
        self.0.call(&replacement(Method::PATCH, format!("/admin/tenants/{id}")).json(change)?).await?.json()
    }

    /// Creates a key. It is shown this once only.
    ///
    /// # Errors
    /// [`Error`]. After a time-out or a broken connection the key may exist without being known.
    pub async fn create_api_key(&self, key: &CreateApiKey) -> Result<NewApiKey, Error> {
        let created: CreatedApiKey = self.0.call(&creation("/admin/api-keys").json(key)?).await?.json()?;
        Ok(created.api_key)
    }

    /// The keys, the oldest first; with an account, only its own.
    pub fn api_keys(&self, tenant: Option<&TenantId>) -> List<ApiKeys> {
        let request = reading("/admin/api-keys");
        List::new(
            &self.0,
            match tenant {
                Some(tenant) => request.with("tenantId", tenant),
                None => request,
            },
        )
    }

    /// Revokes a key. From then on it lets nobody in.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn revoke_api_key(&self, id: Uuid) -> Result<ApiKey, Error> {
        let request = replacement(Method::POST, format!("/admin/api-keys/{id}/revoke"));
        self.0.call(&request).await?.json().map(|revoked: RevokedApiKey| revoked.api_key)
    }

    /// Jobs of all accounts, newest first.
    pub fn jobs(&self, filter: &OperatorJobFilter) -> List<OperatorJobs> {
        List::new(&self.0, reading("/admin/jobs").filtered(filter))
    }

    /// What went out for a job, and what came back.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn job_messages(&self, id: JobId) -> Result<JobMessages, Error> {
        self.0.call(&reading(format!("/admin/jobs/{id}/messages"))).await?.json()
    }

    /// Makes a failed job due now.
    ///
    /// # Errors
    /// [`Error`]; 409 unless the job is FAILED and its issuer is not held.
    pub async fn retry_job(&self, id: JobId) -> Result<Job, Error> {
        self.0.call(&creation(format!("/admin/jobs/{id}/retry"))).await?.json()
    }

    /// The chains of issuers with what waits on them, by identifier.
    pub fn issuers(&self, filter: &IssuerFilter) -> List<Issuers> {
        List::new(&self.0, reading("/admin/issuers").filtered(filter))
    }

    /// Sends nothing more of an issuer. Its invoices are still accepted, and wait.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn pause_issuer(
        &self,
        tenant: &TenantId,
        nif: Nif,
        reason: &PauseIssuer,
    ) -> Result<Issuers, Error> {
        let request = replacement(Method::POST, format!("/admin/issuers/{tenant}/{nif}/pause"));
        self.0.call(&request.json(reason)?).await?.json()
    }

    /// Lets an issuer go on, whatever held it.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn resume_issuer(&self, tenant: &TenantId, nif: Nif) -> Result<Issuers, Error> {
        let request = replacement(Method::POST, format!("/admin/issuers/{tenant}/{nif}/resume"));
        self.0.call(&request).await?.json()
    }

    /// The account of a user of the web application, made if there is none yet. Act for it with
    /// [`acting_as`](Client::acting_as).
    ///
    /// # Errors
    /// [`Error`].
    pub async fn web_account(&self, user: &TenantId) -> Result<Tenant, Error> {
        self.0.call(&replacement(Method::PUT, format!("/admin/web-accounts/{user}"))).await?.json()
    }

    /// Certificates that end within so many days or have ended, the first to end first.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn expiring_certificates(&self, days: u32) -> Result<ExpiringCertificates, Error> {
        self.0.call(&reading("/admin/certificates/expiring").with("days", days)).await?.json()
    }

    /// The audit log, the last line first.
    pub fn events(&self) -> List<AuditEvents> {
        List::new(&self.0, reading("/admin/events"))
    }

    /// Where an account's events go.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn webhook(&self, tenant: &TenantId) -> Result<WebhookInfo, Error> {
        self.0.call(&reading(format!("/admin/tenants/{tenant}/webhook"))).await?.json()
    }

    /// Sets where an account's events go.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn set_webhook(&self, tenant: &TenantId, webhook: &WebhookPatch) -> Result<WebhookInfo, Error> {
        let request = replacement(Method::PATCH, format!("/admin/tenants/{tenant}/webhook"));
        self.0.call(&request.json(webhook)?).await?.json()
    }

    /// Sends one event to try the address.
    ///
    /// # Errors
    /// [`Error`]; that the receiver did not take it is no error, but what the delivery tells.
    pub async fn ping_webhook(&self, tenant: &TenantId) -> Result<WebhookDelivery, Error> {
        let request = creation(format!("/admin/tenants/{tenant}/webhook/ping"));
        self.0.call(&request).await?.json().map(|trial: WebhookTrial| trial.delivery)
    }

    /// The attempts to deliver an account's events, the last first.
    pub fn webhook_deliveries(&self, tenant: &TenantId) -> List<WebhookDeliveries> {
        List::new(&self.0, reading(format!("/admin/tenants/{tenant}/webhook/deliveries")))
    }
}

fn reading(path: impl Into<String>) -> Request<'static> {
    Request::read(path, Caller::Operator)
}

/// What is made twice if it is sent twice.
fn creation(path: impl Into<String>) -> Request<'static> {
    Request::new(Method::POST, path, Caller::Operator, Repeat::IfUntouched)
}

/// What is the same if it is sent twice.
fn replacement(method: Method, path: impl Into<String>) -> Request<'static> {
    Request::new(method, path, Caller::Operator, Repeat::Safely)
}
