//! Who presents an issuer's records to the authority.

use std::{error::Error, sync::Arc};

use async_trait::async_trait;

use crate::{
    certificate::Identity,
    signature::Signer,
    types::{Date, Nif, TenantId},
    xml::envelope::SpanishParty,
};

/// Finds the certificate that presents the records of an account's issuer.
#[async_trait]
pub trait Presenters: Send + Sync {
    /// The presentation in force; `None` when there is no valid certificate, which holds the chain.
    async fn presentation(
        &self,
        tenant: &TenantId,
        issuer: &Nif,
    ) -> Result<Option<Arc<Presentation>>, PresenterError>;

    /// The accounts whose messages are presented by the holder of this presentation's certificate. The
    /// authority suspends a presenter, whoever it presents for, so all of these are then held. Who
    /// presents each account by a certificate of its own need not say.
    async fn presented_by(&self, _presentation: &Presentation) -> Result<Vec<TenantId>, PresenterError> {
        Ok(Vec::new())
    }
}

/// How an issuer's messages are presented.
pub struct Presentation {
    /// The certificate of the connection.
    pub identity: Arc<Identity>,
    /// Signs records; `None` sends them unsigned.
    pub signer: Option<Signer>,
    /// The adviser named in the header, if the issuer has one.
    pub representative: Option<SpanishParty>,
    /// The last day of VERI*FACTU operation, where the issuer renounces. A day that the authority no longer
    /// takes is not stated, since it would refuse the whole message.
    pub verifactu_end: Option<Date>,
}

/// The presenter could not be found out.
#[derive(Debug, thiserror::Error)]
#[error("presenter: the certificate could not be read")]
pub struct PresenterError(#[source] pub Box<dyn Error + Send + Sync>);
