//! What is wrong with a request, and what its caller is told.

use serde_json::{Value, json};

use crate::world::{ISSUER, Mode, SCOPES, Trouble, World, cancellation, invoice};

/// A request of the table, and what becomes of it.
struct Case {
    name: &'static str,
    method: &'static str,
    path: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Option<String>,
    status: u16,
    code: &'static str,
    field: Option<&'static str>,
}

impl Case {
    fn new(name: &'static str, route: &'static str, (status, code): (u16, &'static str)) -> Self {
        let (method, path) = route.split_once(' ').unwrap();
        Self { name, method, path, headers: Vec::new(), body: None, status, code, field: None }
    }

    fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    fn json(self, body: impl ToString) -> Self {
        Self { body: Some(body.to_string()), ..self }.header("content-type", "application/json")
    }

    fn field(self, field: &'static str) -> Self {
        Self { field: Some(field), ..self }
    }
}

fn with(mut body: Value, change: impl FnOnce(&mut Value)) -> Value {
    change(&mut body);
    body
}

#[tokio::test]
async fn every_wrong_request_is_told_what_is_wrong() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    let reader = world.key("acme", &["invoices:read"]).await;
    let child = world.account(json!({ "id": "child", "allowedNif": "89890001K" }), SCOPES).await;
    let absent = "vf_aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    let send = |name, fault| Case::new(name, "POST /v1/send-invoice", fault);
    let keyed = |name, fault| send(name, fault).header("x-api-key", &key);
    let ready = |name, fault| keyed(name, fault).header("x-idempotency-key", "error");
    let operator =
        |name, route, fault| Case::new(name, route, fault).header("x-admin-key", crate::world::ADMIN);
    let with_key = |name, route, fault| Case::new(name, route, fault).header("x-api-key", &key);
    let fine = invoice("E-1");

