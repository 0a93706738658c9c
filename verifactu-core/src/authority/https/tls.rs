//! TLS: whom to trust, and how an identity shows its certificate. The provider is handed over
//! explicitly, because the process may have another default, or none.

use std::{fmt, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    client::Resumption,
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, pem::PemObject as _},
    sign::{CertifiedKey, SingleCertAndKey},
};

use super::SetupError;
use crate::certificate::Identity;

/// Under which roots the host's certificate must stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Those of the operating system.
    System,
    /// Those of the operating system, and these (PEM).
    SystemAnd(Vec<u8>),
    /// Only these (PEM).
    Only(Vec<u8>),
}

pub(super) struct Tls {
    provider: Arc<CryptoProvider>,
    roots: Arc<RootCertStore>,
}

impl Tls {
    pub(super) fn new(trust: &Trust) -> Result<Self, SetupError> {
        let mut roots = RootCertStore::empty();
        if let Trust::System | Trust::SystemAnd(_) = trust {
            // The system's store may hold certificates that no TLS library takes; they do no harm.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        if let Trust::SystemAnd(pem) | Trust::Only(pem) = trust {
            let before = roots.len();
            for certificate in CertificateDer::pem_slice_iter(pem) {
                roots.add(certificate.map_err(SetupError::Pem)?).map_err(SetupError::Root)?;
            }
            if roots.len() == before {
                return Err(SetupError::NoRoots);
            }
        }
        if roots.is_empty() {
            return Err(SetupError::NoRoots);
        }
        Ok(Self { provider: Arc::new(aws_lc_rs::default_provider()), roots: Arc::new(roots) })
    }

    /// The configuration with which one identity connects.
    pub(super) fn for_identity(&self, identity: &Identity) -> Result<ClientConfig, rustls::Error> {
        let certified = CertifiedKey::clone(&identity.certified_key());
        let mut config = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(Arc::clone(&self.roots))
            .with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        // A client talks to one host.
        config.resumption = Resumption::in_memory_sessions(4);
        Ok(config)
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("roots", &self.roots.len()).finish_non_exhaustive()
    }
}
