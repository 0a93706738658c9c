//! JSON Schemas of the wire types (feature `schema`), of which the service makes its OpenAPI document.
//!
//! Most come from the types themselves. Those of the values are written here, each beside the rule that
//! its `parse` keeps, and those of the bodies that are read by hand are widened by what the reader
//! takes besides the canonical spelling: other names, `null` for absent, amounts as strings. A schema
//! may admit what the reader refuses (check characters, rules across fields), never the other way round.

use std::{borrow::Cow, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::{
    record::{
        Country, Exemption, ForeignIdType, GeneratedBy, InvoiceType, IssuedBy, PriorRejection, Qualification,
        RectificationMode, Regime, SystemId, Tax,
    },
    types::{
        Amount, BatchId, ChainId, Date, DeliveryId, GenerationTime, Huella, InvoiceNumber, JobId, MessageId,
        Nif, Rate, RecordId, RequestId, Secret, TenantId, Text,
    },
    validation::Field,
};

use super::{
    BatchItem, CancelInvoice, CancelRequest, ErrorCode, ForeignDocument, Place, Scope, SendInvoice,
    SendRequest, Timestamp,
    names::{aliases, rest_name},
    parts::KEY_SPELLINGS,
};

/// A schema that is written down, under a name of its own or where it is used.
macro_rules! schemas {
    ($($type:ty $(as $name:literal)? => $schema:tt;)+) => {$(
        impl JsonSchema for $type {
            schemas!(@ $type $(, $name)?);

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )+};
    (@ $type:ty, $name:literal) => {
        fn schema_name() -> Cow<'static, str> {
            $name.into()
        }
    };
    (@ $type:ty) => {
        fn schema_name() -> Cow<'static, str> {
            stringify!($type).into()
        }

        fn inline_schema() -> bool {
            true
        }
    };
}

schemas! {
    Nif as "Nif" => {
        "description": "Spanish tax identification number with its check character, upper case and without separators.",
        "type": "string", "pattern": "^[0-9A-Z][0-9A-Z]{7}[0-9A-Z]$", "examples": ["B12345674"],
    };
    Huella as "Huella" => {
        "description": "SHA-256 of a record, as 64 upper-case hexadecimal digits.",
        "type": "string", "pattern": "^[0-9A-F]{64}$",
    };
    Date as "Fecha" => {
        "description": "Calendar day, DD-MM-YYYY; YYYY-MM-DD is taken too.",
        "type": "string",
        "pattern": "^([0-9]{2}-[0-9]{2}-[12][0-9]{3}|[12][0-9]{3}-[0-9]{2}-[0-9]{2})$",
        "examples": ["15-01-2026"],
    };
    InvoiceNumber as "NumSerie" => {
        "description": "Series and number: 1 to 60 printable ASCII characters without \" ' < > =. Blanks around it do not count.",
        "type": "string", "pattern": "^[ \\t\\r\\n]*[ !#-&(-;?-~]{1,60}[ \\t\\r\\n]*$", "examples": ["2026/F-001"],
    };
    TenantId as "TenantId" => {
        "description": "An account: 1 to 64 characters, beginning with a letter or digit.",
        "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", "examples": ["acme"],
    };
    Amount as "Amount" => {
        "description": "Euros, at most twelve integer digits and two decimals. A number or a string; read as a decimal, never as a float.",
        "anyOf": [
            { "type": "number", "minimum": -999_999_999_999.99, "maximum": 999_999_999_999.99 },
            { "type": "string", "pattern": "^[+-]?[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)?$" },
        ],
        "examples": [126.2, "126.20"],
    };
    Rate as "Rate" => {
        "description": "Percent, at most three integer digits and two decimals. A number or a string.",
        "anyOf": [
            { "type": "number", "minimum": 0, "maximum": 999.99 },
            { "type": "string", "pattern": "^[+-]?[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)?$" },
        ],
        "examples": [21, "5.2"],
    };
    GenerationTime => {
        "type": "string",
        "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})$",
        "examples": ["2026-01-15T10:00:00+01:00"],
    };
    Timestamp => { "type": "string", "format": "date-time", "examples": ["2026-01-15T09:00:00Z"] };
    Secret => { "type": "string" };
    SystemId => { "type": "string", "pattern": "^[A-Z0-9]{2}$", "examples": ["01"] };
    Country => {
        "type": "string", "enum": (Country::all().map(|country| country.as_str().to_owned()).collect::<Vec<_>>()),
    };
    JobId => { "type": "string", "format": "uuid" };
    RecordId => { "type": "string", "format": "uuid" };
    ChainId => { "type": "string", "format": "uuid" };
    MessageId => { "type": "string", "format": "uuid" };
    BatchId => { "type": "string", "format": "uuid" };
    DeliveryId => { "type": "string", "format": "uuid" };
    RequestId => { "type": "string", "format": "uuid" };
    ErrorCode as "ErrorCode" => {
        "description": "What an error is, in one word. A server may add words; a client must expect that.",
        "type": "string", "enum": (words(ErrorCode::ALL, ErrorCode::as_str)),
    };
    Scope as "Scope" => {
        "description": "What a key allows.",
        "type": "string", "enum": (words(Scope::ALL, Scope::as_str)),
    };
    InvoiceType => { "type": "string", "enum": (words(InvoiceType::ALL, InvoiceType::code)) };
    RectificationMode => { "type": "string", "enum": (words(RectificationMode::ALL, RectificationMode::code)) };
    IssuedBy => { "type": "string", "enum": (words(IssuedBy::ALL, IssuedBy::code)) };
    GeneratedBy => { "type": "string", "enum": (words(GeneratedBy::ALL, GeneratedBy::code)) };
    ForeignIdType => { "type": "string", "enum": (words(ForeignIdType::ALL, ForeignIdType::code)) };
    Tax => { "type": "string", "enum": (words(Tax::ALL, Tax::code)) };
    Regime => { "type": "string", "enum": (words(Regime::ALL, Regime::code)) };
    Qualification => { "type": "string", "enum": (words(Qualification::ALL, Qualification::code)) };
    Exemption => { "type": "string", "enum": (words(Exemption::ALL, Exemption::code)) };
    PriorRejection => {
        "enum": (words(PriorRejection::ALL, PriorRejection::code).into_iter().map(Value::from)
            .chain([true.into(), false.into()]).collect::<Vec<_>>()),
    };
}

