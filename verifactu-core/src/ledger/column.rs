//! How values stand in the columns of a table: identifiers as 16 bytes, times as microseconds since 1970,
//! amounts as cents, dates as `YYYY-MM-DD`, everything else as its own text. Every backend that keeps
//! tables keeps them so. What cannot be read is an error, never a default.

use std::{borrow::Cow, error::Error};

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

use crate::{
    job::{JobKind, JobState, Standing},
    record::{RecordKind, SystemId},
    types::{
        Amount, BatchId, ChainId, Date, DeliveryId, GenerationTime, Huella, InvoiceNumber, JobId, MessageId,
        Nif, RecordId, RequestId, TenantId, Text,
    },
};

use super::{ApiKeyId, AttemptOutcome, HoldReason, SlotKind, TenantStatus, schedule::Turn};

/// One value of a row, as any store of tables knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell<'a> {
    Null,
    Integer(i64),
    Text(Cow<'a, str>),
    Bytes(&'a [u8]),
}

/// A value that a column cannot hold, or a type cannot read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("a value of another kind")]
    Kind,
    #[error("{0} is out of range")]
    Range(i128),
    #[error(transparent)]
    Content(Box<dyn Error + Send + Sync>),
}

impl Unreadable {
    fn content(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Content(error.into())
    }
}

/// A type that one column holds.
pub(super) trait Column: Sized {
    fn load(cell: &Cell<'_>) -> Result<Self, Unreadable>;
    fn store(&self) -> Result<Cell<'_>, Unreadable>;
}

/// A value as a parameter.
pub(super) struct Col<'a, T>(pub(super) &'a T);

impl Cell<'_> {
    const fn integer(&self) -> Result<i64, Unreadable> {
        match self {
            Self::Integer(number) => Ok(*number),
            _ => Err(Unreadable::Kind),
        }
    }

    fn text(&self) -> Result<&str, Unreadable> {
        match self {
            Self::Text(text) => Ok(text),
            _ => Err(Unreadable::Kind),
        }
    }

    const fn bytes(&self) -> Result<&[u8], Unreadable> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(Unreadable::Kind),
        }
    }
}

impl<T: Column> Column for Option<T> {
    fn load(cell: &Cell<'_>) -> Result<Self, Unreadable> {
        if *cell == Cell::Null { Ok(None) } else { T::load(cell).map(Some) }
    }

    fn store(&self) -> Result<Cell<'_>, Unreadable> {
        self.as_ref().map_or(Ok(Cell::Null), T::store)
    }
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Column for $type {
            fn load(cell: &Cell<'_>) -> Result<Self, Unreadable> {
                let number = cell.integer()?;
                Self::try_from(number).map_err(|_| Unreadable::Range(number.into()))
            }
            fn store(&self) -> Result<Cell<'_>, Unreadable> {
                i64::try_from(*self).map(Cell::Integer).map_err(|_| Unreadable::Range((*self).into()))
            }
        }
    )*};
}
numbers!(i64 u32 u64);

impl Column for bool {
    fn load(cell: &Cell<'_>) -> Result<Self, Unreadable> {
        Ok(cell.integer()? != 0)
    }
    fn store(&self) -> Result<Cell<'_>, Unreadable> {
        Ok(Cell::Integer(i64::from(*self)))
    }
}

impl Column for String {
    fn load(cell: &Cell<'_>) -> Result<Self, Unreadable> {
        cell.text().map(str::to_owned)
    }
    fn store(&self) -> Result<Cell<'_>, Unreadable> {
        Ok(Cell::Text(Cow::Borrowed(self)))
    }
}

impl Column for Vec<u8> {
    fn load(cell: &Cell<'_>) -> Result<Self, Unreadable> {
        cell.bytes().map(<[u8]>::to_vec)
    }
    fn store(&self) -> Result<Cell<'_>, Unreadable> {
        Ok(Cell::Bytes(self))
    }
}

impl Column for Bytes {
    fn load(cell: &Cell<'_>) -> Result<Self, Unreadable> {
        cell.bytes().map(Self::copy_from_slice)
    }
    fn store(&self) -> Result<Cell<'_>, Unreadable> {
        Ok(Cell::Bytes(self))
    }
}

