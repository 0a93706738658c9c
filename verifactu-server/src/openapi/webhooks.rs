//! The events that go to an account's webhook.

use serde_json::{Map, Value, json};
use verifactu_core::webhook::{
    Event, EventKind, SERVICE_SIGNATURE, WEBHOOK_ID, WEBHOOK_SIGNATURE, WEBHOOK_TIMESTAMP,
};

use crate::api::shape;

use super::{JSON, Schemas};

const EVENTS: &[(EventKind, &str)] = &[
    (EventKind::Succeeded, "The authority accepted the record"),
    (EventKind::Failed, "The job is dead"),
    (EventKind::Ping, "An operator tries the address"),
];

const ABOUT: &str = "One attempt, within 15 seconds, without redirects, to a public address over HTTPS. What does not \
    arrive is not sent again: GET /v1/jobs/{id} and GET /v1/me/invoice-records tell the same. Compare signatures in \
    constant time; refuse a webhook-id that was seen before, and a webhook-timestamp that is too old.";

const HEADERS: &[(&str, &str)] = &[
    (SERVICE_SIGNATURE, "`sha256=` and the HMAC-SHA256 of the raw body, in lower-case hexadecimal digits."),
    (WEBHOOK_ID, "Identifies the delivery (Standard Webhooks)."),
    (WEBHOOK_TIMESTAMP, "When it was sent, in seconds since 1970."),
    (WEBHOOK_SIGNATURE, "`v1,` and the HMAC-SHA256 of id, timestamp and body, joined by dots, in base64."),
];

pub(super) fn all(schemas: &mut Schemas) -> Map<String, Value> {
    let event = schemas.written(shape::<Event>);
    EVENTS.iter().map(|(kind, summary)| one(&event, *kind, summary)).collect()
}

fn one(event: &Value, kind: EventKind, summary: &str) -> (String, Value) {
    let name = serde_json::to_value(kind).ok();
    let name = name.as_ref().and_then(Value::as_str).unwrap_or_default();
    let header = |(name, about): &(&str, &str)| json!({ "name": name, "in": "header", "description": about, "required": true, "schema": { "type": "string" } });
    let webhook = json!({
        "post": {
            "operationId": name.replace('.', "_"),
            "summary": summary,
            "description": ABOUT,
            "parameters": HEADERS.iter().map(header).collect::<Vec<_>>(),
            "requestBody": {
                "required": true,
                "content": { JSON: {
                    "schema": { "allOf": [event], "properties": { "event": { "const": name } } },
                } },
            },
            "responses": { "2XX": { "description": "It arrived" } },
        },
    });
    (name.to_owned(), webhook)
}
