//! A sandbox with a clock that stands still, and a client of it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use reqwest::StatusCode;
use rustls::RootCertStore;
use verifactu_server::sandbox::{Clock, Holder, Issued, Pki, RunningSandbox, SandboxConfig, VERIFACTU_PATH};

use crate::invoice::{ISSUER, NOW, Rec, envelope};
use crate::xmllint;

/// One CA for all tests that do not need their own.
pub(crate) fn pki() -> &'static Pki {
    static PKI: OnceLock<Pki> = OnceLock::new();
    PKI.get_or_init(|| Pki::ephemeral().unwrap())
}

pub(crate) fn issue(holder: &Holder) -> Issued {
    pki().issue(&holder.clone().with_ec_key()).unwrap()
}

/// A client that trusts `ca` and shows `identity`.
pub(crate) fn client(ca: &Pki, identity: Option<&Issued>) -> reqwest::Client {
    let mut roots = RootCertStore::empty();
    roots.add(ca.ca_der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => builder.with_client_auth_cert(identity.chain_der(), identity.key_der()).unwrap(),
    };
    reqwest::Client::builder()
        .tls_backend_preconfigured(config)
        .http1_only()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap()
}

pub(crate) struct Bench {
    pub(crate) sandbox: RunningSandbox,
    pub(crate) client: reqwest::Client,
    pub(crate) clock: Arc<AtomicI64>,
}

impl Bench {
    pub(crate) async fn start() -> Self {
        Self::with(|config| config).await
    }

    pub(crate) async fn with(change: impl FnOnce(SandboxConfig) -> SandboxConfig) -> Self {
        let now: Timestamp = NOW.parse().unwrap();
        let clock = Arc::new(AtomicI64::new(now.as_second()));
        let hand = clock.clone();
        let config = SandboxConfig::default()
            .pki(pki().clone())
            .clock(Clock::from_fn(move || Timestamp::from_second(hand.load(Ordering::SeqCst)).unwrap()));
        let sandbox = change(config).start().await.unwrap();
        let identity = issue(&Holder::person(ISSUER, "CERTIFICADO UNO TELEMATICAS"));
        let client = client(sandbox.pki(), Some(&identity));
        Self { sandbox, client, clock }
    }

    pub(crate) fn set_clock(&self, time: &str) {
        let time: Timestamp = time.parse().unwrap();
        self.clock.store(time.as_second(), Ordering::SeqCst);
    }

    pub(crate) fn url(&self) -> String {
        format!("{}{VERIFACTU_PATH}", self.sandbox.url())
    }

    /// Sends any bytes; the answer as it came.
    pub(crate) async fn raw(&self, body: impl Into<reqwest::Body>) -> reqwest::Result<Answer> {
        send(self.client.post(self.url()).body(body)).await
    }

    /// Sends an envelope; the answer must be valid by AEAT's schemas.
    pub(crate) async fn post(&self, body: String) -> Answer {
        let answer = self.raw(body).await.unwrap();
        xmllint::assert_valid(&answer.body);
        answer
    }

    /// Sends records under the ordinary header, and expects them to be processed.
    pub(crate) async fn submit(&self, records: &[Rec]) -> Answer {
        let answer = self.post(envelope(records)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        answer
    }

    /// Sends one record; state, code and description of its line. The answer may repeat a value
    /// that no schema admits, so it is not validated.
    pub(crate) async fn line(&self, record: Rec) -> (String, String, String) {
        let answer = self.raw(envelope(&[record])).await.unwrap();
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        (
            answer.text("tikR:EstadoRegistro"),
            answer.text("tikR:CodigoErrorRegistro"),
            answer.text("tikR:DescripcionErrorRegistro"),
        )
    }

    /// How often the issuer's invoice of that number was registered.
    pub(crate) async fn registered(&self, number: &str) -> usize {
        let log = self.sandbox.registrations(Some(ISSUER)).await.unwrap();
        log.iter().filter(|entry| entry.key.number == number).count()
    }
}

pub(crate) async fn send(request: reqwest::RequestBuilder) -> reqwest::Result<Answer> {
    let response = request.header("content-type", "text/xml; charset=utf-8").send().await?;
    let status = response.status();
    let location = response.headers().get("location").map(|value| value.to_str().unwrap().to_owned());
    let body = response.bytes().await?;
    Ok(Answer { status, location, body: String::from_utf8_lossy(&body).into_owned() })
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) location: Option<String>,
    pub(crate) body: String,
}

impl Answer {
    /// The texts of all elements of that name, prefix included.
    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        self.body
            .split(&open)
            .skip(1)
            .map(|rest| rest.split(&close).next().unwrap().to_owned())
            .filter(|text| !text.contains('<'))
            .collect()
    }

    /// The text of the first one; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        self.texts(name).into_iter().next().unwrap_or_default()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.body.contains(&format!("<{name}>"))
    }

    /// Asserts a SOAP fault with this code, whose text ends so.
    pub(crate) fn assert_fault(&self, code: u16, ending: &str) {
        let text = self.text("faultstring");
        assert_eq!(self.status, StatusCode::INTERNAL_SERVER_ERROR, "{}", self.body);
        assert!(text.starts_with(&format!("Codigo[{code}].")), "{code} expected: {}", self.body);
        assert!(text.ends_with(ending), "{text} should end with {ending}");
    }
}
