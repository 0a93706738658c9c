//! Accepting: a statement becomes a sealed record at the end of its chain.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::watch;

use crate::{
    chain::{self, PlaceClaim, Stamp},
    job::JobKind,
    ledger::{
        Append, Appended, ChainSelector, Idempotency, Installation, Place, Quota, Refusal, Sealed, Sealer,
    },
    record::{ComputerSystem, Identification, Link, Predecessor, RecordKind, Statement},
    types::{Clock, GenerationTime, JobId, RecordId, RequestId, TenantId, Text},
    xml,
};

use super::{Engine, EngineError, Write, correction};

/// How far a clock may run ahead of ours: the head's, or that of a caller who seals records.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// A statement on its way into the ledger. It has been validated.
#[derive(Clone, Debug)]
pub struct Submit {
    /// The account.
    pub tenant: TenantId,
    /// What is stated.
    pub statement: Statement,
    /// Name of the issuer, which heads the message.
    pub issuer_name: Text<120>,
    /// The caller's key and request.
    pub idempotency: Idempotency,
    /// What the caller says of the place in the chain.
    pub place: PlaceClaim,
    /// Time and huella, if the caller sealed the record.
    pub stamp: Option<Stamp>,
    /// The caller's own system, in place of the engine's.
    pub system: Option<ComputerSystem>,
    /// The allowance that a new invoice takes from.
    pub quota: Option<Quota>,
    /// The request, for support.
    pub request: RequestId,
}

impl Engine {
    /// Appends a record for the statement. When it returns [`Appended::New`], record, huella, place in
    /// the chain, job and idempotency entry are on stable storage.
    ///
    /// # Errors
    /// [`EngineError::Ledger`]. A queue that is out of reach delays the record and is no error.
    pub async fn accept(&self, submit: Submit) -> Result<Appended, EngineError> {
        let record = RecordId(self.parts.ids.next());
        let seal = self.sealer(submit.clone(), record);
        let began = Instant::now();
        let appended = self.parts.ledger.append(self.request(&submit, record, Box::new(seal))).await?;
        if let Appended::New { .. } = &appended {
            self.committed(Write::Append, began);
        }
        if let Appended::New { submission, due: Some(due) } = &appended
            && let Err(error) = self.parts.queue.schedule(submission.record.chain, *due).await
        {
            tracing::warn!(%error, chain = %submission.record.chain, "queue out of reach; the next sweep finds the chain");
        }
        Ok(appended)
    }

    /// The record that [`accept`](Self::accept) would append, sealed for its place, without a trace of
    /// it; else why there would be none. Its idempotency key should be one that nobody uses.
    ///
    /// # Errors
    /// [`EngineError::Ledger`].
    pub async fn preview(&self, submit: Submit) -> Result<Result<Sealed, Appended>, EngineError> {
        let record = RecordId(self.parts.ids.next());
        let seal = self.sealer(submit.clone(), record);
        let (show, mut shown) = watch::channel(None);
        let refuse = move |place: &Place| {
            show.send_replace(Some(seal(place)?));
            Err(Box::new(Refusal::Previewed))
        };
        let appended = self.parts.ledger.append(self.request(&submit, record, Box::new(refuse))).await?;
        let sealed = shown.borrow_and_update().clone();
        Ok(match (&appended, sealed) {
            (Appended::Refused(refusal), Some(sealed)) if **refusal == Refusal::Previewed => Ok(sealed),
            _ => Err(appended),
        })
    }

    fn sealer(
        &self,
        submit: Submit,
        record: RecordId,
    ) -> impl Fn(&Place) -> Result<Sealed, Box<Refusal>> + Send + Sync + 'static {
        let template = self.template(&submit).clone();
        let clock = self.parts.clock.clone();
        move |place| seal(&submit, &template, record, place, &*clock)
    }

    fn template<'a>(&'a self, submit: &'a Submit) -> &'a ComputerSystem {
        submit.system.as_ref().unwrap_or(&self.settings.system)
    }

    fn request(&self, submit: &Submit, record: RecordId, seal: Sealer) -> Append {
        let template = self.template(submit);
        Append {
            kind: match submit.statement.kind() {
                RecordKind::Invoice => JobKind::Send,
                RecordKind::Cancellation => JobKind::Cancel,
            },
            idempotency: submit.idempotency.clone(),
            chain: ChainSelector {
                tenant: submit.tenant.clone(),
                issuer: submit.statement.invoice_id().issuer,
                producer: producer_id(template),
                system: template.id,
                installation: match &submit.system {
                    Some(system) => Installation::Named(system.installation.clone()),
                    None => Installation::Minted(self.mint_installation()),
                },
            },
            invoice: submit.statement.invoice_id().clone(),
            repeats_invoice: repeats_invoice(&submit.statement),
            quota: submit.quota.clone(),
            job: JobId(self.parts.ids.next()),
            record,
            request: submit.request,
            at: self.parts.clock.now(),
            seal,
        }
    }

    /// A text for `NumeroInstalacion` that is never used twice (FAQ 4).
    fn mint_installation(&self) -> Text<100> {
        let id = self.parts.ids.next().simple().to_string();
        Text::parse(&id).unwrap_or_else(|_| self.settings.system.installation.clone())
    }
}

