//! The client itself.

use std::{fmt, sync::Arc, time::Duration};

use reqwest::Url;
use verifactu_core::types::{Secret, TenantId};

use crate::{ClientBuilder, RetryPolicy};

/// A client of one service with one account's key, the operator's, or both. Clones share their
/// connections. Methods need a Tokio runtime.
///
/// ```
/// use verifactu_client::{Client, types::Secret};
/// let client = Client::builder("http://127.0.0.1:8080").api_key(Secret::new("vf_abc".into())).build()?;
/// assert!(!format!("{client:?}").contains("vf_abc"));
/// # Ok::<(), verifactu_client::ConfigurationError>(())
/// ```
#[derive(Clone)]
pub struct Client(pub(crate) Arc<Settings>);

#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) http: reqwest::Client,
    /// The address above the version.
    pub(crate) root: Url,
    pub(crate) api_key: Option<Secret>,
    pub(crate) admin_key: Option<Secret>,
    /// The account of the web application that the operator's key acts for.
    pub(crate) act_as: Option<TenantId>,
    pub(crate) timeout: Duration,
    pub(crate) retry: RetryPolicy,
}

impl Client {
    /// Begins to build a client of the service at an address such as `https://host/v1`; plain `http`
    /// is allowed for loopback addresses only.
    pub fn builder(address: &str) -> ClientBuilder {
        ClientBuilder::new(address)
    }

    /// A client that acts for an account of the web application with the operator's key, instead of a key
    /// of the account's own: for the back end of that application alone.
    #[must_use]
    pub fn acting_as(&self, tenant: &TenantId) -> Self {
        Self::new(Settings { act_as: Some(tenant.clone()), ..(*self.0).clone() })
    }

    pub(crate) fn new(settings: Settings) -> Self {
        Self(Arc::new(settings))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("address", &self.0.root.as_str()).finish_non_exhaustive()
    }
}
