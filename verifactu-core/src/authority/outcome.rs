//! What an exchange means: which part of it is known, whose fault it is, and what may be done next.
//!
//! The body decides before the status does: faults come on 200, 500 and 403 alike, and the service
//! does not document its statuses (SWeb 5.1). Where a fault's number is in no table, the side it
//! names decides.

use std::{convert::Infallible, fmt};

use crate::xml::{
    answer::{self, RegistrationAnswer, Reply},
    fault::{Fault, FaultSide},
    nif_check::NifCheckAnswer,
    query::QueryAnswer,
};

use super::{Answered, Exchange, NoAnswer, NotReached, codes};

/// What became of a message, `A` being the answer that was hoped for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<A> {
    /// The expected answer.
    Processed(A),
    /// Refused for the data of its header, or of a query's filter: it will be refused again whatever
    /// records it carries. A missing right to query (4132, 4140) counts here, because it says nothing
    /// about the right to register.
    HeaderFault(Refusal),
    /// Refused for its content (4102, too many records, unknown codes of the side `Client`): one of
    /// its records may be to blame.
    ContentFault(Refusal),
    /// The authority failed (side `Server`, technical codes, service not active): the same message
    /// may be sent again.
    ServerFault(Refusal),
    /// The certificate was not let in: nothing of this presenter will be, until somebody sees to it.
    AccessRefused(AccessRefused),
    /// The authority has suspended the presenter's access (4141). Never to be tried again by itself.
    Suspended(Refusal),
    /// Something came that is no answer of the service: a web page, garbage, an answer that does not
    /// keep to the schema. Whether the message was processed is not known.
    Unreadable {
        /// The HTTP status.
        status: u16,
        /// The first characters, for a person to read. Control characters are replaced by blanks.
        excerpt: String,
    },
    /// Bytes may have been sent, and no whole answer came.
    NoAnswer(NoAnswer),
    /// Certainly not processed.
    NotReached(NotReached),
}

/// What became of a message that has no answer. [`Display`](fmt::Display) tells it to a person.
pub type Unprocessed = Outcome<Infallible>;

impl<A> Outcome<A> {
    /// The answer, or what stands in its place.
    ///
    /// # Errors
    /// [`Unprocessed`] if the message was not processed, or is not known to be.
    pub fn into_result(self) -> Result<A, Unprocessed> {
        match self {
            Self::Processed(answer) => Ok(answer),
            Self::HeaderFault(refusal) => Err(Outcome::HeaderFault(refusal)),
            Self::ContentFault(refusal) => Err(Outcome::ContentFault(refusal)),
            Self::ServerFault(refusal) => Err(Outcome::ServerFault(refusal)),
            Self::AccessRefused(refused) => Err(Outcome::AccessRefused(refused)),
            Self::Suspended(refusal) => Err(Outcome::Suspended(refusal)),
            Self::Unreadable { status, excerpt } => Err(Outcome::Unreadable { status, excerpt }),
            Self::NoAnswer(reason) => Err(Outcome::NoAnswer(reason)),
            Self::NotReached(reason) => Err(Outcome::NotReached(reason)),
        }
    }
}

impl fmt::Display for Unprocessed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Processed(never) => match *never {},
            Self::HeaderFault(refusal)
            | Self::ContentFault(refusal)
            | Self::ServerFault(refusal)
            | Self::Suspended(refusal) => refusal.fmt(f),
            Self::AccessRefused(refused) => refused.fmt(f),
            Self::Unreadable { status, excerpt } => {
                write!(f, "HTTP {status} without an answer of the service: {excerpt}")
            }
            Self::NoAnswer(reason) => reason.fmt(f),
            Self::NotReached(reason) => reason.fmt(f),
        }
    }
}

impl std::error::Error for Unprocessed {}

/// What the authority said when it refused a whole message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The number of the error, if it gave one.
    pub code: Option<i64>,
    /// Its text.
    pub text: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{code}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// How the certificate was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AccessRefused {
    /// By a fault: the holder has no right to act for the issuer (4112), or is not known (103).
    Fault(Refusal),
    /// By HTTP 401 or 403. 401 is what a seal gets at the host for persons, and the other way round.
    Status(u16),
    /// By the page that asks for a certificate: it saw none.
    NoCertificate,
}

