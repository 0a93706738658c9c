//! An answer before it is put on the wire.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CONTENT_TYPE, LOCATION},
};
use serde::Serialize;
use verifactu_core::{api::Envelope, types::RequestId};

use super::error::{Fault, Success};

/// Status, headers and body.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Reply {
    pub(super) fn new(status: StatusCode, headers: HeaderMap, body: impl Into<Bytes>) -> Self {
        Self { status, headers, body: body.into() }
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
