//! The admin interface, as a program in another language would use it.

use std::net::SocketAddr;

use serde_json::{Value, json};
use verifactu_server::sandbox::{SandboxConfig, SandboxError};

use crate::bench::Bench;
use crate::invoice::{Alta, Anulacion, ISSUER, envelope};

async fn start() -> (Bench, reqwest::Client, String) {
    let bench = Bench::with(|config| config.admin(SocketAddr::from(([127, 0, 0, 1], 0)))).await;
    let url = format!("http://{}", bench.sandbox.admin_address().unwrap());
    // The client's TLS set-up does not matter here, but a client without one needs a default.
    (bench, crate::bench::client(crate::bench::pki(), None), url)
}

async fn get(client: &reqwest::Client, url: String) -> Value {
    let response = client.get(url).send().await.unwrap();
    assert_eq!(response.status(), 200);
    serde_json::from_slice(&response.bytes().await.unwrap()).unwrap()
}

async fn send(client: &reqwest::Client, method: &str, url: String, body: Value) -> (u16, Value) {
    let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
    let response = client.request(method, url).body(body.to_string()).send().await.unwrap();
    let status = response.status().as_u16();
    let bytes = response.bytes().await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

#[tokio::test]
async fn looking_inside() {
    let (bench, client, url) = start().await;
    assert_eq!(get(&client, format!("{url}/health")).await, json!({ "status": "ok" }));
    let alta = Alta::new("L-1").with(|alta| alta.reference = Some("R".into())).record();
    let annulment = Anulacion::new("L-1").record();
    bench.submit(&[alta.clone(), annulment.clone()]).await;
    let invoices = get(&client, format!("{url}/records?nif={ISSUER}")).await;
    assert_eq!(invoices.as_array().unwrap().len(), 1);
    assert_eq!(invoices[0]["number"], "L-1");
    assert_eq!(invoices[0]["state"], "Anulada");
    assert_eq!(invoices[0]["huella"], annulment.huella.as_str());
    assert_eq!(invoices[0]["period"], "2026-09");
    let log = get(&client, format!("{url}/registrations")).await;
    assert_eq!(log.as_array().unwrap().len(), 2);
    assert_eq!(log[0]["operation"], "Alta");
    assert_eq!(log[0]["huella"], alta.huella.as_str());
    assert_eq!(log[1]["operation"], "Anulacion");
    assert_eq!(log[0]["presenter"], ISSUER);
    assert_eq!(log[0]["csv"], log[1]["csv"]);
    assert_eq!(get(&client, format!("{url}/registrations?nif=A58818501")).await, json!([]));
    assert_eq!(client.get(format!("{url}/nothing")).send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn settings() {
    let (bench, client, url) = start().await;
    let mut settings = get(&client, format!("{url}/settings")).await;
    let census = settings.as_object_mut().unwrap().remove("census").unwrap();
    assert_eq!(census["unlisted"], "exist");
    assert_eq!(census["listed"]["11111111H"], json!({ "status": "missing" }));
    assert_eq!(
        settings,
        json!({
            "wait_seconds": 60, "page_size": 10000, "clock_margin_seconds": 240, "presenters": "holder",
            "requirements": null,
        })
    );
    let change = json!({ "wait_seconds": null, "clock_margin_seconds": 0, "presenters": "anyone" });
    let (status, changed) = send(&client, "PUT", format!("{url}/settings"), change).await;
    assert_eq!((status, &changed["page_size"]), (200, &json!(10000)));
    let answer = bench.submit(&[Alta::new("S").record()]).await;
    assert!(answer.body.contains("<tikR:TiempoEsperaEnvio></"));
    for wrong in
        [json!({ "wait_seconds": 10000 }), json!({ "page_size": 0 }), json!({ "wait": 1 }), json!([])]
    {
        let (status, _) = send(&client, "PUT", format!("{url}/settings"), wrong.clone()).await;
        assert_eq!(status, 400, "{wrong}");
    }
    assert_eq!(bench.sandbox.settings().wait_seconds, None, "a wrong change changes nothing");
}

#[tokio::test]
async fn faults() {
    let (bench, client, url) = start().await;
    let faults = format!("{url}/faults");
    let list = json!([
        { "fault": "status", "status": 503, "times": 2 },
        { "fault": "soap_fault", "code": 4112, "side": "server", "issuer": ISSUER, "on": "submission", "delay_ms": 1 },
    ]);
    let (status, armed) = send(&client, "POST", faults.clone(), list).await;
    assert_eq!(status, 200);
    assert_eq!(armed[1]["times"], 1);
    let body = || envelope(&[Alta::new("F").record()]);
    for status in [503, 503, 500, 200] {
        assert_eq!(bench.raw(body()).await.unwrap().status, status);
    }
    let (status, _) = send(&client, "POST", faults.clone(), json!({ "fault": "cut", "times": 0 })).await;
    assert_eq!(status, 200);
    for _ in 0..3 {
        assert!(bench.raw(body()).await.is_err());
    }
    assert_eq!(get(&client, faults.clone()).await[0]["times"], 0);
    let (status, _) = send(&client, "DELETE", faults.clone(), Value::Null).await;
    assert_eq!(status, 204);
    assert_eq!(bench.raw(body()).await.unwrap().status, 200);
    let (status, _) = send(&client, "POST", faults, json!({ "fault": "explode" })).await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn certificates() {
    let (bench, client, url) = start().await;
    let ca = client.get(format!("{url}/pki/ca")).send().await.unwrap().text().await.unwrap();
    assert_eq!(ca, bench.sandbox.pki().ca_pem());
    let request = json!({
        "kind": "representative", "nif": ISSUER, "name": "ANA", "entity_nif": "B12345674",
        "entity_name": "EMPRESA SL", "passphrase": "p", "key": "p256",
        "not_before": "2020-01-01T00:00:00Z", "not_after": "2021-01-01T00:00:00Z",
    });
    let response = client.post(format!("{url}/pki/pkcs12")).body(request.to_string()).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let bytes = response.bytes().await.unwrap();
    assert_eq!(bytes[0], 0x30, "DER");
    for wrong in [
        json!({ "kind": "representative", "nif": ISSUER, "name": "ANA" }),
        json!({ "kind": "person", "nif": "", "name": "ANA" }),
        json!({ "kind": "robot", "nif": ISSUER, "name": "ANA" }),
    ] {
        let (status, _) = send(&client, "POST", format!("{url}/pki/pkcs12"), wrong).await;
        assert_eq!(status, 400);
    }
}

#[tokio::test]
async fn only_on_this_computer() {
    let refused = SandboxConfig::default().admin(SocketAddr::from(([0, 0, 0, 0], 0))).start().await;
    assert!(matches!(refused, Err(SandboxError::AdminNotLoopback(_))));
}
