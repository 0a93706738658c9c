//! The operator's view of issuers, pause and resume, and the suspension of a presenter.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};
use verifactu_server::sandbox::{Effect, Fault, FaultSide, Holder, MessageKind};

use super::world::{Answer, ISSUER, SCOPES, World, invoice, today};

const OTHER: &str = "89890001K";

async fn issuers(world: &World, query: &str) -> Vec<Value> {
    let answer = world.ask("GET", &format!("/v1/admin/issuers{query}")).admin().send().await.expect(200);
    answer["issuers"].as_array().unwrap().clone()
}

async fn order(world: &World, tenant: &str, nif: &str, what: &str) -> Answer {
    world.ask("POST", &format!("/v1/admin/issuers/{tenant}/{nif}/{what}")).admin().send().await
}

async fn send(world: &World, key: &str, body: &Value) -> String {
    let name = body["numSerie"].as_str().unwrap();
    let sent = world.ask("POST", "/v1/send-invoice").key(key).idempotency(name).json(body).await;
    sent.expect(202)["jobId"].as_str().unwrap().to_owned()
}

async fn job(world: &World, key: &str, id: &str) -> Value {
    world.ask("GET", &format!("/v1/jobs/{id}")).key(key).send().await.expect(200)
}

fn of_issuer(mut body: Value, nif: &str) -> Value {
    body["nif"] = json!(nif);
    body
}

async fn succeeds(world: &World, key: &str, id: &str) {
    world.job_when(key, id, |job| job["status"] == "SUCCEEDED").await;
}

/// An account whose certificate is this holder's.
async fn account(world: &World, id: &str, holder: &Holder) -> String {
    let key = world.account(json!({ "id": id, "issuerName": "X" }), SCOPES).await;
    upload(world, &key, holder).await;
    key
}

async fn upload(world: &World, key: &str, holder: &Holder) {
    let issued = world.sandbox.pki().issue(holder).unwrap();
    let body = json!({ "pfxBase64": BASE64.encode(issued.pkcs12().unwrap()), "pfxPassphrase": "sandbox" });
    world.ask("POST", "/v1/me/certificate").key(key).json(&body).await.expect(200);
}

/// A pause holds up the sending of one issuer and nothing else: its invoices are accepted, and their jobs
/// say why they wait.
#[tokio::test]
async fn a_paused_issuer_waits_and_goes_on() {
    let world = World::new().await;
    let mut settings = world.sandbox.settings();
    settings.presenters = verifactu_server::sandbox::PresenterPolicy::Anyone;
    world.sandbox.set_settings(settings).unwrap();
    let key = world.ready_account("acme").await;
    let first = send(&world, &key, &invoice("A-1")).await;
    succeeds(&world, &key, &first).await;
    let other = send(&world, &key, &of_issuer(invoice("B-1"), OTHER)).await;
    succeeds(&world, &key, &other).await;

    let paused = world.ask("POST", &format!("/v1/admin/issuers/acme/{ISSUER}/pause")).admin();
    let paused = paused.json(&json!({ "reason": "audit at the customer's" })).await.expect(200);
    let held = &paused["issuers"][0]["held"];
    assert_eq!(
        (&held["reason"], &held["description"]),
        (&json!("operator"), &json!("audit at the customer's"))
    );

    let waiting = send(&world, &key, &invoice("A-2")).await;
    let other = send(&world, &key, &of_issuer(invoice("B-2"), OTHER)).await;
    succeeds(&world, &key, &other).await;
    let shown = job(&world, &key, &waiting).await;
    assert_eq!((&shown["status"], &shown["attempts"]), (&json!("PENDING"), &json!(0)));
    assert_eq!(shown["held"]["reason"], "operator");
    assert_eq!(
        (&shown["lastError"], &shown["nextRetryAt"]),
        (&json!("audit at the customer's"), &Value::Null)
    );
    let listed = world.ask("GET", "/v1/jobs?status=PENDING").key(&key).send().await.expect(200);
    assert_eq!(listed["jobs"][0]["held"]["reason"], "operator");
    assert_eq!(job(&world, &key, &first).await["held"], Value::Null, "what is final is held by nothing");
    let chains = world.ask("GET", "/v1/me/chains").key(&key).send().await.expect(200);
    let reasons: Vec<_> =
        chains["chains"].as_array().unwrap().iter().map(|chain| &chain["heldReason"]).collect();
    assert!(reasons.contains(&&json!("operator")) && reasons.contains(&&Value::Null), "{chains}");

    // Neither another certificate nor another pause changes that.
    world.upload_sandbox_certificate(&key).await;
    order(&world, "acme", ISSUER, "pause").await.expect(200);
    assert_eq!(job(&world, &key, &waiting).await["held"]["description"], "audit at the customer's");

    let rows = issuers(&world, &format!("?tenantId=acme&nif={ISSUER}")).await;
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((&row["tenantId"], &row["nif"], &row["pending"]), (&json!("acme"), &json!(ISSUER), &json!(1)));
    assert_eq!((&row["waitSeconds"], &row["leasedUntil"]), (&json!(0), &Value::Null));
    assert!(row["oldestPendingAt"].is_string() && row["oldestPendingSeconds"].as_i64().unwrap() >= 0);
    assert!(row["nextSlotAt"].is_string());
    assert_eq!(issuers(&world, "?held=true").await.len(), 1);
    assert_eq!(issuers(&world, "").await.len(), 2);
    let page = world.ask("GET", "/v1/admin/issuers?limit=1").admin().send().await.expect(200);
    let cursor = page["nextCursor"].as_str().unwrap();
    let next = issuers(&world, &format!("?limit=1&cursor={cursor}")).await;
    assert_ne!(next[0]["chainId"], page["issuers"][0]["chainId"]);

    let resumed = order(&world, "acme", ISSUER, "resume").await.expect(200);
    assert_eq!(resumed["issuers"][0]["held"], Value::Null);
    succeeds(&world, &key, &waiting).await;
    let events = world.ask("GET", "/v1/admin/events").admin().send().await.expect(200);
    let done: Vec<_> = events["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| (event["action"].as_str().unwrap(), event["subject"].as_str().unwrap()))
        .collect();
    for action in ["issuer.pause", "issuer.resume"] {
        assert!(done.contains(&(action, format!("acme/{ISSUER}").as_str())), "{action} in {done:?}");
    }
}

/// A retry by hand does not go round a hold.
#[tokio::test]
async fn a_held_issuers_job_is_not_retried() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    world.sandbox.arm(Fault::new(Effect::Force { code: 1123, number: None }).on(MessageKind::Submission));
    let failed = send(&world, &key, &invoice("A-1")).await;
    world.job_when(&key, &failed, |job| job["status"] == "FAILED").await;
    order(&world, "acme", ISSUER, "pause").await.expect(200);
    let retry = world.ask("POST", &format!("/v1/admin/jobs/{failed}/retry")).admin().send().await;
    retry.fails(409, "issuer_held");
    let shown = job(&world, &key, &failed).await;
    assert_eq!((&shown["status"], &shown["nextRetryAt"]), (&json!("FAILED"), &Value::Null));
    assert!(shown["lastError"].as_str().unwrap().starts_with("1123"), "the failure stays: {shown}");
    order(&world, "acme", ISSUER, "resume").await.expect(200);
    world.ask("POST", &format!("/v1/admin/jobs/{failed}/retry")).admin().send().await.expect(200);
    succeeds(&world, &key, &failed).await;
}

