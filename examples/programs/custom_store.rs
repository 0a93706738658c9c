//! A store of your own: a ledger on two disks, for a program that must not lose a record with one of them.
//!
//! What a ledger is, the trait [`Ledger`] and its suite in `verifactu_core::testing` say together. A backend
//! is one that passes; the last lines of this file run the suite on this one, as you run it on yours. Your
//! own may be made of anything that can do one thing at a time and keep it. This one is made of two SQLite
//! ledgers, so that nothing distracts from what has to be decided:
//!
//! - *What an answer promises.* It is given when both disks have the write, and nobody reads a write before
//!   that. So either disk alone holds all that was ever acknowledged.
//! - *What happens in the middle.* The first disk is written first, always, and in a task that comes to its
//!   end whoever has stopped waiting. So the second is never ahead, and at most one write behind.
//! - *What a failure means.* If only one disk may have the write, the answer is `Unknown`: the caller repeats
//!   the request under its key. Nothing is read or written any more until the next start has made the second
//!   disk anew from the first, or a lost one from the other.
//! - *What it must not do.* A record is never sealed twice: the second disk gets the very one that the first
//!   has.
//!
//! Not promised: speed, since writes come one after the other and each flushes two disks; going on with one
//! disk; and safety from a disk that was away for a while and takes the first one's place. The start refuses
//! that, because its records would take the place of later ones.
//!
//! `cargo run -p verifactu-examples --example custom_store`; with `test` in place of `run`, the suite.
#![allow(clippy::print_stdout)]

use std::{
    error::Error,
    fs,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt as _};
use jiff::Timestamp;
use tokio::sync::{OwnedRwLockReadGuard, RwLock};
use verifactu_core::{
    job::{JobKind, Progress},
    ledger::{
        Append, Appended, Attempt, ChainSearch, ChainState, Claim, Fenced, Filter, Hold, HoldReason, Lease,
        Ledger, LedgerError, LedgerErrorKind, Listing, NewMessage, Overview, Page, Reassess, RecordRow,
        Refusal, Sealer, Search, Selection, SentMessage, Settlement, Submission, Turnover, Usage,
        sqlite::{self, SqliteLedger, SqliteOptions},
    },
    record::InvoiceId,
    testing::Scene,
    types::{ChainId, Environment, JobId, Nif, RecordId, TenantId},
};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Two ledgers that hold the same.
struct Disks {
    first: Arc<SqliteLedger>,
    second: Arc<SqliteLedger>,
    /// Whether they may not hold the same any more.
    apart: bool,
}

/// A ledger that acknowledges what is on two disks.
struct MirroredLedger(Arc<RwLock<Disks>>);

impl MirroredLedger {
    /// Opens the ledgers in these files. The second is made anew from the first, and the first from the
    /// second if its disk was lost.
    async fn open(files: [&Path; 2], on_second: &SqliteOptions) -> Outcome<Self> {
        let open = |file, options| SqliteLedger::open(file, Environment::Sandbox, options);
        let usual = SqliteOptions::default();
        let [first, second] = files;
        if second.exists() && !first.exists() {
            copy(second, first)?;
        }
        let ledger = open(first, &usual)?;
        if second.exists() && knows_more(&open(second, &usual)?, &ledger).await? {
            return Err(format!("{}: not what {} continues", first.display(), second.display()).into());
        }
        copy(first, second)?;
        let (first, second) = (Arc::new(ledger), Arc::new(open(second, on_second)?));
        Ok(Self(Arc::new(RwLock::new(Disks { first, second, apart: false }))))
    }

    /// The disk to read from, while nobody writes.
    async fn read(&self) -> Result<OwnedRwLockReadGuard<Disks, SqliteLedger>, LedgerError> {
        let disks = self.0.clone().read_owned().await;
        disks.proved()?;
        Ok(OwnedRwLockReadGuard::map(disks, |disks| &*disks.first))
    }

    /// Writes the same on both disks, alone, and to the end even if the caller goes away.
    async fn both<T, W>(&self, mut write: W) -> Result<T, LedgerError>
    where
        T: PartialEq + Send + 'static,
        W: FnMut(Arc<SqliteLedger>) -> BoxFuture<'static, Result<T, LedgerError>> + Send + 'static,
    {
        let unknown = |why: &str| LedgerError::new(LedgerErrorKind::Unknown, why);
        let disks = self.0.clone();
        let written = tokio::spawn(async move {
            let mut disks = disks.write_owned().await;
            disks.proved()?;
            // Until both have answered: wherever this breaks off, nobody goes on with one disk.
            disks.apart = true;
            let one = write(disks.first.clone()).await;
            let Ok(one) = one else {
                disks.apart = one.as_ref().is_err_and(|error| error.kind == LedgerErrorKind::Unknown);
                return one;
            };
            match write(disks.second.clone()).await {
                Ok(two) if two == one => {
                    disks.apart = false;
                    Ok(one)
                }
                Ok(_) => Err(unknown("the second disk answered otherwise than the first")),
                Err(error) => Err(LedgerError::new(LedgerErrorKind::Unknown, error)),
            }
        });
        written.await.unwrap_or_else(|_| Err(unknown("the write was cut off")))
    }
}

