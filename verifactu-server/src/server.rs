//! The service as a whole: its parts put together, started, and stopped in time.
//!
//! [`Server::start`] runs it with the ledger, the queue and the authority that the settings name;
//! [`Server::builder`] takes any part from its caller, so that programs and tests run the same
//! service with theirs. Two of them can run in one process.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool, atomic::Ordering},
    time::Duration,
};

use tokio::{
    sync::{Semaphore, watch},
    task::JoinHandle,
    time::Instant,
};
use verifactu_core::{
    authority::{
        Authority, CircuitAuthority,
        https::{Hosts, HttpsAuthority, SetupError, Trust},
    },
    certificate::{CertificateError, Identity, Wanted, open},
    engine::{Engine, Parts, Worker},
    ledger::{
        Accounts, Ledger, LedgerError,
        postgres::{PostgresLedger, PostgresOptions, PostgresSetupError},
        sqlite::{SqliteLedger, SqliteOptions},
    },
    qr::CheckService,
    queue::{Gate, MemoryGate, MemoryQueue, Queue, RedisOptions, RedisQueue, RedisSetupError},
    types::{Clock, Ids},
};

use crate::{
    accounts::{Keys, SecretsError, Strangers, Throttle},
    api::{Looks, Readings, Requests, Service},
    clock::{SystemClock, UuidV7Ids},
    config::{AuthorityConfig, Config, DevelopmentIdentity, LedgerConfig, QueueConfig, Role},
    http::{self, ListenError, Listener},
    metrics::Metrics,
    presenters::{AccountPresenters, OpenError},
    upkeep::Upkeep,
    webhook::{Deliverer, SendError, Sender, Targets},
};

/// Certificate uploads that are opened side by side.
const UPLOADS: usize = 2;
/// How often the requests of accounts are written down.
const COUNT_EVERY: Duration = Duration::from_secs(10);
/// What is kept of the time of a stop to end what did not finish by itself.
const LAST_MOMENT: Duration = Duration::from_millis(200);

/// Starts the service.
pub struct Server;

impl Server {
    /// Starts the service with the ledger, the queue and the authority that its settings name.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start(config: Config) -> Result<Running, StartError> {
        Self::builder(config).start().await
    }

    /// A service some of whose parts come from elsewhere.
    pub fn builder(config: Config) -> Builder {
        Builder { config, store: None, queue: None, authority: None, clock: None, ids: None }
    }
}

/// The parts of a service. What is not given is made as the settings say.
#[must_use = "the service runs once it is started"]
pub struct Builder {
    config: Config,
    store: Option<(Arc<dyn Ledger>, Arc<dyn Accounts>)>,
    queue: Option<Arc<dyn Queue>>,
    authority: Option<Arc<dyn Authority>>,
    clock: Option<Arc<dyn Clock>>,
    ids: Option<Arc<dyn Ids>>,
}

