//! Settings: read once, checked, typed. Nothing else in the service reads the environment.
//!
//! Flags come before `VERIFACTU_*` variables, and these before the settings file. Every limit of the
//! service is here with its default; [`Config::new`] gives all of them to programs that start the
//! service themselves.

mod declaration;
mod effective;
mod error;
mod flags;
mod plans;
mod rates;
mod sources;
mod table;
mod value;

pub use declaration::DeclarationConfig;
pub use effective::{Effective, effective};
pub use error::ConfigError;
pub use flags::Flags;
pub use plans::Plans;
pub use rates::{RateClass, Rates};

use std::{
    ffi::OsString,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use ipnet::IpNet;
use verifactu_core::{
    authority::https,
    engine,
    ledger::{Listing, postgres::PostgresOptions},
    queue::RedisQueue,
    record::{ComputerSystem, Identification, Party, SystemId},
    types::{Environment, Nif, Secret, SecretBytes, TenantId, Text},
    validation,
};

use sources::Sources;
use value::Reader;

/// How the service runs.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which world its records belong to.
    pub environment: Environment,
    /// Directory of the embedded ledger and of generated secrets.
    pub data_dir: PathBuf,
    /// Where it listens.
    pub listen: SocketAddr,
    /// Its own certificate; plain HTTP without.
    pub tls: Option<TlsFiles>,
    /// Bounds of requests and connections.
    pub limits: Limits,
    /// Where the ledger is.
    pub ledger: LedgerConfig,
    /// Where the queue is.
    pub queue: QueueConfig,
    /// What this process does.
    pub role: Role,
    /// How many invoices accounts may have.
    pub plans: Plans,
    /// How often accounts may call.
    pub rates: Rates,
    /// How identifiers of the web application's accounts begin.
    pub web_account_prefix: String,
    /// Whose word counts on where a request comes from.
    pub trusted_proxies: Vec<IpNet>,
    /// How the tax authority is reached.
    pub authority: AuthorityConfig,
    /// How the engine behaves, with the system that records name.
    pub engine: engine::Settings,
    /// What the system's producer declares of it; nothing can be shown without.
    pub declaration: Option<DeclarationConfig>,
    /// Chains that are dispatched side by side.
    pub workers: usize,
    /// Whether records are signed.
    pub signature: SignatureMode,
    /// Which certificates present records.
    pub certificates: Certificates,
    /// Secrets that are not to be generated.
    pub secrets: Secrets,
    /// How long messages, attempts and deliveries are kept.
    pub keep: Duration,
    /// Who may read `/metrics`.
    pub metrics: MetricsAccess,
    /// Let webhooks go to this computer, also over HTTP: for development.
    pub webhook_loopback: bool,
    /// Rules, by their id, whose findings are only warnings.
    pub demoted_rules: Vec<String>,
    /// How long it says that it is not ready before a stop begins.
    pub stop_delay: Duration,
    /// How long a stop may take.
    pub stop_within: Duration,
}

/// Files of the service's own certificate, PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The chain, leaf first.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// Bounds of requests and connections.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a body.
    pub body: usize,
    /// Bytes of a batch.
    pub batch: usize,
    /// Bytes of a certificate upload.
    pub certificate: usize,
    /// Bytes of the bodies of all requests that are read or answered at a time.
    pub bodies: usize,
    /// Bytes of request line and headers together.
    pub headers: usize,
    /// Time to read the headers.
    pub header_read: Duration,
    /// Time to read the body.
    pub body_read: Duration,
    /// Time for which the writing of an answer may stand still.
    pub write_stall: Duration,
    /// Time of a TLS handshake.
    pub handshake: Duration,
    /// Connections at a time.
    pub connections: usize,
    /// Child accounts of a partner.
    pub children: u32,
    /// Keys of an account, revoked ones among them.
    pub keys: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 256 * 1024,
            batch: 8 * 1024 * 1024,
            certificate: 128 * 1024,
            bodies: 64 * 1024 * 1024,
            headers: 16 * 1024,
            header_read: Duration::from_secs(10),
            body_read: Duration::from_secs(30),
            write_stall: Duration::from_secs(30),
            handshake: Duration::from_secs(10),
            connections: 4096,
            children: 10_000,
            keys: 1000,
        }
    }
}

