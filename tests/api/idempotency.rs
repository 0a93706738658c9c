//! A key that is used again, by what became of its job (specification, Idempotency).

use serde_json::{Value, json};
use verifactu_server::sandbox::{Effect, Fault};

use crate::world::{Answer, Mode, World, cancellation, invoice};

async fn send(world: &World, key: &str, idempotency: &str, body: &Value) -> Answer {
    world.ask("POST", "/v1/send-invoice").key(key).idempotency(idempotency).json(body).await
}

fn replayed(answer: &Answer) -> (u16, &str, &str) {
    let body = &answer.body;
    let state = body["status"].as_str().or(body["job"]["status"].as_str()).unwrap_or_default();
    (answer.status, state, answer.header("idempotency-replayed"))
}

#[tokio::test]
async fn a_new_key_is_accepted_with_all_that_can_be_printed() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    let answer = send(&world, &key, "first", &invoice("I-1")).await;
    let path = format!("/v1/jobs/{}", answer.body["jobId"].as_str().unwrap());
    assert_eq!(answer.header("location"), path);
    assert!(answer.header("retry-after").parse::<u32>().unwrap() >= 1);
    assert_eq!(answer.header("idempotency-replayed"), "");
    let body = answer.expect(202);
    assert_eq!((body["type"].as_str(), body["status"].as_str()), (Some("SEND_INVOICE"), Some("PENDING")));
    assert_eq!(body["qrInfo"]["huella"].as_str().unwrap().len(), 64);
    assert_eq!(body["qrInfo"]["csv"], Value::Null);
    assert!(body["qrInfo"]["qrText"].as_str().unwrap().contains("/wlpl/TIKE-CONT/ValidarQR?nif="));
    assert_eq!(body["warnings"], json!([]));
}

#[tokio::test]
async fn a_job_that_waits_answers_again_with_itself() {
    let world = World::new().await;
    // Without a certificate nothing is sent, and in the sandbox nothing is refused either.
    let key = world.account(json!({ "id": "acme" }), crate::world::SCOPES).await;
    let first = send(&world, &key, "k", &invoice("I-1")).await.expect(202);
    let again = send(&world, &key, "k", &invoice("I-1")).await;
    assert_eq!(replayed(&again), (202, "PENDING", "true"));
    assert_eq!(again.body["jobId"], first["jobId"]);
    assert_eq!(again.body["qrInfo"]["huella"], first["qrInfo"]["huella"]);

    let other = send(&world, &key, "k", &invoice("I-2")).await;
    other.fails(409, "idempotency_conflict");
    assert_eq!(other.body["jobId"], first["jobId"]);

    // The same body in another spelling: order of members, blanks, trailing zeros.
    let mut spelled = invoice("I-1");
    let members = spelled.as_object_mut().unwrap();
    let number = members.remove("numSerie").unwrap();
    members.insert("numSerie".to_owned(), number);
    let text = serde_json::to_string_pretty(&spelled).unwrap().replace("100,", "1e2,");
    let ask = world.ask("POST", "/v1/send-invoice").key(&key).header("idempotency-key", "k");
    assert_eq!(replayed(&ask.text(&text).await), (202, "PENDING", "true"));

    // The key belongs to the operation: a cancellation may use it too.
    let cancel = world.ask("POST", "/v1/cancel-invoice").key(&key).idempotency("k");
    let cancel = cancel.json(&cancellation("I-1")).await;
    assert_eq!((cancel.status, cancel.body["type"].as_str()), (202, Some("CANCEL_INVOICE")));
    assert_eq!(cancel.body["qrInfo"]["qrText"], Value::Null);
}

#[tokio::test]
async fn a_job_under_way_and_one_that_failed_answer_again_with_themselves() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    world.set(Mode::Fault);
    let first = send(&world, &key, "k", &invoice("I-1")).await.expect(202);
    let job = first["jobId"].as_str().unwrap();
    let failed = world.job_when(&key, job, |job| job["status"] == "FAILED").await;
    assert_eq!(failed["lastErrorDetail"]["class"], "authority_error");
    assert_eq!(failed["attempts"], 1);
    let again = send(&world, &key, "k", &invoice("I-1")).await;
    assert_eq!(replayed(&again), (202, "FAILED", "true"));
    assert_eq!(again.body["nextRetryAt"], failed["nextRetryAt"]);
    assert!(failed["nextRetryAt"].is_string());

    let world = World::new().await;
    let key = world.ready_account("acme").await;
    world.set(Mode::Silence);
    let first = send(&world, &key, "k", &invoice("I-1")).await.expect(202);
    world.job_when(&key, first["jobId"].as_str().unwrap(), |job| job["status"] == "PROCESSING").await;
    assert_eq!(replayed(&send(&world, &key, "k", &invoice("I-1")).await), (202, "PROCESSING", "true"));
}