    let cases = vec![
        Case::new("no such route", "GET /v1/nothing", (404, "not_found")),
        Case::new("a route that ends early", "GET /v1/invoices", (404, "not_found")),
        Case::new("a system route has no version", "GET /v1/health", (404, "not_found")),
        Case::new("another method", "GET /v1/send-invoice", (405, "method_not_allowed")),
        Case::new("another method on a variable", "PUT /v1/jobs/x", (405, "method_not_allowed")),
        send("no key", (401, "api_key_missing")).json(&fine),
        send("an empty key", (401, "api_key_missing")).header("x-api-key", "").json(&fine),
        send("another scheme", (401, "api_key_missing")).header("authorization", "Basic YTpi").json(&fine),
        send("a key without shape", (401, "api_key_invalid")).header("x-api-key", "secret").json(&fine),
        send("an unknown key", (401, "api_key_invalid")).header("x-api-key", absent).json(&fine),
        send("the operator's key", (401, "api_key_missing")).header("x-admin-key", "x").json(&fine),
        send("a key with another ending", (401, "api_key_invalid")).header(
            "x-api-key",
            &format!("{}{}", &key[..key.len() - 1], if key.ends_with('a') { 'b' } else { 'a' }),
        ),
        keyed("two keys", (400, "auth_ambiguous")).header("authorization", &format!("Bearer {reader}")),
        send("no scope", (403, "insufficient_scope")).header("x-api-key", &reader).json(&fine),
        Case::new("no operator's key", "POST /v1/admin/tenants", (401, "api_key_missing")).json("{}"),
        Case::new("an account's key for the operator", "POST /v1/admin/tenants", (401, "api_key_missing"))
            .header("x-api-key", &key)
            .json("{}"),
        Case::new("another operator's key", "POST /v1/admin/tenants", (401, "api_key_invalid"))
            .header("x-admin-key", "wrong")
            .json("{}"),
        // The body, before its key.
        keyed("no media type", (415, "unsupported_media_type")),
        keyed("another media type", (415, "unsupported_media_type")).header("content-type", "text/xml"),
        keyed("no JSON", (400, "invalid_json")).json("{"),
        keyed("nothing", (400, "invalid_json")).json(""),
        keyed("a key twice", (400, "invalid_json")).json(r#"{"nif":"A","nif":"B"}"#),
        keyed("too deep", (400, "invalid_json")).json("[".repeat(40) + &"]".repeat(40)),
        keyed("no UTF-8 escape", (400, "invalid_json")).json(r#"{"a":"\ud800"}"#),
        keyed("no idempotency key", (400, "idempotency_key_missing")).json(&fine),
        keyed("an empty idempotency key", (400, "idempotency_key_invalid"))
            .header("x-idempotency-key", "")
            .json(&fine),
        keyed("a long idempotency key", (400, "idempotency_key_invalid"))
            .header("x-idempotency-key", &"k".repeat(129))
            .json(&fine),
        keyed("a blank in it", (400, "idempotency_key_invalid"))
            .header("x-idempotency-key", "a b")
            .json(&fine),
        keyed("two that differ", (400, "idempotency_key_invalid"))
            .header("x-idempotency-key", "a")
            .header("idempotency-key", "b")
            .json(&fine),
        // The record.
        ready("no object", (400, "validation_failed")).json("[]").field(""),
        ready("an unknown field", (400, "validation_failed"))
            .json(with(fine.clone(), |body| body["color"] = json!("rojo")))
            .field("color"),
        ready("no number", (400, "validation_failed"))
            .json(with(fine.clone(), |body| body["numSerie"] = Value::Null))
            .field("numSerie"),
        ready("a wrong tax number", (400, "validation_failed"))
            .json(with(fine.clone(), |body| body["nif"] = json!("B12345678")))
            .field("nif"),
        ready("a fraction of a cent", (400, "validation_failed"))
            .json(with(fine.clone(), |body| body["desglose"][0]["base"] = json!("100.001")))
            .field("desglose[0].base"),
        ready("no key of the tax", (400, "validation_failed"))
            .json(with(fine.clone(), |body| body["desglose"][0]["clave"] = Value::Null))
            .field("desglose[0].clave"),
        ready("neither qualified nor exempt", (400, "validation_failed"))
            .json(with(fine.clone(), |body| body["desglose"][0]["calif"] = Value::Null))
            .field("desglose[0].calif"),
        ready("first of a chain, and with a predecessor", (400, "validation_failed"))
            .json(with(fine.clone(), |body| {
                body["encadenamiento"] =
                    json!({ "primerRegistro": true, "registroAnterior": { "huella": "A".repeat(64) } });
            }))
            .field("encadenamiento.primerRegistro"),
        ready("a predecessor in a new chain", (409, "chain_continuity")).json(with(fine.clone(), |body| {
            body["encadenamiento"] = json!({ "registroAnterior": { "huella": "A".repeat(64) } });
        })),
        ready("a huella that is not ours", (400, "huella_mismatch")).json(with(fine.clone(), |body| {
            body["encadenamiento"] = json!({ "primerRegistro": true });
            body["huella"] = json!("A".repeat(64));
            body["fechaHoraHusoGenRegistro"] = json!("2026-01-15T10:00:00+01:00");
        })),
        Case::new("an issuer of somebody else", "POST /v1/send-invoice", (422, "allowed_nif_mismatch"))
            .header("x-api-key", &child)
            .header("x-idempotency-key", "error")
            .json(&fine),
        Case::new("a cancellation without a name", "POST /v1/cancel-invoice", (400, "validation_failed"))
            .header("x-api-key", &key)
            .header("x-idempotency-key", "error")
            .json(with(cancellation("E-9"), |body| body["nombre"] = Value::Null))
            .field("nombre"),
        // Reading.
        with_key("no job", "GET /v1/jobs/0198c0de-0000-7000-8000-000000000000", (404, "not_found")),
        with_key("no identifier", "GET /v1/jobs/abc", (404, "not_found")),
        with_key("no chain", "GET /v1/me/chains/abc/verify", (404, "not_found")),
        with_key("an unknown parameter", "GET /v1/jobs/abc/qr?size=3", (400, "validation_failed"))
            .field("size"),
        // The operator.
        operator("no identifier", "POST /v1/admin/tenants", (400, "validation_failed"))
            .json("{}")
            .field("id"),
        operator("a wrong identifier", "POST /v1/admin/tenants", (400, "validation_failed"))
            .json(json!({ "id": "-a" }))
            .field("id"),
        operator("an unknown parent", "POST /v1/admin/tenants", (400, "validation_failed"))
            .json(json!({ "id": "b", "parentTenantId": "nobody" }))
            .field("parentTenantId"),
        operator("an account that exists", "POST /v1/admin/tenants", (409, "tenant_exists"))
            .json(json!({ "id": "acme" })),
        operator("a key without scopes", "POST /v1/admin/api-keys", (400, "validation_failed"))
            .json(json!({ "tenantId": "acme", "scopes": [] }))
            .field("scopes"),
        operator("an unknown scope", "POST /v1/admin/api-keys", (400, "validation_failed"))
            .json(json!({ "tenantId": "acme", "scopes": ["invoices:read", "all"] }))
            .field("scopes[1]"),
        operator("a key that has expired", "POST /v1/admin/api-keys", (400, "validation_failed"))
            .json(json!({ "tenantId": "acme", "scopes": ["nif:read"], "expiresAt": "2020-01-01T00:00:00Z" }))
            .field("expiresAt"),
        operator("a key for nobody", "POST /v1/admin/api-keys", (404, "not_found"))
            .json(json!({ "tenantId": "nobody", "scopes": ["nif:read"] })),
    ];
    for case in cases {
        let mut ask = world.ask(case.method, case.path);
        for (name, value) in &case.headers {
            ask = ask.header(name, value);
        }
        let answer = match case.body {
            Some(body) => ask.raw(body).await,
            None => ask.send().await,
        };
        let found = (answer.status, answer.body["code"].as_str().unwrap_or_default());
        assert_eq!(found, (case.status, case.code), "{}: {}", case.name, answer.body);
        if let Some(field) = case.field {
            assert_eq!(answer.fields(), [field], "{}: {}", case.name, answer.body);
        }
    }
    let chains = world.ask("GET", "/v1/me/chains").key(&key).send().await.expect(200);
    assert_eq!(chains["chains"], json!([]), "nothing of all that left a record");
}

#[tokio::test]
async fn an_account_in_trouble_is_told_so() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    let send = |number: &'static str| world.ask("POST", "/v1/send-invoice").key(&key).idempotency(number);
    let first = send("T-1").json(&invoice("T-1")).await.expect(202);

    for (trouble, status, code) in [
        (Trouble::KeyRevoked, 401, "api_key_revoked"),
        (Trouble::KeyExpired, 401, "api_key_expired"),
        (Trouble::Suspended, 403, "account_suspended"),
        (Trouble::Unavailable, 503, "store_unavailable"),
        (Trouble::Panic, 500, "internal_error"),
    ] {
        world.trouble(trouble);
        let answer = send("T-2").json(&invoice("T-2")).await;
        answer.fails(status, code);
        assert!(!answer.body.to_string().contains("disk"), "the inside stays inside: {}", answer.body);
    }

    // A suspended account reads, and gets its replays.
    world.trouble(Trouble::Suspended);
    let job = first["jobId"].as_str().unwrap();
    world.ask("GET", &format!("/v1/jobs/{job}")).key(&key).send().await.expect(200);
    let replay = send("T-1").json(&invoice("T-1")).await;
    assert_eq!((replay.status / 100, replay.header("idempotency-replayed")), (2, "true"));
    world.ask("DELETE", "/v1/me/certificate").key(&key).send().await.fails(403, "account_suspended");

    world.trouble(None);
    send("T-2").json(&invoice("T-2")).await.expect(202);
}

#[tokio::test]
async fn problems_come_in_the_form_that_is_asked_for() {
    let world = World::new().await;
    let answer = world.ask("GET", "/v1/me").header("accept", "application/problem+json").send().await;
    answer.fails(401, "api_key_missing");
    assert_eq!(answer.header("content-type"), "application/problem+json");
    assert_eq!(answer.body["status"], 401);
    assert_eq!(answer.body["detail"], answer.body["message"]);
}

#[tokio::test]
async fn paths_without_version_answer_and_say_that_they_are_deprecated() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    let versioned = world.ask("GET", "/v1/me").key(&key).send().await;
    assert_eq!(versioned.header("deprecation"), "");
    let bare = world.ask("GET", "/me").header("authorization", &format!("Bearer {key}")).send().await;
    assert_eq!(bare.header("deprecation"), "@1767225600");
    assert_eq!(bare.header("link"), "</v1/me>; rel=\"successor-version\"");
    assert_eq!(bare.body["tenantId"], versioned.body["tenantId"]);
    for path in ["/health", "/ready"] {
        assert_eq!(world.ask("GET", path).send().await.header("deprecation"), "");
    }
}

