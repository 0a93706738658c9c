//! `restore`: a ledger from a backup, in a new epoch.
//!
//! Records that were acknowledged after the backup are gone from the ledger, not from their chains: their
//! callers have their huellas, and the authority may have them too. So every chain is closed before anybody
//! can append to it, and what was unfinished is asked for at the authority before it is sent.
//!
//! An embedded ledger is made from a copy of its file. A dump of one in PostgreSQL is brought into a new
//! database by PostgreSQL's own tools, and what is done here is the rest.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    path::PathBuf,
    time::Duration,
};

use clap::Args;
use jiff::Timestamp;
use serde_json::json;
use verifactu_core::{
    engine::{Survey, begin_epoch},
    ledger::{
        ChainSearch, ChainState, Ledger, Page,
        postgres::{PostgresLedger, PostgresOptions},
        sqlite::{self, SqliteLedger, SqliteOptions},
    },
    types::{Clock as _, Date, Environment, Nif, TenantId},
    xml::query::{Period, QueryRow},
};

use crate::{
    clock::SystemClock,
    config::{Config, Flags},
    server::{self, Server, StartError},
};

use super::{Found, OperateError, backup::whole, say};

/// Chains that are read at a time.
const PAGE: u32 = 500;

/// How long closing the chains of a ledger in PostgreSQL may take: it is one transaction.
const CLOSING: Duration = Duration::from_secs(15 * 60);

/// Make the ledger from a backup, with every chain closed; of PostgreSQL, the one that its tools restored.
#[derive(Args)]
pub struct RestoreArgs {
    #[command(flatten)]
    flags: Flags,
    /// The backup; for a ledger in PostgreSQL none
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Then ask the authority for records that are newer than the backup, and list them
    #[arg(long)]
    reconcile: bool,
}

impl RestoreArgs {
    /// Restores the ledger, whole or not at all. A file that is there stays; a database that anybody uses
    /// is left alone.
    ///
    /// # Errors
    /// [`OperateError`].
    pub async fn run(self, out: &mut impl Write) -> Result<Found, OperateError> {
        let (config, _) = Config::load(&self.flags)?;
        server::prepare_directory(&config.data_dir)?;
        let environment = config.environment;
        let (place, closed) = match (server::shared_ledger(&config)?, self.from) {
            (None, Some(from)) => {
                let place = config.ledger_file();
                (json!(place), from_copy(from, place, environment).await?)
            }
            (Some((address, options)), None) => {
                (json!("postgres"), in_database(address, environment, options).await?)
            }
            (None, None) => return Err(OperateError::NoBackup),
            (Some(_), Some(_)) => return Err(OperateError::NoFile),
        };
        say(out, &json!({ "restored": place, "closedChains": closed }))?;
        if config.secrets.vault_keys.is_empty() && !config.data_dir.join("vault-key").exists() {
            let warning = "there is no vault key: put back the one that sealed the ledger's certificates";
            say(out, &json!({ "warning": warning }))?;
        }
        if self.reconcile { reconcile(config, out).await } else { Ok(Found::Well) }
    }
}

/// Makes the embedded ledger from a copy, and returns how many chains were closed.
async fn from_copy(from: PathBuf, place: PathBuf, environment: Environment) -> Result<u64, OperateError> {
    // A log that was left behind would be taken for one of the restored file.
    for beside in ["", "-wal", "-shm", "-journal"] {
        let mut file = place.clone().into_os_string();
        file.push(beside);
        let file = PathBuf::from(file);
        if file.exists() {
            return Err(OperateError::Exists(file));
        }
    }
    let runtime = tokio::runtime::Handle::current();
    let restored = tokio::task::spawn_blocking(move || {
        let mut closed = 0;
        whole(&place, |file| {
            sqlite::copy(from, file)?;
            let ledger = SqliteLedger::open(file, environment, &SqliteOptions::default())?;
            closed = runtime.block_on(begin_epoch(&ledger, SystemClock.now()))?;
            drop(ledger);
            Ok(sqlite::fold(file)?)
        })?;
        Ok(closed)
    });
    restored.await.map_err(|_| OperateError::Interrupted)?
}

