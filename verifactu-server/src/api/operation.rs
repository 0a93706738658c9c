//! What a row of the route table says about its endpoint: the shapes it takes and gives, its
//! parameters, and the errors that it has beside those that every such route has.
//!
//! The OpenAPI document is made of these rows, and the router keeps callers to the parameters that they
//! name, so that what is not written down here does not exist.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use verifactu_core::api::{Accepted, Envelope, ErrorCode, Job, WaitedJob};

use super::parameters::{IDEMPOTENCY_KEY, LOCATION, PREFER, PREFERENCE_APPLIED, REPLAYED, RETRY_AFTER};

/// The schema of a type, among those it refers to.
pub(crate) type Shape = fn(&mut SchemaGenerator) -> Schema;

/// The part of a row that tells of the endpoint. An answer is a success body in its envelope, unless it is
/// a file.
pub(crate) struct Operation {
    pub(crate) ok: Option<Shape>,
    pub(crate) created: Option<Shape>,
    pub(crate) accepted: Option<Shape>,
    /// Media types of a 200 that is no JSON of ours.
    pub(crate) files: &'static [&'static str],
    /// The body, by its media type.
    pub(crate) takes: &'static [Body],
    pub(crate) query: &'static [Parameter],
    pub(crate) headers: &'static [Parameter],
    /// Headers of a success, beside those of every answer.
    pub(crate) gives: &'static [Header],
    /// Errors beside those that follow from path, body and caller.
    pub(crate) fails: &'static [ErrorCode],
}

/// A body that an endpoint takes.
pub(crate) struct Body {
    pub(crate) media: &'static str,
    pub(crate) shape: Shape,
    /// A body that is true for the sandbox, as JSON.
    pub(crate) example: Option<&'static str>,
}

/// A parameter of the query, or a header of the request.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
}

/// A header of an answer.
pub(crate) struct Header {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) shape: Shape,
    /// Whether it is always there.
    pub(crate) always: bool,
}

const NOTHING: Operation = Operation {
    ok: None,
    created: None,
    accepted: None,
    files: &[],
    takes: &[],
    query: &[],
    headers: &[],
    gives: &[],
    fails: &[],
};

/// Why there is no new record.
const SUBMIT_ERRORS: &[ErrorCode] = &[
    ErrorCode::IdempotencyKeyMissing,
    ErrorCode::IdempotencyKeyInvalid,
    ErrorCode::HuellaMismatch,
    ErrorCode::PlanLimitReached,
    ErrorCode::AccountSuspended,
    ErrorCode::ChainContinuity,
    ErrorCode::ChainState,
    ErrorCode::CorrectionConflict,
    ErrorCode::IdempotencyConflict,
    ErrorCode::IdempotencyJobDead,
    ErrorCode::InvoiceAlreadySubmitted,
    ErrorCode::TenantCertificateRequired,
    ErrorCode::AllowedNifMismatch,
    ErrorCode::AuthorityError,
    ErrorCode::AuthorityTimeout,
    ErrorCode::ClockSkew,
];

/// Answers 200 with a `T` in the envelope.
pub(super) const fn answers<T: JsonSchema>() -> Operation {
    Operation { ok: Some(enveloped::<T>), ..NOTHING }
}

/// Answers 200 with an `A` or a `B` in the envelope.
pub(super) const fn answers_either<A: JsonSchema, B: JsonSchema>() -> Operation {
    Operation { ok: Some(either::<A, B>), ..NOTHING }
}

/// Answers 201 with a `T` in the envelope.
pub(super) const fn creates<T: JsonSchema>() -> Operation {
    Operation { created: Some(enveloped::<T>), ..NOTHING }
}

/// Answers 201 with a `T` in the envelope if it was not there, else 200.
pub(super) const fn puts<T: JsonSchema>() -> Operation {
    Operation { ok: Some(enveloped::<T>), ..creates::<T>() }
}

/// Answers 202 with a `T` in the envelope.
pub(super) const fn accepts<T: JsonSchema>() -> Operation {
    Operation { accepted: Some(enveloped::<T>), ..NOTHING }
}

/// Answers 200 with a file of one of these media types.
pub(super) const fn sends(files: &'static [&'static str]) -> Operation {
    Operation { files, ..NOTHING }
}

/// Answers of two shapes with one status.
pub(super) fn either<A: JsonSchema, B: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [enveloped::<A>(generator), enveloped::<B>(generator)] })
}

fn enveloped<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<Envelope<T>>()
}

/// The schema of a type.
pub(crate) fn shape<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// A body of JSON.
pub(super) const fn json<T: JsonSchema>(example: &'static str) -> Body {
    Body { media: "application/json", shape: shape::<T>, example: Some(example) }
}

/// A body of JSON in one of two shapes.
pub(super) const fn json_either<A: JsonSchema, B: JsonSchema>(example: &'static str) -> Body {
    let shape = |generator: &mut SchemaGenerator| json_schema!({ "anyOf": [shape::<A>(generator), shape::<B>(generator)] });
    Body { media: "application/json", shape, example: Some(example) }
}

/// A form with a file in it, which no example can show.
pub(super) const fn form<T: JsonSchema>() -> Body {
    Body { media: "multipart/form-data", shape: shape::<T>, example: None }
}

/// A parameter that may be absent.
pub(super) const fn parameter<T: JsonSchema>(name: &'static str, about: &'static str) -> Parameter {
    Parameter { name, about, shape: shape::<T>, required: false }
}

/// A header that is there when there is something to say.
pub(super) const fn header<T: JsonSchema>(name: &'static str, about: &'static str) -> Header {
    Header { name, about, shape: shape::<T>, always: false }
}

impl Parameter {
    /// One that must be there.
    pub(super) const fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

impl Header {
    /// One that every success has.
    pub(super) const fn always(mut self) -> Self {
        self.always = true;
        self
    }
}

impl Operation {
    /// The bodies that it takes; the caller names which by `Content-Type`.
    pub(super) const fn takes(mut self, takes: &'static [Body]) -> Self {
        self.takes = takes;
        self
    }

    /// The parameters of its query. The router refuses others, and any that is given twice.
    pub(super) const fn query(mut self, query: &'static [Parameter]) -> Self {
        self.query = query;
        self
    }

    /// The headers of its success.
    pub(super) const fn gives(mut self, gives: &'static [Header]) -> Self {
        self.gives = gives;
        self
    }

    /// The media types in which it also answers, where the caller asks for them.
    pub(super) const fn or_sends(mut self, files: &'static [&'static str]) -> Self {
        self.files = files;
        self
    }

    /// The errors that are its own.
    pub(super) const fn fails(mut self, fails: &'static [ErrorCode]) -> Self {
        self.fails = fails;
        self
    }

    /// What sends and cancels have in common: a record is made, or found again by its key, and somebody
    /// may wait for what becomes of it.
    pub(super) const fn submits(takes: &'static [Body]) -> Self {
        Self {
            accepted: Some(either::<Accepted, WaitedJob>),
            ok: Some(either::<Job, WaitedJob>),
            takes,
            headers: &[IDEMPOTENCY_KEY, PREFER],
            gives: &[LOCATION, RETRY_AFTER, REPLAYED, PREFERENCE_APPLIED],
            fails: SUBMIT_ERRORS,
            ..NOTHING
        }
    }
}