/// Where the ledger is.
#[derive(Clone, Debug, Default)]
pub enum LedgerConfig {
    /// In the data directory, for this process alone.
    #[default]
    Embedded,
    /// In PostgreSQL, for several processes. Then no secret is generated, because they share those too.
    Postgres {
        /// Its address, which may hold a password.
        address: Secret,
        /// The only roots to trust, a PEM file; those of the system if absent.
        ca: Option<PathBuf>,
        /// The most connections of this process.
        connections: usize,
    },
}

/// Where the queue is.
#[derive(Clone, Debug, Default)]
pub enum QueueConfig {
    /// In this process, which then is the only one.
    #[default]
    Memory,
    /// In Redis, for several processes.
    Redis {
        /// Its address, which may hold a password.
        address: Secret,
        /// The only roots to trust, a PEM file; those of the system if absent.
        ca: Option<PathBuf>,
        /// Tells the queue from others at that address; the environment's name if absent.
        name: Option<String>,
    },
}

/// What a process does, of several that share a ledger and a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// It takes requests and sends to the authority.
    #[default]
    All,
    /// It takes requests, and leaves the sending to others.
    Api,
    /// It sends, and answers only whether it is alive and ready.
    Worker,
}

/// Who may read `/metrics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsAccess {
    /// Whoever can connect.
    Anyone,
    /// The operator, by the admin key.
    Operator,
    /// Nobody: there is no such route.
    Nobody,
}

/// How the tax authority is reached.
#[derive(Clone, Debug, Default)]
pub struct AuthorityConfig {
    /// Its address; the published one of the environment if absent.
    pub url: Option<String>,
    /// The only roots to trust, a PEM file; those of the system if absent.
    pub ca: Option<PathBuf>,
    /// Limits of an exchange.
    pub limits: https::Limits,
    /// Where NIFs are checked: if absent, at the address of the authority, or where it is a published one,
    /// at that of production, since the service is published for production alone.
    pub nif_check_url: Option<String>,
    /// Where the QR check page of a sandbox is; at its address if absent.
    pub qr_url: Option<String>,
}

/// Whether records are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureMode {
    /// They are not.
    None,
    /// XAdES-EPES with RSA keys; records of other keys go unsigned.
    Xades,
    /// Also with elliptic-curve keys.
    XadesWithEc,
}

/// Which certificates present records.
#[derive(Clone, Debug)]
pub struct Certificates {
    /// Refuse invoices of accounts without a certificate.
    pub required: bool,
    /// For accounts without one; in the sandbox only.
    pub development: Option<DevelopmentIdentity>,
}

/// A certificate of the sandbox's own PKI, as a PKCS#12 file.
#[derive(Clone, Debug)]
pub struct DevelopmentIdentity {
    /// The file.
    pub file: PathBuf,
    /// Its passphrase.
    pub passphrase: Secret,
}

/// Secrets that are given; the rest is generated into the data directory.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    /// Key of the operator.
    pub admin_key: Option<Secret>,
    /// Keys the hashes of API keys.
    pub key_pepper: Option<Secret>,
    /// Keys of the vault, by number.
    pub vault_keys: Vec<(u8, SecretBytes)>,
    /// The number of the one that seals; the highest if absent.
    pub vault_seal_with: Option<u8>,
}

/// How logs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// JSON, or text for people.
    pub format: LogFormat,
    /// The least severe that is written.
    pub level: tracing::Level,
}

/// The form of a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object each.
    Json,
    /// For people.
    Text,
}

