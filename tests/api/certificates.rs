//! Uploads of certificates, by file (specification, Certificate upload).

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use futures_util::future::{FutureExt as _, select_all};
use serde_json::{Value, json};

use crate::world::{Answer, Mode, SCOPES, Trouble, World, invoice};

fn fixture(file: &str) -> Vec<u8> {
    std::fs::read(format!("{}/fixtures/pkcs12/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

async fn upload(world: &World, key: &str, file: &[u8], passphrase: &str) -> Answer {
    let body = json!({ "pfxBase64": BASE64.encode(file), "pfxPassphrase": passphrase });
    world.ask("POST", "/v1/me/certificate").key(key).json(&body).await
}

async fn upload_form(world: &World, key: &str, parts: &[(&str, &[u8])]) -> Answer {
    let mut body = Vec::new();
    for (name, value) in parts {
        let file =
            if *name == "pfx" { "; filename=\"c.p12\"\r\nContent-Type: application/x-pkcs12" } else { "" };
        let head = format!("--border\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(value);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--border--\r\n");
    world.ask("POST", "/v1/me/certificate").key(key).bytes("multipart/form-data; boundary=border", body).await
}

#[tokio::test]
async fn each_kind_of_file_has_its_answer() {
    let world = World::new().await;
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    let child = world.account(json!({ "id": "child", "allowedNif": "B12345674" }), SCOPES).await;
    let same = "correct";
    // File, passphrase, and for an account of anybody and one of B12345674 alone: the code, or else
    // whether the file was of an old format.
    type Outcome = Result<bool, &'static str>;
    let rows: &[(&str, &str, Outcome, Outcome)] = &[
        ("aes256.p12", same, Ok(false), Err("cert_nif_mismatch")),
        ("aes256.p12", "wrong", Err("wrong_passphrase"), Err("wrong_passphrase")),
        ("representative.p12", same, Ok(false), Ok(false)),
        ("seal.p12", same, Ok(false), Ok(false)),
        ("ec.p12", same, Ok(false), Err("cert_nif_mismatch")),
        ("legacy-rc2-40.p12", same, Ok(true), Err("cert_nif_mismatch")),
        ("legacy-3des.p12", same, Ok(true), Err("cert_nif_mismatch")),
        ("legacy-rc2-40.p12", "wrong", Err("wrong_passphrase"), Err("wrong_passphrase")),
        ("legacy-rc2-128.p12", same, Err("legacy_rc2"), Err("legacy_rc2")),
        ("legacy-rc4-128.p12", same, Err("legacy_rc2"), Err("legacy_rc2")),
        ("empty-passphrase.p12", "", Ok(false), Err("cert_nif_mismatch")),
        ("no-key.p12", same, Err("malformed"), Err("malformed")),
        ("no-certificate.p12", same, Err("malformed"), Err("malformed")),
        ("mismatched.p12", same, Err("malformed"), Err("malformed")),
        ("expired.p12", same, Err("expired"), Err("expired")),
        ("make.sh", same, Err("malformed"), Err("malformed")),
    ];
    for (file, passphrase, anybody, one) in rows {
        for (key, wanted) in [(&key, anybody), (&child, one)] {
            let answer = upload(&world, key, &fixture(file), passphrase).await;
            match wanted {
                Err(code) => answer.fails(422, code),
                Ok(legacy) => {
                    let body = answer.expect(200);
                    assert_eq!(body["hasCertificate"], true, "{file}");
                    let normalized = &body["certificate"]["normalizedFromLegacy"];
                    assert_eq!(*normalized, if *legacy { json!(true) } else { Value::Null }, "{file}");
                }
            }
        }
    }
    upload(&world, &key, b"", same).await.fails(422, "malformed");
    upload(&world, &key, &vec![0x30; 100 * 1024], same).await.fails(413, "payload_too_large");
}

#[tokio::test]
async fn a_form_does_as_well_as_json() {
    let world = World::new().await;
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    let file = fixture("accents.p12");
    let form =
        upload_form(&world, &key, &[("pfx", &file), ("pfxPassphrase", "contraseña€ñ".as_bytes())]).await;
    let status = form.expect(200);
    assert_eq!(status["certificate"]["nif"], "99999972C");

    for (parts, fields) in [
        (vec![("pfxPassphrase", &b"x"[..])], vec!["pfx"]),
        (vec![("pfx", &file[..])], vec!["pfxPassphrase"]),
        (vec![("pfx", &file[..]), ("pfxPassphrase", b"\xff")], vec!["pfxPassphrase"]),
        (vec![("pfx", &file[..]), ("pfxPassphrase", b"x"), ("more", b"")], vec!["more"]),
    ] {
        let answer = upload_form(&world, &key, &parts).await;
        answer.fails(400, "validation_failed");
        assert_eq!(answer.fields(), fields);
    }
    let ask = |kind: &'static str| {
        world.ask("POST", "/v1/me/certificate").key(&key).bytes(kind, b"--border--".to_vec())
    };
    ask("multipart/form-data").await.fails(400, "validation_failed");
    ask("multipart/form-data; boundary=other").await.fails(400, "validation_failed");
    ask("application/x-pkcs12").await.fails(415, "unsupported_media_type");

    let ask = |body: Value| {
        let ask = world.ask("POST", "/v1/me/certificate").key(&key);
        async move { ask.json(&body).await }
    };
    for (body, fields) in [
        (json!({}), vec!["pfxBase64", "pfxPassphrase"]),
        (json!({ "pfxBase64": "not base64!", "pfxPassphrase": "x" }), vec!["pfxBase64"]),
        (json!({ "pfxBase64": 1, "pfxPassphrase": "x" }), vec!["pfxBase64"]),
        (json!({ "pfxBase64": "", "pfxPassphrase": "x", "alias": "" }), vec!["alias"]),
    ] {
        let answer = ask(body).await;
        answer.fails(400, "validation_failed");
        assert_eq!(answer.fields(), fields);
    }
}

#[tokio::test]
async fn a_certificate_is_shown_replaced_and_removed() {
    let world = World::new().await;
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    let show = || world.ask("GET", "/v1/me/certificate").key(&key).send();
    let none = show().await.expect(200);
    assert_eq!((none["hasCertificate"].as_bool(), &none["certificate"]), (Some(false), &Value::Null));
    world.ask("DELETE", "/v1/me/certificate").key(&key).send().await.fails(404, "not_found");

    upload(&world, &key, &fixture("aes256.p12"), "correct").await.expect(200);
    upload(&world, &key, &fixture("expired.p12"), "correct").await.fails(422, "expired");
    let first = show().await.expect(200);
    assert_eq!(first["certificate"]["kind"], "persona");
    upload(&world, &key, &fixture("seal.p12"), "correct").await.expect(200);
    let second = show().await.expect(200);
    assert_eq!(second["certificate"]["kind"], "sello");
    assert_eq!(second["certificate"]["nif"], "B12345674");
    assert!(second["certificate"]["daysUntilExpiry"].as_i64().unwrap() > 0);
    assert_ne!(first["certificate"]["serial"], second["certificate"]["serial"]);

    let removed = world.ask("DELETE", "/v1/me/certificate").key(&key).send().await.expect(200);
    assert_eq!(
        (removed["hasCertificate"].as_bool(), removed["waitingJobs"].as_u64()),
        (Some(false), Some(0))
    );
    assert_eq!(show().await.expect(200)["hasCertificate"], false);
}

#[tokio::test]
async fn jobs_wait_for_a_certificate_and_go_on_with_it() {
    let world = World::new().await;
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    let send = world.ask("POST", "/v1/send-invoice").key(&key).idempotency("W-1");
    let sent = send.json(&invoice("W-1")).await.expect(202);
    let held = async {
        loop {
            let chains = world.ask("GET", "/v1/me/chains").key(&key).send().await.expect(200);
            if chains["chains"][0]["heldReason"] == "certificate" {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), held).await.expect("the chain is held");
    world.upload_sandbox_certificate(&key).await;
    world.job_when(&key, sent["jobId"].as_str().unwrap(), |job| job["status"] == "SUCCEEDED").await;
}

#[tokio::test]
async fn where_certificates_are_required_no_invoice_goes_without() {
    let world = World::with(|config| config.certificates.required = true).await;
    world.set(Mode::Unreachable);
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    let send = || world.ask("POST", "/v1/send-invoice").key(&key).idempotency("R-1");
    send().json(&invoice("R-1")).await.fails(422, "tenant_certificate_required");
    world.upload_sandbox_certificate(&key).await;
    send().json(&invoice("R-1")).await.expect(202);
    let removed = world.ask("DELETE", "/v1/me/certificate").key(&key).send().await.expect(200);
    assert_eq!(removed["waitingJobs"], 1);
    let replay = send().json(&invoice("R-1")).await;
    assert_eq!(replay.header("idempotency-replayed"), "true", "a replay comes before the certificate");
}

/// Few files are opened at a time, and whose turn does not come is told.
#[tokio::test]
async fn an_upload_that_gets_no_turn_is_told_so() {
    let world = World::new().await;
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    let body = world.sandbox_certificate();
    world.trouble(Trouble::Stuck);
    let uploads = (0..3).map(|_| world.ask("POST", "/v1/me/certificate").key(&key).json(&body).boxed());
    let (first, ..) = select_all(uploads).await;
    first.fails(503, "overloaded");
}
