//! What is asked of the authority on an account's behalf: invoices and taxpayers.

use serde_json::{Value, json};
use verifactu_server::sandbox::{Effect, Fault, MessageKind, Settings};

use super::world::{Answer, ISSUER, Mode, Trouble, World, cancellation, invoice, today};

const ALL: &[&str] = &["invoices:write", "invoices:read", "nif:read", "tenant:certificates:write"];

async fn look(world: &World, key: &str, query: &str) -> Answer {
    world.ask("GET", &format!("/v1/invoices/lookup?{query}")).key(key).send().await
}

async fn check(world: &World, key: &str, body: &Value) -> Answer {
    world.ask("POST", "/v1/verify-nif").key(key).json(body).await
}

/// The query that asks for one invoice of today.
fn of(number: &str) -> String {
    format!("nif={ISSUER}&numSerie={number}&fecha={}", today())
}

/// The query that asks for this month.
fn month() -> String {
    let day = today().civil();
    format!("nif={ISSUER}&ejercicio={}&periodo={}", day.year(), day.month())
}

fn numbers(found: &Value) -> Vec<&str> {
    found["facturas"].as_array().unwrap().iter().map(|row| row["numSerie"].as_str().unwrap()).collect()
}

/// Sends, and waits until the authority has it.
async fn registered(world: &World, key: &str, path: &str, body: &Value, name: &str) -> Value {
    let sent = world.ask("POST", path).key(key).idempotency(name).json(body).await.expect(202);
    world.job_when(key, sent["jobId"].as_str().unwrap(), |job| job["status"] == "SUCCEEDED").await
}

#[tokio::test]
async fn an_invoice_is_looked_up_at_the_authority_and_in_the_ledger() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    let job = registered(&world, &key, "/v1/send-invoice", &invoice("L-1"), "a").await;

    let found = look(&world, &key, &of("L-1")).await.expect(200);
    assert_eq!((&found["source"], &found["clavePaginacion"]), (&json!("authority"), &Value::Null));
    let row = &found["facturas"][0];
    let expected = [
        ("nif", json!(ISSUER)),
        ("numSerie", json!("L-1")),
        ("fecha", json!(today().to_string())),
        ("estado", json!("CORRECTO")),
        ("tipoFactura", json!("F2")),
        ("total", json!("121")),
        ("huella", job["result"]["qrInfo"]["huella"].clone()),
        ("nifPresentador", json!(ISSUER)),
        ("jobId", Value::Null),
    ];
    for (member, value) in expected {
        assert_eq!(row[member], value, "{member} in {row}");
    }
    assert!(row["timestampPresentacion"].is_string());

    let own = look(&world, &key, &format!("{}&source=ledger", of("L-1"))).await.expect(200);
    let own = &own["facturas"][0];
    assert_eq!((&own["estado"], &own["jobId"]), (&json!("CORRECTO"), &job["jobId"]));
    assert_eq!((&own["total"], &own["csv"]), (&json!("121.0"), &job["result"]["qrInfo"]["csv"]));

    registered(&world, &key, "/v1/cancel-invoice", &cancellation("L-1"), "b").await;
    let found = look(&world, &key, &of("L-1")).await.expect(200);
    assert_eq!(found["facturas"][0]["estado"], "ANULADO");
    let own = look(&world, &key, &format!("{}&source=ledger", of("L-1"))).await.expect(200);
    let states: Vec<_> = own["facturas"].as_array().unwrap().iter().map(|row| &row["estado"]).collect();
    assert_eq!(states, ["ANULADO", "CORRECTO"], "each record, the last first");

    // What was never sent is in the ledger alone.
    world.set(Mode::Unreachable);
    let sent = world.ask("POST", "/v1/send-invoice").key(&key).idempotency("c").json(&invoice("L-2")).await;
    sent.expect(202);
    world.set(Mode::Sandbox);
    let absent = look(&world, &key, &format!("{}&nombre=X", of("NONE"))).await.expect(200);
    assert_eq!(absent["facturas"], json!([]));
    let own = look(&world, &key, &format!("{}&source=ledger", of("NONE"))).await.expect(200);
    assert_eq!(own["facturas"], json!([]));
}

