//! An engine, its ledger and a sandbox that share a clock.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use uuid::Uuid;
use verifactu_core::{
    authority::{
        Authority,
        https::{Hosts, HttpsAuthority, Limits, Trust},
    },
    certificate::Identity,
    chain::PlaceClaim,
    engine::{Engine, Parts, Presentation, PresenterError, Presenters, Settings, Submit},
    job::{JobState, Progress},
    ledger::{Appended, Idempotency, Ledger, MemoryLedger, Submission},
    queue::MemoryQueue,
    record::{
        BreakdownLine, Cancellation, ComputerSystem, Correction, Identification, Invoice, InvoiceId,
        InvoiceType, Party, Qualification, Regime, Statement, SystemId,
    },
    signature::{EcKeys, Signer},
    testing::{ManualClock, SequentialIds},
    types::{Amount, Clock, Date, InvoiceNumber, JobId, Nif, Rate, RequestId, SecretBytes, TenantId, Text},
};
use verifactu_server::sandbox::{self, Holder, RunningSandbox, SandboxConfig};

use crate::wire::{POISON, Wire};

pub const ISSUER: &str = "B12345674";

pub struct World {
    pub sandbox: RunningSandbox,
    pub engine: Engine,
    pub ledger: Arc<dyn Ledger>,
    pub clock: Arc<ManualClock>,
    pub presenter: Arc<OnePresenter>,
    pub wire: Arc<Wire>,
    parts: Parts,
}

/// One certificate for every issuer; none while it is taken away.
pub struct OnePresenter(pub Mutex<Option<Arc<Presentation>>>);

#[async_trait]
impl Presenters for OnePresenter {
    async fn presentation(&self, _: &TenantId, _: &Nif) -> Result<Option<Arc<Presentation>>, PresenterError> {
        Ok(self.0.lock().unwrap().clone())
    }
}

impl World {
    /// A sandbox that asks for a wait of 60 s, and an engine with the default settings.
    pub async fn new() -> Self {
        Self::on(Arc::new(MemoryLedger::new())).await
    }

    /// The same on a ledger of the test's own.
    pub async fn on(ledger: Arc<dyn Ledger>) -> Self {
        let clock = Arc::new(ManualClock::at("2026-11-20T09:00:00Z".parse().unwrap()));
        let shared = clock.clone();
        let sandbox = SandboxConfig::default()
            .clock(sandbox::Clock::from_fn(move || shared.now()))
            .start()
            .await
            .unwrap();
        let presentation = presentation(&sandbox, &Holder::seal(ISSUER, "Talleres Ebro SL"));
        let presenter = Arc::new(OnePresenter(Mutex::new(Some(Arc::new(presentation)))));
        let limits = Limits { exchange: Duration::from_secs(60), ..Limits::default() };
        let trust = Trust::Only(sandbox.pki().ca_pem().as_bytes().to_vec());
        let authority = HttpsAuthority::new(Hosts::at(&sandbox.url()).unwrap(), &trust, limits).unwrap();
        let wire = Arc::new(Wire::new(Arc::new(authority), clock.clone()));
        let parts = Parts {
            ledger: ledger.clone(),
            queue: Arc::new(MemoryQueue::default()),
            authority: wire.clone(),
            presenters: presenter.clone(),
            clock: clock.clone(),
            ids: Arc::new(SequentialIds::default()),
        };
        let engine = Engine::new(parts.clone(), Settings::new(system()));
        Self { sandbox, engine, ledger, clock, presenter, wire, parts }
    }

    /// What its engine works with, for another.
    pub fn parts(&self) -> Parts {
        self.parts.clone()
    }

    /// The engine as a process finds it that starts anew on the same ledger.
    pub async fn restart(&mut self) {
        self.parts.queue = Arc::new(MemoryQueue::default());
        self.engine = Engine::new(self.parts.clone(), self.engine.settings().clone());
        self.engine.sweep().await.unwrap();
    }

    /// The same engine with an authority at another address.
    pub fn at(&mut self, url: &str) {
        let trust = Trust::Only(self.sandbox.pki().ca_pem().as_bytes().to_vec());
        let authority = HttpsAuthority::new(Hosts::at(url).unwrap(), &trust, Limits::default()).unwrap();
        self.through(Arc::new(authority));
    }

    /// The same engine with another authority.
    pub fn through(&mut self, authority: Arc<dyn Authority>) {
        self.parts.authority = authority;
        self.engine = Engine::new(self.parts.clone(), Settings::new(system()));
    }

    /// The same engine with other settings.
    pub fn set(&mut self, settings: Settings) {
        self.engine = Engine::new(self.parts.clone(), settings);
    }

    /// Records go unsigned from now on, for tests with thousands of them.
    pub fn without_signature(&self) {
        let mut current = self.presenter.0.lock().unwrap();
        let identity = current.as_ref().unwrap().identity.clone();
        *current = Some(Arc::new(Presentation {
            identity,
            signer: None,
            representative: None,
            verifactu_end: None,
        }));
    }

    /// The same engine on the same ledger, opened anew.
    pub async fn reopen(&mut self, ledger: Arc<dyn Ledger>) {
        self.ledger = ledger.clone();
        self.parts.ledger = ledger;
        self.restart().await;
    }

    /// Accepts all of these in their order.
    pub async fn accept_all(&self, submits: Vec<Submit>) -> Vec<JobId> {
        let mut jobs = Vec::with_capacity(submits.len());
        for submit in submits {
            jobs.push(self.accept(submit).await.job.id);
        }
        jobs
    }

