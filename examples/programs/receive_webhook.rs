//! A receiver of webhooks: proves that a delivery comes from the service, answers at once, and does its
//! work afterwards. Plain HTTP on this computer, which the service allows for development; elsewhere put
//! it behind TLS.
//!
//! `cargo run -p verifactu-examples --example receive_webhook`
#![allow(clippy::print_stdout)]

use std::{convert::Infallible, sync::Arc, time::Duration};

use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::{Request, Response, StatusCode, body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, sync::mpsc};
use verifactu_client::{
    IdempotencyKey,
    api::WebhookPatch,
    types::{Clock as _, Secret, TenantId},
    webhook::{EventKind, Received, Webhook},
};
use verifactu_examples::{Outcome, Place, invoice};
use verifactu_server::clock::SystemClock;

const SECRET: &str = "a secret that operator and receiver share";

#[tokio::main]
async fn main() -> Outcome<()> {
    let place = Place::open().await?;
    let client = place.customer().await?;

    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let webhook = WebhookPatch {
        url: Some(Some(format!("http://{}/verifactu", listener.local_addr()?))),
        secret: Some(Secret::new(SECRET.to_owned())),
        enabled: Some(true),
    };
    place.admin()?.operator().set_webhook(&TenantId::parse("talleres-ebro")?, &webhook).await?;
    let (work, mut received) = mpsc::channel(100);
    tokio::spawn(serve(listener, work));

    let sent = client.send_invoice(&IdempotencyKey::random(), &invoice("2026/0001")?).await?;
    let told = tokio::time::timeout(Duration::from_secs(60), received.recv()).await?.ok_or("no event")?;
    let Received::Event(event) = told else { return Err("an event that is not known".into()) };
    println!("{:?} of {:?}, CSV {:?}", event.event, event.num_serie, event.csv);
    assert_eq!((event.event, event.job_id), (EventKind::Succeeded, sent.job_id()));

    place.close().await;
    Ok(())
}

async fn serve(listener: TcpListener, work: mpsc::Sender<Received>) {
    let webhook = Arc::new(Webhook::new(Secret::new(SECRET.to_owned())));
    while let Ok((stream, _)) = listener.accept().await {
        let (webhook, work) = (webhook.clone(), work.clone());
        tokio::spawn(async move {
            let answer = service_fn(async |request| {
                let mut response = Response::new(Empty::<&[u8]>::new());
                *response.status_mut() = receive(request, &webhook, &work).await;
                Ok::<_, Infallible>(response)
            });
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}

async fn receive(request: Request<Incoming>, webhook: &Webhook, work: &mpsc::Sender<Received>) -> StatusCode {
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, 64 * 1024).collect().await else {
        return StatusCode::PAYLOAD_TOO_LARGE;
    };
    let header = |name: &str| head.headers.get(name)?.to_str().ok();
    let Ok(received) = webhook.verify(header, &body.to_bytes(), SystemClock.now().into()) else {
        return StatusCode::UNAUTHORIZED;
    };
    match work.try_send(received) {
        Ok(()) => StatusCode::NO_CONTENT,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}
