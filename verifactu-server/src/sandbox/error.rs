//! Why a sandbox could not start, issue a certificate or keep a record.

use std::net::SocketAddr;
use std::path::PathBuf;

/// A failure of the sandbox itself; what it answers to a client is never one of these.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// A file or directory of the sandbox could not be read or written.
    #[error("cannot use {path}")]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file of the census is not its JSON.
    #[error("{path} is not the JSON of a census")]
    Census {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// An address could not be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The admin interface issues certificates to whoever asks, so it stays on this computer.
    #[error("the admin address {0} is not a loopback address")]
    AdminNotLoopback(SocketAddr),
    /// The line that says where the sandbox listens, or what was issued, could not be written.
    #[error("cannot report what was done")]
    Report(#[source] std::io::Error),
    /// The store refused to read or write.
    #[error("the sandbox's store failed")]
    Store(#[from] rusqlite::Error),
    /// The store was written by a later version.
    #[error("the sandbox's store has schema {found}, this version knows {known}")]
    StoreVersion {
        /// The schema number found in the file.
        found: i64,
        /// The schema number this version writes.
        known: i64,
    },
    /// A worker thread ended before its task did.
    #[error("a task of the sandbox was interrupted")]
    Interrupted,
    /// A key or certificate could not be made or read.
    #[error("cannot make the certificate")]
    Certificate(#[from] rcgen::Error),
    /// The PKCS#12 file could not be written.
    #[error("cannot write the PKCS#12 file")]
    Pkcs12(#[from] p12_keystore::error::Error),
    /// A value given for a certificate's subject cannot stand there.
    #[error("{field} of the certificate's holder is empty, too long or not printable")]
    Holder {
        /// Which value.
        field: &'static str,
    },
    /// The TLS library refused the server's identity.
    #[error("cannot set up TLS")]
    Tls(#[from] rustls::Error),
    /// The TLS library refused the authority's own CA.
    #[error("cannot verify client certificates")]
    ClientVerifier(#[from] rustls::server::VerifierBuilderError),
    /// A setting is outside its range.
    #[error("{setting} must lie between {least} and {most}")]
    Setting {
        /// Which setting.
        setting: &'static str,
        /// Smallest value allowed.
        least: u32,
        /// Largest value allowed.
        most: u32,
    },
    /// The time zone database has no Europe/Madrid, or a time lies outside its range.
    #[error("cannot reckon the time")]
    Time(#[from] jiff::Error),
}

impl SandboxError {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
