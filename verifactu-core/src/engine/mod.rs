//! The engine: takes statements to the end of their chains, and records to the authority.
//!
//! [`Engine::accept`] is the atomic step that a caller waits for; [`Engine::dispatch`] takes one due
//! chain through one slot: doubts first, then one message, then the settlement of each record by its
//! own line. A [`Worker`] runs dispatches for ever. The engine keeps no state of its own: everything
//! it needs is in the ledger, so that it may stop anywhere and go on elsewhere.
//!
//! All that it works with is passed in: ledger, queue, authority, certificates, and where time and identifiers
//! come from. So a program names the crates `async-trait`, `jiff`, `tokio` and `uuid` beside this one:
//!
//! ```
//! use std::sync::Arc;
//! use verifactu_core::{
//!     authority::https::{Hosts, HttpsAuthority, Limits, Trust},
//!     chain::PlaceClaim,
//!     engine::{Engine, Parts, Presentation, PresenterError, Presenters, Settings, Submit},
//!     ledger::{Appended, Idempotency, MemoryLedger},
//!     queue::MemoryQueue,
//!     record::*,
//!     types::*,
//! };
//!
//! struct Machine;
//! impl Clock for Machine {
//!     fn now(&self) -> jiff::Timestamp {
//!         jiff::Timestamp::now()
//!     }
//! }
//! impl Ids for Machine {
//!     fn next(&self) -> uuid::Uuid {
//!         uuid::Uuid::now_v7()
//!     }
//! }
//!
//! /// Certificates, as `certificate::open` makes them of a PKCS#12 file. Without one, records wait.
//! struct NoneYet;
//! #[async_trait::async_trait]
//! impl Presenters for NoneYet {
//!     async fn presentation(&self, _: &TenantId, _: &Nif) -> Result<Option<Arc<Presentation>>, PresenterError> {
//!         Ok(None)
//!     }
//! }
//!
//! # fn system() -> Result<ComputerSystem, Box<dyn std::error::Error>> { Ok(ComputerSystem {
//! #     producer: Party { name: Text::parse("PRODUCTOR DE PRUEBAS SL")?,
//! #         identification: Identification::Nif(Nif::parse("B65410011")?) },
//! #     name: Text::parse("ERP DE PRUEBAS")?, id: SystemId::parse("EP").ok_or("two characters")?,
//! #     version: Text::parse("1.0")?, installation: Text::parse("1")?, verifactu_only: true,
//! #     multiple_issuers_possible: false, multiple_issuers: false }) }
//! # fn invoice(number: &str) -> Result<Invoice, Box<dyn std::error::Error>> {
//! #     let line = BreakdownLine { regime: Some(Regime::R01), qualification: Some(Qualification::S1),
//! #         rate: Some(Rate::parse("21")?), tax_amount: Some(Amount::parse("21")?),
//! #         ..BreakdownLine::new(Amount::parse("100")?) };
//! #     let id = InvoiceId { issuer: Nif::parse("B12345674")?, number: InvoiceNumber::parse(number)?,
//! #         date: Date::in_madrid(Machine.now()) };
//! #     let (name, what) = (Text::parse("TALLERES EBRO SL")?, Text::parse("Reparación")?);
//! #     Ok(Invoice::new(id, name, InvoiceType::F2, what, vec![line]).ok_or("too large")?) }
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let authority = HttpsAuthority::new(Hosts::at("https://127.0.0.1:8643")?, &Trust::System, Limits::default())?;
//!     let parts = Parts {
//!         ledger: Arc::new(MemoryLedger::new()), // to keep it: `ledger::sqlite::SqliteLedger`
//!         queue: Arc::new(MemoryQueue::default()),
//!         authority: Arc::new(authority),
//!         presenters: Arc::new(NoneYet),
//!         clock: Arc::new(Machine),
//!         ids: Arc::new(Machine),
//!     };
//!     let engine = Engine::new(parts, Settings::new(system()?));
//!
//!     let invoice = invoice("2026/0001")?;
//!     let accepted = engine
//!         .accept(Submit {
//!             tenant: TenantId::parse("erp")?,
//!             issuer_name: invoice.issuer_name.clone(),
//!             statement: Statement::Invoice(Box::new(invoice)),
//!             idempotency: Idempotency { key: "invoice-2026/0001".to_owned(), fingerprint: [0; 32] },
//!             place: PlaceClaim::default(),
//!             stamp: None,
//!             system: None,
//!             quota: None,
//!             request: RequestId(Machine.next()),
//!         })
//!         .await?;
//!     match accepted {
//!         Appended::New { submission, .. } => println!("huella {}", submission.record.huella),
//!         other => return Err(format!("not accepted: {other:?}").into()),
//!     }
//!     Ok(()) // a program that goes on runs `Worker::new(engine)`, which sends what is due
//! }
//! ```
//!
//! The repository's `examples/programs/embed_engine.rs` goes on to a certificate, the sending and the receipt.

