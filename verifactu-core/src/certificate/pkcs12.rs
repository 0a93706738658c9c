//! Opening of PKCS#12 files (`.p12`, `.pfx`) in every shape met in the field.
//!
//! The frame is rewritten as DER (Firefox, NSS), and the integrity code is checked over the original
//! bytes. Keys and certificates are paired by the public key and never by the labels in the file,
//! which are often wrong.
//!
//! A file says for every encrypted part how often its passphrase is hashed. What all of them ask for
//! is added up before any of it is done, and again when an opened part turns out to hold encrypted
//! keys. Bags of other kinds (secrets, lists of revocations) are passed over unopened.
//!
//! Opening costs up to some seconds of hashing; call it where blocking is allowed.

use jiff::Timestamp;
use zeroize::Zeroizing;

use super::{
    ber::{self, BerError, CONTEXT_0, INTEGER, OCTET_STRING, OID, SEQUENCE, take},
    cipher::{Closed, Encrypted},
    error::{CertificateError, Malformed},
    identity::{Identity, pair},
    mac::{Mac, MacOutcome},
    x509::{Certificate, chain_of},
};
use crate::types::{Nif, Secret, SecretBytes};

/// Largest file that is read, in bytes.
pub const MAX_FILE: usize = 128 * 1024;
const MAX_KEYS: usize = 16;
const MAX_CERTIFICATES: usize = 64;
const MAX_ENCRYPTED_PARTS: usize = 24;
/// How often all parts together, the integrity code among them, may have the passphrase hashed.
/// Firefox asks for 600 000 for each of three, and no other program for as much.
const MAX_WORK: u64 = 3_000_000;

const DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01];
const ENCRYPTED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x06];
/// The tag of the encrypted bytes of an EncryptedContentInfo: `[0]` in place of an octet string's.
const IMPLICIT_0: u8 = 0x80;
const KEY_BAG: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01, 0x01];
const SHROUDED_KEY_BAG: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01, 0x02];
const CERTIFICATE_BAG: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01, 0x03];
const X509: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x16, 0x01];

/// Which of several identities in a file is wanted, and at what time it must be valid.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The holder to prefer. It is a preference: whether the identity found belongs to it is for
    /// [`Identity::matches`] to say.
    pub holder: Option<&'a Nif>,
    /// The present time.
    pub now: Timestamp,
}

/// What a file held.
#[derive(Debug)]
pub struct Opened {
    /// The identity chosen.
    pub identity: Identity,
    /// Whether the file used the old PKCS#12 ciphers (RC2-40, 3DES). Nothing is stored in them.
    pub normalized_from_legacy: bool,
}

/// Opens a file and chooses the identity: the valid one that belongs to the wanted holder, else the
/// newest valid one.
///
/// # Errors
/// Every [`CertificateError`] but [`CertificateError::Vault`] and [`CertificateError::Signing`].
pub fn open(file: &[u8], passphrase: &Secret, wanted: Wanted<'_>) -> Result<Opened, CertificateError> {
    if file.len() > MAX_FILE {
        return Err(Malformed::TooLarge.into());
    }
    let der = Zeroizing::new(ber::to_der(file).map_err(Malformed::from)?);
    let frame = Frame::read(&der).map_err(Malformed::from)?;
    let mut bags = Bags::default();
    let safes = read_safes(frame.content, &mut bags).map_err(Malformed::from)?;
    let proof = frame.mac.as_ref().map_or(0, Mac::cost);
    affordable(proof, &safes, &bags.shrouded)?;
    match frame.mac.as_ref().map(|mac| mac.check(passphrase.expose(), frame.content)) {
        None | Some(MacOutcome::Good) => {}
        Some(MacOutcome::Wrong) => return Err(CertificateError::WrongPassphrase),
        Some(MacOutcome::Unsupported) => return Err(CertificateError::UnsupportedMac),
    }
    // A passphrase that passed the integrity code is right, so what fails after it is the file's fault.
    // Without integrity code, a wrong passphrase shows itself as content that makes no sense.
    let garbled = || match frame.mac {
        Some(_) => CertificateError::from(Malformed::Content),
        None => CertificateError::WrongPassphrase,
    };
    let decrypt = |part: &Encrypted| {
        part.decrypt(passphrase.expose()).map_err(|closed| match closed {
            Closed::Cipher => CertificateError::LegacyEncryption,
            Closed::Garbled => garbled(),
        })
    };
    for safe in &safes {
        let content = ber::to_der(&decrypt(safe)?).map(Zeroizing::new).map_err(|_| garbled())?;
        bags.read(&content).map_err(|_| garbled())?;
    }
    affordable(proof, &safes, &bags.shrouded)?;
    for shrouded in &bags.shrouded {
        let key = decrypt(shrouded)?;
        check_key(&key).map_err(|_| garbled())?;
        bags.keys.push(SecretBytes::new(key.to_vec()));
    }
    let normalized_from_legacy = safes.iter().chain(&bags.shrouded).any(Encrypted::is_old);
    Ok(Opened { identity: choose(&bags, wanted)?, normalized_from_legacy })
}

