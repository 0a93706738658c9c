//! Accounts of the web application, and its back end that acts for them.

use serde_json::{Value, json};
use verifactu_core::{
    ledger::{Accounts as _, Page},
    types::TenantId,
};

use crate::world::{Answer, Ask, SCOPES, World, invoice};

fn put(world: &World, user: &str) -> Ask {
    world.ask("PUT", &format!("/v1/admin/web-accounts/{user}")).admin()
}

fn acting(world: &World, account: &str, method: &str, path: &str) -> Ask {
    world.ask(method, path).admin().header("x-act-as", account)
}

async fn me(world: &World, account: &str) -> Answer {
    acting(world, account, "GET", "/v1/me").send().await
}

#[tokio::test]
async fn a_web_account_is_made_once_and_shows_no_key() {
    let world = World::new().await;
    let made = put(&world, "7").send().await;
    assert_eq!(made.header("location"), "/v1/admin/tenants/web-7");
    assert_eq!(made.expect(201)["tenantId"], "web-7");
    let name = json!({ "name": "Ana" });
    world.ask("PATCH", "/v1/admin/tenants/web-7").admin().json(&name).await.expect(200);
    assert_eq!(put(&world, "7").send().await.expect(200)["name"], "Ana", "it is as it was");
    put(&world, "a%20b").send().await.fails(400, "validation_failed");

    let keys = world.ask("GET", "/v1/admin/api-keys?tenantId=web-7").admin().send().await.expect(200);
    assert_eq!(keys["apiKeys"].as_array().unwrap().len(), 1, "{keys}");
    let stored = world
        .accounts
        .keys(Some(&TenantId::parse("web-7").unwrap()), Page::behind(None, 10))
        .await
        .unwrap()
        .items;
    let sealed = stored[0].sealed.as_ref().unwrap();
    assert!(!sealed.windows(3).any(|part| part == b"vf_"), "it lies there sealed");

    // The child of a partner stays the partner's, whatever it is called.
    world.account(json!({ "id": "firm" }), SCOPES).await;
    world.account(json!({ "id": "web-8", "parentTenantId": "firm" }), SCOPES).await;
    put(&world, "8").send().await.fails(409, "tenant_exists");
    me(&world, "web-8").await.fails(404, "not_found");
}

#[tokio::test]
async fn the_back_end_acts_for_web_accounts_alone() {
    let world = World::new().await;
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    world.account(json!({ "id": "web-9" }), SCOPES).await;
    put(&world, "7").send().await.expect(201);

    let shown = me(&world, "web-7").await;
    assert!(shown.header("ratelimit").starts_with("\"reads\""), "{:?}", shown.headers);
    assert_eq!(shown.expect(200)["tenantId"], "web-7");
    let sent =
        acting(&world, "web-7", "POST", "/v1/send-invoice").idempotency("w").json(&invoice("W-1")).await;
    let job = sent.expect(202)["jobId"].as_str().unwrap().to_owned();
    acting(&world, "web-7", "GET", &format!("/v1/jobs/{job}")).send().await.expect(200);
    world.ask("GET", &format!("/v1/jobs/{job}")).key(&key).send().await.fails(404, "not_found");
    acting(&world, "web-7", "GET", "/v1/partner/tenants").send().await.fails(403, "insufficient_scope");

    for other in ["acme", "web-9", "web-10", "web-", "-", ""] {
        me(&world, other).await.fails(404, "not_found");
    }
    me(&world, "web-7").await.expect(200);
    let ask = || world.ask("GET", "/v1/me").header("x-act-as", "web-7");
    ask().send().await.fails(401, "api_key_missing");
    ask().header("x-admin-key", "guess").send().await.fails(401, "api_key_invalid");
    ask().admin().key(&key).send().await.fails(400, "auth_ambiguous");
    ask().key(&key).send().await.fails(401, "api_key_missing");
    ask().admin().header("x-act-as", "web-8").send().await.fails(400, "validation_failed");
}

#[tokio::test]
async fn acting_for_an_account_is_written_down_and_can_be_ended() {
    let world = World::new().await;
    put(&world, "7").send().await.expect(201);
    me(&world, "web-7").await.expect(200);
    world.ask("GET", "/v1/me").header("x-admin-key", "guess").header("x-act-as", "web-7").send().await;
    let log = world.ask("GET", "/v1/admin/events").admin().send().await.expect(200);
    let told: Vec<Value> = log["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| json!([line["action"], line["subject"]]))
        .collect();
    let wanted = [
        json!(["refused", "GET /me api_key_invalid from 127.0.0.1"]),
        json!(["act_as", "web-7 GET /me"]),
        json!(["web_account.put", "web-7"]),
    ];
    assert_eq!(told, wanted);

    let suspended = json!({ "status": "SUSPENDED" });
    world.ask("PATCH", "/v1/admin/tenants/web-7").admin().json(&suspended).await.expect(200);
    let send = acting(&world, "web-7", "POST", "/v1/send-invoice").idempotency("w");
    send.json(&invoice("W-1")).await.fails(403, "account_suspended");

    let keys = world.ask("GET", "/v1/admin/api-keys?tenantId=web-7").admin().send().await.expect(200);
    let id = keys["apiKeys"][0]["id"].as_str().unwrap().to_owned();
    world.ask("POST", &format!("/v1/admin/api-keys/{id}/revoke")).admin().send().await.expect(200);
    me(&world, "web-7").await.fails(404, "not_found");
    put(&world, "7").send().await.expect(200);
    me(&world, "web-7").await.expect(200);
}

/// The audit log names the operator, and whoever is not known, by identifiers that no account gets.
#[tokio::test]
async fn no_account_is_called_like_the_operator() {
    for (prefix, user) in [("ad", "min"), ("no", "body")] {
        let world = World::with(|config| prefix.clone_into(&mut config.web_account_prefix)).await;
        put(&world, user).send().await.fails(400, "validation_failed");
        put(&world, "other").send().await.expect(201);
        let body = json!({ "id": format!("{prefix}{user}") });
        world.ask("POST", "/v1/admin/tenants").admin().json(&body).await.fails(400, "validation_failed");
    }
}
