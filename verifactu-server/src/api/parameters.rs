//! The parameters and headers that rows of the route table name, each with what it means.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use uuid::Uuid;
use verifactu_core::{
    api::{JobStatus, JobType, LookupSource, RecordState, RecordType},
    types::{self, Date, InvoiceNumber, Nif, RequestId, TenantId},
};

use super::{
    operation::{Header, Parameter, header, parameter},
    query::{MAX_LIMIT, MAX_OFFSET},
    support::CLASSES,
    usage::MAX_MONTHS,
    view,
};

/// A schema that exists for a parameter alone.
macro_rules! shapes {
    ($($name:ident => $schema:tt;)+) => {$(
        pub(super) struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )+};
}

shapes! {
    Limit => { "type": "integer", "minimum": 1, "maximum": (MAX_LIMIT), "default": 20 };
    Offset => { "type": "integer", "minimum": 0, "maximum": (MAX_OFFSET), "default": 0 };
    MonthCount => { "type": "integer", "minimum": 1, "maximum": (MAX_MONTHS), "default": 12 };
    Days => { "type": "integer", "minimum": 0, "maximum": 36500, "default": 30 };
    DayOrTime => { "type": "string", "examples": ["2026-01-31", "2026-01-31T09:00:00Z"] };
    Picture => { "type": "string", "enum": ["svg", "png", "txt"], "default": "svg" };
    Export => { "type": "string", "enum": ["ndjson", "xml"], "default": "ndjson" };
    Part => { "type": "string", "enum": ["request", "response"], "default": "request" };
    Class => { "type": "string", "enum": (CLASSES.iter().map(|class| view::class(*class)).collect::<Vec<_>>()) };
    Year => { "type": "integer", "minimum": 1900, "maximum": 2999 };
    MonthNumber => { "type": "integer", "minimum": 1, "maximum": 12 };
    Code => { "type": "integer" };
    Position => { "type": "integer", "minimum": 0 };
    Key => { "type": "string", "pattern": "^[!-~]{1,128}$", "examples": ["6c2f3a1e-8f0e-4b53-9d0f-0f3f4a1b2c3d"] };
    Text => { "type": "string" };
    Seconds => { "type": "integer", "minimum": 1 };
    Flag => { "type": "boolean", "default": false };
    True => { "type": "string", "const": "true" };
}

pub(super) const LIMIT: Parameter = parameter::<Limit>("limit", "The most rows of the page.");
pub(super) const CURSOR: Parameter =
    parameter::<Uuid>("cursor", "The `nextCursor` of the page before. Stable while rows are added.");
pub(super) const OFFSET: Parameter = parameter::<Offset>("offset", "Rows to skip, in place of `cursor`.");
pub(super) const TENANT_CURSOR: Parameter =
    parameter::<TenantId>("cursor", "The `nextCursor` of the page before.");
pub(super) const POSITION_CURSOR: Parameter =
    parameter::<Position>("cursor", "The `nextCursor` of the page before.");
pub(super) const FROM: Parameter =
    parameter::<DayOrTime>("from", "The beginning: a day in Madrid, or an instant.");
pub(super) const TO: Parameter = parameter::<DayOrTime>(
    "to",
    "The end: a day in Madrid, which belongs to it, or the first instant that does not.",
);
pub(super) const STATUS: Parameter = parameter::<JobStatus>("status", "Jobs in this state.");
pub(super) const TYPE: Parameter = parameter::<JobType>("type", "Jobs of this kind.");
pub(super) const NIF: Parameter = parameter::<Nif>("nif", "Those of this issuer.");
pub(super) const NUM_SERIE: Parameter =
    parameter::<InvoiceNumber>("numSerie", "Those of the invoice with this number.");
pub(super) const SERIE: Parameter =
    parameter::<InvoiceNumber>("serie", "Those whose number begins like this.");
pub(super) const TIPO: Parameter = parameter::<RecordType>("tipo", "Records of this kind.");
pub(super) const ESTADO: Parameter = parameter::<RecordState>("estado", "Records in this state.");
pub(super) const PART: Parameter =
    parameter::<Part>("part", "The record itself, or the authority's line for it.");
