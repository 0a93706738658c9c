//! The operator's routes: accounts, keys, jobs of all accounts, a retry by hand, and the audit log.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use verifactu_core::{
    ledger::AuditEntry,
    testing::ManualClock,
    types::{Clock as _, Date, RequestId},
};
use verifactu_server::{Server, clock::SystemClock};

use crate::world::{Answer, Mode, SCOPES, World, config, invoice};

async fn get(world: &World, path: &str) -> Answer {
    world.ask("GET", &format!("/v1/admin{path}")).admin().send().await
}

async fn post(world: &World, path: &str) -> Answer {
    world.ask("POST", &format!("/v1/admin{path}")).admin().send().await
}

async fn change(world: &World, tenant: &str, body: &Value) -> Answer {
    world.ask("PATCH", &format!("/v1/admin/tenants/{tenant}")).admin().json(body).await
}

async fn send(world: &World, key: &str, number: &str) -> Answer {
    world.ask("POST", "/v1/send-invoice").key(key).idempotency(number).json(&invoice(number)).await
}

fn ids(list: &Value, member: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|row| row[member].as_str().unwrap().to_owned()).collect()
}

/// Every route of the operator, with a path that leads to something or to nothing.
const ROUTES: &[(&str, &str)] = &[
    ("GET", "/tenants"),
    ("GET", "/tenants/acme"),
    ("PATCH", "/tenants/acme"),
    ("GET", "/tenants/acme/webhook"),
    ("PATCH", "/tenants/acme/webhook"),
    ("POST", "/tenants/acme/webhook/ping"),
    ("GET", "/tenants/acme/webhook/deliveries"),
    ("GET", "/api-keys"),
    ("POST", "/api-keys/00000000-0000-0000-0000-000000000000/revoke"),
    ("GET", "/jobs"),
    ("GET", "/jobs/00000000-0000-0000-0000-000000000000/messages"),
    ("POST", "/jobs/00000000-0000-0000-0000-000000000000/retry"),
    ("GET", "/certificates/expiring"),
    ("GET", "/events"),
];

#[tokio::test]
async fn nobody_else_gets_in() {
    let world = World::new().await;
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    for (method, path) in ROUTES {
        let ask = || world.ask(method, &format!("/v1/admin{path}"));
        ask().send().await.fails(401, "api_key_missing");
        ask().key(&key).send().await.fails(401, "api_key_missing");
        ask().header("x-admin-key", &key).send().await.fails(401, "api_key_invalid");
    }
}

#[tokio::test]
async fn accounts_are_listed_and_changed() {
    let world = World::new().await;
    for id in ["c", "a", "b"] {
        world.account(json!({ "id": id }), SCOPES).await;
    }
    let first = get(&world, "/tenants?limit=2").await.expect(200);
    assert_eq!(ids(&first["tenants"], "tenantId"), ["a", "b"]);
    let rest =
        get(&world, &format!("/tenants?cursor={}", first["nextCursor"].as_str().unwrap())).await.expect(200);
    assert_eq!(
        (ids(&rest["tenants"], "tenantId"), &rest["nextCursor"]),
        (vec!["c".to_owned()], &Value::Null)
    );

    let body = json!({
        "name": "Otra", "issuerName": "Talleres Ebro SL", "planId": "pro", "status": "SUSPENDED",
        "allowedNif": "B12345674", "clientSifEnabled": true,
        "representante": { "nombre": "Gestoría Ruiz SL", "nif": "A87654323" },
    });
    let changed = change(&world, "a", &body).await.expect(200);
    let shown = get(&world, "/tenants/a").await.expect(200);
    for (member, value) in body.as_object().unwrap() {
        assert_eq!((&changed[member], &shown[member]), (value, value), "{member}");
    }
    let cleared =
        change(&world, "a", &json!({ "planId": null, "representante": null, "allowedNif": null })).await;
    let cleared = cleared.expect(200);
    for member in ["planId", "representante", "allowedNif"] {
        assert_eq!(cleared[member], Value::Null, "{member}");
    }
    assert_eq!((&cleared["name"], &cleared["status"]), (&json!("Otra"), &json!("SUSPENDED")));

    let wrong = json!({ "status": "GONE", "allowedNif": "X", "representante": { "nif": "A87654323", "y": 1 }, "id": "z" });
    let answer = change(&world, "a", &wrong).await;
    answer.fails(400, "validation_failed");
    let mut fields = answer.fields();
    fields.sort_unstable();
    assert_eq!(fields, ["allowedNif", "id", "representante.nombre", "representante.y", "status"]);
    change(&world, "nobody", &json!({})).await.fails(404, "not_found");
    get(&world, "/tenants/nobody").await.fails(404, "not_found");
}

