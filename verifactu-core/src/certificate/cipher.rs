//! The encrypted parts of a PKCS#12 file: what each costs to open, and its content.
//!
//! A file chooses how often its passphrase is hashed, separately for every part (RFC 8018, 4.2; RFC
//! 7292, appendix B). The ciphers are those that programs write by themselves: AES after PBKDF2, and
//! the two old ones of PKCS#12.

use cbc::cipher::{BlockCipherDecrypt, BlockModeDecrypt as _, KeyInit, KeyIvInit as _, block_padding::Pkcs7};
use pkcs5::{der::Decode as _, pbes2::Parameters};
use pkcs12::kdf::{Pkcs12KeyType, derive_key};
use sha1::Sha1;
use zeroize::Zeroizing;

use super::ber::{BerError, INTEGER, OCTET_STRING, OID, SEQUENCE, number, take};

const PBES2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d];
/// 1.2.840.113549.1.12.1, whose six children are PKCS#12's own ciphers.
const PKCS12_PBE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01];
const TRIPLE_DES: u8 = 3;
const RC2_40: u8 = 6;

/// A part as it stands in the file.
pub(super) struct Encrypted {
    scheme: Scheme,
    iterations: u32,
    content: Vec<u8>,
}

enum Scheme {
    /// Always with PBKDF2: no program writes scrypt by itself, and it could be made to cost a gigabyte.
    Pbes2(Box<Parameters>),
    Old {
        cipher: u8,
        salt: Vec<u8>,
    },
    Unreadable,
}

/// Why a part was not decrypted.
pub(super) enum Closed {
    /// Its cipher is not read.
    Cipher,
    /// What comes out makes no sense: the passphrase is wrong, or the part is damaged.
    Garbled,
}

impl Encrypted {
    /// Reads the content of an AlgorithmIdentifier and takes the bytes encrypted with it.
    pub(super) fn read(mut algorithm: &[u8], content: &[u8]) -> Result<Self, BerError> {
        let oid = take(&mut algorithm, OID)?;
        let (scheme, iterations) = match oid.strip_prefix(PKCS12_PBE) {
            Some([cipher @ (TRIPLE_DES | RC2_40)]) => {
                let mut parameters = take(&mut algorithm, SEQUENCE)?;
                let salt = take(&mut parameters, OCTET_STRING)?.to_vec();
                (Scheme::Old { cipher: *cipher, salt }, number(take(&mut parameters, INTEGER)?))
            }
            None if oid == PBES2 => {
                let parameters = Parameters::from_der(algorithm).ok();
                let derivation = parameters.as_ref().and_then(|parameters| parameters.kdf.pbkdf2());
                let iterations = derivation.map(|derivation| derivation.iteration_count);
                match (parameters, iterations) {
                    (Some(parameters), Some(iterations)) => (Scheme::Pbes2(Box::new(parameters)), iterations),
                    _ => (Scheme::Unreadable, 0),
                }
            }
            _ => (Scheme::Unreadable, 0),
        };
        Ok(Self { scheme, iterations, content: content.to_vec() })
    }

    /// How often the passphrase is hashed to open it.
    pub(super) fn cost(&self) -> u32 {
        self.iterations
    }

    pub(super) fn is_old(&self) -> bool {
        matches!(self.scheme, Scheme::Old { .. })
    }

    pub(super) fn decrypt(&self, passphrase: &str) -> Result<Zeroizing<Vec<u8>>, Closed> {
        match &self.scheme {
            Scheme::Pbes2(parameters) => match parameters.decrypt(passphrase, &self.content) {
                Ok(plain) => Ok(Zeroizing::new(plain)),
                Err(pkcs5::Error::UnsupportedAlgorithm { .. }) => Err(Closed::Cipher),
                Err(_) => Err(Closed::Garbled),
            },
            Scheme::Old { cipher: TRIPLE_DES, salt } => self.old::<des::TdesEde3>(24, passphrase, salt),
            Scheme::Old { salt, .. } => self.old::<rc2::Rc2>(5, passphrase, salt),
            Scheme::Unreadable => Err(Closed::Cipher),
        }
    }

    fn old<C: KeyInit + BlockCipherDecrypt>(
        &self,
        length: usize,
        passphrase: &str,
        salt: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Closed> {
        let rounds = i32::try_from(self.iterations).map_err(|_| Closed::Cipher)?;
        let text = bmp(passphrase);
        let derive =
            |purpose, length| Zeroizing::new(derive_key::<Sha1>(&text, salt, purpose, rounds, length));
        let (key, iv) = (derive(Pkcs12KeyType::EncryptionKey, length), derive(Pkcs12KeyType::Iv, 8));
        let cipher = cbc::Decryptor::<C>::new_from_slices(&key, &iv).map_err(|_| Closed::Cipher)?;
        let plain = cipher.decrypt_padded_vec::<Pkcs7>(&self.content).map_err(|_| Closed::Garbled)?;
        Ok(Zeroizing::new(plain))
    }
}

/// A passphrase as PKCS#12 hashes it: UTF-16 with a closing zero.
pub(super) fn bmp(passphrase: &str) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(passphrase.encode_utf16().chain([0]).flat_map(u16::to_be_bytes).collect())
}