pub(super) const PICTURE: Parameter = parameter::<Picture>("format", "SVG, PNG, or the text itself.");
pub(super) const EXPORT: Parameter =
    parameter::<Export>("format", "A JSON object on each line, or one XML document.");
pub(super) const MONTHS: Parameter =
    parameter::<MonthCount>("months", "How many months, the present one counted.");
pub(super) const DAYS: Parameter = parameter::<Days>("days", "Those that end within so many days.");
pub(super) const TENANT_ID: Parameter = parameter::<TenantId>("tenantId", "Those of this account.");
pub(super) const HELD: Parameter = parameter::<Flag>("held", "Only those that are held.");
pub(super) const REQUEST_ID: Parameter =
    parameter::<RequestId>("requestId", "The job that this request made.");
pub(super) const CLASS: Parameter = parameter::<Class>("class", "Jobs whose last failure is of this kind.");
pub(super) const CODE: Parameter =
    parameter::<Code>("code", "Jobs whose last failure has this code of the authority.");
pub(super) const OLDER_THAN: Parameter =
    parameter::<DayOrTime>("olderThan", "Jobs that were accepted before: a day in Madrid, or an instant.");

/// What every list of an account's own can be asked for.
macro_rules! listing {
    ($name:ident: $($parameter:expr),*) => {
        pub(super) const $name: &[Parameter] = &[$($parameter,)* FROM, TO, LIMIT, CURSOR, OFFSET];
    };
}

listing!(JOBS: STATUS, TYPE, NIF, NUM_SERIE);
listing!(RECORDS: NIF, SERIE, TIPO, ESTADO);

pub(super) const LOOKUP: &[Parameter] = &[
    parameter::<Nif>("nif", "The issuer.").required(),
    parameter::<InvoiceNumber>("numSerie", "The invoice; goes with `fecha`."),
    parameter::<Date>("fecha", "Its date of issue."),
    parameter::<Year>("ejercicio", "The year; goes with `periodo`."),
    parameter::<MonthNumber>("periodo", "The month."),
    parameter::<LookupSource>("source", "Who is asked; the authority, if nothing is said."),
    parameter::<types::Text<120>>("nombre", "The issuer's name, where no record tells it."),
    parameter::<Text>("clavePaginacion", "The `clavePaginacion` of the page before."),
];

pub(super) const IDEMPOTENCY_KEY: Parameter = parameter::<Key>(
    "x-idempotency-key",
    "Names the request, so that its repetition finds the same job. 1 to 128 visible ASCII characters; a UUID is \
     recommended. `Idempotency-Key` is taken too.",
)
.required();
pub(super) const PREFER: Parameter = parameter::<Text>(
    "prefer",
    "`wait=N` holds the answer until the job is final, or for N seconds, at most 30 (RFC 7240).",
);

/// The headers that tell an account of its rate.
pub(crate) const RATE: &[Header] = &[
    header::<Text>(
        "RateLimit",
        "How many requests are left (`r`), and for how many seconds there are no more (`t`); a list of RFC 9651. \
         Absent where rates are off.",
    ),
    header::<Text>(
        "RateLimit-Policy",
        "How many requests the account may make (`q`), and in how many seconds (`w`); a list of RFC 9651.",
    ),
];
pub(super) const LOCATION: Header = header::<Text>("Location", "Where it can be read.");
pub(super) const RETRY_AFTER: Header =
    header::<Seconds>("Retry-After", "Seconds after which there may be something new.");
pub(super) const REPLAYED: Header =
    header::<True>("Idempotency-Replayed", "The key was used before; the job is the one it made.");
pub(super) const PREFERENCE_APPLIED: Header =
    header::<Text>("Preference-Applied", "How long the answer was willing to wait (RFC 7240).");
pub(super) const NEXT_PAGE: Header = header::<Text>("Link", "The next page, `rel=\"next\"` (RFC 8288).");