/// Whether the encrypted parts keep within the bounds of what may be asked for.
fn affordable(proof: u32, safes: &[Encrypted], keys: &[Encrypted]) -> Result<(), Malformed> {
    if safes.len() + keys.len() > MAX_ENCRYPTED_PARTS {
        return Err(Malformed::TooManyParts);
    }
    let parts = safes.iter().chain(keys).map(|part| u64::from(part.cost()));
    if u64::from(proof) + parts.sum::<u64>() > MAX_WORK { Err(Malformed::TooMuchWork) } else { Ok(()) }
}

/// `PFX ::= SEQUENCE { version 3, ContentInfo { data, [0] OCTET STRING }, MacData OPTIONAL }`
struct Frame<'a> {
    /// The AuthenticatedSafe as it came.
    content: &'a [u8],
    mac: Option<Mac<'a>>,
}

impl<'a> Frame<'a> {
    fn read(mut der: &'a [u8]) -> Result<Self, BerError> {
        let mut pfx = take(&mut der, SEQUENCE)?;
        if take(&mut pfx, INTEGER)? != [3] {
            return Err(BerError::Unexpected);
        }
        let mut info = take(&mut pfx, SEQUENCE)?;
        // The other kind, signed data, protects the file with a certificate instead of a passphrase.
        if take(&mut info, OID)? != DATA {
            return Err(BerError::Unexpected);
        }
        let content = take(&mut take(&mut info, CONTEXT_0)?, OCTET_STRING)?;
        let mac = if pfx.is_empty() { None } else { Some(Mac::read(take(&mut pfx, SEQUENCE)?)?) };
        Ok(Self { content, mac })
    }
}

/// What the safes of a file hold.
#[derive(Default)]
struct Bags {
    /// Private keys, PKCS#8.
    keys: Vec<SecretBytes>,
    /// Private keys that are encrypted once more.
    shrouded: Vec<Encrypted>,
    /// X.509 in DER, as far as anybody looked.
    certificates: Vec<Vec<u8>>,
}

impl Bags {
    /// Takes what there is in a SafeContents.
    fn read(&mut self, mut safe: &[u8]) -> Result<(), BerError> {
        let mut bags = take(&mut safe, SEQUENCE)?;
        while !bags.is_empty() {
            let mut bag = take(&mut bags, SEQUENCE)?;
            let kind = take(&mut bag, OID)?;
            let mut value = take(&mut bag, CONTEXT_0)?;
            if kind == KEY_BAG {
                check_key(value)?;
                self.keys.push(SecretBytes::new(value.to_vec()));
            } else if kind == SHROUDED_KEY_BAG {
                let mut key = take(&mut value, SEQUENCE)?;
                let algorithm = take(&mut key, SEQUENCE)?;
                self.shrouded.push(Encrypted::read(algorithm, take(&mut key, OCTET_STRING)?)?);
            } else if kind == CERTIFICATE_BAG {
                let mut certificate = take(&mut value, SEQUENCE)?;
                if take(&mut certificate, OID)? == X509 {
                    let der = take(&mut take(&mut certificate, CONTEXT_0)?, OCTET_STRING)?;
                    self.certificates.push(der.to_vec());
                }
            }
        }
        Ok(())
    }
}

