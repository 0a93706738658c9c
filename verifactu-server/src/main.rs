//! The program: `serve` runs the service, `sandbox` the authority to test against.

use std::{
    error::Error,
    io::{self, Write as _},
    panic::PanicHookInfo,
    process::ExitCode,
    time::Duration,
};

use clap::{Parser, Subcommand};
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
};
use verifactu_server::{
    Server,
    config::{Config, Flags, LogConfig, LogFormat},
    demo::{DemoArgs, Verdict},
    log, openapi,
    operate::{self, BackupArgs, Found, OperateError, RestoreArgs, VerifyArgs},
    sandbox::{PkiArgs, SandboxArgs},
};

/// A request takes many small pieces of memory, some of which another thread gives back; the system's
/// allocator spends twice as long on them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// VERI*FACTU service: invoice records, hashed, chained, signed and sent to the tax authority.
#[derive(Parser)]
#[command(version)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the service. Every setting is also a variable VERIFACTU_… and a key of the settings file.
    Serve(Flags),
    /// Apply changes of the ledger's schema, and stop.
    Migrate(Flags),
    /// Ask the service that runs with these settings whether it is ready.
    Healthcheck(Flags),
    /// Look at the settings.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Look at the chains of a ledger.
    #[command(subcommand)]
    Chain(ChainCommand),
    Backup(BackupArgs),
    Restore(RestoreArgs),
    /// Run a tax authority to test against.
    Sandbox(SandboxArgs),
    /// Issue a certificate of the sandbox's CA.
    SandboxCertificate(PkiArgs),
    /// Run sandbox and service together and take sample invoices all the way to their receipts.
    Demo(DemoArgs),
    /// Print the OpenAPI document of the service.
    Openapi,
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Print every setting with its source, secrets masked; fail where `serve` would.
    Check(Flags),
}

#[derive(Subcommand)]
enum ChainCommand {
    /// Recompute every huella of every chain and print the first break of each; the service may run.
    Verify(VerifyArgs),
}

/// What blocks may go on for so long once everything else has ended.
const LAST: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    // The default that libraries ask for; it can only be taken already if they were first.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    std::panic::set_hook(Box::new(log_panic));
    let command = Program::parse().command;
    let ended = Runtime::new().map_err(Into::into).and_then(|runtime| {
        let ended = runtime.block_on(run(command));
        // Dropped, it would wait without end for a certificate that somebody is opening.
        runtime.shutdown_timeout(LAST);
        ended
    });
    match ended {
        Ok(status) => status,
        Err(error) => {
            let mut text = error.to_string();
            let mut cause = error.source();
            while let Some(error) = cause {
                text.push_str(": ");
                text.push_str(&error.to_string());
                cause = error.source();
            }
            let _ = writeln!(io::stderr(), "error: {text}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> Result<ExitCode, Box<dyn Error + Send + Sync>> {
    match command {
        Command::Serve(flags) => {
            let (config, settings) = Config::load(&flags)?;
            log::start(settings);
            let scheme = if config.tls.is_some() { "https" } else { "http" };
            let running = Server::start(config).await?;
            let url = format!("{scheme}://{}", running.address());
            let ready = serde_json::json!({ "address": running.address().to_string(), "url": url });
            let mut out = io::stdout();
            writeln!(out, "{ready}")?;
            out.flush()?;
            asked_to_stop().await;
            running.stop().await;
        }
        Command::Migrate(flags) => return operated(operate::migrate(&flags, &mut io::stdout()).await),
        Command::Healthcheck(flags) => {
            return operated(operate::healthcheck(&flags, &mut io::stdout()).await);
        }
        Command::Config(ConfigCommand::Check(flags)) => {
            return operated(operate::check_config(&flags, &mut io::stdout()));
        }
        Command::Chain(ChainCommand::Verify(verify)) => {
            return operated(verify.run(&mut io::stdout()).await);
        }
        Command::Backup(backup) => return operated(backup.run(&mut io::stdout()).await),
        Command::Restore(restore) => {
            log::start(LogConfig { format: LogFormat::Text, level: tracing::Level::WARN });
            return operated(restore.run(&mut io::stdout()).await);
        }
        Command::Sandbox(sandbox) => {
            log::start(LogConfig { format: LogFormat::Json, level: tracing::Level::INFO });
            sandbox.run(io::stdout(), asked_to_stop()).await?;
        }
        Command::SandboxCertificate(certificate) => certificate.run(io::stdout()).await?,
        Command::Demo(demo) => {
            log::start(LogConfig { format: LogFormat::Text, level: tracing::Level::ERROR });
            if demo.run(io::stdout(), asked_to_stop()).await? == Verdict::Otherwise {
                return Ok(ExitCode::FAILURE);
            }
        }
        Command::Openapi => writeln!(io::stdout(), "{}", openapi::document())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The exit status of an operator's command.
fn operated(found: Result<Found, OperateError>) -> Result<ExitCode, Box<dyn Error + Send + Sync>> {
    Ok(match found? {
        Found::Well => ExitCode::SUCCESS,
        Found::Wrong => ExitCode::FAILURE,
    })
}

/// Completes when the process is told to end.
async fn asked_to_stop() {
    let heard = async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        io::Result::Ok(())
    };
    match heard.await {
        Ok(()) => tracing::info!("asked to stop"),
        Err(error) => tracing::error!(error = &error as &dyn Error, "signals cannot be heard; stopping"),
    }
}

/// Where a panic happened. Its message is left out: nobody can say what stands in it.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string);
    tracing::error!(place, "panic");
}
