//! The VERI*FACTU SDK: invoice records, huella, chain, AEAT XML, signature, certificates, and the
//! engine that carries records to the authority.

pub mod types;

pub mod chain;
pub mod job;
#[cfg(feature = "engine")]
pub mod ledger;
#[cfg(feature = "engine")]
pub mod queue;
pub mod record;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "xml")]
pub mod xml;