impl Disks {
    fn proved(&self) -> Result<(), LedgerError> {
        if self.apart {
            let why = "one disk may lack the last write; the next start makes it anew";
            return Err(LedgerError::new(LedgerErrorKind::Unavailable, why));
        }
        Ok(())
    }
}

/// Puts a copy of a ledger (`….db`) in a place, whole or not at all.
fn copy(from: &Path, to: &Path) -> Outcome<()> {
    let new = to.with_extension("new");
    sqlite::copy(from, &new)?;
    // A log that is left beside the place would be taken for the copy's.
    if to.exists() {
        sqlite::fold(to)?;
    } else if to.with_extension("db-wal").exists() {
        return Err(format!("{} is gone, but not its log", to.display()).into());
    }
    fs::rename(&new, to)?;
    Ok(fs::File::open(to.parent().ok_or("a file in a folder")?)?.sync_all()?)
}

/// Whether a ledger has a record that another one lacks.
async fn knows_more(ledger: &SqliteLedger, other: &SqliteLedger) -> Outcome<bool> {
    let mut after = None;
    loop {
        let page = ledger.search_chains(&ChainSearch::default(), Page::behind(after, 500)).await?.items;
        let Some((last, _)) = page.last() else { return Ok(false) };
        after = Some(last.id);
        for (chain, _) in page {
            let same = other.records(chain.id, chain.length, 1).await?;
            if same.first().map(|record| record.huella) != chain.last_huella {
                return Ok(true);
            }
        }
    }
}

/// A request for each disk. The second does not seal: it gets what was sealed for the first.
fn for_each(append: Append) -> [Append; 2] {
    let Append { seal, kind, idempotency, chain, invoice, repeats_invoice, quota, job, record, request, at } =
        append;
    let sealed = Arc::new(Mutex::new(Err(Box::new(Refusal::Previewed))));
    let kept = sealed.clone();
    let first: Sealer = Box::new(move |place| {
        let outcome = seal(place);
        sealed.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&outcome);
        outcome
    });
    let second: Sealer = Box::new(move |_| kept.lock().unwrap_or_else(PoisonError::into_inner).clone());
    [first, second].map(|seal| Append {
        kind,
        idempotency: idempotency.clone(),
        chain: chain.clone(),
        invoice: invoice.clone(),
        repeats_invoice,
        quota: quota.clone(),
        job,
        record,
        request,
        at,
        seal,
    })
}

/// What writes goes to both disks, and what reads to the first.
#[async_trait]
impl Ledger for MirroredLedger {
    async fn append(&self, append: Append) -> Result<Appended, LedgerError> {
        let mut appends = for_each(append).into_iter();
        self.both(move |disk| {
            let append = appends.next();
            async move {
                let none = || LedgerError::new(LedgerErrorKind::Unknown, "a third disk");
                disk.append(append.ok_or_else(none)?).await
            }
            .boxed()
        })
        .await
    }

    async fn claim(&self, chain: ChainId) -> Result<Option<Claim>, LedgerError> {
        self.both(move |disk| async move { disk.claim(chain).await }.boxed()).await
    }

    async fn open_message(&self, lease: Lease, message: NewMessage) -> Result<Fenced, LedgerError> {
        self.both(move |disk| {
            let message = message.clone();
            async move { disk.open_message(lease, message).await }.boxed()
        })
        .await
    }

    async fn settle(&self, lease: Lease, settlement: Settlement) -> Result<Fenced, LedgerError> {
        self.both(move |disk| {
            let settlement = settlement.clone();
            async move { disk.settle(lease, settlement).await }.boxed()
        })
        .await
    }

    async fn hold(
        &self,
        tenant: &TenantId,
        issuer: Option<Nif>,
        hold: &Hold,
    ) -> Result<Vec<ChainId>, LedgerError> {
        let (tenant, hold) = (tenant.clone(), hold.clone());
        self.both(move |disk| {
            let (tenant, hold) = (tenant.clone(), hold.clone());
            async move { disk.hold(&tenant, issuer, &hold).await }.boxed()
        })
        .await
    }

