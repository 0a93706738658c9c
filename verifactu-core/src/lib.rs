//! The VERI*FACTU SDK: invoice records, huella, chain, AEAT XML, signature, certificates, and the
//! engine that carries records to the authority.

#[cfg(feature = "signing")]
pub mod certificate;
#[cfg(feature = "signing")]
pub mod signature;
pub mod types;
