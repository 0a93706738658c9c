//! Webhook signatures.

use verifactu_core::{
    types::Secret,
    webhook::{self, Delivery, Event, EventKind, SignatureError},
};

#[test]
fn service_signature() {
    // RFC 4231, test case 2.
    let secret = Secret::new("Jefe".into());
    let body = b"what do ya want for nothing?";
    let header = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    assert_eq!(webhook::sign(&secret, body), header);
    assert_eq!(webhook::verify(&secret, body, header), Ok(()));
    assert_eq!(
        webhook::verify(&secret, b"what do ya want for nothing!", header),
        Err(SignatureError::Mismatch)
    );
    assert_eq!(webhook::verify(&Secret::new("jefe".into()), body, header), Err(SignatureError::Mismatch));
    for malformed in ["", "sha256=", "sha1=5bdc", &header[..70], &header.replace('5', "g"), &header[7..]] {
        assert_eq!(webhook::verify(&secret, body, malformed), Err(SignatureError::Malformed), "{malformed}");
    }
    // RFC 4231, test case 6: a key longer than a block (131 bytes of 0xaa is no text, so the bytes
    // are checked against themselves over a text key of that length).
    let long = Secret::new("k".repeat(131));
    assert_eq!(webhook::verify(&long, body, &webhook::sign(&long, body)), Ok(()));
    assert_ne!(webhook::sign(&long, body), webhook::sign(&Secret::new("k".repeat(130)), body));
}

#[test]
fn standard_webhooks_signature() {
    // The example of the Standard Webhooks libraries.
    let secret = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into());
    let body = br#"{"test": 2432232314}"#;
    let delivery = Delivery { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: "1614265330" };
    let header = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    assert_eq!(delivery.sign(&secret, body), header);
    let at = |second: i64| jiff::Timestamp::from_second(second).unwrap();
    let verify = |body: &[u8], header: &str, now: i64| delivery.verify(&secret, body, header, at(now), 300);
    assert_eq!(verify(body, header, 1_614_265_330), Ok(()));
    assert_eq!(verify(body, header, 1_614_265_630), Ok(()));
    assert_eq!(verify(body, header, 1_614_265_030), Ok(()));
    assert_eq!(verify(body, header, 1_614_265_631), Err(SignatureError::Time));
    assert_eq!(verify(body, header, 1_614_265_029), Err(SignatureError::Time));
    assert_eq!(verify(b"{}", header, 1_614_265_330), Err(SignatureError::Mismatch));
    // Several signatures, one of them right, as while a secret is being replaced.
    let several = format!("v1,AAAA v2,xyz {header}");
    assert_eq!(verify(body, &several, 1_614_265_330), Ok(()));
    for malformed in ["", "v1,", "v1,%%", "v2,AAAA", &header[3..]] {
        assert!(verify(body, malformed, 1_614_265_330).is_err(), "{malformed}");
    }
    // Identifier and time are covered.
    for other in [Delivery { id: "msg_x", ..delivery }, Delivery { timestamp: "1614265331", ..delivery }] {
        assert_eq!(
            other.verify(&secret, body, header, at(1_614_265_330), 300),
            Err(SignatureError::Mismatch)
        );
    }
    let unreadable = Delivery { timestamp: "now", ..delivery };
    assert_eq!(unreadable.verify(&secret, body, header, at(0), 300), Err(SignatureError::Time));
}

#[test]
fn events_spell_what_the_specification_names() {
    let text = r#"{"event":"invoice.failed","tenantId":"acme","timestamp":"2026-01-15T09:00:00Z","jobId":"6f1f7a0e-8f0b-4b5c-9d5e-0a1b2c3d4e5f","type":"SEND_INVOICE","numSerie":"F-1","lastError":"1239: x"}"#;
    let event: Event = serde_json::from_str(text).unwrap();
    assert_eq!(event.event, EventKind::Failed);
    assert_eq!(serde_json::to_string(&event).unwrap(), text);
}
