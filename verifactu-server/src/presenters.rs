//! Whose certificate presents an account's records.
//!
//! Opening a sealed identity prepares its key for signing, so it is kept until the account has
//! another one. The sealed bytes tell one from the other: they are new with every upload, also with
//! one that another process took.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use sha2::{Digest, Sha256};
use verifactu_core::{
    certificate::{CertificateError, Identity, Vault},
    engine::{Presentation, PresenterError, Presenters},
    ledger::{Accounts, LedgerError, SealedCertificate},
    signature::{EcKeys, Signer, SigningError},
    types::{Clock, Nif, TenantId},
    xml::envelope::SpanishParty,
};

use crate::config::SignatureMode;

/// Most accounts whose identity is kept open.
const MAX_OPEN: usize = 10_000;

/// Finds presentations in the accounts' sealed certificates.
pub struct AccountPresenters {
    accounts: Arc<dyn Accounts>,
    vault: Arc<Vault>,
    clock: Arc<dyn Clock>,
    signature: SignatureMode,
    development: Option<Arc<Presentation>>,
    open: Mutex<HashMap<TenantId, Open>>,
}

struct Open {
    /// Of the sealed bytes.
    digest: [u8; 32],
    presentation: Arc<Presentation>,
}

/// An account's certificate cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The store failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The sealed bytes do not open, or hold no usable key.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The key cannot be prepared for signing.
    #[error(transparent)]
    Signing(#[from] SigningError),
}

impl AccountPresenters {
    /// Presenters out of the accounts' certificates; `development` presents where there is none.
    ///
    /// # Errors
    /// [`OpenError::Signing`] if the development identity cannot sign.
    pub fn new(
        accounts: Arc<dyn Accounts>,
        vault: Arc<Vault>,
        clock: Arc<dyn Clock>,
        signature: SignatureMode,
        development: Option<Identity>,
    ) -> Result<Self, OpenError> {
        let development = development.map(|identity| present(identity, signature)).transpose()?;
        Ok(Self { accounts, vault, clock, signature, development, open: Mutex::default() })
    }

    /// The presentation of an account's own certificate, whether or not it has expired.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn own(&self, tenant: &TenantId) -> Result<Option<Arc<Presentation>>, OpenError> {
        match self.accounts.certificate(tenant).await? {
            None => Ok(None),
            Some(sealed) => self.opened(&sealed).map(Some),
        }
    }

    fn opened(&self, sealed: &SealedCertificate) -> Result<Arc<Presentation>, OpenError> {
        let digest: [u8; 32] = Sha256::digest(&sealed.sealed).into();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.get(&sealed.tenant)
            && known.digest == digest
        {
            return Ok(known.presentation.clone());
        }
        let identity = Identity::from_sealed(&self.vault, &sealed.tenant, &sealed.sealed)?;
        let presentation = present(identity, self.signature)?;
        if open.len() >= MAX_OPEN {
            open.clear();
        }
        let kept = Open { digest, presentation: presentation.clone() };
        open.insert(sealed.tenant.clone(), kept);
        Ok(presentation)
    }
}

#[async_trait]
impl Presenters for AccountPresenters {
    async fn presentation(
        &self,
        tenant: &TenantId,
        _issuer: &Nif,
    ) -> Result<Option<Arc<Presentation>>, PresenterError> {
        let sealed = self.accounts.certificate(tenant).await.map_err(|e| PresenterError(e.into()))?;
        let presentation = match sealed {
            None => self.development.clone(),
            Some(sealed) => {
                let presentation = self.opened(&sealed).map_err(|e| PresenterError(e.into()))?;
                let expired = self.clock.now() > presentation.identity.certificate().not_after;
                (!expired).then_some(presentation)
            }
        };
        let account = self.accounts.tenant(tenant).await.map_err(|e| PresenterError(e.into()))?;
        let representative = account.and_then(|account| account.representative);
        Ok(presentation.map(|presentation| naming(presentation, representative)))
    }
}

/// The same presentation, with a representative if there is one.
fn naming(presentation: Arc<Presentation>, representative: Option<SpanishParty>) -> Arc<Presentation> {
    if representative.is_none() {
        return presentation;
    }
    let (identity, signer) = (presentation.identity.clone(), presentation.signer.clone());
    Arc::new(Presentation { identity, signer, representative })
}

/// How an identity presents: with its signature, where the settings and its key allow one.
fn present(identity: Identity, signature: SignatureMode) -> Result<Arc<Presentation>, SigningError> {
    let ec = match signature {
        SignatureMode::None => None,
        SignatureMode::Xades => Some(EcKeys::Refuse),
        SignatureMode::XadesWithEc => Some(EcKeys::Allow),
    };
    let signer = match ec.map(|ec| Signer::new(&identity, ec)).transpose() {
        Ok(signer) => signer,
        Err(error @ (SigningError::EcNotEnabled | SigningError::UnsupportedKey)) => {
            let serial = &identity.certificate().serial;
            tracing::warn!(%error, serial, "records of this certificate go unsigned");
            None
        }
        Err(error) => return Err(error),
    };
    Ok(Arc::new(Presentation { identity: Arc::new(identity), signer, representative: None }))
}
