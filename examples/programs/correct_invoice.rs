//! An invoice that the authority rejects, and the way to mend it: a new record of the same invoice, under a
//! new key, that says it corrects.
//!
//! `cargo run -p verifactu-examples --example correct_invoice`
#![allow(clippy::print_stdout)]

use std::time::Duration;

use futures_util::TryStreamExt as _;
use verifactu_client::{
    Client, IdempotencyKey,
    api::{Job, JobStatus, Person, RecordFilter, RecordState},
    types::{JobId, Nif},
};
use verifactu_examples::{ISSUER, Outcome, Place, invoice};

#[tokio::main]
async fn main() -> Outcome<()> {
    let place = Place::open().await?;
    let client = place.customer().await?;

    // The customer's NIF is well-formed, and in no census.
    let mut wrong = invoice("2026/0007")?;
    wrong.destinatarios = vec![Person::spanish("NADIE SA", Nif::parse("A13585625")?)];
    let sent = client.send_invoice(&IdempotencyKey::random(), &wrong).await?;
    let job = answered(&client, sent.job_id()).await?;
    println!("{:?}: {}", job.status, job.last_error.as_deref().unwrap_or_default());
    assert_eq!(job.status, JobStatus::Failed);

    // The service would try it again, in vain. The same number again is refused; a correction is not.
    let mut right = invoice("2026/0007")?;
    let refused = client.send_invoice(&IdempotencyKey::random(), &right).await;
    assert!(refused.is_err_and(|error| error.service().is_some_and(|error| error.is_already_submitted())));
    right.subsanacion = Some(true);
    let corrected = client.send_and_wait(&IdempotencyKey::random(), &right, Duration::from_secs(60)).await?;
    assert_eq!(corrected.status, JobStatus::Succeeded, "{corrected:?}");

    // Both records stay in the chain. The first job is over: nothing old is sent after something newer.
    let records: Vec<_> = client.invoice_records(&RecordFilter::default()).rows().try_collect().await?;
    for record in &records {
        println!("position {}: {:?}", record.posicion, record.estado);
    }
    let states: Vec<_> = records.iter().map(|record| record.estado).collect();
    assert_eq!(states, [RecordState::Correcto, RecordState::Incorrecto]);
    assert_eq!(client.job(job.job_id).await?.status, JobStatus::Dead);
    assert_eq!(place.sandbox.registrations(Some(ISSUER)).await?.len(), 1);

    place.close().await;
    Ok(())
}

/// The job once the authority has answered, whatever it said.
async fn answered(client: &Client, id: JobId) -> Outcome<Job> {
    for _ in 0..600 {
        let job = client.job(id).await?;
        if job.attempts > 0 && job.status != JobStatus::Processing {
            return Ok(job);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err("the authority did not answer".into())
}