/// Everything but a plain first record of an invoice.
fn repeats_invoice(statement: &Statement) -> bool {
    match statement {
        Statement::Invoice(invoice) => invoice.correction.corrects == Some(true),
        Statement::Cancellation(_) => true,
    }
}

fn producer_id(system: &ComputerSystem) -> String {
    match &system.producer.identification {
        Identification::Nif(nif) => nif.as_str().to_owned(),
        Identification::Foreign(foreign) => foreign.id.as_str().to_owned(),
    }
}

/// Links the statement to the head and seals it. Runs under the chain's lock.
fn seal(
    submit: &Submit,
    template: &ComputerSystem,
    record: RecordId,
    place: &Place,
    clock: &dyn Clock,
) -> Result<Sealed, Box<Refusal>> {
    let mut statement = submit.statement.clone();
    match &mut statement {
        Statement::Invoice(invoice) => correction::complete_invoice(invoice, &place.history)?,
        Statement::Cancellation(cancellation) => {
            correction::complete_cancellation(cancellation, &place.history)?;
        }
    }
    name_record(&mut statement, record);
    let generated_at = match &submit.stamp {
        None => generation_time(place, clock.now())?,
        Some(stamp) => {
            prove_stamp(submit, &statement, stamp)?;
            stamp.generated_at.clone()
        }
    };
    let link = link(&submit.place, place)?;
    if submit.stamp.is_some() {
        hold_bounds(&generated_at, place, clock.now())?;
    }
    let mut system = template.clone();
    system.installation = place.key.installation.clone();
    if submit.system.is_none() {
        system.multiple_issuers = place.several_chains;
    }
    let record = chain::seal(statement, link, system, generated_at);
    let xml = xml::record::to_vec(&record).into();
    Ok(Sealed { record, issuer_name: submit.issuer_name.clone(), xml })
}

/// The reference that the authority echoes: the caller's own, else the record's identifier.
fn name_record(statement: &mut Statement, record: RecordId) {
    let reference = match statement {
        Statement::Invoice(invoice) => &mut invoice.external_reference,
        Statement::Cancellation(cancellation) => &mut cancellation.external_reference,
    };
    if reference.is_none() {
        *reference = Text::parse(&record.to_string()).ok();
    }
}

/// The later of now and the head's time, so that times never go back along a chain.
fn generation_time(place: &Place, now: Timestamp) -> Result<GenerationTime, Box<Refusal>> {
    match &place.head {
        None => Ok(GenerationTime::in_madrid(now)),
        Some(head) if head.generated_at.instant() > now + CLOCK_TOLERANCE => {
            Err(Box::new(Refusal::ClockSkew { head: head.generated_at.clone() }))
        }
        Some(head) => Ok(GenerationTime::in_madrid(now.max(head.generated_at.instant()))),
    }
}

/// A caller's huella must follow from its own fields and the predecessor it names.
fn prove_stamp(submit: &Submit, statement: &Statement, stamp: &Stamp) -> Result<(), Box<Refusal>> {
    let previous = submit.place.previous.as_ref();
    let canonical = chain::canonical(statement, previous, &stamp.generated_at);
    let computed = chain::huella_of(canonical.as_bytes());
    if computed == stamp.huella {
        Ok(())
    } else {
        Err(Box::new(Refusal::HuellaMismatch { canonical, computed }))
    }
}

fn link(claim: &PlaceClaim, place: &Place) -> Result<Link, Box<Refusal>> {
    let expected = place.head.as_ref().map(|head| head.huella);
    if claim.first == Some(true) && expected.is_some() {
        return Err(Box::new(Refusal::NotFirst));
    }
    match claim.previous {
        Some(received) if Some(received) != expected => {
            return Err(Box::new(Refusal::Discontinuous { expected, received }));
        }
        _ => {}
    }
    Ok(match &place.head {
        None => Link::First,
        Some(head) => Link::Previous(Predecessor { invoice: head.invoice.clone(), huella: head.huella }),
    })
}

/// A caller's time lies between the head's and a minute from now.
fn hold_bounds(time: &GenerationTime, place: &Place, now: Timestamp) -> Result<(), Box<Refusal>> {
    let latest = GenerationTime::in_madrid(now + CLOCK_TOLERANCE);
    let earliest = place.head.as_ref().map(|head| head.generated_at.clone());
    let early = earliest.as_ref().is_some_and(|earliest| time.instant() < earliest.instant());
    if early || time.instant() > latest.instant() {
        return Err(Box::new(Refusal::TimeOutOfBounds { earliest, latest }));
    }
    Ok(())
}