/// Requests that change different things of one account at the same time.
#[tokio::test]
async fn changes_at_once_do_not_undo_each_other() {
    let world = World::new().await;
    world.account(json!({ "id": "acme" }), SCOPES).await;
    let parts = [
        json!({ "name": "Acme" }),
        json!({ "issuerName": "Acme SL" }),
        json!({ "planId": "pro" }),
        json!({ "allowedNif": "B12345674" }),
        json!({ "clientSifEnabled": true }),
        json!({ "representante": { "nombre": "Gestoría Ruiz", "nif": "12345678Z" } }),
        json!({ "fechaFinVeriFactu": format!("31-12-{}", Date::in_madrid(SystemClock.now()).civil().year()) }),
    ];
    let changes = parts.iter().map(|part| change(&world, "acme", part));
    for answer in futures_util::future::join_all(changes).await {
        answer.expect(200);
    }
    let shown = get(&world, "/tenants/acme").await.expect(200);
    for part in parts {
        let (member, value) = part.as_object().unwrap().iter().next().unwrap();
        assert_eq!(&shown[member], value, "{member}");
    }

    let path = "/v1/admin/tenants/acme/webhook";
    let patch = async |body: Value| world.ask("PATCH", path).admin().json(&body).await.expect(200);
    patch(json!({ "url": "https://example.com/old", "secret": "old" })).await;
    let changes =
        [json!({ "url": "https://example.com/" }), json!({ "enabled": false }), json!({ "secret": "s" })];
    futures_util::future::join_all(changes.map(patch)).await;
    let shown = get(&world, "/tenants/acme/webhook").await.expect(200);
    assert_eq!((&shown["url"], &shown["enabled"]), (&json!("https://example.com/"), &json!(false)));
}

/// Specification, semantics of suspension: writes are refused, reads and queued jobs go on.
#[tokio::test]
async fn a_suspended_account_only_reads() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    world.set(Mode::Unreachable);
    let sent = send(&world, &key, "S-1").await.expect(202);
    change(&world, "acme", &json!({ "status": "SUSPENDED" })).await.expect(200);
    send(&world, &key, "S-2").await.fails(403, "account_suspended");
    assert_eq!(send(&world, &key, "S-1").await.header("idempotency-replayed"), "true");
    world.set(Mode::Sandbox);
    let job = sent["jobId"].as_str().unwrap();
    world.job_when(&key, job, |job| job["status"] != "PENDING").await;
    let retried = post(&world, &format!("/jobs/{job}/retry")).await;
    assert!(matches!(retried.status, 200 | 409), "{:?}", retried.body);
    world.job_when(&key, job, |job| job["status"] == "SUCCEEDED").await;
    change(&world, "acme", &json!({ "status": "ACTIVE" })).await.expect(200);
    send(&world, &key, "S-2").await.expect(202);
}

#[tokio::test]
async fn keys_are_listed_and_revoked() {
    let world = World::new().await;
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    world.account(json!({ "id": "other" }), &["invoices:read"]).await;
    let all = get(&world, "/api-keys").await;
    assert!(!String::from_utf8(all.bytes.clone()).unwrap().contains("vf_"), "no key is shown again");
    assert_eq!(ids(&all.expect(200)["apiKeys"], "tenantId"), ["acme", "other"]);
    let own = get(&world, "/api-keys?tenantId=acme").await.expect(200);
    let id = own["apiKeys"][0]["id"].as_str().unwrap();
    assert_eq!(own["apiKeys"][0]["scopes"].as_array().unwrap().len(), SCOPES.len());

    world.ask("GET", "/v1/me").key(&key).send().await.expect(200);
    let revoked = post(&world, &format!("/api-keys/{id}/revoke")).await.expect(200);
    assert!(revoked["apiKey"]["revokedAt"].is_string());
    world.ask("GET", "/v1/me").key(&key).send().await.fails(401, "api_key_revoked");
    let again = post(&world, &format!("/api-keys/{id}/revoke")).await.expect(200);
    assert_eq!(again["apiKey"]["revokedAt"], revoked["apiKey"]["revokedAt"]);
    for absent in ["x", "00000000-0000-0000-0000-000000000000"] {
        post(&world, &format!("/api-keys/{absent}/revoke")).await.fails(404, "not_found");
    }
}

