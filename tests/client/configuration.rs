//! How a client is set up, and whom it trusts.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{ServerConfig, crypto::aws_lc_rs};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;
use verifactu_client::{
    Client, ConfigurationError, Cursor, Error, IdempotencyKey, List, Operator, Page, Partner, RetryPolicy,
    Submitted, Trust,
    api::{ExportFilter, Job, JobFilter, Jobs},
    blocking,
    types::Secret,
    webhook,
};

use crate::scripted::{REQUEST_ID, invoice, job_id};

/// What is handed to other threads can be; the compiler is the test.
#[test]
fn clients_and_what_they_give_go_to_other_threads() {
    fn shared<T: Clone + Send + Sync + 'static>() {}
    fn sent<T: Send + 'static>(_: impl FnOnce(&'static Client) -> T) {}
    shared::<(Client, Operator, Partner, List<Jobs>, IdempotencyKey)>();
    shared::<(blocking::Client, Page<Job>, Cursor, Submitted, webhook::Webhook)>();
    sent(|client| client.wait_for_job(job_id(), std::time::Duration::ZERO));
    sent(|client| client.jobs(&JobFilter::default()).rows());
    sent(|client| client.me());
    sent(|client| async move { client.export(&ExportFilter::default()).await });
}

#[test]
fn addresses_are_checked() {
    let built = |address: &str| Client::builder(address).build();
    for wrong in ["", "host", "ftp://host", "https://u:p@host", "https://host/v1?a=b", "https://host/#x"] {
        assert!(matches!(built(wrong), Err(ConfigurationError::Address)), "{wrong}");
    }
    for plain in
        ["http://example.com", "http://10.0.0.1", "http://localhost.example.com", "http://[2001:db8::1]"]
    {
        assert!(matches!(built(plain), Err(ConfigurationError::PlainHttp)), "{plain}");
    }
    for loopback in ["http://localhost:1/v1", "http://127.0.0.1", "http://[::1]:8080/v1/"] {
        assert!(built(loopback).is_ok(), "{loopback}");
    }
}

#[tokio::test]
async fn a_key_that_is_not_there_is_missed_before_anything_is_sent() {
    let client = Client::builder("http://127.0.0.1:1").build().unwrap();
    let found = client.send_invoice(&IdempotencyKey::random(), &invoice("1")).await.unwrap_err();
    assert!(matches!(found, Error::Configuration(ConfigurationError::NoApiKey)));
    assert!(found.is_unsent() && !found.is_retryable());
}

#[test]
fn keys_are_checked_and_not_shown() {
    for wrong in ["", "vf a", "vf_\n", "vf_ñ"] {
        let built = Client::builder("http://127.0.0.1").api_key(Secret::new(wrong.into())).build();
        assert!(matches!(built, Err(ConfigurationError::Key)), "{wrong:?}");
    }
    let builder = Client::builder("http://127.0.0.1")
        .api_key(Secret::new("vf_secret".into()))
        .admin_key(Secret::new("adm_secret".into()));
    let shown = format!("{builder:?} {:?}", builder.clone().build().unwrap());
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn roots_must_be_there() {
    let built = |pem: &[u8]| Client::builder("https://host").trust(Trust::Only(pem.to_vec())).build();
    assert!(matches!(built(b""), Err(ConfigurationError::NoRoots)));
    assert!(matches!(built(b"no certificate"), Err(ConfigurationError::NoRoots)));
    let broken = b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
    assert!(matches!(built(broken), Err(ConfigurationError::Pem(_))));
}

#[tokio::test]
async fn only_the_trusted_service_hears_the_key() {
    let (ca_pem, acceptor) = authority();
    let (other_pem, _) = authority();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://localhost:{}/v1", listener.local_addr().unwrap().port());
    let served = tokio::spawn(async move {
        let mut heard = 0;
        while heard == 0 {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut buffer = [0; 4096];
            let Ok(read @ 1..) = stream.read(&mut buffer).await else { continue };
            assert!(String::from_utf8_lossy(&buffer[..read]).contains("x-api-key: vf_a"));
            heard += 1;
            let body = format!(
                "{{\"success\":false,\"error\":\"NotFoundError\",\"code\":\"not_found\",\
                \"message\":\"no\",\"requestId\":\"{REQUEST_ID}\"}}"
            );
            let head = format!("HTTP/1.1 404 X\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all((head + &body).as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        }
    });
    let ask = async |pem: String| {
        let trust = Trust::Only(pem.into_bytes());
        let builder = Client::builder(&address).api_key(Secret::new("vf_a".into())).trust(trust);
        builder.retry(RetryPolicy::never()).build().unwrap().job(job_id()).await.unwrap_err()
    };
    let stranger = ask(other_pem).await;
    assert!(matches!(stranger, Error::Transport(_)) && stranger.is_unsent(), "{stranger:?}");
    assert!(ask(ca_pem).await.service().unwrap().is_not_found());
    served.await.unwrap();
}

/// A CA of its own, and a server under it.
fn authority() -> (String, TlsAcceptor) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["localhost".into()]).unwrap().signed_by(&key, &ca).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key.serialize_der().try_into().unwrap())
        .unwrap();
    (ca.pem(), TlsAcceptor::from(Arc::new(config)))
}
