//! When a request is repeated, and with what.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::net::TcpSocket;
use verifactu_client::{
    Client, Error, IdempotencyKey, RetryPolicy,
    api::CreateApiKey,
    types::{Secret, TenantId},
};

use crate::scripted::{Scripted, Step, accepted, answer, error, invoice, job_id, quick};

fn unavailable() -> Step {
    error(503, "", "overloaded", json!({}))
}

#[tokio::test]
async fn what_passes_is_repeated_with_the_same_key_and_body() {
    let passing = [
        unavailable(),
        answer(502, "", "text/html", "<html>"),
        error(504, "", "authority_timeout", json!({})),
        accepted(""),
    ];
    let service = Scripted::start(passing).await;
    let key = IdempotencyKey::parse("erp/2026-001").unwrap();
    service.client().send_invoice(&key, &invoice("1")).await.unwrap();
    let seen = service.seen();
    assert_eq!(seen.len(), 4);
    for request in &seen {
        assert_eq!(request.line, "POST /v1/send-invoice HTTP/1.1");
        assert_eq!(request.header("x-idempotency-key"), Some("erp/2026-001"));
        assert_eq!(request.header("x-api-key"), Some("vf_account"));
        assert_eq!(request.header("x-admin-key"), None);
        assert_eq!(request.body, seen[0].body);
    }
}

#[tokio::test]
async fn attempts_are_counted() {
    let service = Scripted::start(std::iter::repeat_n(unavailable(), 9)).await;
    let found = service.client().job(job_id()).await.unwrap_err();
    assert_eq!((found.status(), service.seen().len()), (Some(503), 4));
}

#[tokio::test]
async fn what_does_not_pass_is_not_repeated() {
    for step in
        [error(500, "", "internal_error", json!({})), error(409, "", "issuer_held", json!({})), Step::Hang]
    {
        let service = Scripted::start([step.clone(), accepted("")]).await;
        let found = service.client().send_invoice(&IdempotencyKey::random(), &invoice("1")).await;
        assert!(found.is_err(), "{step:?}");
        assert_eq!(service.seen().len(), 1, "{step:?}");
    }
}

#[tokio::test]
async fn the_wait_asked_for_is_kept() {
    let service =
        Scripted::start([error(429, "Retry-After: 1\r\n", "rate_limited", json!({})), accepted("")]).await;
    let started = Instant::now();
    service.client().send_invoice(&IdempotencyKey::random(), &invoice("1")).await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert_eq!(service.seen().len(), 2);
}

#[tokio::test]
async fn a_wait_beyond_the_limit_is_the_callers() {
    let service =
        Scripted::start([error(429, "Retry-After: 4000000000\r\n", "rate_limited", json!({}))]).await;
    let found = service.client().job(job_id()).await.unwrap_err();
    assert_eq!(found.retry_after(), Some(Duration::from_secs(4_000_000_000)));
    assert_eq!(service.seen().len(), 1);
}

#[tokio::test]
async fn a_key_is_not_made_twice() {
    let wanted = CreateApiKey::new(TenantId::parse("erp").unwrap(), vec![]);
    let service = Scripted::start([unavailable(), accepted("")]).await;
    assert_eq!(service.client().operator().create_api_key(&wanted).await.unwrap_err().status(), Some(503));
    assert_eq!(service.seen().len(), 1);

    let service = Scripted::start([error(429, "", "rate_limited", json!({})), unavailable()]).await;
    assert_eq!(service.client().operator().create_api_key(&wanted).await.unwrap_err().status(), Some(503));
    let seen = service.seen();
    assert_eq!((seen.len(), seen[1].header("x-admin-key")), (2, Some("operator")));
    assert_eq!(seen[1].header("x-api-key"), None);
}

#[tokio::test]
async fn a_service_that_starts_late_is_reached() {
    // A port that is bound and does not listen refuses connections, and nobody else can take it.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = format!("http://{}", socket.local_addr().unwrap());
    let builder = Client::builder(&address).api_key(Secret::new("vf_a".into()));
    let once = builder.clone().retry(RetryPolicy::never()).build().unwrap();
    let found = once.job(job_id()).await.unwrap_err();
    assert!(matches!(found, Error::Transport(_)) && found.is_unsent() && found.is_retryable(), "{found:?}");

    let patient = RetryPolicy { attempts: 1000, longest_wait: Duration::from_millis(20), ..quick() };
    let client = builder.retry(patient).build().unwrap();
    let (key, invoice) = (IdempotencyKey::random(), invoice("1"));
    let mut sending = std::pin::pin!(client.send_invoice(&key, &invoice));
    let early = tokio::time::timeout(Duration::from_millis(100), &mut sending).await;
    assert!(early.is_err(), "nobody answers yet");
    let service = Scripted::serve(socket.listen(8).unwrap(), [accepted("")]);
    sending.await.unwrap();
    assert_eq!(service.seen().len(), 1);
}
