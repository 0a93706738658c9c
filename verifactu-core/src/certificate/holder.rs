//! Whom a certificate identifies.
//!
//! Spanish certificates carry the holder's tax number in several places, depending on issuer and
//! age: ETSI EN 319 412-1 identifiers in the subject (`IDCES-12345678Z` in serialNumber,
//! `VATES-B12345674` in organizationIdentifier), FNMT's own attributes in the subject alternative
//! name, or the common name. The first place that holds a correct number counts.

use x509_parser::{
    extensions::{GeneralName, ParsedExtension},
    prelude::X509Certificate,
    x509::X509Name,
};

use super::ber::{OID, SEQUENCE, take};
use crate::types::{Nif, NifKind};

const COMMON_NAME: &str = "2.5.4.3";
const SERIAL_NUMBER: &str = "2.5.4.5";
const ORGANIZATION_IDENTIFIER: &str = "2.5.4.97";
/// FNMT, subject alternative name: the person's number and the entity's.
const FNMT_PERSON: &str = "1.3.6.1.4.1.5734.1.4";
const FNMT_ENTITY: &str = "1.3.6.1.4.1.5734.1.7";
/// Identity scheme of the public administration: the number of a seal's owner.
const ADMINISTRATION_SEAL: &str = "2.16.724.1.3.5.2.2.3";

const QC_STATEMENTS: &str = "1.3.6.1.5.5.7.1.3";
/// 0.4.0.1862.1.6, ETSI EN 319 412-5 QcType, and its value for seals, 0.4.0.1862.1.6.2.
const QC_TYPE: [u8; 6] = [0x04, 0x00, 0x8e, 0x46, 0x01, 0x06];
const QC_TYPE_SEAL: [u8; 7] = [0x04, 0x00, 0x8e, 0x46, 0x01, 0x06, 0x02];

/// The holder of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The natural person's number: the holder, or who acts for the entity.
    pub person: Option<Nif>,
    /// The number of the entity that is represented, or that owns the seal.
    pub entity: Option<Nif>,
    /// The common name; empty when the subject has none.
    pub common_name: String,
    /// What kind of certificate it is.
    pub kind: HolderKind,
}

/// The kinds of certificate that the authority tells apart: a seal has its own hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HolderKind {
    /// A natural person for itself.
    Person,
    /// A natural person for an entity.
    Representative,
    /// An entity's seal. Derived from the QcType eSeal statement, or from a subject with an entity
    /// and no person.
    Seal,
}

impl Holder {
    /// The number that the certificate speaks for: the entity's, else the person's. None in
    /// certificates without a Spanish number.
    #[must_use]
    pub fn nif(&self) -> Option<Nif> {
        self.entity.or(self.person)
    }

    /// Whether the certificate belongs to this number, as person or as entity.
    #[must_use]
    pub fn matches(&self, nif: &Nif) -> bool {
        self.entity.as_ref() == Some(nif) || self.person.as_ref() == Some(nif)
    }

    pub(super) fn of(certificate: &X509Certificate<'_>) -> Self {
        let subject = certificate.subject();
        let common_name = attribute(subject, COMMON_NAME).unwrap_or_default().to_owned();
        let alternative = |oid| alternative_name(certificate, oid).and_then(number);
        let serial = attribute(subject, SERIAL_NUMBER).and_then(number);

        let entity = attribute(subject, ORGANIZATION_IDENTIFIER)
            .and_then(number)
            .or_else(|| alternative(FNMT_ENTITY))
            .or_else(|| alternative(ADMINISTRATION_SEAL))
            .or_else(|| represented(&common_name))
            .or_else(|| serial.filter(|nif| nif.kind() == NifKind::Entity));
        let person = serial
            .filter(|nif| nif.kind() == NifKind::Person)
            .or_else(|| alternative(FNMT_PERSON))
            .or_else(|| common_name.rsplit([' ', '-']).next().and_then(number))
            .filter(|nif| nif.kind() == NifKind::Person);

        let kind = match (entity, person) {
            _ if is_seal(certificate) => HolderKind::Seal,
            (Some(_), Some(_)) => HolderKind::Representative,
            (Some(_), None) => HolderKind::Seal,
            (None, _) => HolderKind::Person,
        };
        Self { person, entity, common_name, kind }
    }
}

/// The number in `12345678Z`, `IDCES-12345678Z` or `VATES-B12345674`.
fn number(text: &str) -> Option<Nif> {
    let text = text.trim();
    let number = match text.split_once('-') {
        Some((scheme, number)) if scheme.bytes().all(|b| b.is_ascii_uppercase()) => number,
        _ => text,
    };
    Nif::parse(&number.to_ascii_uppercase()).ok()
}

/// The number in a common name like `12345678Z ANA PEREZ (R: B12345674)`.
fn represented(common_name: &str) -> Option<Nif> {
    let (_, rest) = common_name.split_once("(R:")?;
    number(rest.split_once(')')?.0)
}

fn attribute<'a>(name: &'a X509Name<'_>, oid: &str) -> Option<&'a str> {
    name.iter_attributes()
        .find(|attribute| attribute.attr_type().to_id_string() == oid)
        .and_then(|attribute| attribute.as_str().ok())
}

fn alternative_name<'a>(certificate: &'a X509Certificate<'_>, oid: &str) -> Option<&'a str> {
    certificate.extensions().iter().find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SubjectAlternativeName(names) => {
            names.general_names.iter().find_map(|name| match name {
                GeneralName::DirectoryName(name) => attribute(name, oid),
                _ => None,
            })
        }
        _ => None,
    })
}

/// Whether a QcType statement says that the certificate is for seals.
fn is_seal(certificate: &X509Certificate<'_>) -> bool {
    certificate.extensions().iter().filter(|extension| extension.oid.to_id_string() == QC_STATEMENTS).any(
        |extension| {
            let mut value = extension.value;
            let mut statements = take(&mut value, SEQUENCE).unwrap_or_default();
            std::iter::from_fn(|| take(&mut statements, SEQUENCE).ok()).any(|mut statement| {
                take(&mut statement, OID) == Ok(&QC_TYPE)
                    && take(&mut statement, SEQUENCE).is_ok_and(|mut types| {
                        std::iter::from_fn(|| take(&mut types, OID).ok()).any(|oid| oid == QC_TYPE_SEAL)
                    })
            })
        },
    )
}
