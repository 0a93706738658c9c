//! Where the server is, and how it is reached: the address, and whom to trust there.

use std::{path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use tokio_postgres::{
    Config,
    config::{Host, SslMode, TargetSessionAttrs},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{PostgresSetupError, pool::Access};

/// Reads an address. What it does not say is chosen on the safe side: TLS wherever the way leaves this
/// computer, and of several hosts one that takes writes where there is something to write.
pub(super) fn read(address: &str, access: Access) -> Result<Config, PostgresSetupError> {
    // Of the modes of PostgreSQL's own tools, `verify-full` is what TLS always means here.
    let text = address.replace("sslmode=verify-full", "sslmode=require");
    let mut config: Config = text.parse().map_err(|_| PostgresSetupError::Address)?;
    if config.get_hosts().is_empty() || config.get_dbname().is_none() {
        return Err(PostgresSetupError::Address);
    }
    if !text.contains("sslmode=") {
        let near = config.get_hosts().iter().all(is_near);
        config.ssl_mode(if near { SslMode::Disable } else { SslMode::Require });
    }
    config.target_session_attrs(match access {
        Access::Write => TargetSessionAttrs::ReadWrite,
        Access::Read => TargetSessionAttrs::Any,
    });
    if config.get_application_name().is_none() {
        config.application_name("verifactu");
    }
    Ok(config)
}

fn is_near(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
        }
        Host::Unix(path) => path.is_absolute() || path == Path::new(""),
    }
}

/// TLS with the process's own provider, and the server's certificate always checked.
pub(super) fn tls(roots: Option<&[u8]>) -> Result<MakeRustlsConnect, PostgresSetupError> {
    let mut trusted = RootCertStore::empty();
    match roots {
        // The system's store may hold certificates that no TLS library takes; they do no harm.
        None => drop(trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
        Some(pem) => {
            for root in CertificateDer::pem_slice_iter(pem) {
                let added = root.map_err(|_| PostgresSetupError::Roots).map(|root| trusted.add(root))?;
                added.map_err(|_| PostgresSetupError::Roots)?;
            }
            if trusted.is_empty() {
                return Err(PostgresSetupError::Roots);
            }
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
