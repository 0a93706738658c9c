//! A program that calls the service through the client library. Service and sandbox authority are
//! started in the same process, so it needs nothing; everything after that is what an integrator does:
//! key, certificate, invoice, QR, receipt, and the same request once more.
//!
//! `cargo run -p verifactu-examples --example call_service`
#![allow(clippy::print_stdout)]

use std::time::Duration;

use verifactu_client::{Client, IdempotencyKey, api::JobStatus, types::Secret};
use verifactu_examples::{ISSUER, Outcome, PASSPHRASE, Place, invoice};

#[tokio::main]
async fn main() -> Outcome<()> {
    let place = Place::open().await?;
    let key = place.open_account().await?;

    let client = Client::builder(&place.address()).api_key(key).build()?;
    let status =
        client.upload_certificate(&place.certificate()?, &Secret::new(PASSPHRASE.to_owned())).await?;
    println!("certificate of {:?}", status.certificate.and_then(|certificate| certificate.nif));

    // The key is stored with the invoice before the first sending: after a failure the same is sent.
    let (key, invoice) = (IdempotencyKey::random(), invoice("2026/0001")?);
    let submitted = client.send_invoice(&key, &invoice).await?;
    println!(
        "accepted as job {}; on paper goes {}",
        submitted.job_id(),
        client.qr_text(submitted.job_id()).await?
    );

    let job = client.wait_for_job(submitted.job_id(), Duration::from_secs(60)).await?;
    assert_eq!(job.status, JobStatus::Succeeded);
    let csv = job.result.and_then(|result| result.qr_info.csv).ok_or("no receipt")?;
    println!("registered, CSV {csv}");

    let again = client.send_invoice(&key, &invoice).await?;
    assert!(again.replayed && again.job_id() == submitted.job_id());
    assert_eq!(place.sandbox.registrations(Some(ISSUER)).await?.len(), 1);
    println!("sent once more: the same job, and one registration");

    place.close().await;
    Ok(())
}