fn words<T: Copy>(all: &[T], word: fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().copied().map(word).collect()
}

impl<const MAX: usize> JsonSchema for Text<MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("Text{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": (text_pattern(1, MAX)) })
    }
}

/// A text of at most `MAX` characters, of which an empty one says nothing.
pub(super) struct Optional<const MAX: usize>;

impl<const MAX: usize> JsonSchema for Optional<MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("Optional{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": (text_pattern(0, MAX)) })
    }
}

/// Blanks around a text do not count, and control characters are none of its own.
fn text_pattern(min: usize, max: usize) -> String {
    format!("^[ \\t\\r\\n]*[^\\u0000-\\u001f\\u007f-\\u009f]{{{min},{max}}}[ \\t\\r\\n]*$")
}

/// Anything at all, though it should be a `T`: what is wrong with it is told in another way.
pub(super) struct Any<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for Any<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Any{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [generator.subschema_for::<T>(), {}] })
    }
}

/// One of two bodies.
pub(super) struct OneOf<A, B>(PhantomData<(A, B)>);

impl<A: JsonSchema, B: JsonSchema> JsonSchema for OneOf<A, B> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Or{}", A::schema_name(), B::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [generator.subschema_for::<A>(), generator.subschema_for::<B>()] })
    }
}

/// A boolean, as such or as `S` or `N`.
struct Flag;

schemas! {
    Flag => { "enum": [true, false, "S", "N"] };
}

/// A decimal; `true` stands for the base itself.
pub(super) struct BaseAtCost;

impl JsonSchema for BaseAtCost {
    fn schema_name() -> Cow<'static, str> {
        "BaseAtCost".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [generator.subschema_for::<Amount>(), generator.subschema_for::<Flag>()] })
    }
}

/// Where a record stands in its chain, as it is read.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(transform = as_read)]
#[allow(dead_code, reason = "its shape is all that matters")]
struct Chained {
    /// True only for the first record of a chain.
    primer_registro: Option<bool>,
    /// The record before it.
    registro_anterior: Option<PreviousRecord>,
}

/// The record before another one.
#[derive(JsonSchema)]
#[schemars(transform = as_read)]
#[allow(dead_code, reason = "its shape is all that matters")]
struct PreviousRecord {
    /// Its huella.
    huella: Option<Huella>,
}

impl JsonSchema for Place {
    fn schema_name() -> Cow<'static, str> {
        "Encadenamiento".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Chained::json_schema(generator)
    }
}

