//! Reading the members of a JSON object into values of the model, collecting every problem.

use std::{
    cell::{Cell, RefCell},
    fmt::Display,
};

use crate::{
    types::{DecimalError, InvoiceNumber, Text, TextError},
    validation::{Field, lexical_code, number_code},
};

use super::{
    Detail,
    json::Json,
    names::{aliases, rest_name},
};

/// The most problems that are told of one body.
const MAX_PROBLEMS: usize = 256;

/// The problems found so far in one body.
#[derive(Default)]
pub(super) struct Problems(RefCell<Vec<Detail>>);

impl Problems {
    pub(super) fn add(&self, detail: Detail) {
        let mut details = self.0.borrow_mut();
        if details.len() < MAX_PROBLEMS {
            details.push(detail);
        }
    }

    pub(super) fn into_details(self) -> Vec<Detail> {
        self.0.into_inner()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }
}

/// An object of the body: its members, each to be taken once, and its place.
pub(super) struct Object<'a> {
    members: &'a [(Box<str>, Json)],
    taken: Vec<Cell<bool>>,
    path: String,
    problems: &'a Problems,
}

/// A member that is there.
#[derive(Clone, Copy)]
pub(super) struct Member<'a> {
    field: Field,
    key: &'a str,
    pub(super) value: &'a Json,
}

impl<'a> Object<'a> {
    /// The object that a value is; a problem is noted when it is something else.
    pub(super) fn open(value: &'a Json, path: String, problems: &'a Problems) -> Option<Self> {
        match value {
            Json::Object(members) => {
                Some(Self { members, taken: vec![Cell::new(false); members.len()], path, problems })
            }
            other => {
                let message = format!("must be an object, not {}", other.kind());
                problems.add(Detail::new(path, None, message));
                None
            }
        }
    }

