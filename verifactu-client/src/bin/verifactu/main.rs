//! `verifactu`: the service and the core from the command line.

mod account;
mod batch;
mod connection;
mod doctor;
mod failure;
mod offline;
mod online;
mod output;
mod surroundings;
mod webhook;

use std::{path::PathBuf, process::ExitCode};

use clap::{CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use verifactu_client::types::JobId;

use crate::{
    connection::Connection,
    failure::{EXIT_CODES, End, Failure},
    online::Kind,
    output::Output,
};

/// Sends invoices to a VERI*FACTU service, and works on records without one.
#[derive(Parser)]
#[command(name = "verifactu", version, after_help = EXIT_CODES)]
struct Arguments {
    /// Print JSON, one value per line.
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Sends an invoice.
    Send(online::Submit),
    /// Cancels an invoice.
    Cancel(online::Submit),
    Batch(batch::Batch),
    /// Shows a job. Exit code 1 if it is dead.
    Job {
        /// `jobId` of what `send` answered.
        #[arg(value_parser = JobId::parse)]
        id: JobId,
    },
    /// Waits for the end of a job. Exit code 1 if it is dead, 6 if it goes on.
    Wait {
        /// `jobId` of what `send` answered.
        #[arg(value_parser = JobId::parse)]
        id: JobId,
        /// How long.
        #[arg(long, value_name = "SECONDS", default_value_t = 300)]
        patience: u64,
    },
    /// Lists the account's records, newest first.
    Records(account::Records),
    /// Writes all records with their exact bytes to a file, for `verify-chain` or for keeping.
    Export(account::Export),
    /// What the authority holds of an invoice, or of a month. Exit code 1 if nothing.
    Lookup(account::Lookup),
    /// Whether the census knows a taxpayer under its name. Exit code 1 if not.
    Nif(account::NifCheck),
    /// The plan, and what this month has used of it.
    Plan,
    /// The account's certificate.
    #[command(subcommand)]
    Cert(online::Cert),
    /// The QR of a job's invoice.
    Qr(online::Qr),
    /// Receives webhooks.
    #[command(subcommand)]
    Webhook(webhook::Webhook),
    /// Names the layer that fails: DNS, TCP, TLS, service, clock, key, certificate.
    Doctor,
    /// Offline: the huella of a body, and the string that it covers.
    Hash(offline::Hash),
    /// Offline: every rule that a body violates.
    Validate(offline::Body),
    /// Offline: the XML of a record.
    Xml(offline::Xml),
    /// Offline: signs the XML of a record.
    Sign(offline::Sign),
    /// Offline: verifies the signature of a record.
    VerifySignature {
        /// The signed XML; `-` reads the standard input.
        file: PathBuf,
    },
    /// Offline: recomputes every chain of an export, of any system.
    VerifyChain {
        /// One XML document with the records, or one JSON per line with the XML as `xml`; in the order of
        /// each chain. `-` reads the standard input.
        file: PathBuf,
    },
    /// Prints the completions for a shell.
    Completions {
        /// Which one; `verifactu completions bash > /etc/bash_completion.d/verifactu` installs them.
        shell: Shell,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let output = if arguments.json { Output::Programs } else { Output::People };
    let end = run(arguments, output).await.unwrap_or_else(|failure| {
        output.fail(&failure);
        failure.end()
    });
    ExitCode::from(end.code())
}

async fn run(arguments: Arguments, output: Output) -> Result<End, Failure> {
    let connection = &arguments.connection;
    match arguments.command {
        Command::Send(submit) => submit.run(&connection.client()?, Kind::Send, output).await,
        Command::Cancel(submit) => submit.run(&connection.client()?, Kind::Cancel, output).await,
        Command::Batch(batch) => batch.run(connection, output).await,
        Command::Job { id } => online::job(&connection.client()?, id, output).await,
        Command::Wait { id, patience } => online::wait(&connection.client()?, id, patience, output).await,
        Command::Records(records) => records.run(&connection.client()?, output).await,
        Command::Export(export) => export.run(&connection.client()?, output).await,
        Command::Lookup(lookup) => lookup.run(&connection.client()?, output).await,
        Command::Nif(check) => check.run(&connection.client()?, output).await,
        Command::Plan => account::plan(&connection.client()?, output).await,
        Command::Cert(cert) => cert.run(&connection.client()?, output).await,
        Command::Qr(qr) => qr.run(&connection.client()?, output).await,
        Command::Webhook(webhook) => webhook.run(output).await,
        Command::Doctor => doctor::run(connection, output).await,
        Command::Hash(hash) => hash.run(output),
        Command::Validate(body) => body.validate(output),
        Command::Xml(xml) => xml.run(output),
        Command::Sign(sign) => sign.run(output),
        Command::VerifySignature { file } => offline::verify_signature(&file, output),
        Command::VerifyChain { file } => offline::verify_chain(&file, output),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Arguments::command(), "verifactu", &mut std::io::stdout());
            Ok(End::Well)
        }
    }
}
