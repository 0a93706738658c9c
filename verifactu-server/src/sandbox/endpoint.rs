//! The addresses of the services: what stands between the connection and the operations.

use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;

use super::authority::Authority;
use super::body::{self, AnswerBody, Cut};
use super::faults::{Effect, Fault, MessageKind};
use super::finding::Finding;
use super::header::Recipient;
use super::nif_check;
use super::pki::Presenter;
use super::qr_page;
use super::query;
use super::refusal::Refusal;
use super::submission::{self, Forced};
use super::xml::{Element, Ns, XmlError};

/// Path of the service for voluntary submissions, and of its query.
pub const VERIFACTU_PATH: &str = "/wlpl/TIKE-CONT/ws/SistemaFacturacion/VerifactuSOAP";

/// Path of the service for what a requirement asks for.
pub const REQUIREMENT_PATH: &str = "/wlpl/TIKE-CONT/ws/SistemaFacturacion/RequerimientoSOAP";

/// Path of the check of NIFs.
pub const NIF_CHECK_PATH: &str = "/wlpl/BURT-JDIT/ws/VNifV2SOAP";

/// Path of the page behind the QR of an invoice.
pub const QR_PATH: &str = "/wlpl/TIKE-CONT/ValidarQR";

const BODY_LIMIT: usize = 16 * 1024 * 1024;
const FAULT_HEADER: &str = "x-sandbox-fault";
const NO_CERTIFICATE: HeaderValue =
    HeaderValue::from_static("https://sede.agenciatributaria.gob.es/Sede/errores/erro4033.html");
const HTML: &str = "<!DOCTYPE html><html lang=\"es\"><head><title>Agencia Tributaria</title></head>\
    <body><p>Servicio temporalmente no disponible</p></body></html>";

type Answered = Result<Response<AnswerBody>, Cut>;

/// The client's side of a connection.
#[derive(Clone, Debug)]
pub(crate) enum Client {
    /// No certificate was shown.
    Unknown,
    /// A certificate of the sandbox's CA, without a NIF.
    Nameless,
    /// A holder.
    Known(Presenter),
}

/// Answers one request, or ends the connection.
pub(crate) async fn serve(authority: &Authority, client: Client, request: Request<Incoming>) -> Answered {
    let service = match request.uri().path() {
        VERIFACTU_PATH => Service::Verifactu,
        REQUIREMENT_PATH => Service::Requirement,
        NIF_CHECK_PATH => Service::NifCheck,
        QR_PATH => return Ok(qr(authority, &request).await),
        _ => return Ok(status(StatusCode::NOT_FOUND)),
    };
    let presenter = match client {
        Client::Unknown => return Ok(redirect()),
        Client::Nameless => {
            let refusal = Refusal::on_demand(Some(103), super::refusal::FaultSide::Client);
            return Ok(xml(StatusCode::FORBIDDEN, refusal.envelope()));
        }
        Client::Known(presenter) => presenter,
    };
    match *request.method() {
        Method::POST => {}
        Method::GET => return Ok(refused(&Refusal::new(4135))),
        _ => return Ok(status(StatusCode::METHOD_NOT_ALLOWED)),
    }
    let ordered = match request.headers().get(FAULT_HEADER).map(HeaderValue::to_str) {
        None => None,
        Some(Ok(value)) => match Fault::from_header(value) {
            Ok(fault) => Some(fault),
            Err(error) => return Ok(page(StatusCode::BAD_REQUEST, error.to_string())),
        },
        Some(Err(_)) => return Ok(status(StatusCode::BAD_REQUEST)),
    };
    let unread = match &ordered {
        Some(fault) => Some(fault.clone()).filter(|fault| *fault.effect() == Effect::CloseUnread),
        None => authority.faults.take_unread(),
    };
    if let Some(fault) = unread {
        tokio::time::sleep(fault.delay()).await;
        return Err(Cut);
    }
    let bytes = match body::read(request.into_body(), BODY_LIMIT).await {
        Ok(bytes) => bytes,
        Err(Ok(code)) => return Ok(status(code)),
        Err(Err(cut)) => return Err(cut),
    };
    let message = message(service, &bytes);
    let fault = ordered.or_else(|| {
        let about = message.as_ref().ok().map(|(kind, root)| (*kind, issuer(root)));
        authority.faults.take_for(about)
    });
    let Some(fault) = fault else {
        return Ok(answer(authority, &presenter, message, None).await.into_response());
    };
    tracing::info!(?fault, "fault on demand");
    spoilt(authority, &presenter, message, &fault).await
}

