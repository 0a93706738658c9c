//! A tax authority to develop and test against, offline.
//!
//! It speaks what AEAT's services speak: SOAP over TLS with client certificates,
//! `RegFactuSistemaFacturacion`, voluntarily or for a requirement, `ConsultaFactuSistemaFacturacion` and
//! `VNifV2`, the codes and the state machine of the published validations; and it has the page behind the
//! QR. It is independent of the client it judges: its
//! schema tables, its huella and its checks are its own. Any client in any language may be pointed
//! at it; [`Pki`] makes the certificates.
//!
//! It differs from AEAT knowingly in this: seals are served on the same port as other certificates;
//! the [`Census`] is one of its settings; VAT numbers of the Union and agreements are not looked up;
//! and it does what a [`Fault`] orders.
//!
//! ```
//! use verifactu_server::sandbox::{Holder, SandboxConfig};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let sandbox = SandboxConfig::default().start().await?;
//! let identity = sandbox.pki().issue(&Holder::person("89890001K", "PRUEBAS UNO").with_ec_key())?;
//! println!("{} trusts {}", sandbox.endpoint(), identity.certificate_pem());
//! sandbox.stop().await;
//! # Ok(())
//! # })
//! # }
//! ```

mod admin;
mod authority;
mod body;
mod census;
mod cli;
mod clock;
mod codes;
mod endpoint;
mod error;
mod faults;
mod finding;
mod header;
mod nif;
mod nif_check;
mod pki;
mod qr_page;
mod query;
mod record;
mod refusal;
mod register;
mod requirement;
mod rules;
mod running;
mod schema;
mod server;
mod settings;
mod store;
mod submission;
mod xml;

pub use self::census::{Census, CensusEntry, CensusStatus, Unlisted};
pub use self::cli::{PkiArgs, SandboxArgs};
pub use self::clock::Clock;
pub use self::endpoint::{NIF_CHECK_PATH, QR_PATH, REQUIREMENT_PATH, VERIFACTU_PATH};
pub use self::error::SandboxError;
pub use self::faults::{Effect, Fault, MessageKind};
pub use self::pki::{DEFAULT_PASSPHRASE, Holder, HolderKind, Issued, KeyKind, Pki};
pub use self::record::{InvoiceKey, Operation};
pub use self::refusal::FaultSide;
pub use self::running::{RunningSandbox, SandboxConfig};
pub use self::settings::{PresenterPolicy, Settings};
pub use self::store::{Invoice, InvoiceState, Registration};