impl Builder {
    /// Where chains and accounts are kept.
    pub fn store<S: Ledger + Accounts + 'static>(self, store: Arc<S>) -> Self {
        self.stores(store.clone(), store)
    }

    /// Where chains and accounts are kept, in two places.
    pub fn stores(mut self, ledger: Arc<dyn Ledger>, accounts: Arc<dyn Accounts>) -> Self {
        self.store = Some((ledger, accounts));
        self
    }

    /// Which chain is due.
    pub fn queue(mut self, queue: Arc<dyn Queue>) -> Self {
        self.queue = Some(queue);
        self
    }

    /// The tax authority.
    pub fn authority(mut self, authority: Arc<dyn Authority>) -> Self {
        self.authority = Some(authority);
        self
    }

    /// The time.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// New identifiers.
    pub fn ids(mut self, ids: Arc<dyn Ids>) -> Self {
        self.ids = Some(ids);
        self
    }

    /// Starts listening and working. Needs a tokio runtime with I/O and time.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start(self) -> Result<Running, StartError> {
        let Made { config, accounts, keys, presenters, gate, parts } = self.make().await?;
        let Parts { queue, clock, ids, .. } = parts.clone();
        let max_attempts = config.engine.retry.max_attempts();
        let check = check_service(&config.authority, config.environment);
        let views = Arc::new(Service::views(check, max_attempts));
        let targets = if config.webhook_loopback { Targets::PublicAndLoopback } else { Targets::Public };
        let webhooks = Arc::new(Sender::new(
            parts.ledger.clone(),
            accounts.clone(),
            keys.vault.clone(),
            clock.clone(),
            views.clone(),
            targets,
        )?);
        let metrics = Arc::new(Metrics::new(&config.demoted_rules));
        let engine = Engine::new(parts, config.engine).observed_by(metrics.clone());
        let listener = Listener::bind(config.listen, config.tls.as_ref()).await?;
        let address = listener.address().map_err(StartError::Address)?;
        let service = Arc::new(Service {
            engine: engine.clone(),
            accounts: accounts.clone(),
            queue,
            presenters,
            clock: clock.clone(),
            ids,
            keys,
            views,
            webhooks: webhooks.clone(),
            environment: config.environment,
            role: config.role,
            bodies: http::room(&config.limits),
            readings: Readings::default(),
            limits: config.limits,
            plans: config.plans,
            requests: Requests::default(),
            strangers: Strangers::new(&config.rates, config.trusted_proxies),
            throttle: Throttle::new(config.rates, gate.clone()),
            gate,
            web_account_prefix: config.web_account_prefix,
            certificate_required: config.certificates.required,
            demoted_rules: config.demoted_rules,
            declaration: config.declaration,
            metrics: metrics.clone(),
            metrics_access: config.metrics,
            uploads: Semaphore::new(UPLOADS),
            looks: Looks::default(),
            stopping: AtomicBool::new(false),
        });
        let (stop, stopped) = watch::channel(false);
        let worker = match config.role {
            Role::Api => tokio::spawn(async {}),
            Role::All | Role::Worker => {
                let upkeep = Upkeep {
                    ledger: engine.ledger().clone(),
                    accounts: accounts.clone(),
                    vault: service.keys.vault.clone(),
                    clock: clock.clone(),
                    keep: config.keep,
                };
                let forget = upkeep.run(stopped.clone());
                let deliverer =
                    Deliverer { engine: engine.clone(), accounts, clock, sender: webhooks, metrics };
                let deliver = deliverer.run(stopped.clone());
                let dispatch = Worker::new(engine).run(config.workers, stopped.clone());
                tokio::spawn(async {
                    tokio::join!(dispatch, deliver, forget);
                })
            }
        };
        let counter = tokio::spawn(count_for_ever(service.clone(), stopped.clone()));
        let front = tokio::spawn(listener.serve(service.clone(), stopped, config.stop_within));
        tracing::info!(%address, environment = %config.environment, "the service listens");
        let (within, delay) = (config.stop_within, config.stop_delay);
        Ok(Running { address, service, stop, front, worker, counter, within, delay })
    }

    /// The engine alone, for work beside a service. It listens to nobody and sends nothing by itself.
    pub(crate) async fn engine(self) -> Result<Engine, StartError> {
        let made = self.make().await?;
        Ok(Engine::new(made.parts, made.config.engine))
    }

    async fn make(self) -> Result<Made, StartError> {
        let Self { mut config, store, queue, authority, clock, ids } = self;
        config.engine.exchange = config.authority.limits.exchange;
        let clock = clock.unwrap_or_else(|| Arc::new(SystemClock));
        let ids = ids.unwrap_or_else(|| Arc::new(UuidV7Ids));
        let (shared, gate) = configured_queue(&config, &*ids)?;
        let queue = queue.unwrap_or(shared);
        prepare_directory(&config.data_dir)?;
        let keys = Keys::prepare(&config.secrets, &config.data_dir)?;
        let (ledger, accounts) = match store {
            Some(store) => store,
            None => configured_store(&config).await?,
        };
        let authority = match authority {
            Some(authority) => authority,
            None => Arc::new(CircuitAuthority::new(https_authority(&config)?, clock.clone())),
        };
        let development = match &config.certificates.development {
            Some(identity) => Some(development_identity(identity, &*clock)?),
            None => None,
        };
        let presenters = Arc::new(AccountPresenters::new(
            accounts.clone(),
            keys.vault.clone(),
            clock.clone(),
            config.signature,
            development,
        )?);
        let parts = Parts { ledger, queue, authority, presenters: presenters.clone(), clock, ids };
        Ok(Made { config, accounts, keys, presenters, gate, parts })
    }
}