/// An operation of another month is found by the month that the ledger knows, and by no other.
#[tokio::test]
async fn the_month_is_that_of_the_operation() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    let before = today().civil().first_of_month().yesterday().unwrap();
    let mut body = invoice("OP-1");
    body["fechaOperacion"] = json!(before.to_string());
    registered(&world, &key, "/v1/send-invoice", &body, "a").await;
    let found = look(&world, &key, &of("OP-1")).await.expect(200);
    assert_eq!(numbers(&found), ["OP-1"]);
    assert_eq!(numbers(&look(&world, &key, &month()).await.expect(200)), [""; 0]);
    let own = look(&world, &key, &format!("{}&source=ledger", month())).await.expect(200);
    assert_eq!(numbers(&own), ["OP-1"], "the ledger goes by the day of the issue");
}

#[tokio::test]
async fn a_month_is_paged_by_the_authoritys_key() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    for number in ["P-1", "P%202", "P|3"] {
        let number = number.replace("%20", " ");
        registered(&world, &key, "/v1/send-invoice", &invoice(&number), &number.replace(' ', "_")).await;
    }
    let settings = Settings { page_size: 2, ..world.sandbox.settings() };
    world.sandbox.set_settings(settings).unwrap();
    let first = look(&world, &key, &month()).await.expect(200);
    assert_eq!(numbers(&first).len(), 2);
    let after = first["clavePaginacion"].as_str().unwrap().replace(' ', "%20");
    let second = look(&world, &key, &format!("{}&clavePaginacion={after}", month())).await.expect(200);
    assert_eq!(second["clavePaginacion"], Value::Null);
    let mut all = numbers(&first);
    all.extend(numbers(&second));
    all.sort_unstable();
    assert_eq!(all, ["P 2", "P-1", "P|3"]);
}

#[tokio::test]
async fn what_a_lookup_needs_is_told_by_name() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    let cases: &[(&str, &[&str])] = &[
        ("", &["nif", "numSerie"]),
        ("nif=B1", &["nif", "numSerie"]),
        ("nif=B12345674&numSerie=A", &["fecha"]),
        ("nif=B12345674&fecha=01-01-2026", &["numSerie", "numSerie"]),
        ("nif=B12345674&ejercicio=2026", &["periodo"]),
        ("nif=B12345674&periodo=1&ejercicio=2026&source=web", &["source"]),
        ("nif=B12345674&periodo=13&ejercicio=2026", &["periodo"]),
        ("nif=B12345674&periodo=1&ejercicio=2026&page=1", &["page"]),
        ("nif=B12345674&periodo=1&ejercicio=2026&clavePaginacion=x", &["clavePaginacion"]),
        ("nif=B12345674&periodo=1&ejercicio=2026&source=ledger&clavePaginacion=x", &["clavePaginacion"]),
        ("nif=B12345674&periodo=1&ejercicio=2026", &["nombre"]),
    ];
    for (query, fields) in cases {
        let answer = look(&world, &key, query).await;
        answer.fails(400, "validation_failed");
        let mut found = answer.fields();
        found.sort_unstable();
        assert_eq!(found, *fields, "{query}: {}", answer.body);
    }
}

#[tokio::test]
async fn questions_need_what_sending_needs() {
    let world = World::new().await;
    let key = world.account(json!({ "id": "bare", "issuerName": "X", "allowedNif": ISSUER }), ALL).await;
    let nif = json!({ "nif": "89890001K", "nombre": "X" });
    look(&world, &key, &month()).await.fails(422, "tenant_certificate_required");
    check(&world, &key, &nif).await.fails(422, "tenant_certificate_required");
    look(&world, &key, &format!("{}&source=ledger", month())).await.expect(200);

    world.upload_sandbox_certificate(&key).await;
    let foreign = month().replace(ISSUER, "89890001K");
    look(&world, &key, &foreign).await.fails(422, "allowed_nif_mismatch");
    look(&world, &key, &month()).await.expect(200);
    check(&world, &key, &nif).await.expect(200);

    world.trouble(Trouble::Suspended);
    look(&world, &key, &month()).await.fails(403, "account_suspended");
    check(&world, &key, &nif).await.fails(403, "account_suspended");
    look(&world, &key, &format!("{}&source=ledger", month())).await.expect(200);
    world.trouble(None);

    let other = world.key("bare", &["invoices:write"]).await;
    look(&world, &other, &month()).await.fails(403, "insufficient_scope");
    let refused = check(&world, &other, &nif).await;
    refused.fails(403, "insufficient_scope");
    assert_eq!(refused.body["required"], "nif:read");
}

