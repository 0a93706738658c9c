//! How often one may call, who has guessed too often, and what the audit log keeps of those refused.

use std::convert::Infallible;

use serde_json::{Value, json};
use sfv::{
    BareItemFromInput, KeyRef, Parser,
    visitor::{ItemVisitor, ParameterVisitor},
};
use verifactu_core::queue::Rate;

use crate::world::{Answer, Ask, SCOPES, Trouble, World, invoice};

/// Two, and then one a minute.
const TWO: Rate = Rate::per_minute(1).with_burst(2);

/// A key of the right shape that nobody has.
const NOBODYS: &str = "vf_aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

async fn with_rate(rate: Rate) -> World {
    World::with(|config| config.rates = verifactu_server::config::Rates::all(rate)).await
}

/// What is told of a rate: its name, what is left, and the seconds within which there is no more.
fn told(answer: &Answer) -> (String, u32, u32) {
    let (name, [left, window]) = item(answer, "ratelimit", ["r", "t"]);
    let (policy, [quota, minute]) = item(answer, "ratelimit-policy", ["q", "w"]);
    assert_eq!((policy.as_str(), minute), (name.as_str(), 60));
    assert!(quota > 0);
    (name, left, window)
}

/// A list of one item: a string, with these integers as its parameters and no others (RFC 9651).
fn item<const N: usize>(answer: &Answer, header: &str, names: [&str; N]) -> (String, [u32; N]) {
    let (text, mut item) = (answer.header(header), Item::default());
    Parser::new(text).parse_item_with_visitor(&mut item).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(item.parameters.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), names, "{text}");
    let numbers: Vec<u32> = item.parameters.iter().map(|(_, number)| *number).collect();
    (item.name, numbers.try_into().unwrap())
}

#[derive(Default)]
struct Item {
    name: String,
    parameters: Vec<(String, u32)>,
}

impl<'de> ItemVisitor<'de> for &mut Item {
    type Out = ();
    type Error = Infallible;

    fn bare_item(
        self,
        name: BareItemFromInput<'de>,
    ) -> Result<impl ParameterVisitor<'de, Out = ()>, Infallible> {
        self.name = name.as_string().expect("a string").as_str().to_owned();
        Ok(self)
    }
}

impl<'de> ParameterVisitor<'de> for &mut Item {
    type Out = ();
    type Error = Infallible;

    fn parameter(&mut self, name: &'de KeyRef, value: BareItemFromInput<'de>) -> Result<(), Infallible> {
        let number = i64::from(value.as_integer().expect("an integer"));
        self.parameters.push((name.as_str().to_owned(), u32::try_from(number).unwrap()));
        Ok(())
    }

    fn finish(self) -> Result<(), Infallible> {
        Ok(())
    }
}

fn assert_too_early(answer: &Answer) {
    answer.fails(429, "rate_limited");
    let wait: u32 = answer.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
}

#[tokio::test]
async fn each_kind_of_calls_has_a_rate_of_its_own() {
    let world = with_rate(TWO).await;
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    let other = world.account(json!({ "id": "other" }), SCOPES).await;
    let id = "00000000-0000-0000-0000-000000000000";
    let one_job = format!("/v1/jobs/{id}");
    let routes = [
        ("writes", "POST", "/v1/send-invoice"),
        ("batches", "POST", "/v1/batches"),
        ("job-reads", "GET", &*one_job),
        ("reads", "GET", "/v1/me"),
        ("authority", "GET", "/v1/invoices/lookup"),
        ("certificates", "DELETE", "/v1/me/certificate"),
    ];
    for (name, method, path) in routes {
        for left in [1, 0] {
            let answer = world.ask(method, path).key(&key).send().await;
            assert_ne!(answer.status, 429, "{name}");
            assert_eq!(answer.header("ratelimit-policy"), format!("\"{name}\";q=1;w=60"));
            let (told, remaining, window) = told(&answer);
            assert_eq!((&*told, remaining), (name, left));
            assert!((1..=60).contains(&window), "{window}");
        }
        let late = world.ask(method, path).key(&key).send().await;
        assert_too_early(&late);
        let (_, remaining, window) = told(&late);
        assert_eq!((remaining, window.to_string().as_str()), (0, late.header("retry-after")));
        assert_eq!(told(&world.ask(method, path).key(&other).send().await).1, 1, "{name}: another account");
    }
    // Routes of a kind share its rate, and an account's keys too.
    assert_too_early(&world.ask("POST", "/v1/cancel-invoice").key(&key).send().await);
    let second = world.key("acme", SCOPES).await;
    assert_too_early(&world.ask("GET", "/v1/jobs").key(&second).send().await);
}

