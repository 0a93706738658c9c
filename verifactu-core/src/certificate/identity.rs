//! The key and certificates that an account presents itself with.
//!
//! Only this is kept of an uploaded file: the private key and the chain, sealed. Loading checks that
//! they belong together and prepares the key once, so that signing costs the signature alone.

use std::sync::Arc;

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair},
};
use rustls::{
    crypto::aws_lc_rs::sign::any_supported_type,
    pki_types::{CertificateDer, PrivateKeyDer},
    sign::CertifiedKey,
};

use sha2::{Digest as _, Sha256};

use super::{
    error::{CertificateError, Malformed},
    vault::{Purpose, Vault},
    x509::Certificate,
};
use crate::types::{Nif, SecretBytes, TenantId};

/// A private key with its certificates, checked to belong together. Cloning shares it.
#[derive(Clone)]
pub struct Identity {
    inner: Arc<Inner>,
}

/// Digest of an identity's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IdentityId([u8; 32]);

struct Inner {
    id: IdentityId,
    certificate: Certificate,
    pkcs8: SecretBytes,
    certified: Arc<CertifiedKey>,
    key: Key,
}

/// The key as the signature needs it.
enum Key {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    /// Good for TLS, not among the signature algorithms of records.
    Other,
}

/// The signatures an identity gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyKind {
    /// RSA, signing PKCS#1 v1.5 with SHA-256.
    Rsa,
    /// ECDSA on P-256 with SHA-256; the signature is r and s, 32 octets each.
    EcdsaP256,
    /// Another kind, which TLS can use and [`Identity::sign`] cannot.
    Other,
}

impl Identity {
    /// An identity from a PKCS#8 key and its certificates in DER, leaf first.
    ///
    /// # Errors
    /// [`CertificateError::UnsupportedKey`], or [`CertificateError::Malformed`] when a certificate
    /// cannot be read, there is none, or the first does not belong to the key.
    pub fn new(pkcs8: SecretBytes, chain: Vec<Vec<u8>>) -> Result<Self, CertificateError> {
        let leaf = chain.first().ok_or(Malformed::NoCertificate)?;
        let certificate = Certificate::parse(leaf)?;
        let id = IdentityId(Sha256::digest(leaf).into());
        let certified = pair(&pkcs8, chain)?;
        certified.keys_match().map_err(|_| Malformed::NoMatchingPair)?;
        let key = if let Ok(rsa) = RsaKeyPair::from_pkcs8(pkcs8.expose()) {
            Key::Rsa(rsa)
        } else if let Ok(ec) = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.expose()) {
            Key::P256(ec)
        } else {
            Key::Other
        };
        Ok(Self { inner: Arc::new(Inner { id, certificate, pkcs8, certified: Arc::new(certified), key }) })
    }

    /// The holder's certificate: the first of the chain.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.inner.certificate
    }

    /// Tells this identity from others, for caches.
    #[must_use]
    pub fn id(&self) -> IdentityId {
        self.inner.id
    }

    /// Whether it belongs to this number, as person or as entity.
    #[must_use]
    pub fn matches(&self, nif: &Nif) -> bool {
        self.inner.certificate.holder.matches(nif)
    }

    /// The certificates in DER, leaf first.
    pub fn chain(&self) -> impl Iterator<Item = &[u8]> {
        self.inner.certified.cert.iter().map(AsRef::as_ref)
    }

    /// Key and certificates as a TLS client presents them.
    #[must_use]
    pub fn certified_key(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.inner.certified)
    }

    /// Which signature [`sign`](Self::sign) gives.
    #[must_use]
    pub fn key_kind(&self) -> KeyKind {
        match self.inner.key {
            Key::Rsa(_) => KeyKind::Rsa,
            Key::P256(_) => KeyKind::EcdsaP256,
            Key::Other => KeyKind::Other,
        }
    }

    /// Signs `message`; the shape of the signature is that of [`KeyKind`].
    ///
    /// # Errors
    /// [`CertificateError::UnsupportedKey`] for [`KeyKind::Other`].
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, CertificateError> {
        let random = SystemRandom::new();
        match &self.inner.key {
            Key::Rsa(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                    .map_err(|_| CertificateError::Signing)?;
                Ok(signature)
            }
            Key::P256(key) => {
                let signature = key.sign(&random, message).map_err(|_| CertificateError::Signing)?;
                Ok(signature.as_ref().to_vec())
            }
            Key::Other => Err(CertificateError::UnsupportedKey),
        }
    }

    /// Modulus and exponent of an RSA key, big-endian without leading zeros.
    pub(crate) fn rsa_public_key(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let Key::Rsa(key) = &self.inner.key else { return None };
        let public = key.public_key();
        let [modulus, exponent] = [public.modulus(), public.exponent()]
            .map(|number| number.big_endian_without_leading_zero().to_vec());
        Some((modulus, exponent))
    }

    /// The bytes to store: key and chain, sealed for the account.
    ///
    /// # Errors
    /// [`CertificateError::Vault`].
    pub fn to_sealed(&self, vault: &Vault, tenant: &TenantId) -> Result<Vec<u8>, CertificateError> {
        let parts: Vec<&[u8]> = std::iter::once(self.inner.pkcs8.expose()).chain(self.chain()).collect();
        let size = parts.iter().map(|part| part.len() + 4).sum::<usize>() + 1;
        // Filled without growing, so that no copy of the key stays behind.
        let mut plain = zeroize::Zeroizing::new(Vec::with_capacity(size));
        plain.push(FORMAT);
        for part in parts {
            // Uploads are bounded to 128 KiB, so a length always fits.
            plain.extend_from_slice(&(part.len() as u32).to_be_bytes());
            plain.extend_from_slice(part);
        }
        Ok(vault.seal(tenant, Purpose::Identity, &plain)?)
    }

    /// Opens what [`to_sealed`](Self::to_sealed) made for this account.
    ///
    /// # Errors
    /// [`CertificateError::Vault`] when it does not open, [`Malformed::Stored`] when it holds
    /// something else.
    pub fn from_sealed(vault: &Vault, tenant: &TenantId, sealed: &[u8]) -> Result<Self, CertificateError> {
        let plain = vault.open(tenant, Purpose::Identity, sealed)?;
        let mut rest = plain.expose().strip_prefix(&[FORMAT]).ok_or(Malformed::Stored)?;
        let mut parts = Vec::new();
        while !rest.is_empty() {
            let (length, body) = rest.split_first_chunk::<4>().ok_or(Malformed::Stored)?;
            let length = u32::from_be_bytes(*length) as usize;
            let (part, after) = body.split_at_checked(length).ok_or(Malformed::Stored)?;
            parts.push(part);
            rest = after;
        }
        let [pkcs8, chain @ ..] = parts.as_slice() else { return Err(Malformed::Stored.into()) };
        Self::new(SecretBytes::new(pkcs8.to_vec()), chain.iter().map(|der| der.to_vec()).collect())
    }
}

/// Layout of the stored bytes: this octet, then key and certificates, each after its length in four
/// octets.
const FORMAT: u8 = 1;

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("certificate", &self.inner.certificate).finish_non_exhaustive()
    }
}

/// Loads the key for TLS, with the certificates beside it; does not compare them.
pub(super) fn pair(pkcs8: &SecretBytes, chain: Vec<Vec<u8>>) -> Result<CertifiedKey, CertificateError> {
    let key = any_supported_type(&PrivateKeyDer::Pkcs8(pkcs8.expose().into()))
        .map_err(|_| CertificateError::UnsupportedKey)?;
    Ok(CertifiedKey::new(chain.into_iter().map(CertificateDer::from).collect(), key))
}
