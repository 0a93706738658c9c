//! Opening of PKCS#12 files (`.p12`, `.pfx`) in every shape met in the field.
//!
//! The frame is read here: it is rewritten as DER (Firefox, NSS), the integrity code is checked
//! over the original bytes, and the ciphers are noted. The content then goes to `p12-keystore`,
//! which decrypts it. Keys and certificates are paired by the public key and never by the labels in
//! the file, which are often wrong.
//!
//! Opening costs up to some hundred milliseconds, because files choose how often their passphrase
//! is hashed; call it where blocking is allowed.

use jiff::Timestamp;
use p12_keystore::{Pkcs12Archive, error::Error as ArchiveError};

use super::{
    ber::{self, BerError, CONTEXT_0, INTEGER, OCTET_STRING, OID, SEQUENCE, take},
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
/// Each encrypted part may cost a million hashes.
const MAX_ENCRYPTED_PARTS: usize = 24;

const DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01];
const ENCRYPTED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x06];
const SHROUDED_KEY_BAG: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01, 0x02];
/// 1.2.840.113549.1.12.1, whose six children are PKCS#12's own ciphers.
const PKCS12_PBE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01];
const PBES2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d];
const PBKDF2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0c];
const AES: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01];

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
    let der = ber::to_der(file).map_err(Malformed::from)?;
    let frame = Frame::read(&der).map_err(Malformed::from)?;
    match frame.mac.as_ref().map(|mac| mac.check(passphrase.expose(), frame.content)) {
        None | Some(MacOutcome::Good) => {}
        Some(MacOutcome::Wrong) => return Err(CertificateError::WrongPassphrase),
        Some(MacOutcome::Unsupported) => return Err(CertificateError::UnsupportedMac),
    }
    let mut ciphers = Ciphers::default();
    let safes = rewrite_safes(frame.content, &mut ciphers).map_err(Malformed::from)?;
    if ciphers.parts > MAX_ENCRYPTED_PARTS {
        return Err(Malformed::TooManyParts.into());
    }
    // The decoder derives the keys of the old ciphers from the first plane of Unicode only.
    let beyond = passphrase.expose().chars().any(|character| character > '\u{ffff}');
    if ciphers.unreadable || (ciphers.legacy && beyond) {
        return Err(CertificateError::LegacyEncryption);
    }
    let archive = Pkcs12Archive::from_pkcs12(&without_mac(&safes), passphrase.expose())
        .map_err(|error| refusal(error, frame.mac.is_some(), &ciphers))?;
    let identity = choose(archive, wanted)?;
    Ok(Opened { identity, normalized_from_legacy: ciphers.legacy })
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

/// The ciphers named in the file. Bags that are encrypted twice show only the outer one.
#[derive(Default)]
struct Ciphers {
    parts: usize,
    legacy: bool,
    unreadable: bool,
}

impl Ciphers {
    /// Notes an AlgorithmIdentifier.
    fn note(&mut self, mut algorithm: &[u8]) -> Result<(), BerError> {
        self.parts += 1;
        let oid = take(&mut algorithm, OID)?;
        if oid.starts_with(PKCS12_PBE) {
            self.legacy = true;
        } else if oid == PBES2 {
            let mut parameters = take(&mut algorithm, SEQUENCE)?;
            let derivation = take(&mut take(&mut parameters, SEQUENCE)?, OID)?;
            let cipher = take(&mut take(&mut parameters, SEQUENCE)?, OID)?;
            // No program writes scrypt by itself, and a file could make it cost a gigabyte.
            self.unreadable |= derivation != PBKDF2 || !cipher.starts_with(AES);
        } else {
            self.unreadable = true;
        }
        Ok(())
    }
}