/// Closes the chains of a ledger that PostgreSQL's tools have restored, while nobody else has it open, and
/// returns how many.
async fn in_database(
    address: &str,
    environment: Environment,
    options: PostgresOptions,
) -> Result<u64, OperateError> {
    let options = PostgresOptions { patience: CLOSING, ..options };
    let ledger =
        PostgresLedger::open_alone(address, environment, &options).await.map_err(StartError::from)?;
    Ok(begin_epoch(&ledger, SystemClock.now()).await?)
}

/// The accounts of an issuer, with a chain of each.
type Issuers = BTreeMap<Nif, BTreeMap<TenantId, ChainState>>;

/// Lists what the authority holds and the ledger does not, for every issuer, from the month before the
/// ledger's last change on. What was presented before that change is not new: it is another system's.
async fn reconcile(config: Config, out: &mut impl Write) -> Result<Found, OperateError> {
    let engine = Server::builder(config).engine().await?;
    let (issuers, last) = issuers(&**engine.ledger()).await?;
    let mut found = Found::Well;
    let mut listed = 0_u64;
    for (issuer, chains) in issuers {
        let tenants: Vec<TenantId> = chains.keys().cloned().collect();
        for month in months(last, SystemClock.now()) {
            let (mut seen, mut asked) = (BTreeSet::new(), false);
            for chain in chains.values() {
                let Survey::Unknown(rows) = engine.survey(chain, month, &tenants).await? else { continue };
                asked = true;
                for row in rows.iter().filter(|row| is_newer(row, last)) {
                    let key = &row.invoice;
                    if seen.insert((key.number.clone(), key.date.clone())) {
                        listed += 1;
                        say(out, &shown(row))?;
                    }
                }
            }
            if !asked {
                found = Found::Wrong;
                say(out, &json!({ "notAsked": issuer, "month": month.to_string() }))?;
            }
        }
    }
    say(out, &json!({ "unknownRecords": listed }))?;
    Ok(found)
}

/// Every issuer with its accounts, and when the ledger was last changed.
async fn issuers(ledger: &dyn Ledger) -> Result<(Issuers, Timestamp), OperateError> {
    let (mut issuers, mut last, mut after) = (Issuers::new(), Timestamp::MIN, None);
    loop {
        let page = ledger.search_chains(&ChainSearch::default(), Page::behind(after, PAGE)).await?.items;
        let Some((end, _)) = page.last() else { return Ok((issuers, last)) };
        after = Some(end.id);
        for (chain, _) in page {
            last = last.max(chain.updated_at);
            issuers.entry(chain.key.issuer).or_default().insert(chain.key.tenant.clone(), chain);
        }
    }
}

/// The months that invoices since then may belong to: from the one before on, for an operation may lie
/// before its invoice.
fn months(since: Timestamp, now: Timestamp) -> impl Iterator<Item = Period> {
    let first = Period::of(Date::in_madrid(since)).previous();
    let last = Period::of(Date::in_madrid(now));
    std::iter::successors(first, Period::next).take_while(move |month| *month <= last)
}

fn is_newer(row: &QueryRow, last: Timestamp) -> bool {
    let known = row.presented_at.or(row.modified_at);
    // The authority counts whole seconds.
    known.is_none_or(|at| at.as_second() >= last.as_second())
}

fn shown(row: &QueryRow) -> serde_json::Value {
    let key = &row.invoice;
    json!({
        "unknown": { "issuer": key.issuer, "number": key.number, "date": key.date },
        "huella": row.huella,
        "generatedAt": row.generated_at,
        "presentedAt": row.presented_at.map(|at| at.to_string()),
    })
}