impl<const LENGTH: usize> Column for [u8; LENGTH] {
    fn load(cell: &Cell<'_>) -> Result<Self, Unreadable> {
        cell.bytes()?.try_into().map_err(Unreadable::content)
    }
    fn store(&self) -> Result<Cell<'_>, Unreadable> {
        Ok(Cell::Bytes(self))
    }
}

impl Column for Timestamp {
    fn load(cell: &Cell<'_>) -> Result<Self, Unreadable> {
        Self::from_microsecond(cell.integer()?).map_err(Unreadable::content)
    }
    fn store(&self) -> Result<Cell<'_>, Unreadable> {
        Ok(Cell::Integer(self.as_microsecond()))
    }
}

impl Column for Amount {
    fn load(cell: &Cell<'_>) -> Result<Self, Unreadable> {
        let cents = cell.integer()?;
        Self::from_cents(cents).ok_or(Unreadable::Range(cents.into()))
    }
    fn store(&self) -> Result<Cell<'_>, Unreadable> {
        Ok(Cell::Integer(self.cents()))
    }
}

impl Column for Date {
    fn load(cell: &Cell<'_>) -> Result<Self, Unreadable> {
        Self::parse(cell.text()?).map_err(Unreadable::content)
    }
    fn store(&self) -> Result<Cell<'_>, Unreadable> {
        Ok(Cell::Text(Cow::Owned(self.civil().to_string())))
    }
}

impl Column for SystemId {
    fn load(cell: &Cell<'_>) -> Result<Self, Unreadable> {
        Self::parse(cell.text()?).ok_or(Unreadable::Kind)
    }
    fn store(&self) -> Result<Cell<'_>, Unreadable> {
        Ok(Cell::Text(Cow::Borrowed(self.as_str())))
    }
}

impl<const MAX: usize> Column for Text<MAX> {
    fn load(cell: &Cell<'_>) -> Result<Self, Unreadable> {
        Self::parse(cell.text()?).map_err(Unreadable::content)
    }
    fn store(&self) -> Result<Cell<'_>, Unreadable> {
        Ok(Cell::Text(Cow::Borrowed(self.as_str())))
    }
}

macro_rules! texts {
    ($($type:ty)*) => {$(
        impl Column for $type {
            fn load(cell: &Cell<'_>) -> Result<Self, Unreadable> {
                Self::parse(cell.text()?).map_err(Unreadable::content)
            }
            fn store(&self) -> Result<Cell<'_>, Unreadable> {
                Ok(Cell::Text(Cow::Borrowed(self.as_str())))
            }
        }
    )*};
}
texts!(GenerationTime Huella InvoiceNumber Nif TenantId);

macro_rules! identifiers {
    ($($type:ident)*) => {$(
        impl Column for $type {
            fn load(cell: &Cell<'_>) -> Result<Self, Unreadable> {
                <[u8; 16]>::load(cell).map(|bytes| Self(Uuid::from_bytes(bytes)))
            }
            fn store(&self) -> Result<Cell<'_>, Unreadable> {
                Ok(Cell::Bytes(self.0.as_bytes()))
            }
        }
    )*};
}
identifiers!(ApiKeyId BatchId ChainId DeliveryId JobId MessageId RecordId RequestId);

macro_rules! keywords {
    ($($type:ident { $($variant:ident = $word:literal),+ $(,)? })*) => {$(
        impl Column for $type {
            fn load(cell: &Cell<'_>) -> Result<Self, Unreadable> {
                match cell.text()? {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(Unreadable::Kind),
                }
            }
            fn store(&self) -> Result<Cell<'_>, Unreadable> {
                Ok(Cell::Text(Cow::Borrowed(match self { $(Self::$variant => $word,)+ })))
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
    fn load(cell: &Cell<'_>) -> Result<Self, Unreadable> {
        serde_json::from_str(cell.text()?).map(Self).map_err(Unreadable::content)
    }
    fn store(&self) -> Result<Cell<'_>, Unreadable> {
        let text = serde_json::to_string(&self.0).map_err(Unreadable::content)?;
        Ok(Cell::Text(Cow::Owned(text)))
    }
}
