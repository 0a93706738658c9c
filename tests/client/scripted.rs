//! A service that answers what it is told, in order, and keeps what it was asked.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use verifactu_client::{
    Client, ClientBuilder, RetryPolicy,
    api::{Line, SendInvoice},
    record::InvoiceType,
    types::{Amount, Date, InvoiceNumber, JobId, Nif, Rate, Secret},
};

pub(crate) const REQUEST_ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
pub(crate) const JOB_ID: &str = "01890a5d-ac96-774b-bcce-b302099a8058";
pub(crate) const HUELLA: &str = "3C464DAF61ACB827C65FDA19F352A4E3BDC2C640E9E9FC4CC058073F38F12F60";

pub(crate) fn job_id() -> JobId {
    JobId::parse(JOB_ID).unwrap()
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) line: String,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    }
}

/// What the service does with a connection.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Answers with these bytes and closes.
    Say(Vec<u8>),
    /// Reads the request and closes.
    Hang,
    /// Reads the request and keeps silent.
    Silence,
}

pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Scripted {
    pub(crate) async fn start(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::serve(TcpListener::bind("127.0.0.1:0").await.unwrap(), steps)
    }

    pub(crate) fn serve(listener: TcpListener, steps: impl IntoIterator<Item = Step>) -> Self {
        let address = listener.local_addr().unwrap();
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let (steps, kept) = (steps.into_iter().collect::<Vec<_>>(), seen.clone());
        let task = tokio::spawn(async move {
            let mut silent = Vec::new();
            for step in steps {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read(&mut stream).await;
                kept.lock().unwrap().push(request);
                match step {
                    Step::Say(answer) => stream.write_all(&answer).await.unwrap(),
                    Step::Hang => {}
                    Step::Silence => silent.push(stream),
                }
            }
            std::future::pending::<()>().await;
        });
        Self { address, seen, task }
    }

    pub(crate) fn builder(&self) -> ClientBuilder {
        let keys = |builder: ClientBuilder| {
            builder.api_key(Secret::new("vf_account".into())).admin_key(Secret::new("operator".into()))
        };
        keys(Client::builder(&format!("http://{}/v1", self.address))).retry(quick())
    }

    pub(crate) fn client(&self) -> Client {
        self.builder().build().unwrap()
    }

    /// The requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The usual policy, without its waits.
pub(crate) fn quick() -> RetryPolicy {
    RetryPolicy { first_wait: Duration::from_millis(1), ..RetryPolicy::default() }
}

async fn read(stream: &mut TcpStream) -> Seen {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "the request was cut off");
    };
    let text = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let (line, head) = text.split_once("\r\n").unwrap();
    let mut seen = Seen { line: line.to_owned(), head: head.to_owned(), body: bytes[end..].to_vec() };
    let length = seen.header("content-length").map_or(0, |length| length.parse().unwrap());
    while seen.body.len() < length {
        assert_ne!(stream.read_buf(&mut seen.body).await.unwrap(), 0, "the body was cut off");
    }
    seen
}

/// An answer with further header lines.
pub(crate) fn answer(status: u16, headers: &str, media_type: &str, body: impl AsRef<[u8]>) -> Step {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\
         X-Request-Id: {REQUEST_ID}\r\nConnection: close\r\n{headers}\r\n",
        body.len()
    );
    Step::Say([head.as_bytes(), body].concat())
}

pub(crate) fn json_answer(status: u16, headers: &str, body: &Value) -> Step {
    answer(status, headers, "application/json", body.to_string())
}

/// The service's own error.
pub(crate) fn error(status: u16, headers: &str, code: &str, more: Value) -> Step {
    let mut body = json!({
        "success": false, "error": "SomeError", "code": code, "message": "it is so", "requestId": REQUEST_ID,
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json_answer(status, headers, &body)
}

pub(crate) fn accepted(headers: &str) -> Step {
    let body = json!({
        "success": true, "jobId": JOB_ID, "type": "SEND_INVOICE", "status": "PENDING", "recordId": JOB_ID,
        "createdAt": "2026-01-15T09:00:00Z", "qrInfo": {"csv": null, "huella": HUELLA, "qrText": "https://x"},
        "warnings": [], "requestId": REQUEST_ID,
    });
    json_answer(202, headers, &body)
}

pub(crate) fn job(status: &str) -> Value {
    json!({
        "success": true, "jobId": JOB_ID, "type": "SEND_INVOICE", "status": status, "nif": "B12345674",
        "numSerie": "2026/F-001", "fecha": "15-01-2026", "refExterna": null, "recordId": JOB_ID, "attempts": 1,
        "maxAttempts": 9, "nextRetryAt": null, "createdAt": "2026-01-15T09:00:00Z",
        "updatedAt": "2026-01-15T09:00:00Z", "completedAt": null, "lastError": null, "lastErrorDetail": null,
        "result": null, "requestId": REQUEST_ID,
    })
}

pub(crate) fn invoice(number: &str) -> SendInvoice {
    let amount = |text| Amount::parse(text).unwrap();
    let line = Line::vat(amount("100"), Rate::parse("21").unwrap(), amount("21"));
    SendInvoice::new(
        Nif::parse("B12345674").unwrap(),
        InvoiceNumber::parse(number).unwrap(),
        Date::parse("15-01-2026").unwrap(),
        InvoiceType::F2,
        "Servicios",
        vec![line],
    )
    .issuer_name("Emisor SL")
}
