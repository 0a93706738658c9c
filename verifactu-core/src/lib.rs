//! The VERI*FACTU SDK: invoice records, huella, chain, AEAT XML, signature, certificates, and the
//! engine that carries records to the authority.

pub mod api;
#[cfg(feature = "engine")]
pub mod authority;
#[cfg(feature = "signing")]
pub mod certificate;
pub mod chain;
#[cfg(feature = "engine")]
pub mod engine;
pub mod job;
#[cfg(feature = "engine")]
pub mod ledger;
pub mod qr;
#[cfg(feature = "engine")]
pub mod queue;
pub mod record;
#[cfg(feature = "signing")]
pub mod signature;
#[cfg(feature = "testing")]
pub mod testing;
pub mod types;
pub mod validation;
pub mod webhook;
#[cfg(feature = "xml")]
pub mod xml;
