//! How values stand in columns: identifiers as 16 bytes, times as microseconds since 1970, amounts as
//! cents, dates as `YYYY-MM-DD`, everything else as its own text. What cannot be read is an error,
//! never a default.

use bytes::Bytes;
use jiff::Timestamp;
use rusqlite::{
    Row, ToSql,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, Value, ValueRef},
};
use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

use crate::{
    job::{JobKind, JobState, Standing},
    ledger::{ApiKeyId, AttemptOutcome, HoldReason, SlotKind, TenantStatus, schedule::Turn},
    record::{RecordKind, SystemId},
    types::{
        Amount, BatchId, ChainId, Date, DeliveryId, GenerationTime, Huella, InvoiceNumber, JobId, MessageId,
        Nif, RecordId, RequestId, TenantId, Text,
    },
};

/// A type that one column holds.
pub(super) trait Column: Sized {
    fn load(value: ValueRef<'_>) -> FromSqlResult<Self>;
    fn store(&self) -> rusqlite::Result<ToSqlOutput<'_>>;
}

/// A value as a parameter.
pub(super) struct Col<'a, T>(pub(super) &'a T);

impl<T: Column> ToSql for Col<'_, T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.0.store()
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
                T::load(value).map(Self)
            }
        }
        let Loaded(value) = self.row.get(self.at)?;
        self.at += 1;
        Ok(value)
    }
}

impl<T: Column> Column for Option<T> {
    fn load(value: ValueRef<'_>) -> FromSqlResult<Self> {
        if value == ValueRef::Null { Ok(None) } else { T::load(value).map(Some) }
    }

    fn store(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.as_ref().map_or(Ok(ToSqlOutput::Owned(Value::Null)), T::store)
    }
}

/// Types that SQLite knows by itself.
macro_rules! plain {
    ($($type:ty)*) => {$(
        impl Column for $type {
            fn load(value: ValueRef<'_>) -> FromSqlResult<Self> {
                Self::column_result(value)
            }
            fn store(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                self.to_sql()
            }
        }
    )*};
}
plain!(bool u32 i64 String Vec<u8> [u8; 32]);

impl Column for u64 {
    fn load(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = value.as_i64()?;
        Self::try_from(number).map_err(|_| FromSqlError::OutOfRange(number))
    }
    fn store(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let number =
            i64::try_from(*self).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        Ok(ToSqlOutput::from(number))
    }
}

impl Column for Bytes {
    fn load(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(Self::copy_from_slice(value.as_blob()?))
    }
    fn store(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(self)))
    }
}

impl Column for Timestamp {
    fn load(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::from_microsecond(value.as_i64()?).map_err(FromSqlError::other)
    }
    fn store(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.as_microsecond()))
    }
}

impl Column for Amount {
    fn load(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let cents = value.as_i64()?;
        Self::from_cents(cents).ok_or(FromSqlError::OutOfRange(cents))
    }
    fn store(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.cents()))
    }
}

impl Column for Date {
    fn load(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::parse(value.as_str()?).map_err(FromSqlError::other)
    }
    fn store(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.civil().to_string()))
    }
}

impl Column for SystemId {
    fn load(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::parse(value.as_str()?).ok_or(FromSqlError::InvalidType)
    }
    fn store(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.as_str()))
    }
}

impl<const MAX: usize> Column for Text<MAX> {
    fn load(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::parse(value.as_str()?).map_err(FromSqlError::other)
    }
    fn store(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.as_str()))
    }
}

macro_rules! texts {
    ($($type:ty)*) => {$(
        impl Column for $type {
            fn load(value: ValueRef<'_>) -> FromSqlResult<Self> {
                Self::parse(value.as_str()?).map_err(FromSqlError::other)
            }
            fn store(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::from(self.as_str()))
            }
        }
    )*};
}
texts!(GenerationTime Huella InvoiceNumber Nif TenantId);

macro_rules! identifiers {
    ($($type:ident)*) => {$(
        impl Column for $type {
            fn load(value: ValueRef<'_>) -> FromSqlResult<Self> {
                <[u8; 16]>::column_result(value).map(|bytes| Self(Uuid::from_bytes(bytes)))
            }
            fn store(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::from(self.0.as_bytes().as_slice()))
            }
        }
    )*};
}
identifiers!(ApiKeyId BatchId ChainId DeliveryId JobId MessageId RecordId RequestId);

macro_rules! keywords {
    ($($type:ident { $($variant:ident = $word:literal),+ $(,)? })*) => {$(
        impl Column for $type {
            fn load(value: ValueRef<'_>) -> FromSqlResult<Self> {
                match value.as_str()? {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(FromSqlError::InvalidType),
                }
            }
            fn store(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::from(match self { $(Self::$variant => $word,)+ }))
            }
        }
    )*};
}
keywords! {
    JobKind { Send = "send", Cancel = "cancel" }
    JobState {
        Pending = "pending", Processing = "processing", Succeeded = "succeeded", Failed = "failed",
        Dead = "dead",
    }
    Standing {
        Waiting = "waiting", InDoubt = "in_doubt", Accepted = "accepted",
        AcceptedWithErrors = "accepted_with_errors", Rejected = "rejected",
    }
    RecordKind { Invoice = "invoice", Cancellation = "cancellation" }
    SlotKind { First = "first", Retry = "retry" }
    HoldReason { Certificate = "certificate", Operator = "operator", Suspended = "suspended" }
    AttemptOutcome {
        Accepted = "accepted", Rejected = "rejected", Error = "error", InDoubt = "in_doubt",
        Unreachable = "unreachable",
    }
    TenantStatus { Active = "active", Suspended = "suspended", SuspendedByPartner = "suspended_by_partner" }
    Turn { First = "first", Barrier = "barrier", Again = "again" }
}

/// A composite value as JSON.
pub(super) struct Json<T>(pub(super) T);

impl<T: Serialize + DeserializeOwned> Column for Json<T> {
    fn load(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_str(value.as_str()?).map(Self).map_err(FromSqlError::other)
    }
    fn store(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let text = serde_json::to_string(&self.0)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        Ok(ToSqlOutput::from(text))
    }
}
