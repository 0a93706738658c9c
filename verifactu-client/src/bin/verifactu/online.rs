//! What the service is asked for, one thing at a time.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use verifactu_client::{
    Client, IdempotencyKey, Submission, Submitted,
    api::{Job, JobStatus},
    types::{JobId, SecretBytes},
};
use verifactu_core::{certificate::MAX_FILE, qr::Symbol};

use crate::{
    failure::{End, Failure},
    output::{Output, listed, value},
    surroundings::{self, PASSPHRASE},
};

/// Largest body, in bytes.
pub(crate) const MAX_BODY: u64 = 1024 * 1024;

#[derive(Args)]
pub(crate) struct Submit {
    /// The JSON body; `-` reads the standard input.
    file: PathBuf,
    /// What makes a repeated request the same request; a random one if not given. Keep it with the
    /// invoice.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<IdempotencyKey>,
    /// Wait so long for the end of the job, as `wait` does.
    #[arg(long, value_name = "SECONDS")]
    wait: Option<u64>,
}

#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Send,
    Cancel,
}

impl Submit {
    pub(crate) async fn run(&self, client: &Client, kind: Kind, output: Output) -> Result<End, Failure> {
        let body = surroundings::read(&self.file, MAX_BODY)?;
        let body = String::from_utf8(body).map_err(|_| Failure::NotText(self.file.clone()))?;
        let key = self.idempotency_key.clone().unwrap_or_else(IdempotencyKey::random);
        let submitted = match kind {
            Kind::Send => client.send_invoice_json(&key, &body).await,
            Kind::Cancel => client.cancel_invoice_json(&key, &body).await,
        };
        let submitted = submitted.map_err(|error| Failure::Sending(key.clone(), error))?;
        if let Some(seconds) = self.wait {
            return wait(client, submitted.job_id(), seconds, output).await;
        }
        print(output, &key, &submitted)?;
        Ok(End::Well)
    }
}

fn print(output: Output, key: &IdempotencyKey, submitted: &Submitted) -> Result<(), Failure> {
    let answer = match &submitted.submission {
        Submission::Accepted(accepted) => value(accepted)?,
        Submission::Finished(job) => value(job)?,
    };
    let json = json!({"idempotencyKey": key.as_str(), "replayed": submitted.replayed, "answer": answer});
    output.print(&listed(&json), &json)
}

pub(crate) async fn job(client: &Client, id: JobId, output: Output) -> Result<End, Failure> {
    let job = client.job(id).await?;
    shown(&job, output)?;
    Ok(if job.status == JobStatus::Dead { End::NotWell } else { End::Well })
}

pub(crate) async fn wait(client: &Client, id: JobId, seconds: u64, output: Output) -> Result<End, Failure> {
    let job = client.wait_for_job(id, Duration::from_secs(seconds)).await?;
    shown(&job, output)?;
    Ok(match job.status {
        JobStatus::Succeeded => End::Well,
        JobStatus::Dead => End::NotWell,
        _ => End::NotFinal,
    })
}

fn shown(job: &Job, output: Output) -> Result<(), Failure> {
    let json = value(job)?;
    output.print(&listed(&json), &json)
}

#[derive(Subcommand)]
pub(crate) enum Cert {
    /// Uploads a PKCS#12 file; its passphrase is in VERIFACTU_PASSPHRASE or a file.
    Upload {
        /// The file, `.p12` or `.pfx`.
        file: PathBuf,
        /// File with the passphrase.
        #[arg(long, value_name = "FILE")]
        passphrase_file: Option<PathBuf>,
    },
    /// Whose certificate the account has, and until when. Exit code 1 if it has none.
    Status,
}

impl Cert {
    pub(crate) async fn run(&self, client: &Client, output: Output) -> Result<End, Failure> {
        let status = match self {
            Self::Upload { file, passphrase_file } => {
                let pfx = SecretBytes::new(surroundings::read(file, MAX_FILE as u64)?);
                let passphrase = surroundings::secret(passphrase_file.as_deref(), PASSPHRASE)?
                    .ok_or(Failure::Unset("passphrase", "--passphrase-file", PASSPHRASE))?;
                client.upload_certificate(&pfx, &passphrase).await?
            }
            Self::Status => client.certificate().await?,
        };
        let json = value(&status)?;
        output.print(&listed(&json), &json)?;
        Ok(End::well_if(status.has_certificate.into()))
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Picture {
    /// Drawn with characters.
    Terminal,
    /// A drawing of 35 mm, as the regulation has it.
    Svg,
    /// A picture.
    Png,
    /// The text that the QR holds.
    Text,
}

#[derive(Args)]
pub(crate) struct Qr {
    /// The job of the invoice.
    #[arg(value_parser = JobId::parse)]
    job: JobId,
    /// What to draw it as.
    #[arg(long, value_enum, default_value = "terminal")]
    format: Picture,
    /// Where to write it; the standard output if not given. A PNG needs a file.
    #[arg(long, value_name = "FILE", required_if_eq("format", "png"))]
    out: Option<PathBuf>,
}

impl Qr {
    pub(crate) async fn run(&self, client: &Client, output: Output) -> Result<End, Failure> {
        let picture = match self.format {
            Picture::Png => client.qr_png(self.job).await?,
            Picture::Svg => client.qr_svg(self.job).await?.into_bytes(),
            Picture::Text => client.qr_text(self.job).await?.into_bytes(),
            Picture::Terminal => {
                let text = client.qr_text(self.job).await?;
                let symbol = Symbol::new(&text).map_err(|error| Failure::unusable("the QR", error))?;
                format!("{}\n{text}", symbol.terminal()).into_bytes()
            }
        };
        if let Some(path) = &self.out {
            surroundings::write(path, &picture)?;
            output.print(&path.display().to_string(), &json!({"file": path}))?;
        } else {
            let text = String::from_utf8_lossy(&picture);
            output.print(&text, &json!({"qr": text}))?;
        }
        Ok(End::Well)
    }
}
