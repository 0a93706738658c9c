//! The program: `serve` runs the service, `sandbox` the authority to test against.

use std::{
    error::Error,
    io::{self, Write as _},
    panic::PanicHookInfo,
    process::ExitCode,
};

use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};
use verifactu_server::{
    Server,
    config::{Config, Flags, LogConfig, LogFormat},
    demo::{DemoArgs, Verdict},
    openapi,
    sandbox::{PkiArgs, SandboxArgs},
};

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
    /// Run a tax authority to test against.
    Sandbox(SandboxArgs),
    /// Issue a certificate of the sandbox's CA.
    SandboxCertificate(PkiArgs),
    /// Run sandbox and service together and take sample invoices all the way to their receipts.
    Demo(DemoArgs),
    /// Print the OpenAPI document of the service.
    Openapi,
}

#[tokio::main]
async fn main() -> ExitCode {
    // The default that libraries ask for; it can only be taken already if they were first.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    std::panic::set_hook(Box::new(log_panic));
    match run(Program::parse().command).await {
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
            let (config, log) = Config::load(&flags)?;
            start_log(log);
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
        Command::Sandbox(sandbox) => {
            start_log(LogConfig { format: LogFormat::Json, level: tracing::Level::INFO });
            sandbox.run(io::stdout(), asked_to_stop()).await?;
        }
        Command::SandboxCertificate(certificate) => certificate.run().await?,
        Command::Demo(demo) => {
            start_log(LogConfig { format: LogFormat::Text, level: tracing::Level::ERROR });
            if demo.run(io::stdout(), asked_to_stop()).await? == Verdict::Otherwise {
                return Ok(ExitCode::FAILURE);
            }
        }
        Command::Openapi => writeln!(io::stdout(), "{}", openapi::document())?,
    }
    Ok(ExitCode::SUCCESS)
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

/// Logs go to the standard error, so that the standard output holds nothing but what was asked for.
fn start_log(log: LogConfig) {
    let builder = tracing_subscriber::fmt().with_max_level(log.level).with_writer(io::stderr);
    match log.format {
        LogFormat::Json => builder.json().flatten_event(true).init(),
        LogFormat::Text => builder.init(),
    }
}

/// Where a panic happened. Its message is left out: nobody can say what stands in it.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string);
    tracing::error!(place, "panic");
}