/// Whether this is a PKCS#8 key: `SEQUENCE { version, algorithm, OCTET STRING, … }`.
fn check_key(mut der: &[u8]) -> Result<(), BerError> {
    let mut key = take(&mut der, SEQUENCE)?;
    take(&mut key, INTEGER)?;
    take(&mut take(&mut key, SEQUENCE)?, OID)?;
    take(&mut key, OCTET_STRING)?;
    Ok(())
}

/// Takes apart an AuthenticatedSafe: the bags of the plain safes, and the encrypted safes as they are.
fn read_safes(content: &[u8], bags: &mut Bags) -> Result<Vec<Encrypted>, BerError> {
    let der = Zeroizing::new(ber::to_der(content)?);
    let mut infos = take(&mut der.as_slice(), SEQUENCE)?;
    let mut encrypted = Vec::new();
    while !infos.is_empty() {
        let mut info = take(&mut infos, SEQUENCE)?;
        let kind = take(&mut info, OID)?;
        let mut explicit = take(&mut info, CONTEXT_0)?;
        if kind == DATA {
            bags.read(&Zeroizing::new(ber::to_der(take(&mut explicit, OCTET_STRING)?)?))?;
        } else if kind == ENCRYPTED_DATA {
            let mut data = take(&mut explicit, SEQUENCE)?;
            take(&mut data, INTEGER)?;
            let mut safe = take(&mut data, SEQUENCE)?;
            take(&mut safe, OID)?;
            let algorithm = take(&mut safe, SEQUENCE)?;
            encrypted.push(Encrypted::read(algorithm, take(&mut safe, IMPLICIT_0)?)?);
        } else {
            return Err(BerError::Unexpected);
        }
    }
    Ok(encrypted)
}

fn choose(bags: &Bags, wanted: Wanted<'_>) -> Result<Identity, CertificateError> {
    if bags.keys.is_empty() {
        return Err(Malformed::NoKey.into());
    }
    if bags.certificates.is_empty() {
        return Err(Malformed::NoCertificate.into());
    }
    if bags.keys.len() > MAX_KEYS || bags.certificates.len() > MAX_CERTIFICATES {
        return Err(Malformed::TooManyParts.into());
    }
    let ders: Vec<&[u8]> = bags.certificates.iter().map(Vec::as_slice).collect();
    let mut pairs: Vec<(SecretBytes, Certificate)> = Vec::new();
    let mut unusable = 0;
    for key in &bags.keys {
        let Ok(mut certified) = pair(key, Vec::new()) else {
            unusable += 1;
            continue;
        };
        for der in &ders {
            certified.cert = vec![der.to_vec().into()];
            if certified.keys_match().is_ok() {
                pairs.push((key.clone(), Certificate::parse(der)?));
            }
        }
    }
    if pairs.is_empty() {
        return Err(if unusable == bags.keys.len() {
            CertificateError::UnsupportedKey
        } else {
            Malformed::NoMatchingPair.into()
        });
    }
    // Later in this order is better.
    pairs.sort_by_key(|(_, certificate)| {
        let theirs = wanted.holder.is_some_and(|nif| certificate.holder.matches(nif));
        let valid = certificate.is_valid_at(wanted.now);
        (valid, theirs, certificate.not_before, certificate.not_after)
    });
    let (key, certificate) = pairs.pop().ok_or(Malformed::NoMatchingPair)?;
    if !certificate.is_valid_at(wanted.now) {
        let Certificate { not_before, not_after, .. } = certificate;
        return Err(CertificateError::Expired { not_before, not_after });
    }
    Identity::new(key, chain_of(certificate.der(), &ders))
}