#[tokio::test]
async fn a_failed_job_is_found_and_retried_by_hand() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    world.set(Mode::Fault);
    let sent = send(&world, &key, "R-1").await;
    let request = sent.header("x-request-id").to_owned();
    let id = sent.expect(202)["jobId"].as_str().unwrap().to_owned();
    world.job_when(&key, &id, |job| job["status"] == "FAILED").await;

    let found =
        async |query: &str| ids(&get(&world, &format!("/jobs?{query}")).await.expect(200)["jobs"], "jobId");
    let matching = [
        "tenantId=acme".to_owned(),
        "status=FAILED".to_owned(),
        "class=authority_error".to_owned(),
        format!("requestId={request}"),
        "olderThan=2099-01-01".to_owned(),
    ];
    for query in matching {
        assert_eq!(found(&query).await, [&*id], "{query}");
    }
    for query in ["tenantId=other", "status=DEAD", "class=in_doubt", "code=1239", "olderThan=2020-01-01"] {
        assert_eq!(found(query).await, [""; 0], "{query}");
    }
    for query in ["class=nothing", "status=failed", "requestId=x", "code=x", "colour=red"] {
        get(&world, &format!("/jobs?{query}")).await.fails(400, "validation_failed");
    }
    let job = &get(&world, "/jobs").await.expect(200)["jobs"][0];
    assert_eq!((&job["tenantId"], &job["acceptedRequestId"]), (&json!("acme"), &json!(request)));

    let told = get(&world, &format!("/jobs/{id}/messages")).await.expect(200);
    assert!(told["sentXml"].as_str().unwrap().contains("R-1"), "{told}");
    assert!(told["messages"][0]["answer"].as_str().unwrap().contains("Error interno"), "{told}");

    world.set(Mode::Sandbox);
    let retried = post(&world, &format!("/jobs/{id}/retry")).await.expect(200);
    assert_eq!((&retried["jobId"], &retried["attempts"]), (&json!(id), &json!(1)));
    let done = world.job_when(&key, &id, |job| job["status"] == "SUCCEEDED").await;
    assert_eq!(done["attempts"], 2);
    post(&world, &format!("/jobs/{id}/retry")).await.fails(409, "job_not_retryable");
    for absent in ["x", "00000000-0000-0000-0000-000000000000"] {
        post(&world, &format!("/jobs/{absent}/retry")).await.fails(404, "not_found");
        get(&world, &format!("/jobs/{absent}/messages")).await.fails(404, "not_found");
    }
}

/// Specification, semantics of a retry by hand: a held chain is named.
#[tokio::test]
async fn a_held_job_is_not_retried() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    world.set(Mode::Fault);
    let id = send(&world, &key, "K-1").await.expect(202)["jobId"].as_str().unwrap().to_owned();
    world.job_when(&key, &id, |job| job["status"] == "FAILED").await;
    world.ask("DELETE", "/v1/me/certificate").key(&key).send().await.expect(200);
    post(&world, &format!("/jobs/{id}/retry")).await.expect(200);
    world.job_when(&key, &id, |job| job["status"] == "FAILED").await;
    let answer = post(&world, &format!("/jobs/{id}/retry")).await;
    answer.fails(409, "issuer_held");
    assert!(answer.body["message"].as_str().unwrap().contains("certificate"), "{}", answer.body);
}

#[tokio::test]
async fn the_representative_stands_in_the_header() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    let party = json!({ "nombre": "Gestoría Ruiz SL", "nif": "A87654323" });
    change(&world, "acme", &json!({ "representante": party })).await.expect(200);
    let id = send(&world, &key, "P-1").await.expect(202)["jobId"].as_str().unwrap().to_owned();
    world.job_when(&key, &id, |job| job["status"] == "SUCCEEDED").await;
    let sent = world.authority.last.lock().unwrap().clone();
    let sent = String::from_utf8(sent).unwrap();
    let header = &sent[..sent.find("RegistroFactura").unwrap()];
    assert!(header.contains("Gestoría Ruiz SL") && header.contains("A87654323"), "{header}");
}

#[tokio::test]
async fn the_last_day_of_verifactu_stands_in_the_header() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    let year = Date::in_madrid(SystemClock.now()).civil().year();
    let given = json!({ "fechaFinVeriFactu": format!("{year}-12-31") });
    let day = format!("31-12-{year}");
    assert_eq!(change(&world, "acme", &given).await.expect(200)["fechaFinVeriFactu"], day.as_str());
    assert_eq!(get(&world, "/tenants/acme").await.expect(200)["fechaFinVeriFactu"], day.as_str());
    let header = async |number: &str| {
        let id = send(&world, &key, number).await.expect(202)["jobId"].as_str().unwrap().to_owned();
        world.job_when(&key, &id, |job| job["status"] == "SUCCEEDED").await;
        let sent = String::from_utf8(world.authority.last.lock().unwrap().clone()).unwrap();
        sent[..sent.find("<RegistroFactura>").unwrap()].to_owned()
    };
    let stated = header("E-1").await;
    assert!(stated.contains(&format!("<FechaFinVeriFactu>{day}</FechaFinVeriFactu>")), "{stated}");
    let removed = change(&world, "acme", &json!({ "fechaFinVeriFactu": null })).await.expect(200);
    assert_eq!(removed.get("fechaFinVeriFactu"), None);
    let plain = header("E-2").await;
    assert!(!plain.contains("RemisionVoluntaria"), "{plain}");
}

