//! A SOAP fault: the whole message is refused (SWeb 5.1, 6.2).

use serde::{Deserialize, Serialize};

use super::SandboxError;
use super::finding::Finding;
use super::xml::Writer;

/// Whose fault it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultSide {
    /// `env:Client`: correct the message.
    #[default]
    Client,
    /// `env:Server`: send the same message again.
    Server,
}

/// A refused message.
#[derive(Debug)]
pub(crate) struct Refusal {
    side: FaultSide,
    text: String,
}

/// Codes that tell of trouble at the authority.
const TECHNICAL: &[u16] = &[4108, 4110, 4111, 4128, 3500, 3501];

impl Refusal {
    pub(crate) fn new(code: u16) -> Self {
        Finding::new(code).into()
    }

    /// A fault on demand, with AEAT's text for the code if it has one.
    pub(crate) fn on_demand(code: Option<i32>, side: FaultSide) -> Self {
        let text = match code {
            None => "Error interno en el servidor".to_owned(),
            Some(code) => {
                let text = u16::try_from(code).map(super::codes::text).unwrap_or_default();
                format!("Codigo[{code}].{text}")
            }
        };
        Self { side, text }
    }

    /// The envelope. `callstack` is what the service shows of its insides; clients must not need it.
    pub(crate) fn envelope(&self) -> String {
        let mut out = Writer::envelope();
        out.open("env", "Fault");
        let code = match self.side {
            FaultSide::Client => "env:Client",
            FaultSide::Server => "env:Server",
        };
        out.leaf("", "faultcode", code);
        out.leaf("", "faultstring", &self.text);
        out.open("", "detail");
        out.leaf("", "callstack", "WSExcepcion [faultcode=null, detailMap=null, version=0]");
        out.close("", "detail");
        out.close("env", "Fault");
        out.finish_envelope()
    }
}

impl From<Finding> for Refusal {
    fn from(finding: Finding) -> Self {
        let side = if TECHNICAL.contains(&finding.code) { FaultSide::Server } else { FaultSide::Client };
        Self { side, text: format!("Codigo[{}].{}", finding.code, finding.description()) }
    }
}

/// The authority's own trouble, told as AEAT tells it.
impl From<SandboxError> for Refusal {
    fn from(error: SandboxError) -> Self {
        tracing::error!(error = &error as &dyn std::error::Error, "the sandbox failed");
        Self::new(3501)
    }
}
