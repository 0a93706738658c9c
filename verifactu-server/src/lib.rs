//! Reference VERI*FACTU service, and a tax authority to develop and test against.
//!
//! Both are programs (`verifactu-server serve`, `sandbox`, `demo`) and both can be started from Rust, as
//! often as one likes in one process:
//!
//! ```
//! use verifactu_server::{Server, config::{Config, Flags}, sandbox::SandboxConfig};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let directory = tempfile::tempdir()?;
//! let sandbox = SandboxConfig::default().data(directory.path().join("sandbox")).start().await?;
//!
//! let (data, ca) = (directory.path().join("service"), directory.path().join("sandbox/pki/ca.pem"));
//! let flags = Flags::new([
//!     ("environment", "sandbox"),
//!     ("data-dir", &data.to_string_lossy()),
//!     ("listen", "127.0.0.1:0"),
//!     ("authority-url", &sandbox.url()),
//!     ("authority-ca", &ca.to_string_lossy()),
//! ]);
//! let (config, _log) = Config::read(&flags, &|_variable| None)?;
//! let service = Server::start(config).await?;
//! println!("http://{}/v1", service.address());
//!
//! service.stop().await;
//! sandbox.stop().await;
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! [`config`] has every setting with its default, [`Server::builder`] takes parts from its caller (a
//! clock, an authority, a ledger), and [`sandbox`] tells what the authority does and what it does not.

mod accounts;
mod api;
pub mod clock;
pub mod config;
pub mod demo;
mod http;
pub mod openapi;
pub mod presenters;
pub mod sandbox;
pub mod server;
mod webhook;

pub use accounts::SecretsError;
pub use http::{ListenError, TlsError};
pub use server::{Builder, Running, Server, StartError};
pub use webhook::SendError;
