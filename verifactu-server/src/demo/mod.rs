//! The demonstration: a sandbox authority and the service beside it, on free ports of this computer,
//! and real invoices all the way to their receipts, through the REST API as any integrator would.

mod api;
mod invoices;
mod recorder;
mod report;

use std::{
    future::Future,
    io::Write,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use verifactu_core::{
    api::{JobStatus, JobType},
    authority::https::{Hosts, HttpsAuthority, Limits, SetupError, Trust},
    record::{ComputerSystem, Identification, Party, SystemId},
    types::{Environment, Nif, Text},
};

use crate::{
    config::Config,
    sandbox::{Holder, Pki, RunningSandbox, SandboxConfig, SandboxError, Settings},
    server::{Running, Server, StartError},
};

use self::{
    api::{Api, ApiError},
    invoices::{InvoiceFile, InvoiceFileError, Task},
    recorder::Recorder,
    report::{Outcome, Report},
};

/// The wait between messages that the demonstration's authority asks for. The real one asks for 60 s,
/// and so does the sandbox when it runs alone.
const WAIT_SECONDS: u16 = 1;
const TENANT: &str = "demo";
const ISSUER_NAME: &str = "Talleres Ebro SL";
const ISSUER_NIF: &str = "B12345674";
const PASSPHRASE: &str = "demo";
/// How long all invoices together may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// `demo`: everything in one command, without a network.
#[derive(Clone, Debug, clap::Args)]
pub struct DemoArgs {
    /// Directory for ledger, keys and sandbox; a temporary one if absent.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Directory with the invoices to send, in the order of their file names.
    #[arg(long, value_name = "DIR", default_value = "examples/invoices")]
    pub invoices: PathBuf,
    /// Write every message to the authority and every answer as a file.
    #[arg(long, value_name = "DIR")]
    pub dump: Option<PathBuf>,
    /// Print one JSON object for each invoice, and a summary last.
    #[arg(long)]
    pub json: bool,
    /// End after the invoices instead of going on to serve.
    #[arg(long)]
    pub once: bool,
}

/// Whether every invoice came out as its file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// It did.
    AsExpected,
    /// It did not.
    Otherwise,
}

impl DemoArgs {
    /// Runs the demonstration, and without `--once` goes on serving until `stop` completes.
    ///
    /// # Errors
    /// [`DemoError`] when something does not start or the service does not answer; an invoice that
    /// comes out wrong is a [`Verdict`].
    pub async fn run(self, out: impl Write, stop: impl Future<Output = ()>) -> Result<Verdict, DemoError> {
        let files = InvoiceFile::read_all(&self.invoices)?;
        let temporary = match &self.data {
            Some(_) => None,
            None => Some(tempfile::tempdir().map_err(DemoError::Directory)?),
        };
        let data =
            self.data.as_deref().or(temporary.as_ref().map(|dir| dir.path())).unwrap_or(Path::new("."));
        let sandbox = start_sandbox(data).await?;
        let service = start_service(data, &sandbox, self.dump.as_deref()).await?;
        let mut report = Report::new(out, self.json);
        report.begin(&sandbox.url(), &service.address(), WAIT_SECONDS)?;

        let api = Api::open(service.address(), service.admin_key().expose())?;
        let key = prepare_account(&api, sandbox.pki()).await?;
        let api = api.with_key(&key);
        let verdict = send_all(&api, &files, &mut report).await?;
        if !self.once {
            report.go_on(service.address(), &key)?;
            stop.await;
        }
        service.stop().await;
        sandbox.stop().await;
        Ok(verdict)
    }
}

async fn start_sandbox(data: &Path) -> Result<RunningSandbox, DemoError> {
    let settings = Settings { wait_seconds: Some(WAIT_SECONDS), ..Settings::default() };
    Ok(SandboxConfig::default().data(data.join("sandbox")).settings(settings).start().await?)
}

async fn start_service(
    data: &Path,
    sandbox: &RunningSandbox,
    dump: Option<&Path>,
) -> Result<Running, DemoError> {
    let mut config = Config::new(Environment::Sandbox, data.join("service"), system()?);
    config.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    config.authority.url = Some(sandbox.url());
    config.certificates.required = true;
    let trust = Trust::Only(sandbox.pki().ca_pem().as_bytes().to_vec());
    let authority = Arc::new(HttpsAuthority::new(Hosts::at(&sandbox.url())?, &trust, Limits::default())?);
    let builder = Server::builder(config);
    let builder = match dump {
        None => builder.authority(authority),
        Some(directory) => {
            let recorder = Recorder::new(authority, directory).map_err(DemoError::Directory)?;
            builder.authority(Arc::new(recorder))
        }
    };
    Ok(builder.start().await?)
}

