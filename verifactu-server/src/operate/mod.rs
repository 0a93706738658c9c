//! What an operator does beside running the service. Each of these ends by itself and prints what it did,
//! one JSON object a line; all of them read the settings of `serve`.

mod backup;
mod restore;

pub use backup::BackupArgs;
pub use restore::RestoreArgs;

use std::{
    io::{self, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use clap::Args;
use serde_json::{Value, json};
use verifactu_core::{
    engine::{EngineError, verify_chain},
    ledger::{
        ChainSearch, Ledger, LedgerError, Page,
        postgres::PostgresLedger,
        sqlite::{SqliteLedger, SqliteOptions},
    },
};

use crate::{
    config::{Config, ConfigError, Flags, LedgerConfig, effective},
    server::{self, StartError},
};

/// How long the service may take to say whether it is ready.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a command found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// What it should.
    Well,
    /// Something that is wrong, which it has printed.
    Wrong,
}

/// A command could not do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperateError {
    /// The settings cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A part of the service cannot be set up.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The service did not answer.
    #[error("the service does not answer")]
    Unanswered(#[from] reqwest::Error),
    /// What a command writes is there already.
    #[error("{}: is there already; move it away first", _0.display())]
    Exists(PathBuf),
    /// There is nothing to restore from.
    #[error("--from is required: the backup that is to be the ledger")]
    NoBackup,
    /// A ledger in PostgreSQL is not restored from a file.
    #[error(
        "--from names a backup of an embedded ledger; restore a dump by pg_restore or psql into a new \
         database, and run this with its address in --ledger and without --from"
    )]
    NoFile,
    /// A ledger in PostgreSQL is not copied into a file.
    #[error(
        "a ledger in PostgreSQL is copied by PostgreSQL's own tools, such as pg_dump; the service may run meanwhile"
    )]
    OwnTools,
    /// A file cannot be read or written.
    #[error("{}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// What was done cannot be printed.
    #[error("the output cannot be written")]
    Output(#[from] io::Error),
    /// A task was cut off.
    #[error("the work was cut off")]
    Interrupted,
}

/// Applies the changes that the ledger's schema lacks, as `serve` does when it starts.
///
/// # Errors
/// [`OperateError`]; the ledger is then as it was.
pub async fn migrate(flags: &Flags, out: &mut impl Write) -> Result<Found, OperateError> {
    let (config, _) = Config::load(flags)?;
    server::prepare_directory(&config.data_dir)?;
    drop(server::configured_store(&config).await?);
    let ledger = match config.ledger {
        LedgerConfig::Embedded => json!(config.ledger_file()),
        LedgerConfig::Postgres { .. } => json!("postgres"),
    };
    say(out, &json!({ "migrated": ledger }))?;
    Ok(Found::Well)
}

/// Asks the service that runs with these settings whether it is ready.
///
/// # Errors
/// [`OperateError`] when it does not answer.
pub async fn healthcheck(flags: &Flags, out: &mut impl Write) -> Result<Found, OperateError> {
    let (config, _) = Config::load(flags)?;
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    // It is this computer that is asked, nothing secret is said, and its certificate is for another name.
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(PATIENCE)
        .tls_danger_accept_invalid_certs(true)
        .build()?;
    let answer = client.get(format!("{scheme}://{}/ready", reachable(config.listen))).send().await?;
    let found = if answer.status().is_success() { Found::Well } else { Found::Wrong };
    let text = answer.text().await?;
    writeln!(out, "{text}")?;
    Ok(found)
}

/// Where this computer reaches what listens there.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

/// Prints every setting with its value and where that comes from. What would keep `serve` from starting for
/// its settings is an error here too; nothing is made or opened.
///
/// # Errors
/// [`OperateError`].
pub fn check_config(flags: &Flags, out: &mut impl Write) -> Result<Found, OperateError> {
    let (config, _) = Config::load(flags)?;
    server::check(&config)?;
    for setting in effective(flags)? {
        let value = setting.value.as_deref().unwrap_or("-");
        writeln!(out, "{:27} {value}  ({})", setting.name, setting.source)?;
    }
    Ok(Found::Well)
}

/// Which ledger is walked.
#[derive(Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    flags: Flags,
    /// The ledger's file, such as a backup [the ledger of the settings]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl VerifyArgs {
    /// Walks every chain of a ledger, recomputes every huella, and prints each chain with the first place
    /// where it does not hold. The service may run meanwhile.
    ///
    /// # Errors
    /// [`OperateError`].
    pub async fn run(self, out: &mut impl Write) -> Result<Found, OperateError> {
        const PAGE: u32 = 500;
        let (config, _) = Config::load(&self.flags)?;
        let environment = config.environment;
        let ledger: Box<dyn Ledger> = match (self.file, server::shared_ledger(&config)?) {
            (None, Some((address, options))) => {
                let opened = PostgresLedger::open_read_only(address, environment, &options).await;
                Box::new(opened.map_err(StartError::from)?)
            }
            (file, _) => {
                let file = file.unwrap_or_else(|| config.ledger_file());
                Box::new(SqliteLedger::open_read_only(file, environment, &SqliteOptions::default())?)
            }
        };
        let (mut after, mut found) = (None, Found::Well);
        let (mut chains, mut records) = (0_u64, 0);
        loop {
            let page = ledger.search_chains(&ChainSearch::default(), Page::behind(after, PAGE)).await?.items;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.id);
            for (chain, _) in page {
                let verified = verify_chain(&*ledger, &chain).await?;
                chains += 1;
                records += verified.checked;
                if let Some(broken) = verified.first_break {
                    found = Found::Wrong;
                    let tenant = chain.key.tenant;
                    say(out, &json!({ "chain": chain.id, "tenant": tenant, "firstBreak": broken }))?;
                }
            }
        }
        say(out, &json!({ "valid": found == Found::Well, "chains": chains, "records": records }))?;
        Ok(found)
    }
}

/// Prints one line.
fn say(out: &mut impl Write, line: &Value) -> io::Result<()> {
    writeln!(out, "{line}")?;
    out.flush()
}