/// What a service is put together from.
struct Made {
    config: Config,
    accounts: Arc<dyn Accounts>,
    keys: Keys,
    presenters: Arc<AccountPresenters>,
    gate: Arc<dyn Gate>,
    parts: Parts,
}

/// A service that runs. Dropping it stops it too, without waiting for what is under way.
#[must_use = "the service stops when this is dropped"]
pub struct Running {
    address: SocketAddr,
    service: Arc<Service>,
    stop: watch::Sender<bool>,
    front: JoinHandle<()>,
    worker: JoinHandle<()>,
    counter: JoinHandle<()>,
    within: Duration,
    delay: Duration,
}

impl Running {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The operator's key.
    #[must_use]
    pub fn admin_key(&self) -> &verifactu_core::types::Secret {
        &self.service.keys.admin
    }

    /// The engine, to dispatch by hand.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.service.engine
    }

    /// Stops: first it says that it is not ready any more, for as long as the settings give those who
    /// ask; then nobody new is let in, and requests and dispatches under way are finished. Whatever is
    /// not by the time that the settings give is cut off. Nothing is lost by that: a message that was
    /// cut off is in doubt, and is looked into after the next start.
    pub async fn stop(mut self) {
        self.service.stopping.store(true, Ordering::Release);
        tokio::time::sleep(self.delay).await;
        let deadline = Instant::now() + self.within;
        self.stop.send_replace(true);
        let all = async { tokio::join!(&mut self.front, &mut self.worker, &mut self.counter) };
        if tokio::time::timeout_at(deadline + LAST_MOMENT, all).await.is_err() {
            tracing::warn!("work was cut off at the end of the stop");
            self.front.abort();
            self.worker.abort();
            self.counter.abort();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("address", &self.address).finish_non_exhaustive()
    }
}

