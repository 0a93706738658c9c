//! Values that cannot be wrong: each is checked when it is made, and needs no check after that.
//! No input or output happens here.

mod amount;
mod date;
mod environment;
mod huella;
mod id;
mod month;
mod nif;
mod rate;
mod secret;
mod text;
mod timestamp;

pub use amount::{Amount, Cents, DecimalError};
pub use date::{Date, DateError};
pub use environment::{Environment, EnvironmentError};
pub use huella::{Huella, HuellaError};
pub use id::{
    BatchId, ChainId, Clock, DeliveryId, Ids, JobId, MessageId, RecordId, RequestId, TenantId, TenantIdError,
};
pub use month::Month;
pub use nif::{Nif, NifError, NifKind};
pub use rate::Rate;
pub use secret::{Secret, SecretBytes};
pub use text::{InvoiceNumber, Text, TextError};
pub use timestamp::{GenerationTime, GenerationTimeError};

/// The textual traits of a type that has `parse` and `as_str`.
macro_rules! text_forms {
    ($name:ident, $error:ty) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $error;
            fn from_str(text: &str) -> Result<Self, $error> {
                Self::parse(text)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                Self::parse(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}
use text_forms;
