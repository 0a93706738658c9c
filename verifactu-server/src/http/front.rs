//! From hyper's request to the service's answer: reads within bounds, then hands over to warp.
//!
//! warp sees one flat filter that takes a request apart; which endpoint answers is decided by the
//! route table. A tree of filters, one per route, would compile in minutes and answer failures in
//! warp's own way, which has no room for a request's identifier.

use std::{convert::Infallible, io, net::IpAddr, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use hyper::{body::Incoming, service::Service as _};
use hyper_util::service::TowerToHyperService;
use verifactu_core::types::RequestId;
use warp::{Filter, path::FullPath};

use crate::api::{Arrived, Fault, Pieces, Service};

/// The body of an answer: in memory, or in pieces.
type Outgoing = UnsyncBoxBody<Bytes, io::Error>;

/// How much of a body that is too large is read and dropped, so that the caller gets to read why.
const DRAIN: usize = 4 * 1024 * 1024;

/// What warp is not told by the request itself.
#[derive(Clone)]
struct Extra {
    request: RequestId,
    peer: IpAddr,
    query: String,
}

/// Answers one request of a connection. One that arrives after the stop has begun is sent elsewhere.
pub(super) async fn answer(
    service: Arc<Service>,
    request: Request<Incoming>,
    peer: IpAddr,
    stopped: bool,
) -> Result<Response<Outgoing>, Infallible> {
    let id = RequestId(service.ids.next());
    let (parts, body) = request.into_parts();
    let body = if stopped { Err(Fault::ShuttingDown) } else { read(&service, &parts, body).await };
    let response = match body {
        Err(fault) => service.refuse(id, &parts.headers, fault),
        Ok(body) => {
            let query = parts.uri.query().unwrap_or_default().to_owned();
            let extra = Extra { request: id, peer, query };
            let mut request = Request::from_parts(parts, Full::new(body));
            request.extensions_mut().insert(extra);
            return Ok(through_warp(service, request).await);
        }
    };
    Ok(response.map(whole))
}

async fn through_warp(service: Arc<Service>, request: Request<Full<Bytes>>) -> Response<Outgoing> {
    let warp = TowerToHyperService::new(warp::service(filter(service)));
    let response = match warp.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    let (mut parts, body) = response.into_parts();
    if let Some(pieces) = parts.extensions.remove::<Pieces>() {
        parts.headers.remove(http::header::CONTENT_LENGTH);
        return Response::from_parts(parts, pieces.boxed_unsync());
    }
    // The body is in memory already, so collecting it neither waits nor fails.
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    Response::from_parts(parts, whole(body))
}

fn whole(body: Bytes) -> Outgoing {
    Full::new(body).map_err(|never| match never {}).boxed_unsync()
}

fn filter(
    service: Arc<Service>,
) -> impl Filter<Extract = (warp::reply::Response,), Error = warp::Rejection> + Clone {
    warp::method()
        .and(warp::path::full())
        .and(warp::header::headers_cloned())
        .and(warp::ext::get::<Extra>())
        .and(warp::body::bytes())
        .then(move |method: Method, path: FullPath, headers: HeaderMap, extra: Extra, body: Bytes| {
            let service = service.clone();
            async move {
                let Extra { request, peer, query } = extra;
                let path = path.as_str().to_owned();
                let arrived = Arrived { request, peer, method, path, query, headers, body };
                service.answer(arrived).await.map(Into::into)
            }
        })
}

/// The whole body, if it and the headers keep within their bounds.
async fn read(service: &Service, parts: &http::request::Parts, mut body: Incoming) -> Result<Bytes, Fault> {
    let limits = &service.limits;
    let head: usize = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    let line = parts.method.as_str().len() + parts.uri.to_string().len() + 12;
    if head + line > limits.headers {
        return Err(Fault::HeadersTooLarge(limits.headers));
    }
    let limit = service.body_limit(&parts.method, &parts.uri);
    let told = hyper::body::Body::size_hint(&body).lower();
    let waits_for_consent = parts.headers.contains_key(http::header::EXPECT);
    if told > limit as u64 && (waits_for_consent || told > DRAIN as u64) {
        return Err(Fault::BodyTooLarge(limit));
    }
    let all = async {
        let (mut whole, mut seen) = (Vec::new(), 0);
        while let Some(frame) = body.frame().await {
            // The caller went away in the middle: there is nobody to answer.
            let frame = frame.map_err(|_| Fault::NotHttp)?;
            let Ok(piece) = frame.into_data() else { continue };
            seen += piece.len();
            if seen <= limit {
                whole.extend_from_slice(&piece);
            } else if seen > DRAIN {
                break;
            }
        }
        if seen > limit { Err(Fault::BodyTooLarge(limit)) } else { Ok(Bytes::from(whole)) }
    };
    tokio::time::timeout(limits.body_read, all).await.map_err(|_| Fault::BodyTooSlow)?
}
