//! Columns in SQLite's terms.

use std::borrow::Cow;

use rusqlite::{
    Row, ToSql,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, Value, ValueRef},
};

use crate::ledger::{
    column::{Cell, Column},
    table,
};

pub(super) use crate::ledger::column::{Col, Json};

impl<T: Column> ToSql for Col<'_, T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let cell =
            self.0.store().map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        Ok(match cell {
            Cell::Null => ToSqlOutput::Owned(Value::Null),
            Cell::Integer(number) => ToSqlOutput::Owned(Value::Integer(number)),
            Cell::Text(Cow::Borrowed(text)) => ToSqlOutput::from(text),
            Cell::Text(Cow::Owned(text)) => ToSqlOutput::from(text),
            Cell::Bytes(bytes) => ToSqlOutput::from(bytes),
        })
    }
}

/// Reads the columns of a row from left to right.
pub(super) struct Cells<'r> {
    row: &'r Row<'r>,
    at: usize,
}

impl<'r> Cells<'r> {
    pub(super) const fn of(row: &'r Row<'r>) -> Self {
        Self { row, at: 0 }
    }

    pub(super) fn next<T: Column>(&mut self) -> rusqlite::Result<T> {
        struct Loaded<T>(T);
        impl<T: Column> FromSql for Loaded<T> {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                let cell = match value {
                    ValueRef::Null => Cell::Null,
                    ValueRef::Integer(number) => Cell::Integer(number),
                    ValueRef::Real(_) => return Err(FromSqlError::InvalidType),
                    ValueRef::Text(_) => Cell::Text(Cow::Borrowed(value.as_str()?)),
                    ValueRef::Blob(bytes) => Cell::Bytes(bytes),
                };
                T::load(&cell).map(Self).map_err(FromSqlError::other)
            }
        }
        let Loaded(value) = self.row.get(self.at)?;
        self.at += 1;
        Ok(value)
    }
}

impl table::Cells for Cells<'_> {
    type Error = rusqlite::Error;

    fn next<T: Column>(&mut self) -> Result<T, Self::Error> {
        self.next()
    }
}