impl Config {
    /// Every default, for an environment and a system.
    #[must_use]
    pub fn new(environment: Environment, data_dir: impl Into<PathBuf>, system: ComputerSystem) -> Self {
        Self {
            environment,
            data_dir: data_dir.into(),
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            tls: None,
            limits: Limits::default(),
            ledger: LedgerConfig::Embedded,
            queue: QueueConfig::Memory,
            role: Role::All,
            plans: Plans::default(),
            rates: Rates::default(),
            web_account_prefix: "web-".to_owned(),
            trusted_proxies: Vec::new(),
            authority: AuthorityConfig::default(),
            engine: engine::Settings::new(system),
            declaration: None,
            workers: 4,
            signature: SignatureMode::Xades,
            certificates: Certificates { required: environment != Environment::Sandbox, development: None },
            secrets: Secrets::default(),
            keep: Duration::from_secs(90 * 24 * 60 * 60),
            metrics: MetricsAccess::Anyone,
            webhook_loopback: false,
            demoted_rules: Vec::new(),
            stop_delay: Duration::ZERO,
            stop_within: Duration::from_secs(30),
        }
    }

    /// Reads flags, the process's environment, and the settings file that either names.
    ///
    /// # Errors
    /// [`ConfigError`] names the setting.
    #[expect(clippy::disallowed_methods, reason = "this is where the environment comes in")]
    pub fn load(flags: &Flags) -> Result<(Self, LogConfig), ConfigError> {
        Self::read(flags, &|name| std::env::var_os(name))
    }

