//! Which of the authority's worlds a ledger, a chain and a QR belong to.

use std::fmt;

/// Sandbox, pre-production and production never share a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Environment {
    /// The authority to develop against, which comes with this workspace.
    Sandbox,
    /// The authority's own test environment.
    Preproduction,
    /// Where invoices have tax effect.
    Production,
}

/// The text names no [`Environment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("one of sandbox, preproduction, production")]
pub struct EnvironmentError;

impl Environment {
    /// The lower-case name, as settings and headers spell it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Preproduction => "preproduction",
            Self::Production => "production",
        }
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Environment {
    type Err = EnvironmentError;
    fn from_str(text: &str) -> Result<Self, EnvironmentError> {
        [Self::Sandbox, Self::Preproduction, Self::Production]
            .into_iter()
            .find(|environment| environment.as_str() == text)
            .ok_or(EnvironmentError)
    }
}
