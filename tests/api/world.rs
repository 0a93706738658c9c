//! A service with a sandbox behind it, and a caller who checks every answer.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, Once},
    time::Duration,
};

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use jiff::Timestamp;
use reqwest::{Method, header::HeaderMap};
use serde_json::{Value, json};
use tempfile::TempDir;
use verifactu_core::{
    authority::{
        Answered, Authority, Exchange, NoAnswer, NotReached, Request,
        https::{Hosts, HttpsAuthority, Limits, Trust},
    },
    certificate::Purpose,
    ledger::{
        Accounts, ApiKey, ApiKeyId, AuditEntry, AuditLine, Batch, Caller, Delivery, DeliveryOutcome,
        LedgerError, LedgerErrorKind, Listing, MemoryLedger, Page, SealedCertificate, Tenant, TenantStatus,
        Webhook,
    },
    queue::Rate,
    types::{BatchId, Clock, Date, DeliveryId, Secret, TenantId},
};
use verifactu_server::{
    Running, Server,
    clock::SystemClock,
    config::{Config, Flags, Rates},
    sandbox::{Holder, RunningSandbox, SandboxConfig, Settings},
};

use crate::contract;

pub const ISSUER: &str = "B12345674";
pub const ADMIN: &str = "the operator's key";
pub const SCOPES: &[&str] =
    &["invoices:write", "invoices:read", "tenant:certificates:read", "tenant:certificates:write"];

/// What becomes of a message to the authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It reaches the sandbox.
    Sandbox,
    /// Nothing ever comes back.
    Silence,
    /// No answer, though the message may have arrived.
    Lost,
    /// A SOAP fault on the authority's side.
    Fault,
    /// No connection.
    Unreachable,
}

pub struct Switch {
    sandbox: HttpsAuthority,
    pub mode: Mutex<Mode>,
    /// The last message.
    pub last: Mutex<Vec<u8>>,
}

#[async_trait]
impl Authority for Switch {
    async fn exchange(&self, request: Request) -> Exchange {
        let mode = *self.mode.lock().unwrap();
        *self.last.lock().unwrap() = request.body.to_vec();
        match mode {
            Mode::Sandbox => self.sandbox.exchange(request).await,
            Mode::Silence => std::future::pending().await,
            Mode::Lost => Exchange::NoAnswer { reason: NoAnswer::Broken, elapsed: Duration::ZERO },
            Mode::Fault => Exchange::Answered(Answered::xml(500, SERVER_FAULT)),
            Mode::Unreachable => {
                Exchange::NotReached { reason: NotReached::Connect, elapsed: Duration::ZERO }
            }
        }
    }
}

const SERVER_FAULT: &str = "<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\"><e:Body><e:Fault>\
    <faultcode>e:Server</faultcode><faultstring>Error interno</faultstring></e:Fault></e:Body></e:Envelope>";

/// What goes wrong in the store of accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    KeyRevoked,
    KeyExpired,
    Suspended,
    Unavailable,
    Panic,
    /// No certificate is ever written to its end.
    Stuck,
}

/// A store of accounts that can be in trouble.
pub struct TroubledAccounts {
    store: Arc<MemoryLedger>,
    pub trouble: Mutex<Option<Trouble>>,
}

impl TroubledAccounts {
    fn trouble(&self) -> Option<Trouble> {
        *self.trouble.lock().unwrap()
    }
}

#[async_trait]
impl Accounts for TroubledAccounts {
    async fn create_tenant(&self, tenant: &Tenant) -> Result<bool, LedgerError> {
        self.store.create_tenant(tenant).await
    }

    async fn tenant(&self, id: &TenantId) -> Result<Option<Tenant>, LedgerError> {
        let found = self.store.tenant(id).await?;
        others_go_on().await;
        Ok(found)
    }

    async fn create_key(&self, key: &ApiKey) -> Result<(), LedgerError> {
        self.store.create_key(key).await
    }

    async fn caller(&self, public: &str) -> Result<Option<Caller>, LedgerError> {
        match self.trouble() {
            Some(Trouble::Unavailable) => {
                return Err(LedgerError::new(LedgerErrorKind::Unavailable, "the disk is full"));
            }
            Some(Trouble::Panic) => panic!("a fault of ours, with the secret vf_secret in it"),
            _ => {}
        }
        Ok(self.store.caller(public).await?.map(|mut caller| {
            match self.trouble() {
                Some(Trouble::KeyRevoked) => caller.key.revoked_at = Some(Timestamp::UNIX_EPOCH),
                Some(Trouble::KeyExpired) => caller.key.expires_at = Some(Timestamp::UNIX_EPOCH),
                Some(Trouble::Suspended) => caller.tenant.status = TenantStatus::Suspended,
                _ => {}
            }
            caller
        }))
    }

