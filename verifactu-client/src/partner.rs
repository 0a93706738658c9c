//! The partner's routes: child accounts, their keys and certificates.

use reqwest::Method;
use uuid::Uuid;
use verifactu_core::{
    api::{
        ApiKey, ApiKeys, CertificateRemoved, CertificateStatus, Chains, ChangeChildTenant, CreateChildApiKey,
        CreateChildTenant, CreatedApiKey, InvoiceRecords, JobFilter, Jobs, MonthlyUsage, Months, NewApiKey,
        RecordFilter, RevokedApiKey, Tenant, Tenants,
    },
    types::{Secret, SecretBytes, TenantId},
};

use crate::{
    Client, Error, List, certificate,
    exchange::{Caller, Repeat, Request},
};

/// What a partner can do for its child accounts; needs a key with partner scopes. A partner sees its own
/// children alone, and does not send for them.
///
/// ```no_run
/// # use verifactu_client::{Client, api::{CreateChildApiKey, CreateChildTenant, Scope}, types::Nif};
/// # async fn run(client: Client) -> Result<(), Box<dyn std::error::Error>> {
/// let partner = client.partner();
/// let child = CreateChildTenant {
///     id: None,
///     name: "Talleres Ebro".to_owned(),
///     allowed_nif: Nif::parse("B12345674")?,
/// };
/// let child = partner.create_tenant(&child).await?.tenant_id;
/// let scopes = vec![Scope::InvoicesWrite, Scope::InvoicesRead, Scope::CertificatesWrite];
/// let created = partner.create_api_key(&child, &CreateChildApiKey::new(scopes)).await?;
/// println!("{} for the client", created.key.expose());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Partner(Client);

impl Client {
    /// The partner's routes.
    #[must_use]
    pub fn partner(&self) -> Partner {
        Partner(self.clone())
    }
}

impl Partner {
    /// The child accounts, by their identifiers.
    pub fn tenants(&self) -> List<Tenants> {
        List::new(&self.0, Request::get("/partner/tenants"))
    }

    /// Creates a child account.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn create_tenant(&self, tenant: &CreateChildTenant) -> Result<Tenant, Error> {
        self.0.call(&creation("/partner/tenants").json(tenant)?).await?.json()
    }

    /// A child account.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn tenant(&self, id: &TenantId) -> Result<Tenant, Error> {
        self.0.call(&Request::get(of(id, ""))).await?.json()
    }

    /// Changes a child's name or status.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn change_tenant(&self, id: &TenantId, change: &ChangeChildTenant) -> Result<Tenant, Error> {
        let request = Request::new(Method::PATCH, of(id, ""), Caller::Account, Repeat::Safely);
        self.0.call(&request.json(change)?).await?.json()
    }

    /// A child's jobs, newest first.
    pub fn jobs(&self, id: &TenantId, filter: &JobFilter) -> List<Jobs> {
        List::new(&self.0, Request::get(of(id, "/jobs")).filtered(filter))
    }

    /// A child's records, newest first.
    pub fn invoice_records(&self, id: &TenantId, filter: &RecordFilter) -> List<InvoiceRecords> {
        List::new(&self.0, Request::get(of(id, "/invoice-records")).filtered(filter))
    }

    /// A child's chains.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn chains(&self, id: &TenantId) -> Result<Chains, Error> {
        self.0.call(&Request::get(of(id, "/chains"))).await?.json()
    }

    /// What a child used in so many months, newest first.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn usage(&self, id: &TenantId, months: u32) -> Result<Vec<MonthlyUsage>, Error> {
        let answer = self.0.call(&Request::get(of(id, "/usage")).with("months", months)).await?;
        answer.json().map(|months: Months<MonthlyUsage>| months.months)
    }

    /// A child's keys, the oldest first.
    pub fn api_keys(&self, id: &TenantId) -> List<ApiKeys> {
        List::new(&self.0, Request::get(of(id, "/api-keys")))
    }

    /// Creates a key for a child. It is shown this once only.
    ///
    /// # Errors
    /// [`Error`]. After a time-out or a broken connection the key may exist without being known.
    pub async fn create_api_key(&self, id: &TenantId, key: &CreateChildApiKey) -> Result<NewApiKey, Error> {
        let answer = self.0.call(&creation(of(id, "/api-keys")).json(key)?).await?;
        answer.json().map(|created: CreatedApiKey| created.api_key)
    }

    /// Revokes a child's key.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn revoke_api_key(&self, id: &TenantId, key: Uuid) -> Result<ApiKey, Error> {
        let path = of(id, &format!("/api-keys/{key}/revoke"));
        let request = Request::new(Method::POST, path, Caller::Account, Repeat::Safely);
        self.0.call(&request).await?.json().map(|revoked: RevokedApiKey| revoked.api_key)
    }

    /// Uploads a child's certificate, or puts it in the place of the one before.
    ///
    /// # Errors
    /// [`Error`]; for a file that cannot be used or is not the child's, a service error of status 422.
    pub async fn upload_certificate(
        &self,
        id: &TenantId,
        pfx: &SecretBytes,
        passphrase: &Secret,
    ) -> Result<CertificateStatus, Error> {
        self.0.call(&certificate::upload(of(id, "/certificate"), pfx, passphrase)?).await?.json()
    }

    /// A child's certificate, if it has any.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn certificate(&self, id: &TenantId) -> Result<CertificateStatus, Error> {
        self.0.call(&Request::get(of(id, "/certificate"))).await?.json()
    }

    /// Removes a child's certificate.
    ///
    /// # Errors
    /// [`Error`]; if there is none, [`is_not_found`](crate::ServiceError::is_not_found).
    pub async fn remove_certificate(&self, id: &TenantId) -> Result<CertificateRemoved, Error> {
        let path = of(id, "/certificate");
        let request = Request::new(Method::DELETE, path, Caller::Account, Repeat::IfUntouched);
        self.0.call(&request).await?.json()
    }
}

fn of(id: &TenantId, rest: &str) -> String {
    format!("/partner/tenants/{id}{rest}")
}

/// What is made twice if it is sent twice.
fn creation(path: impl Into<String>) -> Request<'static> {
    Request::new(Method::POST, path, Caller::Account, Repeat::IfUntouched)
}
