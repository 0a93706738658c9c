//! What all connections of one sandbox share.

use std::sync::{Arc, PoisonError, RwLock};

use super::SandboxError;
use super::clock::{Clock, Madrid};
use super::faults::Faults;
use super::pki::Pki;
use super::settings::Settings;
use super::store::Store;

pub(crate) struct Authority {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) madrid: Madrid,
    pub(crate) pki: Pki,
    pub(crate) faults: Faults,
    settings: RwLock<Arc<Settings>>,
}

impl Authority {
    pub(crate) fn new(
        store: Store,
        clock: Clock,
        pki: Pki,
        settings: Settings,
    ) -> Result<Self, SandboxError> {
        settings.check()?;
        Ok(Self {
            store,
            clock,
            madrid: Madrid::load()?,
            pki,
            faults: Faults::default(),
            settings: RwLock::new(Arc::new(settings)),
        })
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_settings(&self, settings: Settings) -> Result<(), SandboxError> {
        settings.check()?;
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        Ok(())
    }
}