#[tokio::test]
async fn an_authority_that_fails_is_told_from_one_that_is_silent() {
    let world = World::new().await;
    let key = world.account(json!({ "id": "acme", "issuerName": "X" }), ALL).await;
    world.upload_sandbox_certificate(&key).await;
    let nif = json!({ "nif": "89890001K", "nombre": "X" });
    for mode in [Mode::Fault, Mode::Unreachable] {
        world.set(mode);
        look(&world, &key, &month()).await.fails(502, "authority_error");
        check(&world, &key, &nif).await.fails(502, "authority_error");
    }
    world.set(Mode::Sandbox);
    world.sandbox.arm(Fault::new(Effect::CutAnswer).on(MessageKind::Query));
    look(&world, &key, &month()).await.fails(504, "authority_timeout");
    world.sandbox.arm(Fault::new(Effect::CutAnswer).on(MessageKind::NifCheck));
    check(&world, &key, &nif).await.fails(504, "authority_timeout");
    world.sandbox.arm(Fault::new(Effect::Status(503)).on(MessageKind::NifCheck));
    check(&world, &key, &nif).await.fails(502, "authority_error");
    // The census does not know the issuer by that name's number: the authority's own words come through.
    let refused = look(&world, &key, &month().replace(ISSUER, "11111111H")).await;
    refused.fails(502, "authority_error");
    assert!(refused.body["message"].as_str().unwrap().contains("41"), "{}", refused.body);
}

#[tokio::test]
async fn taxpayers_are_checked_one_by_one_or_together() {
    let world = World::new().await;
    let key = world.account(json!({ "id": "acme" }), ALL).await;
    world.upload_sandbox_certificate(&key).await;
    let one = check(&world, &key, &json!({ "nif": "87654321X", "nombre": "GARCIA PEREZ ANA" })).await;
    let one = one.expect(200);
    assert_eq!(
        [&one["nif"], &one["nombre"], &one["resultado"], &one["identificado"]],
        [&json!("87654321X"), &json!("GARCIA PEREZ ANA"), &json!("IDENTIFICADO"), &json!(true)]
    );
    let asked = [
        ("87654321X", "GARCIA ANA", "NO IDENTIFICADO-SIMILAR", false),
        ("11111111H", "NADIE", "NO IDENTIFICADO", false),
        ("B64717838", "X", "IDENTIFICADO-REVOCADO", true),
        ("22222222J", "X", "IDENTIFICADO-BAJA", true),
    ];
    let items: Vec<_> = asked.iter().map(|(nif, name, ..)| json!({ "nif": nif, "nombre": name })).collect();
    let several = check(&world, &key, &json!({ "items": items })).await.expect(200);
    assert_eq!(several["items"].as_array().unwrap().len(), asked.len());
    for ((nif, _, word, identified), found) in asked.iter().zip(several["items"].as_array().unwrap()) {
        assert_eq!(
            (&found["nif"], &found["resultado"], &found["identificado"]),
            (&json!(nif), &json!(word), &json!(identified))
        );
    }
    let single = json!({ "items": [{ "nif": "A58818501" }] });
    assert_eq!(check(&world, &key, &single).await.expect(200)["items"][0]["identificado"], true);

    let item = json!({ "nif": "A58818501", "nombre": "X" });
    let cases = [
        (json!({}), vec!["nif"]),
        (json!({ "nif": "A5881850", "nombre": 7 }), vec!["nif", "nombre"]),
        (json!({ "items": [] }), vec!["items"]),
        (json!({ "items": vec![&item; 101] }), vec!["items"]),
        (json!({ "items": [item, { "nombre": "X" }, 7] }), vec!["items[1].nif", "items[2]"]),
        (json!({ "items": [item], "nif": "A58818501" }), vec!["nif"]),
        (json!({ "items": [{ "nif": "A58818501", "extra": 1 }] }), vec!["items[0].extra"]),
    ];
    for (body, fields) in cases {
        let answer = check(&world, &key, &body).await;
        answer.fails(400, "validation_failed");
        assert_eq!(answer.fields(), fields, "{body}");
    }
    check(&world, &key, &json!({ "items": vec![item; 100] })).await.expect(200);
}