    /// Whether the object says nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.members.iter().all(|(_, value)| *value == Json::Null)
    }

    /// A member by any of the field's names; `null` counts as absent. Giving a field under two names
    /// is a problem.
    pub(super) fn take(&self, field: Field) -> Option<Member<'a>> {
        self.take_as(field, aliases(field))
    }

    /// As [`take`](Self::take), with the further names that hold at this place only.
    pub(super) fn take_as(&self, field: Field, others: &[&str]) -> Option<Member<'a>> {
        let mut found: Option<Member<'a>> = None;
        for ((key, value), taken) in self.members.iter().zip(&self.taken) {
            if **key != *rest_name(field) && !others.contains(&&**key) {
                continue;
            }
            taken.set(true);
            if *value == Json::Null {
                continue;
            }
            if let Some(first) = found {
                self.problem(field, None, format!("given twice, as {} and as {key}", first.key));
            }
            found = found.or(Some(Member { field, key, value }));
        }
        found
    }

    /// As [`take`](Self::take), for a member that must be there.
    pub(super) fn need(&self, field: Field) -> Option<Member<'a>> {
        self.need_as(field, aliases(field))
    }

    /// As [`take_as`](Self::take_as), for a member that must be there.
    pub(super) fn need_as(&self, field: Field, others: &[&str]) -> Option<Member<'a>> {
        let member = self.take_as(field, others);
        if member.is_none() {
            self.problem(field, None, "is required");
        }
        member
    }

    /// Notes a problem with a field of this object.
    pub(super) fn problem(&self, field: Field, code: Option<u16>, message: impl Display) {
        self.problem_at(rest_name(field), code, message);
    }

    /// Notes a problem with a member of this object.
    pub(super) fn problem_at(&self, key: &str, code: Option<u16>, message: impl Display) {
        self.problems.add(Detail::new(self.place(key), code, message));
    }

    /// The path of a member.
    fn place(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// A text, made into a value by `parse`.
    pub(super) fn text<T, E: Display>(
        &self,
        member: Option<Member<'a>>,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let member = member?;
        let text = self.string(member)?;
        parse(text).map_err(|error| self.problem_at(member.key, lexical_code(member.field), error)).ok()
    }

    fn string(&self, member: Member<'a>) -> Option<&'a str> {
        let text = member.value.as_str();
        if text.is_none() {
            let message = format!("must be a string, not {}", member.value.kind());
            self.problem_at(member.key, lexical_code(member.field), message);
        }
        text
    }

    /// A member of a closed list.
    pub(super) fn code<T: Copy>(
        &self,
        member: Option<Member<'a>>,
        all: &[T],
        code: fn(T) -> &'static str,
    ) -> Option<T> {
        self.text(member, |text| {
            all.iter().copied().find(|member| code(*member) == text).ok_or_else(|| {
                let known: Vec<_> = all.iter().copied().map(code).collect();
                format!("must be one of {}", known.join(", "))
            })
        })
    }

    /// An optional text of at most `MAX` characters; an empty one says nothing.
    pub(super) fn bounded<const MAX: usize>(&self, field: Field) -> Option<Text<MAX>> {
        let read = |text: &str| match Text::parse(text) {
            Err(TextError::Empty) => Ok(None),
            other => other.map(Some),
        };
        self.text(self.take(field), read).flatten()
    }

    /// An invoice number; its forbidden characters have codes of their own.
    pub(super) fn number(&self, member: Option<Member<'a>>) -> Option<InvoiceNumber> {
        let member = member?;
        let text = self.string(member)?;
        InvoiceNumber::parse(text)
            .map_err(|error| self.problem_at(member.key, Some(number_code(error)), error))
            .ok()
    }

    /// A decimal, as a number or as a string.
    pub(super) fn decimal<T>(
        &self,
        member: Option<Member<'a>>,
        parse: fn(&str) -> Result<T, DecimalError>,
    ) -> Option<T> {
        let member = member?;
        let (Json::Number(text) | Json::String(text)) = member.value else {
            self.problem_at(member.key, None, format!("must be a decimal, not {}", member.value.kind()));
            return None;
        };
        parse(text).map_err(|error| self.problem_at(member.key, None, error)).ok()
    }

    /// A boolean, as such or as `S` or `N`.
    pub(super) fn flag(&self, field: Field) -> Option<bool> {
        let member = self.take(field)?;
        let value = flag(member.value);
        if value.is_none() {
            self.problem_at(member.key, lexical_code(field), "must be true, false, \"S\" or \"N\"");
        }
        value
    }

    /// An object inside this one.
    pub(super) fn object(&self, field: Field) -> Option<Self> {
        self.open_member(self.take(field)?)
    }

    /// As [`object`](Self::object), for a member that is spelled here only.
    pub(super) fn object_as(&self, key: &str) -> Option<Self> {
        self.open_member(self.stand_in(key, Field::ForeignId)?)
    }

    fn open_member(&self, member: Member<'a>) -> Option<Self> {
        Self::open(member.value, self.place(member.key), self.problems)
    }

    /// A member that is spelled here only, and says what another field says elsewhere.
    pub(super) fn stand_in(&self, name: &str, field: Field) -> Option<Member<'a>> {
        let index = self.members.iter().position(|(key, _)| **key == *name)?;
        self.taken[index].set(true);
        let (key, value) = &self.members[index];
        (*value != Json::Null).then_some(Member { field, key, value })
    }

    /// The items of a list of at most `max`, each read by `read`; an item that cannot be read leaves its
    /// place empty.
    pub(super) fn list<T>(
        &self,
        member: Option<Member<'a>>,
        max: usize,
        read: impl Fn(&Self) -> Option<T>,
    ) -> Vec<Option<T>> {
        let Some(member) = member else { return Vec::new() };
        let Json::Array(items) = member.value else {
            let message = format!("must be an array, not {}", member.value.kind());
            self.problem_at(member.key, None, message);
            return Vec::new();
        };
        if items.len() > max {
            // The schema bounds the count, so this is what the authority would answer.
            let message = format!("at most {max} are allowed, there are {}", items.len());
            self.problem_at(member.key, Some(4102), message);
            return Vec::new();
        }
        let place = self.place(member.key);
        let read_item = |(index, item)| {
            let object = Self::open(item, format!("{place}[{index}]"), self.problems)?;
            let value = read(&object);
            object.finish();
            value
        };
        items.iter().enumerate().map(read_item).collect()
    }

    /// Notes every member that nobody has taken.
    pub(super) fn finish(self) {
        for ((key, _), taken) in self.members.iter().zip(&self.taken) {
            if !taken.get() {
                self.problem_at(key, None, "unknown field");
            }
        }
    }
}

/// A boolean, as such or as `S` or `N`.
pub(super) fn flag(value: &Json) -> Option<bool> {
    match value {
        Json::Bool(value) => Some(*value),
        Json::String(text) if **text == *"S" => Some(true),
        Json::String(text) if **text == *"N" => Some(false),
        _ => None,
    }
}
