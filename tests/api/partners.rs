//! Partners and their child accounts (specification, Scopes). Who sees nothing of whom is in `isolation`.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};

use crate::world::{Answer, ISSUER, Mode, SCOPES, World, invoice};

const PARTNER: &[&str] = &["partner:tenants:read", "partner:tenants:write"];

/// A partner with one child, and the keys of both.
struct Firm {
    world: World,
    key: String,
    child_key: String,
}

impl Firm {
    async fn new() -> Self {
        let world = World::new().await;
        let key = world.account(json!({ "id": "firm" }), PARTNER).await;
        let mut firm = Self { world, key, child_key: String::new() };
        let body = json!({ "id": "child", "name": "Ana Ruiz", "allowedNif": ISSUER });
        firm.post("", &body).await.expect(201);
        let created = firm.post("/child/api-keys", &json!({ "scopes": SCOPES })).await.expect(201);
        firm.child_key = created["apiKey"]["key"].as_str().unwrap().to_owned();
        firm
    }

    fn ask(&self, method: &str, path: &str) -> crate::world::Ask {
        self.world.ask(method, &format!("/v1/partner/tenants{path}")).key(&self.key)
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path).send().await
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path).json(body).await
    }

    async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.ask("PATCH", path).json(body).await
    }

    async fn operator(&self, tenant: &str, status: &str) {
        let path = format!("/v1/admin/tenants/{tenant}");
        self.world.ask("PATCH", &path).admin().json(&json!({ "status": status })).await.expect(200);
    }

    async fn send(&self, key: &str, number: &str) -> Answer {
        let ask = self.world.ask("POST", "/v1/send-invoice").key(key).idempotency(number);
        ask.json(&invoice(number)).await
    }

    async fn upload(&self, file: &str) -> Answer {
        let path = format!("{}/fixtures/pkcs12/{file}", env!("CARGO_MANIFEST_DIR"));
        let file = BASE64.encode(std::fs::read(path).unwrap());
        self.post("/child/certificate", &json!({ "pfxBase64": file, "pfxPassphrase": "correct" })).await
    }
}

/// GET, POST /partner/tenants; GET, PATCH /partner/tenants/:id.
#[tokio::test]
async fn children_are_made_listed_and_changed() {
    let firm = Firm::new().await;
    let made = firm.post("", &json!({ "name": "Otro", "allowedNif": "12345678Z" })).await;
    let location = made.header("location").to_owned();
    let made = made.expect(201);
    let id = made["tenantId"].as_str().unwrap();
    assert_eq!(location, format!("/v1/partner/tenants/{id}"));
    assert_eq!((&made["parentTenantId"], &made["allowedNif"]), (&json!("firm"), &json!("12345678Z")));
    assert_eq!((&made["status"], &made["clientSifEnabled"]), (&json!("ACTIVE"), &json!(false)));
    firm.world.account(json!({ "id": "stranger" }), SCOPES).await;
    for taken in ["child", "firm", "stranger"] {
        let body = json!({ "id": taken, "name": "Otro", "allowedNif": ISSUER });
        firm.post("", &body).await.fails(409, "tenant_exists");
    }

    let first = firm.get("?limit=1").await.expect(200);
    let next = format!("?limit=1&cursor={}", first["nextCursor"].as_str().unwrap());
    let second = firm.get(&next).await.expect(200);
    assert_eq!(second["nextCursor"], Value::Null);
    let mut listed = [&first, &second].map(|page| page["tenants"][0]["tenantId"].as_str().unwrap());
    listed.sort_unstable();
    let mut wanted = ["child", id];
    wanted.sort_unstable();
    assert_eq!(listed, wanted);

    let changed = firm.patch("/child", &json!({ "name": "Ana Ruiz Gil" })).await.expect(200);
    let shown = firm.get("/child").await.expect(200);
    assert_eq!((&changed["name"], &shown["name"]), (&json!("Ana Ruiz Gil"), &json!("Ana Ruiz Gil")));
    let wrong = [
        ("", json!({}), vec!["name", "allowedNif"]),
        ("", json!({ "name": "X", "allowedNif": "X" }), vec!["allowedNif"]),
        ("", json!({ "id": "admin", "name": "X", "allowedNif": ISSUER }), vec!["id"]),
        ("", json!({ "id": "web-1", "name": "X", "allowedNif": ISSUER }), vec!["id"]),
        ("", json!({ "id": "-", "name": "X", "allowedNif": ISSUER, "planId": "pro" }), vec!["id", "planId"]),
        ("/child", json!({ "allowedNif": "12345678Z" }), vec!["allowedNif"]),
        ("/child", json!({ "status": "GONE", "planId": "pro" }), vec!["status", "planId"]),
    ];
    for (path, body, fields) in wrong {
        let answer =
            if path.is_empty() { firm.post(path, &body).await } else { firm.patch(path, &body).await };
        answer.fails(400, "validation_failed");
        assert_eq!(answer.fields(), fields, "{body}");
    }
}