impl fmt::Display for AccessRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(refusal) => refusal.fmt(f),
            Self::Status(status) => write!(f, "the authority refused the certificate with HTTP {status}"),
            Self::NoCertificate => f.write_str("the authority saw no certificate"),
        }
    }
}

/// Most characters of an unreadable answer that are kept.
const EXCERPT: usize = 512;

/// What became of a registration.
#[must_use]
pub fn registration(exchange: &Exchange) -> Outcome<RegistrationAnswer> {
    outcome(exchange, |reply| match reply {
        Reply::Registration(answer) => Ok(answer),
        other => Err(other),
    })
}

/// What became of a query.
#[must_use]
pub fn query(exchange: &Exchange) -> Outcome<QueryAnswer> {
    outcome(exchange, |reply| match reply {
        Reply::Query(answer) => Ok(answer),
        other => Err(other),
    })
}

/// What became of a check of NIFs.
#[must_use]
pub fn nif_check(exchange: &Exchange) -> Outcome<NifCheckAnswer> {
    outcome(exchange, |reply| match reply {
        Reply::NifCheck(answer) => Ok(answer),
        other => Err(other),
    })
}

fn outcome<A>(exchange: &Exchange, wanted: impl FnOnce(Reply) -> Result<A, Reply>) -> Outcome<A> {
    let answered = match exchange {
        Exchange::Answered(answered) => answered,
        Exchange::NoAnswer { reason, .. } => return Outcome::NoAnswer(*reason),
        Exchange::NotReached { reason, .. } => return Outcome::NotReached(reason.clone()),
    };
    match answer::read(&answered.body).map(wanted) {
        Ok(Ok(answer)) => Outcome::Processed(answer),
        Ok(Err(Reply::Fault(fault))) => refused(fault, answered.status),
        Ok(Err(_)) | Err(_) => not_an_answer(answered),
    }
}

fn refused<A>(fault: Fault, status: u16) -> Outcome<A> {
    let Fault { side, code, description } = fault;
    let refusal = Refusal { code, text: description };
    match code {
        Some(4141) => Outcome::Suspended(refusal),
        Some(4112 | 103 | 401 | 403) => Outcome::AccessRefused(AccessRefused::Fault(refusal)),
        // The address or the service is at fault, not what was sent to it.
        Some(4134 | 4135 | 4139) => Outcome::ServerFault(refusal),
        Some(code) if codes::lookup(code).is_some_and(|row| row.retry == codes::Retry::Unchanged) => {
            Outcome::ServerFault(refusal)
        }
        Some(code) if is_of_header(code) => Outcome::HeaderFault(refusal),
        _ if side == FaultSide::Server => Outcome::ServerFault(refusal),
        None if matches!(status, 401 | 403) => Outcome::AccessRefused(AccessRefused::Fault(refusal)),
        _ => Outcome::ContentFault(refusal),
    }
}

/// Codes that speak of the header. By the authority's table a record's code refuses a whole message
/// only if the error is in the header; the rest is told apart by the texts.
fn is_of_header(code: i64) -> bool {
    match codes::lookup(code) {
        Some(row) if row.level == codes::Level::Record => true,
        Some(_) => matches!(
            code,
            4104 | 4105 | 4107 | 4109 | 4115 | 4116 | 4117 | 4120..=4127 | 4129..=4133 | 4140
        ),
        None => false,
    }
}

fn not_an_answer<A>(answered: &Answered) -> Outcome<A> {
    // The page behind the redirect, and the one that comes with 200 instead of it.
    const PAGE: &str = "erro4033";
    const PHRASE: &[u8] = b"No se detecta certificado";
    let redirected = answered.location.as_deref().is_some_and(|location| location.contains(PAGE));
    match answered.status {
        300..=399 if redirected => Outcome::AccessRefused(AccessRefused::NoCertificate),
        200 if answered.body.windows(PHRASE.len()).any(|part| part == PHRASE) => {
            Outcome::AccessRefused(AccessRefused::NoCertificate)
        }
        status @ (401 | 403) => Outcome::AccessRefused(AccessRefused::Status(status)),
        status => Outcome::Unreadable { status, excerpt: excerpt(&answered.body) },
    }
}

fn excerpt(body: &[u8]) -> String {
    // Four bytes are the longest character, so what is kept is never short of what is looked at.
    let head = body.get(..EXCERPT * 4).unwrap_or(body);
    let head = String::from_utf8_lossy(head);
    head.chars().take(EXCERPT).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
