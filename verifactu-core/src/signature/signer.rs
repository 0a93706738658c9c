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
    error::SigningError,
    names::{
        C14N, DS, ECDSA_SHA256, ENVELOPED, POLICY, POLICY_SHA1, POLICY_URI, RECORD, RSA_SHA256, SHA1,
        SHA256 as SHA256_URI, SIGNED_PROPERTIES, XADES, XML_FORMAT,
    },
};
use crate::{
    certificate::{Certificate, CertificateError, Identity, KeyKind},
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
#[derive(Clone)]
pub struct Signer {
    identity: Identity,
    method: &'static str,
    /// From the end of SigningTime to the ObjectReference.
    constant_properties: String,
    properties_end: String,
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
        let mut certificates = String::new();
        for der in identity.chain() {
            certificates += &cite(&Certificate::parse(der).map_err(CertificateError::from)?);
        }
        Ok(Self {
            constant_properties: constant_properties(&certificates),
            properties_end: properties_end(),
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
            &self.properties_end,
        ];

        let mut hash = Context::new(&SHA256);
        let start = ["<xades:SignedProperties xmlns=\"", RECORD, "\" xmlns:ds=\"", DS];
        let start = start.into_iter().chain(["\" xmlns:xades=\"", XADES, "\" Id=\""]);
        for part in start.chain(properties) {
            hash.update(part.as_bytes());
        }
        let record_digest = digest::digest(&SHA256, record.as_bytes());
        let info = self.signed_info(&id, record_digest, hash.finish());
        let start = ["<ds:SignedInfo xmlns=\"", RECORD, "\" xmlns:ds=\"", DS, "\">"].concat();
        let signature =
            self.identity.sign([&start, info.as_str(), "</ds:SignedInfo>"].concat().as_bytes())?;

        out.reserve(record.len() + self.key_info.len() + self.constant_properties.len() + 2800);
        let mut put = |parts: &[&str]| {
            for part in parts {
                out.extend_from_slice(part.as_bytes());
            }
        };
        put(&[body, "<ds:Signature xmlns:ds=\"", DS, "\" Id=\"", &id, "\">"]);
        put(&["<ds:SignedInfo>", &info, "</ds:SignedInfo>"]);
        put(&["<ds:SignatureValue Id=\"", &id, "-sigvalue\">", &BASE64.encode(signature)]);
        put(&["</ds:SignatureValue>", &self.key_info, "<ds:Object>"]);
        put(&["<xades:QualifyingProperties xmlns:xades=\"", XADES, "\" Target=\"#", &id, "\">"]);
        put(&["<xades:SignedProperties Id=\""]);
        put(&properties);
        put(&["</xades:QualifyingProperties></ds:Object></ds:Signature>", end]);
        Ok(())
    }

    /// What is inside SignedInfo.
    fn signed_info(&self, id: &str, record: digest::Digest, properties: digest::Digest) -> String {
        let (record, properties) = (BASE64.encode(record), BASE64.encode(properties));
        [
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
            "</ds:DigestValue></ds:Reference>",
        ]
        .concat()
    }
}

/// The record before and after the place of the signature: its end tag, behind the huella that
/// closes every unsigned record.
fn split(record: &str) -> Option<(&str, &'static str)> {
    for (start, end) in [("<RegistroAlta", "</RegistroAlta>"), ("<RegistroAnulacion", "</RegistroAnulacion>")]
    {
        let namespace = record.strip_prefix(start).and_then(|rest| rest.strip_prefix(" xmlns=\""));
        let content = namespace.and_then(|rest| rest.strip_prefix(RECORD)?.strip_prefix("\">"));
        if content.is_some() {
            let body = record.strip_suffix(end)?;
            return body.ends_with("</Huella>").then_some((body, end));
        }
    }
    None
}

/// A `Cert` of SigningCertificate.
fn cite(certificate: &Certificate) -> String {
    [
        "<xades:Cert><xades:CertDigest><ds:DigestMethod Algorithm=\"",
        SHA256_URI,
        "\"></ds:DigestMethod><ds:DigestValue>",
        &BASE64.encode(digest::digest(&SHA256, certificate.der())),
        "</ds:DigestValue></xades:CertDigest><xades:IssuerSerial><ds:X509IssuerName>",
        &certificate.issuer.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"),
        "</ds:X509IssuerName><ds:X509SerialNumber>",
        &certificate.serial_decimal,
        "</ds:X509SerialNumber></xades:IssuerSerial></xades:Cert>",
    ]
    .concat()
}

/// From the end of SigningTime to the ObjectReference of the record.
fn constant_properties(certificates: &str) -> String {
    [
        "</xades:SigningTime><xades:SigningCertificate>",
        certificates,
        "</xades:SigningCertificate><xades:SignaturePolicyIdentifier><xades:SignaturePolicyId>",
        "<xades:SigPolicyId><xades:Identifier>",
        POLICY,
        "</xades:Identifier><xades:Description></xades:Description></xades:SigPolicyId>",
        "<xades:SigPolicyHash><ds:DigestMethod Algorithm=\"",
        SHA1,
        "\"></ds:DigestMethod><ds:DigestValue>",
        POLICY_SHA1,
        "</ds:DigestValue></xades:SigPolicyHash><xades:SigPolicyQualifiers><xades:SigPolicyQualifier>",
        "<xades:SPURI>",
        POLICY_URI,
        "</xades:SPURI></xades:SigPolicyQualifier></xades:SigPolicyQualifiers></xades:SignaturePolicyId>",
        "</xades:SignaturePolicyIdentifier></xades:SignedSignatureProperties>",
        "<xades:SignedDataObjectProperties><xades:DataObjectFormat ObjectReference=\"#",
    ]
    .concat()
}

/// From the ObjectReference to the end of SignedProperties.
fn properties_end() -> String {
    [
        "-ref0\"><xades:ObjectIdentifier><xades:Identifier>",
        XML_FORMAT,
        "</xades:Identifier><xades:Description></xades:Description></xades:ObjectIdentifier>",
        "<xades:MimeType>text/xml</xades:MimeType><xades:Encoding>UTF-8</xades:Encoding>",
        "</xades:DataObjectFormat></xades:SignedDataObjectProperties></xades:SignedProperties>",
    ]
    .concat()
}

/// The signer's certificate and, for RSA, its key as in AEAT's example. It is not signed: what binds
/// the certificate is SigningCertificate.
fn key_info(identity: &Identity) -> String {
    let certificate = BASE64.encode(identity.certificate().der());
    let key = identity.rsa_public_key().map_or_else(String::new, |(modulus, exponent)| {
        [
            "<ds:KeyValue><ds:RSAKeyValue><ds:Modulus>",
            &BASE64.encode(modulus),
            "</ds:Modulus><ds:Exponent>",
            &BASE64.encode(exponent),
            "</ds:Exponent></ds:RSAKeyValue></ds:KeyValue>",
        ]
        .concat()
    });
    [
        "<ds:KeyInfo><ds:X509Data><ds:X509Certificate>",
        &certificate,
        "</ds:X509Certificate></ds:X509Data>",
        &key,
        "</ds:KeyInfo>",
    ]
    .concat()
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").field("identity", &self.identity).finish_non_exhaustive()
    }
}
