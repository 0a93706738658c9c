//! What can be wrong with an uploaded certificate.

use jiff::Timestamp;

use super::{ber::BerError, vault::VaultError};

/// Why a file gives no identity, or an identity cannot be used. The variants are the cases that the
/// holder can act upon in different ways.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// The passphrase does not open the file, or the file was damaged: the integrity code cannot
    /// tell. REST code `wrong_passphrase`.
    #[error("the passphrase does not open the file")]
    WrongPassphrase,
    /// Not a PKCS#12 file, or one without a usable pair of key and certificate. REST code
    /// `malformed`.
    #[error("the file holds no usable certificate with its private key")]
    Malformed(#[from] Malformed),
    /// The passphrase may be right, but the cipher is one that is not read any more (RC2-128, RC4,
    /// DES). Export it again with AES-256. REST code `legacy_rc2`.
    #[error("the file is encrypted with a cipher that is no longer supported; export it with AES-256")]
    LegacyEncryption,
    /// The passphrase cannot be checked, because the integrity code is of another kind (PBMAC1) or
    /// asks for more than a million iterations. Export it again. REST code `legacy_rc2`.
    #[error("the file's integrity code is not supported; export it again with HMAC-SHA-256")]
    UnsupportedMac,
    /// The only keys are of a kind that neither TLS nor signature can use (DSA, RSA below 2048
    /// bits). REST code `malformed`.
    #[error("the private key is of a kind that cannot be used")]
    UnsupportedKey,
    /// No certificate in the file is valid at this time. REST code `expired`.
    #[error("the certificate is not valid now: it is valid from {not_before} to {not_after}")]
    Expired {
        /// Start of the validity of the newest certificate.
        not_before: Timestamp,
        /// End of its validity.
        not_after: Timestamp,
    },
    /// The sealed bytes do not open.
    #[error("the stored certificate does not open")]
    Vault(#[from] VaultError),
    /// The key refused to sign. Does not happen with a key that was accepted when it was loaded.
    #[error("the private key did not sign")]
    Signing,
}

/// Why a file or a stored identity is no certificate with its private key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// Above 128 KiB.
    #[error("the file is larger than 128 KiB")]
    TooLarge,
    /// More keys, certificates or encrypted parts than a certificate file has.
    #[error("the file has too many parts")]
    TooManyParts,
    /// The parts together ask for more than three million hashes of the passphrase.
    #[error("opening the file takes more than 3 000 000 iterations; export it again with fewer")]
    TooMuchWork,
    /// Not the structure of a PKCS#12 file.
    #[error("not a PKCS#12 file")]
    NotPkcs12(#[from] BerError),
    /// The frame is a PKCS#12 file, its content is not.
    #[error("the content of the file cannot be read")]
    Content,
    /// No private key.
    #[error("there is no private key in the file")]
    NoKey,
    /// No certificate.
    #[error("there is no certificate in the file")]
    NoCertificate,
    /// No certificate belongs to a private key.
    #[error("no certificate belongs to a private key of the file")]
    NoMatchingPair,
    /// Not an X.509 certificate.
    #[error("not an X.509 certificate")]
    X509,
    /// Not bytes that an identity was stored in.
    #[error("not a stored identity")]
    Stored,
}