#[tokio::test]
async fn a_job_that_succeeded_answers_again_with_its_result() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    let first = send(&world, &key, "k", &invoice("I-1")).await.expect(202);
    let job = first["jobId"].as_str().unwrap();
    let done = world.job_when(&key, job, |job| job["status"] == "SUCCEEDED").await;
    assert!(done["result"]["qrInfo"]["csv"].as_str().unwrap().starts_with("A-"));
    assert_eq!(done["result"]["qrInfo"]["csvStatus"], "present");
    assert_eq!(done["result"]["authority"]["estadoRegistro"], "Correcto");
    assert_eq!((done["refExterna"].clone(), done["lastError"].clone()), (Value::Null, Value::Null));
    let again = send(&world, &key, "k", &invoice("I-1")).await;
    assert_eq!(replayed(&again), (200, "SUCCEEDED", "true"));
    assert_eq!(again.body["result"], done["result"]);
    send(&world, &key, "k", &invoice("I-2")).await.fails(409, "idempotency_conflict");
    assert_eq!(world.sandbox.registrations(None).await.unwrap().len(), 1);

    let answer = send(&world, &key, "another", &invoice("I-1")).await;
    answer.fails(409, "invoice_already_submitted");
    assert_eq!(answer.body["jobId"], first["jobId"]);
}

#[tokio::test]
async fn a_dead_job_stays_dead() {
    let world = World::with(|config| config.engine.retry.waits.clear()).await;
    let key = world.ready_account("acme").await;
    world.sandbox.arm(Fault::new(Effect::Force { code: 1239, number: None }));
    let first = send(&world, &key, "k", &invoice("I-1")).await.expect(202);
    let job = first["jobId"].as_str().unwrap();
    let dead = world.job_when(&key, job, |job| job["status"] == "DEAD").await;
    assert!(dead["lastError"].as_str().unwrap().starts_with("1239: "));
    assert_eq!((dead["attempts"].as_u64(), dead["maxAttempts"].as_u64()), (Some(1), Some(1)));
    assert_eq!(
        (dead["result"]["errorCode"].as_str(), dead["result"]["errors"][0]["level"].as_str()),
        (Some("1239"), Some("record"))
    );
    let again = send(&world, &key, "k", &invoice("I-1")).await;
    again.fails(409, "idempotency_job_dead");
    assert_eq!(replayed(&again), (409, "DEAD", "true"));
    assert_eq!(again.body["jobId"], first["jobId"]);
    send(&world, &key, "k", &invoice("I-2")).await.fails(409, "idempotency_conflict");
    send(&world, &key, "l", &invoice("I-1")).await.fails(409, "invoice_already_submitted");

    let mut correction = invoice("I-1");
    correction["subsanacion"] = json!(true);
    correction["rechazoPrevio"] = json!("S");
    let answer = send(&world, &key, "m", &correction).await;
    answer.fails(409, "correction_conflict");
    assert_eq!(answer.body["expected"], "X");
    correction["rechazoPrevio"] = Value::Null;
    let corrected = send(&world, &key, "m", &correction).await.expect(202);
    world.job_when(&key, corrected["jobId"].as_str().unwrap(), |job| job["status"] == "SUCCEEDED").await;
}

#[tokio::test]
async fn only_an_accepted_request_uses_its_key_up() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    let mut wrong = invoice("I-1");
    wrong["tipoFactura"] = json!("F9");
    send(&world, &key, "k", &wrong).await.fails(400, "validation_failed");
    send(&world, &key, "k", &invoice("I-1")).await.expect(202);
}

#[tokio::test]
async fn requests_at_the_same_moment_make_one_record() {
    let world = World::new().await;
    let key = world.ready_account("acme").await;
    let body = invoice("I-1");
    let answers: Vec<Answer> = {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..16 {
            let ask = world.ask("POST", "/v1/send-invoice").key(&key).idempotency("k");
            let body = body.clone();
            tasks.spawn(async move { ask.json(&body).await });
        }
        tasks.join_all().await
    };
    let new = answers.iter().filter(|answer| answer.header("idempotency-replayed").is_empty()).count();
    assert_eq!(new, 1);
    assert!(answers.iter().all(|answer| answer.body["jobId"] == answers[0].body["jobId"]));
    let chains = world.ask("GET", "/v1/me/chains").key(&key).send().await.expect(200);
    assert_eq!(chains["chains"][0]["length"], 1);
}
