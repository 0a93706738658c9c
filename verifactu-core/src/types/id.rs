//! Identifiers of our own resources, and the seams through which time and new identifiers come in.

use std::{fmt, sync::Arc};

use jiff::Timestamp;
use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// Reads the hyphenated form.
            ///
            /// # Errors
            /// The text is not a UUID.
            pub fn parse(text: &str) -> Result<Self, uuid::Error> {
                Uuid::try_parse(text).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

uuid_id!(
    /// A job: one accepted request on its way to the authority.
    JobId
);
uuid_id!(
    /// A record on a chain.
    RecordId
);
uuid_id!(
    /// A chain of records.
    ChainId
);
uuid_id!(
    /// A message to the authority.
    MessageId
);
uuid_id!(
    /// Requests that were sent together.
    BatchId
);
uuid_id!(
    /// An event on its way to a webhook.
    DeliveryId
);
uuid_id!(
    /// One request to the service, for support and tracing.
    RequestId
);

/// An account: 1 to 64 characters out of `A-Z a-z 0-9 . _ -`, starting with a letter or digit.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TenantId(Arc<str>);

/// The text is not an account identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("1 to 64 characters out of A-Z a-z 0-9 . _ -, starting with a letter or digit")]
pub struct TenantIdError;

impl TenantId {
    /// Checks the characters.
    ///
    /// # Errors
    /// [`TenantIdError`].
    pub fn parse(text: &str) -> Result<Self, TenantIdError> {
        let fits = text.len() <= 64
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        if fits { Ok(Self(text.into())) } else { Err(TenantIdError) }
    }

    /// The characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

super::text_forms!(TenantId, TenantIdError);

/// Where the time comes from. The system's clock in production, a manual one in tests.
pub trait Clock: Send + Sync {
    /// The present instant.
    fn now(&self) -> Timestamp;
}

/// Where new identifiers come from.
pub trait Ids: Send + Sync {
    /// An identifier never given before, increasing with time so that indexes stay compact.
    fn next(&self) -> Uuid;
}
