//! The electronic signature of records: XAdES-EPES, enveloped, one per record.
//!
//! The profile is that of AEAT's specification of the signature of invoice and event records, v0.1.5
//! (Orden HAC/1177/2024, article 14), and of its signed example: inclusive canonical XML, SHA-256,
//! RSA or, where enabled, ECDSA on P-256, the signing policy of the General State Administration.
//! The signed node is the record itself, as a document of its own, and `ds:Signature` its last
//! child.
//!
//! [`Signer`] signs what our writer makes, [`verify`] checks any record that keeps to the profile.
//! Whether a signer's certificate is trusted, revoked or qualified is not decided here.

mod canonical;
mod error;
mod names;
mod signer;
mod tree;
mod verify;

pub use canonical::canonical_form;
pub use error::{SignatureError, Signed, SigningError, XmlError};
pub use signer::{EcKeys, Signer};
pub use verify::{SignatureAlgorithm, Verified, verify};
