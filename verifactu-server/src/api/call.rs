//! A request as the endpoints see it: whole, bounded, and with its parts easy to read.

use bytes::Bytes;
use http::{HeaderMap, header::CONTENT_TYPE};
use tokio::sync::oneshot;
use verifactu_core::{
    api::{Detail, Json, rest_path},
    types::RequestId,
    validation::Finding,
};

use crate::accounts::Origin;

use super::error::Fault;

/// A request.
pub(crate) struct Call {
    pub(super) request: RequestId,
    /// Where it comes from.
    pub(super) origin: Origin,
    pub(super) headers: HeaderMap,
    /// Values of the path's variables, in their order.
    pub(super) variables: Vec<String>,
    pub(super) path: String,
    pub(super) query: String,
    pub(super) body: Bytes,
    /// Nothing ever comes; it ends when the caller has gone away.
    pub(super) left: oneshot::Receiver<()>,
}

impl Call {
    /// The first variable of the path.
    pub(super) fn variable(&self) -> &str {
        self.variables.first().map_or("", String::as_str)
    }

    /// The last variable of the path.
    pub(super) fn last_variable(&self) -> &str {
        self.variables.last().map_or("", String::as_str)
    }

    /// The media type of the body, in lower case and without its parameters.
    pub(super) fn media_type(&self) -> String {
        let value = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// The body as JSON.
    pub(super) fn json(&self) -> Result<Json, Fault> {
        const JSON: &str = "application/json";
        if self.media_type() != JSON {
            return Err(Fault::MediaType(JSON));
        }
        Json::parse(&self.body).map_err(Fault::Json)
    }
}

/// The members of a JSON object, each to be taken once; what is wrong with them is collected.
pub(super) struct Members<'a> {
    left: Vec<(&'a str, &'a Json)>,
    details: Vec<Detail>,
}

impl<'a> Members<'a> {
    pub(super) fn of(body: &'a Json) -> Result<Self, Fault> {
        match body {
            Json::Object(members) => Ok(Self {
                left: members.iter().map(|(key, value)| (&**key, value)).collect(),
                details: Vec::new(),
            }),
            other => Err(Fault::field("", format!("must be an object, not {}", other.kind()))),
        }
    }

