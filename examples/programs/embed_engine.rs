//! A program of your own that embeds the engine: its ledger is an SQLite file, its tax authority the
//! sandbox, started in the same process. It accepts an invoice, prints the QR that goes on the paper,
//! sends the record, and finds it registered. Then it starts anew on the same file.
//!
//! `cargo run -p verifactu-examples --example embed_engine`
#![allow(clippy::print_stdout)]

use std::{error::Error, path::Path, sync::Arc};

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;
use verifactu_core::{
    authority::https::{Hosts, HttpsAuthority, Limits, Trust},
    certificate::Identity,
    chain::PlaceClaim,
    engine::{Engine, Parts, Presentation, PresenterError, Presenters, Settings, Submit},
    job::{Csv, JobState},
    ledger::{
        Appended, Idempotency, Submission,
        sqlite::{SqliteLedger, SqliteOptions},
    },
    qr::{CheckService, Symbol},
    queue::MemoryQueue,
    record::{
        BreakdownLine, ComputerSystem, Identification, Invoice, InvoiceId, InvoiceType, Party, Qualification,
        Regime, Statement, SystemId,
    },
    signature::{EcKeys, Signer},
    types::{
        Amount, Clock, Date, Environment, Ids, InvoiceNumber, JobId, Nif, Rate, RequestId, SecretBytes,
        TenantId, Text,
    },
    validation,
};
use verifactu_server::sandbox::{Holder, RunningSandbox, SandboxConfig};

const ISSUER: &str = "B12345674";
const ISSUER_NAME: &str = "TALLERES EBRO SL";

type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let sandbox = SandboxConfig::default().start().await?;
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("ledger.db");

    let presentation = Arc::new(presentation(&sandbox)?);
    let engine = engine(&sandbox, &presentation, &file)?;
    let tenant = TenantId::parse("talleres-ebro")?;
    let first = accept(&engine, &tenant, invoice("2026/0001")?).await?;
    let second = accept(&engine, &tenant, invoice("2026/0002")?).await?;
    assert_eq!(second.record.previous, Some(first.record.huella), "each record names the one before");

    let total = first.record.total.ok_or("an invoice has a total")?;
    let check = CheckService::new(Environment::Sandbox, &sandbox.url());
    let text = check.text_of(&first.record.invoice, total);
    println!("accepted {}, huella {}\n{text}", first.record.invoice.number, first.record.huella);
    println!("{}", Symbol::new(&text)?.terminal());

    // Both records travel in one message: there is no wait before a chain's first. A program that
    // stays runs `engine::Worker` instead.
    assert!(engine.dispatch_next().await?, "the chain is due");
    for accepted in [&first, &second] {
        println!(
            "{} {}",
            accepted.record.invoice.number,
            registered(&engine, &tenant, accepted.job.id).await?
        );
    }
    assert_eq!(sandbox.registrations(Some(ISSUER)).await?.len(), 2, "each was registered once");
    drop(engine);

    // The file is the truth: another process finds everything in it, and the same request again
    // makes no second record.
    let engine = self::engine(&sandbox, &presentation, &file)?;
    engine.sweep().await?;
    assert!(!engine.dispatch_next().await?, "nothing is left to send");
    match engine.accept(submit(&tenant, invoice("2026/0001")?)?).await? {
        Appended::Replay { submission, .. } => {
            assert_eq!(submission.job.id, first.job.id);
            println!("after a restart the same request finds job {}", submission.job.id);
        }
        other => return Err(format!("not a replay: {other:?}").into()),
    }
    drop(engine);
    sandbox.stop().await;
    Ok(())
}

/// Validates an invoice and takes it to the end of its chain.
async fn accept(engine: &Engine, tenant: &TenantId, invoice: Invoice) -> Outcome<Submission> {
    match engine.accept(submit(tenant, invoice)?).await? {
        Appended::New { submission, .. } => Ok(*submission),
        other => Err(format!("not accepted: {other:?}").into()),
    }
}

fn submit(tenant: &TenantId, invoice: Invoice) -> Outcome<Submit> {
    let key = format!("invoice-{}", invoice.id.number);
    let issuer_name = invoice.issuer_name.clone();
    let statement = Statement::Invoice(Box::new(invoice));
    let context = validation::Context { today: Date::in_madrid(SystemClock.now()) };
    if let Some(finding) = validation::validate(&statement, &context).first() {
        return Err(format!("the authority would object: {}", finding.message).into());
    }
    Ok(Submit {
        tenant: tenant.clone(),
        statement,
        issuer_name,
        // A service puts the digest of the request's body here, to tell a repetition from a mistake.
        idempotency: Idempotency { key, fingerprint: [0; 32] },
        place: PlaceClaim::default(),
        stamp: None,
        system: None,
        quota: None,
        request: RequestId(Version7.next()),
    })
}