mod accept;
mod compose;
mod correction;
mod dispatch;
mod observer;
mod presenter;
mod reconcile;
mod restore;
mod settle;
mod turns;
mod verify;
mod worker;

pub use accept::Submit;
pub use observer::{Observation, Observer, Reply, Write};
pub use presenter::{Presentation, PresenterError, Presenters};
pub use restore::{Survey, begin_epoch};
pub use verify::verify_chain;
pub use worker::Worker;

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use crate::{
    authority::Authority,
    job::RetryPolicy,
    ledger::{Ledger, LedgerError},
    queue::{Queue, QueueError},
    record::ComputerSystem,
    types::{Clock, Ids},
};

/// What an engine works with. All of it is passed in; two engines can live in one process.
#[derive(Clone)]
pub struct Parts {
    /// Chains, records and jobs.
    pub ledger: Arc<dyn Ledger>,
    /// Which chain is due.
    pub queue: Arc<dyn Queue>,
    /// The tax authority.
    pub authority: Arc<dyn Authority>,
    /// Whose certificate presents an issuer's records.
    pub presenters: Arc<dyn Presenters>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New identifiers.
    pub ids: Arc<dyn Ids>,
}

/// How an engine behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The system that generates the records; the engine fills in installation and the count of issuers.
    pub system: ComputerSystem,
    /// When failed jobs are tried again.
    pub retry: RetryPolicy,
    /// The wait between messages of a chain until the authority names one (Orden art. 16.2: 60 s).
    pub initial_wait: Duration,
    /// From which age on a record counts as delayed by an incident.
    pub late_after: Duration,
    /// The most records of a message, at most 1000.
    pub max_records: u32,
    /// The longest that an exchange takes, to the last byte of the answer.
    pub exchange: Duration,
    /// How long a worker may keep a chain without a sign of life.
    pub lease: Duration,
    /// How often the queue is rebuilt from the ledger.
    pub sweep_every: Duration,
}

impl Settings {
    /// The defaults, for a system.
    #[must_use]
    pub fn new(system: ComputerSystem) -> Self {
        Self {
            system,
            retry: RetryPolicy::default(),
            initial_wait: Duration::from_secs(60),
            late_after: Duration::from_secs(150),
            max_records: 1000,
            exchange: Duration::from_secs(60),
            lease: Duration::from_secs(60),
            sweep_every: Duration::from_secs(30),
        }
    }
}

/// The engine. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    parts: Parts,
    settings: Arc<Settings>,
    changes: Arc<watch::Sender<()>>,
    observer: Option<Arc<dyn Observer>>,
}

impl Engine {
    /// An engine out of its parts.
    #[must_use]
    pub fn new(parts: Parts, settings: Settings) -> Self {
        let changes = Arc::new(watch::Sender::new(()));
        Self { parts, settings: Arc::new(settings), changes, observer: None }
    }

    /// The same engine, which tells somebody what it does.
    #[must_use]
    pub fn observed_by(self, observer: Arc<dyn Observer>) -> Self {
        let authority = Arc::new(observer::Observed {
            authority: self.parts.authority.clone(),
            observer: observer.clone(),
        });
        Self { parts: Parts { authority, ..self.parts }, observer: Some(observer), ..self }
    }

    /// The ledger it works on.
    #[must_use]
    pub fn ledger(&self) -> &Arc<dyn Ledger> {
        &self.parts.ledger
    }

    /// The authority it talks to.
    #[must_use]
    pub fn authority(&self) -> &Arc<dyn Authority> {
        &self.parts.authority
    }

    /// Changes whenever this engine or a clone of it has written what became of some jobs. Other
    /// engines on the same ledger do not show here.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// How it behaves.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}

/// The engine could not do its work now. Nothing is lost: the ledger knows what is to be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The queue failed.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The presenter could not be found out.
    #[error(transparent)]
    Presenter(#[from] PresenterError),
    /// The task that made a message was stopped.
    #[error("the message could not be made in time")]
    Aborted,
}