#[tokio::test]
async fn every_answer_after_the_key_tells_the_rate() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    let reader = world.key("acme", &["invoices:read"]).await;
    let ask = |path: &str| world.ask("GET", path).key(&key);
    let send = |key: &str| world.ask("POST", "/v1/send-invoice").key(key).idempotency("rate");
    let answers = [
        (ask("/v1/me").send().await, 200),
        (ask("/me").send().await, 200),
        (ask("/v1/jobs/x").send().await, 404),
        (ask("/v1/jobs?limit=0").send().await, 400),
        (send(&reader).json(&invoice("R-1")).await, 403),
        (send(&key).text("{").await, 400),
        (send(&key).json(&invoice("R-1")).await, 202),
        (send(&key).json(&invoice("R-2")).await, 409),
        (world.ask("GET", "/v1/admin/tenants").admin().send().await, 200),
        (world.ask("GET", "/v1/admin/tenants/x").admin().send().await, 404),
    ];
    for (answer, status) in answers {
        assert_eq!(answer.status, status);
        told(&answer);
    }
    let unknown = [
        world.ask("GET", "/v1/me").send().await,
        world.ask("GET", "/v1/me").key(NOBODYS).send().await,
        world.ask("GET", "/v1/admin/tenants").header("x-admin-key", "x").send().await,
        world.ask("GET", "/health").send().await,
    ];
    for answer in unknown {
        assert!(!answer.headers.contains_key("ratelimit"), "{:?}", answer.headers);
    }
}

#[tokio::test]
async fn rates_can_be_turned_off() {
    let world = World::with(|config| {
        config.rates = verifactu_server::config::Rates::all(Rate::per_minute(1));
        config.rates.enforced = false;
    })
    .await;
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    for _ in 0..5 {
        let answer = world.ask("GET", "/v1/me").key(&key).send().await;
        assert!(answer.status == 200 && !answer.headers.contains_key("ratelimit"));
        world.ask("GET", "/v1/me").key(NOBODYS).send().await.fails(401, "api_key_invalid");
    }
}

#[tokio::test]
async fn wrong_keys_have_a_limit_that_no_proved_key_feels() {
    let world = World::with(|config| config.rates.wrong_keys = TWO).await;
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    let wrong = || world.ask("GET", "/v1/me").key(NOBODYS);
    wrong().send().await.fails(401, "api_key_invalid");
    // A wrong key of the operator is a wrong key.
    world
        .ask("GET", "/v1/admin/tenants")
        .header("x-admin-key", "x")
        .send()
        .await
        .fails(401, "api_key_invalid");
    assert_too_early(&wrong().send().await);
    // What anybody can write says nothing of where a request comes from.
    assert_too_early(&wrong().header("x-forwarded-for", "198.51.100.7").send().await);

    world.ask("GET", "/v1/me").key(&key).send().await.expect(200);
    world.ask("GET", "/v1/me").send().await.fails(401, "api_key_missing");
    world.trouble(Trouble::KeyRevoked);
    world.ask("GET", "/v1/me").key(&key).send().await.fails(401, "api_key_revoked");
    // The operator's key may be a word, so nobody goes on guessing it.
    assert_too_early(&world.ask("GET", "/v1/admin/tenants").admin().send().await);
}

