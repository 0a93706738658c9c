//! Every way an exchange can end, against a host on loopback.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{io::AsyncWriteExt as _, net::TcpListener};
use verifactu_core::{
    authority::{
        Answered, Authority as _, Exchange, NoAnswer, NotReached, Outcome, Request, Service,
        https::{Hosts, HttpsAuthority, Limits, SetupError, Trust},
        outcome,
    },
    certificate::Identity,
    types::Environment,
};

use super::{
    samples,
    server::{Deed, Door, Pki, Server},
};

/// Longer than anything a test waits for.
const LONG: Duration = Duration::from_secs(30);
/// Short, for the time-outs that a test wants.
const SHORT: Duration = Duration::from_millis(300);

fn limits() -> Limits {
    Limits { connect: LONG, exchange: LONG, answer: 1 << 20, ..Limits::default() }
}

fn authority(address: &str, pki: &Pki, limits: Limits) -> HttpsAuthority {
    let trust = Trust::Only(pki.root_pem.clone().into_bytes());
    HttpsAuthority::new(Hosts::at(address).unwrap(), &trust, limits).unwrap()
}

fn request(identity: &Arc<Identity>) -> Request {
    Request {
        service: Service::Registration,
        identity: Arc::clone(identity),
        body: Bytes::from_static(b"<Envelope/>"),
    }
}

