//! Accounts and their keys: who may do what.

mod key;
mod secrets;

pub use key::NoRandom;
pub use secrets::SecretsError;

pub(crate) use key::{KeyText, Pepper};
pub(crate) use secrets::Keys;