/// A service of SOAP, by its path.
#[derive(Clone, Copy)]
enum Service {
    Verifactu,
    Requirement,
    NifCheck,
}

async fn qr(authority: &Authority, request: &Request<Incoming>) -> Response<AnswerBody> {
    if *request.method() != Method::GET {
        return status(StatusCode::METHOD_NOT_ALLOWED);
    }
    let page = qr_page::answer(authority, request.uri().query().unwrap_or_default()).await;
    let kind = if page.json { "application/json;charset=UTF-8" } else { "text/html;charset=UTF-8" };
    with_type(StatusCode::OK, kind, page.text)
}

/// What the service has to say.
enum Reply {
    Answer(String),
    Refused(Refusal),
}

impl Reply {
    fn into_response(self) -> Response<AnswerBody> {
        match self {
            Self::Answer(envelope) => xml(StatusCode::OK, envelope),
            Self::Refused(refusal) => refused(&refusal),
        }
    }
}

/// Processes the message; `fault` may change the content of its answer.
async fn answer(
    authority: &Authority,
    presenter: &Presenter,
    message: Result<(MessageKind, Element), Refusal>,
    fault: Option<&Fault>,
) -> Reply {
    let effect = fault.map(Fault::effect);
    let envelope = match message {
        Err(refusal) => Err(refusal),
        Ok((MessageKind::NifCheck, root)) => nif_check::answer(&authority.settings().census, &root),
        Ok((MessageKind::Query, root)) => query::answer(authority, presenter, root).await,
        Ok((kind @ (MessageKind::Submission | MessageKind::Requirement), root)) => {
            let to = match kind {
                MessageKind::Requirement => Recipient::Requirement,
                _ => Recipient::Voluntary,
            };
            let forced = match effect {
                Some(Effect::Force { code, number }) => Some(Forced { code: *code, number: number.clone() }),
                _ => None,
            };
            submission::process(authority, presenter, root, to, forced).await.map(|mut answer| {
                match effect {
                    Some(Effect::Wait(seconds)) => answer.wait = *seconds,
                    Some(Effect::ReverseLines) => answer.lines.reverse(),
                    Some(Effect::DropLine(line)) if *line < answer.lines.len() => {
                        answer.lines.remove(*line);
                    }
                    _ => {}
                }
                answer.envelope()
            })
        }
    };
    match envelope {
        Ok(envelope) => Reply::Answer(envelope),
        Err(refusal) => {
            tracing::info!(?refusal, "message refused");
            Reply::Refused(refusal)
        }
    }
}