#[tokio::test]
async fn only_issuers_that_exist_are_paused() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    let sent = send(&world, &key, &invoice("A-1")).await;
    succeeds(&world, &key, &sent).await;
    for what in ["pause", "resume"] {
        for (tenant, nif) in [("acme", OTHER), ("nobody", ISSUER), ("acme", "B1")] {
            order(&world, tenant, nif, what).await.fails(404, "not_found");
        }
        let path = format!("/v1/admin/issuers/acme/{ISSUER}/{what}");
        world.ask("POST", &path).key(&key).send().await.fails(401, "api_key_missing");
    }
    let pause = || world.ask("POST", &format!("/v1/admin/issuers/acme/{ISSUER}/pause")).admin();
    pause().json(&json!({ "reason": "" })).await.fails(400, "validation_failed");
    pause().json(&json!({ "why": "x" })).await.fails(400, "validation_failed");
    let bad = world.ask("GET", "/v1/admin/issuers?held=maybe").admin().send().await;
    assert_eq!(bad.fields(), ["held"]);
}

/// The authority suspends a presenter: whatever that one presents is held, in every account that has a
/// certificate of the same holder, and only the operator lets it go on, issuer by issuer.
#[tokio::test]
async fn a_suspended_presenter_is_held_in_all_its_accounts() {
    let world = World::new().await;
    let holder = Holder::seal(ISSUER, "Talleres Ebro SL").with_ec_key();
    let (one, two) = (account(&world, "one", &holder).await, account(&world, "two", &holder).await);
    let third = account(&world, "third", &Holder::person(OTHER, "PRUEBAS UNO").with_ec_key()).await;
    let foreign = |number: &str| of_issuer(invoice(number), OTHER);
    let before = send(&world, &two, &invoice("T-1")).await;
    succeeds(&world, &two, &before).await;
    let before = send(&world, &third, &foreign("T-2")).await;
    succeeds(&world, &third, &before).await;

    let suspension = Fault::new(Effect::SoapFault { code: Some(4141), side: FaultSide::Client });
    world.sandbox.arm(suspension.clone().on(MessageKind::Submission));
    let first = send(&world, &one, &invoice("S-1")).await;
    let shown = world.job_when(&one, &first, |job| !job["held"].is_null()).await;
    assert_eq!((&shown["held"]["reason"], &shown["attempts"]), (&json!("suspended"), &json!(0)));
    assert_eq!(shown["lastErrorDetail"]["class"], "suspended");

    let second = send(&world, &two, &invoice("S-2")).await;
    assert_eq!(job(&world, &two, &second).await["held"]["reason"], "suspended");
    let apart = send(&world, &third, &foreign("S-3")).await;
    succeeds(&world, &third, &apart).await;

    // A new certificate of the same holder is the same presenter.
    upload(&world, &two, &holder).await;
    assert_eq!(job(&world, &two, &second).await["held"]["reason"], "suspended");
    order(&world, "two", ISSUER, "resume").await.expect(200);
    succeeds(&world, &two, &second).await;
    assert_eq!(job(&world, &one, &first).await["held"]["reason"], "suspended", "each issuer by itself");
    order(&world, "one", ISSUER, "resume").await.expect(200);
    succeeds(&world, &one, &first).await;

    // A question that is answered so says the same.
    world.sandbox.arm(suspension.on(MessageKind::Query));
    let path = format!("/v1/invoices/lookup?nif={ISSUER}&numSerie=S-1&fecha={}", today());
    world.ask("GET", &path).key(&one).send().await.fails(502, "authority_error");
    let held = issuers(&world, "?held=true").await;
    let of: Vec<_> = held.iter().map(|row| row["tenantId"].as_str().unwrap()).collect();
    assert_eq!((of.len(), of.contains(&"one"), of.contains(&"two")), (2, true, true));
}
