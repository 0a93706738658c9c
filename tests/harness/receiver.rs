//! A receiver of webhooks.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use verifactu_core::{
    types::{Clock as _, Secret},
    webhook::{self, TOLERANCE_SECONDS},
};
use verifactu_server::clock::SystemClock;

pub const SECRET: &str = "canary-webhook-secret";

/// The answer of a receiver that is content.
pub const OK: &str = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";

/// A request that a receiver got: its headers with names in lower case, and its body.
pub struct Received {
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Received {
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The event, once both signatures are proved.
    pub fn event(&self) -> Value {
        let secret = Secret::new(SECRET.to_owned());
        webhook::verify(&secret, &self.body, self.header(webhook::SERVICE_SIGNATURE)).unwrap();
        let delivery = webhook::Delivery {
            id: self.header(webhook::WEBHOOK_ID),
            timestamp: self.header(webhook::WEBHOOK_TIMESTAMP),
        };
        let signature = self.header(webhook::WEBHOOK_SIGNATURE);
        delivery.verify(&secret, &self.body, signature, SystemClock.now(), TOLERANCE_SECONDS).unwrap();
        assert_eq!(self.header("content-type"), "application/json");
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A receiver that answers everything with these lines, and passes on what it got whole.
pub async fn receiver(answer: &'static str) -> (SocketAddr, mpsc::UnboundedReceiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, received) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let Some(request) = read(&mut stream).await else { continue };
            // Whoever sent it may have been killed meanwhile.
            let _ = stream.write_all(answer.as_bytes()).await;
            if sender.send(request).is_err() {
                return;
            }
        }
    });
    (address, received)
}

/// `None` for a sender that went away in the middle.
async fn read(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    loop {
        if let Some(request) = whole(&bytes) {
            return Some(request);
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

fn whole(bytes: &[u8]) -> Option<Received> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let headers: Vec<(String, String)> = head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let body = bytes[end + 4..].to_vec();
    let received = Received { headers, body };
    (received.header("content-length").parse() == Ok(received.body.len())).then_some(received)
}
