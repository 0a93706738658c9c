//! Certificates: the file that a holder uploads, whom it identifies, and its safe keeping.
//!
//! [`open`] reads a PKCS#12 file of any program and gives an [`Identity`]: private key and chain,
//! checked to belong together. The identity signs records, presents itself to the authority over
//! TLS, and is stored sealed by a [`Vault`]; of the file and its passphrase nothing is kept.
//! Whether the issuer is trusted is the authority's business and is not decided here.

mod ber;
mod cipher;
mod error;
mod holder;
mod identity;
mod mac;
mod pkcs12;
mod vault;
mod x509;

pub use ber::BerError;
pub use error::{CertificateError, Malformed};
pub use holder::{Holder, HolderKind};
pub use identity::{Identity, IdentityId, KeyKind};
pub use pkcs12::{MAX_FILE, Opened, Wanted, open};
pub use vault::{Purpose, Vault, VaultError};
pub use x509::Certificate;
pub(crate) use x509::PublicKey;