    async fn update_tenant(&self, known: &Tenant, changed: &Tenant) -> Result<bool, LedgerError> {
        self.store.update_tenant(known, changed).await
    }

    async fn tenants(
        &self,
        parent: Option<&TenantId>,
        page: Page<TenantId>,
    ) -> Result<Listing<Tenant>, LedgerError> {
        self.store.tenants(parent, page).await
    }

    async fn keys(
        &self,
        tenant: Option<&TenantId>,
        page: Page<ApiKeyId>,
    ) -> Result<Listing<ApiKey>, LedgerError> {
        self.store.keys(tenant, page).await
    }

    async fn revoke_key(
        &self,
        tenant: Option<&TenantId>,
        id: ApiKeyId,
        at: Timestamp,
    ) -> Result<Option<ApiKey>, LedgerError> {
        self.store.revoke_key(tenant, id, at).await
    }

    async fn expiring_certificates(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<SealedCertificate>, LedgerError> {
        self.store.expiring_certificates(before, limit).await
    }

    async fn put_webhook(&self, known: Option<&Webhook>, webhook: &Webhook) -> Result<bool, LedgerError> {
        self.store.put_webhook(known, webhook).await
    }

    async fn webhook(&self, tenant: &TenantId) -> Result<Option<Webhook>, LedgerError> {
        let found = self.store.webhook(tenant).await;
        others_go_on().await;
        found
    }

    async fn delete_webhook(&self, tenant: &TenantId) -> Result<bool, LedgerError> {
        self.store.delete_webhook(tenant).await
    }

    async fn put_delivery(&self, delivery: &Delivery) -> Result<(), LedgerError> {
        self.store.put_delivery(delivery).await
    }

    async fn take_delivery(
        &self,
        at: Timestamp,
        except: &[TenantId],
    ) -> Result<Option<Delivery>, LedgerError> {
        self.store.take_delivery(at, except).await
    }

    async fn finish_delivery(&self, id: DeliveryId, outcome: &DeliveryOutcome) -> Result<(), LedgerError> {
        self.store.finish_delivery(id, outcome).await
    }

    async fn deliveries(
        &self,
        tenant: &TenantId,
        page: Page<DeliveryId>,
    ) -> Result<Listing<Delivery>, LedgerError> {
        self.store.deliveries(tenant, page).await
    }

    async fn prune_deliveries(&self, before: Timestamp, limit: u32) -> Result<u64, LedgerError> {
        self.store.prune_deliveries(before, limit).await
    }

    async fn audit_lines(&self, page: Page<u64>) -> Result<Listing<AuditLine>, LedgerError> {
        self.store.audit_lines(page).await
    }

    async fn put_certificate(&self, certificate: &SealedCertificate) -> Result<(), LedgerError> {
        if self.trouble() == Some(Trouble::Stuck) {
            return std::future::pending().await;
        }
        self.store.put_certificate(certificate).await
    }

    async fn certificate(&self, tenant: &TenantId) -> Result<Option<SealedCertificate>, LedgerError> {
        self.store.certificate(tenant).await
    }

    async fn delete_certificate(&self, tenant: &TenantId) -> Result<bool, LedgerError> {
        self.store.delete_certificate(tenant).await
    }

    async fn reseal(
        &self,
        tenant: &TenantId,
        purpose: Purpose,
        known: &[u8],
        sealed: &[u8],
    ) -> Result<bool, LedgerError> {
        self.store.reseal(tenant, purpose, known, sealed).await
    }

    async fn put_batch(&self, batch: &Batch, expired: Timestamp) -> Result<(), LedgerError> {
        self.store.put_batch(batch, expired).await
    }

    async fn batch(&self, tenant: &TenantId, id: BatchId) -> Result<Option<Batch>, LedgerError> {
        self.store.batch(tenant, id).await
    }

    async fn count_requests(&self, counts: &[(TenantId, String, u64)]) -> Result<(), LedgerError> {
        self.store.count_requests(counts).await
    }

    async fn requests(&self, tenant: &TenantId, since: &str) -> Result<Vec<(String, u64)>, LedgerError> {
        self.store.requests(tenant, since).await
    }

    async fn audit(&self, entry: &AuditEntry) -> Result<(), LedgerError> {
        self.store.audit(entry).await
    }
}

/// What others do between a reading and what follows it, as they may with every store but this one.
async fn others_go_on() {
    tokio::task::yield_now().await;
}

pub struct World {
    pub running: Running,
    pub sandbox: RunningSandbox,
    pub authority: Arc<Switch>,
    pub accounts: Arc<TroubledAccounts>,
    pub client: reqwest::Client,
    pub directory: TempDir,
}

impl World {
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// A service on the ledger in memory, with settings of the caller's own.
    pub async fn with(change: impl FnOnce(&mut Config)) -> Self {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        });
        let settings = Settings { wait_seconds: Some(0), ..Settings::default() };
        let sandbox = SandboxConfig::default().settings(settings).start().await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let mut config = config(directory.path(), &sandbox.url());
        change(&mut config);
        let trust = Trust::Only(sandbox.pki().ca_pem().as_bytes().to_vec());
        let https = HttpsAuthority::new(Hosts::at(&sandbox.url()).unwrap(), &trust, Limits::default());
        let authority = Arc::new(Switch {
            sandbox: https.unwrap(),
            mode: Mutex::new(Mode::Sandbox),
            last: Mutex::default(),
        });
        let store = Arc::new(MemoryLedger::new());
        let accounts = Arc::new(TroubledAccounts { store: store.clone(), trouble: Mutex::new(None) });
        let running = Server::builder(config)
            .stores(store, accounts.clone())
            .authority(authority.clone())
            .start()
            .await
            .unwrap();
        Self { running, sandbox, authority, accounts, client: client(), directory }
    }

    /// Another service on the same ledger, authority and data directory.
    pub async fn beside(&self, change: impl FnOnce(&mut Config)) -> Running {
        let mut config = config(self.directory.path(), &self.sandbox.url());
        change(&mut config);
        Server::builder(config)
            .stores(self.accounts.store.clone(), self.accounts.clone())
            .authority(self.authority.clone())
            .start()
            .await
            .unwrap()
    }

    /// The ledger behind the service.
    pub fn ledger(&self) -> Arc<MemoryLedger> {
        self.accounts.store.clone()
    }

    pub fn set(&self, mode: Mode) {
        *self.authority.mode.lock().unwrap() = mode;
    }

    pub fn trouble(&self, trouble: impl Into<Option<Trouble>>) {
        *self.accounts.trouble.lock().unwrap() = trouble.into();
    }

    pub fn ask(&self, method: &str, path: &str) -> Ask {
        self.ask_at(self.running.address(), method, path)
    }

    pub fn ask_at(&self, address: SocketAddr, method: &str, path: &str) -> Ask {
        let url = format!("http://{address}{path}");
        Ask { request: self.client.request(Method::from_bytes(method.as_bytes()).unwrap(), url) }
    }

    pub fn address(&self) -> SocketAddr {
        self.running.address()
    }

    /// An account with a key of these scopes; the key.
    pub async fn account(&self, mut tenant: Value, scopes: &[&str]) -> String {
        let id = tenant["id"].as_str().unwrap().to_owned();
        let name = tenant["name"].take();
        tenant["name"] = if name.is_null() { json!("Cuenta de prueba") } else { name };
        self.ask("POST", "/v1/admin/tenants").admin().json(&tenant).await.expect(201);
        self.key(&id, scopes).await
    }

    pub async fn key(&self, tenant: &str, scopes: &[&str]) -> String {
        let body = json!({ "tenantId": tenant, "scopes": scopes });
        let answer = self.ask("POST", "/v1/admin/api-keys").admin().json(&body).await;
        answer.expect(201)["apiKey"]["key"].as_str().unwrap().to_owned()
    }

    /// An account with every scope and a certificate of the sandbox's CA.
    pub async fn ready_account(&self, id: &str) -> String {
        let key = self.account(json!({ "id": id }), SCOPES).await;
        self.upload_sandbox_certificate(&key).await;
        key
    }

    pub async fn upload_sandbox_certificate(&self, key: &str) {
        let body = self.sandbox_certificate();
        self.ask("POST", "/v1/me/certificate").key(key).json(&body).await.expect(200);
    }

    /// The body of an upload of a certificate of the sandbox's CA.
    pub fn sandbox_certificate(&self) -> Value {
        let holder = Holder::seal(ISSUER, "Talleres Ebro SL").with_ec_key();
        let issued = self.sandbox.pki().issue(&holder).unwrap();
        json!({ "pfxBase64": BASE64.encode(issued.pkcs12().unwrap()), "pfxPassphrase": "sandbox" })
    }

    /// Asks for a job until it is as wanted.
    pub async fn job_when(&self, key: &str, job: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let path = format!("/v1/jobs/{job}");
        let until = async {
            loop {
                let job = self.ask("GET", &path).key(key).send().await.expect(200);
                if wanted(&job) {
                    return job;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), until).await.expect("the job in time")
    }
}

