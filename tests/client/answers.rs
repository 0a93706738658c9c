//! What every kind of answer is taken for.

use std::time::Duration;

use serde_json::json;
use verifactu_client::{
    Error, IdempotencyKey, RetryPolicy, Submission,
    api::{CreateApiKey, Details, ErrorCode, JobStatus, Scope},
    types::{Secret, SecretBytes, TenantId},
};

use crate::scripted::{
    HUELLA, JOB_ID, REQUEST_ID, Scripted, Step, accepted, answer, error, invoice, job, job_id, json_answer,
};

/// The error of one sending that is tried once.
async fn error_of(step: Step) -> Error {
    let service = Scripted::start([step]).await;
    let client = service.builder().retry(RetryPolicy::never()).build().unwrap();
    client.send_invoice(&IdempotencyKey::random(), &invoice("1")).await.unwrap_err()
}

#[tokio::test]
async fn the_services_own_error_is_typed() {
    let more = json!({"expectedHuella": HUELLA, "receivedHuella": HUELLA.replace('3', "4")});
    let error_409 = error_of(error(409, "", "chain_continuity", more)).await;
    let service = error_409.service().unwrap();
    assert!(service.is_chain_conflict());
    assert_eq!((service.status, service.code()), (409, Some(ErrorCode::ChainContinuity)));
    assert_eq!(service.document.expected_huella.unwrap().as_str(), HUELLA);
    assert_eq!(error_409.request_id().unwrap().to_string(), REQUEST_ID);
    assert!(!error_409.is_retryable());
    assert!(error_409.to_string().contains("it is so") && error_409.to_string().contains(REQUEST_ID));

    let details =
        json!({"details": [{"field": "desglose[0].calif", "code": "1195", "message": "is missing"}]});
    let error_400 = error_of(error(400, "", "validation_failed", details)).await;
    let service = error_400.service().unwrap();
    assert!(service.is_validation());
    let Some(Details::Fields(fields)) = &service.document.details else { panic!("{service:?}") };
    assert_eq!((fields[0].field.as_str(), fields[0].code.as_deref()), ("desglose[0].calif", Some("1195")));

    let error_422 = error_of(error(422, "", "legacy_rc2", json!({"details": {"code": "legacy_rc2"}}))).await;
    assert_eq!(error_422.service().unwrap().code(), Some(ErrorCode::LegacyRc2));

    let dead =
        error_of(error(409, "", "idempotency_job_dead", json!({"jobId": JOB_ID, "job": job("DEAD")}))).await;
    assert_eq!(dead.service().unwrap().document.job.as_ref().unwrap().status, JobStatus::Dead);

    let limited = error_of(error(429, "Retry-After: 7\r\n", "rate_limited", json!({}))).await;
    assert!(limited.service().unwrap().is_rate_limited() && limited.is_retryable());
    assert_eq!(limited.retry_after(), Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn a_code_of_a_newer_service_is_kept() {
    let found = error_of(error(418, "", "teapot", json!({"brew": [1, 2]}))).await;
    let service = found.service().unwrap();
    assert_eq!((service.code(), service.document.code.as_str()), (None, "teapot"));
    assert!(!found.is_retryable());
}

#[tokio::test]
async fn what_is_no_answer_of_the_service_is_unexpected() {
    let page = format!("<html>\r\n<body>Bad gateway{}</body></html>", " ".repeat(5000));
    let found = error_of(answer(502, "Retry-After: 3\r\n", "text/html", page)).await;
    let Error::Unexpected { status: 502, request_id: Some(_), excerpt, .. } = &found else {
        panic!("{found:?}")
    };
    assert!(excerpt.starts_with("<html>  <body>Bad gateway") && excerpt.chars().count() <= 200, "{excerpt}");
    assert!(found.is_retryable());
    assert_eq!(found.retry_after(), Some(Duration::from_secs(3)));

    let portal = error_of(answer(200, "", "text/html", "<html>Sign in")).await;
    assert!(matches!(&portal, Error::Unexpected { status: 200, excerpt, .. } if excerpt == "<html>Sign in"));

    let moved = error_of(answer(301, "Location: /elsewhere\r\n", "text/plain", "moved")).await;
    assert!(matches!(moved, Error::Unexpected { status: 301, .. }), "redirects are not followed");
    assert!(!moved.is_retryable());

    let foreign = error_of(json_answer(403, "", &json!({"message": "Forbidden"}))).await;
    assert!(
        matches!(&foreign, Error::Unexpected { status: 403, excerpt, .. } if excerpt.contains("Forbidden"))
    );

    let other_version =
        error_of(json_answer(202, "", &json!({"success": true, "requestId": REQUEST_ID}))).await;
    let Error::Unexpected { source: Some(source), .. } = &other_version else { panic!("{other_version:?}") };
    assert!(source.to_string().contains("jobId"), "{source}");

    let huge = error_of(answer(500, "", "text/plain", vec![b'x'; 5 << 20])).await;
    assert!(matches!(huge, Error::Unexpected { status: 500, .. }));

    let binary = error_of(answer(500, "", "text/plain", b"\xff\x00\x1b[31m")).await;
    assert!(matches!(&binary, Error::Unexpected { excerpt, .. } if !excerpt.contains(char::is_control)));
}

#[tokio::test]
async fn an_answer_that_is_cut_off_may_be_asked_for_again() {
    let Step::Say(mut bytes) = accepted("") else { panic!() };
    bytes.truncate(bytes.len() - 40);
    let found = error_of(Step::Say(bytes)).await;
    assert!(matches!(found, Error::Unexpected { status: 202, source: Some(_), .. }), "{found:?}");
    assert!(found.is_retryable() && !found.is_unsent());

    let found = error_of(Step::Hang).await;
    assert!(matches!(found, Error::Transport(_)), "{found:?}");
    assert!(found.is_retryable() && !found.is_unsent());
}

#[tokio::test]
async fn silence_ends() {
    let service = Scripted::start([Step::Silence]).await;
    let limit = Duration::from_millis(500);
    let client = service.builder().timeout(limit).build().unwrap();
    let found = client.job(job_id()).await.unwrap_err();
    assert!(matches!(found, Error::Timeout(found) if found == limit), "{found:?}");
    assert!(found.is_retryable());
    assert_eq!(service.seen().len(), 1, "a request that may have arrived is left to the caller");
}

#[tokio::test]
async fn a_key_is_shown_in_no_error() {
    let body = json!({"success": true, "apiKey": {"id": "k1", "key": "vf_fresh"}, "requestId": REQUEST_ID});
    let service = Scripted::start([json_answer(201, "", &body)]).await;
    let wanted = CreateApiKey::new(TenantId::parse("erp").unwrap(), vec![Scope::InvoicesRead]);
    let found = service.client().operator().create_api_key(&wanted).await.unwrap_err();
    assert!(matches!(found, Error::Unexpected { status: 201, .. }));
    assert!(!format!("{found} {found:?}").contains("vf_fresh"));
}

#[tokio::test]
async fn replays_are_told() {
    let replayed = "Idempotency-Replayed: true\r\n";
    let service =
        Scripted::start([accepted("Retry-After: 9\r\n"), json_answer(200, replayed, &job("SUCCEEDED"))])
            .await;
    let (client, key) = (service.client(), IdempotencyKey::parse("a/1").unwrap());

    let first = client.send_invoice(&key, &invoice("1")).await.unwrap();
    assert!(!first.replayed);
    assert_eq!((first.job_id(), first.status()), (job_id(), JobStatus::Pending));
    assert_eq!(first.qr_info().unwrap().huella.as_str(), HUELLA);
    assert_eq!(first.retry_after, Some(Duration::from_secs(9)));

    let second = client.send_invoice(&key, &invoice("1")).await.unwrap();
    assert!(second.replayed);
    assert!(matches!(second.submission, Submission::Finished(_)));
    assert_eq!((second.job_id(), second.status()), (job_id(), JobStatus::Succeeded));
}

#[tokio::test]
async fn a_qr_is_of_its_media_type() {
    let steps = [
        answer(200, "", "image/svg+xml; charset=utf-8", "<svg/>"),
        answer(200, "", "image/png", b"\x89PNG"),
        answer(200, "", "text/plain; charset=utf-8", "https://x"),
        answer(200, "", "text/html", "<html>"),
        answer(200, "", "text/plain", b"\xff"),
    ];
    let service = Scripted::start(steps).await;
    let client = service.client();
    assert_eq!(client.qr_svg(job_id()).await.unwrap(), "<svg/>");
    assert_eq!(client.qr_png(job_id()).await.unwrap(), b"\x89PNG");
    assert_eq!(client.qr_text(job_id()).await.unwrap(), "https://x");
    assert!(matches!(client.qr_text(job_id()).await, Err(Error::Unexpected { status: 200, .. })));
    assert!(matches!(client.qr_text(job_id()).await, Err(Error::Unexpected { status: 200, .. })));
    let lines: Vec<_> = service.seen().iter().map(|seen| seen.line.clone()).collect();
    assert_eq!(lines[0], format!("GET /v1/jobs/{JOB_ID}/qr?format=svg HTTP/1.1"));
    assert_eq!(lines[2], format!("GET /v1/jobs/{JOB_ID}/qr?format=txt HTTP/1.1"));
}

#[tokio::test]
async fn a_service_that_is_not_ready_is_no_error() {
    let ready = json!({"ready": false, "dependencies": [{"name": "ledger", "ready": false, "message": "no"}],
        "warnings": []});
    let steps = [
        error(503, "", "store_unavailable", ready),
        error(503, "", "overloaded", json!({})),
        answer(404, "", "text/html", "<html>"),
        json_answer(
            200,
            "",
            &json!({"success": true, "status": "ok", "version": "1", "requestId": REQUEST_ID}),
        ),
    ];
    let service = Scripted::start(steps).await;
    let client = service.client();
    let found = client.ready().await.unwrap();
    assert!(!found.ready && found.dependencies[0].name == "ledger");
    assert!(matches!(client.ready().await, Err(Error::Service(_))));
    assert!(matches!(client.ready().await, Err(Error::Unexpected { status: 404, .. })));
    assert_eq!(client.health().await.unwrap().version, "1");
    let seen = service.seen();
    assert_eq!(
        (seen[0].line.as_str(), seen[3].line.as_str()),
        ("GET /ready HTTP/1.1", "GET /health HTTP/1.1")
    );
    assert!(seen.iter().all(|seen| seen.header("x-api-key").is_none()));
}

#[tokio::test]
async fn a_certificate_travels_as_base64() {
    let status = json!({"success": true, "hasCertificate": false, "requestId": REQUEST_ID});
    let removed =
        json!({"success": true, "hasCertificate": false, "waitingJobs": 3, "requestId": REQUEST_ID});
    let service = Scripted::start([json_answer(200, "", &status), json_answer(200, "", &removed)]).await;
    let client = service.client();
    let passphrase = Secret::new("\u{1}\"ñ\"".into());
    client.upload_certificate(&SecretBytes::new(vec![0, 255, 7]), &passphrase).await.unwrap();
    assert_eq!(client.remove_certificate().await.unwrap().waiting_jobs, 3);
    let seen = service.seen();
    let body: serde_json::Value = serde_json::from_slice(&seen[0].body).unwrap();
    assert_eq!(body, json!({"pfxBase64": "AP8H", "pfxPassphrase": passphrase.expose()}));
    assert_eq!(seen[1].line, "DELETE /v1/me/certificate HTTP/1.1");
}
