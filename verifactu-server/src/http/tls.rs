//! The service's own certificate, where it speaks TLS itself.

use std::{path::PathBuf, sync::Arc};

use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject as _},
};
use tokio_rustls::TlsAcceptor;

use crate::config::TlsFiles;

/// The service cannot speak TLS.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read, or is not PEM of the right kind.
    #[error("{}: not usable as PEM", file.display())]
    Pem {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        source: pem::Error,
    },
    /// Certificate and key do not go together, or are of a kind that cannot be used.
    #[error("the service's certificate cannot be used")]
    Certificate(#[from] rustls::Error),
}

/// The server's side of the handshake. The provider is named, since the process may have another.
pub(super) fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, TlsError> {
    let unusable = |file: &PathBuf| {
        let file = file.clone();
        move |source| TlsError::Pem { file, source }
    };
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(unusable(&files.certificate))?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(unusable(&files.key))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
