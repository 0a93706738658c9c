//! Records to append: sealed by the real chain, with placeholder bytes for their XML.

use std::{ops::Range, sync::Arc, time::Duration};

use bytes::Bytes;
use jiff::Timestamp;

use crate::{
    chain,
    job::{JobKind, Progress},
    ledger::{
        Append, Appended, ChainSelector, Claim, Claimed, Idempotency, Installation, JobUpdate, Ledger,
        NewMessage, Place, Quota, Refusal, Sealed, Sealer, Settlement, SlotKind, Submission,
    },
    record::{
        BreakdownLine, Cancellation, ComputerSystem, Identification, Invoice, InvoiceId, InvoiceType, Link,
        Party, Predecessor, Statement, SystemId,
    },
    types::{
        Amount, ChainId, Clock, Date, GenerationTime, Huella, Ids, InvoiceNumber, JobId, MessageId, Nif,
        RecordId, RequestId, TenantId, Text,
    },
};

use super::{ManualClock, SequentialIds};

const PRODUCER: &str = "B65410011";

/// A request to append, in parts that a test may change before it is made.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Draft {
    pub tenant: TenantId,
    pub invoice: InvoiceId,
    pub kind: JobKind,
    pub repeats: bool,
    pub key: String,
    pub fingerprint: [u8; 32],
    pub producer: String,
    pub system: SystemId,
    pub installation: Installation,
    pub quota: Option<Quota>,
    pub job: JobId,
    pub record: RecordId,
    pub request: RequestId,
    pub at: Timestamp,
    pub sealing: Sealing,
}

/// What the sealer of a [`Draft`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sealing {
    /// Links the record to the head.
    Honest,
    /// Refuses.
    Refuse,
    /// Names another predecessor than the head.
    WrongPredecessor,
    /// Speaks of another invoice than was asked for.
    WrongInvoice,
    /// Dates the record an hour before the head.
    Backdated,
    /// Panics.
    Panic,
}

impl Draft {
    /// The request itself.
    #[must_use]
    pub fn append(&self) -> Append {
        Append {
            kind: self.kind,
            idempotency: Idempotency { key: self.key.clone(), fingerprint: self.fingerprint },
            chain: ChainSelector {
                tenant: self.tenant.clone(),
                issuer: self.invoice.issuer,
                producer: self.producer.clone(),
                system: self.system,
                installation: self.installation.clone(),
            },
            invoice: self.invoice.clone(),
            repeats_invoice: self.repeats,
            quota: self.quota.clone(),
            job: self.job,
            record: self.record,
            request: self.request,
            at: self.at,
            seal: self.sealer(),
        }
    }

    fn sealer(&self) -> Sealer {
        let draft = self.clone();
        Box::new(move |place| match draft.sealing {
            Sealing::Refuse => Err(Box::new(Refusal::NotFirst)),
            Sealing::Panic => panic!("a sealer that panics"),
            _ => Ok(draft.seal(place)),
        })
    }

    fn seal(&self, place: &Place) -> Sealed {
        let head = place.head.as_ref();
        let link = match head {
            _ if self.sealing == Sealing::WrongPredecessor => Link::Previous(Predecessor {
                invoice: self.invoice.clone(),
                huella: Huella::from_digest([7; 32]),
            }),
            None => Link::First,
            Some(head) => Link::Previous(Predecessor { invoice: head.invoice.clone(), huella: head.huella }),
        };
        let after = head.map_or(self.at, |head| self.at.max(head.generated_at.instant()));
        let generated_at = match head {
            Some(head) if self.sealing == Sealing::Backdated => {
                head.generated_at.instant() - Duration::from_secs(3600)
            }
            _ => after,
        };
        let mut invoice = self.invoice.clone();
        if self.sealing == Sealing::WrongInvoice {
            invoice.number = InvoiceNumber::parse("another").unwrap();
        }
        let statement = match self.kind {
            JobKind::Send => Statement::Invoice(Box::new(self.alta(invoice))),
            JobKind::Cancel => Statement::Cancellation(Box::new(Cancellation::new(invoice))),
        };
        let system = ComputerSystem {
            producer: Party {
                name: Text::parse("Productor SL").unwrap(),
                identification: Identification::Nif(Nif::parse(PRODUCER).unwrap()),
            },
            name: Text::parse("ERP").unwrap(),
            id: place.key.system,
            version: Text::parse("1.0").unwrap(),
            installation: place.key.installation.clone(),
            verifactu_only: true,
            multiple_issuers_possible: true,
            multiple_issuers: place.several_chains,
        };
        let record = chain::seal(statement, link, system, GenerationTime::in_madrid(generated_at));
        let xml = Bytes::from(format!("<record huella=\"{}\"/>", record.huella));
        Sealed { record, issuer_name: Text::parse("Emisor SL").unwrap(), xml }
    }

    fn alta(&self, id: InvoiceId) -> Invoice {
        let mut line = BreakdownLine::new(Amount::from_cents(10_000).unwrap());
        line.tax_amount = Amount::from_cents(2_100);
        let name = Text::parse("Emisor SL").unwrap();
        let description = Text::parse("Servicios").unwrap();
        let mut invoice = Invoice::new(id, name, InvoiceType::F1, description, vec![line]).unwrap();
        invoice.external_reference = Text::parse(&self.record.to_string()).ok();
        invoice
    }
}

