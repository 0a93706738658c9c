//! Waiting for a job.

use std::time::{Duration, Instant};

use serde_json::json;
use verifactu_client::{IdempotencyKey, RetryPolicy, api::JobStatus};

use crate::scripted::{Scripted, accepted, error, invoice, job, job_id, json_answer};

const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_job_is_watched_until_it_is_final() {
    let steps = [
        accepted(""),
        json_answer(200, "", &job("PROCESSING")),
        error(503, "", "overloaded", json!({})),
        json_answer(200, "", &job("SUCCEEDED")),
    ];
    let service = Scripted::start(steps).await;
    let client = service.builder().retry(RetryPolicy::never()).build().unwrap();
    let found = client.send_and_wait(&IdempotencyKey::random(), &invoice("1"), PATIENCE).await.unwrap();
    assert_eq!(found.status, JobStatus::Succeeded);
    assert_eq!(service.seen().len(), 4);
}

#[tokio::test]
async fn the_services_wait_comes_before_the_first_look() {
    let service = Scripted::start([accepted("Retry-After: 1\r\n"), json_answer(200, "", &job("DEAD"))]).await;
    let started = Instant::now();
    let found =
        service.client().send_and_wait(&IdempotencyKey::random(), &invoice("1"), PATIENCE).await.unwrap();
    assert_eq!(found.status, JobStatus::Dead);
    assert!(started.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_job_that_is_not_final_is_given_as_it_stands() {
    let steps = std::iter::repeat_n(json_answer(200, "Retry-After: 3600\r\n", &job("FAILED")), 3);
    let service = Scripted::start(steps).await;
    let found = service.client().wait_for_job(job_id(), Duration::from_millis(300)).await.unwrap();
    assert_eq!(found.status, JobStatus::Failed);
    assert_eq!(service.seen().len(), 2, "once at first, once when the patience is over");
}

#[tokio::test]
async fn an_error_that_stays_ends_the_wait() {
    let service = Scripted::start([error(404, "", "not_found", json!({}))]).await;
    let found = service.client().wait_for_job(job_id(), PATIENCE).await.unwrap_err();
    assert!(found.service().unwrap().is_not_found());
}
