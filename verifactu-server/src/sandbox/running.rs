//! Starting a sandbox, holding it, stopping it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::authority::Authority;
use super::clock::Clock;
use super::endpoint::VERIFACTU_PATH;
use super::faults::Fault;
use super::pki::Pki;
use super::settings::Settings;
use super::store::{Invoice, Registration, Store};
use super::{SandboxError, admin, server};

/// How a sandbox starts. The default listens on a free port of this computer, keeps everything in
/// memory, and makes a CA of its own.
#[derive(Clone, Debug)]
pub struct SandboxConfig {
    listen: SocketAddr,
    admin: Option<SocketAddr>,
    hosts: Vec<String>,
    data: Option<PathBuf>,
    pki: Option<Pki>,
    settings: Settings,
    clock: Clock,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            admin: None,
            hosts: Vec::new(),
            data: None,
            pki: None,
            settings: Settings::default(),
            clock: Clock::default(),
        }
    }
}

impl SandboxConfig {
    /// Where the service listens; port 0 takes a free one.
    #[must_use]
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// Where the admin interface listens; without this there is none. Loopback only.
    #[must_use]
    pub fn admin(mut self, address: SocketAddr) -> Self {
        self.admin = Some(address);
        self
    }

    /// A further name or address in the server's certificate, beside those of this computer.
    #[must_use]
    pub fn host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }

    /// Where to keep registrations (`sandbox.db`) and the CA (`pki/`).
    #[must_use]
    pub fn data(mut self, directory: impl Into<PathBuf>) -> Self {
        self.data = Some(directory.into());
        self
    }

    /// A CA to use, instead of that of the data directory or a new one.
    #[must_use]
    pub fn pki(mut self, pki: Pki) -> Self {
        self.pki = Some(pki);
        self
    }

    /// The settings to start with.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// The authority's clock.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Starts listening. Needs a tokio runtime with I/O and time.
    ///
    /// # Errors
    ///
    /// When an address is taken, the data directory cannot be used, or a setting is out of range.
    pub async fn start(self) -> Result<RunningSandbox, SandboxError> {
        if let Some(address) = self.admin.filter(|address| !address.ip().is_loopback()) {
            return Err(SandboxError::AdminNotLoopback(address));
        }
        let (pki, data) = (self.pki, self.data);
        let opened = tokio::task::spawn_blocking(move || {
            let pki = match (pki, &data) {
                (Some(pki), _) => pki,
                (None, Some(data)) => Pki::open(&data.join("pki"))?,
                (None, None) => Pki::ephemeral()?,
            };
            Ok::<_, SandboxError>((pki, Store::open(data.as_deref())?))
        });
        let (pki, store) = opened.await.map_err(|_| SandboxError::Interrupted)??;
        let authority = Arc::new(Authority::new(store, self.clock, pki, self.settings)?);
        let acceptor = server::acceptor(&authority, &self.hosts)?;
        let listener = server::listen(self.listen).await?;
        let address = listener.local_addr().map_err(SandboxError::Report)?;
        let admin_listener = match self.admin {
            None => None,
            Some(admin) => Some(server::listen(admin).await?),
        };
        let admin_address = match &admin_listener {
            None => None,
            Some(listener) => Some(listener.local_addr().map_err(SandboxError::Report)?),
        };
        let (stop, stopped) = watch::channel(false);
        let service = server::serve_tls(listener, acceptor, authority.clone(), stopped.clone());
        let shared = authority.clone();
        let task = tokio::spawn(async move {
            match admin_listener {
                None => service.await,
                Some(listener) => {
                    let admin = server::serve_admin(listener, shared, stopped);
                    tokio::join!(service, admin);
                }
            }
        });
        let admin_shown = admin_address.map(tracing::field::display);
        tracing::info!(%address, admin_address = admin_shown, "sandbox authority listens");
        Ok(RunningSandbox { address, admin_address, authority, stop, task })
    }
}

/// A sandbox that listens. Dropping it stops it too, without waiting for the requests in progress.
#[must_use = "the sandbox stops when this is dropped"]
pub struct RunningSandbox {
    address: SocketAddr,
    admin_address: Option<SocketAddr>,
    authority: Arc<Authority>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl RunningSandbox {
    /// Where the service listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the admin interface listens, if there is one.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin_address
    }

    /// Scheme, host and port of the service, for a client on this computer: what stands in the
    /// place of `https://prewww1.aeat.es`.
    pub fn url(&self) -> String {
        if self.address.ip().is_unspecified() {
            format!("https://localhost:{}", self.address.port())
        } else {
            format!("https://{}", self.address)
        }
    }

    /// The whole address of the service.
    pub fn endpoint(&self) -> String {
        format!("{}{VERIFACTU_PATH}", self.url())
    }

    /// The CA that issues the certificates.
    pub fn pki(&self) -> &Pki {
        &self.authority.pki
    }

    /// The current state of the invoices, of one issuer if given; last registered first.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub async fn invoices(&self, issuer: Option<&str>) -> Result<Vec<Invoice>, SandboxError> {
        admin::invoices(&self.authority, issuer.map(str::to_owned)).await
    }

    /// Every registration ever made, of one issuer if given; oldest first.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub async fn registrations(&self, issuer: Option<&str>) -> Result<Vec<Registration>, SandboxError> {
        admin::registrations(&self.authority, issuer.map(str::to_owned)).await
    }

    /// The records that answered a requirement, oldest first.
    ///
    /// # Errors
    /// [`SandboxError::Store`].
    pub async fn remissions(&self, reference: &str) -> Result<Vec<Registration>, SandboxError> {
        admin::remissions(&self.authority, reference.to_owned()).await
    }

    /// Adds a fault behind those armed already.
    pub fn arm(&self, fault: Fault) {
        self.authority.faults.arm(fault);
    }

    /// The faults still armed.
    pub fn armed(&self) -> Vec<Fault> {
        self.authority.faults.armed()
    }

    /// Forgets all faults armed.
    pub fn clear_faults(&self) {
        self.authority.faults.clear();
    }

    /// The settings in force.
    pub fn settings(&self) -> Settings {
        Settings::clone(&self.authority.settings())
    }

    /// Changes the settings from the next request on.
    ///
    /// # Errors
    ///
    /// When a setting is out of range; then nothing changes.
    pub fn set_settings(&self, settings: Settings) -> Result<(), SandboxError> {
        self.authority.set_settings(settings)
    }

    /// Stops accepting, lets the requests in progress finish within five seconds, and returns when
    /// all is closed.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        if let Err(error) = self.task.await {
            tracing::error!(error = &error as &dyn std::error::Error, "the sandbox ended badly");
        }
    }
}

impl std::fmt::Debug for RunningSandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningSandbox")
            .field("address", &self.address)
            .field("admin_address", &self.admin_address)
            .finish_non_exhaustive()
    }
}
