//! Whom a certificate speaks for, and the subject it bears.
//!
//! The subjects have the shape of the qualified certificates in use in Spain: `serialNumber`
//! `IDCES-…` for a person, `organizationIdentifier` `VATES-…` for an entity, the NIF once more in
//! the common name; and the eIDAS statement that tells a seal from a signature.

use std::fmt;

use jiff::Timestamp;
use rcgen::string::PrintableString;
use rcgen::{
    CertificateParams, CustomExtension, DistinguishedName, DnType, DnValue, ExtendedKeyUsagePurpose, IsCa,
    KeyUsagePurpose, date_time_ymd,
};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::SandboxError;

/// The passphrase of a PKCS#12 file when none was asked for.
pub const DEFAULT_PASSPHRASE: &str = "sandbox";

const SERIAL_NUMBER: &[u64] = &[2, 5, 4, 5];
const ORGANIZATION_IDENTIFIER: &[u64] = &[2, 5, 4, 97];
const QC_STATEMENTS: &[u64] = &[1, 3, 6, 1, 5, 5, 7, 1, 3];

/// The three kinds of certificate that AEAT knows. Its seals have hosts of their own; the sandbox
/// serves all three on one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum HolderKind {
    /// A natural person.
    Person,
    /// A natural person who represents an entity.
    Representative,
    /// An entity's electronic seal.
    Seal,
}

/// The kind of private key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyKind {
    /// RSA of 2048 bits, what the qualified issuers give and the signature profile asks for.
    #[default]
    Rsa2048,
    /// ECDSA on P-256, made in an instant.
    P256,
}

/// Whom to issue a certificate for.
#[derive(Clone)]
pub struct Holder {
    kind: HolderKind,
    person: Option<Party>,
    entity: Option<Party>,
    validity: Option<(Timestamp, Timestamp)>,
    pub(super) key: KeyKind,
    pub(super) passphrase: Zeroizing<String>,
}

#[derive(Clone, Debug)]
struct Party {
    nif: String,
    name: String,
}

impl Holder {
    /// A natural person; the name is surnames first.
    pub fn person(nif: impl Into<String>, name: impl Into<String>) -> Self {
        Self::new(HolderKind::Person, Some(Party::new(nif, name)), None)
    }

    /// A natural person who represents an entity.
    pub fn representative(
        nif: impl Into<String>,
        name: impl Into<String>,
        entity_nif: impl Into<String>,
        entity_name: impl Into<String>,
    ) -> Self {
        Self::new(
            HolderKind::Representative,
            Some(Party::new(nif, name)),
            Some(Party::new(entity_nif, entity_name)),
        )
    }

    /// An entity's seal.
    pub fn seal(nif: impl Into<String>, name: impl Into<String>) -> Self {
        Self::new(HolderKind::Seal, None, Some(Party::new(nif, name)))
    }

    fn new(kind: HolderKind, person: Option<Party>, entity: Option<Party>) -> Self {
        Self {
            kind,
            person,
            entity,
            validity: None,
            key: KeyKind::default(),
            passphrase: Zeroizing::new(DEFAULT_PASSPHRASE.to_owned()),
        }
    }

    /// The passphrase of the PKCS#12 file, instead of [`DEFAULT_PASSPHRASE`].
    #[must_use]
    pub fn with_passphrase(mut self, passphrase: impl Into<String>) -> Self {
        self.passphrase = Zeroizing::new(passphrase.into());
        self
    }

    /// When the certificate is valid, instead of 2020 to 2049; may lie in the past.
    #[must_use]
    pub fn with_validity(mut self, from: Timestamp, until: Timestamp) -> Self {
        self.validity = Some((from, until));
        self
    }

    /// An elliptic curve key instead of RSA.
    #[must_use]
    pub fn with_ec_key(mut self) -> Self {
        self.key = KeyKind::P256;
        self
    }

