//! `POST /batches`: many sends and cancels in one request, each with its own key and outcome.
//!
//! The items are taken one after the other in their order, so that they stand in it on their chains.
//! A batch that is repeated is a new batch whose items are found again by their keys.

use std::{sync::Arc, time::Duration};

use verifactu_core::{
    api::{Batch, BatchCounts, BatchEntry, BatchOutcome, BatchTaken, ErrorBody, Json},
    job::{JobKind, JobState},
    ledger::{self, BatchItem, Submission},
    types::{BatchId, RequestId},
};

use super::{
    Service,
    auth::Account,
    call::{Call, Members},
    error::{Fault, Success},
    invoices::{Taken, is_key, take},
    reply::Reply,
    view,
};

/// Most items of a batch.
const MAX_ITEMS: usize = 1000;
/// How long a batch can be looked at; its jobs stay.
const LIFE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

pub(super) async fn create(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let body = call.json()?;
    let mut members = Members::of(&body)?;
    let items = members.array("items", MAX_ITEMS);
    members.finish()?;
    let mut kept = Vec::with_capacity(items.len());
    let mut entries = Vec::with_capacity(items.len());
    for (index, item) in (0..).zip(items) {
        let outcome = match one(&service, &account, item, call.request).await {
            Ok(submission) => {
                kept.push(BatchItem::Accepted(submission.job.id));
                BatchOutcome::Job {
                    job_id: submission.job.id,
                    status: view::status(submission.job.progress.state),
                }
            }
            // Without a store the rest fares no better. What was taken is found again by its key.
            Err(fault @ (Fault::Store(_) | Fault::Internal(_))) => return Err(fault),
            Err(fault) => {
                let error = fault.into_item(call.request);
                let text = serde_json::to_string(&error).map_err(|error| Fault::Internal(error.into()))?;
                kept.push(BatchItem::Refused(text));
                BatchOutcome::Refused { error: Box::new(error) }
            }
        };
        entries.push(BatchEntry { index, outcome });
    }
    let rejected = kept.iter().filter(|item| matches!(item, BatchItem::Refused(_))).count();
    let (accepted, rejected) = (count(kept.len() - rejected), count(rejected));
    let now = service.clock.now();
    let id = BatchId(service.ids.next());
    let batch = ledger::Batch { id, tenant: account.tenant.id.clone(), created_at: now, items: kept };
    service.accounts.put_batch(&batch, now - LIFE).await?;
    let taken = BatchTaken { batch_id: id, accepted, rejected, items: entries };
    Ok(Reply::json(Success::Accepted, call.request, taken)?.at(&format!("/v1/batches/{id}")))
}

pub(super) async fn show(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    const ABSENT: Fault = Fault::NotFound("batch");
    let id = BatchId::parse(call.variable()).map_err(|_| ABSENT)?;
    let tenant = &account.tenant.id;
    let batch = service.accounts.batch(tenant, id).await?.ok_or(ABSENT)?;
    if batch.created_at < service.clock.now() - LIFE {
        return Err(ABSENT);
    }
    let mut counts = BatchCounts::default();
    let mut items = Vec::with_capacity(batch.items.len());
    for (index, item) in (0..).zip(batch.items) {
        let outcome = match item {
            BatchItem::Accepted(job_id) => {
                let submission = service.engine.ledger().job(tenant, job_id).await?.ok_or(ABSENT)?;
                let status = view::status(submission.job.progress.state);
                counts.add(status);
                BatchOutcome::Job { job_id, status }
            }
            BatchItem::Refused(text) => {
                counts.rejected += 1;
                let error: ErrorBody =
                    serde_json::from_str(&text).map_err(|error| Fault::Internal(error.into()))?;
                BatchOutcome::Refused { error: Box::new(error) }
            }
        };
        items.push(BatchEntry { index, outcome });
    }
    let batch = Batch { batch_id: id, created_at: batch.created_at.into(), counts, items };
    Reply::json(Success::Ok, call.request, batch)
}

/// Takes one item.
async fn one(
    service: &Service,
    account: &Account,
    item: &Json,
    request: RequestId,
) -> Result<Box<Submission>, Fault> {
    let mut members = Members::of(item)?;
    let kind = members.text("op", |text| match text {
        "send" => Ok(JobKind::Send),
        "cancel" => Ok(JobKind::Cancel),
        _ => Err("must be send or cancel"),
    });
    let key = members.optional("idempotencyKey", |text| Ok::<_, &str>(text.to_owned()));
    let body = members.object("body");
    members.finish()?;
    let key = key.ok_or(Fault::IdempotencyKeyMissing)?;
    if !is_key(&key) {
        return Err(Fault::IdempotencyKeyInvalid);
    }
    let (Some(kind), Some(body)) = (kind, body) else { return Err(Fault::field("body", "is required")) };
    match take(service, account, kind, key, body, request).await? {
        Taken::New { submission, .. } => Ok(submission),
        Taken::Replayed { same_body: false, submission } => {
            Err(Fault::IdempotencyConflict(submission.job.id))
        }
        Taken::Replayed { submission, .. } if submission.job.progress.state == JobState::Dead => {
            Err(Fault::JobDead(Box::new(service.views.job(&submission))))
        }
        Taken::Replayed { submission, .. } => Ok(submission),
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