    pub async fn accept(&self, submit: Submit) -> Submission {
        match self.engine.accept(submit).await.unwrap() {
            Appended::New { submission, .. } => *submission,
            other => panic!("not accepted: {other:?}"),
        }
    }

    /// Dispatches whatever is due at this moment.
    pub async fn run(&self) {
        while self.engine.dispatch_next().await.unwrap() {}
    }

    /// Moves the clock on in steps and dispatches what becomes due.
    pub async fn run_for(&self, time: Duration, step: Duration) {
        let mut passed = Duration::ZERO;
        while passed < time {
            self.run().await;
            self.clock.advance(step);
            passed += step;
        }
        self.run().await;
    }

    pub async fn progress(&self, job: JobId) -> Progress {
        self.ledger.job(&tenant(), job).await.unwrap().unwrap().job.progress
    }

    pub async fn state(&self, job: JobId) -> JobState {
        self.progress(job).await.state
    }

    /// How often the sandbox registered this number.
    pub async fn registered(&self, number: &str) -> usize {
        let all = self.sandbox.registrations(Some(ISSUER)).await.unwrap();
        all.iter().filter(|registration| registration.key.number == number).count()
    }
}

pub fn presentation(sandbox: &RunningSandbox, holder: &Holder) -> Presentation {
    let issued = sandbox.pki().issue(holder).unwrap();
    let chain = issued.chain_der().iter().map(|der| der.to_vec()).collect();
    let key = SecretBytes::new(issued.key_der().secret_der().to_vec());
    let identity = Identity::new(key, chain).unwrap();
    let signer = Some(Signer::new(&identity, EcKeys::Refuse).unwrap());
    Presentation { identity: Arc::new(identity), signer, representative: None, verifactu_end: None }
}

pub fn tenant() -> TenantId {
    TenantId::parse("taller").unwrap()
}

pub fn system() -> ComputerSystem {
    ComputerSystem {
        producer: Party {
            name: Text::parse("Productora de Software SL").unwrap(),
            identification: Identification::Nif(Nif::parse("B65410011").unwrap()),
        },
        name: Text::parse("ERP de prueba").unwrap(),
        id: SystemId::parse("77").unwrap(),
        version: Text::parse("1.0").unwrap(),
        installation: Text::parse("1").unwrap(),
        verifactu_only: true,
        multiple_issuers_possible: true,
        multiple_issuers: false,
    }
}

pub fn invoice_id(number: &str) -> InvoiceId {
    InvoiceId {
        issuer: Nif::parse(ISSUER).unwrap(),
        number: InvoiceNumber::parse(number).unwrap(),
        date: Date::parse("20-11-2026").unwrap(),
    }
}

pub fn invoice(number: &str) -> Invoice {
    let mut line = BreakdownLine::new(Amount::parse("100").unwrap());
    line.regime = Some(Regime::R01);
    line.qualification = Some(Qualification::S1);
    line.rate = Some(Rate::parse("21").unwrap());
    line.tax_amount = Some(Amount::parse("21").unwrap());
    let name = Text::parse("Talleres Ebro SL").unwrap();
    let description = Text::parse("Reparación").unwrap();
    let mut invoice =
        Invoice::new(invoice_id(number), name, InvoiceType::F1, description, vec![line]).unwrap();
    invoice.recipients = vec![Party {
        name: Text::parse("Cliente SA").unwrap(),
        identification: Identification::Nif(Nif::parse("A58818501").unwrap()),
    }];
    invoice
}

pub fn submit(statement: Statement, key: &str) -> Submit {
    Submit {
        tenant: tenant(),
        statement,
        issuer_name: Text::parse("Talleres Ebro SL").unwrap(),
        idempotency: Idempotency { key: key.to_owned(), fingerprint: [0; 32] },
        place: PlaceClaim::default(),
        stamp: None,
        system: None,
        quota: None,
        request: RequestId(Uuid::nil()),
    }
}

pub fn send(number: &str) -> Submit {
    submit(Statement::Invoice(Box::new(invoice(number))), number)
}

/// The same in another installation, which makes it another chain.
pub fn in_chain(mut submit: Submit, installation: u32) -> Submit {
    let installation = Text::parse(&format!("i-{installation}")).unwrap();
    submit.system = Some(ComputerSystem { installation, ..system() });
    submit
}

/// The same by another issuer.
pub fn of_issuer(mut submit: Submit, issuer: &str) -> Submit {
    if let Statement::Invoice(invoice) = &mut submit.statement {
        invoice.id.issuer = Nif::parse(issuer).unwrap();
    }
    submit
}

/// An invoice that breaks every message it is in.
pub fn poison(number: &str) -> Submit {
    let mut invoice = invoice(number);
    invoice.description = Text::parse(POISON).unwrap();
    submit(Statement::Invoice(Box::new(invoice)), number)
}

pub fn correct(number: &str, key: &str) -> Submit {
    let mut invoice = invoice(number);
    invoice.correction = Correction { corrects: Some(true), prior_rejection: None };
    submit(Statement::Invoice(Box::new(invoice)), key)
}

pub fn cancel(number: &str) -> Submit {
    let cancellation = Cancellation::new(invoice_id(number));
    submit(Statement::Cancellation(Box::new(cancellation)), &format!("cancel-{number}"))
}
