//! Reference VERI*FACTU service, and a tax authority to develop and test against.

mod accounts;
mod api;
pub mod clock;
pub mod config;
pub mod demo;
mod http;
pub mod presenters;
pub mod sandbox;
pub mod server;

pub use accounts::SecretsError;
pub use http::{ListenError, TlsError};
pub use server::{Builder, Running, Server, StartError};
