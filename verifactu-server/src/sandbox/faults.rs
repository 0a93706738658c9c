//! Faults on demand: everything that can go wrong between a client and the authority, at the
//! moment a test wants it.
//!
//! A fault is armed ahead (in the program or at the admin interface) or ordered by one request
//! itself, in its header `x-sandbox-fault`: the name of a fault, or the JSON of one.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::refusal::FaultSide;

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing but the delay.
    Delay,
    /// The TLS handshake ends with the alert `access_denied`. It is met by connections, and so
    /// cannot be limited to an issuer or a kind of message, nor ordered by a request.
    TlsAlert,
    /// The connection ends before the body is read. Cannot be limited to an issuer or a kind of
    /// message, which stand in the body.
    CloseUnread,
    /// The connection ends without an answer.
    Cut,
    /// The connection ends in the middle of the answer; the message has been processed.
    CutAnswer,
    /// An HTTP status with a page of text, from 400 to 599.
    Status(u16),
    /// HTTP 302 to AEAT's page on certificates.
    Redirect,
    /// HTTP 200 with a page of HTML.
    HtmlPage,
    /// A SOAP fault with HTTP 500; without a code, the text bears none.
    SoapFault {
        /// The code, AEAT's or not.
        code: Option<i32>,
        /// Whose fault it claims to be.
        side: FaultSide,
    },
    /// HTTP 200, as XML, with bytes that are none.
    Garbage,
    /// HTTP 200 without a body.
    EmptyBody,
    /// Another `TiempoEsperaEnvio` in the answer; empty if `None`.
    Wait(Option<u16>),
    /// The lines of the answer in reverse order.
    ReverseLines,
    /// The answer lacks this line, counted from 0.
    DropLine(usize),
    /// The records whose number contains the text, or all, get this code, whatever they are.
    Force {
        /// The code; its level is that of AEAT's list, refusal for others.
        code: u16,
        /// Part of the number.
        number: Option<String>,
    },
}

/// The messages of the services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// `RegFactuSistemaFacturacion`, sent voluntarily.
    Submission,
    /// The same, in answer to a requirement.
    Requirement,
    /// `ConsultaFactuSistemaFacturacion`.
    Query,
    /// `VNifV2`.
    NifCheck,
}

/// A fault, and the requests it is for.
///
/// ```
/// use verifactu_server::sandbox::{Effect, Fault, MessageKind};
///
/// let lost_answer = Fault::new(Effect::Cut).after_storing().on(MessageKind::Submission);
/// assert_eq!(
///     serde_json::to_string(&lost_answer)?,
///     r#"{"fault":"cut","stored":true,"times":1,"on":"submission"}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct Fault {
    effect: Effect,
    after_storing: bool,
    delay: Duration,
    /// How many requests it still is for; `None` until it is cleared.
    times: Option<u32>,
    issuer: Option<String>,
    on: Option<MessageKind>,
}

impl Fault {
    /// A fault of the next request, before the message is processed.
    pub fn new(effect: Effect) -> Self {
        Self { effect, after_storing: false, delay: Duration::ZERO, times: Some(1), issuer: None, on: None }
    }

    /// The message is processed and what it registers is stored; then the fault takes the place of
    /// the answer. A delay comes between the two.
    #[must_use]
    pub fn after_storing(mut self) -> Self {
        self.after_storing = true;
        self
    }

    /// The request waits first, at most an hour.
    #[must_use]
    pub fn delayed(mut self, delay: Duration) -> Self {
        self.delay = delay.min(Duration::from_secs(3600));
        self
    }

    /// For so many requests.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// For every request until the faults are cleared.
    #[must_use]
    pub fn until_cleared(mut self) -> Self {
        self.times = None;
        self
    }

    /// Only for messages whose header names this issuer.
    #[must_use]
    pub fn for_issuer(mut self, nif: impl Into<String>) -> Self {
        self.issuer = Some(nif.into());
        self
    }

    /// Only for messages of this kind.
    #[must_use]
    pub fn on(mut self, kind: MessageKind) -> Self {
        self.on = Some(kind);
        self
    }

    /// Reads the request header: a fault's name, or JSON.
    pub(crate) fn from_header(value: &str) -> Result<Self, serde_json::Error> {
        let fault: Self = if value.trim_start().starts_with('{') {
            serde_json::from_str(value)?
        } else {
            serde_json::from_value(serde_json::json!({ "fault": value.trim() }))?
        };
        match fault.effect {
            Effect::TlsAlert => Err(serde::de::Error::custom("a request comes too late for tls_alert")),
            _ => Ok(fault),
        }
    }

    pub(crate) fn effect(&self) -> &Effect {
        &self.effect
    }

    pub(crate) fn delay(&self) -> Duration {
        self.delay
    }

    pub(crate) fn is_after_storing(&self) -> bool {
        self.after_storing
    }

    fn fits(&self, message: Option<(MessageKind, &str)>) -> bool {
        let kind = message.map(|(kind, _)| kind);
        let for_submissions = matches!(
            self.effect,
            Effect::Wait(_) | Effect::ReverseLines | Effect::DropLine(_) | Effect::Force { .. }
        );
        let of_kind = self.on.is_none() || self.on == kind;
        let of_issuer =
            self.issuer.as_deref().is_none_or(|nif| message.is_some_and(|(_, issuer)| issuer == nif));
        let submission = matches!(kind, Some(MessageKind::Submission | MessageKind::Requirement));
        let possible = !for_submissions || submission;
        of_kind && of_issuer && possible
    }
}

/// The faults armed, in the order they will be met.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<VecDeque<Fault>>);