fn http(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

async fn against(door: Door, deed: Deed, limits: Limits) -> (Exchange, Server) {
    let pki = Pki::new();
    let server = Server::start(&pki, door, deed).await;
    let exchange = authority(&server.address, &pki, limits).exchange(request(&pki.identity())).await;
    (exchange, server)
}

fn answered(exchange: Exchange) -> Answered {
    match exchange {
        Exchange::Answered(answered) => answered,
        other => panic!("no answer: {other:?}"),
    }
}

fn no_answer(exchange: Exchange) -> NoAnswer {
    match exchange {
        Exchange::NoAnswer { reason, .. } => reason,
        other => panic!("expected no answer: {other:?}"),
    }
}

fn not_reached(exchange: Exchange) -> NotReached {
    match exchange {
        Exchange::NotReached { reason, .. } => reason,
        other => panic!("expected not to reach: {other:?}"),
    }
}

#[tokio::test]
async fn an_answer_comes_back_whole_and_the_request_is_a_soap_request() {
    let answer = http("200 OK", "Content-Type: text/xml;charset=UTF-8\r\n", &samples::accepted());
    for door in [Door::Own, Door::OwnTls12] {
        let (exchange, server) = against(door, Deed::Answer(answer.clone()), limits()).await;
        assert!(matches!(outcome::registration(&exchange), Outcome::Processed(_)));
        let answered = answered(exchange);
        assert_eq!(answered.status, 200);
        assert_eq!(answered.content_type.as_deref(), Some("text/xml;charset=UTF-8"));
        assert_eq!(answered.body, samples::accepted());

        let requests = server.requests();
        assert_eq!(requests.len(), 1);
        let head = requests[0].head.to_ascii_lowercase();
        assert!(head.starts_with("post /wlpl/tike-cont/ws/sistemafacturacion/verifactusoap http/1.1\r\n"));
        assert!(head.contains("\r\ncontent-type: text/xml; charset=utf-8\r\n"));
        assert!(head.contains("\r\nsoapaction: \"\"\r\n"));
        assert_eq!(requests[0].body, b"<Envelope/>");
    }
}

#[tokio::test]
async fn statuses_are_passed_on_and_redirects_are_not_followed() {
    let location = "Location: https://sede.agenciatributaria.gob.es/Sede/errores/erro4033.html\r\n";
    let fault = samples::fault("Client", "Codigo[4104].El NIF");
    let page = b"<html><body>503</body></html>";
    type Expected = fn(&Outcome<verifactu_core::xml::answer::RegistrationAnswer>) -> bool;
    let cases: [(&str, &str, &[u8], Expected); 5] = [
        ("500 Internal Server Error", "", &fault, |o| matches!(o, Outcome::HeaderFault(_))),
        ("302 Found", location, b"", |o| matches!(o, Outcome::AccessRefused(_))),
        ("401 Unauthorized", "", b"", |o| matches!(o, Outcome::AccessRefused(_))),
        ("403 Forbidden", "", page, |o| matches!(o, Outcome::AccessRefused(_))),
        ("503 Service Unavailable", "", page, |o| matches!(o, Outcome::Unreadable { status: 503, .. })),
    ];
    for (status, headers, body, expected) in cases {
        let (exchange, server) =
            against(Door::Own, Deed::Answer(http(status, headers, body)), limits()).await;
        assert!(expected(&outcome::registration(&exchange)), "{exchange:?}");
        assert_eq!(server.requests().len(), 1, "{status}");
        assert!(status.starts_with(&answered(exchange).status.to_string()));
    }
}

#[tokio::test]
async fn a_chunked_answer_is_put_together() {
    let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    let (exchange, _server) = against(Door::Own, Deed::Answer(answer.to_vec()), limits()).await;
    assert_eq!(answered(exchange).body, "abcde");
}

#[tokio::test]
async fn after_the_message_has_left_every_failure_is_in_doubt() {
    let short = Limits { exchange: SHORT, ..limits() };
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n<a>".to_vec();
    let cut_chunk = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n<a>".to_vec();
    let told = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n".to_vec();
    let untold = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec();
    let cases = [
        (Deed::Stall, short, NoAnswer::TimedOut),
        (
            Deed::Answer(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n<a>".to_vec()),
            short,
            NoAnswer::TimedOut,
        ),
        (Deed::Close, limits(), NoAnswer::Broken),
        (Deed::AnswerAndClose(Vec::new()), limits(), NoAnswer::Broken),
        (Deed::AnswerAndClose(b"HTTP/1.1 200".to_vec()), limits(), NoAnswer::Broken),
        (Deed::AnswerAndClose(b"SSH-2.0-OpenSSH\r\n\r\n".to_vec()), limits(), NoAnswer::Broken),
        (Deed::AnswerAndClose(cut), limits(), NoAnswer::Cut),
        (Deed::AnswerAndClose(cut_chunk), limits(), NoAnswer::Cut),
        (Deed::Pour(told), limits(), NoAnswer::TooLarge),
        (Deed::Pour(untold), limits(), NoAnswer::TooLarge),
    ];
    for (deed, limits, reason) in cases {
        let (exchange, server) = against(Door::Own, deed.clone(), limits).await;
        assert_eq!(no_answer(exchange), reason, "{deed:?}");
        assert_eq!(server.connections(), 1, "nothing is sent twice: {deed:?}");
    }
}

/// A host that would send a gigabyte is left once the limit is passed. What it could not send takes no
/// memory: what was on its way by then fits into the buffers of two sockets.
#[tokio::test]
async fn a_gigabyte_is_not_taken_in() {
    const GIGABYTE: usize = 1 << 30;
    const BUFFERS: usize = 24 << 20;
    let heads = [
        format!("HTTP/1.1 200 OK\r\nContent-Length: {GIGABYTE}\r\n\r\n"),
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_owned(),
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{GIGABYTE:x}\r\n"),
    ];
    for head in heads {
        let limits = Limits { exchange: LONG, ..Limits::default() };
        let (exchange, server) = against(Door::Own, Deed::Pour(head.clone().into_bytes()), limits).await;
        assert_eq!(no_answer(exchange), NoAnswer::TooLarge, "{head}");
        let poured = server.poured().await;
        assert!(poured < limits.answer + BUFFERS, "{poured} bytes: {head}");
    }
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_is_read() {
    let body = vec![b'x'; 1000];
    for (limit, whole) in [(1000, true), (999, false)] {
        let limits = Limits { answer: limit, ..limits() };
        let (exchange, _server) = against(Door::Own, Deed::Answer(http("200 OK", "", &body)), limits).await;
        assert_eq!(matches!(exchange, Exchange::Answered(_)), whole, "{limit}");
    }
}

#[tokio::test]
async fn a_host_that_is_not_there_is_not_reached() {
    let pki = Pki::new();
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}", closed.local_addr().unwrap());
    drop(closed);
    let refused = authority(&address, &pki, limits()).exchange(request(&pki.identity())).await;
    assert_eq!(not_reached(refused), NotReached::Connect);

    let nowhere = "https://nowhere.invalid".to_owned();
    let unknown = authority(&nowhere, &pki, limits()).exchange(request(&pki.identity())).await;
    assert_eq!(not_reached(unknown), NotReached::Dns);
}

#[tokio::test]
async fn a_handshake_that_never_ends_is_a_connection_not_made() {
    let pki = Pki::new();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}", silent.local_addr().unwrap());
    let limits = Limits { connect: SHORT, ..limits() };
    let exchange = authority(&address, &pki, limits).exchange(request(&pki.identity())).await;
    assert_eq!(not_reached(exchange), NotReached::Connect);
}

#[tokio::test]
async fn a_host_that_speaks_no_tls_is_not_reached() {
    let pki = Pki::new();
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}", plain.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let (mut stream, _) = plain.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        stream
    });
    let exchange = authority(&address, &pki, limits()).exchange(request(&pki.identity())).await;
    assert!(matches!(not_reached(exchange), NotReached::Tls { .. }));
    task.abort();
}

