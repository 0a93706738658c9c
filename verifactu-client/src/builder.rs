//! Setting a client up.

use std::time::Duration;

use reqwest::{Url, redirect, retry};
use rustls::RootCertStore;
use verifactu_core::types::Secret;

use crate::{Client, ConfigurationError, Trust, client::Settings, tls};

/// How often, and for how long, a request is repeated by itself.
///
/// A request is repeated when no connection stood, and after 429, 502, 503 and 504: with the same
/// idempotency key and bytes, and not before the time that `Retry-After` names. What is not safe to
/// repeat (new accounts and keys, a removal) is repeated only when it certainly was not acted upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Most attempts, the first included: 4.
    pub attempts: u32,
    /// Wait before the second attempt: 500 ms. It doubles each time.
    pub first_wait: Duration,
    /// Longest wait, unless the service asks for more: 10 s.
    pub longest_wait: Duration,
    /// Limit for all attempts and waits together: 60 s.
    pub total: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 4,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(10),
            total: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// One attempt.
    #[must_use]
    pub fn never() -> Self {
        Self { attempts: 1, ..Self::default() }
    }
}

/// Builds a [`Client`].
///
/// ```
/// use std::time::Duration;
/// use verifactu_client::{Client, RetryPolicy, types::Secret};
///
/// let client = Client::builder("https://verifactu.example.com/v1")
///     .api_key(Secret::new("vf_abc".to_owned()))
///     .timeout(Duration::from_secs(10))
///     .retry(RetryPolicy { attempts: 2, ..RetryPolicy::default() })
///     .build()?;
/// # Ok::<(), verifactu_client::ConfigurationError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ClientBuilder {
    address: String,
    api_key: Option<Secret>,
    admin_key: Option<Secret>,
    trust: Trust,
    connect_timeout: Duration,
    timeout: Duration,
    retry: RetryPolicy,
}

impl ClientBuilder {
    pub(crate) fn new(address: &str) -> Self {
        Self {
            address: address.to_owned(),
            api_key: None,
            admin_key: None,
            trust: Trust::System,
            connect_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(30),
            retry: RetryPolicy::default(),
        }
    }

    /// The account's key, `vf_…`.
    pub fn api_key(mut self, key: Secret) -> Self {
        self.api_key = Some(key);
        self
    }

    /// The operator's key.
    pub fn admin_key(mut self, key: Secret) -> Self {
        self.admin_key = Some(key);
        self
    }

    /// Under which roots the service's certificate must stand; those of the operating system if not
    /// called.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Limit for name look-up, connection and TLS handshake together; 10 s if not called.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// Limit for one attempt, to the last byte of its answer; 30 s if not called.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// When requests are repeated.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// The client. Reads the operating system's certificates, if they are trusted.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn build(self) -> Result<Client, ConfigurationError> {
        let root = root(&self.address)?;
        for key in [&self.api_key, &self.admin_key].into_iter().flatten() {
            if key.expose().is_empty() || !key.expose().bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(ConfigurationError::Key);
            }
        }
        let roots = if root.scheme() == "https" { self.trust.roots()? } else { RootCertStore::empty() };
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::configuration(roots)?)
            .http1_only()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .connect_timeout(self.connect_timeout)
            .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| ConfigurationError::Http(error.into()))?;
        Ok(Client::new(Settings {
            http,
            root,
            api_key: self.api_key,
            admin_key: self.admin_key,
            act_as: None,
            timeout: self.timeout,
            retry: self.retry,
        }))
    }
}

/// The address above the version, whether or not it was given with the version.
fn root(address: &str) -> Result<Url, ConfigurationError> {
    let mut url = Url::parse(address).map_err(|_| ConfigurationError::Address)?;
    let plain = matches!(url.scheme(), "https" | "http")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if !plain {
        return Err(ConfigurationError::Address);
    }
    if url.scheme() == "http" && !is_loopback(&url) {
        return Err(ConfigurationError::PlainHttp);
    }
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/v1").unwrap_or(path).to_owned();
    url.set_path(&path);
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