pub fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// Settings with short waits, for the sandbox.
pub fn config(directory: &std::path::Path, url: &str) -> Config {
    let directory = directory.join("data");
    let flags = Flags::new([
        ("environment", "sandbox"),
        ("data-dir", directory.to_str().unwrap()),
        ("listen", "127.0.0.1:0"),
        ("authority-url", url),
        ("initial-wait", "0s"),
        ("signature-ec", "true"),
        ("stop-within", "5s"),
    ]);
    let (mut config, _) = Config::read(&flags, &|_| None).unwrap();
    // Only the tests of the rates come near them.
    config.rates = Rates::all(Rate::per_minute(1_000_000));
    config.secrets.admin_key = Some(Secret::new(ADMIN.to_owned()));
    config
}

pub fn today() -> Date {
    Date::in_madrid(SystemClock.now())
}

pub fn invoice(number: &str) -> Value {
    json!({
        "nif": ISSUER, "nombre": "Talleres Ebro SL", "numSerie": number, "fecha": today().to_string(),
        "tipoFactura": "F2", "descripcion": "Reparación",
        "desglose": [{ "clave": "01", "calif": "S1", "base": 100, "tipo": 21, "cuota": 21 }],
    })
}

pub fn cancellation(number: &str) -> Value {
    json!({ "nif": ISSUER, "nombre": "Talleres Ebro SL", "numSerie": number, "fecha": today().to_string() })
}

