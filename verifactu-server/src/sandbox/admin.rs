//! The admin interface: plain HTTP on this computer, for tests and demonstrations to look inside
//! and to order what shall go wrong.
//!
//! | route | |
//! |---|---|
//! | `GET /health` | `{"status":"ok"}` |
//! | `GET /records?nif=` | the current state of every invoice |
//! | `GET /registrations?nif=` | every registration ever made, oldest first |
//! | `GET /remissions?requirement=` | the records that answered a requirement, oldest first |
//! | `GET`, `PUT /settings` | the settings; change those named |
//! | `GET`, `POST`, `DELETE /faults` | faults armed; arm one or a list; clear them |
//! | `GET /pki/ca` | the CA's certificate, PEM |
//! | `POST /pki/pkcs12` | a new certificate, PKCS#12 |

use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::SandboxError;
use super::authority::Authority;
use super::body::{self, AnswerBody};
use super::endpoint::status;
use super::faults::Fault;
use super::pki::{Holder, HolderKind, KeyKind};
use super::store::{Further, Invoice, Registration, Selection};

const BODY_LIMIT: usize = 64 * 1024;

/// Answers one request.
pub(crate) async fn serve(authority: &Authority, request: Request<Incoming>) -> Response<AnswerBody> {
    route(authority, request).await.unwrap_or_else(Trouble::into_response)
}

async fn route(authority: &Authority, request: Request<Incoming>) -> Result<Response<AnswerBody>, Trouble> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    match (method, path.as_str()) {
        (Method::GET, "/health") => json(&Health { status: "ok" }),
        (Method::GET, "/records") => json(&invoices(authority, nif(&request)).await?),
        (Method::GET, "/remissions") => {
            json(&remissions(authority, parameter(&request, "requirement").unwrap_or_default()).await?)
        }
        (Method::GET, "/registrations") => json(&registrations(authority, nif(&request)).await?),
        (Method::GET, "/settings") => json(&*authority.settings()),
        (Method::PUT, "/settings") => {
            let mut settings = serde_json::to_value(&*authority.settings())?;
            if let Value::Object(fields) = &mut settings {
                fields.extend(read::<Map<String, Value>>(request).await?);
            }
            authority.set_settings(serde_json::from_value(settings)?)?;
            json(&*authority.settings())
        }
        (Method::GET, "/faults") => json(&authority.faults.armed()),
        (Method::POST, "/faults") => {
            let faults: Vec<Fault> = match read::<Value>(request).await? {
                list @ Value::Array(_) => serde_json::from_value(list)?,
                one => vec![serde_json::from_value(one)?],
            };
            for fault in faults {
                authority.faults.arm(fault);
            }
            json(&authority.faults.armed())
        }
        (Method::DELETE, "/faults") => {
            authority.faults.clear();
            Ok(status(StatusCode::NO_CONTENT))
        }
        (Method::GET, "/pki/ca") => Ok(file("application/x-pem-file", authority.pki.ca_pem().to_owned())),
        (Method::POST, "/pki/pkcs12") => {
            let holder = read::<HolderRequest>(request).await?.into_holder()?;
            let pki = authority.pki.clone();
            let issued = tokio::task::spawn_blocking(move || pki.issue(&holder)?.pkcs12()).await;
            let pkcs12 = issued.map_err(|_| SandboxError::Interrupted)??;
            Ok(file("application/x-pkcs12", pkcs12.to_vec()))
        }
        _ => Ok(status(StatusCode::NOT_FOUND)),
    }
}

/// The current state of the invoices, of one issuer if given; last registered first.
pub(crate) async fn invoices(
    authority: &Authority,
    issuer: Option<String>,
) -> Result<Vec<Invoice>, SandboxError> {
    let selection = Selection { issuer, ..Selection::default() };
    let work = move |book: &super::store::Book<'_>| {
        let mut invoices = Vec::new();
        book.select(&selection, |invoice| {
            invoices.push(invoice);
            Further::Go
        })?;
        Ok(invoices)
    };
    authority.store.read(work).await
}

