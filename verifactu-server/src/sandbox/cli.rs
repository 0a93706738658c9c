//! The sandbox on the command line.

use std::future::Future;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use zeroize::Zeroizing;

use super::pki::{DEFAULT_PASSPHRASE, Holder, HolderKind, Pki, Privacy, write_whole};
use super::{Census, PresenterPolicy, SandboxConfig, SandboxError, Settings};

/// Run a tax authority to test against.
#[derive(Args, Clone, Debug)]
pub struct SandboxArgs {
    /// Address of the service; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8643")]
    listen: SocketAddr,
    /// Address of the admin interface, on this computer only.
    #[arg(long, value_name = "ADDRESS")]
    admin: Option<SocketAddr>,
    /// Further name or address of the server, for its certificate.
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Directory for the registrations and the CA; without it, all is kept in memory.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Seconds to wait between submissions, as told to the client.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u16,
    /// Most rows in one answer to a query.
    #[arg(long, value_name = "ROWS", default_value_t = 10_000)]
    page_size: u32,
    /// Let every certificate present for every issuer.
    #[arg(long)]
    any_presenter: bool,
    /// File with the census as JSON: who exists, and under which name.
    #[arg(long, value_name = "FILE")]
    census: Option<PathBuf>,
}

/// What the sandbox reports when it listens: one line of JSON.
#[derive(Serialize)]
struct Report<'a> {
    url: String,
    endpoint: String,
    admin: Option<String>,
    ca: Option<PathBuf>,
    ca_pem: &'a str,
}

/// The files of a certificate that was issued.
#[derive(Serialize)]
struct Issued {
    pkcs12: PathBuf,
    pem: Option<PathBuf>,
    ca: PathBuf,
}

impl SandboxArgs {
    /// Serves until `stop` completes. When it listens, one line of JSON is written to `out`: `url`,
    /// `endpoint`, `admin`, `ca` (the file, if there is a data directory) and `ca_pem`.
    ///
    /// # Errors
    ///
    /// When the sandbox cannot start, or the line cannot be written.
    pub async fn run(self, out: impl Write, stop: impl Future<Output = ()>) -> Result<(), SandboxError> {
        let presenters = if self.any_presenter { PresenterPolicy::Anyone } else { PresenterPolicy::Holder };
        let census = match self.census {
            None => Census::default(),
            Some(path) => Census::load(&path)?,
        };
        let mut config = SandboxConfig::default().listen(self.listen).settings(Settings {
            wait_seconds: Some(self.wait),
            page_size: self.page_size,
            presenters,
            census,
            ..Settings::default()
        });
        if let Some(admin) = self.admin {
            config = config.admin(admin);
        }
        for host in self.host {
            config = config.host(host);
        }
        if let Some(data) = &self.data {
            config = config.data(data);
        }
        let sandbox = config.start().await?;
        let addresses = Report {
            url: sandbox.url(),
            endpoint: sandbox.endpoint(),
            admin: sandbox.admin_address().map(|address| format!("http://{address}")),
            ca: self.data.map(|data| data.join("pki").join("ca.pem")),
            ca_pem: sandbox.pki().ca_pem(),
        };
        report(out, &addresses)?;
        stop.await;
        sandbox.stop().await;
        Ok(())
    }
}

/// Issue a certificate of the sandbox's CA.
#[derive(Args, Clone)]
pub struct PkiArgs {
    /// The sandbox's data directory.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// NIF of the holder.
    #[arg(long)]
    nif: String,
    /// Name of the holder; surnames first.
    #[arg(long)]
    name: String,
    /// Kind of certificate.
    #[arg(long, value_enum, default_value = "person")]
    kind: HolderKind,
    /// NIF of the entity that a representative stands for.
    #[arg(long, value_name = "NIF", required_if_eq("kind", "representative"))]
    entity_nif: Option<String>,
    /// Name of the entity that a representative stands for.
    #[arg(long, value_name = "NAME", required_if_eq("kind", "representative"))]
    entity_name: Option<String>,
    /// Passphrase of the PKCS#12 file.
    #[arg(long, default_value = DEFAULT_PASSPHRASE)]
    passphrase: String,
    /// Make an elliptic curve key instead of RSA.
    #[arg(long)]
    ec: bool,
    /// The PKCS#12 file to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Also write certificate and key, not encrypted, as one PEM file.
    #[arg(long, value_name = "FILE")]
    pem: Option<PathBuf>,
}

impl PkiArgs {
    /// Issues the certificate, writes the files, readable by their owner alone, and reports them to `out` in
    /// one line of JSON: `pkcs12`, `pem` (if asked for) and `ca`.
    ///
    /// # Errors
    ///
    /// When the CA cannot be used, the holder's values cannot stand in a certificate, or a file
    /// cannot be written.
    pub async fn run(self, out: impl Write) -> Result<(), SandboxError> {
        let task = tokio::task::spawn_blocking(move || self.issue());
        report(out, &task.await.map_err(|_| SandboxError::Interrupted)??)
    }

    fn issue(self) -> Result<Issued, SandboxError> {
        let mut holder = match self.kind {
            HolderKind::Person => Holder::person(self.nif, self.name),
            HolderKind::Seal => Holder::seal(self.nif, self.name),
            HolderKind::Representative => Holder::representative(
                self.nif,
                self.name,
                self.entity_nif.unwrap_or_default(),
                self.entity_name.unwrap_or_default(),
            ),
        }
        .with_passphrase(self.passphrase);
        if self.ec {
            holder = holder.with_ec_key();
        }
        let pki = self.data.join("pki");
        let issued = Pki::open(&pki)?.issue(&holder)?;
        write_whole(&self.out, &issued.pkcs12()?, Privacy::Private)?;
        if let Some(path) = &self.pem {
            let pem = Zeroizing::new(format!("{}{}", issued.certificate_pem(), issued.key_pem()));
            write_whole(path, pem.as_bytes(), Privacy::Private)?;
        }
        Ok(Issued { pkcs12: self.out, pem: self.pem, ca: pki.join("ca.pem") })
    }
}

/// One line of JSON.
fn report(mut out: impl Write, report: &impl Serialize) -> Result<(), SandboxError> {
    let line = serde_json::to_string(report).map_err(std::io::Error::from);
    line.and_then(|line| writeln!(out, "{line}").and_then(|()| out.flush())).map_err(SandboxError::Report)
}
