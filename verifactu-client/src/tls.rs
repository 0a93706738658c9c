//! TLS: whom to trust. The provider is handed over explicitly, because the process may have another
//! default, or none.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, pem::PemObject as _},
};

use crate::ConfigurationError;

/// Under which roots the service's certificate must stand.
///
/// ```no_run
/// use verifactu_client::{Client, Trust};
/// let own = Trust::Only(std::fs::read("company-ca.pem")?);
/// let client = Client::builder("https://verifactu.intranet/v1").trust(own).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// Those of the operating system.
    #[default]
    System,
    /// Those of the operating system, and these (PEM).
    SystemAnd(Vec<u8>),
    /// Only these (PEM).
    Only(Vec<u8>),
}

impl Trust {
    pub(crate) fn roots(&self) -> Result<RootCertStore, ConfigurationError> {
        let mut roots = RootCertStore::empty();
        if let Self::System | Self::SystemAnd(_) = self {
            // The system's store may hold certificates that no TLS library takes; they do no harm.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        if let Self::SystemAnd(pem) | Self::Only(pem) = self {
            let before = roots.len();
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let certificate = certificate.map_err(ConfigurationError::Pem)?;
                roots.add(certificate).map_err(ConfigurationError::Tls)?;
            }
            if roots.len() == before {
                return Err(ConfigurationError::NoRoots);
            }
        }
        if roots.is_empty() { Err(ConfigurationError::NoRoots) } else { Ok(roots) }
    }
}

pub(crate) fn configuration(roots: RootCertStore) -> Result<ClientConfig, ConfigurationError> {
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(ConfigurationError::Tls)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
