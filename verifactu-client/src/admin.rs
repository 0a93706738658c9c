//! The operator's routes: accounts and their keys.

use reqwest::Method;
use verifactu_core::api::{CreateApiKey, CreateTenant, CreatedApiKey, NewApiKey, Tenant};

use crate::{
    Client, Error,
    exchange::{Caller, Repeat, Request},
};

impl Client {
    /// Creates an account.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn create_tenant(&self, tenant: &CreateTenant) -> Result<Tenant, Error> {
        self.call(&creation("/admin/tenants").json(tenant)?).await?.json()
    }

    /// Creates a key. It is shown this once only.
    ///
    /// # Errors
    /// [`Error`]. After a time-out or a broken connection the key may exist without being known.
    pub async fn create_api_key(&self, key: &CreateApiKey) -> Result<NewApiKey, Error> {
        let created: CreatedApiKey = self.call(&creation("/admin/api-keys").json(key)?).await?.json()?;
        Ok(created.api_key)
    }
}

fn creation(path: &str) -> Request<'static> {
    Request::new(Method::POST, path, Caller::Operator, Repeat::IfUntouched)
}
