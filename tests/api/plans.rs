//! Plans and usage. Each test names the line of the contract that it stands for.

use serde_json::{Value, json};

use crate::world::{ISSUER, Mode, SCOPES, World, cancellation, invoice};

async fn limited(limit: u64) -> World {
    let world = World::with(|config| {
        config.plans.billing = true;
        config.plans.limits.insert("small".to_owned(), limit);
    })
    .await;
    world.set(Mode::Unreachable);
    world
}

/// 402 plan_limit_reached {limit, used, resetsAt}. The plan counts every alta that is no correction;
/// cancellations, corrections, replays and previews are free.
#[tokio::test]
async fn a_plan_counts_new_invoices() {
    let world = limited(2).await;
    let key = world.account(json!({ "id": "acme", "planId": "small" }), SCOPES).await;
    let send = |number: &str, body: Value| {
        let ask = world.ask("POST", "/v1/send-invoice").key(&key).idempotency(number);
        async move { ask.json(&body).await }
    };
    let correction = |number: &str| {
        let mut body = invoice(number);
        body["subsanacion"] = json!(true);
        body
    };
    send("1", invoice("P-1")).await.expect(202);
    send("2", invoice("P-2")).await.expect(202);
    let over = send("3", invoice("P-3")).await;
    over.fails(402, "plan_limit_reached");
    assert_eq!((&over.body["limit"], &over.body["used"]), (&json!(2), &json!(2)));
    let resets = over.body["resetsAt"].clone();
    assert!(resets.is_string(), "{}", over.body);

    send("1", invoice("P-1")).await.expect(202);
    send("4", correction("P-1")).await.expect(202);
    let cancel = world.ask("POST", "/v1/cancel-invoice").key(&key).idempotency("5");
    cancel.json(&cancellation("P-2")).await.expect(202);
    world.ask("POST", "/v1/invoices/preview").key(&key).json(&invoice("P-9")).await.expect(200);
    // The natural key comes before the plan, and the refused key was not used up.
    send("6", invoice("P-1")).await.fails(409, "invoice_already_submitted");
    send("3", invoice("P-8")).await.fails(402, "plan_limit_reached");
    let batch = json!({ "items": [{ "op": "send", "idempotencyKey": "7", "body": invoice("P-7") }] });
    let taken = world.ask("POST", "/v1/batches").key(&key).json(&batch).await.expect(202);
    assert_eq!(taken["items"][0]["error"]["code"], "plan_limit_reached");

    let plan = world.ask("GET", "/v1/me/plan").key(&key).send().await.expect(200);
    assert_eq!(
        plan["plan"],
        json!({ "id": "small", "name": "small", "maxInvoicesPerMonth": 2, "maxRequestsPerMonth": null })
    );
    assert_eq!((&plan["usage"]["invoices"], &plan["usage"]["requests"]), (&json!(2), &json!(11)), "{plan}");
    assert_eq!((&plan["resetsAt"], plan["status"].as_str()), (&resets, Some("ACTIVE")));
    let month = &plan["usage"]["month"];
    let usage = world.ask("GET", "/v1/me/usage?months=1").key(&key).send().await.expect(200);
    assert_eq!(
        usage["months"],
        json!([{ "month": month, "invoices": 2, "cancellations": 1, "requests": 12 }])
    );
    let ledger = world.ask("GET", "/v1/me/ledger").key(&key).send().await.expect(200);
    let row = json!({
        "month": month, "nif": ISSUER, "altas": 2, "anulaciones": 1,
        "base": "200.00", "cuota": "42.00", "total": "242.00",
    });
    assert_eq!(ledger["months"], json!([row]));
    for path in ["/v1/me/usage?months=0", "/v1/me/ledger?months=37"] {
        world.ask("GET", path).key(&key).send().await.fails(400, "validation_failed");
    }
}

/// 402 only where billing is enabled; everything is counted all the same.
#[tokio::test]
async fn without_billing_nothing_is_refused() {
    let world = World::with(|config| {
        config.plans.limits.insert("free".to_owned(), 0);
    })
    .await;
    world.set(Mode::Unreachable);
    let key = world.account(json!({ "id": "acme" }), SCOPES).await;
    let send = world.ask("POST", "/v1/send-invoice").key(&key).idempotency("1");
    send.json(&invoice("U-1")).await.expect(202);
    let plan = world.ask("GET", "/v1/me/plan").key(&key).send().await.expect(200);
    assert_eq!((&plan["plan"]["id"], &plan["plan"]["maxInvoicesPerMonth"]), (&json!("free"), &Value::Null));
    assert_eq!(plan["usage"]["invoices"], 1);
}

/// Of 100 sends at the same time, one below the limit, exactly one is taken.
#[tokio::test]
async fn the_last_place_of_a_plan_is_given_once() {
    let world = limited(3).await;
    let key = world.account(json!({ "id": "acme", "planId": "small" }), SCOPES).await;
    let send = |number: String| {
        let ask = world.ask("POST", "/v1/send-invoice").key(&key).idempotency(&number);
        async move { ask.json(&invoice(&number)).await.status }
    };
    for number in ["A", "B"] {
        assert_eq!(send(number.to_owned()).await, 202);
    }
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..100 {
        tasks.spawn(send(format!("N-{number}")));
    }
    let mut statuses = tasks.join_all().await;
    statuses.sort_unstable();
    assert_eq!(statuses[0], 202);
    assert!(statuses[1..].iter().all(|status| *status == 402), "{statuses:?}");
}
