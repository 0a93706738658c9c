//! The service killed without warning while invoices come in: what it acknowledged is registered,
//! each record once, on one chain.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::place::{ISSUER, Place};

const SENDS: usize = 200;
const CLIENTS: usize = 8;

fn invoice(number: usize) -> Value {
    json!({
        "nif": ISSUER, "nombre": "Talleres Ebro SL", "numSerie": format!("K-{number:04}"), "fecha": "15-01-2026",
        "tipoFactura": "F2", "descripcion": "Ticket",
        "desglose": [{"clave": "01", "calif": "S1", "base": "10", "tipo": "21", "cuota": "2.1"}]
    })
}

/// Sends until every invoice is acknowledged or the service dies. Returns `(number, job)` of the
/// acknowledged ones.
async fn send_from(
    http: reqwest::Client,
    url: String,
    key: String,
    numbers: Vec<usize>,
    acknowledged: Arc<Mutex<Vec<(usize, String)>>>,
) {
    for number in numbers {
        let request = http.post(format!("{url}/v1/send-invoice")).header("x-api-key", &key);
        let request = request.header("x-idempotency-key", format!("key-{number}")).json(&invoice(number));
        let Ok(answer) = request.send().await else { return };
        let accepted = answer.status().is_success();
        let Ok(body) = answer.json::<Value>().await else { return };
        assert!(accepted, "{body}");
        acknowledged.lock().unwrap().push((number, body["jobId"].as_str().unwrap().to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_the_middle_nothing_acknowledged_is_lost_or_registered_twice() {
    let place = Place::new();
    let mut service = place.serve();
    let key = place.account(&service).await;

    // Answers are slow to come, so that a kill finds messages that are registered but not answered.
    let slow = json!({"fault": "delay", "stored": true, "delay_ms": 300, "times": 0, "on": "submission"});
    place.arm(slow).await;

    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    // Killed twice, each time while a message that was registered has no answer yet; then left alone.
    for last in [false, false, true] {
        let registered = place.registered().await.len();
        let done: HashSet<usize> = acknowledged.lock().unwrap().iter().map(|(number, _)| *number).collect();
        let missing: Vec<usize> = (0..SENDS).filter(|number| !done.contains(number)).collect();
        let mut clients = tokio::task::JoinSet::new();
        for client in 0..CLIENTS {
            let numbers = missing.iter().copied().filter(|number| number % CLIENTS == client).collect();
            let (http, url) = (place.http.clone(), service.told("url"));
            clients.spawn(send_from(http, url, key.clone(), numbers, acknowledged.clone()));
        }
        if last {
            while clients.join_next().await.transpose().unwrap().is_some() {}
        } else {
            let deadline = Instant::now() + Duration::from_secs(60);
            while place.registered().await.len() == registered {
                assert!(Instant::now() < deadline, "nothing was sent");
            }
            service.kill();
            while clients.join_next().await.transpose().unwrap().is_some() {}
            service = place.serve();
        }
    }
    let acknowledged = acknowledged.lock().unwrap().clone();
    assert_eq!(acknowledged.len(), SENDS, "every invoice was acknowledged in the end");

    let mut in_doubt = 0;
    let deadline = Instant::now() + Duration::from_secs(90);
    for (number, job) in &acknowledged {
        loop {
            let found = place.get(&service, &key, &format!("/jobs/{job}")).await;
            if found["status"] == "SUCCEEDED" {
                assert_eq!(found["numSerie"], format!("K-{number:04}"));
                in_doubt += usize::from(found["result"]["authority"]["reconciled"] == true);
                break;
            }
            assert!(Instant::now() < deadline, "not registered in time: {found}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    assert!(in_doubt > 0, "the kills left messages in doubt");
    let mut numbers = place.registered().await;
    numbers.sort();
    let expected: Vec<String> = (0..SENDS).map(|number| format!("K-{number:04}")).collect();
    assert_eq!(numbers, expected, "each registered once");

    let chains = place.get(&service, &key, "/me/chains").await;
    let chains = chains["chains"].as_array().unwrap().clone();
    assert_eq!(chains.len(), 1);
    assert_eq!(chains[0]["length"], SENDS);
    let path = format!("/me/chains/{}/verify", chains[0]["id"].as_str().unwrap());
    let walk = place.get(&service, &key, &path).await;
    assert_eq!((&walk["valid"], &walk["checked"]), (&json!(true), &json!(SENDS)), "{walk}");
    assert!(service.terminate(Duration::from_secs(10)), "a stop ends in time");
}
