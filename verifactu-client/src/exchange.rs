//! One request and its answer: attempts, waits, and what an answer is taken for.

use std::{fmt, time::Duration};

use bytes::Bytes;
use futures_util::{Stream, stream};
use reqwest::{
    Method, Response, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::Instant;
use verifactu_core::{
    api::{Envelope, ErrorBody},
    types::RequestId,
};

use crate::{Client, ConfigurationError, Error, IdempotencyKey, ServiceError, key::spread};

/// Largest answer that is read.
const MAX_ANSWER: usize = 4 << 20;
/// Longest excerpt of an answer in an error.
const MAX_EXCERPT: usize = 200;

/// Whose request it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Caller {
    Account,
    Operator,
    Anyone,
}

/// When a request may be sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Repeat {
    /// It reads, it replaces, or it carries an idempotency key.
    Safely,
    /// Only if it certainly was not acted upon.
    IfUntouched,
    /// Never: the state of the moment is asked for.
    Never,
}

/// A request.
#[derive(Clone)]
pub(crate) struct Request<'a> {
    method: Method,
    path: String,
    query: Vec<(String, String)>,
    caller: Caller,
    repeat: Repeat,
    key: Option<&'a IdempotencyKey>,
    body: Option<Bytes>,
}

impl<'a> Request<'a> {
    pub(crate) fn new(method: Method, path: impl Into<String>, caller: Caller, repeat: Repeat) -> Self {
        Self { method, path: path.into(), query: Vec::new(), caller, repeat, key: None, body: None }
    }

    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::read(path, Caller::Account)
    }

    pub(crate) fn read(path: impl Into<String>, caller: Caller) -> Self {
        Self::new(Method::GET, path, caller, Repeat::Safely)
    }

    /// With a parameter.
    pub(crate) fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.query.push((name.to_owned(), value.to_string()));
        self
    }

    /// With the parameters that a filter stands for; what it does not say is left out.
    pub(crate) fn filtered(self, filter: &impl Serialize) -> Self {
        // A filter is a handful of texts and numbers, and those are always written.
        let members = match serde_json::to_value(filter) {
            Ok(serde_json::Value::Object(members)) => members,
            _ => return self,
        };
        members.into_iter().fold(self, |request, (name, value)| match value {
            serde_json::Value::Null => request,
            serde_json::Value::String(text) => request.with(&name, text),
            other => request.with(&name, other),
        })
    }

    pub(crate) fn key(self, key: &'a IdempotencyKey) -> Self {
        Self { key: Some(key), ..self }
    }

    /// A body that is JSON already.
    pub(crate) fn body(self, body: impl Into<Bytes>) -> Self {
        Self { body: Some(body.into()), ..self }
    }

    pub(crate) fn json(self, body: &impl Serialize) -> Result<Self, ConfigurationError> {
        Ok(self.body(serde_json::to_vec(body).map_err(ConfigurationError::Body)?))
    }
}

/// A body may hold a passphrase.
impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// An answer. No `Debug`: a body may hold a key that was just created.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    /// The members of the body.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.envelope().map(|envelope| envelope.body)
    }

    pub(crate) fn envelope<T: DeserializeOwned>(&self) -> Result<Envelope<T>, Error> {
        serde_json::from_slice(&self.body).map_err(|error| self.unexpected(Some(error.into())))
    }

    /// The body as it is, if it is of this media type.
    pub(crate) fn raw(self, media_type: &str) -> Result<Vec<u8>, Error> {
        let fits = media_type_of(&self.headers) == Some(media_type);
        if fits { Ok(self.body) } else { Err(self.unexpected(None)) }
    }

    /// As [`raw`](Self::raw), for text.
    pub(crate) fn text(mut self, media_type: &str) -> Result<String, Error> {
        if media_type_of(&self.headers) != Some(media_type) {
            return Err(self.unexpected(None));
        }
        String::from_utf8(std::mem::take(&mut self.body))
            .map_err(|error| self.unexpected(Some(error.utf8_error().into())))
    }

    pub(crate) fn retry_after(&self) -> Option<Duration> {
        retry_after(&self.headers)
    }

    pub(crate) fn unexpected(&self, source: Option<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        // A success in JSON may hold a key that was just created.
        let secret = self.status.is_success() && media_type_of(&self.headers) == Some("application/json");
        Error::Unexpected {
            status: self.status.as_u16(),
            request_id: request_id(&self.headers),
            retry_after: self.retry_after(),
            excerpt: if secret { String::new() } else { excerpt(&self.body) },
            source,
        }
    }

    /// An answer that is no success as an error: the service's own, if it is one.
    pub(crate) fn into_error(self) -> Error {
        match serde_json::from_slice::<ErrorBody>(&self.body) {
            Ok(document) => Error::Service(Box::new(ServiceError {
                status: self.status.as_u16(),
                retry_after: self.retry_after(),
                document,
            })),
            Err(error) => self.unexpected(Some(error.into())),
        }
    }
}

