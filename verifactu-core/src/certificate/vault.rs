//! Sealing of secrets that must be stored: AES-256-GCM, bound to account and purpose.
//!
//! A sealed value opens only for the account and the purpose it was sealed for, because both are
//! authenticated with it: a value copied into another account's row does not open. Each value names
//! the key that sealed it, so keys can be replaced: add the new one wherever values are opened, then let
//! it seal, seal again at leisure, remove the old one.
//!
//! Layout: format (1 octet), key number (1), nonce (12), ciphertext with its tag (16 more than the
//! text).

use aes_gcm::{
    Aes256Gcm, KeyInit,
    aead::{Aead, Payload},
};

use crate::types::{SecretBytes, TenantId};

const FORMAT: u8 = 1;
const NONCE: usize = 12;

/// What a sealed value is used for. A value sealed for one purpose does not open for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// The private key and certificates of an account.
    Identity,
    /// The secret that webhooks are signed with.
    WebhookSecret,
    /// The API key of an account that a web application acts for.
    ApiKey,
}

/// The keys that seal and open.
pub struct Vault {
    /// Ascending by number; never empty.
    keys: Vec<(u8, Aes256Gcm)>,
    /// The number of the key that seals; one of those.
    sealing: u8,
}

/// Why a value is not sealed or does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// A vault without keys.
    #[error("the vault has no key")]
    NoKey,
    /// A key that is not 32 octets long.
    #[error("vault key {number} is not 32 bytes long")]
    KeyLength {
        /// The key's number.
        number: u8,
    },
    /// Two keys with one number.
    #[error("vault key {number} is given twice")]
    DuplicateKey {
        /// The number.
        number: u8,
    },
    /// The key that shall seal is not among ours.
    #[error("vault key {number} shall seal, but is not configured")]
    NotGiven {
        /// The key's number.
        number: u8,
    },
    /// The key that sealed the value is not among ours.
    #[error("the value was sealed with vault key {number}, which is not configured")]
    UnknownKey {
        /// The key's number.
        number: u8,
    },
    /// Not the layout of a sealed value.
    #[error("not a sealed value")]
    Malformed,
    /// Sealed for another account or purpose, with another key of this number, or altered.
    #[error("the value does not open: it was altered, or sealed for something else")]
    Refused,
    /// The system gave no random bytes.
    #[error("no random bytes from the system")]
    Random,
}

impl Vault {
    /// A vault with numbered keys of 32 octets. The highest number seals; all of them open.
    ///
    /// # Errors
    /// [`VaultError::NoKey`], [`VaultError::KeyLength`] or [`VaultError::DuplicateKey`].
    ///
    /// ```
    /// use verifactu_core::certificate::{Purpose, Vault};
    /// use verifactu_core::types::{SecretBytes, TenantId};
    /// let vault = Vault::new([(1, SecretBytes::new(vec![7; 32]))])?;
    /// let tenant = TenantId::parse("acme")?;
    /// let sealed = vault.seal(&tenant, Purpose::WebhookSecret, b"secret")?;
    /// assert_eq!(vault.open(&tenant, Purpose::WebhookSecret, &sealed)?.expose(), b"secret");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(keys: impl IntoIterator<Item = (u8, SecretBytes)>) -> Result<Self, VaultError> {
        let mut ready = Vec::new();
        for (number, key) in keys {
            let cipher =
                Aes256Gcm::new_from_slice(key.expose()).map_err(|_| VaultError::KeyLength { number })?;
            if ready.iter().any(|(other, _)| *other == number) {
                return Err(VaultError::DuplicateKey { number });
            }
            ready.push((number, cipher));
        }
        ready.sort_by_key(|(number, _)| *number);
        let sealing = ready.last().ok_or(VaultError::NoKey)?.0;
        Ok(Self { keys: ready, sealing })
    }

    /// The same vault, sealing with the key of this number: for as long as others do not know newer ones.
    ///
    /// # Errors
    /// [`VaultError::NotGiven`].
    pub fn sealing_with(self, number: u8) -> Result<Self, VaultError> {
        let known = self.keys.iter().any(|(known, _)| *known == number);
        if known { Ok(Self { sealing: number, ..self }) } else { Err(VaultError::NotGiven { number }) }
    }

    /// Seals with the newest key, or the one that was chosen, and a random nonce.
    ///
    /// # Errors
    /// [`VaultError::Random`].
    pub fn seal(&self, tenant: &TenantId, purpose: Purpose, secret: &[u8]) -> Result<Vec<u8>, VaultError> {
        let number = self.sealing;
        let cipher = self.cipher(number).ok_or(VaultError::NoKey)?;
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(|_| VaultError::Random)?;
        let aad = associated_data(number, purpose, tenant);
        let ciphertext = cipher
            .encrypt((&nonce).into(), Payload { msg: secret, aad: &aad })
            .map_err(|_| VaultError::Refused)?;
        let mut sealed = Vec::with_capacity(2 + NONCE + ciphertext.len());
        sealed.extend_from_slice(&[FORMAT, number]);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(&ciphertext);
        Ok(sealed)
    }

    /// Opens what was sealed for this account and purpose, with whichever key sealed it.
    ///
    /// # Errors
    /// [`VaultError::Malformed`], [`VaultError::UnknownKey`] or [`VaultError::Refused`].
    pub fn open(
        &self,
        tenant: &TenantId,
        purpose: Purpose,
        sealed: &[u8],
    ) -> Result<SecretBytes, VaultError> {
        let [FORMAT, number, rest @ ..] = sealed else { return Err(VaultError::Malformed) };
        let (nonce, ciphertext) = rest.split_first_chunk::<NONCE>().ok_or(VaultError::Malformed)?;
        let cipher = self.cipher(*number).ok_or(VaultError::UnknownKey { number: *number })?;
        let aad = associated_data(*number, purpose, tenant);
        cipher
            .decrypt(nonce.into(), Payload { msg: ciphertext, aad: &aad })
            .map(SecretBytes::new)
            .map_err(|_| VaultError::Refused)
    }

    /// Whether a sealed value need not be sealed again: it was sealed with the key that seals now, or
    /// with a newer one.
    #[must_use]
    pub fn is_current(&self, sealed: &[u8]) -> bool {
        matches!(sealed, [FORMAT, number, ..] if *number >= self.sealing)
    }

    /// Whether there are keys older than the one that seals.
    #[must_use]
    pub fn has_older_keys(&self) -> bool {
        self.keys.iter().any(|(number, _)| *number < self.sealing)
    }

    fn cipher(&self, number: u8) -> Option<&Aes256Gcm> {
        self.keys.iter().find(|(known, _)| *known == number).map(|(_, cipher)| cipher)
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let numbers: Vec<u8> = self.keys.iter().map(|(number, _)| *number).collect();
        f.debug_struct("Vault").field("keys", &numbers).finish()
    }
}

/// No purpose and no account identifier holds the octet zero, so the parts cannot run together.
fn associated_data(number: u8, purpose: Purpose, tenant: &TenantId) -> Vec<u8> {
    let purpose = match purpose {
        Purpose::Identity => "identity",
        Purpose::WebhookSecret => "webhook-secret",
        Purpose::ApiKey => "api-key",
    };
    let mut data = vec![FORMAT, number];
    data.extend_from_slice(purpose.as_bytes());
    data.push(0);
    data.extend_from_slice(tenant.as_str().as_bytes());
    data
}
