//! The documents that server and client exchange keep their names and survive a round trip.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use verifactu_core::api::{
    Accepted, CertificateStatus, CreateApiKey, CreateTenant, CreatedApiKey, Details, Envelope, ErrorBody,
    ErrorCode, Job, JobStatus, JobType, RecordState, Scope, WebhookPatch,
};

const ID: &str = "6f1f7a0e-8f0b-4b5c-9d5e-0a1b2c3d4e5f";
const HUELLA: &str = "0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF";

/// Reads a document and writes it again.
fn survives<T: Serialize + DeserializeOwned>(document: &Value) -> T {
    let text = document.to_string();
    let value: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(&serde_json::to_value(&value).unwrap(), document);
    value
}

fn job() -> Value {
    json!({
        "jobId": ID, "type": "SEND_INVOICE", "status": "FAILED", "nif": "B12345674", "numSerie": "2026/F-001",
        "fecha": "15-01-2026", "refExterna": null, "recordId": ID, "attempts": 1, "maxAttempts": 9,
        "nextRetryAt": "2026-01-15T09:02:00Z", "createdAt": "2026-01-15T09:00:00Z", "updatedAt": "2026-01-15T09:01:00.5Z",
        "completedAt": null, "lastError": "1239: x",
        "lastErrorDetail": {"source": "authority", "class": "rejected", "code": "1239", "description": "x", "at": "2026-01-15T09:01:00Z"},
        "result": {
            "qrInfo": {"csv": null, "csvStatus": "none", "huella": HUELLA, "qrText": "https://x"},
            "authority": {"estadoEnvio": "Incorrecto", "estadoRegistro": "Incorrecto", "timestampPresentacion": null, "reconciled": false},
            "errorCode": "1239", "errors": [{"code": "1239", "description": "x", "level": "record"}], "requiresSubsanacion": false,
        },
        "held": {"reason": "operator", "description": "looked into", "since": "2026-01-15T09:03:00Z"},
    })
}

#[test]
fn documents() {
    let job = survives::<Job>(&job());
    assert_eq!(
        (job.kind, job.status, job.status.is_terminal()),
        (JobType::SendInvoice, JobStatus::Failed, false)
    );
    survives::<Accepted>(&json!({
        "jobId": ID, "type": "CANCEL_INVOICE", "status": "PENDING", "recordId": ID, "createdAt": "2026-01-15T09:00:00Z",
        "qrInfo": {"csv": null, "huella": HUELLA, "qrText": null},
        "warnings": [{"code": "2005", "field": "total", "message": "x"}],
    }));
    survives::<CertificateStatus>(&json!({"hasCertificate": false}));
    survives::<CertificateStatus>(&json!({"hasCertificate": true, "certificate": {
        "nif": "B12345674", "commonName": "X", "issuer": "Y", "serial": "0A", "kind": "representante",
        "notBefore": "2026-01-15T09:00:00Z", "notAfter": "2027-01-15T09:00:00Z", "daysUntilExpiry": 365,
        "normalizedFromLegacy": true}}));
    survives::<CreateTenant>(&json!({"id": "acme", "allowedNif": "B12345674", "clientSifEnabled": true}));
    survives::<CreateApiKey>(
        &json!({"tenantId": "acme", "scopes": ["invoices:write", "tenant:certificates:read"]}),
    );
    let created = survives::<CreatedApiKey>(
        &json!({"apiKey": {"id": ID, "key": "vf_secret", "name": null, "scopes": ["nif:read"]}}),
    );
    assert!(!format!("{created:?}").contains("vf_secret"));
    for scope in Scope::ALL {
        survives::<Scope>(&json!(scope.as_str()));
    }
    for (state, text) in
        [(RecordState::EnDuda, "EN_DUDA"), (RecordState::AceptadoConErrores, "ACEPTADO_CON_ERRORES")]
    {
        assert_eq!(serde_json::to_value(state).unwrap(), text);
    }
}

#[test]
fn unknown_members_of_operator_bodies_are_refused() {
    assert!(serde_json::from_value::<CreateTenant>(json!({"id": "acme", "x": 1})).is_err());
    assert!(serde_json::from_value::<CreateApiKey>(json!({"tenantId": "acme", "scopes": ["all"]})).is_err());
}

#[test]
fn what_stays_is_absent_and_what_goes_is_null() {
    let patch = |url| serde_json::to_value(WebhookPatch { url, ..WebhookPatch::default() }).unwrap();
    assert_eq!(patch(None), json!({}));
    assert_eq!(patch(Some(None)), json!({"url": null}));
    assert_eq!(patch(Some(Some("https://x".to_owned()))), json!({"url": "https://x"}));
}

#[test]
fn every_success_body_carries_the_envelope() {
    let mut body = job();
    let members = body.as_object_mut().unwrap();
    members.insert("success".to_owned(), json!(true));
    members.insert("requestId".to_owned(), json!(ID));
    let envelope = survives::<Envelope<Job>>(&body);
    assert_eq!(envelope.request_id.to_string(), ID);
    let text = serde_json::to_string(&envelope).unwrap();
    assert!(text.starts_with("{\"success\":true,\"jobId\""), "{text}");
    assert!(serde_json::from_value::<Envelope<Job>>(job()).is_err());
}

#[test]
fn error_documents() {
    let fields = json!({"success": false, "error": "ValidationError", "code": "validation_failed", "message": "x",
        "details": [{"field": "desglose[0].calif", "code": "1195", "message": "y"}, {"field": "nif", "message": "z"}],
        "requestId": ID});
    assert!(matches!(survives::<ErrorBody>(&fields).details, Some(Details::Fields(list)) if list.len() == 2));
    let chain = json!({"success": false, "error": "ChainContinuityError", "code": "chain_continuity", "message": "x",
        "expectedHuella": HUELLA, "receivedHuella": HUELLA, "requestId": ID});
    survives::<ErrorBody>(&chain);
    let code = json!({"success": false, "error": "CertificateError", "code": "wrong_passphrase", "message": "x",
        "details": {"code": "wrong_passphrase"}, "requestId": ID});
    assert!(matches!(survives::<ErrorBody>(&code).details, Some(Details::Code { .. })));
    let plan = json!({"success": false, "error": "PlanLimitError", "code": "plan_limit_reached", "message": "x",
        "limit": 50, "used": 50, "resetsAt": "2026-02-01T00:00:00Z", "requestId": ID});
    assert_eq!(survives::<ErrorBody>(&plan).limit, Some(50));
    let dead = json!({"success": false, "error": "IdempotencyJobDeadError", "code": "idempotency_job_dead", "message": "x",
        "jobId": ID, "job": job(), "requestId": ID});
    survives::<ErrorBody>(&dead);
    for code in ErrorCode::ALL {
        assert_eq!(code.as_str().parse(), Ok(*code));
    }
}