/// Rewrites the AuthenticatedSafe and the plain safes in it as DER, and notes the ciphers.
fn rewrite_safes(content: &[u8], ciphers: &mut Ciphers) -> Result<Vec<u8>, BerError> {
    let der = ber::to_der(content)?;
    let mut infos = take(&mut der.as_slice(), SEQUENCE)?;
    let mut rewritten = Vec::with_capacity(der.len());
    while !infos.is_empty() {
        let info = take(&mut infos, SEQUENCE)?;
        let mut fields = info;
        let kind = take(&mut fields, OID)?;
        let mut explicit = take(&mut fields, CONTEXT_0)?;
        if kind == DATA {
            let bags = ber::to_der(take(&mut explicit, OCTET_STRING)?)?;
            note_bags(&bags, ciphers)?;
            encode_data(&bags, &mut rewritten);
        } else if kind == ENCRYPTED_DATA {
            let mut data = take(&mut explicit, SEQUENCE)?;
            take(&mut data, INTEGER)?;
            let mut encrypted = take(&mut data, SEQUENCE)?;
            take(&mut encrypted, OID)?;
            ciphers.note(take(&mut encrypted, SEQUENCE)?)?;
            ber::encode(SEQUENCE, info, &mut rewritten);
        } else {
            return Err(BerError::Unexpected);
        }
    }
    let mut safes = Vec::with_capacity(rewritten.len() + 8);
    ber::encode(SEQUENCE, &rewritten, &mut safes);
    Ok(safes)
}

fn note_bags(mut safe: &[u8], ciphers: &mut Ciphers) -> Result<(), BerError> {
    let mut bags = take(&mut safe, SEQUENCE)?;
    while !bags.is_empty() {
        let mut bag = take(&mut bags, SEQUENCE)?;
        if take(&mut bag, OID)? == SHROUDED_KEY_BAG {
            let mut key = take(&mut take(&mut bag, CONTEXT_0)?, SEQUENCE)?;
            ciphers.note(take(&mut key, SEQUENCE)?)?;
        }
    }
    Ok(())
}

/// A PFX without integrity code around the safes.
fn without_mac(safes: &[u8]) -> Vec<u8> {
    let mut fields = Vec::with_capacity(safes.len() + 64);
    ber::encode(INTEGER, &[3], &mut fields);
    encode_data(safes, &mut fields);
    let mut pfx = Vec::with_capacity(fields.len() + 8);
    ber::encode(SEQUENCE, &fields, &mut pfx);
    pfx
}

/// `ContentInfo { data, [0] OCTET STRING }`
fn encode_data(content: &[u8], out: &mut Vec<u8>) {
    let mut octets = Vec::with_capacity(content.len() + 8);
    ber::encode(OCTET_STRING, content, &mut octets);
    let mut info = Vec::with_capacity(octets.len() + 24);
    ber::encode(OID, DATA, &mut info);
    ber::encode(CONTEXT_0, &octets, &mut info);
    ber::encode(SEQUENCE, &info, out);
}

/// A passphrase that passed the integrity code is right, so what fails after it is the file's
/// fault. Without integrity code, a wrong passphrase shows itself as content that makes no sense.
fn refusal(error: ArchiveError, checked: bool, ciphers: &Ciphers) -> CertificateError {
    match error {
        ArchiveError::UnsupportedEncryptionScheme | ArchiveError::UnsupportedMacAlgorithm => {
            CertificateError::LegacyEncryption
        }
        ArchiveError::Pkcs5Error(_)
        | ArchiveError::UnpadError
        | ArchiveError::DerError(_)
        | ArchiveError::InvalidPrivateKey
            if !checked && ciphers.parts > 0 =>
        {
            CertificateError::WrongPassphrase
        }
        other => Malformed::Content(Box::new(other)).into(),
    }
}

fn choose(archive: Pkcs12Archive, wanted: Wanted<'_>) -> Result<Identity, CertificateError> {
    if archive.keys.is_empty() {
        return Err(Malformed::NoKey.into());
    }
    if archive.certs.is_empty() {
        return Err(Malformed::NoCertificate.into());
    }
    if archive.keys.len() > MAX_KEYS || archive.certs.len() > MAX_CERTIFICATES {
        return Err(Malformed::TooManyParts.into());
    }
    let ders: Vec<&[u8]> = archive.certs.iter().map(|bag| bag.cert.as_der()).collect();
    let mut pairs: Vec<(SecretBytes, Certificate)> = Vec::new();
    let mut unusable = 0;
    for bag in &archive.keys {
        let key = SecretBytes::new(bag.key.as_der().to_vec());
        let Ok(mut certified) = pair(&key, Vec::new()) else {
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
        return Err(if unusable == archive.keys.len() {
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
