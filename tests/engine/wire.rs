//! The wire between engine and sandbox: it notes what passes, and spoils what the sandbox cannot.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use verifactu_core::{
    authority::{Answered, Authority, Exchange, NoAnswer, NotReached, Request, Service},
    testing::{Chance, ManualClock},
    types::Clock,
};

/// Stands in the description of an invoice that breaks every message.
pub const POISON: &str = "veneno";

const RECORD: (&str, &str) = ("<RegistroFactura>", "</RegistroFactura>");

/// Between engine and authority.
pub struct Wire {
    inner: Arc<dyn Authority>,
    clock: Arc<ManualClock>,
    passed: Mutex<Vec<Passed>>,
    spoils: Mutex<VecDeque<Spoil>>,
    takes: Mutex<Duration>,
}

/// A message that the engine sent.
#[derive(Clone, Debug)]
pub struct Passed {
    pub at: Timestamp,
    pub service: Service,
    pub issuer: String,
    /// How many records it carried.
    pub records: usize,
    pub incident: bool,
    /// The last day of VERI*FACTU that its header states.
    pub last_day: Option<String>,
}

/// What happens to the next registration.
pub enum Spoil {
    /// The authority gets some of the records only, and its answer is lost.
    LoseAnswerToSome(Chance),
    /// This comes back, and nothing reaches the authority.
    Answer(Exchange),
    /// Nothing ever comes back.
    Hang,
    /// The authority's answer arrives, and is this by then.
    Change(fn(String) -> Vec<u8>),
    /// The authority's answer arrives, and this happens at the same time.
    Then(Box<dyn FnOnce() + Send>),
    /// Whoever sends breaks down.
    Panic,
}

impl Wire {
    pub fn new(inner: Arc<dyn Authority>, clock: Arc<ManualClock>) -> Self {
        Self { inner, clock, passed: Mutex::default(), spoils: Mutex::default(), takes: Mutex::default() }
    }

    pub fn spoil(&self, spoil: Spoil) {
        self.spoils.lock().unwrap().push_back(spoil);
    }

    /// How long each exchange takes from now on, by the engine's clock.
    pub fn takes(&self, time: Duration) {
        *self.takes.lock().unwrap() = time;
    }

    pub fn passed(&self, service: Service) -> Vec<Passed> {
        let passed = self.passed.lock().unwrap();
        passed.iter().filter(|passed| passed.service == service).cloned().collect()
    }

    fn note(&self, request: &Request, body: &str) {
        let issuer = between(body, "<NIF>", "</NIF>").unwrap_or_default();
        self.passed.lock().unwrap().push(Passed {
            at: self.clock.now(),
            service: request.service,
            issuer: issuer.to_owned(),
            records: body.matches(RECORD.0).count(),
            incident: body.contains("<Incidencia>S</Incidencia>"),
            last_day: between(body, "<FechaFinVeriFactu>", "</FechaFinVeriFactu>").map(str::to_owned),
        });
    }
}

#[async_trait]
impl Authority for Wire {
    async fn exchange(&self, mut request: Request) -> Exchange {
        let body = String::from_utf8(request.body.to_vec()).unwrap();
        self.note(&request, &body);
        self.clock.advance(*self.takes.lock().unwrap());
        if request.service == Service::Query {
            return self.inner.exchange(request).await;
        }
        if body.contains(POISON) {
            return fault("soapenv:Client", "Codigo[4102].El XML no cumple el esquema.");
        }
        let spoil = self.spoils.lock().unwrap().pop_front();
        match spoil {
            None => self.inner.exchange(request).await,
            Some(Spoil::Answer(exchange)) => exchange,
            Some(Spoil::Hang) => std::future::pending().await,
            Some(Spoil::Change(change)) => match self.inner.exchange(request).await {
                Exchange::Answered(answered) => {
                    let body = change(String::from_utf8(answered.body.to_vec()).unwrap()).into();
                    Exchange::Answered(Answered { body, ..answered })
                }
                other => other,
            },
            Some(Spoil::Then(then)) => {
                let exchange = self.inner.exchange(request).await;
                then();
                exchange
            }
            Some(Spoil::Panic) => panic!("as the test wants it"),
            Some(Spoil::LoseAnswerToSome(mut chance)) => {
                if let Some(some) = some_of(&body, &mut chance) {
                    request.body = some.into();
                    self.inner.exchange(request).await;
                }
                Exchange::NoAnswer { reason: NoAnswer::Broken, elapsed: Duration::ZERO }
            }
        }
    }
}

/// The message with a random part of its records; `None` when none is left.
fn some_of(body: &str, chance: &mut Chance) -> Option<String> {
    let start = body.find(RECORD.0)?;
    let end = body.rfind(RECORD.1)? + RECORD.1.len();
    let records = body[start..end].split_inclusive(RECORD.1);
    let kept: String = records.filter(|_| chance.one_in(2)).collect();
    (!kept.is_empty()).then(|| format!("{}{kept}{}", &body[..start], &body[end..]))
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = text.split_once(before)?.1;
    Some(rest.split_once(after)?.0)
}

/// A SOAP fault.
pub fn fault(code: &str, text: &str) -> Exchange {
    let body = format!(
        "<soapenv:Envelope xmlns:soapenv=\"http://schemas.xmlsoap.org/soap/envelope/\"><soapenv:Body>\
         <soapenv:Fault><faultcode>{code}</faultcode><faultstring>{text}</faultstring></soapenv:Fault>\
         </soapenv:Body></soapenv:Envelope>"
    );
    Exchange::Answered(Answered::xml(500, body))
}

/// No connection.
pub fn unreachable() -> Exchange {
    Exchange::NotReached { reason: NotReached::Connect, elapsed: Duration::ZERO }
}
