//! The VERI*FACTU SDK: invoice records, huella, chain, AEAT XML, signature, certificates, and the
//! engine that carries records to the authority.

pub mod types;

pub mod api;
pub mod chain;
pub mod qr;
pub mod record;
pub mod validation;
pub mod webhook;
#[cfg(feature = "xml")]
pub mod xml;
