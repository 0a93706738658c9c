//! The receiver of webhooks.

use harness::programs::Process;
use verifactu_client::{
    types::{Clock as _, Secret},
    webhook::{self, Delivery},
};
use verifactu_server::clock::SystemClock;

#[tokio::test]
async fn deliveries_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, "s3cret\n").unwrap();
    let file = file.to_str().unwrap();
    let listen = ["--json", "webhook", "listen", "--listen", "127.0.0.1:0", "--secret-file", file];
    let receiver = Process::start("verifactu", &listen);
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let body = r#"{"event":"webhook.ping"}"#;
    let sent = SystemClock.now().as_second().to_string();
    let signed = |secret: &str| {
        let (secret, delivery) = (Secret::new(secret.into()), Delivery { id: "msg_1", timestamp: &sent });
        [webhook::sign(&secret, body.as_bytes()), delivery.sign(&secret, body.as_bytes())]
    };
    let [service, standard] = signed("s3cret");
    let [forged_service, forged_standard] = signed("other");
    for (service_signature, standard_signature, expected) in [
        (&service, &standard, 204),
        (&service, &forged_standard, 401),
        (&forged_service, &standard, 401),
        (&service, &String::new(), 401),
    ] {
        let request = http
            .post(receiver.told("url"))
            .header(webhook::SERVICE_SIGNATURE, service_signature)
            .header(webhook::WEBHOOK_ID, "msg_1")
            .header(webhook::WEBHOOK_TIMESTAMP, &sent)
            .header(webhook::WEBHOOK_SIGNATURE, standard_signature)
            .body(body);
        assert_eq!(request.send().await.unwrap().status().as_u16(), expected);
    }
    let bare = http.post(receiver.told("url")).header(webhook::SERVICE_SIGNATURE, &service).body(body);
    assert_eq!(bare.send().await.unwrap().status().as_u16(), 401, "it could be played again");
    let large = http.post(receiver.told("url")).body("x".repeat(70_000)).send().await;
    assert!(large.is_err() || large.is_ok_and(|answer| answer.status().as_u16() == 413));
}