/// /jobs, /chains, /usage, /invoice-records: own-account shapes.
#[tokio::test]
async fn a_partner_sees_what_the_child_sees() {
    let firm = Firm::new().await;
    firm.world.upload_sandbox_certificate(&firm.child_key).await;
    for number in ["V-1", "V-2"] {
        let sent = firm.send(&firm.child_key, number).await.expect(202);
        let job = sent["jobId"].as_str().unwrap();
        firm.world.job_when(&firm.child_key, job, |job| job["status"] == "SUCCEEDED").await;
    }
    let without_id = |mut body: Value| {
        body.as_object_mut().unwrap().remove("requestId");
        body
    };
    let views = [
        ("/jobs", "/jobs"),
        ("/jobs?numSerie=V-1", "/jobs?numSerie=V-1"),
        ("/chains", "/me/chains"),
        ("/invoice-records?tipo=ALTA", "/me/invoice-records?tipo=ALTA"),
        ("/certificate", "/me/certificate"),
    ];
    for (partner, own) in views {
        let own = firm.world.ask("GET", &format!("/v1{own}")).key(&firm.child_key).send().await.expect(200);
        let seen = firm.get(&format!("/child{partner}")).await.expect(200);
        assert_eq!(without_id(seen), without_id(own), "{partner}");
    }
    assert_eq!(firm.get("/child/usage?months=1").await.expect(200)["months"][0]["invoices"], 2);
    let page = firm.get("/child/jobs?limit=1").await;
    assert!(page.header("link").starts_with("</v1/partner/tenants/child/jobs?limit=1&cursor="), "{page:?}");
    firm.get("/child/jobs?colour=red").await.fails(400, "validation_failed");
}

/// A key without a scope is told which; a partner's key cannot send.
#[tokio::test]
async fn a_partner_reads_writes_and_never_sends() {
    let firm = Firm::new().await;
    let refused = firm.send(&firm.key, "P-1").await;
    refused.fails(403, "insufficient_scope");
    assert_eq!(refused.body["required"], "invoices:write");
    let reader = firm.world.key("firm", &PARTNER[..1]).await;
    let ask = |method: &str, path: &str| firm.world.ask(method, &format!("/v1/partner/tenants{path}"));
    ask("GET", "/child").key(&reader).send().await.expect(200);
    for (method, path) in [
        ("POST", ""),
        ("PATCH", "/child"),
        ("POST", "/child/api-keys"),
        ("POST", "/child/certificate"),
        ("DELETE", "/child/certificate"),
        ("POST", "/child/api-keys/00000000-0000-0000-0000-000000000000/revoke"),
    ] {
        let answer = ask(method, path).key(&reader).json(&json!({})).await;
        answer.fails(403, "insufficient_scope");
        assert_eq!(answer.body["required"], PARTNER[1]);
    }
    ask("GET", "").key(&firm.child_key).send().await.fails(403, "insufficient_scope");

    let make = async |tenant: &str, scopes: &[&str]| {
        let body = json!({ "tenantId": tenant, "scopes": scopes });
        firm.world.ask("POST", "/v1/admin/api-keys").admin().json(&body).await
    };
    for (tenant, scopes) in
        [("firm", [PARTNER[1], "invoices:write"]), ("child", [PARTNER[0], "invoices:read"])]
    {
        let answer = make(tenant, &scopes).await;
        answer.fails(400, "validation_failed");
        assert_eq!(answer.fields(), ["scopes"]);
    }
    make("firm", &[PARTNER[0], "invoices:read"]).await.expect(201);
}