    async fn release(
        &self,
        tenant: &TenantId,
        issuer: Option<Nif>,
        reason: HoldReason,
    ) -> Result<Vec<ChainId>, LedgerError> {
        let tenant = tenant.clone();
        self.both(move |disk| {
            let tenant = tenant.clone();
            async move { disk.release(&tenant, issuer, reason).await }.boxed()
        })
        .await
    }

    async fn revise(&self, job: JobId, seen: &Progress, next: &Progress) -> Result<bool, LedgerError> {
        let (seen, next) = (seen.clone(), next.clone());
        self.both(move |disk| {
            let (seen, next) = (seen.clone(), next.clone());
            async move { disk.revise(job, &seen, &next).await }.boxed()
        })
        .await
    }

    async fn prune(&self, before: Timestamp, limit: u32) -> Result<u64, LedgerError> {
        self.both(move |disk| async move { disk.prune(before, limit).await }.boxed()).await
    }

    async fn close_chains(&self, at: Timestamp, reassess: Reassess) -> Result<u64, LedgerError> {
        let reassess: Arc<dyn Fn(&Progress) -> Progress + Send + Sync> = reassess.into();
        self.both(move |disk| {
            let reassess = reassess.clone();
            async move { disk.close_chains(at, Box::new(move |progress| reassess(progress))).await }.boxed()
        })
        .await
    }

    async fn probe(&self) -> Result<(), LedgerError> {
        self.both(|disk| async move { disk.probe().await }.boxed()).await
    }

    async fn replay(
        &self,
        tenant: &TenantId,
        kind: JobKind,
        key: &str,
    ) -> Result<Option<([u8; 32], Submission)>, LedgerError> {
        self.read().await?.replay(tenant, kind, key).await
    }

    async fn job(&self, tenant: &TenantId, job: JobId) -> Result<Option<Submission>, LedgerError> {
        self.read().await?.job(tenant, job).await
    }

    async fn find_job(&self, job: JobId) -> Result<Option<Submission>, LedgerError> {
        self.read().await?.find_job(job).await
    }

    async fn search(&self, search: &Search, page: Page) -> Result<Listing, LedgerError> {
        self.read().await?.search(search, page).await
    }

    async fn messages(&self, job: JobId) -> Result<Vec<SentMessage>, LedgerError> {
        self.read().await?.messages(job).await
    }

    async fn record(&self, tenant: &TenantId, record: RecordId) -> Result<Option<Submission>, LedgerError> {
        self.read().await?.record(tenant, record).await
    }

    async fn list(
        &self,
        tenant: &TenantId,
        filter: &Filter,
        page: Page,
    ) -> Result<Option<Listing>, LedgerError> {
        self.read().await?.list(tenant, filter, page).await
    }

    async fn work(&self, lease: Lease, selection: Selection) -> Result<Vec<Submission>, LedgerError> {
        self.read().await?.work(lease, selection).await
    }

    async fn overtaken(&self, lease: Lease, records: &[RecordId]) -> Result<Vec<Submission>, LedgerError> {
        self.read().await?.overtaken(lease, records).await
    }

    async fn history(&self, tenant: &TenantId, invoice: &InvoiceId) -> Result<Vec<Submission>, LedgerError> {
        self.read().await?.history(tenant, invoice).await
    }

    async fn due(&self, chain: ChainId) -> Result<Option<Timestamp>, LedgerError> {
        self.read().await?.due(chain).await
    }

    async fn due_chains(
        &self,
        after: Option<ChainId>,
        limit: u32,
    ) -> Result<Vec<(ChainId, Timestamp)>, LedgerError> {
        self.read().await?.due_chains(after, limit).await
    }

    async fn chains(&self, tenant: &TenantId) -> Result<Vec<ChainState>, LedgerError> {
        self.read().await?.chains(tenant).await
    }

    async fn chain(&self, chain: ChainId) -> Result<Option<ChainState>, LedgerError> {
        self.read().await?.chain(chain).await
    }

    async fn search_chains(
        &self,
        search: &ChainSearch,
        page: Page<ChainId>,
    ) -> Result<Listing<(ChainState, Option<Timestamp>)>, LedgerError> {
        self.read().await?.search_chains(search, page).await
    }

    async fn records(&self, chain: ChainId, from: u64, limit: u32) -> Result<Vec<RecordRow>, LedgerError> {
        self.read().await?.records(chain, from, limit).await
    }

