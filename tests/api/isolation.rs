//! Nobody sees what is another's, and nobody can tell it from what does not exist. Every route that names
//! something in its path is asked by everybody, and a route without a row fails the test.

use std::collections::BTreeSet;

use harness::programs::endpoints;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use crate::world::{Answer, ISSUER, SCOPES, World, invoice};

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Caller {
    Owner,
    /// Another account, with every scope that an account can have.
    Other,
    /// The owner's partner, with every scope that a partner can have.
    Partner,
    /// The partner of the other account.
    Rival,
    Operator,
    Nobody,
}

const CALLERS: [Caller; 6] =
    [Caller::Owner, Caller::Other, Caller::Partner, Caller::Rival, Caller::Operator, Caller::Nobody];

/// What a variable of a path names.
#[derive(Clone, Copy, Debug)]
enum Thing {
    Job,
    Batch,
    Chain,
    Record,
    Account,
    Key,
    Issuer,
}

use Thing::{Account, Batch, Chain, Issuer, Job, Key, Record};

/// A route, what its variables name, and a body that it takes. Those that change something stand where
/// the rows before do not miss it.
const ROUTES: &[(&str, &[Thing], &str)] = &[
    ("GET /batches/:id", &[Batch], ""),
    ("GET /jobs/:id", &[Job], ""),
    ("GET /jobs/:id/attempts", &[Job], ""),
    ("GET /jobs/:id/xml", &[Job], ""),
    ("GET /jobs/:id/qr", &[Job], ""),
    ("GET /me/chains/:id/verify", &[Chain], ""),
    ("GET /me/invoice-records/:id", &[Record], ""),
    ("GET /me/invoice-records/:id/xml", &[Record], ""),
    ("GET /me/invoice-records/:id/qr", &[Record], ""),
    ("GET /partner/tenants/:id", &[Account], ""),
    ("PATCH /partner/tenants/:id", &[Account], r#"{"name":"Otra"}"#),
    ("GET /partner/tenants/:id/jobs", &[Account], ""),
    ("GET /partner/tenants/:id/chains", &[Account], ""),
    ("GET /partner/tenants/:id/usage", &[Account], ""),
    ("GET /partner/tenants/:id/invoice-records", &[Account], ""),
    ("GET /partner/tenants/:id/api-keys", &[Account], ""),
    ("POST /partner/tenants/:id/api-keys", &[Account], r#"{"scopes":["invoices:read"]}"#),
    ("POST /partner/tenants/:id/api-keys/:keyId/revoke", &[Account, Key], ""),
    ("GET /partner/tenants/:id/certificate", &[Account], ""),
    ("POST /partner/tenants/:id/certificate", &[Account], UPLOAD),
    ("DELETE /partner/tenants/:id/certificate", &[Account], ""),
    ("GET /admin/tenants/:id", &[Account], ""),
    ("PATCH /admin/tenants/:id", &[Account], r#"{"name":"Otra"}"#),
    ("POST /admin/api-keys/:id/revoke", &[Key], ""),
    ("GET /admin/jobs/:id/messages", &[Job], ""),
    ("POST /admin/jobs/:id/retry", &[Job], ""),
    ("POST /admin/issuers/:tenantId/:nif/pause", &[Account, Issuer], "{}"),
    ("POST /admin/issuers/:tenantId/:nif/resume", &[Account, Issuer], "{}"),
    ("GET /admin/tenants/:id/webhook", &[Account], ""),
    ("PATCH /admin/tenants/:id/webhook", &[Account], r#"{"enabled":false}"#),
    ("POST /admin/tenants/:id/webhook/ping", &[Account], ""),
    ("GET /admin/tenants/:id/webhook/deliveries", &[Account], ""),
];

/// Routes whose path names what they make, so that nothing of it is absent.
const MAKING: &[&str] = &["PUT /admin/web-accounts/:userId"];

/// Stands for an upload that is taken.
const UPLOAD: &str = "upload";

const ABSENT: &str = "01980000-0000-7000-8000-000000000000";

/// What an account has that a path can name.
struct Things {
    job: String,
    batch: String,
    chain: String,
    record: String,
    account: &'static str,
    key: String,
}

impl Things {
    fn named(&self, thing: Thing) -> &str {
        match thing {
            Job => &self.job,
            Batch => &self.batch,
            Chain => &self.chain,
            Record => &self.record,
            Account => self.account,
            Key => &self.key,
            Issuer => ISSUER,
        }
    }
}

struct Town {
    world: World,
    keys: [String; 4],
    owner: Things,
    other: Things,
    upload: String,
}

impl Town {
    async fn new() -> Self {
        let world = World::new().await;
        let partner: Vec<&str> = SCOPES[1..]
            .iter()
            .copied()
            .chain(["nif:read", "partner:tenants:read", "partner:tenants:write"])
            .collect();
        let firm = world.account(json!({ "id": "firm" }), &partner).await;
        let rival = world.account(json!({ "id": "rival" }), &partner).await;
        let (owner_key, owner) = settled(&world, "owner", "firm").await;
        let (other_key, other) = settled(&world, "other", "rival").await;
        let upload = world.sandbox_certificate().to_string();
        Self { world, keys: [owner_key, other_key, firm, rival], owner, other, upload }
    }

    async fn ask(&self, caller: Caller, method: &str, path: &str, body: &str) -> Answer {
        let ask = self.world.ask(method, &format!("/v1{path}"));
        let ask = match caller {
            Caller::Owner => ask.key(&self.keys[0]),
            Caller::Other => ask.key(&self.keys[1]),
            Caller::Partner => ask.key(&self.keys[2]),
            Caller::Rival => ask.key(&self.keys[3]),
            Caller::Operator => ask.admin(),
            Caller::Nobody => ask,
        };
        match body {
            "" => ask.send().await,
            UPLOAD => ask.text(&self.upload).await,
            body => ask.text(body).await,
        }
    }

    /// What the owner, its partner and the operator see of it.
    async fn seen(&self) -> Vec<Value> {
        let mut seen = Vec::new();
        for (caller, path) in [
            (Caller::Owner, "/jobs".to_owned()),
            (Caller::Owner, "/me/certificate".to_owned()),
            (Caller::Partner, "/partner/tenants".to_owned()),
            (Caller::Partner, "/partner/tenants/owner/api-keys".to_owned()),
            (Caller::Operator, "/admin/tenants/owner/webhook".to_owned()),
            (Caller::Operator, "/admin/tenants/owner/webhook/deliveries".to_owned()),
        ] {
            seen.push(anonymous(self.ask(caller, "GET", &path, "").await.expect(200)));
        }
        seen
    }
}

/// An account of a partner with an invoice that the authority took, a batch, a certificate and a webhook.
async fn settled(world: &World, id: &'static str, parent: &str) -> (String, Things) {
    let tenant = json!({ "id": id, "parentTenantId": parent, "allowedNif": ISSUER });
    let scopes: Vec<&str> = SCOPES.iter().copied().chain(["nif:read"]).collect();
    let key = world.account(tenant, &scopes).await;
    world.upload_sandbox_certificate(&key).await;
    let webhook = json!({ "url": "https://example.com/hook", "secret": "whsec", "enabled": false });
    let path = format!("/v1/admin/tenants/{id}/webhook");
    world.ask("PATCH", &path).admin().json(&webhook).await.expect(200);
    let item = json!({ "op": "send", "idempotencyKey": "1", "body": invoice(&format!("{id}-1")) });
    let batch =
        world.ask("POST", "/v1/batches").key(&key).json(&json!({ "items": [item] })).await.expect(202);
    let job = batch["items"][0]["jobId"].as_str().unwrap().to_owned();
    let done = world.job_when(&key, &job, |job| job["status"] == "SUCCEEDED").await;
    let chains = world.ask("GET", "/v1/me/chains").key(&key).send().await.expect(200);
    let me = world.ask("GET", "/v1/me").key(&key).send().await.expect(200);
    // A key that nobody misses when it is revoked.
    world.key(id, &["nif:read"]).await;
    let path = format!("/v1/admin/api-keys?tenantId={id}");
    let keys = world.ask("GET", &path).admin().send().await.expect(200);
    let spare = keys["apiKeys"].as_array().unwrap().iter().find(|key| key["id"] != me["keyId"]).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let things = Things {
        job,
        batch: text(&batch["batchId"]),
        chain: text(&chains["chains"][0]["id"]),
        record: text(&done["recordId"]),
        account: id,
        key: text(&spare["id"]),
    };
    (key, things)
}

/// The callers whom a route lets in, and the status that each of the others is answered with.
fn wanted(path: &str, caller: Caller) -> Result<(), u16> {
    let operators = path.starts_with("/admin/");
    let partners = path.starts_with("/partner/");
    match caller {
        Caller::Operator if operators => Ok(()),
        Caller::Partner if partners => Ok(()),
        Caller::Owner if !operators && !partners => Ok(()),
        Caller::Operator | Caller::Nobody => Err(401),
        _ if operators => Err(401),
        Caller::Owner | Caller::Other if partners => Err(403),
        _ => Err(404),
    }
}

/// A path with its variables filled in.
fn filled(path: &str, values: &[&str]) -> String {
    let mut values = values.iter();
    let segment = |segment: &str| match segment.strip_prefix(':') {
        Some(_) => (*values.next().unwrap()).to_owned(),
        None => segment.to_owned(),
    };
    path.split('/').map(segment).collect::<Vec<_>>().join("/")
}

/// A body without what tells one request from the next.
fn anonymous(mut body: Value) -> Value {
    if let Some(members) = body.as_object_mut() {
        members.remove("requestId");
    }
    body
}

/// All that a caller can tell an answer by. What a limit has left tells of the caller alone.
fn telling(answer: Answer) -> (u16, Value, Vec<(String, String)>) {
    let headers = |headers: &HeaderMap| {
        let mut pairs = Vec::new();
        for (name, value) in headers {
            let value = match name.as_str() {
                "x-request-id" | "date" | "ratelimit" => "",
                _ => value.to_str().unwrap(),
            };
            pairs.push((name.to_string(), value.to_owned()));
        }
        pairs.sort();
        pairs
    };
    (answer.status, anonymous(answer.body), headers(&answer.headers))
}

/// The routes that the service publishes and that name something in their path.
fn published() -> BTreeSet<String> {
    let naming = endpoints().into_iter().filter(|(_, path)| path.contains("/:"));
    naming.map(|(method, path)| format!("{method} {path}")).collect()
}

#[test]
fn every_route_that_names_something_has_a_row() {
    let rows: BTreeSet<String> = ROUTES.iter().map(|(route, ..)| (*route).to_owned()).collect();
    let making = MAKING.iter().map(|route| (*route).to_owned());
    assert_eq!(published(), rows.into_iter().chain(making).collect());
}

#[tokio::test]
async fn what_is_anothers_is_as_absent_as_what_does_not_exist() {
    let town = Town::new().await;
    let before = town.seen().await;
    for (route, things, body) in ROUTES {
        let (method, path) = route.split_once(' ').unwrap();
        let owned: Vec<&str> = things.iter().map(|thing| town.owner.named(*thing)).collect();
        for caller in CALLERS {
            let Err(status) = wanted(path, caller) else { continue };
            let real = telling(town.ask(caller, method, &filled(path, &owned), body).await);
            assert_eq!(real.0, status, "{caller:?} {route}: {}", real.1);
            for place in 0..owned.len() {
                for absent in [ABSENT, "x"] {
                    let mut values = owned.clone();
                    values[place] = absent;
                    let absent = telling(town.ask(caller, method, &filled(path, &values), body).await);
                    assert_eq!(real, absent, "{caller:?} {route}");
                }
            }
        }
    }
    assert_eq!(town.seen().await, before, "nobody has changed anything");

    for (route, things, body) in ROUTES {
        let (method, path) = route.split_once(' ').unwrap();
        let owned: Vec<&str> = things.iter().map(|thing| town.owner.named(*thing)).collect();
        for caller in CALLERS.into_iter().filter(|caller| wanted(path, *caller).is_ok()) {
            for (place, thing) in things.iter().enumerate() {
                let with = async |value: &str| {
                    let mut values = owned.clone();
                    values[place] = value;
                    telling(town.ask(caller, method, &filled(path, &values), body).await)
                };
                let absent = with(ABSENT).await;
                assert_eq!(absent.0, 404, "{caller:?} {route}: {}", absent.1);
                if caller != Caller::Operator {
                    assert_eq!(with(town.other.named(*thing)).await, absent, "{caller:?} {route}");
                }
            }
            let real = town.ask(caller, method, &filled(path, &owned), body).await;
            // A job that has succeeded is there, and is not retried.
            let found = real.status < 300 || (real.status, *route) == (409, "POST /admin/jobs/:id/retry");
            assert!(found, "{caller:?} {route}: {} {}", real.status, real.body);
        }
    }
}

#[tokio::test]
async fn what_is_made_by_its_name_only_the_operator_makes() {
    let town = Town::new().await;
    for route in MAKING {
        let (method, path) = route.split_once(' ').unwrap();
        for caller in CALLERS.into_iter().filter(|caller| *caller != Caller::Operator) {
            town.ask(caller, method, &filled(path, &["ana"]), "").await.fails(401, "api_key_missing");
        }
        let made = town.ask(Caller::Operator, method, &filled(path, &["ana"]), "").await;
        assert_eq!(made.status, 201, "{route}: {}", made.body);
    }
}

/// Cursors and idempotency keys name things too.
#[tokio::test]
async fn what_is_anothers_is_no_cursor_and_no_replay() {
    let town = Town::new().await;
    for path in ["/jobs", "/me/invoice-records"] {
        let with = async |cursor: &str| {
            telling(town.ask(Caller::Other, "GET", &format!("{path}?cursor={cursor}"), "").await)
        };
        let absent = with(ABSENT).await;
        assert_eq!((absent.0, with(&town.owner.job).await), (400, absent), "{path}");
    }
    let path = format!("/partner/tenants/owner/jobs?cursor={}", town.other.job);
    town.ask(Caller::Partner, "GET", &path, "").await.fails(400, "validation_failed");

    let send = async |key: &str| {
        let ask = town.world.ask("POST", "/v1/send-invoice").key(key).idempotency("shared");
        let answer = ask.json(&invoice("shared")).await;
        assert_eq!(answer.header("idempotency-replayed"), "");
        answer.expect(202)["jobId"].clone()
    };
    assert_ne!(send(&town.keys[0]).await, send(&town.keys[1]).await);
}
