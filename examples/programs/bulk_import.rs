//! Sends many invoices in batches, in such a way that it can be stopped and started again at any point:
//! each invoice has a key of its own that is derived from what never changes about it.
//!
//! `cargo run -p verifactu-examples --example bulk_import`
#![allow(clippy::print_stdout)]

use std::time::Duration;

use futures_util::TryStreamExt as _;
use verifactu_client::{
    Client, IdempotencyKey,
    api::{BatchOutcome, JobFilter, JobStatus, SendInvoice},
};
use verifactu_examples::{Outcome, Place, invoice};

const INVOICES: usize = 250;
const BATCH: usize = 100;

#[tokio::main]
async fn main() -> Outcome<()> {
    let place = Place::open().await?;
    let client = place.customer().await?;

    // One of them is wrong: it has no line at all.
    let mut invoices: Vec<SendInvoice> =
        (1..=INVOICES).map(|number| invoice(&format!("2026/{number:04}"))).collect::<Outcome<_>>()?;
    invoices[41].desglose.clear();

    let first = import(&client, &invoices).await?;
    println!("{} accepted, {} refused", first.0, first.1.len());
    for (number, reason) in &first.1 {
        println!("  {number}: {reason}");
    }
    assert_eq!((first.0, first.1.len()), (INVOICES - 1, 1));

    // Run again, as after a crash: the same jobs, and nothing twice.
    assert_eq!(import(&client, &invoices).await?.0, INVOICES - 1);

    let last = invoices.last().ok_or("no invoice")?;
    let found = JobFilter { num_serie: Some(last.num_serie.clone()), ..JobFilter::default() };
    let job = client.jobs(&found).page().await?.rows.remove(0);
    client.wait_for_job(job.job_id, Duration::from_secs(120)).await?;
    let done = JobFilter { status: Some(JobStatus::Succeeded), ..JobFilter::default() };
    let done: Vec<_> = client.jobs(&done).limit(200).rows().try_collect().await?;
    println!("{} registered", done.len());
    assert_eq!(done.len(), INVOICES - 1);

    place.close().await;
    Ok(())
}

/// How many were accepted, and why the others were not.
async fn import(client: &Client, invoices: &[SendInvoice]) -> Outcome<(usize, Vec<(String, String)>)> {
    let (mut accepted, mut refused) = (0, Vec::new());
    for part in invoices.chunks(BATCH) {
        let items = part.iter().map(|invoice| {
            let key = IdempotencyKey::parse(&format!("import/{}/{}", invoice.num_serie, invoice.fecha))?;
            Ok(key.send(invoice.clone()))
        });
        let taken = client.send_batch(items.collect::<Outcome<_>>()?).await?;
        for (invoice, item) in part.iter().zip(taken.items) {
            match item.outcome {
                BatchOutcome::Job { .. } => accepted += 1,
                BatchOutcome::Refused { error } => {
                    refused.push((invoice.num_serie.to_string(), error.message));
                }
            }
        }
    }
    Ok((accepted, refused))
}
