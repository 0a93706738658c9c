//! Chains, their proof, and the QR of an invoice.

use std::sync::Arc;

use jiff::ToSpan as _;
use serde_json::{Value, json};
use verifactu_core::{testing::ManualClock, types::Clock as _};
use verifactu_server::{Server, clock::SystemClock};

use crate::world::{ISSUER, Mode, World, cancellation, config, invoice};

#[tokio::test]
async fn records_make_one_chain_that_proves_whole() {
    let world = World::new().await;
    world.set(Mode::Unreachable);
    let key = world.ready_account("acme").await;
    let send = |number: &str| world.ask("POST", "/v1/send-invoice").key(&key).idempotency(number);
    let first = send("C-1").json(&invoice("C-1")).await.expect(202);
    let mut second = invoice("C-2");
    second["encadenamiento"] = json!({ "registroAnterior": { "huella": first["qrInfo"]["huella"] } });
    let second = send("C-2").json(&second).await.expect(202);
    let cancel = world.ask("POST", "/v1/cancel-invoice").key(&key).idempotency("C-1");
    // The record of the invoice knows the issuer's name.
    let mut nameless = cancellation("C-1");
    nameless["nombre"] = Value::Null;
    let third = cancel.json(&nameless).await.expect(202);

    let mut forked = invoice("C-3");
    forked["encadenamiento"] = json!({ "registroAnterior": { "huella": first["qrInfo"]["huella"] } });
    let answer = send("C-3").json(&forked).await;
    answer.fails(409, "chain_continuity");
    assert_eq!(answer.body["error"], "ChainContinuityError");
    assert_eq!(answer.body["expectedHuella"], third["qrInfo"]["huella"]);
    assert_eq!(answer.body["receivedHuella"], first["qrInfo"]["huella"]);
    let mut anew = invoice("C-3");
    anew["encadenamiento"] = json!({ "primerRegistro": true });
    let answer = send("C-3").json(&anew).await;
    answer.fails(409, "chain_state");
    assert_eq!(answer.body["error"], "ChainStateError");

    let chains = world.ask("GET", "/v1/me/chains").key(&key).send().await.expect(200);
    let [chain] = chains["chains"].as_array().unwrap().as_slice() else { panic!("one chain: {chains}") };
    assert_eq!((chain["nif"].as_str(), chain["length"].as_u64()), (Some(ISSUER), Some(3)));
    assert_eq!(chain["lastHuella"], third["qrInfo"]["huella"]);
    assert_eq!(chain["lastNumSerie"], "C-1");
    assert_eq!(chain["pending"], 3);
    let path = format!("/v1/me/chains/{}/verify", chain["id"].as_str().unwrap());
    let proof = world.ask("GET", &path).key(&key).send().await.expect(200);
    assert_eq!((proof["valid"].as_bool(), proof["checked"].as_u64()), (Some(true), Some(3)), "{proof}");
    assert_eq!(proof["firstBreak"], Value::Null);
    assert_ne!(second["qrInfo"]["huella"], first["qrInfo"]["huella"]);
}

#[tokio::test]
async fn a_qr_comes_in_three_forms_before_the_authority_has_answered() {
    let world = World::new().await;
    world.set(Mode::Unreachable);
    let key = world.ready_account("acme").await;
    let send = world.ask("POST", "/v1/send-invoice").key(&key).idempotency("Q-1");
    let sent = send.json(&invoice("Q-1")).await.expect(202);
    let path = format!("/v1/jobs/{}/qr", sent["jobId"].as_str().unwrap());
    let picture = |query: &str| world.ask("GET", &format!("{path}{query}")).key(&key).send();

    let svg = picture("").await;
    assert_eq!(svg.header("content-type"), "image/svg+xml");
    assert!(svg.bytes.starts_with(b"<svg") || svg.bytes.starts_with(b"<?xml"));
    let png = picture("?format=png").await;
    assert_eq!(png.header("content-type"), "image/png");
    assert!(png.bytes.starts_with(b"\x89PNG"));
    let text = picture("?format=txt").await;
    assert_eq!(String::from_utf8(text.bytes).unwrap(), sent["qrInfo"]["qrText"].as_str().unwrap());
    let answer = picture("?format=gif").await;
    answer.fails(400, "validation_failed");
    assert_eq!(answer.fields(), ["format"]);

    let cancel = world.ask("POST", "/v1/cancel-invoice").key(&key).idempotency("Q-1");
    let cancel = cancel.json(&cancellation("Q-1")).await.expect(202);
    let path = format!("/v1/jobs/{}/qr", cancel["jobId"].as_str().unwrap());
    world.ask("GET", &path).key(&key).send().await.fails(404, "not_found");
}

#[tokio::test]
async fn a_system_of_the_callers_own_needs_leave() {
    let world = World::new().await;
    world.set(Mode::Unreachable);
    let plain = world.account(json!({ "id": "plain" }), crate::world::SCOPES).await;
    let own = world.account(json!({ "id": "own", "clientSifEnabled": true }), crate::world::SCOPES).await;
    let mut body = invoice("S-1");
    body["sistemaInformatico"] = json!({ "numeroInstalacion": "CAJA-7" });
    let send = |key: &str| world.ask("POST", "/v1/send-invoice").key(key).idempotency("S-1");
    let refused = send(&plain).json(&body).await.expect(202);
    assert_eq!(refused["warnings"][0]["field"], "sistemaInformatico");
    assert_eq!(send(&own).json(&body).await.expect(202)["warnings"], json!([]));
    for (key, wanted) in [(&plain, false), (&own, true)] {
        let chains = world.ask("GET", "/v1/me/chains").key(key).send().await.expect(200);
        assert_eq!(chains["chains"][0]["numeroInstalacion"] == "CAJA-7", wanted, "{chains}");
    }
}

/// No record is dated before its predecessor, nor ahead of the clock: it waits until the clocks agree.
#[tokio::test]
async fn a_clock_behind_the_chain_is_told() {
    let world = World::new().await;
    world.set(Mode::Unreachable);
    let key = world.ready_account("acme").await;
    let ahead = Server::builder(config(world.directory.path(), &world.sandbox.url()))
        .stores(world.ledger(), world.ledger())
        .authority(world.authority.clone())
        .clock(Arc::new(ManualClock::at(SystemClock.now() + 5.minutes())))
        .start()
        .await
        .unwrap();
    let send = async |address, number: &str| {
        let ask = world.ask_at(address, "POST", "/v1/send-invoice").key(&key).idempotency(number);
        ask.json(&invoice(number)).await
    };
    send(ahead.address(), "A-1").await.expect(202);
    send(world.address(), "A-2").await.fails(503, "clock_skew");
    send(ahead.address(), "A-2").await.expect(202);
    ahead.stop().await;
}
