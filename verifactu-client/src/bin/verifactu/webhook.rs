//! Receives webhooks on this computer, to try a receiver's settings: verifies and prints.

use std::{convert::Infallible, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use clap::{Args, Subcommand};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::{Method, Request, Response, StatusCode, body::Incoming, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Semaphore};
use verifactu_client::webhook::{self, WEBHOOK_ID};

use crate::{
    failure::{End, Failure},
    output::{Output, listed},
    surroundings::{self, WEBHOOK_SECRET},
};

/// Largest delivery, in bytes.
const MAX_BODY: usize = 64 * 1024;
const MAX_CONNECTIONS: usize = 32;
const HEADER_TIME: Duration = Duration::from_secs(10);
const REQUEST_TIME: Duration = Duration::from_secs(30);

#[derive(Subcommand)]
pub(crate) enum Webhook {
    /// Listens until it is interrupted, verifies each delivery, and prints it.
    Listen(Listen),
}

#[derive(Args)]
pub(crate) struct Listen {
    /// A loopback address; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9000")]
    listen: SocketAddr,
    /// File with the secret; else VERIFACTU_WEBHOOK_SECRET.
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

impl Webhook {
    pub(crate) async fn run(&self, output: Output) -> Result<End, Failure> {
        let Self::Listen(Listen { listen, secret_file }) = self;
        if !listen.ip().is_loopback() {
            return Err(Failure::NotLoopback);
        }
        let secret = surroundings::secret(secret_file.as_deref(), WEBHOOK_SECRET)?.ok_or(Failure::Unset(
            "secret",
            "--secret-file",
            WEBHOOK_SECRET,
        ))?;
        let webhook = Arc::new(webhook::Webhook::new(secret));
        let listener = TcpListener::bind(listen).await?;
        let url = format!("http://{}", listener.local_addr()?);
        output.print(&format!("listening on {url}"), &json!({"url": url}))?;
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let stream = tokio::select! {
                _ = tokio::signal::ctrl_c() => return Ok(End::Interrupted),
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(_) => continue,
                },
            };
            let Ok(place) = places.clone().try_acquire_owned() else { continue };
            let webhook = webhook.clone();
            tokio::spawn(async move {
                let _place = place;
                let answer = service_fn(|request| {
                    let webhook = webhook.clone();
                    async move { Ok::<_, Infallible>(receive(request, &webhook, output).await) }
                });
                let mut server = hyper::server::conn::http1::Builder::new();
                server.timer(TokioTimer::new()).header_read_timeout(HEADER_TIME).keep_alive(false);
                let exchange = server.serve_connection(TokioIo::new(stream), answer);
                let _ = tokio::time::timeout(REQUEST_TIME, exchange).await;
            });
        }
    }
}

async fn receive(
    request: Request<Incoming>,
    webhook: &webhook::Webhook,
    output: Output,
) -> Response<Empty<&'static [u8]>> {
    let mut response = Response::new(Empty::new());
    *response.status_mut() = status(request, webhook, output).await;
    response
}

async fn status(request: Request<Incoming>, webhook: &webhook::Webhook, output: Output) -> StatusCode {
    if request.method() != Method::POST {
        return StatusCode::METHOD_NOT_ALLOWED;
    }
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, MAX_BODY).collect().await else { return StatusCode::PAYLOAD_TOO_LARGE };
    let body = body.to_bytes();
    let header = |name: &str| head.headers.get(name)?.to_str().ok();
    let verified = webhook.verify(header, &body, surroundings::now().into());
    let event = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let json = json!({"verified": verified.is_ok(), "reason": verified.as_ref().err().map(|e| e.to_string()),
        "id": header(WEBHOOK_ID).unwrap_or_default(), "event": event});
    match (output.print(&listed(&json), &json), verified) {
        (Err(_), _) => StatusCode::INTERNAL_SERVER_ERROR,
        (Ok(()), Err(_)) => StatusCode::UNAUTHORIZED,
        (Ok(()), Ok(_)) => StatusCode::NO_CONTENT,
    }
}