/// A request in the making.
pub struct Ask {
    request: reqwest::RequestBuilder,
}

impl Ask {
    pub fn header(self, name: &str, value: &str) -> Self {
        Self { request: self.request.header(name, value) }
    }

    pub fn key(self, key: &str) -> Self {
        self.header("x-api-key", key)
    }

    pub fn admin(self) -> Self {
        self.header("x-admin-key", ADMIN)
    }

    pub fn idempotency(self, key: &str) -> Self {
        self.header("x-idempotency-key", key)
    }

    pub async fn json(self, body: &Value) -> Answer {
        self.text(&body.to_string()).await
    }

    pub async fn text(self, body: &str) -> Answer {
        self.bytes("application/json", body.as_bytes().to_vec()).await
    }

    pub async fn bytes(self, kind: &str, body: Vec<u8>) -> Answer {
        Self { request: self.request.header("content-type", kind).body(body) }.send().await
    }

    /// A body whose type the headers name, if any does.
    pub async fn raw(self, body: String) -> Answer {
        Self { request: self.request.body(body) }.send().await
    }

    pub async fn send(self) -> Answer {
        let (client, request) = self.request.build_split();
        let request = request.unwrap();
        let (method, path) = (request.method().clone(), request.url().path().to_owned());
        let response = client.execute(request).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let answer = Answer::checked(status, headers, &response.bytes().await.unwrap());
        contract::check(method.as_str(), &path, &answer);
        answer
    }
}

/// An answer that has what every answer must have.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
    pub bytes: Vec<u8>,
}

impl Answer {
    pub fn checked(status: u16, headers: HeaderMap, bytes: &[u8]) -> Self {
        let text = |name: &str| headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
        let body: Value = match text("content-type").as_str() {
            "application/json" | "application/problem+json" => serde_json::from_slice(bytes).unwrap(),
            other => {
                assert_eq!(status, 200, "only pictures and texts are no JSON: {other}");
                Value::Null
            }
        };
        let id = text("x-request-id");
        assert!(uuid::Uuid::try_parse(&id).is_ok(), "X-Request-Id: {id}");
        assert_eq!(text("x-verifactu-environment"), "sandbox");
        assert_eq!(text("cache-control"), "no-store");
        if body.is_object() && body.get("openapi").is_none() {
            assert_eq!(body["requestId"], id.as_str(), "{body}");
            assert_eq!(body["success"], status < 400, "{status} {body}");
        }
        if status >= 400 {
            for member in ["error", "code", "message"] {
                assert!(body[member].as_str().is_some_and(|text| !text.is_empty()), "{member} in {body}");
            }
            assert_eq!(status == 422, body["details"]["code"] == body["code"], "{body}");
            assert_eq!(
                [429, 503].contains(&status),
                text("retry-after").parse::<u32>().is_ok_and(|seconds| seconds >= 1),
                "{status} {headers:?}"
            );
            assert!(!body.to_string().contains("vf_"), "no key in an answer: {body}");
        }
        assert_eq!(status == 405, headers.contains_key("allow"));
        Self { status, headers, body, bytes: bytes.to_vec() }
    }

    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.body
    }

    #[track_caller]
    pub fn fails(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.body["code"].as_str()), (status, Some(code)), "{}", self.body);
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The fields that `details` names.
    pub fn fields(&self) -> Vec<&str> {
        let details = self.body["details"].as_array().map(Vec::as_slice).unwrap_or_default();
        details.iter().map(|detail| detail["field"].as_str().unwrap()).collect()
    }
}
