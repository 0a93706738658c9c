//! Accounts and their keys: who may do what, and how often.

mod key;
mod rates;
mod reseal;
mod secrets;
mod strangers;

pub use secrets::SecretsError;

pub(crate) use key::KeyText;
pub(crate) use rates::{Standing, Throttle, whole_seconds};
pub(crate) use reseal::{Found, reseal};
pub(crate) use secrets::Keys;
pub(crate) use strangers::{Origin, Strangers};