/// What both bodies take besides the canonical spelling.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "its shape is all that matters")]
struct SharedSpellings {
    /// As in `encadenamiento`.
    primer_registro: Option<bool>,
    /// Always `01`, SHA-256.
    tipo_huella: Option<HuellaType>,
}

struct HuellaType;

schemas! {
    HuellaType => { "const": "01" };
}

/// What an invoice takes besides.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "its shape is all that matters")]
struct SendSpellings {
    /// Name of the only recipient, in place of `destinatarios`.
    dest_nombre: Option<Text<120>>,
    /// NIF of the only recipient.
    dest_nif: Option<Nif>,
    /// Other identification of the only recipient.
    dest_id_otro: Option<ForeignDocument>,
}

/// What a cancellation takes besides.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "its shape is all that matters")]
struct CancelSpellings {
    /// The invoice's key, in place of `numSerie` and `fecha`.
    factura_anulada: Option<CancelledInvoice>,
}

/// The key of a cancelled invoice.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = cancelled_key)]
#[allow(dead_code, reason = "its shape is all that matters")]
struct CancelledInvoice {
    /// Its issuer; may stand at top level instead.
    nif: Option<Nif>,
    /// Series and number.
    num_serie: InvoiceNumber,
    /// Date of issue.
    fecha: Date,
}

/// An item of a batch, as it is read.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(dead_code, reason = "its shape is all that matters")]
struct ItemRead {
    /// Which of the two it is.
    op: Operation,
    /// Its idempotency key: 1 to 128 visible ASCII characters.
    #[schemars(regex(pattern = "^[!-~]{1,128}$"))]
    idempotency_key: String,
    /// What the route of its own takes.
    body: OneOf<SendRequest, CancelRequest>,
}

struct Operation;

schemas! {
    Operation => { "enum": ["send", "cancel"] };
}

impl JsonSchema for BatchItem {
    fn schema_name() -> Cow<'static, str> {
        "BatchItem".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = ItemRead::json_schema(generator);
        schema.insert("description".to_owned(), "A send or a cancel within a batch.".into());
        schema
    }
}

impl JsonSchema for SendRequest {
    fn schema_name() -> Cow<'static, str> {
        "SendInvoice".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = SendInvoice::json_schema(generator);
        join(&mut schema, SharedSpellings::json_schema(generator));
        join(&mut schema, SendSpellings::json_schema(generator));
        as_read(&mut schema);
        schema
    }
}

impl JsonSchema for CancelRequest {
    fn schema_name() -> Cow<'static, str> {
        "CancelInvoice".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = CancelInvoice::json_schema(generator);
        join(&mut schema, SharedSpellings::json_schema(generator));
        join(&mut schema, CancelSpellings::json_schema(generator));
        as_read(&mut schema);
        // The key stands at top level or in the member of its own.
        let key = [rest_name(Field::Issuer), rest_name(Field::Number), rest_name(Field::Date)];
        schema.remove("required");
        schema.insert("anyOf".to_owned(), json!([{ "required": key }, { "required": ["facturaAnulada"] }]));
        schema
    }
}

/// Adds the members of another object.
fn join(schema: &mut Schema, mut other: Schema) {
    let Some(Value::Object(more)) = other.remove("properties") else { return };
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.extend(more);
    }
}