#[tokio::test]
async fn nobody_sees_what_belongs_to_another_account() {
    let world = World::new().await;
    world.set(Mode::Unreachable);
    let (ours, theirs) = (world.ready_account("ours").await, world.ready_account("theirs").await);
    let sent = world.ask("POST", "/v1/send-invoice").key(&ours).idempotency("same");
    let sent = sent.json(&invoice("N-1")).await.expect(202);
    let job = sent["jobId"].as_str().unwrap();
    for path in [format!("/v1/jobs/{job}"), format!("/v1/jobs/{job}/qr")] {
        world.ask("GET", &path).key(&ours).send().await;
        world.ask("GET", &path).key(&theirs).send().await.fails(404, "not_found");
    }
    let chains = world.ask("GET", "/v1/me/chains").key(&ours).send().await.expect(200);
    let chain = format!("/v1/me/chains/{}/verify", chains["chains"][0]["id"].as_str().unwrap());
    world.ask("GET", &chain).key(&theirs).send().await.fails(404, "not_found");
    // Keys and invoices are an account's own: the same ones are new elsewhere.
    let again = world.ask("POST", "/v1/send-invoice").key(&theirs).idempotency("same");
    let again = again.json(&invoice("N-1")).await;
    assert_eq!(again.header("idempotency-replayed"), "");
    assert_ne!(again.expect(202)["jobId"], sent["jobId"]);
    let me = world.ask("GET", "/v1/me").key(&theirs).send().await.expect(200);
    assert_eq!((me["tenantId"].as_str(), me["environment"].as_str()), (Some("theirs"), Some("sandbox")));
    assert!(!me.to_string().contains(ISSUER));
}