/// GET, POST /partner/tenants/:id/api-keys; POST …/:keyId/revoke.
#[tokio::test]
async fn keys_of_a_child_are_shown_once_and_revoked() {
    let firm = Firm::new().await;
    let body = json!({ "name": "TPV", "scopes": ["invoices:read"], "expiresAt": "2099-01-01T00:00:00Z" });
    let made = firm.post("/child/api-keys", &body).await.expect(201)["apiKey"].clone();
    let key = made["key"].as_str().unwrap();
    let me = firm.world.ask("GET", "/v1/me").key(key).send().await.expect(200);
    assert_eq!((&me["tenantId"], &me["allowedNif"]), (&json!("child"), &json!(ISSUER)));

    let listed = firm.get("/child/api-keys").await;
    assert!(!String::from_utf8(listed.bytes.clone()).unwrap().contains("vf_"));
    let listed = listed.expect(200);
    assert_eq!(listed["apiKeys"].as_array().unwrap().len(), 2, "the child's own alone");
    assert_eq!((&listed["apiKeys"][1]["id"], &listed["apiKeys"][1]["name"]), (&made["id"], &json!("TPV")));
    let first = firm.get("/child/api-keys?limit=1").await.expect(200);
    assert_eq!(first["nextCursor"], first["apiKeys"][0]["id"]);

    let revoke = format!("/child/api-keys/{}/revoke", made["id"].as_str().unwrap());
    assert!(firm.post(&revoke, &json!({})).await.expect(200)["apiKey"]["revokedAt"].is_string());
    firm.world.ask("GET", "/v1/me").key(key).send().await.fails(401, "api_key_revoked");
    for (scopes, fields) in
        [(json!([PARTNER[0]]), "scopes"), (json!(["admin"]), "scopes[0]"), (json!([]), "scopes")]
    {
        let answer = firm.post("/child/api-keys", &json!({ "scopes": scopes })).await;
        answer.fails(400, "validation_failed");
        assert_eq!(answer.fields(), [fields]);
    }
    let named = firm.post("/child/api-keys", &json!({ "scopes": SCOPES, "tenantId": "firm" })).await;
    assert_eq!(named.fields(), ["tenantId"], "the path names the account");
}

/// GET, POST, DELETE /partner/tenants/:id/certificate; holder differs from `allowedNif`: 422.
#[tokio::test]
async fn the_certificate_of_a_child_must_be_its_own() {
    let firm = Firm::new().await;
    firm.upload("aes256.p12").await.fails(422, "cert_nif_mismatch");
    firm.upload("seal.p12").await.expect(200);
    let shown = firm.get("/child/certificate").await.expect(200);
    assert_eq!(shown["certificate"]["nif"], ISSUER);
    firm.world.set(Mode::Unreachable);
    firm.send(&firm.child_key, "C-1").await.expect(202);
    let removed = firm.ask("DELETE", "/child/certificate").send().await.expect(200);
    assert_eq!((&removed["hasCertificate"], &removed["waitingJobs"]), (&json!(false), &json!(1)));
    firm.ask("DELETE", "/child/certificate").send().await.fails(404, "not_found");
}