impl Client {
    /// Makes a request, again where that is allowed, and gives the success or the last error.
    pub(crate) async fn call(&self, request: &Request<'_>) -> Result<Answer, Error> {
        let policy = self.0.retry;
        let started = Instant::now();
        let mut wait = policy.first_wait;
        let mut attempt = 1;
        loop {
            let left = policy.total.saturating_sub(started.elapsed());
            let answer = self.attempt(request, self.0.timeout.min(left)).await;
            let error = match answer {
                Ok(answer) if answer.status.is_success() => return Ok(answer),
                Ok(answer) => answer.into_error(),
                Err(error) => error,
            };
            let pause = error.retry_after().unwrap_or_default().max(spread(wait));
            let late = started.elapsed().saturating_add(pause) >= policy.total;
            if attempt >= policy.attempts || late || !may_repeat(request.repeat, &error) {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
            attempt += 1;
            wait = wait.saturating_mul(2).min(policy.longest_wait);
        }
    }

    /// Makes a request once; an answer is an answer, whatever its status.
    pub(crate) async fn attempt(&self, request: &Request<'_>, limit: Duration) -> Result<Answer, Error> {
        let prepared = self.prepare(request)?;
        let exchange = async {
            let response = prepared.send().await.map_err(|error| Error::Transport(error.into()))?;
            read(response).await
        };
        tokio::time::timeout(limit, exchange).await.map_err(|_| Error::Timeout(limit))?
    }

    /// Makes a request once, for an answer of any length: the head may take as long as an attempt, and
    /// so may each piece of the body.
    pub(crate) async fn pieces(
        &self,
        request: &Request<'_>,
    ) -> Result<impl Stream<Item = Result<Bytes, Error>> + Send + use<>, Error> {
        let (prepared, limit) = (self.prepare(request)?, self.0.timeout);
        let sent = tokio::time::timeout(limit, prepared.send()).await.map_err(|_| Error::Timeout(limit))?;
        let response = sent.map_err(|error| Error::Transport(error.into()))?;
        if !response.status().is_success() {
            return Err(read(response).await?.into_error());
        }
        Ok(stream::try_unfold(response, move |mut response: Response| async move {
            let piece =
                tokio::time::timeout(limit, response.chunk()).await.map_err(|_| Error::Timeout(limit))?;
            let piece = piece.map_err(|error| Error::Transport(error.into()))?;
            Ok(piece.map(|piece| (piece, response)))
        }))
    }

    /// The limit of one attempt.
    pub(crate) fn limit(&self) -> Duration {
        self.0.timeout
    }

    fn prepare(&self, request: &Request<'_>) -> Result<reqwest::RequestBuilder, ConfigurationError> {
        let base = self.0.root.as_str().trim_end_matches('/');
        let version = if matches!(request.caller, Caller::Anyone) { "" } else { "/v1" };
        let address = format!("{base}{version}{}", request.path);
        let mut url = Url::parse(&address).map_err(|_| ConfigurationError::Address)?;
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        let mut prepared = self.0.http.request(request.method.clone(), url);
        let credential = match request.caller {
            Caller::Account => {
                Some(("x-api-key", self.0.api_key.as_ref().ok_or(ConfigurationError::NoApiKey)?))
            }
            Caller::Operator => {
                Some(("x-admin-key", self.0.admin_key.as_ref().ok_or(ConfigurationError::NoAdminKey)?))
            }
            Caller::Anyone => None,
        };
        if let Some((name, key)) = credential {
            let mut value = HeaderValue::from_str(key.expose()).map_err(|_| ConfigurationError::Key)?;
            value.set_sensitive(true);
            prepared = prepared.header(name, value);
        }
        if let Some(key) = request.key {
            prepared = prepared.header("x-idempotency-key", key.as_str());
        }
        if let Some(body) = &request.body {
            prepared = prepared.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        Ok(prepared)
    }
}

fn may_repeat(repeat: Repeat, error: &Error) -> bool {
    let unreached = error.is_unsent() && matches!(error, Error::Transport(_));
    match repeat {
        Repeat::Safely => unreached || matches!(error.status(), Some(429 | 502 | 503 | 504)),
        Repeat::IfUntouched => unreached || error.status() == Some(429),
        Repeat::Never => false,
    }
}

async fn read(mut response: Response) -> Result<Answer, Error> {
    let mut answer = Answer {
        status: response.status(),
        headers: std::mem::take(response.headers_mut()),
        body: Vec::new(),
    };
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if answer.body.len() + chunk.len() <= MAX_ANSWER => {
                answer.body.extend_from_slice(&chunk);
            }
            Ok(Some(_)) => return Err(answer.unexpected(Some("the body is too large".into()))),
            Ok(None) => return Ok(answer),
            Err(error) => return Err(answer.unexpected(Some(error.into()))),
        }
    }
}

/// Whole seconds; the form with a date is not read, and counts as absent.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u32 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.into()))
}

fn request_id(headers: &HeaderMap) -> Option<RequestId> {
    RequestId::parse(headers.get("x-request-id")?.to_str().ok()?).ok()
}

fn media_type_of(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    value.split(';').next().map(str::trim)
}

fn excerpt(body: &[u8]) -> String {
    // Four bytes are the most that a character takes.
    let start = &body[..body.len().min(4 * MAX_EXCERPT)];
    let text = String::from_utf8_lossy(start);
    text.trim().chars().take(MAX_EXCERPT).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
