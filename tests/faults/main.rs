//! Proof under faults: runs the service as real processes beside a real Redis and PostgreSQL and the
//! sandbox, loads it from many clients, injects a fault, and compares what clients, ledger, authority
//! and the receiver of webhooks have to tell:
//!
//! ```sh
//! cargo run -p verifactu-tests --bin faults -- --kill-single 50 --redis-flush 10
//! ```
//!
//! Each run prints a line of JSON, and each kind one more with its totals. The program fails when any run
//! does, and keeps the files of those.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod fault;
mod load;
mod place;
mod run;

use std::{
    collections::BTreeMap,
    io::Write as _,
    process::ExitCode,
    sync::{Arc, Mutex},
};

use clap::{Arg, ArgMatches, Command, value_parser};
use tokio::{sync::Semaphore, task::JoinSet};

use fault::Fault;
use run::{Report, Totals};

fn arguments() -> ArgMatches {
    let number = |name: &'static str| Arg::new(name).long(name).value_parser(value_parser!(u32));
    Command::new("faults")
        .about("Runs the service under faults, and compares four histories of each run")
        .arg(number("side-by-side").default_value("8").help("Runs at the same time"))
        .arg(number("seed").default_value("1").help("Of the first run; the others count up"))
        .arg(number("each").default_value("0").help("Runs of each kind that is not named"))
        .args(Fault::ALL.iter().map(|fault| number(fault.name()).help(fault.what())))
        .get_matches()
}

fn main() -> ExitCode {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    // The runs block their threads now and then, while a process starts.
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(32).enable_all().build();
    threads.unwrap().block_on(runs(&arguments()))
}

async fn runs(arguments: &ArgMatches) -> ExitCode {
    let number = |name: &str| arguments.get_one::<u32>(name).copied();
    let wanted = |fault: &Fault| number(fault.name()).or_else(|| number("each")).unwrap_or_default();
    let (places, totals) = (
        Arc::new(Semaphore::new(number("side-by-side").unwrap_or(1).max(1) as usize)),
        Arc::new(Mutex::new(BTreeMap::<&str, Totals>::new())),
    );
    let mut runs = JoinSet::new();
    let mut seed = u64::from(number("seed").unwrap_or_default());
    for fault in Fault::ALL {
        let wanted = wanted(fault);
        if wanted > 0 && !fault.is_possible() {
            say(&serde_json::json!({ "skipped": fault.name(), "needs": "root, to mount a small disk" }));
            continue;
        }
        for _ in 0..wanted {
            let (places, totals, of_run) = (places.clone(), totals.clone(), seed);
            runs.spawn(async move {
                let _place = places.acquire().await;
                let report = Report::of(*fault, of_run).await;
                say(&report);
                totals.lock().unwrap().entry(fault.name()).or_default().add(&report);
            });
            seed += 1;
        }
    }
    runs.join_all().await;
    let totals = totals.lock().unwrap();
    for (fault, totals) in totals.iter() {
        say(&serde_json::json!({ "total": fault, "of": totals }));
    }
    if totals.values().all(Totals::is_sound) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn say(line: &impl serde::Serialize) {
    let line = serde_json::to_string(line).unwrap();
    let _ = writeln!(std::io::stdout(), "{line}");
}
