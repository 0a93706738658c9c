//! `Prefer: wait` on send and cancel (semantics of the contract, point 25).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use verifactu_server::sandbox::{Effect, Fault};

use crate::world::{Answer, Mode, World, cancellation, invoice};

async fn send(world: &World, key: &str, wait: &str, body: &Value) -> Answer {
    let number = body["numSerie"].as_str().unwrap().to_owned();
    world
        .ask("POST", "/v1/send-invoice")
        .key(key)
        .idempotency(&number)
        .header("prefer", wait)
        .json(body)
        .await
}

/// 200 only for SUCCEEDED or DEAD; a rejection is a 202 at once; 502 for a fault; 504 for no answer, both
/// with jobId and qrInfo; not due in time: 202. Replays honour it too.
#[tokio::test]
async fn an_answer_waits_for_the_authority() {
    let world = World::with(|config| {
        config.engine.retry.waits = vec![Duration::from_secs(3600)];
        config.engine.max_records = 1;
    })
    .await;
    let key = world.ready_account("acme").await;

    let answer = send(&world, &key, "wait=20", &invoice("W-1")).await;
    assert_eq!(answer.header("preference-applied"), "wait=20");
    let location = answer.header("location").to_owned();
    let accepted = answer.expect(200);
    assert_eq!(accepted["status"], "SUCCEEDED");
    assert!(accepted["qrInfo"]["csv"].is_string() && accepted["warnings"].is_array(), "{accepted}");
    assert_eq!(accepted["result"]["authority"]["estadoRegistro"], "Correcto");
    assert_eq!(location, format!("/v1/jobs/{}", accepted["jobId"].as_str().unwrap()));
    let cancel =
        world.ask("POST", "/v1/cancel-invoice").key(&key).idempotency("c").header("prefer", "wait=20");
    assert_eq!(cancel.json(&cancellation("W-1")).await.expect(200)["type"], "CANCEL_INVOICE");

    world.sandbox.arm(Fault::new(Effect::Force { code: 1239, number: None }));
    let began = Instant::now();
    let rejected = send(&world, &key, "wait=20", &invoice("W-2")).await.expect(202);
    assert_eq!(
        (&rejected["status"], &rejected["lastErrorDetail"]["code"]),
        (&json!("FAILED"), &json!("1239"))
    );
    assert_eq!(rejected["result"]["errorCode"], "1239");
    send(&world, &key, "wait=20", &invoice("W-2")).await.expect(202);
    assert!(began.elapsed() < Duration::from_secs(15), "at once");

    world.set(Mode::Fault);
    let answer = send(&world, &key, "wait=20", &invoice("W-3")).await;
    answer.fails(502, "authority_error");
    assert!(
        answer.body["jobId"].is_string() && answer.body["qrInfo"]["qrText"].is_string(),
        "{}",
        answer.body
    );

    // An old failure is no news for a replay, which waits for the next attempt.
    let began = Instant::now();
    let answer = send(&world, &key, "wait=1", &invoice("W-3")).await;
    assert_eq!(answer.header("idempotency-replayed"), "true");
    assert_eq!(answer.expect(202)["status"], "FAILED");
    assert!(began.elapsed() >= Duration::from_secs(1));

    // Preferences that cannot be read are none.
    for prefer in ["wait=soon", "respond-async", "wait"] {
        let answer = send(&world, &key, prefer, &invoice("W-1")).await;
        assert_eq!((answer.status, answer.header("preference-applied")), (200, ""), "{prefer}");
    }
}

#[tokio::test]
async fn silence_is_a_time_out_and_no_answer_in_time_is_a_202() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    world.set(Mode::Silence);
    let answer = send(&world, &key, "respond-async, wait=1", &invoice("S-1")).await;
    let waiting = answer.expect(202);
    assert_eq!(waiting["status"], "PROCESSING");

    let world = World::new().await;
    let key = world.ready_account("acme").await;
    world.sandbox.arm(Fault::new(Effect::Cut).until_cleared());
    let answer = send(&world, &key, "wait=20", &invoice("S-2")).await;
    answer.fails(504, "authority_timeout");
    assert!(
        answer.body["jobId"].is_string() && answer.body["qrInfo"]["huella"].is_string(),
        "{}",
        answer.body
    );
}
