//! Who stands behind a message: the certificate that the TLS connection presents.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::types::SecretBytes;

/// A certificate with its key, as the transport needs it.
#[derive(Clone)]
pub struct Presenter {
    id: PresenterId,
    /// Which host it is meant for.
    pub kind: HolderKind,
    /// The certificates in DER, the holder's own first.
    pub chain: Vec<Vec<u8>>,
    /// The private key in PKCS#8.
    pub key_pkcs8: SecretBytes,
}

impl Presenter {
    /// A presenter from its certificates (DER, the holder's own first) and its private key (PKCS#8).
    /// Whether they fit together shows at the first exchange.
    #[must_use]
    pub fn new(kind: HolderKind, chain: Vec<Vec<u8>>, key_pkcs8: SecretBytes) -> Self {
        let leaf = chain.first().map(Vec::as_slice).unwrap_or_default();
        Self { id: PresenterId(Sha256::digest(leaf).into()), kind, chain, key_pkcs8 }
    }

    /// Which certificate it is.
    #[must_use]
    pub const fn id(&self) -> PresenterId {
        self.id
    }
}

impl fmt::Debug for Presenter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Presenter").field("id", &self.id).field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// Tells certificates apart: the SHA-256 of the holder's own. Connections are kept by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PresenterId([u8; 32]);

impl fmt::Display for PresenterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(8).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PresenterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The kind of a certificate's holder. The authority has hosts of their own for seals, and refuses a
/// seal elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HolderKind {
    /// A natural person.
    Person,
    /// A person who represents an entity.
    Representative,
    /// An entity's electronic seal.
    #[doc(alias = "sello")]
    Seal,
}
