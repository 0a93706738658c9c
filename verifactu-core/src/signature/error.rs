//! Why a record is not signed, and why a signature is not accepted.

use crate::certificate::{CertificateError, Malformed};

/// Why a record was not signed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SigningError {
    /// The key is an elliptic-curve one, which the profile does not name, and the caller did not
    /// enable those.
    #[error("signing with elliptic-curve keys is not enabled")]
    EcNotEnabled,
    /// Neither RSA nor ECDSA on P-256.
    #[error("the key is of a kind that records cannot be signed with")]
    UnsupportedKey,
    /// Not an unsigned record in canonical form with AEAT's namespace as its default.
    #[error("not an unsigned record in canonical form")]
    NotARecord,
    /// The key did not sign.
    #[error("the record was not signed")]
    Key(#[from] CertificateError),
}

/// Why a document is not a record with a valid signature.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// The document cannot be read.
    #[error("the document cannot be read")]
    Xml(#[from] XmlError),
    /// The root is neither `RegistroAlta` nor `RegistroAnulacion`.
    #[error("the document is not a record")]
    NotARecord,
    /// The record has no signature.
    #[error("the record is not signed")]
    Unsigned,
    /// A part of the signature is missing, repeated, out of place or in a form the profile does not
    /// have. Signatures that cover something else than the record end here.
    #[error("the signature does not keep to the profile in {part}")]
    Profile {
        /// The element.
        part: &'static str,
    },
    /// An algorithm outside the profile.
    #[error("algorithm {algorithm} is not accepted in {part}")]
    Algorithm {
        /// The element that names it.
        part: &'static str,
        /// Its identifier.
        algorithm: String,
    },
    /// What was signed was changed.
    #[error("{0} was changed after it was signed")]
    Digest(Signed),
    /// The value does not belong to the certificate's key and the signed information.
    #[error("the signature value is wrong")]
    Value,
    /// The certificate beside the signature is not the one that the signer committed to.
    #[error("the certificate is not the one that the signature names")]
    CertificateMismatch,
    /// The certificate cannot be read.
    #[error("the certificate of the signature cannot be read")]
    Certificate(#[from] Malformed),
    /// The policy is missing, another one, or its hash is not the published one.
    #[error("the signature does not follow the required policy")]
    Policy,
}

/// The two things a signature covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signed {
    /// The record.
    Record,
    /// Time, certificate and policy of the signature.
    Properties,
}

impl std::fmt::Display for Signed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Record => "the record",
            Self::Properties => "the properties of the signature",
        })
    }
}

/// Why a document cannot be read. Bounds and refusals protect the verifier: no DTD, no entities of
/// the document's own, no processing instructions.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum XmlError {
    /// Above 1 MiB.
    #[error("the document is larger than 1 MiB")]
    TooLarge,
    /// Above 32 levels, 20 000 elements, or 32 attributes on one element.
    #[error("the document is too deep or has too many parts")]
    TooComplex,
    /// A DTD, a processing instruction or an `xml:` attribute.
    #[error("the document uses a construct that records do not have")]
    Forbidden,
    /// Not XML 1.0 with namespaces in UTF-8.
    #[error("not a well-formed document")]
    NotWellFormed,
    /// The same, as the reader found it.
    #[error("not a well-formed document")]
    Reader(#[from] quick_xml::Error),
}
