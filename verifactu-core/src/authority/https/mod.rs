//! The authority over HTTPS with client certificates.
//!
//! The host depends on the environment and on the kind of certificate: seals have hosts of their own
//! (SWeb, endpoints of the WSDL). Every identity has a client of its own, so that no connection is
//! ever shared between certificates; clients are kept for the identities used last.
//!
//! Nothing is sent twice from here. Redirects are not followed, proxies are not asked, and of a
//! failure only what provably came before the first byte of the message counts as not reached.

mod classify;
mod clients;
mod tls;

pub use tls::Trust;

use std::time::Duration;

use bytes::Bytes;
use reqwest::{
    Client, Response, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION},
    redirect, retry,
};
use tokio::time::Instant;

use super::{Answered, Authority, Exchange, NoAnswer, NotReached, Request, Service};
use crate::{
    certificate::{HolderKind, Identity},
    types::Environment,
};
use clients::Clients;
use tls::Tls;

/// One path for registration and query: the first element of the body decides.
const PATH: &str = "/wlpl/TIKE-CONT/ws/SistemaFacturacion/VerifactuSOAP";
/// The check of NIFs.
const NIF_CHECK_PATH: &str = "/wlpl/BURT-JDIT/ws/VNifV2SOAP";
/// Longest header value that is kept.
const MAX_HEADER: usize = 1024;

/// The hosts of an authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    records: Pair,
    nif_check: Pair,
}

/// One host for persons and representatives, and one for seals.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pair {
    person: Url,
    seal: Url,
}

impl Hosts {
    /// The published hosts of an environment. The sandbox has none: see [`Hosts::at`].
    ///
    /// NIFs are checked at the hosts of production in both: the service is published for production
    /// alone, and asking it changes nothing.
    ///
    /// # Errors
    /// [`SetupError::NoHosts`] for the sandbox.
    pub fn of(environment: Environment) -> Result<Self, SetupError> {
        let pair = |person, seal| Ok(Pair { person: base(person)?, seal: base(seal)? });
        let production =
            pair("https://www1.agenciatributaria.gob.es", "https://www10.agenciatributaria.gob.es")?;
        let records = match environment {
            Environment::Production => production.clone(),
            Environment::Preproduction => pair("https://prewww1.aeat.es", "https://prewww10.aeat.es")?,
            Environment::Sandbox => return Err(SetupError::NoHosts),
        };
        Ok(Self { records, nif_check: production })
    }

    /// One host for every service and every kind of certificate, `https://host:port` with or without
    /// a path in front of the service's own.
    ///
    /// # Errors
    /// [`SetupError::Address`] if it is not such an address.
    pub fn at(address: &str) -> Result<Self, SetupError> {
        let pair = Pair::at(address)?;
        Ok(Self { records: pair.clone(), nif_check: pair })
    }

    /// Another host for the check of NIFs, in the form of [`Hosts::at`].
    ///
    /// # Errors
    /// [`SetupError::Address`] if it is not such an address.
    pub fn with_nif_check_at(mut self, address: &str) -> Result<Self, SetupError> {
        self.nif_check = Pair::at(address)?;
        Ok(self)
    }

    fn url(&self, kind: HolderKind, service: Service) -> Url {
        let (hosts, path) = match service {
            Service::Registration | Service::Query => (&self.records, PATH),
            Service::NifCheck => (&self.nif_check, NIF_CHECK_PATH),
        };
        let mut url = match kind {
            HolderKind::Person | HolderKind::Representative => hosts.person.clone(),
            HolderKind::Seal => hosts.seal.clone(),
        };
        let path = format!("{}{path}", url.path().trim_end_matches('/'));
        url.set_path(&path);
        url
    }
}

impl Pair {
    fn at(address: &str) -> Result<Self, SetupError> {
        let base = base(address)?;
        Ok(Self { person: base.clone(), seal: base })
    }
}

fn base(address: &str) -> Result<Url, SetupError> {
    let url = Url::parse(address).map_err(|_| SetupError::Address)?;
    let plain = url.scheme() == "https"
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if plain { Ok(url) } else { Err(SetupError::Address) }
}

/// Why the transport cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The environment has no published hosts.
    #[error("the sandbox has no published hosts: give its address")]
    NoHosts,
    /// Not an `https` address of a host.
    #[error("give the address as https://host:port, without user, query or fragment")]
    Address,
    /// No root certificate was found, or the text given holds none.
    #[error("no root certificates")]
    NoRoots,
    /// A root certificate cannot be used.
    #[error("a root certificate cannot be used")]
    Root(#[source] rustls::Error),
    /// The text given is not PEM.
    #[error("the root certificates are not PEM")]
    Pem(#[source] rustls::pki_types::pem::Error),
}

/// The limits of an exchange. Each field is a limit; [`Default`] gives the usual ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Name look-up, connection and TLS handshake together: 10 s.
    pub connect: Duration,
    /// The whole exchange, to the last byte of the answer: 60 s.
    pub exchange: Duration,
    /// How long a connection is kept without use: 20 s. Short, because a message sent just as the
    /// host closes an old connection is in doubt.
    pub idle: Duration,
    /// Most bytes of an answer: 16 MiB.
    pub answer: usize,
    /// Most identities whose clients are kept: 10 000.
    pub identities: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            exchange: Duration::from_secs(60),
            idle: Duration::from_secs(20),
            answer: 16 << 20,
            identities: 10_000,
        }
    }
}

