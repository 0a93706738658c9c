//! What the service costs over the engine it stands on, and what it needs:
//! `cargo bench -p verifactu-tests --bench service`.
//!
//! Fifty clients send invoices over HTTP, each the next one as soon as it has its answer; nothing is sent
//! on, because the accounts have no certificate. Beside it, in turns, the raw engine writes the same rows
//! for fifty callers, with the same durability and as many of them in a transaction as wait. The fastest
//! turn of each counts. The clients share the machine's processors with the service.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

mod client;
mod fill;
mod raw;
mod raw_postgres;
mod service;

use std::{path::Path, process::Command, time::Duration};

use clap::Parser;
use harness::{postgres_server::PostgresServer, redis_server::RedisServer};

use raw::Raw;
use service::Service;

const MIB: u64 = 1 << 20;

#[derive(Parser)]
struct Arguments {
    /// Records in the ledger, for each figure of the embedded ledger; rising.
    #[arg(long, value_delimiter = ',', default_value = "1000,100000,1000000")]
    records: Vec<u64>,
    /// Length of a turn.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Turns of each.
    #[arg(long, default_value_t = 3)]
    turns: u32,
    /// Callers at the same time.
    #[arg(long, default_value_t = 50)]
    clients: usize,
    /// Accounts of the memory's figure, each with ten chains.
    #[arg(long, default_value_t = 10_000)]
    tenants: u64,
    /// Measure the released program as it is there, and build none.
    #[arg(long)]
    as_built: bool,
    /// Cargo says so.
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main]
async fn main() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let arguments = Arguments::parse();
    if !arguments.as_built {
        build_service();
    }
    println!("| ledger | records, at least | accepted per second | beside the first | raw engine | ratio |");
    println!("|---|--:|--:|--:|--:|--:|");
    let folder = tempfile::tempdir().unwrap();
    embedded(&arguments, folder.path()).await;
    shared(&arguments).await;
    println!();
    let crowd = tempfile::tempdir().unwrap();
    memory(&arguments, crowd.path()).await;
}

fn build_service() {
    let build = ["build", "--release", "-p", "verifactu-server"];
    assert!(Command::new(env!("CARGO")).args(build).status().unwrap().success());
}

async fn embedded(arguments: &Arguments, folder: &Path) {
    let service = Service::start(folder);
    let keys = service.accounts().await;
    client::send_one_each(&service, &keys).await;
    service.stop();
    let ledger = folder.join("ledger.db");
    let turn = Duration::from_secs(arguments.seconds);
    let (mut run, mut first) = (0, None);
    for records in &arguments.records {
        fill::fill(&ledger, *records);
        let (mut ours, mut theirs) = (0.0_f64, 0.0_f64);
        for _ in 0..arguments.turns {
            run += 1;
            let service = Service::start(folder);
            ours = ours.max(client::load(&service, &keys, arguments.clients, turn, run).await);
            service.stop();
            theirs = theirs.max(Raw::open(&ledger).load(arguments.clients, turn, run).await);
        }
        let flat = ours / *first.get_or_insert(ours);
        println!("| SQLite | {records} | {ours:.0} | {flat:.2} | {theirs:.0} | {:.2} |", ours / theirs);
    }
    let service = Service::start(folder);
    tokio::time::sleep(Duration::from_secs(2)).await;
    println!();
    println!("start on the ledger with most records: {} ms", service.started_in.as_millis());
    println!("idle memory there: {} MiB", service.resident() / MIB);
    service.stop();
}

/// One process over PostgreSQL and Redis; both keep what they promise.
async fn shared(arguments: &Arguments) {
    let (postgres, redis) = (PostgresServer::start(), RedisServer::start());
    let (database, queue) = (postgres.database().await, redis.url());
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start_with(folder.path(), &["--ledger", &database, "--queue", &queue]);
    let keys = service.accounts().await;
    client::send_one_each(&service, &keys).await;
    let turn = Duration::from_secs(arguments.seconds);
    // A connection for each chain, and as the service does it, chains that share transactions.
    let raws = [("by chain", service::ISSUERS.len()), ("of several chains", 2)];
    let (mut ours, mut theirs) = (0.0_f64, [0.0_f64; 2]);
    for run in 1..=arguments.turns {
        ours = ours.max(client::load(&service, &keys, arguments.clients, turn, run).await);
        for ((_, connections), theirs) in raws.iter().zip(&mut theirs) {
            let rate = raw_postgres::load(&database, *connections, arguments.clients, turn, run).await;
            *theirs = theirs.max(rate);
        }
    }
    for ((grouped, _), theirs) in raws.iter().zip(theirs) {
        println!(
            "| PostgreSQL, Redis; raw engine {grouped} | 10 | {ours:.0} | | {theirs:.0} | {:.2} |",
            ours / theirs
        );
    }
    service.stop();
}

async fn memory(arguments: &Arguments, folder: &Path) {
    let service = Service::start(folder);
    let keys = service.accounts().await;
    client::send_one_each(&service, &keys).await;
    service.stop();
    let keys = fill::crowd(&folder.join("ledger.db"), arguments.tenants);
    let service = Service::start(folder);
    let turn = Duration::from_secs(arguments.seconds * 2);
    let sends = client::load(&service, &keys, arguments.clients, turn, 0).await;
    println!(
        "peak memory with {} accounts and {} chains due: {} MiB, at {sends:.0} accepted per second",
        keys.len(),
        keys.len() as u64 * fill::CHAINS,
        service.peak() / MIB
    );
    service.stop();
}