/// A clock, identifiers and an account: drafts requests, each new one unlike the others.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The time of what is drafted.
    pub clock: Arc<ManualClock>,
    /// Where identifiers come from.
    pub ids: Arc<SequentialIds>,
    /// The account.
    pub tenant: TenantId,
    /// The issuer.
    pub issuer: Nif,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            clock: Arc::new(ManualClock::at("2026-07-01T10:00:00Z".parse().unwrap())),
            ids: Arc::default(),
            tenant: TenantId::parse("acme").unwrap(),
            issuer: Nif::parse("89890001K").unwrap(),
        }
    }
}

impl Scene {
    /// The account `acme` on the morning of 1 July 2026.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same clock and identifiers for another account.
    #[must_use]
    pub fn of(&self, tenant: &str) -> Self {
        Self { tenant: TenantId::parse(tenant).unwrap(), ..self.clone() }
    }

    /// The present of the scene's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A new invoice.
    #[must_use]
    pub fn invoice(&self, number: &str) -> Draft {
        let key = self.ids.next().to_string();
        Draft {
            tenant: self.tenant.clone(),
            invoice: InvoiceId {
                issuer: self.issuer,
                number: InvoiceNumber::parse(number).unwrap(),
                date: Date::parse("2026-07-01").unwrap(),
            },
            kind: JobKind::Send,
            repeats: false,
            fingerprint: chain::huella_of(key.as_bytes()).as_str().as_bytes()[..32].try_into().unwrap(),
            key,
            producer: PRODUCER.to_owned(),
            system: SystemId::parse("77").unwrap(),
            installation: Installation::Named(Text::parse("1").unwrap()),
            quota: None,
            job: JobId(self.ids.next()),
            record: RecordId(self.ids.next()),
            request: RequestId(self.ids.next()),
            at: self.now(),
            sealing: Sealing::Honest,
        }
    }

    /// A correction of an invoice.
    #[must_use]
    pub fn correction(&self, number: &str) -> Draft {
        Draft { repeats: true, ..self.invoice(number) }
    }

    /// A cancellation of an invoice.
    #[must_use]
    pub fn cancellation(&self, number: &str) -> Draft {
        Draft { kind: JobKind::Cancel, ..self.correction(number) }
    }

    /// Appends a draft that has to be accepted.
    pub async fn accept(&self, ledger: &dyn Ledger, draft: &Draft) -> Submission {
        match ledger.append(draft.append()).await.unwrap() {
            Appended::New { submission, .. } => *submission,
            other => panic!("not appended: {other:?}"),
        }
    }

    /// Appends that many invoices to one chain, and returns them in order.
    pub async fn accept_many(&self, ledger: &dyn Ledger, count: usize) -> Vec<Submission> {
        let mut accepted = Vec::with_capacity(count);
        for number in 1..=count {
            accepted.push(self.accept(ledger, &self.invoice(&format!("F-{number}"))).await);
        }
        accepted
    }

    /// A message of these records; each is sent as its own XML with a mark of the message.
    #[must_use]
    pub fn message(&self, items: &[Submission], updates: Vec<JobUpdate>) -> NewMessage {
        let id = MessageId(self.ids.next());
        let bytes = |item: &Submission| Bytes::from([item.record.xml.as_ref(), id.0.as_bytes()].concat());
        NewMessage {
            id,
            at: self.now(),
            digest: [1; 32],
            incident: false,
            slot: SlotKind::First,
            records: items.iter().map(|item| (item.record.id, bytes(item))).collect(),
            updates,
        }
    }

    /// Claims a chain and sets the progress of some of its jobs, outside any message.
    pub async fn set(&self, ledger: &dyn Ledger, chain: ChainId, jobs: &[(JobId, Progress)]) -> Claim {
        let claim = claim(ledger, chain).await;
        let updates = jobs
            .iter()
            .map(|(job, progress)| JobUpdate {
                job: *job,
                progress: progress.clone(),
                attempt: None,
                answer_line: None,
            })
            .collect();
        let settlement = Settlement { updates, ..quick_settlement(&claim, self.now()) };
        let fenced = ledger.settle(claim.lease, settlement).await.unwrap();
        assert_eq!(fenced, crate::ledger::Fenced::Done);
        claim
    }
}

/// A time in which no message was written down.
pub const NEVER: Range<Timestamp> = Timestamp::MIN..Timestamp::MIN;

/// Claims a chain that exists, whatever may be under way on it.
pub async fn claim(ledger: &dyn Ledger, chain: ChainId) -> Claim {
    match ledger.claim(chain, NEVER).await.unwrap() {
        Claimed::Taken(claim) => *claim,
        other => panic!("{other:?}"),
    }
}

/// A settlement without message that changes nothing of the chain's pace.
#[must_use]
pub fn quick_settlement(claim: &Claim, at: Timestamp) -> Settlement {
    Settlement {
        message: None,
        at,
        answer: None,
        updates: Vec::new(),
        next_slot_at: claim.state.next_slot_at,
        wait_seconds: claim.state.wait_seconds,
        unreachable_count: claim.state.unreachable_count,
        suspects: claim.state.suspects,
        hold: None,
    }
}
