//! The failures of an endpoint: its own, and those that follow from its row.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use verifactu_core::api::{ErrorBody, ErrorCode, Problem};

use crate::api::{Endpoint, Route, shape, status};

use super::{JSON, Schemas, every_header};

/// What any request may come to.
const ANY: &[ErrorCode] = &[
    ErrorCode::ValidationFailed,
    ErrorCode::RequestTimeout,
    ErrorCode::PayloadTooLarge,
    ErrorCode::HeadersTooLarge,
    ErrorCode::Internal,
    ErrorCode::Overloaded,
    ErrorCode::StoreUnavailable,
    ErrorCode::ShuttingDown,
];

/// Those of a caller with an account's key, and of a back end that acts for an account that is not there.
const KEYED: &[ErrorCode] = &[
    ErrorCode::AuthAmbiguous,
    ErrorCode::ApiKeyMissing,
    ErrorCode::ApiKeyInvalid,
    ErrorCode::ApiKeyRevoked,
    ErrorCode::ApiKeyExpired,
    ErrorCode::RateLimited,
    ErrorCode::NotFound,
];

/// Those of the operator.
const OPERATOR: &[ErrorCode] = &[ErrorCode::ApiKeyMissing, ErrorCode::ApiKeyInvalid, ErrorCode::RateLimited];

/// Those of a body.
const BODY: &[ErrorCode] = &[ErrorCode::InvalidJson, ErrorCode::UnsupportedMediaType];

/// Every code that a route can answer, in the order of the code list.
pub(crate) fn codes(route: &Route) -> Vec<ErrorCode> {
    let caller: &[_] = match &route.endpoint {
        Endpoint::Key(..) | Endpoint::Child(..) => KEYED,
        Endpoint::Operator(_) => OPERATOR,
        Endpoint::Anyone(_) => &[],
    };
    let scope: &[_] = match &route.endpoint {
        Endpoint::Key(Some(_), ..) | Endpoint::Child(..) => &[ErrorCode::InsufficientScope],
        _ => &[],
    };
    let body: &[_] = if route.operation.takes.is_empty() { &[] } else { BODY };
    let variable: &[_] = if route.path.contains(':') { &[ErrorCode::NotFound] } else { &[] };
    let groups = [ANY, caller, scope, body, variable, route.operation.fails];
    ErrorCode::ALL.iter().copied().filter(|code| groups.iter().any(|group| group.contains(code))).collect()
}

/// The error responses, each written once and named by its codes.
pub(super) struct Errors {
    document: Value,
    problem: Value,
    responses: Map<String, Value>,
}

impl Errors {
    pub(super) fn new(schemas: &mut Schemas) -> Self {
        Self {
            document: schemas.written(shape::<ErrorBody>),
            problem: schemas.written(shape::<Problem>),
            responses: Map::new(),
        }
    }

    /// Adds a route's error responses to its successes.
    pub(super) fn add(&mut self, route: &Route, answers: &mut Map<String, Value>) {
        let mut by_status = BTreeMap::<_, Vec<ErrorCode>>::new();
        for code in codes(route) {
            by_status.entry(status(code)).or_default().push(code);
        }
        for (status, codes) in by_status {
            let names: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
            let name = names.join("-or-");
            if !self.responses.contains_key(&name) {
                let response = self.response(&codes, &names, waits(status));
                self.responses.insert(name.clone(), response);
            }
            let reference = json!({ "$ref": format!("#/components/responses/{name}") });
            answers.insert(status.as_str().to_owned(), reference);
        }
    }

    fn response(&self, codes: &[ErrorCode], names: &[&str], waits: bool) -> Value {
        let about: Vec<String> = codes.iter().map(|code| format!("`{code}`: {}", code.about())).collect();
        let mut headers = every_header();
        if waits {
            let header = json!({
                "description": "Seconds after which the same request may succeed.",
                "required": true,
                "schema": { "type": "integer", "minimum": 1 },
            });
            headers.insert("Retry-After".to_owned(), header);
        }
        let of = |document: &Value| json!({ "schema": { "allOf": [document], "properties": { "code": { "enum": names } } } });
        json!({
            "description": about.join("\n\n"),
            "headers": headers,
            "content": { JSON: of(&self.document), "application/problem+json": of(&self.problem) },
        })
    }

    pub(super) fn into_responses(mut self) -> Map<String, Value> {
        self.responses.sort_keys();
        self.responses
    }
}

/// Whether an answer with this status says when to come again.
fn waits(status: http::StatusCode) -> bool {
    [ErrorCode::RateLimited, ErrorCode::Overloaded].into_iter().any(|code| crate::api::status(code) == status)
}