#[tokio::test]
async fn trusted_proxies_tell_where_a_request_comes_from() {
    let world = World::with(|config| {
        config.rates.wrong_keys = TWO;
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let from = |address: &str| world.ask("GET", "/v1/me").key(NOBODYS).header("x-forwarded-for", address);
    for _ in 0..2 {
        from("203.0.113.9, 198.51.100.1").send().await.fails(401, "api_key_invalid");
    }
    assert_too_early(&from("198.51.100.1").send().await);
    from("203.0.113.9").send().await.fails(401, "api_key_invalid");
    from("198.51.100.1, 203.0.113.9").send().await.fails(401, "api_key_invalid");
    assert_too_early(&from("203.0.113.9").send().await);
}

/// The lines of the audit log that tell of refusals, the first first.
async fn refusals(world: &World) -> Vec<Value> {
    let log = world.ask("GET", "/v1/admin/events?limit=200").admin().send().await.expect(200);
    let mut lines = log["events"].as_array().unwrap().clone();
    lines.retain(|line| line["action"] == "refused");
    lines.reverse();
    lines
}

#[tokio::test]
async fn refused_calls_of_operators_are_written_down_within_bounds() {
    let world = World::new().await;
    let create = || world.ask("POST", "/v1/admin/tenants");
    create().admin().json(&json!({})).await.fails(400, "validation_failed");
    world.ask("GET", "/v1/admin/tenants/x").admin().send().await.fails(404, "not_found");
    create().send().await.fails(401, "api_key_missing");
    let wrong = |key: &'static str| create().header("x-admin-key", key);
    let first = wrong("guess").send().await;
    for _ in 0..200 {
        wrong("guess").send().await.fails(401, "api_key_invalid");
    }
    let lines = refusals(&world).await;
    let told: Vec<_> =
        lines[..4].iter().map(|line| (&line["actor"], line["subject"].as_str().unwrap())).collect();
    let (admin, nobody) = (&json!("admin"), &json!("nobody"));
    let wanted = [
        (admin, "POST /admin/tenants validation_failed"),
        (admin, "GET /admin/tenants/:id not_found"),
        (nobody, "POST /admin/tenants api_key_missing from 127.0.0.1"),
        (nobody, "POST /admin/tenants api_key_invalid from 127.0.0.1"),
    ];
    assert_eq!(told, wanted);
    assert_eq!(lines[3]["causedBy"], first.header("x-request-id"));
    assert!((10..40).contains(&lines.len()), "{} lines", lines.len());
    assert!(!json!(lines).to_string().contains("guess"));
}

#[tokio::test]
async fn plans_that_do_not_exist_are_refused() {
    let world = World::new().await;
    world.account(json!({ "id": "acme", "planId": "pro" }), SCOPES).await;
    let create =
        world.ask("POST", "/v1/admin/tenants").admin().json(&json!({ "id": "a", "planId": "gold" })).await;
    let change =
        world.ask("PATCH", "/v1/admin/tenants/acme").admin().json(&json!({ "planId": "gold" })).await;
    for answer in [create, change] {
        answer.fails(400, "validation_failed");
        assert_eq!(answer.fields(), ["planId"]);
        let message = answer.body["message"].as_str().unwrap();
        assert!(message.ends_with("must be one of enterprise, free, pro"), "{message}");
    }
    world.ask("GET", "/v1/admin/tenants/a").admin().send().await.fails(404, "not_found");
}

/// The order of the checks: a request that breaks two neighbouring rules is told the first.
#[tokio::test]
async fn checks_come_in_their_order() {
    let world = World::with(|config| {
        config.rates.writes = Rate::per_minute(1).with_burst(8);
        config.limits.body = 4096;
        config.certificates.required = true;
        config.plans.billing = true;
        config.plans.limits.insert("small".to_owned(), 1);
    })
    .await;
    let send = |key: &str, idempotency: &str| {
        world.ask("POST", "/v1/send-invoice").key(key).idempotency(idempotency)
    };
    let sent = async |key: &str, number: &str| {
        send(key, number).json(&invoice(number)).await.expect(202);
    };
    let tenant = async |id: &str, change: &Value| {
        world.ask("PATCH", &format!("/v1/admin/tenants/{id}")).admin().json(change).await.expect(200)
    };

    let acme = world.ready_account("acme").await;
    let reader = world.key("acme", &["invoices:read"]).await;
    sent(&acme, "A-1").await;
    let spent = world.ready_account("spent").await;
    let spent_reader = world.key("spent", &["invoices:read"]).await;
    let revoked = world.key("spent", SCOPES).await;
    let keys = world.ask("GET", "/v1/admin/api-keys?tenantId=spent").admin().send().await.expect(200);
    let last = keys["apiKeys"].as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
    world.ask("POST", &format!("/v1/admin/api-keys/{last}/revoke")).admin().send().await.expect(200);
    for _ in 0..8 {
        assert_ne!(send(&spent, "x").text("{").await.status, 429);
    }
    let suspended = world.ready_account("suspended").await;
    sent(&suspended, "S-1").await;
    tenant("suspended", &json!({ "status": "SUSPENDED" })).await;
    let child = world.account(json!({ "id": "child", "allowedNif": "89890001K" }), SCOPES).await;
    let bare = world.ready_account("bare").await;
    sent(&bare, "B-1").await;
    world.ask("DELETE", "/v1/me/certificate").key(&bare).send().await.expect(200);
    let small = world.ready_account("small").await;
    tenant("small", &json!({ "planId": "small" })).await;
    sent(&small, "P-1").await;

    let large = format!("{{\"{}\":1}}", "x".repeat(5000));
    let mut wrong = invoice("W-1");
    wrong["descripcion"] = Value::Null;
    let mut foreign = invoice("P-2");
    foreign["encadenamiento"] = json!({ "registroAnterior": { "huella": "A".repeat(64) } });
    let cases: Vec<(&str, Ask, String, u16, &str)> = vec![
        ("size, key", send(NOBODYS, "1"), large, 413, "payload_too_large"),
        ("key, rate", send(&revoked, "1"), "{}".into(), 401, "api_key_revoked"),
        ("rate, scope", send(&spent_reader, "1"), "{}".into(), 429, "rate_limited"),
        ("scope, JSON", send(&reader, "1"), "{".into(), 403, "insufficient_scope"),
        (
            "JSON, idempotency header",
            world.ask("POST", "/v1/send-invoice").key(&acme),
            "{".into(),
            400,
            "invalid_json",
        ),
        (
            "idempotency header, replay",
            send(&acme, "A-1").header("idempotency-key", "A-2"),
            wrong.to_string(),
            400,
            "idempotency_key_invalid",
        ),
        ("replay, account", send(&suspended, "S-1"), wrong.to_string(), 409, "idempotency_conflict"),
        ("account, validation", send(&suspended, "S-2"), wrong.to_string(), 403, "account_suspended"),
        ("validation, tax id", send(&child, "1"), wrong.to_string(), 400, "validation_failed"),
        ("tax id, certificate", send(&child, "1"), invoice("C-1").to_string(), 422, "allowed_nif_mismatch"),
        (
            "certificate, natural key",
            send(&bare, "2"),
            invoice("B-1").to_string(),
            422,
            "tenant_certificate_required",
        ),
        (
            "natural key, plan",
            send(&small, "2"),
            invoice("P-1").to_string(),
            409,
            "invoice_already_submitted",
        ),
        ("plan, chain", send(&small, "2"), foreign.to_string(), 402, "plan_limit_reached"),
    ];
    for (name, ask, body, status, code) in cases {
        let answer = ask.text(&body).await;
        assert_eq!(
            (answer.status, answer.body["code"].as_str()),
            (status, Some(code)),
            "{name}: {}",
            answer.body
        );
    }
}
