//! From hyper's request to the service's answer: reads within bounds, then hands over to warp.
//!
//! warp sees one flat filter that takes a request apart; which endpoint answers is decided by the
//! route table. A tree of filters, one per route, would compile in minutes and answer failures in
//! warp's own way, which has no room for a request's identifier.

use std::{convert::Infallible, io, net::IpAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use hyper::{body::Incoming, service::Service as _};
use hyper_util::service::TowerToHyperService;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use verifactu_core::types::RequestId;
use warp::{Filter, path::FullPath};
use zeroize::Zeroizing;

use super::seats::Seat;
use crate::{
    api::{Arrived, Fault, Pieces, Service},
    config::Limits,
};

/// The body of an answer: in memory, or in pieces.
type Outgoing = UnsyncBoxBody<Bytes, io::Error>;

/// How much of a body that is too large is read and dropped, so that the caller gets to read why.
const DRAIN: usize = 4 * 1024 * 1024;

/// What bodies take is counted in units of so many bytes.
const UNIT: usize = 1024;
/// How long a body waits for others to be done with before the service counts as busy.
const PATIENCE: Duration = Duration::from_secs(2);

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
    seat: Arc<Seat>,
) -> Result<Response<Outgoing>, Infallible> {
    let id = RequestId(service.ids.next());
    let (parts, body) = request.into_parts();
    let body = if stopped { Err(Fault::ShuttingDown) } else { read(&service, &parts, body).await };
    let _answering = seat.answering();
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

/// What all bodies together may take; never less than the largest.
pub(crate) fn room(limits: &Limits) -> Arc<Semaphore> {
    let largest = limits.body.max(limits.batch).max(limits.certificate);
    Arc::new(Semaphore::new(limits.bodies.max(largest).div_ceil(UNIT).min(Semaphore::MAX_PERMITS)))
}

/// A body as far as it is here, with its share of the room for all. It may hold a secret.
struct Held {
    bytes: Zeroizing<Vec<u8>>,
    share: Option<OwnedSemaphorePermit>,
}

impl Held {
    /// Takes another piece in; `false` when no room for it is found in time. The room is taken as the
    /// bytes come, so that nobody keeps more of it than they have sent.
    async fn take(&mut self, piece: &[u8], room: &Arc<Semaphore>) -> bool {
        let wanted = (self.bytes.len() + piece.len()).div_ceil(UNIT);
        let more = wanted - self.share.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        if more > 0 {
            let share = room.clone().acquire_many_owned(u32::try_from(more).unwrap_or(u32::MAX));
            let Ok(Ok(share)) = tokio::time::timeout(PATIENCE, share).await else { return false };
            match &mut self.share {
                Some(known) => known.merge(share),
                None => self.share = Some(share),
            }
        }
        self.bytes.extend_from_slice(piece);
        true
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The whole body, if it and the headers keep within their bounds. Of a caller who shows no key it is
/// only found out whether the body does, because nobody is going to read it.
async fn read(service: &Service, parts: &http::request::Parts, mut body: Incoming) -> Result<Bytes, Fault> {
    let limits = &service.limits;
    let head: usize = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    let line = parts.method.as_str().len() + parts.uri.to_string().len() + 12;
    if head + line > limits.headers {
        return Err(Fault::HeadersTooLarge(limits.headers));
    }
    let limit = service.body_limit(&parts.method, &parts.uri);
    let size = hyper::body::Body::size_hint(&body);
    let waits_for_consent = parts.headers.contains_key(http::header::EXPECT);
    if size.lower() > limit as u64 && (waits_for_consent || size.lower() > DRAIN as u64) {
        return Err(Fault::BodyTooLarge(limit));
    }
    let all = async {
        let expected = size.upper().and_then(|size| usize::try_from(size).ok()).unwrap_or(limit);
        let mut held = service.may_be_known(&parts.headers).then(|| Held {
            // So that it need not grow, which would leave copies behind.
            bytes: Zeroizing::new(Vec::with_capacity(expected.min(limit).min(limits.body))),
            share: None,
        });
        let (mut seen, mut busy) = (0, false);
        while let Some(frame) = body.frame().await {
            // The caller went away in the middle: there is nobody to answer.
            let frame = frame.map_err(|_| Fault::NotHttp)?;
            let Ok(piece) = frame.into_data() else { continue };
            seen += piece.len();
            if seen > limit {
                held = None;
                if seen > DRAIN {
                    break;
                }
            } else if let Some(kept) = &mut held
                && !kept.take(&piece, &service.bodies).await
            {
                (held, busy) = (None, true);
            }
        }
        match held {
            _ if seen > limit => Err(Fault::BodyTooLarge(limit)),
            _ if busy => Err(Fault::Overloaded),
            Some(held) => Ok(Bytes::from_owner(held)),
            None => Ok(Bytes::new()),
        }
    };
    tokio::time::timeout(limits.body_read, all).await.map_err(|_| Fault::BodyTooSlow)?
}