/// Answers under a fault: one that changes the answer, or one that takes its place, before or after
/// the message is processed.
async fn spoilt(
    authority: &Authority,
    presenter: &Presenter,
    message: Result<(MessageKind, Element), Refusal>,
    fault: &Fault,
) -> Answered {
    let changes_answer = matches!(
        fault.effect(),
        Effect::Delay
            | Effect::CutAnswer
            | Effect::Wait(_)
            | Effect::ReverseLines
            | Effect::DropLine(_)
            | Effect::Force { .. }
    );
    // A client that stops waiting takes its request with it: what is to be stored before the delay
    // must be stored before the client gives up.
    if !fault.is_after_storing() {
        tokio::time::sleep(fault.delay()).await;
    }
    let processed = if changes_answer || fault.is_after_storing() {
        Some(answer(authority, presenter, message, Some(fault)).await)
    } else {
        None
    };
    if fault.is_after_storing() {
        tokio::time::sleep(fault.delay()).await;
    }
    match (fault.effect(), processed) {
        (Effect::Cut | Effect::CloseUnread | Effect::TlsAlert, _) => Err(Cut),
        (Effect::Status(code), _) => {
            let code = StatusCode::from_u16(*code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Ok(page(code, HTML))
        }
        (Effect::Redirect, _) => Ok(redirect()),
        (Effect::HtmlPage, _) => Ok(page(StatusCode::OK, HTML)),
        (Effect::SoapFault { code, side }, _) => Ok(refused(&Refusal::on_demand(*code, *side))),
        (Effect::Garbage, _) => Ok(xml(StatusCode::OK, "\u{0}\u{1}<env:Envelope<<&".to_owned())),
        (Effect::EmptyBody, _) => Ok(xml(StatusCode::OK, String::new())),
        (Effect::CutAnswer, Some(reply)) => {
            let mut response = reply.into_response();
            let whole = std::mem::replace(response.body_mut(), AnswerBody::whole(""));
            *response.body_mut() = whole.into_broken_off();
            Ok(response)
        }
        (_, Some(reply)) => Ok(reply.into_response()),
        (_, None) => Err(Cut),
    }
}

/// Reads envelope and body: which message it is, and its root.
fn message(service: Service, bytes: &[u8]) -> Result<(MessageKind, Element), Refusal> {
    if bytes.trim_ascii().is_empty() {
        return Err(Refusal::new(4138));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Refusal::new(4119))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let envelope = Element::read(text).map_err(|error| {
        tracing::info!(error = &error as &dyn std::error::Error, "not the XML of the service");
        match error {
            XmlError::Encoding | XmlError::Declaration => Refusal::new(4138),
            _ => Refusal::new(4103),
        }
    })?;
    let missing = |name: &str| Refusal::from(Finding::new(4102).naming(name));
    if (envelope.ns, envelope.name.as_str()) != (Ns::Envelope, "Envelope") {
        return Err(missing("Envelope"));
    }
    let mut parts = envelope.children.into_iter();
    let mut part = parts.next();
    if part.as_ref().is_some_and(|part| part.ns == Ns::Envelope && part.name == "Header") {
        part = parts.next();
    }
    let body =
        part.filter(|part| part.ns == Ns::Envelope && part.name == "Body").ok_or_else(|| missing("Body"))?;
    if let Some(further) = parts.next() {
        return Err(missing(&further.name));
    }
    let mut roots = body.children.into_iter();
    let root = roots.next().ok_or_else(|| Refusal::new(4138))?;
    if let Some(further) = roots.next() {
        return Err(missing(&further.name));
    }
    match (service, root.ns, root.name.as_str()) {
        (Service::Verifactu, Ns::Submission, "RegFactuSistemaFacturacion") => {
            Ok((MessageKind::Submission, root))
        }
        (Service::Verifactu, Ns::Query, "ConsultaFactuSistemaFacturacion") => Ok((MessageKind::Query, root)),
        (Service::Requirement, Ns::Submission, "RegFactuSistemaFacturacion") => {
            Ok((MessageKind::Requirement, root))
        }
        (Service::Verifactu | Service::Requirement, ..) => Err(missing("RegFactuSistemaFacturacion")),
        (Service::NifCheck, Ns::NifCheck | Ns::NifCheckPlain, "VNifV2Ent") => {
            Ok((MessageKind::NifCheck, root))
        }
        (Service::NifCheck, ..) => Err(missing("VNifV2Ent")),
    }
}

fn issuer(root: &Element) -> &str {
    root.text_at("Cabecera/ObligadoEmision/NIF").unwrap_or_default()
}

fn refused(refusal: &Refusal) -> Response<AnswerBody> {
    xml(StatusCode::INTERNAL_SERVER_ERROR, refusal.envelope())
}

fn xml(code: StatusCode, envelope: String) -> Response<AnswerBody> {
    with_type(code, "text/xml;charset=UTF-8", envelope)
}

fn page(code: StatusCode, text: impl Into<String>) -> Response<AnswerBody> {
    with_type(code, "text/html;charset=UTF-8", text.into())
}

fn with_type(code: StatusCode, kind: &'static str, text: String) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::whole(text));
    *response.status_mut() = code;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

pub(crate) fn status(code: StatusCode) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::whole(""));
    *response.status_mut() = code;
    response
}

fn redirect() -> Response<AnswerBody> {
    let mut response = status(StatusCode::FOUND);
    response.headers_mut().insert(header::LOCATION, NO_CERTIFICATE);
    response
}
