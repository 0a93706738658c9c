//! The whole service inside a program of your own, on a ledger of your own: here the one in memory,
//! wrapped so that every record that is accepted also stands in the program's journal, before the caller
//! has its answer. Any part can be put in that way: queue, authority, clock.
//!
//! `cargo run -p verifactu-examples --example embed_service`
#![allow(clippy::print_stdout)]

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use jiff::Timestamp;
use verifactu_client::{IdempotencyKey, api::JobStatus};
use verifactu_core::{
    job::{JobKind, Progress},
    ledger::{
        Append, Appended, Attempt, ChainSearch, ChainState, Claim, Fenced, Filter, Hold, HoldReason, Lease,
        Ledger, LedgerError, Listing, MemoryLedger, NewMessage, Overview, Page, Reassess, RecordRow, Search,
        Selection, SentMessage, Settlement, Submission, Turnover, Usage,
    },
    record::InvoiceId,
    types::{ChainId, JobId, Nif, RecordId, TenantId},
};
use verifactu_examples::{ISSUER, Outcome, Place, invoice};
use verifactu_server::Server;

/// A ledger that writes a line into a journal for every record it accepts.
struct Journaled {
    ledger: Arc<MemoryLedger>,
    journal: Mutex<Vec<String>>,
}

impl Journaled {
    fn lines(&self) -> Vec<String> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The append is ours; everything else goes on to the ledger inside.
macro_rules! journaled {
    ($(fn $call:ident($($name:ident: $type:ty),*) -> $value:ty;)+) => {
        #[async_trait]
        impl Ledger for Journaled {
            async fn append(&self, append: Append) -> Result<Appended, LedgerError> {
                let appended = self.ledger.append(append).await?;
                if let Appended::New { submission, .. } = &appended {
                    let record = &submission.record;
                    let line = format!("{} {} {}", record.position, record.invoice.number, record.huella);
                    self.journal.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                }
                Ok(appended)
            }

            $(
                async fn $call(&self, $($name: $type),*) -> Result<$value, LedgerError> {
                    self.ledger.$call($($name),*).await
                }
            )+
        }
    };
}

journaled! {
    fn replay(tenant: &TenantId, kind: JobKind, key: &str) -> Option<([u8; 32], Submission)>;
    fn job(tenant: &TenantId, job: JobId) -> Option<Submission>;
    fn find_job(job: JobId) -> Option<Submission>;
    fn search(search: &Search, page: Page) -> Listing;
    fn messages(job: JobId) -> Vec<SentMessage>;
    fn record(tenant: &TenantId, record: RecordId) -> Option<Submission>;
    fn list(tenant: &TenantId, filter: &Filter, page: Page) -> Option<Listing>;
    fn claim(chain: ChainId) -> Option<Claim>;
    fn work(lease: Lease, selection: Selection) -> Vec<Submission>;
    fn overtaken(lease: Lease, records: &[RecordId]) -> Vec<Submission>;
    fn history(tenant: &TenantId, invoice: &InvoiceId) -> Vec<Submission>;
    fn open_message(lease: Lease, message: NewMessage) -> Fenced;
    fn settle(lease: Lease, settlement: Settlement) -> Fenced;
    fn due(chain: ChainId) -> Option<Timestamp>;
    fn due_chains(after: Option<ChainId>, limit: u32) -> Vec<(ChainId, Timestamp)>;
    fn hold(tenant: &TenantId, issuer: Option<Nif>, hold: &Hold) -> Vec<ChainId>;
    fn release(tenant: &TenantId, issuer: Option<Nif>, reason: HoldReason) -> Vec<ChainId>;
    fn revise(job: JobId, seen: &Progress, next: &Progress) -> bool;
    fn chains(tenant: &TenantId) -> Vec<ChainState>;
    fn chain(chain: ChainId) -> Option<ChainState>;
    fn search_chains(search: &ChainSearch, page: Page<ChainId>) -> Listing<(ChainState, Option<Timestamp>)>;
    fn records(chain: ChainId, from: u64, limit: u32) -> Vec<RecordRow>;
    fn attempts(job: JobId) -> Vec<Attempt>;
    fn answer_line(job: JobId) -> Option<Bytes>;
    fn usage(tenant: &TenantId, since: &str) -> Vec<Usage>;
    fn turnover(tenant: &TenantId, since: &str) -> Vec<Turnover>;
    fn overview() -> Overview;
    fn prune(before: Timestamp, limit: u32) -> u64;
    fn close_chains(at: Timestamp, reassess: Reassess) -> u64;
    fn probe() -> ();
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let accounts = Arc::new(MemoryLedger::new());
    let ledger = Arc::new(Journaled { ledger: accounts.clone(), journal: Mutex::default() });
    let stored = ledger.clone();
    let place = Place::open_with(|config| Server::builder(config).stores(stored, accounts)).await?;
    println!("the service listens at {}", place.address());

    let client = place.customer().await?;
    let mut jobs = Vec::new();
    for number in ["2026/0001", "2026/0002"] {
        let key = IdempotencyKey::random();
        let submitted = client.send_invoice(&key, &invoice(number)?).await?;
        let again = client.send_invoice(&key, &invoice(number)?).await?;
        assert_eq!(again.job_id(), submitted.job_id());
        jobs.push(submitted.job_id());
    }
    let journal = ledger.lines();
    assert_eq!(journal.len(), 2, "a line for each record, and none for a repetition");
    for (line, begin) in journal.iter().zip(["1 2026/0001 ", "2 2026/0002 "]) {
        assert!(line.starts_with(begin), "{line}");
        println!("journal: {line}");
    }
    for job in jobs {
        let job = client.wait_for_job(job, Duration::from_secs(60)).await?;
        assert_eq!(job.status, JobStatus::Succeeded);
        println!("job {} is registered", job.job_id);
    }
    let registered = place.sandbox.registrations(Some(ISSUER)).await?;
    for (line, registration) in journal.iter().zip(&registered) {
        assert!(line.ends_with(&registration.huella), "the journal has the huellas that were registered");
    }
    assert_eq!(registered.len(), 2);

    place.close().await;
    Ok(())
}