/// An [`Authority`] reached over HTTPS.
///
/// ```no_run
/// use verifactu_core::{authority::https::{Hosts, HttpsAuthority, Limits, Trust}, types::Environment};
/// let hosts = Hosts::of(Environment::Preproduction)?;
/// let authority = HttpsAuthority::new(hosts, &Trust::System, Limits::default())?;
/// # Ok::<(), verifactu_core::authority::https::SetupError>(())
/// ```
#[derive(Debug)]
pub struct HttpsAuthority {
    hosts: Hosts,
    tls: Tls,
    limits: Limits,
    clients: Clients,
}

impl HttpsAuthority {
    /// A transport to these hosts, which must show a certificate under the trusted roots.
    ///
    /// # Errors
    /// [`SetupError`] if there is nothing to trust.
    pub fn new(hosts: Hosts, trust: &Trust, limits: Limits) -> Result<Self, SetupError> {
        Ok(Self { hosts, tls: Tls::new(trust)?, limits, clients: Clients::new(limits.identities) })
    }

    fn client(&self, identity: &Identity) -> Result<Client, NotReached> {
        if let Some(client) = self.clients.find(identity.id()) {
            return Ok(client);
        }
        let unusable = |error: &dyn std::error::Error| NotReached::Identity { detail: error.to_string() };
        let tls = self.tls.for_identity(identity).map_err(|error| unusable(&error))?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .http1_only()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .connect_timeout(self.limits.connect)
            .pool_idle_timeout(self.limits.idle)
            .pool_max_idle_per_host(2)
            .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| unusable(&error))?;
        self.clients.keep(identity.id(), client.clone());
        Ok(client)
    }

    async fn answer(&self, url: Url, client: Client, body: Bytes) -> Result<Found, Failure> {
        let sent = client
            .post(url)
            .header(CONTENT_TYPE, "text/xml; charset=utf-8")
            .header(HeaderName::from_static("soapaction"), HeaderValue::from_static("\"\""))
            .body(body)
            .send()
            .await;
        let mut response = sent.map_err(|error| classify::failure(&error))?;
        let body = self.body(&mut response).await.map_err(Failure::NoAnswer)?;
        let headers = response.headers();
        Ok(Found {
            status: response.status().as_u16(),
            content_type: text(headers, &CONTENT_TYPE),
            location: text(headers, &LOCATION),
            body,
        })
    }

    /// Reads piece by piece, so that no more than the limit is ever held.
    async fn body(&self, response: &mut Response) -> Result<Bytes, NoAnswer> {
        let limit = self.limits.answer;
        let told =
            response.content_length().map_or(0, |length| usize::try_from(length).unwrap_or(usize::MAX));
        if told > limit {
            return Err(NoAnswer::TooLarge);
        }
        let mut body = Vec::with_capacity(told.min(64 << 10));
        while let Some(piece) = response.chunk().await.map_err(|_| NoAnswer::Cut)? {
            if body.len() + piece.len() > limit {
                return Err(NoAnswer::TooLarge);
            }
            body.extend_from_slice(&piece);
        }
        Ok(body.into())
    }
}

/// A whole answer, before its time is known.
struct Found {
    status: u16,
    content_type: Option<String>,
    location: Option<String>,
    body: Bytes,
}

/// What stands instead of an answer.
enum Failure {
    NoAnswer(NoAnswer),
    NotReached(NotReached),
}

#[async_trait::async_trait]
impl Authority for HttpsAuthority {
    async fn exchange(&self, request: Request) -> Exchange {
        let start = Instant::now();
        let Request { service, identity, body } = request;
        let client = match self.client(&identity) {
            Ok(client) => client,
            Err(reason) => return Exchange::NotReached { reason, elapsed: start.elapsed() },
        };
        let url = self.hosts.url(identity.certificate().holder.kind, service);
        let found = tokio::time::timeout(self.limits.exchange, self.answer(url, client, body)).await;
        let elapsed = start.elapsed();
        match found {
            Ok(Ok(Found { status, content_type, location, body })) => {
                Exchange::Answered(Answered { status, content_type, location, body, elapsed })
            }
            Ok(Err(Failure::NoAnswer(reason))) => Exchange::NoAnswer { reason, elapsed },
            Ok(Err(Failure::NotReached(reason))) => Exchange::NotReached { reason, elapsed },
            Err(_) => Exchange::NoAnswer { reason: NoAnswer::TimedOut, elapsed },
        }
    }

    fn host(&self, request: &Request) -> String {
        let url = self.hosts.url(request.identity.certificate().holder.kind, request.service);
        url.authority().to_owned()
    }
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    value.get(..value.len().min(MAX_HEADER)).map(str::to_owned)
}