    async fn attempts(&self, job: JobId) -> Result<Vec<Attempt>, LedgerError> {
        self.read().await?.attempts(job).await
    }

    async fn answer_line(&self, job: JobId) -> Result<Option<Bytes>, LedgerError> {
        self.read().await?.answer_line(job).await
    }

    async fn usage(&self, tenant: &TenantId, since: &str) -> Result<Vec<Usage>, LedgerError> {
        self.read().await?.usage(tenant, since).await
    }

    async fn turnover(&self, tenant: &TenantId, since: &str) -> Result<Vec<Turnover>, LedgerError> {
        self.read().await?.turnover(tenant, since).await
    }

    async fn overview(&self) -> Result<Overview, LedgerError> {
        self.read().await?.overview().await
    }
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let place = tempfile::tempdir()?;
    let files = ["one/ledger.db", "two/ledger.db"].map(|file| place.path().join(file));
    let [one, two] = [&files[0], &files[1]];
    let folder = |file: &Path| Ok::<_, Box<dyn Error>>(file.parent().ok_or("in a folder")?.to_owned());
    for file in &files {
        fs::create_dir(folder(file)?)?;
    }
    let usual = SqliteOptions::default();
    // Drafts what an engine would ask for.
    let scene = Scene::new();

    let ledger = MirroredLedger::open([one, two], &usual).await?;
    let draft = scene.invoice("2026/0001");
    let first = scene.accept(&ledger, &draft).await;
    let second = scene.accept(&ledger, &scene.invoice("2026/0002")).await;
    println!("{} and {} are on two disks", first.record.invoice.number, second.record.invoice.number);
    drop(ledger);

    // One disk is lost with all that was on it. The other knows every key and where the chain ends.
    fs::remove_dir_all(folder(one)?)?;
    fs::create_dir(folder(one)?)?;
    let ledger = MirroredLedger::open([one, two], &usual).await?;
    let again = ledger.append(draft.append()).await?;
    assert!(matches!(&again, Appended::Replay { submission, .. } if submission.job.id == first.job.id));
    let third = scene.accept(&ledger, &scene.invoice("2026/0003")).await;
    assert_eq!(third.record.previous, Some(second.record.huella));
    println!("the first disk was lost; {} follows {}", third.record.position, second.record.position);
    drop(ledger);

    // The second disk is full. What it could not take is not acknowledged, and nothing goes on.
    let full = SqliteOptions { max_pages: Some(1), ..SqliteOptions::default() };
    let ledger = MirroredLedger::open([one, two], &full).await?;
    let mut number = 3;
    let (refused, error) = loop {
        number += 1;
        let draft = scene.invoice(&format!("2026/{number:04}"));
        match ledger.append(draft.append()).await {
            Ok(_) => {}
            Err(error) => break (draft, error),
        }
    };
    assert_eq!(error.kind, LedgerErrorKind::Unknown);
    let error = ledger.chain(first.record.chain).await.err().ok_or("nothing is read any more")?;
    assert_eq!(error.kind, LedgerErrorKind::Unavailable);
    println!("{} is on one disk: {error}", refused.invoice.number);
    drop(ledger);

    // The next start brings the disks together, and the same request finds what became of it.
    let ledger = MirroredLedger::open([one, two], &usual).await?;
    assert!(matches!(ledger.append(refused.append()).await?, Appended::Replay { .. }));
    let chain = ledger.chain(first.record.chain).await?.ok_or("the chain is kept")?;
    assert_eq!(chain.length, number);
    println!("asked again, {} is found as record {number}", refused.invoice.number);
    drop(ledger);

    // A disk that was away while the other went on is refused as the first one.
    let old = place.path().join("old.db");
    sqlite::copy(one, &old)?;
    let ledger = MirroredLedger::open([one, two], &usual).await?;
    scene.accept(&ledger, &scene.invoice("2026/9999")).await;
    drop(ledger);
    let refusal = MirroredLedger::open([&old, two], &usual).await.err().ok_or("it is behind")?;
    println!("refused: {refusal}");
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod conformance {
    use super::{Arc, MirroredLedger, SqliteOptions};

    async fn fresh() -> (Arc<MirroredLedger>, tempfile::TempDir) {
        let place = tempfile::tempdir().unwrap();
        let files = ["one.db", "two.db"].map(|file| place.path().join(file));
        let ledger = MirroredLedger::open([&files[0], &files[1]], &SqliteOptions::default()).await;
        (Arc::new(ledger.unwrap()), place)
    }

    verifactu_core::ledger_suite!(fresh().await);
}
