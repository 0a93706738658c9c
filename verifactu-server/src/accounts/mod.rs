//! Accounts and their keys: who may do what.

mod key;
mod reseal;
mod secrets;

pub use secrets::SecretsError;

pub(crate) use key::KeyText;
pub(crate) use reseal::reseal;
pub(crate) use secrets::Keys;