/// The system that the demonstration's records name.
fn system() -> Result<ComputerSystem, DemoError> {
    let system = || {
        Some(ComputerSystem {
            producer: Party {
                name: Text::parse("Productora de Software de Prueba SL").ok()?,
                identification: Identification::Nif(Nif::parse("B65410011").ok()?),
            },
            name: Text::parse("verifactu-server").ok()?,
            id: SystemId::parse("VR")?,
            version: Text::parse(env!("CARGO_PKG_VERSION")).ok()?,
            installation: Text::parse("demo").ok()?,
            verifactu_only: true,
            multiple_issuers_possible: true,
            multiple_issuers: false,
        })
    };
    system().ok_or(DemoError::System)
}

/// Creates account and key, and uploads a certificate made for the issuer. Returns the key.
async fn prepare_account(api: &Api, pki: &Pki) -> Result<String, DemoError> {
    let holder = Holder::representative("12345678Z", "EBRO GARCIA ANA", ISSUER_NIF, ISSUER_NAME)
        .with_passphrase(PASSPHRASE);
    let pki = pki.clone();
    let file = tokio::task::spawn_blocking(move || pki.issue(&holder)?.pkcs12());
    let file = file.await.map_err(|_| DemoError::Interrupted)??;
    api.create_tenant(TENANT, ISSUER_NAME).await?;
    let key = api.create_key(TENANT).await?;
    api.clone().with_key(&key).upload_certificate(&file, PASSPHRASE).await?;
    Ok(key)
}

/// Sends every invoice in order, waits for the outcomes, and reports them.
async fn send_all<W: Write>(
    api: &Api,
    files: &[InvoiceFile],
    report: &mut Report<W>,
) -> Result<Verdict, DemoError> {
    let mut waiting = Vec::with_capacity(files.len());
    for file in files {
        let job = match &file.task {
            Task::Submit { kind: JobType::SendInvoice, body, .. } => {
                Some(api.submit("send-invoice", &file.name, body).await?)
            }
            Task::Submit { kind: JobType::CancelInvoice, body, .. } => {
                Some(api.submit("cancel-invoice", &file.name, body).await?)
            }
            Task::Compute { .. } => None,
        };
        waiting.push(job);
    }
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let (mut sent, mut succeeded, mut failed) = (0_u32, 0_u32, 0_u32);
    for (file, job) in files.iter().zip(waiting) {
        let outcome = match (&file.task, job) {
            (Task::Compute { huella, expected }, _) => Outcome::computed(file, huella, expected),
            (Task::Submit { expected, .. }, Some(job)) => {
                sent += 1;
                let job = api.finished(job, deadline).await?;
                succeeded += u32::from(job.status == JobStatus::Succeeded);
                Outcome::of_job(file, &job, *expected)
            }
            (Task::Submit { .. }, None) => return Err(DemoError::Interrupted),
        };
        failed += u32::from(!outcome.ok);
        report.outcome(&outcome)?;
    }
    let chain_valid = api.chains_are_valid().await?;
    report.summary(sent, succeeded, failed, chain_valid)?;
    Ok(if failed == 0 && chain_valid { Verdict::AsExpected } else { Verdict::Otherwise })
}

/// The demonstration could not be held.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DemoError {
    /// A directory cannot be made or used.
    #[error("the directory cannot be used")]
    Directory(#[source] std::io::Error),
    /// The invoices cannot be read.
    #[error(transparent)]
    Invoices(#[from] InvoiceFileError),
    /// The sandbox.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The service did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The transport to the sandbox.
    #[error(transparent)]
    Transport(#[from] SetupError),
    /// The service did not answer as it should.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The report cannot be written.
    #[error("the report cannot be written")]
    Report(#[from] std::io::Error),
    /// The system's data are out of order.
    #[error("the system's name or number is invalid")]
    System,
    /// A task was cut off.
    #[error("the demonstration was cut off")]
    Interrupted,
}