impl Faults {
    pub(crate) fn arm(&self, fault: Fault) {
        if fault.times != Some(0) {
            self.lock().push_back(fault);
        }
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    pub(crate) fn armed(&self) -> Vec<Fault> {
        self.lock().iter().cloned().collect()
    }

    /// The first fault for a connection that has only just come.
    pub(crate) fn take_handshake(&self) -> Option<Fault> {
        self.take(|fault| fault.effect == Effect::TlsAlert)
    }

    /// The first fault for a request whose body has not been read.
    pub(crate) fn take_unread(&self) -> Option<Fault> {
        self.take(|fault| fault.effect == Effect::CloseUnread)
    }

    /// The first fault for a message, or for one that could not be read.
    pub(crate) fn take_for(&self, message: Option<(MessageKind, &str)>) -> Option<Fault> {
        self.take(|fault| {
            let of_messages = !matches!(fault.effect, Effect::CloseUnread | Effect::TlsAlert);
            of_messages && fault.fits(message)
        })
    }

    fn take(&self, wanted: impl Fn(&Fault) -> bool) -> Option<Fault> {
        let mut faults = self.lock();
        let index = faults.iter().position(wanted)?;
        let fault = faults.get_mut(index)?;
        let taken = fault.clone();
        match &mut fault.times {
            None => {}
            Some(times) if *times > 1 => *times -= 1,
            Some(_) => {
                faults.remove(index);
            }
        }
        Some(taken)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Fault>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The JSON of a fault: one flat object.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    fault: Option<Name>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    stored: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_ms: Option<u64>,
    /// 1 when absent; 0 stands for "until cleared".
    times: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on: Option<MessageKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    side: Option<FaultSide>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<String>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Name {
    Delay,
    TlsAlert,
    CloseUnread,
    Cut,
    CutAnswer,
    Status,
    Redirect,
    HtmlPage,
    SoapFault,
    Garbage,
    EmptyBody,
    Wait,
    ReverseLines,
    DropLine,
    Force,
}

/// What a fault's JSON lacks.
#[derive(Debug, thiserror::Error)]
enum WireError {
    #[error("a fault needs its name in \"fault\"")]
    Name,
    #[error("status needs \"status\" from 400 to 599")]
    Status,
    #[error("force needs \"code\" from 1 to 9999")]
    Code,
    #[error("\"seconds\" is at most 9999")]
    Seconds,
}

impl TryFrom<Wire> for Fault {
    type Error = WireError;

    fn try_from(wire: Wire) -> Result<Self, WireError> {
        let effect = match wire.fault.ok_or(WireError::Name)? {
            Name::Delay => Effect::Delay,
            Name::TlsAlert => Effect::TlsAlert,
            Name::CloseUnread => Effect::CloseUnread,
            Name::Cut => Effect::Cut,
            Name::CutAnswer => Effect::CutAnswer,
            Name::Status => {
                let status = wire.status.filter(|status| (400..=599).contains(status));
                Effect::Status(status.ok_or(WireError::Status)?)
            }
            Name::Redirect => Effect::Redirect,
            Name::HtmlPage => Effect::HtmlPage,
            Name::SoapFault => Effect::SoapFault { code: wire.code, side: wire.side.unwrap_or_default() },
            Name::Garbage => Effect::Garbage,
            Name::EmptyBody => Effect::EmptyBody,
            Name::Wait if wire.seconds.is_some_and(|seconds| seconds > 9999) => {
                return Err(WireError::Seconds);
            }
            Name::Wait => Effect::Wait(wire.seconds),
            Name::ReverseLines => Effect::ReverseLines,
            Name::DropLine => Effect::DropLine(wire.line.unwrap_or(0)),
            Name::Force => {
                let code = wire.code.and_then(|code| u16::try_from(code).ok());
                let code = code.filter(|code| (1..=9999).contains(code)).ok_or(WireError::Code)?;
                Effect::Force { code, number: wire.number }
            }
        };
        let mut fault = Self::new(effect).delayed(Duration::from_millis(wire.delay_ms.unwrap_or(0)));
        fault.after_storing = wire.stored;
        fault.times = Some(wire.times.unwrap_or(1)).filter(|times| *times > 0);
        (fault.issuer, fault.on) = (wire.issuer, wire.on);
        Ok(fault)
    }
}

impl From<Fault> for Wire {
    fn from(fault: Fault) -> Self {
        let mut wire = Self {
            stored: fault.after_storing,
            delay_ms: u64::try_from(fault.delay.as_millis()).ok().filter(|delay| *delay > 0),
            times: Some(fault.times.unwrap_or(0)),
            issuer: fault.issuer,
            on: fault.on,
            ..Self::default()
        };
        wire.fault = Some(match fault.effect {
            Effect::Delay => Name::Delay,
            Effect::TlsAlert => Name::TlsAlert,
            Effect::CloseUnread => Name::CloseUnread,
            Effect::Cut => Name::Cut,
            Effect::CutAnswer => Name::CutAnswer,
            Effect::Status(status) => {
                wire.status = Some(status);
                Name::Status
            }
            Effect::Redirect => Name::Redirect,
            Effect::HtmlPage => Name::HtmlPage,
            Effect::SoapFault { code, side } => {
                (wire.code, wire.side) = (code, Some(side));
                Name::SoapFault
            }
            Effect::Garbage => Name::Garbage,
            Effect::EmptyBody => Name::EmptyBody,
            Effect::Wait(seconds) => {
                wire.seconds = seconds;
                Name::Wait
            }
            Effect::ReverseLines => Name::ReverseLines,
            Effect::DropLine(line) => {
                wire.line = Some(line);
                Name::DropLine
            }
            Effect::Force { code, number } => {
                (wire.code, wire.number) = (Some(i32::from(code)), number);
                Name::Force
            }
        });
        wire
    }
}
