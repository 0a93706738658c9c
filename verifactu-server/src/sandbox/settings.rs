//! What can be changed while the sandbox runs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::SandboxError;
use super::census::Census;

/// The authority's settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// `TiempoEsperaEnvio` in seconds, up to 9999; `None` leaves the element empty.
    pub wait_seconds: Option<u16>,
    /// Most rows in one answer to a query, 1 to 10 000.
    pub page_size: u32,
    /// How far a record's stamp may lie from the authority's time, in seconds.
    pub clock_margin_seconds: u32,
    /// Who may present for whom.
    pub presenters: PresenterPolicy,
    /// Who exists.
    pub census: Census,
    /// The requirements that were sent out, by their references; `None` knows every one.
    pub requirements: Option<BTreeSet<String>>,
}

/// Who may present records of an issuer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PresenterPolicy {
    /// The holder of the certificate: as issuer, by its NIF or its entity's, or as the
    /// `Representante` that the header names. Others get 4112.
    #[default]
    Holder,
    /// Every certificate of the sandbox's CA, for everyone.
    Anyone,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            wait_seconds: Some(60),
            page_size: 10_000,
            clock_margin_seconds: 240,
            presenters: PresenterPolicy::default(),
            census: Census::default(),
            requirements: None,
        }
    }
}

impl Settings {
    pub(crate) fn check(&self) -> Result<(), SandboxError> {
        let within = |setting, value, least, most| {
            if (least..=most).contains(&value) {
                Ok(())
            } else {
                Err(SandboxError::Setting { setting, least, most })
            }
        };
        within("wait_seconds", u32::from(self.wait_seconds.unwrap_or(0)), 0, 9999)?;
        within("page_size", self.page_size, 1, 10_000)?;
        within("clock_margin_seconds", self.clock_margin_seconds, 0, 86_400)
    }
}
