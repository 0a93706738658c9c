//! The integrity code of a PKCS#12 file (RFC 7292, appendix B).
//!
//! It is checked here, over the bytes as they came, because rewriting them as DER changes what the
//! code was computed over. A wrong code means a wrong passphrase or a damaged file; nobody can tell
//! the two apart.

use aws_lc_rs::{digest, hmac};
use zeroize::Zeroizing;

use super::{
    ber::{BerError, INTEGER, OCTET_STRING, OID, SEQUENCE, number, take},
    cipher::bmp,
};

/// A file chooses how much work its passphrase costs; above this it is not opened.
const MAX_ITERATIONS: u32 = 1_000_000;

/// A MacData as it stands in the file.
pub(super) struct Mac<'a> {
    digest: &'a [u8],
    expected: &'a [u8],
    salt: &'a [u8],
    iterations: u32,
}

pub(super) enum MacOutcome {
    Good,
    Wrong,
    /// Another kind of code (PBMAC1, an unknown hash), or more iterations than the bound.
    Unsupported,
}

impl<'a> Mac<'a> {
    /// Reads `MacData ::= SEQUENCE { SEQUENCE { algorithm, digest }, salt, iterations DEFAULT 1 }`.
    pub(super) fn read(mut mac: &'a [u8]) -> Result<Self, BerError> {
        let mut digest_info = take(&mut mac, SEQUENCE)?;
        let mut algorithm = take(&mut digest_info, SEQUENCE)?;
        let digest = take(&mut algorithm, OID)?;
        let expected = take(&mut digest_info, OCTET_STRING)?;
        let salt = take(&mut mac, OCTET_STRING)?;
        let iterations = if mac.is_empty() { 1 } else { number(take(&mut mac, INTEGER)?) };
        Ok(Self { digest, expected, salt, iterations })
    }

    /// How often [`check`](Self::check) hashes the passphrase.
    pub(super) fn cost(&self) -> u32 {
        if self.is_within_bounds() { self.iterations } else { 0 }
    }

    fn is_within_bounds(&self) -> bool {
        (1..=MAX_ITERATIONS).contains(&self.iterations)
    }

    /// Compares the code of `data` in constant time.
    pub(super) fn check(&self, passphrase: &str, data: &[u8]) -> MacOutcome {
        let (hash, mac) = match self.digest {
            [0x2b, 0x0e, 0x03, 0x02, 0x1a] => {
                (&digest::SHA1_FOR_LEGACY_USE_ONLY, hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY)
            }
            [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, last] => match last {
                1 => (&digest::SHA256, hmac::HMAC_SHA256),
                2 => (&digest::SHA384, hmac::HMAC_SHA384),
                3 => (&digest::SHA512, hmac::HMAC_SHA512),
                4 => (&digest::SHA224, hmac::HMAC_SHA224),
                _ => return MacOutcome::Unsupported,
            },
            _ => return MacOutcome::Unsupported,
        };
        if !self.is_within_bounds() {
            return MacOutcome::Unsupported;
        }
        let key = hmac::Key::new(mac, &derive(hash, &bmp(passphrase), self.salt, self.iterations));
        match hmac::verify(&key, data, self.expected) {
            Ok(()) => MacOutcome::Good,
            Err(_) => MacOutcome::Wrong,
        }
    }
}

/// The key of the integrity code. It is as long as one hash, so the first round of the derivation
/// is the whole of it.
fn derive(
    hash: &'static digest::Algorithm,
    passphrase: &[u8],
    salt: &[u8],
    iterations: u32,
) -> Zeroizing<Vec<u8>> {
    const PURPOSE_MAC: u8 = 3;
    let block = hash.block_len();
    let fill = |text: &[u8]| -> Zeroizing<Vec<u8>> {
        let length = text.len().div_ceil(block) * block;
        Zeroizing::new(text.iter().copied().cycle().take(length).collect())
    };
    let mut first = digest::Context::new(hash);
    first.update(&vec![PURPOSE_MAC; block]);
    first.update(&fill(salt));
    first.update(&fill(passphrase));
    let mut key = first.finish();
    for _ in 1..iterations {
        key = digest::digest(hash, key.as_ref());
    }
    Zeroizing::new(key.as_ref().to_vec())
}
