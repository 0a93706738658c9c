//! An answer before it is put on the wire.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CONTENT_TYPE, LINK, LOCATION},
};
use hyper::body::{Body, Frame};
use serde::Serialize;
use tokio::sync::mpsc;
use verifactu_core::{api::Envelope, types::RequestId};

use super::error::{Fault, Success};

/// Status, headers and body.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// What follows the body, piece by piece.
    pub(super) rest: Option<Pieces>,
}

impl Reply {
    pub(super) fn new(status: StatusCode, headers: HeaderMap, body: impl Into<Bytes>) -> Self {
        Self { status, headers, body: body.into(), rest: None }
    }

    /// A body in the envelope of every success.
    pub(super) fn json(success: Success, request: RequestId, body: impl Serialize) -> Result<Self, Fault> {
        let body = serde_json::to_vec(&Envelope::new(body, request))
            .map_err(|error| Fault::Internal(error.into()))?;
        Ok(Self::new(success.status(), HeaderMap::new(), body)
            .with(CONTENT_TYPE, HeaderValue::from_static("application/json")))
    }

    /// A body that is no JSON.
    pub(super) fn raw(kind: &'static str, body: impl Into<Bytes>) -> Self {
        Self::new(Success::Ok.status(), HeaderMap::new(), body)
            .with(CONTENT_TYPE, HeaderValue::from_static(kind))
    }

    /// A body that is no JSON and is not in memory as a whole.
    pub(super) fn streamed(kind: &'static str, rest: Pieces) -> Self {
        Self { rest: Some(rest), ..Self::raw(kind, Bytes::new()) }
    }

    /// Adds a link.
    pub(super) fn linking(mut self, link: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(link) {
            self.headers.append(LINK, value);
        }
        self
    }

    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Where the thing is that was created.
    pub(super) fn at(self, location: &str) -> Self {
        match HeaderValue::from_str(location) {
            Ok(value) => self.with(LOCATION, value),
            Err(_) => self,
        }
    }
}

/// A body that comes piece by piece. One that breaks off ends the connection, so that nobody takes a
/// part for the whole.
#[derive(Clone, Debug)]
pub(crate) struct Pieces(Arc<Mutex<mpsc::Receiver<Option<Bytes>>>>);

/// The other end of [`Pieces`].
pub(super) struct PieceSender(mpsc::Sender<Option<Bytes>>);

impl Pieces {
    /// A body, and where its pieces are put in; the next one waits until the one before is on its way.
    pub(super) fn channel() -> (PieceSender, Self) {
        let (sender, receiver) = mpsc::channel(1);
        (PieceSender(sender), Self(Arc::new(Mutex::new(receiver))))
    }
}

impl PieceSender {
    /// `false` when nobody waits for more.
    pub(super) async fn send(&self, piece: Bytes) -> bool {
        self.0.send(Some(piece)).await.is_ok()
    }

    /// Says that the body is whole. Without that it has broken off.
    pub(super) async fn finish(self) {
        let _ = self.0.send(None).await;
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let mut receiver = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        receiver.poll_recv(context).map(|received| match received {
            Some(Some(piece)) => Some(Ok(Frame::data(piece))),
            Some(None) => None,
            None => Some(Err(io::ErrorKind::UnexpectedEof.into())),
        })
    }
}
