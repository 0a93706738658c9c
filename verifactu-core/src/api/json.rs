//! Reading JSON strictly: bounded, without duplicate keys, and with numbers kept digit by digit.
//!
//! An amount must survive exactly, so a number is never a float here; and of a key given twice it
//! cannot be known which one was meant.

use std::{cell::Cell, cell::RefCell, fmt};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use zeroize::Zeroize;

/// The deepest nesting of arrays and objects.
pub const MAX_DEPTH: usize = 32;
/// The most members of one object, well above the largest of the contract.
pub const MAX_MEMBERS: usize = 256;
/// The most values in one document.
pub const MAX_VALUES: usize = 1_000_000;

/// The key under which `serde_json` hands over a number's text.
const NUMBER_TOKEN: &str = "$serde_json::private::Number";

/// A JSON value. Members keep their order, numbers every digit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number with the digits it was written with, such as `126.20`; an exponent is spelled `1e+2`.
    Number(Box<str>),
    /// A string.
    String(Box<str>),
    /// An array.
    Array(Vec<Json>),
    /// An object; no key occurs twice.
    Object(Vec<(Box<str>, Json)>),
}

/// Overwrites every text, for a document that holds a secret.
impl Zeroize for Json {
    fn zeroize(&mut self) {
        match self {
            Self::Null | Self::Bool(_) => {}
            Self::Number(text) | Self::String(text) => text.zeroize(),
            Self::Array(items) => items.iter_mut().for_each(Zeroize::zeroize),
            Self::Object(members) => members.iter_mut().for_each(|(_, value)| value.zeroize()),
        }
    }
}

/// Why a body could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at line {line}, column {column}")]
pub struct JsonError {
    /// What is wrong.
    pub problem: JsonProblem,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
}

/// What is wrong with a body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonProblem {
    /// Not JSON.
    #[error("invalid JSON: {0}")]
    Syntax(String),
    /// A key occurs twice in one object.
    #[error("duplicate key {0}")]
    DuplicateKey(String),
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels")]
    Depth,
    /// More members in an object than [`MAX_MEMBERS`].
    #[error("more than {MAX_MEMBERS} members in one object")]
    Members,
    /// More values than [`MAX_VALUES`].
    #[error("more than {MAX_VALUES} values")]
    Values,
}

impl Json {
    /// Reads one document. The caller bounds its length.
    ///
    /// ```
    /// use verifactu_core::api::Json;
    /// let body = Json::parse(br#"{"total": 126.20}"#)?;
    /// assert_eq!(body.member("total"), Some(&Json::Number("126.20".into())));
    /// assert!(Json::parse(br#"{"a":1,"a":2}"#).is_err());
    /// # Ok::<(), verifactu_core::api::JsonError>(())
    /// ```
    ///
    /// # Errors
    /// [`JsonError`].
    pub fn parse(text: &[u8]) -> Result<Self, JsonError> {
        let reading = Reading::default();
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        let value = Value { reading: &reading, depth: 0 }.deserialize(&mut deserializer);
        value.and_then(|value| deserializer.end().map(|()| value)).map_err(|error| JsonError {
            line: error.line(),
            column: error.column(),
            problem: reading.problem.take().unwrap_or_else(|| JsonProblem::Syntax(without_place(&error))),
        })
    }

    /// The member of an object with this key.
    #[must_use]
    pub fn member(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.iter().find(|(k, _)| **k == *key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The characters of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// What kind of value it is, for messages.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

/// The message without the place, which [`JsonError`] tells by itself.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

/// What the whole reading of a document shares.
#[derive(Default)]
struct Reading {
    path: RefCell<String>,
    values: Cell<usize>,
    problem: RefCell<Option<JsonProblem>>,
}

impl Reading {
    /// Notes the problem; the error that carries it out of the deserializer adds the place.
    fn fail<E: serde::de::Error>(&self, problem: JsonProblem) -> E {
        self.problem.replace(Some(problem));
        E::custom("refused")
    }
}

/// Reads one value.
#[derive(Clone, Copy)]
struct Value<'r> {
    reading: &'r Reading,
    depth: usize,
}

impl Value<'_> {
    /// Reads a value one level further in, with its step at the end of the path meanwhile.
    fn inside<T>(self, step: fmt::Arguments<'_>, read: impl FnOnce(Self) -> T) -> T {
        let length = self.reading.path.borrow().len();
        let _ = fmt::Write::write_fmt(&mut *self.reading.path.borrow_mut(), step);
        let value = read(Self { depth: self.depth + 1, ..self });
        self.reading.path.borrow_mut().truncate(length);
        value
    }

    fn enter<E: serde::de::Error>(self) -> Result<(), E> {
        if self.depth >= MAX_DEPTH { Err(self.reading.fail(JsonProblem::Depth)) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        self.reading.values.set(self.reading.values.get() + 1);
        if self.reading.values.get() > MAX_VALUES {
            return Err(self.reading.fail(JsonProblem::Values));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    // An integer that fits a machine word has one spelling only, so nothing is lost here; every other
    // number arrives as its text.
    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string().into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string().into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::String(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        self.enter()?;
        let mut array = Vec::new();
        while let Some(item) =
            self.inside(format_args!("[{}]", array.len()), |seed| items.next_element_seed(seed))?
        {
            array.push(item);
        }
        Ok(Json::Array(array))
    }

    /// Objects; and numbers other than small integers, which arrive as an object with one secret key.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut members: Vec<(Box<str>, Json)> = Vec::new();
        while let Some(key) = map.next_key::<Box<str>>()? {
            if *key == *NUMBER_TOKEN && members.is_empty() {
                return map.next_value_seed(NumberText).map(Json::Number);
            }
            self.enter()?;
            if members.len() >= MAX_MEMBERS {
                return Err(self.reading.fail(JsonProblem::Members));
            }
            let path = self.reading.path.borrow();
            let dot = if path.is_empty() { "" } else { "." };
            if members.iter().any(|(known, _)| *known == key) {
                return Err(self.reading.fail(JsonProblem::DuplicateKey(format!("{path}{dot}{key}"))));
            }
            drop(path);
            let value = self.inside(format_args!("{dot}{key}"), |seed| map.next_value_seed(seed))?;
            members.push((key, value));
        }
        self.enter()?;
        Ok(Json::Object(members))
    }
}

/// The text of a number. `serde_json` hands its own over as an owned string; a string of the body
/// arrives borrowed, so a body that spells the secret key itself is refused.
struct NumberText;

impl<'de> DeserializeSeed<'de> for NumberText {
    type Value = Box<str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Box<str>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for NumberText {
    type Value = Box<str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_string<E>(self, text: String) -> Result<Box<str>, E> {
        Ok(text.into())
    }

    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<Box<str>, E> {
        Err(E::custom("reserved key"))
    }
}
