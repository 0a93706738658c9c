//! The whole service inside a program of your own, on a ledger of your own: here the one in memory,
//! wrapped so that every record that is accepted also stands in the program's journal, before the caller
//! has its answer. Any part can be put in that way: queue, authority, clock.
//!
//! `cargo run -p verifactu-examples --example embed_service`
#![allow(clippy::print_stdout)]

use std::{
    error::Error,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use jiff::Timestamp;
use verifactu_client::{
    Client, IdempotencyKey, Operator,
    api::{CreateApiKey, CreateTenant, JobStatus, Line, Person, Scope, SendInvoice},
};
use verifactu_core::{
    job::{JobKind, Progress},
    ledger::{
        Append, Appended, Attempt, ChainSearch, ChainState, Claim, Fenced, Filter, Hold, HoldReason, Lease,
        Ledger, LedgerError, Listing, MemoryLedger, NewMessage, Overview, Page, Reassess, RecordRow, Search,
        Selection, SentMessage, Settlement, Submission, Turnover, Usage,
    },
    record::{ComputerSystem, Identification, InvoiceId, InvoiceType, Party, SystemId},
    types::{
        Amount, ChainId, Clock, Date, Environment, InvoiceNumber, JobId, Nif, Rate, RecordId, Secret,
        SecretBytes, TenantId, Text,
    },
};
use verifactu_server::{
    Running, Server,
    clock::SystemClock,
    config::Config,
    sandbox::{Holder, RunningSandbox, SandboxConfig},
};

const ISSUER: &str = "B12345674";
const ISSUER_NAME: &str = "TALLERES EBRO SL";
const PASSPHRASE: &str = "a passphrase";

type Outcome<T> = Result<T, Box<dyn Error>>;

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
    fn search(search: &Search, after: Option<JobId>, limit: u32) -> Vec<Submission>;
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
    fn search_chains(search: &ChainSearch, after: Option<ChainId>, limit: u32) -> Vec<(ChainState, Option<Timestamp>)>;
    fn records(chain: ChainId, from: u64, limit: u32) -> Vec<RecordRow>;
    fn attempts(job: JobId) -> Vec<Attempt>;
    fn answer_line(job: JobId) -> Option<Bytes>;
    fn usage(tenant: &TenantId, since: &str) -> Vec<Usage>;
    fn turnover(tenant: &TenantId, since: &str) -> Vec<Turnover>;
    fn all_chains(after: Option<ChainId>, limit: u32) -> Vec<ChainState>;
    fn overview() -> Overview;
    fn prune(before: Timestamp, limit: u32) -> u64;
    fn close_chains(at: Timestamp, reassess: Reassess) -> u64;
    fn probe() -> ();
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let directory = tempfile::tempdir()?;
    let sandbox = SandboxConfig::default().data(directory.path().join("sandbox")).start().await?;
    let accounts = Arc::new(MemoryLedger::new());
    let ledger = Arc::new(Journaled { ledger: accounts.clone(), journal: Mutex::default() });
    let service =
        Server::builder(config(&sandbox, directory.path())?).stores(ledger.clone(), accounts).start().await?;
    println!("the service listens at {}", service.address());

    let client = customer(&service, &sandbox).await?;
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
    let registered = sandbox.registrations(Some(ISSUER)).await?;
    for (line, registration) in journal.iter().zip(&registered) {
        assert!(line.ends_with(&registration.huella), "the journal has the huellas that were registered");
    }
    assert_eq!(registered.len(), 2);

    service.stop().await;
    sandbox.stop().await;
    Ok(())
}

fn config(sandbox: &RunningSandbox, directory: &Path) -> Outcome<Config> {
    let mut config = Config::new(Environment::Sandbox, directory.join("service"), system()?);
    config.listen = ([127, 0, 0, 1], 0).into();
    config.authority.url = Some(sandbox.url());
    config.authority.ca = Some(directory.join("sandbox/pki/ca.pem"));
    Ok(config)
}

/// A client for a new customer with a certificate.
async fn customer(service: &Running, sandbox: &RunningSandbox) -> Outcome<Client> {
    let address = format!("http://{}/v1", service.address());
    let admin = Client::builder(&address).admin_key(service.admin_key().clone()).build()?;
    let key = open_account(&admin.operator()).await?;
    let client = Client::builder(&address).api_key(key).build()?;
    let issued = sandbox.pki().issue(&Holder::seal(ISSUER, ISSUER_NAME).with_passphrase(PASSPHRASE))?;
    let file = SecretBytes::new(issued.pkcs12()?.to_vec());
    client.upload_certificate(&file, &Secret::new(PASSPHRASE.to_owned())).await?;
    Ok(client)
}

/// What the operator does for a new customer.
async fn open_account(operator: &Operator) -> Outcome<Secret> {
    let tenant_id = TenantId::parse("talleres-ebro")?;
    let tenant = CreateTenant {
        id: tenant_id.clone(),
        name: None,
        issuer_name: Some(ISSUER_NAME.to_owned()),
        plan_id: None,
        parent_tenant_id: None,
        allowed_nif: None,
        client_sif_enabled: false,
    };
    operator.create_tenant(&tenant).await?;
    let scopes = vec![Scope::InvoicesWrite, Scope::InvoicesRead, Scope::CertificatesWrite];
    let key = CreateApiKey { tenant_id, name: None, scopes, expires_at: None };
    Ok(operator.create_api_key(&key).await?.key)
}

fn invoice(number: &str) -> Outcome<SendInvoice> {
    let line = Line::vat(Amount::parse("100")?, Rate::parse("21")?, Amount::parse("21")?);
    let invoice = SendInvoice::new(
        Nif::parse(ISSUER)?,
        InvoiceNumber::parse(number)?,
        Date::in_madrid(SystemClock.now()),
        InvoiceType::F1,
        "Reparación de un motor",
        vec![line],
    );
    Ok(invoice.recipient(Person::spanish("CLIENTE SA", Nif::parse("A58818501")?)))
}

/// What the service's records name as the system that made them.
fn system() -> Outcome<ComputerSystem> {
    Ok(ComputerSystem {
        producer: Party {
            name: Text::parse("PRODUCTOR DE PRUEBAS SL")?,
            identification: Identification::Nif(Nif::parse("B65410011")?),
        },
        name: Text::parse("SERVICIO DE PRUEBAS")?,
        id: SystemId::parse("SP").ok_or("two characters")?,
        version: Text::parse("1.0")?,
        installation: Text::parse("1")?,
        verifactu_only: true,
        multiple_issuers_possible: true,
        multiple_issuers: false,
    })
}
