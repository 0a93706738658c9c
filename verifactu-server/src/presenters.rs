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
    ledger::{Accounts, LedgerError, Page, SealedCertificate, Tenant},
    signature::{EcKeys, Signer, SigningError},
    types::{Clock, Nif, TenantId},
};

use crate::config::SignatureMode;

/// Most accounts whose identity is kept open.
const MAX_OPEN: usize = 10_000;
/// Accounts that are read at a time.
const PAGE: u32 = 1000;

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

    /// Who presents an account, whether or not the certificate has expired.
    async fn found(&self, tenant: &TenantId) -> Result<Option<Arc<Presentation>>, OpenError> {
        Ok(self.own(tenant).await?.or_else(|| self.development.clone()))
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
        let found = self.found(tenant).await.map_err(|e| PresenterError(e.into()))?;
        let valid = |found: &Arc<Presentation>| self.clock.now() <= found.identity.certificate().not_after;
        let presentation = found.filter(valid);
        let account = self.accounts.tenant(tenant).await.map_err(|e| PresenterError(e.into()))?;
        Ok(presentation.map(|presentation| stating(presentation, account)))
    }

    /// Opens the certificate of every account. The authority suspends nobody often.
    async fn presented_by(&self, presentation: &Presentation) -> Result<Vec<TenantId>, PresenterError> {
        let mut presented = Vec::new();
        let mut after = None;
        loop {
            let page = self.accounts.tenants(None, Page::behind(after, PAGE)).await;
            let page = page.map_err(|e| PresenterError(e.into()))?.items;
            for tenant in &page {
                match self.found(&tenant.id).await {
                    Ok(Some(own)) if same_holder(&own.identity, &presentation.identity) => {
                        presented.push(tenant.id.clone());
                    }
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(%error, tenant = %tenant.id, "a certificate that does not open presents nobody");
                    }
                }
            }
            match page.last() {
                Some(last) => after = Some(last.id.clone()),
                None => return Ok(presented),
            }
        }
    }
}

/// The authority knows a presenter by its NIF; a certificate without one is a presenter of its own.
fn same_holder(one: &Identity, other: &Identity) -> bool {
    match one.certificate().holder.nif() {
        Some(nif) => other.certificate().holder.nif() == Some(nif),
        None => one.id() == other.id(),
    }
}

/// The same presentation, with what the account states in the header of its messages.
fn stating(presentation: Arc<Presentation>, account: Option<Tenant>) -> Arc<Presentation> {
    let Some(Tenant { representative, verifactu_end, .. }) = account else { return presentation };
    if representative.is_none() && verifactu_end.is_none() {
        return presentation;
    }
    let (identity, signer) = (presentation.identity.clone(), presentation.signer.clone());
    Arc::new(Presentation { identity, signer, representative, verifactu_end })
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
    Ok(Arc::new(Presentation {
        identity: Arc::new(identity),
        signer,
        representative: None,
        verifactu_end: None,
    }))
}