/// Suspension blocks writes, of the account and of its partner for it; reads stay. A suspended partner
/// does not stop its children, who owe their records themselves. What the operator suspended the
/// partner does not let go on.
#[tokio::test]
async fn suspension_blocks_the_writes_of_whom_it_names() {
    let firm = Firm::new().await;
    let child = |status: &str| json!({ "status": status });
    let key = json!({ "scopes": ["invoices:read"] });
    let made = firm.post("/child/api-keys", &key).await.expect(201);
    let revoke = format!("/child/api-keys/{}/revoke", made["apiKey"]["id"].as_str().unwrap());

    let suspended = firm.patch("/child", &child("SUSPENDED")).await.expect(200);
    assert_eq!(suspended["status"], "SUSPENDED");
    firm.send(&firm.child_key, "S-1").await.fails(403, "account_suspended");
    firm.post("/child/api-keys", &key).await.fails(403, "account_suspended");
    firm.upload("seal.p12").await.fails(403, "account_suspended");
    firm.ask("DELETE", "/child/certificate").send().await.fails(403, "account_suspended");
    firm.get("/child/jobs").await.expect(200);
    firm.post(&revoke, &json!({})).await.expect(200);
    firm.patch("/child", &child("ACTIVE")).await.expect(200);
    firm.send(&firm.child_key, "S-1").await.expect(202);

    firm.operator("child", "SUSPENDED").await;
    firm.patch("/child", &child("SUSPENDED")).await.expect(200);
    firm.patch("/child", &child("ACTIVE")).await.fails(403, "account_suspended");
    firm.patch("/child", &json!({ "name": "Otra" })).await.expect(200);
    firm.send(&firm.child_key, "S-2").await.fails(403, "account_suspended");
    firm.operator("child", "ACTIVE").await;

    firm.operator("firm", "SUSPENDED").await;
    firm.send(&firm.child_key, "S-2").await.expect(202);
    for path in ["", "/child", "/child/api-keys", "/child/usage"] {
        firm.get(path).await.expect(200);
    }
    let body = json!({ "name": "X", "allowedNif": ISSUER });
    firm.post("", &body).await.fails(403, "account_suspended");
    firm.patch("/child", &json!({ "name": "X" })).await.fails(403, "account_suspended");
    firm.post("/child/api-keys", &key).await.fails(403, "account_suspended");
    firm.post(&revoke, &json!({})).await.fails(403, "account_suspended");
    firm.upload("seal.p12").await.fails(403, "account_suspended");
}

/// What a partner changes is in the audit log under its name.
#[tokio::test]
async fn the_audit_log_names_the_partner() {
    let firm = Firm::new().await;
    firm.upload("seal.p12").await.expect(200);
    firm.patch("/child", &json!({ "name": "Otra" })).await.expect(200);
    let keys = firm.get("/child/api-keys").await.expect(200);
    let id = keys["apiKeys"][0]["id"].as_str().unwrap();
    firm.post(&format!("/child/api-keys/{id}/revoke"), &json!({})).await.expect(200);
    firm.ask("DELETE", "/child/certificate").send().await.expect(200);
    let log = firm.world.ask("GET", "/v1/admin/events").admin().send().await.expect(200);
    let mut lines: Vec<_> = log["events"].as_array().unwrap().iter().collect();
    lines.retain(|line| line["actor"] == "firm");
    let told: Vec<_> = lines.iter().rev().map(|line| (&line["action"], &line["subject"])).collect();
    let key = json!(format!("child/{id}"));
    let child = json!("child");
    let wanted = [
        ("tenant.create", &child),
        ("api_key.create", &key),
        ("certificate.upload", &child),
        ("tenant.change", &child),
        ("api_key.revoke", &key),
        ("certificate.delete", &child),
    ];
    let wanted: Vec<_> = wanted.map(|(action, subject)| (json!(action), subject)).into();
    assert_eq!(told, wanted.iter().map(|(action, subject)| (action, *subject)).collect::<Vec<_>>());
}
