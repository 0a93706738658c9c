//! Batches and the preview. Each test names the line of the contract that it stands for.

use serde_json::{Value, json};

use crate::world::{ISSUER, Mode, SCOPES, World, cancellation, invoice};

fn item(op: &str, key: &str, body: Value) -> Value {
    json!({ "op": op, "idempotencyKey": key, "body": body })
}

/// An item that is refused is told in few words, whatever was sent: the answer is not longer than the
/// request, nor is what is kept of it.
#[tokio::test]
async fn refused_items_are_told_shortly() {
    let world = World::new().await;
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    let mut wrong = invoice("B-1");
    for number in 0..200 {
        wrong[format!("{}{number}", "sorpresa".repeat(20))] = json!(1);
    }
    let items: Vec<_> = (0..30).map(|number| item("send", &number.to_string(), wrong.clone())).collect();
    let answer = world.ask("POST", "/v1/batches").key(&key).json(&json!({ "items": items })).await;
    let location = answer.header("location").to_owned();
    let seen = world.ask("GET", &location).key(&key).send().await;
    for answer in [answer, seen] {
        assert!(answer.bytes.len() < 50_000, "{} bytes", answer.bytes.len());
        let error = &answer.body["items"][29]["error"];
        assert_eq!(error["details"].as_array().unwrap().len(), 5, "{error}");
        assert_eq!(error["message"], "200 fields are wrong; details names the first 5");
    }
}

/// POST /batches: order kept; 202 {batchId, accepted, rejected, items}. GET /batches/:id: counts by state, items.
/// Each item has its own outcome, and a repeated batch replays item by item under a new identifier.
#[tokio::test]
async fn a_batch_is_many_requests() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    let mut wrong = invoice("B-3");
    wrong["desglose"][0]["calif"] = json!("S9");
    let body = json!({ "items": [
        item("send", "1", invoice("B-1")),
        item("send", "2", invoice("B-2")),
        item("cancel", "1", cancellation("B-1")),
        item("send", "3", wrong),
        item("send", "4", invoice("B-1")),
        { "op": "send", "body": invoice("B-5") },
        item("delete", "6", invoice("B-6")),
        item("send", "1", invoice("B-7")),
    ] });
    let post = || world.ask("POST", "/v1/batches").key(&key).json(&body);
    let answer = post().await;
    let location = answer.header("location").to_owned();
    let taken = answer.expect(202);
    assert_eq!((taken["accepted"].as_u64(), taken["rejected"].as_u64()), (Some(3), Some(5)), "{taken}");
    let items = taken["items"].as_array().unwrap();
    let codes: Vec<_> = items.iter().map(|item| item["error"]["code"].as_str()).collect();
    assert_eq!(
        codes,
        [
            None,
            None,
            None,
            Some("validation_failed"),
            Some("invoice_already_submitted"),
            Some("idempotency_key_missing"),
            Some("validation_failed"),
            Some("idempotency_conflict"),
        ]
    );
    assert_eq!(items[3]["error"]["details"][0]["field"], "desglose[0].calif");
    assert_eq!(items[4]["error"]["jobId"], items[0]["jobId"]);
    for (item, index) in items.iter().zip(0_u64..) {
        assert_eq!(item["index"], index);
    }
    // In their order on the chain.
    let records = world.ask("GET", "/v1/me/invoice-records").key(&key).send().await.expect(200);
    let jobs: Vec<_> = records["records"].as_array().unwrap().iter().rev().map(|row| &row["jobId"]).collect();
    assert_eq!(jobs, [&items[0]["jobId"], &items[1]["jobId"], &items[2]["jobId"]]);

    for job in jobs {
        world.job_when(&key, job.as_str().unwrap(), |job| job["status"] == "SUCCEEDED").await;
    }
    let shown = world.ask("GET", &location).key(&key).send().await.expect(200);
    assert_eq!(shown["batchId"], taken["batchId"]);
    assert_eq!(
        (&shown["counts"]["SUCCEEDED"], &shown["counts"]["REJECTED"]),
        (&json!(3), &json!(5)),
        "{shown}"
    );
    assert_eq!(shown["items"][3]["error"]["code"], "validation_failed");
    assert_eq!(shown["items"][0]["status"], "SUCCEEDED");
    let other = world.account(json!({ "id": "other" }), SCOPES).await;
    world.ask("GET", &location).key(&other).send().await.fails(404, "not_found");

    let again = post().await.expect(202);
    assert_ne!(again["batchId"], taken["batchId"]);
    assert_eq!(again["items"][0]["jobId"], items[0]["jobId"]);
    assert_eq!(again["items"][0]["status"], "SUCCEEDED");
    let chains = world.ask("GET", "/v1/me/chains").key(&key).send().await.expect(200);
    assert_eq!(chains["chains"][0]["length"], 3);
}

/// Batches: up to 1000 items, 8 MiB; what is wrong with the batch itself is a 400.
#[tokio::test]
async fn a_batch_has_bounds() {
    let world = World::new().await;
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    let post = |body: Value| {
        let ask = world.ask("POST", "/v1/batches").key(&key);
        async move { ask.json(&body).await }
    };
    for body in [
        json!({}),
        json!({ "items": [] }),
        json!({ "items": vec![1; 1001] }),
        json!({ "items": 1 }),
        json!([]),
    ] {
        post(body).await.fails(400, "validation_failed");
    }
    let large = json!({ "items": ["x".repeat(300 * 1024)] });
    assert_eq!(post(large).await.status, 202, "larger than any other body");
}

/// POST /invoices/preview: validation, canonical string, huella, XML, QR; nothing stored.
#[tokio::test]
async fn a_preview_leaves_no_trace() {
    let world = World::new().await;
    world.set(Mode::Unreachable);
    let key = world.ready_account("acme").await;
    let preview = |body: &Value| {
        let body = body.clone();
        let ask = world.ask("POST", "/v1/invoices/preview").key(&key);
        async move { ask.json(&body).await }
    };
    let first = preview(&invoice("V-1")).await.expect(200);
    assert_eq!(first["huellaAnterior"], Value::Null);
    let canonical = first["canonical"].as_str().unwrap();
    assert!(canonical.starts_with(&format!("IDEmisorFactura={ISSUER}&NumSerieFactura=V-1&")), "{canonical}");
    assert!(first["xml"].as_str().unwrap().contains(first["huella"].as_str().unwrap()));
    assert!(
        first["qrText"].as_str().unwrap().contains("V-1")
            && first["qrSvg"].as_str().unwrap().contains("<svg")
    );
    let chains = world.ask("GET", "/v1/me/chains").key(&key).send().await.expect(200);
    assert_eq!(chains["chains"], json!([]));

    let send = world.ask("POST", "/v1/send-invoice").key(&key).idempotency("V-1");
    let sent = send.json(&invoice("V-1")).await.expect(202);
    let second = preview(&invoice("V-2")).await.expect(200);
    assert_eq!(second["huellaAnterior"], sent["qrInfo"]["huella"]);
    preview(&invoice("V-1")).await.fails(409, "invoice_already_submitted");
    let mut wrong = invoice("V-3");
    wrong["tipoFactura"] = json!("F9");
    assert_eq!(preview(&wrong).await.fields(), ["tipoFactura"]);
    let chains = world.ask("GET", "/v1/me/chains").key(&key).send().await.expect(200);
    assert_eq!(chains["chains"][0]["length"], 1);
}