#[tokio::test]
async fn a_host_without_a_trusted_certificate_is_sent_nothing() {
    let (pki, other) = (Pki::new(), Pki::new());
    let server = Server::start(&pki, Door::Own, Deed::Stall).await;
    let exchange = authority(&server.address, &other, limits()).exchange(request(&pki.identity())).await;
    assert!(matches!(not_reached(exchange), NotReached::Tls { .. }));
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_refused_certificate_is_told_by_the_alert() {
    let pki = Pki::new();
    let stranger = Pki::new().identity();
    for (door, identity, expected) in [
        (Door::Expired, pki.identity(), "CertificateExpired"),
        (Door::Own, Arc::clone(&stranger), "UnknownCA"),
        (Door::OwnTls12, stranger, "UnknownCA"),
    ] {
        let server = Server::start(&pki, door, Deed::Stall).await;
        let exchange = authority(&server.address, &pki, limits()).exchange(request(&identity)).await;
        assert_eq!(not_reached(exchange), NotReached::TlsAlert { alert: expected.to_owned() });
        assert!(server.requests().is_empty());
    }
}

#[tokio::test]
async fn a_connection_is_kept_for_its_identity_and_for_no_other() {
    let pki = Pki::new();
    let server = Server::start(&pki, Door::Own, Deed::Answer(http("200 OK", "", b"x"))).await;
    let authority = authority(&server.address, &pki, Limits { identities: 2, ..limits() });
    let identities = [pki.identity(), pki.identity(), pki.identity()];
    let exchange = async |at: usize| answered(authority.exchange(request(&identities[at])).await);

    exchange(0).await;
    exchange(0).await;
    assert_eq!(server.connections(), 1, "kept");
    exchange(1).await;
    assert_eq!(server.connections(), 2, "not shared");
    exchange(0).await;
    assert_eq!(server.connections(), 2, "still kept");
    exchange(2).await;
    exchange(0).await;
    assert_eq!(server.connections(), 3, "the one used last stays");
    exchange(1).await;
    assert_eq!(server.connections(), 4, "the one used longest ago has gone");
}

#[test]
fn hosts_are_https_addresses() {
    assert!(matches!(Hosts::of(Environment::Sandbox), Err(SetupError::NoHosts)));
    assert!(Hosts::of(Environment::Production).is_ok() && Hosts::of(Environment::Preproduction).is_ok());
    for address in ["https://127.0.0.1:8443", "https://sandbox.example/base/"] {
        assert!(Hosts::at(address).is_ok(), "{address}");
    }
    for address in [
        "",
        "localhost",
        "http://127.0.0.1",
        "https://a:b@host",
        "https://host/?q",
        "https://host/#f",
        "ftp://host",
    ] {
        assert!(matches!(Hosts::at(address), Err(SetupError::Address)), "{address}");
    }
}

#[test]
fn something_must_be_trusted() {
    for pem in ["", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        let hosts = Hosts::at("https://127.0.0.1:1").unwrap();
        let trust = Trust::Only(pem.as_bytes().to_vec());
        assert!(HttpsAuthority::new(hosts, &trust, Limits::default()).is_err(), "{pem}");
    }
}