/// The service does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The data directory cannot be made.
    #[error("{}: cannot be used as data directory", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A secret cannot be had.
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    /// The ledger cannot be opened.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The shared ledger cannot be opened.
    #[error("the ledger")]
    SharedLedger(#[from] PostgresSetupError),
    /// The queue cannot be opened.
    #[error("the queue")]
    Queue(#[from] RedisSetupError),
    /// The transport to the authority cannot be set up.
    #[error("the authority")]
    Authority(#[from] SetupError),
    /// The file with the roots of the authority, of the ledger or of the queue cannot be read.
    #[error("{}: cannot be read", file.display())]
    Roots {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file of the development identity cannot be read.
    #[error("{}: cannot be read", file.display())]
    DevelopmentFile {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The development identity cannot be used.
    #[error("the development identity cannot be used")]
    DevelopmentIdentity(#[from] CertificateError),
    /// Webhooks cannot be sent.
    #[error(transparent)]
    Webhooks(#[from] SendError),
    /// A certificate cannot present.
    #[error(transparent)]
    Presenter(#[from] OpenError),
    /// It cannot listen.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The address it listens on is not known.
    #[error("the address that was bound is not known")]
    Address(#[source] io::Error),
    /// A task of the start was cut off.
    #[error("the start was cut off")]
    Interrupted,
}

/// Writes the requests of accounts down from time to time, and once more at the end.
async fn count_for_ever(service: Arc<Service>, mut stop: watch::Receiver<bool>) {
    loop {
        let stopped = tokio::select! {
            () = tokio::time::sleep(COUNT_EVERY) => false,
            _ = stop.wait_for(|stop| *stop) => true,
        };
        if let Err(error) = service.requests.flush(&*service.accounts).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "requests were not counted");
        }
        if stopped {
            return;
        }
    }
}

/// Makes the directory for its owner alone; one that is there stays as it is.
pub(crate) fn prepare_directory(directory: &Path) -> Result<(), StartError> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .recursive(true)
        .create(directory)
        .map_err(|source| StartError::Directory { directory: directory.to_owned(), source })
}

/// Where the settings say that chains and accounts are kept; made or migrated if need be.
pub(crate) async fn configured_store(
    config: &Config,
) -> Result<(Arc<dyn Ledger>, Arc<dyn Accounts>), StartError> {
    if let Some((address, options)) = shared_ledger(config)? {
        if matches!(config.queue, QueueConfig::Memory) {
            tracing::warn!(
                "the queue is in this process's memory, so no other process may send for the same ledger"
            );
        }
        let ledger = Arc::new(PostgresLedger::open(address, config.environment, &options).await?);
        return Ok((ledger.clone(), ledger));
    }
    let (file, environment) = (config.ledger_file(), config.environment);
    let opened = tokio::task::spawn_blocking(move || {
        SqliteLedger::open(&file, environment, &SqliteOptions::default())
    });
    let ledger = Arc::new(opened.await.map_err(|_| StartError::Interrupted)??);
    Ok((ledger.clone(), ledger))
}

/// The address of the ledger that several processes share, and how to use its server; `None` for the
/// embedded one.
pub(crate) fn shared_ledger(config: &Config) -> Result<Option<(&str, PostgresOptions)>, StartError> {
    let LedgerConfig::Postgres { address, ca, connections } = &config.ledger else { return Ok(None) };
    let roots = ca.as_deref().map(read_roots).transpose()?;
    let options = PostgresOptions { connections: *connections, roots, ..PostgresOptions::default() };
    Ok(Some((address.expose(), options)))
}

/// Proves that everything the settings name can be used, and makes or opens nothing.
pub(crate) fn check(config: &Config) -> Result<(), StartError> {
    if let Some((address, options)) = shared_ledger(config)? {
        PostgresLedger::check(address, &options)?;
    }
    configured_queue(config, &UuidV7Ids)?;
    https_authority(config)?;
    if let Some(identity) = &config.certificates.development {
        development_identity(identity, &SystemClock)?;
    }
    if let Some(tls) = &config.tls {
        http::check(tls).map_err(ListenError::from)?;
    }
    Ok(())
}

/// What processes share beside the ledger.
type Shared = (Arc<dyn Queue>, Arc<dyn Gate>);

/// A queue out of reach keeps nobody from starting; `/ready` tells of it.
fn configured_queue(config: &Config, ids: &dyn Ids) -> Result<Shared, StartError> {
    let QueueConfig::Redis { address, ca, name } = &config.queue else {
        return Ok((Arc::new(MemoryQueue::default()), Arc::new(MemoryGate::default())));
    };
    let options = RedisOptions {
        name: name.clone().unwrap_or_else(|| config.environment.as_str().to_owned()),
        worker: ids.next(),
        roots: ca.as_deref().map(read_roots).transpose()?,
    };
    let queue = Arc::new(RedisQueue::open(address.expose(), options)?);
    Ok((queue.clone(), queue))
}

fn read_roots(file: &Path) -> Result<Vec<u8>, StartError> {
    std::fs::read(file).map_err(|source| StartError::Roots { file: file.to_owned(), source })
}

fn https_authority(config: &Config) -> Result<Arc<dyn Authority>, StartError> {
    let AuthorityConfig { url, nif_check_url, ca, limits, .. } = &config.authority;
    let hosts = match url {
        Some(url) => Hosts::at(url)?,
        None => Hosts::of(config.environment)?,
    };
    let hosts = match nif_check_url {
        Some(url) => hosts.with_nif_check_at(url)?,
        None => hosts,
    };
    let trust = match ca {
        None => Trust::System,
        Some(file) => Trust::Only(read_roots(file)?),
    };
    Ok(Arc::new(HttpsAuthority::new(hosts, &trust, *limits)?))
}

fn check_service(
    authority: &AuthorityConfig,
    environment: verifactu_core::types::Environment,
) -> CheckService {
    let sandbox = authority.qr_url.as_deref().or(authority.url.as_deref()).unwrap_or_default();
    CheckService::new(environment, sandbox)
}

fn development_identity(given: &DevelopmentIdentity, clock: &dyn Clock) -> Result<Identity, StartError> {
    let file = std::fs::read(&given.file)
        .map_err(|source| StartError::DevelopmentFile { file: given.file.clone(), source })?;
    let file = zeroize::Zeroizing::new(file);
    Ok(open(&file, &given.passphrase, Wanted { holder: None, now: clock.now() })?.identity)
}