    pub(super) fn common_name(&self) -> String {
        match (&self.person, &self.entity) {
            (Some(person), Some(entity)) => {
                format!("{} {} (R: {})", person.nif, person.name, entity.nif)
            }
            (Some(party), None) => format!("{} - {}", party.name, party.nif),
            (None, Some(entity)) => entity.name.clone(),
            (None, None) => String::new(),
        }
    }

    pub(super) fn params(&self) -> Result<CertificateParams, SandboxError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = self.subject()?;
        (params.not_before, params.not_after) = match self.validity {
            None => (date_time_ymd(2020, 1, 1), date_time_ymd(2049, 12, 31)),
            Some((from, until)) => {
                let epoch = date_time_ymd(1970, 1, 1);
                let at = |stamp: Timestamp| {
                    let seconds = u64::try_from(stamp.as_second()).unwrap_or(0);
                    epoch + std::time::Duration::from_secs(seconds)
                };
                (at(from), at(until))
            }
        };
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::ContentCommitment,
            KeyUsagePurpose::KeyEncipherment,
        ];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::EmailProtection];
        params.use_authority_key_identifier_extension = true;
        params.custom_extensions =
            vec![CustomExtension::from_oid_content(QC_STATEMENTS, qualified_type(self.kind).to_vec())];
        Ok(params)
    }

    fn subject(&self) -> Result<DistinguishedName, SandboxError> {
        let mut subject = DistinguishedName::new();
        subject.push(DnType::CountryName, "ES");
        if let Some(entity) = &self.entity {
            subject.push(DnType::OrganizationName, text("the entity's name", &entity.name)?);
            subject.push(
                DnType::CustomDnType(ORGANIZATION_IDENTIFIER.to_vec()),
                text("the entity's NIF", &format!("VATES-{}", nif("the entity's NIF", entity)?))?,
            );
        }
        let serial = match (&self.person, &self.entity) {
            (Some(person), _) => format!("IDCES-{}", nif("the NIF", person)?),
            (None, Some(entity)) => nif("the NIF", entity)?.to_owned(),
            (None, None) => String::new(),
        };
        let serial =
            PrintableString::try_from(serial).map_err(|_| SandboxError::Holder { field: "the NIF" })?;
        subject.push(DnType::CustomDnType(SERIAL_NUMBER.to_vec()), DnValue::PrintableString(serial));
        subject.push(DnType::CommonName, text("the name", &self.common_name())?);
        Ok(subject)
    }
}

impl fmt::Debug for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holder")
            .field("kind", &self.kind)
            .field("person", &self.person)
            .field("entity", &self.entity)
            .finish_non_exhaustive()
    }
}

impl Party {
    fn new(nif: impl Into<String>, name: impl Into<String>) -> Self {
        Self { nif: nif.into(), name: name.into() }
    }
}

/// A NIF is not checked beyond its characters: a test may want a wrong one in a certificate.
fn nif<'a>(field: &'static str, party: &'a Party) -> Result<&'a str, SandboxError> {
    let fits =
        (1..=20).contains(&party.nif.len()) && party.nif.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if fits { Ok(&party.nif) } else { Err(SandboxError::Holder { field }) }
}

fn text(field: &'static str, value: &str) -> Result<String, SandboxError> {
    let fits = (1..=200).contains(&value.chars().count()) && !value.contains(char::is_control);
    if fits { Ok(value.to_owned()) } else { Err(SandboxError::Holder { field }) }
}

/// `QCStatements` with compliance and type (ETSI EN 319 412-5): `esign` or `eseal`.
const fn qualified_type(kind: HolderKind) -> [u8; 33] {
    let purpose = match kind {
        HolderKind::Person | HolderKind::Representative => 1,
        HolderKind::Seal => 2,
    };
    [
        0x30, 31, //
        0x30, 8, 0x06, 6, 0x04, 0x00, 0x8E, 0x46, 0x01, 0x01, //
        0x30, 19, 0x06, 6, 0x04, 0x00, 0x8E, 0x46, 0x01, 0x06, //
        0x30, 9, 0x06, 7, 0x04, 0x00, 0x8E, 0x46, 0x01, 0x06, purpose,
    ]
}