/// The receipt of a job that has come to its good end.
async fn registered(engine: &Engine, tenant: &TenantId, job: JobId) -> Outcome<String> {
    let known = engine.ledger().job(tenant, job).await?.ok_or("the job is kept")?;
    assert_eq!(known.job.progress.state, JobState::Succeeded);
    match known.job.progress.csv {
        Some(Csv::Present(csv)) => Ok(format!("SUCCEEDED, CSV {csv}")),
        other => Err(format!("no receipt: {other:?}").into()),
    }
}

/// All that an engine works with is passed in.
fn engine(sandbox: &RunningSandbox, presentation: &Arc<Presentation>, file: &Path) -> Outcome<Engine> {
    let trust = Trust::Only(sandbox.pki().ca_pem().as_bytes().to_vec());
    let authority = HttpsAuthority::new(Hosts::at(&sandbox.url())?, &trust, Limits::default())?;
    let ledger = SqliteLedger::open(file, Environment::Sandbox, &SqliteOptions::default())?;
    let parts = Parts {
        ledger: Arc::new(ledger),
        queue: Arc::new(MemoryQueue::default()),
        authority: Arc::new(authority),
        presenters: Arc::new(OurCertificate(presentation.clone())),
        clock: Arc::new(SystemClock),
        ids: Arc::new(Version7),
    };
    Ok(Engine::new(parts, Settings::new(system()?)))
}

/// A certificate of the sandbox's CA. A real one is opened with `certificate::open` from its PKCS#12
/// file.
fn presentation(sandbox: &RunningSandbox) -> Outcome<Presentation> {
    let issued = sandbox.pki().issue(&Holder::seal(ISSUER, ISSUER_NAME))?;
    let chain = issued.chain_der().iter().map(|der| der.to_vec()).collect();
    let identity = Identity::new(SecretBytes::new(issued.key_der().secret_der().to_vec()), chain)?;
    let signer = Some(Signer::new(&identity, EcKeys::Refuse)?);
    Ok(Presentation { identity: Arc::new(identity), signer, representative: None, verifactu_end: None })
}

/// One certificate presents the records of every issuer.
struct OurCertificate(Arc<Presentation>);

#[async_trait]
impl Presenters for OurCertificate {
    async fn presentation(&self, _: &TenantId, _: &Nif) -> Result<Option<Arc<Presentation>>, PresenterError> {
        Ok(Some(self.0.clone()))
    }
}

struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the program is where time comes in")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

struct Version7;

impl Ids for Version7 {
    #[expect(clippy::disallowed_methods, reason = "the program is where identifiers come in")]
    fn next(&self) -> Uuid {
        Uuid::now_v7()
    }
}

fn invoice(number: &str) -> Outcome<Invoice> {
    let line = BreakdownLine {
        regime: Some(Regime::R01),
        qualification: Some(Qualification::S1),
        rate: Some(Rate::parse("21")?),
        tax_amount: Some(Amount::parse("21")?),
        ..BreakdownLine::new(Amount::parse("100")?)
    };
    let id = InvoiceId {
        issuer: Nif::parse(ISSUER)?,
        number: InvoiceNumber::parse(number)?,
        date: Date::in_madrid(SystemClock.now()),
    };
    let (name, description) = (Text::parse(ISSUER_NAME)?, Text::parse("Reparación de un motor")?);
    let mut invoice = Invoice::new(id, name, InvoiceType::F1, description, vec![line])
        .ok_or("the total has too many digits")?;
    invoice.recipients = vec![Party {
        name: Text::parse("CLIENTE SA")?,
        identification: Identification::Nif(Nif::parse("A58818501")?),
    }];
    Ok(invoice)
}

/// What your program is; its producer answers for it (Orden HAC/1177/2024, art. 15).
fn system() -> Outcome<ComputerSystem> {
    Ok(ComputerSystem {
        producer: Party {
            name: Text::parse("PRODUCTOR DE PRUEBAS SL")?,
            identification: Identification::Nif(Nif::parse("B65410011")?),
        },
        name: Text::parse("ERP DE PRUEBAS")?,
        id: SystemId::parse("EP").ok_or("two characters")?,
        version: Text::parse("1.0")?,
        installation: Text::parse("1")?,
        verifactu_only: true,
        multiple_issuers_possible: true,
        multiple_issuers: false,
    })
}
