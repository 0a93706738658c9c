//! Accounts and their keys: who may do what.

mod key;
mod secrets;

pub use secrets::SecretsError;

pub(crate) use key::KeyText;
pub(crate) use secrets::Keys;