/// The log, of one issuer if given; oldest first.
pub(crate) async fn registrations(
    authority: &Authority,
    issuer: Option<String>,
) -> Result<Vec<Registration>, SandboxError> {
    authority.store.read(move |book| book.registrations(issuer.as_deref())).await
}

/// The records that answered a requirement; oldest first.
pub(crate) async fn remissions(
    authority: &Authority,
    reference: String,
) -> Result<Vec<Registration>, SandboxError> {
    authority.store.read(move |book| book.remissions(&reference)).await
}

/// Why the admin interface says no.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error("the body is not the JSON expected: {0}")]
    Json(#[from] serde_json::Error),
    #[error("a representative needs entity_nif and entity_name, and nobody else has them")]
    Entity,
    #[error("the body could not be read")]
    Body(StatusCode),
}

impl Trouble {
    fn into_response(self) -> Response<AnswerBody> {
        let code = match &self {
            Self::Sandbox(
                SandboxError::Setting { .. } | SandboxError::Holder { .. } | SandboxError::Time(_),
            )
            | Self::Json(_)
            | Self::Entity => StatusCode::BAD_REQUEST,
            Self::Body(code) => *code,
            Self::Sandbox(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let mut response = file("text/plain;charset=UTF-8", format!("{self}\n"));
        *response.status_mut() = code;
        response
    }
}

#[derive(Serialize)]
struct Health {
    status: &'static str,
}

/// Whom to issue a certificate for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HolderRequest {
    kind: HolderKind,
    nif: String,
    name: String,
    entity_nif: Option<String>,
    entity_name: Option<String>,
    passphrase: Option<String>,
    #[serde(default)]
    key: KeyKind,
    not_before: Option<String>,
    not_after: Option<String>,
}

impl HolderRequest {
    fn into_holder(self) -> Result<Holder, Trouble> {
        let mut holder = match (self.kind, self.entity_nif, self.entity_name) {
            (HolderKind::Person, None, None) => Holder::person(self.nif, self.name),
            (HolderKind::Seal, None, None) => Holder::seal(self.nif, self.name),
            (HolderKind::Representative, Some(nif), Some(name)) => {
                Holder::representative(self.nif, self.name, nif, name)
            }
            _ => return Err(Trouble::Entity),
        };
        if let Some(passphrase) = self.passphrase {
            holder = holder.with_passphrase(passphrase);
        }
        if self.key == KeyKind::P256 {
            holder = holder.with_ec_key();
        }
        if let (Some(from), Some(until)) = (self.not_before, self.not_after) {
            let time = |text: String| text.parse().map_err(SandboxError::from);
            holder = holder.with_validity(time(from)?, time(until)?);
        }
        Ok(holder)
    }
}

/// The `nif` of the query.
fn nif(request: &Request<Incoming>) -> Option<String> {
    parameter(request, "nif")
}

/// A parameter of the query, none of which needs decoding.
fn parameter(request: &Request<Incoming>, name: &str) -> Option<String> {
    let pairs = request.uri().query()?.split('&');
    let mut found = pairs.filter_map(|pair| pair.split_once('=')).filter(|(key, _)| *key == name);
    found.next().map(|(_, value)| value.to_owned())
}

async fn read<T: DeserializeOwned>(request: Request<Incoming>) -> Result<T, Trouble> {
    let read = body::read(request.into_body(), BODY_LIMIT).await;
    let bytes = read.map_err(|refused| Trouble::Body(refused.unwrap_or(StatusCode::BAD_REQUEST)))?;
    Ok(serde_json::from_slice(&bytes)?)
}

fn json(value: &impl Serialize) -> Result<Response<AnswerBody>, Trouble> {
    Ok(file("application/json", serde_json::to_vec(value)?))
}

fn file(kind: &'static str, content: impl Into<bytes::Bytes>) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::whole(content));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
