//! The clients: bare HTTP over connections that stay open, so that they cost little beside the service.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

use crate::service::{Key, Service};

/// One invoice of each account, which makes its chain.
pub(crate) async fn send_one_each(service: &Service, keys: &[Key]) {
    let mut connection = Connection::open(service.address).await;
    for key in keys {
        connection.send(key, "first").await;
    }
}

/// Accepted sends per second, from so many clients.
pub(crate) async fn load(service: &Service, keys: &[Key], clients: usize, time: Duration, run: u32) -> f64 {
    let keys = Arc::new(keys.to_vec());
    let (address, began) = (service.address, Instant::now());
    let mut tasks = JoinSet::new();
    for client in 0..clients {
        let keys = keys.clone();
        tasks.spawn(async move {
            let mut connection = Connection::open(address).await;
            let mut sent = 0;
            while began.elapsed() < time {
                let key = &keys[(client + sent * clients) % keys.len()];
                connection.send(key, &format!("{run}-{client}-{sent}")).await;
                sent += 1;
            }
            sent
        });
    }
    let sent: usize = tasks.join_all().await.into_iter().sum();
    sent as f64 / began.elapsed().as_secs_f64()
}

struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::new() }
    }

    /// Sends an invoice, which has to be accepted.
    async fn send(&mut self, key: &Key, number: &str) {
        let body = format!(
            "{{\"nif\":\"{}\",\"nombre\":\"Talleres Ebro SL\",\"numSerie\":\"{number}\",\"fecha\":\"15-01-2026\",\
             \"tipoFactura\":\"F1\",\"descripcion\":\"Mantenimiento de flota y suministro de recambios\",\
             \"destinatarios\":[{{\"nombre\":\"Viñedos del Moncayo SL\",\"nif\":\"B50482132\"}}],\"desglose\":[\
             {{\"clave\":\"01\",\"calif\":\"S1\",\"base\":1250.5,\"tipo\":21,\"cuota\":262.61}},\
             {{\"clave\":\"01\",\"calif\":\"S1\",\"base\":64.3,\"tipo\":10,\"cuota\":6.43}}]}}",
            key.issuer
        );
        let request = format!(
            "POST /v1/send-invoice HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             x-api-key: {}\r\nx-idempotency-key: {}-{number}\r\ncontent-length: {}\r\n\r\n{body}",
            key.text,
            key.issuer,
            body.len()
        );
        self.stream.write_all(request.as_bytes()).await.unwrap();
        self.buffer.clear();
        loop {
            assert_ne!(self.stream.read_buf(&mut self.buffer).await.unwrap(), 0, "the service hung up");
            if let Some(end) = whole(&self.buffer) {
                assert!(
                    self.buffer.starts_with(b"HTTP/1.1 202 "),
                    "{}",
                    String::from_utf8_lossy(&self.buffer[..end])
                );
                return;
            }
        }
    }
}

/// The length of an answer that is there as a whole.
fn whole(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).unwrap();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let whole = head + length.parse::<usize>().unwrap();
    (bytes.len() >= whole).then_some(whole)
}