    /// Reads flags, the variables of an environment, and the settings file that either names.
    ///
    /// # Errors
    /// [`ConfigError`] names the setting.
    ///
    /// ```
    /// use verifactu_server::config::{Config, Flags};
    /// let flags = Flags::new([("environment", "sandbox"), ("data-dir", "/tmp/x"), ("authority-url", "https://localhost:1")]);
    /// let (config, _) = Config::read(&flags, &|name| (name == "VERIFACTU_WORKERS").then(|| "2".into()))?;
    /// assert_eq!(config.workers, 2);
    /// # Ok::<(), verifactu_server::config::ConfigError>(())
    /// ```
    pub fn read(
        flags: &Flags,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<(Self, LogConfig), ConfigError> {
        let named = || variable(&sources::variable_name("config")).map(PathBuf::from);
        let reader = Reader(Sources::new(&flags.values, variable, flags.config.clone().or_else(named))?);
        let log = log(&reader)?;
        let environment = reader
            .read("environment", "sandbox, preproduction or production", |text| text.parse().ok())?
            .ok_or(ConfigError::Missing { setting: "--environment", reason: "and has no default" })?;
        let data_dir = reader
            .read("data-dir", "a directory", path)?
            .ok_or(ConfigError::Missing { setting: "--data-dir", reason: "and has no default" })?;
        let mut config = Self::new(environment, data_dir, system(&reader, environment)?);
        config.declaration = DeclarationConfig::read(&reader, environment)?;
        config.read_service(&reader)?;
        config.read_ledger(&reader)?;
        config.read_queue(&reader)?;
        config.read_authority(&reader)?;
        config.read_engine(&reader)?;
        config.read_limits(&reader)?;
        Ok((config, log))
    }

    /// The embedded ledger's file.
    #[must_use]
    pub fn ledger_file(&self) -> PathBuf {
        self.data_dir.join("ledger.db")
    }

    fn read_service(&mut self, reader: &Reader<'_>) -> Result<(), ConfigError> {
        reader.set(&mut self.listen, "listen", "an address and port, such as 127.0.0.1:8080", |text| {
            text.parse().ok()
        })?;
        let certificate = reader.read("tls-cert", "a file", path)?;
        let key = reader.read("tls-key", "a file", path)?;
        self.tls = match (certificate, key) {
            (Some(certificate), Some(key)) => Some(TlsFiles { certificate, key }),
            (None, None) => None,
            (Some(_), None) => {
                return Err(ConfigError::Missing { setting: "--tls-key", reason: "beside --tls-cert" });
            }
            (None, Some(_)) => {
                return Err(ConfigError::Missing { setting: "--tls-cert", reason: "beside --tls-key" });
            }
        };
        reader.number(&mut self.workers, "workers", "1 to 1024", |n| (1..=1024).contains(n))?;
        reader.time(&mut self.stop_delay, "stop-delay")?;
        reader.time(&mut self.stop_within, "stop-within")?;
        self.secrets.admin_key = reader.secret("admin-key")?;
        self.secrets.key_pepper = reader.secret("key-pepper")?;
        reader.set(
            &mut self.secrets.vault_keys,
            "vault-key",
            "number:base64 of 32 bytes, with commas between several",
            value::vault_keys,
        )?;
        self.secrets.vault_seal_with =
            reader.read("vault-seal-with", "the number of a vault key", |text| text.parse().ok())?;
        reader.boolean(&mut self.certificates.required, "require-tenant-certificate")?;
        self.read_development_identity(reader)?;
        reader.time(&mut self.keep, "keep")?;
        reader.set(&mut self.metrics, "metrics", "open, admin or off", |text| match text {
            "open" => Some(MetricsAccess::Anyone),
            "admin" => Some(MetricsAccess::Operator),
            "off" => Some(MetricsAccess::Nobody),
            _ => None,
        })?;
        reader.boolean(&mut self.webhook_loopback, "webhook-loopback")?;
        let mut ec = false;
        reader.boolean(&mut ec, "signature-ec")?;
        reader.set(&mut self.signature, "signature", "xades or none", |text| match text {
            "none" => Some(SignatureMode::None),
            "xades" => Some(SignatureMode::Xades),
            _ => None,
        })?;
        if ec && self.signature == SignatureMode::Xades {
            self.signature = SignatureMode::XadesWithEc;
        }
        Ok(())
    }

    /// Secrets that one process generated would be unknown to the others.
    fn read_ledger(&mut self, reader: &Reader<'_>) -> Result<(), ConfigError> {
        let address = reader.read("ledger", "embedded or postgres://", |text| {
            let shared = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
            (shared || text == "embedded").then(|| shared.then(|| Secret::new(text.to_owned())))
        })?;
        let ca = reader.read("ledger-ca", "a file", path)?;
        let mut connections = PostgresOptions::default().connections;
        reader.number(&mut connections, "ledger-connections", "1 to 1000", |n| (1..=1000).contains(n))?;
        let Some(address) = address.flatten() else { return Ok(()) };
        let reason = "with a shared ledger";
        if self.secrets.vault_keys.is_empty() {
            return Err(ConfigError::Missing { setting: "--vault-key", reason });
        }
        if self.secrets.key_pepper.is_none() {
            return Err(ConfigError::Missing { setting: "--key-pepper", reason });
        }
        self.ledger = LedgerConfig::Postgres { address, ca, connections };
        Ok(())
    }

    fn read_queue(&mut self, reader: &Reader<'_>) -> Result<(), ConfigError> {
        let address = reader.read("queue", "memory, redis:// or rediss://", |text| {
            let shared = ["redis://", "rediss://", "redis+sentinel://", "rediss+sentinel://", "unix://"]
                .iter()
                .any(|scheme| text.starts_with(scheme));
            (shared || text == "memory").then(|| shared.then(|| Secret::new(text.to_owned())))
        })?;
        let ca = reader.read("queue-ca", "a file", path)?;
        let name =
            reader.read("queue-name", "1 to 64 letters, digits, dots, underscores or hyphens", |text| {
                RedisQueue::is_name(text).then(|| text.to_owned())
            })?;
        if let Some(address) = address.flatten() {
            self.queue = QueueConfig::Redis { address, ca, name };
        }
        reader.set(&mut self.role, "role", "all, api or worker", |text| match text {
            "all" => Some(Role::All),
            "api" => Some(Role::Api),
            "worker" => Some(Role::Worker),
            _ => None,
        })?;
        match (&self.queue, self.role) {
            (QueueConfig::Memory, Role::Api | Role::Worker) => {
                Err(ConfigError::Missing { setting: "--queue", reason: "in the roles api and worker" })
            }
            _ => Ok(()),
        }
    }

    /// Nowhere but in the sandbox is there a certificate of the platform (specification, Digital
    /// certificate).
    fn read_development_identity(&mut self, reader: &Reader<'_>) -> Result<(), ConfigError> {
        let expected = "nothing outside the sandbox, where every account has its own certificate";
        let sandbox = self.environment == Environment::Sandbox;
        let file = reader.read("development-identity", expected, |text| path(text).filter(|_| sandbox))?;
        let passphrase = reader.secret("development-passphrase")?.unwrap_or_default();
        self.certificates.development = file.map(|file| DevelopmentIdentity { file, passphrase });
        Ok(())
    }

    fn read_authority(&mut self, reader: &Reader<'_>) -> Result<(), ConfigError> {
        let address = |text: &str| https::Hosts::at(text).is_ok().then(|| text.to_owned());
        let expected = "https://host:port, without user, query or fragment";
        let authority = &mut self.authority;
        authority.url = reader.read("authority-url", expected, address)?;
        if authority.url.is_none() && self.environment == Environment::Sandbox {
            return Err(ConfigError::Missing { setting: "--authority-url", reason: "in the sandbox" });
        }
        authority.ca = reader.read("authority-ca", "a file", path)?;
        authority.qr_url = reader.read("qr-url", expected, address)?;
        authority.nif_check_url = reader.read("nif-check-url", expected, address)?;
        reader.time(&mut authority.limits.connect, "authority-connect")?;
        reader.time(&mut authority.limits.exchange, "authority-exchange")?;
        reader.size(&mut authority.limits.answer, "authority-answer")
    }

    fn read_engine(&mut self, reader: &Reader<'_>) -> Result<(), ConfigError> {
        let engine = &mut self.engine;
        reader.set(&mut engine.retry.waits, "retry-waits", "times with commas between", value::times)?;
        reader.time(&mut engine.retry.transient_cap, "retry-transient-cap")?;
        reader.time(&mut engine.retry.doubt_interval, "retry-doubt-interval")?;
        reader.number(&mut engine.retry.jitter_percent, "retry-jitter-percent", "0 to 100", |n| *n <= 100)?;
        reader.boolean(&mut engine.retry.count_unreachable, "retry-count-unreachable")?;
        reader.time(&mut engine.initial_wait, "initial-wait")?;
        reader.time(&mut engine.late_after, "late-after")?;
        reader.number(&mut engine.max_records, "max-records", "1 to 1000", |n| (1..=1000).contains(n))?;
        reader.set(&mut engine.lease, "lease", "a time of a second or more", |text| {
            value::times(text)?.into_iter().next().filter(|time| *time >= Duration::from_secs(1))
        })?;
        reader.time(&mut engine.sweep_every, "sweep-every")?;
        let expected = "rules that may be demoted, with commas between";
        reader.set(&mut self.demoted_rules, "validation-demote", expected, |text| {
            let known = |id: &str| validation::rules().any(|rule| rule.id == id && rule.is_demotable());
            text.split(',').map(str::trim).map(|id| known(id).then(|| id.to_owned())).collect()
        })
    }

    fn read_limits(&mut self, reader: &Reader<'_>) -> Result<(), ConfigError> {
        self.rates.read(reader)?;
        let expected = "addresses or networks with commas between, such as 10.0.0.0/8,fd00::/8";
        reader.set(&mut self.trusted_proxies, "trusted-proxies", expected, value::networks)?;
        let expected = "1 to 32 characters that an account's identifier can begin with";
        reader.set(&mut self.web_account_prefix, "web-account-prefix", expected, |text| {
            (text.len() <= 32 && TenantId::parse(text).is_ok()).then(|| text.to_owned())
        })?;
        reader.boolean(&mut self.plans.billing, "billing")?;
        let expected = "names with numbers, such as free=50,pro=5000";
        reader.set(&mut self.plans.limits, "plans", expected, Plans::limits)?;
        let limits = &mut self.limits;
        reader.size(&mut limits.body, "limit-body")?;
        reader.size(&mut limits.batch, "limit-batch")?;
        reader.size(&mut limits.certificate, "limit-certificate")?;
        reader.size(&mut limits.bodies, "limit-bodies")?;
        reader.size(&mut limits.headers, "limit-headers")?;
        reader.time(&mut limits.header_read, "limit-header-read")?;
        reader.time(&mut limits.body_read, "limit-body-read")?;
        reader.time(&mut limits.write_stall, "limit-write-stall")?;
        reader.time(&mut limits.handshake, "limit-handshake")?;
        // As far as lists are counted.
        let within = |number: &u32| (1..=Listing::COUNTED).contains(number);
        reader.number(&mut limits.children, "limit-children", "1 to 10000", within)?;
        reader.number(&mut limits.keys, "limit-keys", "1 to 10000", within)?;
        reader.number(&mut limits.connections, "limit-connections", "1 or more", |n| *n >= 1)
    }
}

fn log(reader: &Reader<'_>) -> Result<LogConfig, ConfigError> {
    let mut log = LogConfig { format: LogFormat::Json, level: tracing::Level::INFO };
    reader.set(&mut log.format, "log-format", "json or text", |text| match text {
        "json" => Some(LogFormat::Json),
        "text" => Some(LogFormat::Text),
        _ => None,
    })?;
    reader.set(&mut log.level, "log-level", "error, warn, info, debug or trace", |text| text.parse().ok())?;
    Ok(log)
}

fn path(text: &str) -> Option<PathBuf> {
    (!text.is_empty()).then(|| Path::new(text).to_owned())
}

/// The system that records name. Outside the sandbox its producer answers for what stands there
/// (Orden HAC/1177/2024, art. 15), so nothing is made up.
fn system(reader: &Reader<'_>, environment: Environment) -> Result<ComputerSystem, ConfigError> {
    let part = Part { reader, made_up: environment == Environment::Sandbox };
    let mut verifactu_only = true;
    reader.boolean(&mut verifactu_only, "system-verifactu-only")?;
    let version = reader.read("system-version", "1 to 50 characters", |text| Text::parse(text).ok())?;
    Ok(ComputerSystem {
        producer: Party {
            name: part.read(
                ["system-producer-name", "--system-producer-name"],
                "1 to 120 characters",
                "PRODUCTOR DE PRUEBAS SL",
                |text| Text::parse(text).ok(),
            )?,
            identification: part.read(
                ["system-producer-nif", "--system-producer-nif"],
                "a NIF, whose check character is right",
                "B12345674",
                |text| Nif::parse(text).ok().map(Identification::Nif),
            )?,
        },
        name: part.read(
            ["system-name", "--system-name"],
            "1 to 30 characters",
            "VERIFACTU DE PRUEBAS",
            |text| Text::parse(text).ok(),
        )?,
        id: part.read(
            ["system-id", "--system-id"],
            "two characters, each A to Z or 0 to 9",
            "VR",
            SystemId::parse,
        )?,
        version: match version {
            Some(version) => version,
            None => part.of_ours(env!("CARGO_PKG_VERSION"))?,
        },
        // The engine names the installation of each chain.
        installation: part.of_ours("1")?,
        verifactu_only,
        multiple_issuers_possible: true,
        multiple_issuers: false,
    })
}

/// Reads the parts of the system, with made-up ones where those are allowed.
struct Part<'a> {
    reader: &'a Reader<'a>,
    made_up: bool,
}

impl Part<'_> {
    fn read<T>(
        &self,
        [name, setting]: [&'static str; 2],
        expected: &'static str,
        made_up: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, ConfigError> {
        match self.reader.read(name, expected, &parse)? {
            Some(value) => Ok(value),
            None => Some(made_up)
                .filter(|_| self.made_up)
                .and_then(parse)
                .ok_or(ConfigError::Missing { setting, reason: "outside the sandbox" }),
        }
    }

    fn of_ours<const MAX: usize>(&self, text: &str) -> Result<Text<MAX>, ConfigError> {
        Text::parse(text).map_err(|_| ConfigError::Invalid {
            setting: "--system-version".to_owned(),
            expected: "1 to 50 characters",
        })
    }
}
