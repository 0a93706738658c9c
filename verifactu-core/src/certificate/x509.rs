//! What the service says about a certificate, and what a signature cites of it.

use std::fmt::Write as _;

use jiff::Timestamp;
use x509_parser::{prelude::FromDer as _, x509::X509Name};

use super::{ber, error::Malformed, holder::Holder};

/// An X.509 certificate that was read.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    der: Vec<u8>,
    /// Whom it identifies.
    pub holder: Holder,
    /// The issuer's name as RFC 2253 writes it.
    pub issuer: String,
    /// The serial number in upper-case hexadecimal, as browsers and issuers show it.
    pub serial: String,
    /// The serial number in decimal, as XML signatures cite it.
    pub serial_decimal: String,
    /// Start of the validity.
    pub not_before: Timestamp,
    /// End of the validity.
    pub not_after: Timestamp,
}

impl Certificate {
    /// Reads a certificate in DER.
    ///
    /// # Errors
    /// [`Malformed::X509`].
    pub fn parse(der: &[u8]) -> Result<Self, Malformed> {
        let (rest, parsed) =
            x509_parser::certificate::X509Certificate::from_der(der).map_err(|_| Malformed::X509)?;
        if !rest.is_empty() {
            return Err(Malformed::X509);
        }
        let instant = |time: x509_parser::time::ASN1Time| {
            Timestamp::from_second(time.timestamp()).map_err(|_| Malformed::X509)
        };
        let validity = parsed.validity();
        Ok(Self {
            holder: Holder::of(&parsed),
            issuer: rfc_2253(parsed.issuer()),
            serial: format!("{:X}", parsed.serial),
            serial_decimal: parsed.serial.to_string(),
            not_before: instant(validity.not_before)?,
            not_after: instant(validity.not_after)?,
            der: der.to_vec(),
        })
    }

    /// The certificate itself.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// The holder's public key, as a signature of a record needs it.
    pub(crate) fn public_key(&self) -> Result<PublicKey, Malformed> {
        let (_, parsed) =
            x509_parser::certificate::X509Certificate::from_der(&self.der).map_err(|_| Malformed::X509)?;
        let info = parsed.public_key();
        let key = info.subject_public_key.data.to_vec();
        let curve = || info.algorithm.parameters.as_ref()?.as_oid().ok().map(|oid| oid.to_id_string());
        Ok(match info.algorithm.algorithm.to_id_string().as_str() {
            "1.2.840.113549.1.1.1" => PublicKey::Rsa(key),
            "1.2.840.10045.2.1" if curve().as_deref() == Some("1.2.840.10045.3.1.7") => PublicKey::P256(key),
            _ => PublicKey::Other,
        })
    }

    /// Whether the validity includes this time.
    #[must_use]
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.not_before <= now && now <= self.not_after
    }
}

/// A public key, by the signatures it verifies.
pub(crate) enum PublicKey {
    /// An RSAPublicKey in DER.
    Rsa(Vec<u8>),
    /// An uncompressed point on P-256.
    P256(Vec<u8>),
    Other,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificate")
            .field("holder", &self.holder)
            .field("issuer", &self.issuer)
            .field("serial", &self.serial)
            .field("not_before", &self.not_before)
            .field("not_after", &self.not_after)
            .finish()
    }
}

/// Orders certificates leaf first: each is followed by the one whose subject is its issuer, up to a
/// self-issued one or the last that is known.
pub(super) fn chain_of(leaf: &[u8], others: &[&[u8]]) -> Vec<Vec<u8>> {
    /// Longer than any real chain (leaf, two intermediates, root).
    const LONGEST: usize = 8;
    let read = |der| x509_parser::certificate::X509Certificate::from_der(der).ok().map(|(_, c)| c);
    let mut chain = vec![leaf.to_vec()];
    let mut last = leaf;
    while chain.len() < LONGEST
        && let Some(current) = read(last)
        && current.issuer().as_raw() != current.subject().as_raw()
        && let Some(issuer) = others
            .iter()
            .find(|der| read(der).is_some_and(|c| c.subject().as_raw() == current.issuer().as_raw()))
    {
        chain.push(issuer.to_vec());
        last = issuer;
    }
    chain
}

/// RFC 2253: last part first, short names for its table of attributes, `OID=#hex` for all others.
fn rfc_2253(name: &X509Name<'_>) -> String {
    let mut text = String::new();
    let parts: Vec<_> = name.iter_rdn().collect();
    for (position, part) in parts.iter().rev().enumerate() {
        if position > 0 {
            text.push(',');
        }
        for (position, attribute) in part.iter().enumerate() {
            if position > 0 {
                text.push('+');
            }
            let oid = attribute.attr_type().to_id_string();
            match (short_name(&oid), attribute.as_str()) {
                // Control characters have no place in the XML that cites the name.
                (Some(short), Ok(value)) if !value.contains(char::is_control) => {
                    text.push_str(short);
                    text.push('=');
                    escape(value, &mut text);
                }
                (short, _) => {
                    text.push_str(short.unwrap_or(&oid));
                    text.push_str("=#");
                    let value = attribute.attr_value();
                    let mut der = Vec::new();
                    // Tags of strings are below 31, so they are one octet.
                    ber::encode(value.tag().0 as u8, value.data, &mut der);
                    for octet in der {
                        let _ = write!(text, "{octet:02x}");
                    }
                }
            }
        }
    }
    text
}

fn short_name(oid: &str) -> Option<&'static str> {
    Some(match oid {
        "2.5.4.3" => "CN",
        "2.5.4.6" => "C",
        "2.5.4.7" => "L",
        "2.5.4.8" => "ST",
        "2.5.4.9" => "STREET",
        "2.5.4.10" => "O",
        "2.5.4.11" => "OU",
        "0.9.2342.19200300.100.1.25" => "DC",
        "0.9.2342.19200300.100.1.1" => "UID",
        _ => return None,
    })
}

fn escape(value: &str, text: &mut String) {
    let last = value.chars().count().saturating_sub(1);
    for (position, character) in value.chars().enumerate() {
        let special = matches!(character, ',' | '+' | '"' | '\\' | '<' | '>' | ';')
            || (position == 0 && matches!(character, '#' | ' '))
            || (position == last && character == ' ');
        if special {
            text.push('\\');
        }
        text.push(character);
    }
}