/// Makes the schema of what is written that of what is read: one flat object without unknown members,
/// `null` where a member may be absent, booleans in every spelling, and a field under each of its names.
pub(super) fn as_read(schema: &mut Schema) {
    let choice = flatten(schema);
    let Some(object) = schema.as_object_mut() else { return };
    object.insert("additionalProperties".to_owned(), false.into());
    let required: Vec<String> = match object.remove("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let mut either = choice;
    let Some(Value::Object(properties)) = object.get_mut("properties") else { return };
    let given = std::mem::take(properties);
    let mut plain = Vec::new();
    for (name, mut property) in given {
        let is_required = required.contains(&name);
        let others: &[&str] = FIELDS_WITH_ALIASES
            .iter()
            .find(|field| rest_name(**field) == name)
            .map_or(&[], |field| aliases(*field));
        widen(&mut property, is_required && others.is_empty());
        for other in others {
            properties.insert((*other).to_owned(), other_name(&property, &name));
        }
        match (is_required, others.first()) {
            (true, Some(other)) => either.push(vec![name.clone(), (*other).to_owned()]),
            (true, None) => plain.push(name.clone()),
            (false, _) => {}
        }
        properties.insert(name, property);
    }
    if !plain.is_empty() {
        object.insert("required".to_owned(), plain.into());
    }
    let choices = either.iter().map(|names| any_of(names));
    match choices.collect::<Vec<_>>().as_slice() {
        [] => {}
        [only] => {
            object.insert("anyOf".to_owned(), only.clone());
        }
        several => {
            let all: Vec<Value> = several.iter().map(|any| json!({ "anyOf": any })).collect();
            object.insert("allOf".to_owned(), all.into());
        }
    }
}

/// The fields of bodies that have further names everywhere.
const FIELDS_WITH_ALIASES: &[Field] =
    &[Field::Breakdown, Field::SurchargeRate, Field::SurchargeAmount, Field::WithoutPriorRecord];

fn any_of<T: AsRef<str>>(names: &[T]) -> Value {
    names.iter().map(|name| json!({ "required": [name.as_ref()] })).collect()
}

/// Takes the members of alternatives into the object itself. The names of which one must be there.
fn flatten(schema: &mut Schema) -> Vec<Vec<String>> {
    schema.remove("unevaluatedProperties");
    let mut more = Map::new();
    for keyword in ["oneOf", "anyOf"] {
        for alternative in schema.remove(keyword).iter().filter_map(Value::as_array).flatten() {
            members_of(alternative, &mut more);
        }
    }
    let is_choice = more.contains_key(rest_name(Field::ForeignId))
        && schema.get("properties").is_some_and(has_party_name);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.extend(more);
    }
    let names = [Field::Nif, Field::ForeignId].map(|field| rest_name(field).to_owned());
    if is_choice { vec![names.to_vec()] } else { Vec::new() }
}

/// The members of an alternative, and of those inside it.
fn members_of(alternative: &Value, found: &mut Map<String, Value>) {
    if let Some(Value::Object(properties)) = alternative.get("properties") {
        found.extend(properties.clone());
    }
    for keyword in ["oneOf", "anyOf"] {
        for inner in alternative.get(keyword).and_then(Value::as_array).into_iter().flatten() {
            members_of(inner, found);
        }
    }
}

/// Whether somebody is named by an object, so that an identification must follow.
fn has_party_name(properties: &Value) -> bool {
    properties.get(rest_name(Field::Name)).is_some()
}

/// The same value under another name.
fn other_name(property: &Value, name: &str) -> Value {
    let mut property = property.clone();
    if let Some(members) = property.as_object_mut() {
        members.insert("description".to_owned(), format!("Another name of `{name}`.").into());
    }
    property
}

/// Every spelling of a boolean, and `null` for a member that may be absent.
fn widen(property: &mut Value, is_required: bool) {
    let Some(members) = property.as_object_mut() else { return };
    let is_flag = match members.get("type") {
        Some(Value::String(only)) => only == "boolean",
        Some(Value::Array(types)) => types.iter().any(|kind| kind == "boolean"),
        _ => false,
    };
    if is_flag {
        members.remove("type");
        members.insert("enum".to_owned(), json!([true, false, "S", "N"]));
    }
    if is_required {
        return;
    }
    if let Some(Value::Array(values)) = members.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    if let Some(Value::String(only)) = members.get("type").cloned() {
        members.insert("type".to_owned(), json!([only, "null"]));
    } else if let Some(reference) = members.remove("$ref") {
        members.insert("anyOf".to_owned(), json!([{ "$ref": reference }, { "type": "null" }]));
    }
}

/// The key of another invoice, which goes by other names too.
pub(super) fn invoice_key(schema: &mut Schema) {
    as_read(schema);
    spelled(schema, &KEY_SPELLINGS);
}

fn cancelled_key(schema: &mut Schema) {
    as_read(schema);
    spelled(schema, &super::cancel::KEY_SPELLINGS);
}

/// Gives members a second name; one of the two must be there if one was required.
fn spelled(schema: &mut Schema, spellings: &[(Field, &str)]) {
    let Some(object) = schema.as_object_mut() else { return };
    let required = object.remove("required");
    let is_required = |name: &str| {
        required
            .as_ref()
            .and_then(Value::as_array)
            .is_some_and(|names| names.iter().any(|known| known == name))
    };
    let mut all = Vec::new();
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        for (field, other) in spellings {
            let name = rest_name(*field);
            if let Some(property) = properties.get_mut(name) {
                widen(property, false);
                let property = other_name(property, name);
                properties.insert((*other).to_owned(), property);
            }
            if is_required(name) {
                all.push(json!({ "anyOf": any_of(&[name, other]) }));
            }
        }
    }
    object.insert("allOf".to_owned(), all.into());
}
