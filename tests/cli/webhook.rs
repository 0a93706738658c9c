//! The receiver of webhooks.

use harness::programs::Process;
use verifactu_client::{types::Secret, webhook};

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
    let signed = webhook::sign(&Secret::new("s3cret".into()), body.as_bytes());
    let forged = webhook::sign(&Secret::new("other".into()), body.as_bytes());
    for (signature, expected) in [(signed.as_str(), 204), (&forged, 401), ("", 401)] {
        let request =
            http.post(receiver.told("url")).header(webhook::SERVICE_SIGNATURE, signature).body(body);
        assert_eq!(request.send().await.unwrap().status().as_u16(), expected);
    }
    let large = http.post(receiver.told("url")).body("x".repeat(70_000)).send().await;
    assert!(large.is_err() || large.is_ok_and(|answer| answer.status().as_u16() == 413));
}