    /// A text that has to be there.
    pub(super) fn text<T, E: std::fmt::Display>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let value = self.need(key)?;
        self.parsed(key, value, parse)
    }

    /// A text that may be absent or null.
    pub(super) fn optional<T, E: std::fmt::Display>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let value = self.take(key)?;
        self.parsed(key, value, parse)
    }

    /// A text that may be absent, which is `None`, or null, which is `Some(None)`.
    pub(super) fn nullable<T, E: std::fmt::Display>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<Option<T>> {
        let at = self.left.iter().position(|(known, _)| *known == key)?;
        let (_, value) = self.left.swap_remove(at);
        if *value == Json::Null {
            return Some(None);
        }
        self.parsed(key, value, parse).map(Some)
    }

    /// An object that may be absent, which is `None`, or null, which is `Some(None)`. What is wrong inside
    /// is told with the name of the object before it.
    pub(super) fn inner<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Members<'a>) -> Option<T>,
    ) -> Option<Option<T>> {
        let at = self.left.iter().position(|(known, _)| *known == key)?;
        let (_, value) = self.left.swap_remove(at);
        if *value == Json::Null {
            return Some(None);
        }
        self.inside(key, value, read).map(Some)
    }

    /// A list of objects that has to be there, with 1 to `most` items. Those that could not be read are
    /// left out, and told.
    pub(super) fn objects<T>(
        &mut self,
        key: &str,
        most: usize,
        read: impl Fn(&mut Members<'a>) -> Option<T>,
    ) -> Vec<T> {
        let items = self.array(key, most).iter().enumerate();
        items.filter_map(|(index, item)| self.inside(&format!("{key}[{index}]"), item, &read)).collect()
    }

    /// Reads an object. What is wrong inside is told with the name of the object before it.
    fn inside<T>(
        &mut self,
        field: &str,
        value: &'a Json,
        read: impl FnOnce(&mut Members<'a>) -> Option<T>,
    ) -> Option<T> {
        let Json::Object(members) = value else {
            self.problem(field, format!("must be an object, not {}", value.kind()));
            return None;
        };
        let left = members.iter().map(|(key, value)| (&**key, value)).collect();
        let mut inner = Members { left, details: Vec::new() };
        let found = read(&mut inner);
        if let Err(Fault::Fields(details)) = inner.finish() {
            self.details.extend(
                details
                    .into_iter()
                    .map(|detail| Detail { field: format!("{field}.{}", detail.field), ..detail }),
            );
        }
        found
    }

    /// Whether a member is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.left.iter().any(|(known, value)| *known == key && **value != Json::Null)
    }

    /// A boolean, if it is given.
    pub(super) fn switch(&mut self, key: &str) -> Option<bool> {
        match self.take(key)? {
            Json::Bool(set) => Some(*set),
            other => {
                self.problem(key, format!("must be a boolean, not {}", other.kind()));
                None
            }
        }
    }

    /// A boolean that may be absent.
    pub(super) fn flag(&mut self, key: &str) -> bool {
        self.switch(key).unwrap_or(false)
    }

    /// A list of texts that has to be there and is not empty.
    pub(super) fn list<T>(&mut self, key: &str, parse: impl Fn(&str) -> Option<T>, expected: &str) -> Vec<T> {
        let Some(value) = self.need(key) else { return Vec::new() };
        let Json::Array(items) = value else {
            self.problem(key, format!("must be an array, not {}", value.kind()));
            return Vec::new();
        };
        if items.is_empty() {
            self.problem(key, "must not be empty");
        }
        let mut list = Vec::new();
        for (index, item) in items.iter().enumerate() {
            match item.as_str().and_then(&parse) {
                Some(item) => list.push(item),
                None => self.problem(&format!("{key}[{index}]"), expected),
            }
        }
        list
    }

    /// A list that has to be there, with 1 to `most` items.
    pub(super) fn array(&mut self, key: &str, most: usize) -> &'a [Json] {
        match self.need(key) {
            None => &[],
            Some(Json::Array(items)) if (1..=most).contains(&items.len()) => items,
            Some(Json::Array(_)) => {
                self.problem(key, format!("must have 1 to {most} items"));
                &[]
            }
            Some(other) => {
                self.problem(key, format!("must be an array, not {}", other.kind()));
                &[]
            }
        }
    }

    /// An object that has to be there.
    pub(super) fn object(&mut self, key: &str) -> Option<&'a Json> {
        let value = self.need(key)?;
        if matches!(value, Json::Object(_)) {
            return Some(value);
        }
        self.problem(key, format!("must be an object, not {}", value.kind()));
        None
    }

    /// Notes that a member is missing, unless it was there and is wrong.
    pub(super) fn missing(&mut self, key: &str) {
        if !self.details.iter().any(|detail| detail.field == key) {
            self.problem(key, "is required");
        }
    }

    /// Notes that something is wrong.
    pub(super) fn problem(&mut self, field: &str, message: impl Into<String>) {
        self.details.push(Detail { field: field.to_owned(), code: None, message: message.into() });
    }

    /// Notes the rules that are broken.
    pub(super) fn broken(&mut self, findings: Vec<Finding>) {
        let detail = |Finding { rule, path, message }| Detail::new(rest_path(&path), rule.code, message);
        self.details.extend(findings.into_iter().map(detail));
    }

    /// All that is wrong, with the members that nobody took.
    pub(super) fn finish(mut self) -> Result<(), Fault> {
        for (key, _) in std::mem::take(&mut self.left) {
            self.problem(key, "unknown field");
        }
        if self.details.is_empty() { Ok(()) } else { Err(Fault::Fields(self.details)) }
    }

    fn need(&mut self, key: &str) -> Option<&'a Json> {
        let value = self.take(key);
        if value.is_none() {
            self.problem(key, "is required");
        }
        value
    }

    fn take(&mut self, key: &str) -> Option<&'a Json> {
        let at = self.left.iter().position(|(known, _)| *known == key)?;
        let (_, value) = self.left.swap_remove(at);
        (*value != Json::Null).then_some(value)
    }

    fn parsed<T, E: std::fmt::Display>(
        &mut self,
        key: &str,
        value: &Json,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let Some(text) = value.as_str() else {
            self.problem(key, format!("must be a string, not {}", value.kind()));
            return None;
        };
        parse(text).map_err(|error| self.problem(key, error.to_string())).ok()
    }
}
