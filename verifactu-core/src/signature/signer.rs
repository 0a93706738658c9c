//! Signing of records.
//!
//! Our writer makes records that already are in canonical form, so nothing is parsed: the record's
//! octets are hashed as they stand, and the signed parts of the signature are written in the form
//! that canonical XML gives them. A part that is hashed apart from its document carries the
//! namespaces in scope there (inclusive canonical XML): the record's default namespace, `ds`, and
//! `xades` below `QualifyingProperties`. The envelope may therefore declare default namespaces only.

use aws_lc_rs::digest::{self, Context, SHA256};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use jiff::Timestamp;
use uuid::Uuid;

use super::{
    canonical::text,
    error::SigningError,
    names::{
        C14N, DS, ECDSA_SHA256, ENVELOPED, POLICY, POLICY_SHA1, POLICY_URI, RECORD, RSA_SHA256, SHA1,
        SHA256 as SHA256_URI, SIGNED_PROPERTIES, XADES, XML_FORMAT,
    },
};
use crate::{
    certificate::{Certificate, Identity, KeyKind},
    types::GenerationTime,
};

/// Whether elliptic-curve keys sign. The signature specification names RSA only, so it is the
/// caller's decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcKeys {
    /// [`SigningError::EcNotEnabled`].
    #[default]
    Refuse,
    /// ECDSA on P-256 with SHA-256.
    Allow,
}

/// Signs records with one identity. All that is the same for every record is prepared once.
pub struct Signer {
    identity: Identity,
    method: &'static str,
    /// From the end of SigningTime to the ObjectReference.
    constant_properties: String,
    key_info: String,
}

impl Signer {
    /// Prepares signing with this identity.
    ///
    /// The whole chain is cited with SHA-256 digests. AEAT's example has SHA-1 there, but its
    /// specification keeps SHA-1 for the policy alone.
    ///
    /// # Errors
    /// [`SigningError::EcNotEnabled`], [`SigningError::UnsupportedKey`].
    pub fn new(identity: &Identity, ec: EcKeys) -> Result<Self, SigningError> {
        let method = match (identity.key_kind(), ec) {
            (KeyKind::Rsa, _) => RSA_SHA256,
            (KeyKind::EcdsaP256, EcKeys::Allow) => ECDSA_SHA256,
            (KeyKind::EcdsaP256, EcKeys::Refuse) => return Err(SigningError::EcNotEnabled),
            (KeyKind::Other, _) => return Err(SigningError::UnsupportedKey),
        };
        let mut certificates = Vec::new();
        for der in identity.chain() {
            cite(&Certificate::parse(der).map_err(|e| SigningError::Key(e.into()))?, &mut certificates);
        }
        // The issuers' names come from strings, so this is UTF-8.
        let certificates = String::from_utf8(certificates).unwrap_or_default();
        Ok(Self {
            constant_properties: constant_properties(&certificates),
            key_info: key_info(identity),
            method,
            identity: identity.clone(),
        })
    }

    /// Appends the signed record to `out`.
    ///
    /// `record` is a `RegistroAlta` or `RegistroAnulacion` as our writer makes it: canonical, with
    /// AEAT's namespace as the default one. `id` makes the identifiers in the signature; take a new
    /// one for each record. `signing_time` is written in whole seconds with the offset of Madrid.
    ///
    /// # Errors
    /// [`SigningError::NotARecord`], and then nothing was appended.
    pub fn sign(
        &self,
        record: &str,
        id: Uuid,
        signing_time: Timestamp,
        out: &mut Vec<u8>,
    ) -> Result<(), SigningError> {
        let (body, end) = split(record).ok_or(SigningError::NotARecord)?;
        let id = format!("xmldsig-{}", id.as_hyphenated());
        let time = GenerationTime::in_madrid(signing_time);
        let properties = [
            id.as_str(),
            "-signedprops\"><xades:SignedSignatureProperties><xades:SigningTime>",
            time.as_str(),
            &self.constant_properties,
            &id,
            PROPERTIES_END,
        ];

        let mut hash = Context::new(&SHA256);
        hash.update(PROPERTIES_APART.as_bytes());
        for part in properties {
            hash.update(part.as_bytes());
        }
        let signed_info = self.signed_info(&id, digest::digest(&SHA256, record.as_bytes()), hash.finish());
        let signature = self.identity.sign(signed_info.as_bytes())?;

        out.reserve(record.len() + self.key_info.len() + self.constant_properties.len() + 2800);
        let mut put = |parts: &[&str]| {
            for part in parts {
                out.extend_from_slice(part.as_bytes());
            }
        };
        put(&[body, "<ds:Signature xmlns:ds=\"", DS, "\" Id=\"", &id, "\"><ds:SignedInfo>"]);
        put(&[&signed_info[SIGNED_INFO_APART.len()..]]);
        put(&["<ds:SignatureValue Id=\"", &id, "-sigvalue\">", &BASE64.encode(signature)]);
        put(&["</ds:SignatureValue>", &self.key_info, "<ds:Object><xades:QualifyingProperties xmlns:xades=\""]);
        put(&[XADES, "\" Target=\"#", &id, "\"><xades:SignedProperties Id=\""]);
        put(&properties);
        put(&["</xades:QualifyingProperties></ds:Object></ds:Signature>", end]);
        Ok(())
    }

    /// SignedInfo in the form that is signed.
    fn signed_info(&self, id: &str, record: digest::Digest, properties: digest::Digest) -> String {
        let (record, properties) = (BASE64.encode(record), BASE64.encode(properties));
        [
            SIGNED_INFO_APART,
            "<ds:CanonicalizationMethod Algorithm=\"",
            C14N,
            "\"></ds:CanonicalizationMethod><ds:SignatureMethod Algorithm=\"",
            self.method,
            "\"></ds:SignatureMethod><ds:Reference Id=\"",
            id,
            "-ref0\" URI=\"\"><ds:Transforms><ds:Transform Algorithm=\"",
            ENVELOPED,
            "\"></ds:Transform></ds:Transforms><ds:DigestMethod Algorithm=\"",
            SHA256_URI,
            "\"></ds:DigestMethod><ds:DigestValue>",
            &record,
            "</ds:DigestValue></ds:Reference><ds:Reference Type=\"",
            SIGNED_PROPERTIES,
            "\" URI=\"#",
            id,
            "-signedprops\"><ds:Transforms><ds:Transform Algorithm=\"",
            C14N,
            "\"></ds:Transform></ds:Transforms><ds:DigestMethod Algorithm=\"",
            SHA256_URI,
            "\"></ds:DigestMethod><ds:DigestValue>",
            &properties,
            "</ds:DigestValue></ds:Reference></ds:SignedInfo>",
        ]
        .concat()
    }
}