/// A year's end from 2027 on, in Madrid: the authority would refuse every message with another day (4120).
#[tokio::test]
async fn the_last_day_of_verifactu_keeps_to_the_authoritys_rule() {
    let world = World::new().await;
    world.account(json!({ "id": "acme" }), SCOPES).await;
    let clock = Arc::new(ManualClock::at("2026-12-31T22:59:59Z".parse().unwrap()));
    let service = Server::builder(config(world.directory.path(), &world.sandbox.url()))
        .stores(world.ledger(), world.ledger())
        .authority(world.authority.clone())
        .clock(clock.clone())
        .start()
        .await
        .unwrap();
    let set = async |day: &str| {
        let ask = world.ask_at(service.address(), "PATCH", "/v1/admin/tenants/acme").admin();
        ask.json(&json!({ "fechaFinVeriFactu": day })).await
    };
    set("15-06-2026").await.expect(200);
    set("31-11-2026").await.fails(400, "validation_failed");
    clock.advance(Duration::from_secs(1));
    for day in ["31-12-2026", "31-12-2027"] {
        set(day).await.expect(200);
    }
    for day in ["15-06-2026", "31-12-2025", "31-12-2028"] {
        let answer = set(day).await;
        answer.fails(400, "validation_failed");
        assert_eq!(answer.fields(), ["fechaFinVeriFactu"]);
        assert_eq!(answer.body["details"][0]["code"], "4120", "{day}");
    }
    service.stop().await;
}

#[tokio::test]
async fn certificates_that_end_are_shown() {
    let world = World::new().await;
    world.ready_account("acme").await;
    let none = get(&world, "/certificates/expiring?days=0").await.expect(200);
    assert_eq!(none["certificates"], json!([]));
    let all = get(&world, "/certificates/expiring?days=36500").await.expect(200);
    assert_eq!(all["certificates"][0]["tenantId"], "acme");
    assert!(all["certificates"][0]["daysUntilExpiry"].as_i64().unwrap() > 0);
    get(&world, "/certificates/expiring?days=-1").await.fails(400, "validation_failed");
}

#[tokio::test]
async fn every_call_is_in_the_linked_audit_log() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    let id = get(&world, "/api-keys").await.expect(200)["apiKeys"][0]["id"].as_str().unwrap().to_owned();
    post(&world, &format!("/api-keys/{id}/revoke")).await.expect(200);
    get(&world, "/tenants/acme").await.expect(200);
    drop(key);
    let log = get(&world, "/events?limit=200").await.expect(200);
    let lines: Vec<&Value> = log["events"].as_array().unwrap().iter().rev().collect();
    let actions: Vec<_> = lines.iter().map(|line| line["action"].as_str().unwrap()).collect();
    let wanted = [
        "tenant.create",
        "api_key.create",
        "certificate.upload",
        "api_keys.list",
        "api_key.revoke",
        "tenant.read",
    ];
    assert_eq!(actions, wanted);
    let mut hash = [0; 32];
    for (line, position) in lines.iter().zip(1..) {
        let text = |member: &str| line[member].as_str().unwrap().to_owned();
        let entry = AuditEntry {
            at: text("at").parse().unwrap(),
            actor: text("actor"),
            action: text("action"),
            subject: text("subject"),
            request: Some(RequestId::parse(&text("causedBy")).unwrap()),
        };
        hash = entry.hash_behind(&hash);
        assert_eq!((line["position"].as_u64(), text("hash")), (Some(position), hex(&hash)));
    }
    // The rule as it is told to others.
    let first = lines[0];
    let at: jiff::Timestamp = first["at"].as_str().unwrap().parse().unwrap();
    let told =
        json!([at.as_microsecond(), first["actor"], first["action"], first["subject"], first["causedBy"]]);
    let digest = Sha256::new().chain_update([0; 32]).chain_update(told.to_string()).finalize();
    assert_eq!(first["hash"], hex(&digest));

    let page = get(&world, "/events?limit=2").await.expect(200);
    assert_eq!(page["events"][0]["action"], "events.read", "reading is noted too");
    let next = get(&world, &format!("/events?limit=2&cursor={}", page["nextCursor"])).await.expect(200);
    assert_eq!(next["events"][0]["action"], "api_key.revoke");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
