//! How a program's own tests use the sandbox: it runs within the test, fails on demand, and tells what it
//! registered.
//!
//! `cargo run -p verifactu-examples --example sandbox_in_a_test`
#![allow(clippy::print_stdout)]

use std::time::Duration;

use verifactu_client::{
    IdempotencyKey,
    api::{CsvStatus, JobStatus},
};
use verifactu_examples::{ISSUER, Outcome, Place, invoice};
use verifactu_server::sandbox::{Effect, Fault};

#[tokio::main]
async fn main() -> Outcome<()> {
    let place = Place::open().await?;
    let client = place.customer().await?;

    // The authority stores the next message, and the line is cut before it can say so.
    place.sandbox.arm(Fault::new(Effect::Cut).after_storing());
    let key = IdempotencyKey::random();
    let job = client.send_and_wait(&key, &invoice("2026/0001")?, Duration::from_secs(120)).await?;

    // The service asked what the authority holds, and found its own record there.
    assert_eq!(job.status, JobStatus::Succeeded, "{job:?}");
    let result = job.result.ok_or("no result")?;
    assert_eq!(result.qr_info.csv_status, Some(CsvStatus::Lost));
    assert!(result.authority.is_some_and(|authority| authority.reconciled));
    assert_eq!(place.sandbox.registrations(Some(ISSUER)).await?.len(), 1);
    println!("an answer was lost, and the invoice is registered once");

    place.close().await;
    Ok(())
}
