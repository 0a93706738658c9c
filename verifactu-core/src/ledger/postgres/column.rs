//! Columns in PostgreSQL's terms: numbers as `bigint`, flags as `boolean`, identifiers as `uuid`.

use std::{borrow::Cow, error::Error, fmt};

use bytes::{BufMut as _, BytesMut};
use tokio_postgres::{
    Row,
    types::{FromSql, IsNull, ToSql, Type, to_sql_checked},
};

use crate::ledger::{
    column::{Cell, Column, Unreadable},
    table,
};

pub(super) use crate::ledger::column::{Col, Json};

/// The driver wants to print parameters. They may be secrets.
impl<T> fmt::Debug for Col<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl<T: Column> ToSql for Col<'_, T> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0.store()? {
            Cell::Null => return Ok(IsNull::Yes),
            Cell::Integer(number) if *kind == Type::INT8 => out.put_i64(number),
            Cell::Integer(number) if *kind == Type::BOOL => out.put_u8(u8::from(number != 0)),
            // PostgreSQL has no room for this character; its own message would name no reason.
            Cell::Text(text) if text.contains('\0') => return Err("a text with the character NUL".into()),
            Cell::Text(text) if *kind == Type::TEXT => out.put_slice(text.as_bytes()),
            Cell::Bytes(bytes) if matches!(*kind, Type::BYTEA | Type::UUID) => out.put_slice(bytes),
            _ => return Err(Box::new(Unreadable::Kind)),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A value of each item, for a parameter that is an array.
pub(super) fn each<'a, I, T>(items: &'a [I], value: impl Fn(&'a I) -> &'a T) -> Vec<Col<'a, T>> {
    items.iter().map(|item| Col(value(item))).collect()
}

struct Stored<'a>(Cell<'a>);

impl<'a> FromSql<'a> for Stored<'a> {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(match *kind {
            Type::INT8 => Cell::Integer(i64::from_be_bytes(raw.try_into()?)),
            Type::BOOL => Cell::Integer(i64::from(raw != [0])),
            Type::TEXT => Cell::Text(Cow::Borrowed(std::str::from_utf8(raw)?)),
            Type::BYTEA | Type::UUID => Cell::Bytes(raw),
            _ => return Err(Box::new(Unreadable::Kind)),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(Cell::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Reads the columns of a row from left to right.
pub(super) struct Cells<'r> {
    row: &'r Row,
    at: usize,
}

impl<'r> Cells<'r> {
    pub(super) const fn of(row: &'r Row) -> Self {
        Self { row, at: 0 }
    }

    pub(super) fn next<T: Column>(&mut self) -> Result<T, Unreadable> {
        let Stored(cell) = self.row.try_get(self.at).map_err(|error| Unreadable::Content(Box::new(error)))?;
        self.at += 1;
        T::load(&cell)
    }
}

impl table::Cells for Cells<'_> {
    type Error = Unreadable;

    fn next<T: Column>(&mut self) -> Result<T, Self::Error> {
        self.next()
    }
}
