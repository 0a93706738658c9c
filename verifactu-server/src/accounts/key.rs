//! API keys as text: `vf_`, sixteen characters that find the key, forty that prove it.
//!
//! Only a keyed hash of the whole key is stored, so that neither the ledger nor a copy of it lets
//! anybody in. A key is 256 random bits or more as a whole, so the hash needs no work factor.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;
use verifactu_core::types::Secret;

const PREFIX: &str = "vf_";
const PUBLIC: usize = 16;
const SECRET: usize = 40;

/// Thirty-two characters that are not mistaken for each other, five bits each.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// A key as a caller sends it.
pub(crate) struct KeyText {
    whole: Secret,
}

/// The system gave no random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no random bytes from the system")]
pub struct NoRandom;

impl KeyText {
    /// A new key.
    pub(crate) fn generate() -> Result<Self, NoRandom> {
        let mut random = zeroize::Zeroizing::new([0_u8; PUBLIC + SECRET]);
        getrandom::fill(random.as_mut()).map_err(|_| NoRandom)?;
        let mut text = String::with_capacity(PREFIX.len() + PUBLIC + SECRET);
        text.push_str(PREFIX);
        text.extend(random.iter().map(|byte| char::from(ALPHABET[usize::from(byte & 31)])));
        Ok(Self { whole: Secret::new(text) })
    }

    /// The key, if the text has its shape.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?;
        let fits = rest.len() == PUBLIC + SECRET && rest.bytes().all(|byte| ALPHABET.contains(&byte));
        fits.then(|| Self { whole: Secret::new(text.to_owned()) })
    }

    /// The part that finds the key.
    pub(crate) fn public(&self) -> &str {
        let start = PREFIX.len();
        self.whole.expose().get(start..start + PUBLIC).unwrap_or_default()
    }

    /// The whole key, for the answer to its creation.
    pub(crate) fn into_secret(self) -> Secret {
        self.whole
    }
}

/// Hashes keys with a secret of the service's own.
pub(crate) struct Pepper(Hmac<Sha256>);

impl Pepper {
    pub(crate) fn new(secret: &Secret) -> Option<Self> {
        <Hmac<Sha256> as KeyInit>::new_from_slice(secret.expose().as_bytes()).ok().map(Self)
    }

    pub(crate) fn hash(&self, key: &KeyText) -> [u8; 32] {
        self.hash_text(key.whole.expose())
    }

    /// Whether the key is the one with this hash, in a time that does not depend on where they differ.
    pub(crate) fn proves(&self, key: &KeyText, hash: &[u8; 32]) -> bool {
        self.hash(key).ct_eq(hash).into()
    }

    /// Whether two secrets are the same, in a time that depends on neither.
    pub(crate) fn same(&self, given: &str, wanted: &Secret) -> bool {
        self.hash_text(given).ct_eq(&self.hash_text(wanted.expose())).into()
    }

    fn hash_text(&self, text: &str) -> [u8; 32] {
        self.0.clone().chain_update(text).finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_and_proved_by_its_own_text_alone() {
        let pepper = Pepper::new(&Secret::new("pepper".into())).unwrap();
        let key = KeyText::generate().unwrap();
        let hash = pepper.hash(&key);
        let text = key.whole.expose().to_owned();

        let read = KeyText::parse(&text).unwrap();
        assert_eq!(read.public(), key.public());
        assert!(pepper.proves(&read, &hash));

        let last = if text.ends_with('a') { "b" } else { "a" };
        let other = KeyText::parse(&format!("{}{last}", &text[..text.len() - 1])).unwrap();
        assert!(!pepper.proves(&other, &hash));
        assert!(!Pepper::new(&Secret::new("other".into())).unwrap().proves(&read, &hash));
        for wrong in ["", "vf_", "vf_abc", &text[1..], &format!("{text}a"), &text.to_uppercase()] {
            assert!(KeyText::parse(wrong).is_none(), "{wrong}");
        }
    }
}
