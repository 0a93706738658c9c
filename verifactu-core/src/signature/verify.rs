//! Verification of a signed record.
//!
//! A valid value is not enough: the signature must cover the record that is read. So the places are
//! fixed (one `ds:Signature`, the last child of the root; one SignedProperties inside it, whose
//! identifier is unique) and so are the references: one to the whole document with the
//! enveloped-signature transform, one to those SignedProperties, and no other.

use aws_lc_rs::{
    digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA512, digest},
    signature::{
        ECDSA_P256_SHA256_FIXED, RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
        RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY, UnparsedPublicKey, VerificationAlgorithm,
    },
};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use jiff::Timestamp;

use super::{
    canonical::canonical,
    error::{SignatureError, Signed},
    names::{
        C14N, DS, ECDSA_SHA256, ENVELOPED, POLICY, POLICY_SHA1, RECORD, RSA_SHA256, RSA_SHA512, SHA1,
        SHA256 as SHA256_URI, SHA512 as SHA512_URI, SIGNED_PROPERTIES, XADES,
    },
    tree::{Document, Element, Index},
};
use crate::certificate::{Certificate, PublicKey};

/// Most certificates that a signature may carry or cite.
const MAX_CERTIFICATES: usize = 16;

/// A record whose signature is valid. Nothing is said about trust: the certificate may be expired,
/// revoked or made by anyone.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verified {
    /// The signer's certificate.
    pub certificate: Certificate,
    /// The time that the signer declares.
    pub signing_time: Timestamp,
    /// How it was signed.
    pub algorithm: SignatureAlgorithm,
    /// The identifier of the policy it follows.
    pub policy: String,
}

/// The signatures that are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignatureAlgorithm {
    /// RSA PKCS#1 v1.5 with SHA-256.
    RsaSha256,
    /// RSA PKCS#1 v1.5 with SHA-512.
    RsaSha512,
    /// ECDSA on P-256 with SHA-256.
    EcdsaP256Sha256,
}

/// Verifies a document that is a signed record.
///
/// # Errors
/// [`SignatureError`] says what is wrong; everything but [`SignatureError::Digest`] and
/// [`SignatureError::Value`] is a matter of form.
pub fn verify(document: &[u8]) -> Result<Verified, SignatureError> {
    let document = Document::read(document)?;
    Verification { document: &document }.run()
}

struct Verification<'a> {
    document: &'a Document,
}

/// An element with its place.
type Found<'a> = (Index, &'a Element);

impl<'a> Verification<'a> {
    fn run(&self) -> Result<Verified, SignatureError> {
        let signature = self.signature()?;
        let profile = |part| SignatureError::Profile { part };
        let info = self.only(signature, DS, "SignedInfo")?;
        let object = self.only(signature, DS, "Object")?;
        let qualifying = self.only(object, XADES, "QualifyingProperties")?;
        let properties = self.only(qualifying, XADES, "SignedProperties")?;
        let target = qualifying.1.attribute("Target").and_then(|target| target.strip_prefix('#'));
        if target.is_none() || target != signature.1.attribute("Id") {
            return Err(profile("QualifyingProperties"));
        }

        self.algorithm(info, "CanonicalizationMethod", &[C14N])?;
        let references = self.all(info, DS, "Reference");
        let [one, other] = references.as_slice() else { return Err(profile("Reference")) };
        let (record, part) = if one.1.attribute("URI") == Some("") { (one, other) } else { (other, one) };
        self.check_record(*record, signature)?;
        self.check_properties(*part, properties)?;

        let own = self.only(properties, XADES, "SignedSignatureProperties")?;
        let certificate = self.certificate(signature, own)?;
        let algorithm = self.check_value(signature, info, &certificate)?;
        let policy = self.policy(own)?;
        let time = self.only(own, XADES, "SigningTime")?.1.text();
        let signing_time = time.trim().parse().map_err(|_| profile("SigningTime"))?;
        Ok(Verified { certificate, signing_time, algorithm, policy })
    }

    /// The only signature of the document: the last element of the record.
    fn signature(&self) -> Result<Found<'a>, SignatureError> {
        let root = self.document.elements.first().ok_or(SignatureError::NotARecord)?;
        if !root.is(RECORD, "RegistroAlta") && !root.is(RECORD, "RegistroAnulacion") {
            return Err(SignatureError::NotARecord);
        }
        let count = self.document.elements.iter().filter(|element| element.is(DS, "Signature")).count();
        match (count, self.document.children(0).last()) {
            (0, _) => Err(SignatureError::Unsigned),
            (1, Some(last)) if last.1.is(DS, "Signature") => Ok(last),
            _ => Err(SignatureError::Profile { part: "Signature" }),
        }
    }

    /// The reference to the record: the whole document without the signature.
    fn check_record(&self, reference: Found<'a>, signature: Found<'a>) -> Result<(), SignatureError> {
        let transforms = self.transforms(reference)?;
        let transforms: Vec<&str> = transforms.iter().map(String::as_str).collect();
        if reference.1.attribute("URI") != Some("")
            || !matches!(transforms.as_slice(), [ENVELOPED] | [ENVELOPED, C14N])
        {
            return Err(SignatureError::Profile { part: "Reference" });
        }
        let covered = canonical(self.document, 0, Some(signature.0));
        self.check_digest(
            reference,
            &covered,
            &[SHA256_URI, SHA512_URI],
            SignatureError::Digest(Signed::Record),
        )
    }

    /// The reference to the SignedProperties of this signature.
    fn check_properties(&self, reference: Found<'a>, properties: Found<'a>) -> Result<(), SignatureError> {
        let refused = SignatureError::Profile { part: "Reference" };
        let Some(id) = reference.1.attribute("URI").and_then(|uri| uri.strip_prefix('#')) else {
            return Err(refused);
        };
        let is_id = |name: &str| name.eq_ignore_ascii_case("id");
        let attributes = self.document.elements.iter().flat_map(|element| &element.attributes);
        let bearers = attributes.filter(|a| is_id(a.local()) && a.value == id).count();
        if properties.1.attribute("Id") != Some(id)
            || bearers != 1
            || reference.1.attribute("Type") != Some(SIGNED_PROPERTIES)
            || self.transforms(reference)?.iter().any(|transform| transform != C14N)
        {
            return Err(refused);
        }
        let covered = canonical(self.document, properties.0, None);
        let changed = SignatureError::Digest(Signed::Properties);
        self.check_digest(reference, &covered, &[SHA256_URI, SHA512_URI], changed)
    }

    /// The certificate beside the signature that SigningCertificate names by digest and number.
    fn certificate(&self, signature: Found<'a>, own: Found<'a>) -> Result<Certificate, SignatureError> {
        let key_info = self.only(signature, DS, "KeyInfo")?;
        let mut carried = Vec::new();
        for data in self.all(key_info, DS, "X509Data") {
            carried.extend(self.all(data, DS, "X509Certificate"));
        }
        let cited = self.all(self.only(own, XADES, "SigningCertificate")?, XADES, "Cert");
        if carried.len() > MAX_CERTIFICATES || cited.len() > MAX_CERTIFICATES {
            return Err(SignatureError::Profile { part: "X509Data" });
        }
        for (_, element) in carried {
            let der = octets(element, "X509Certificate")?;
            for cert in &cited {
                let named = self.only(*cert, XADES, "CertDigest")?;
                let same = SignatureError::CertificateMismatch;
                match self.check_digest(named, &der, &[SHA1, SHA256_URI, SHA512_URI], same) {
                    Err(SignatureError::CertificateMismatch) => continue,
                    other => other?,
                }
                let certificate = Certificate::parse(&der)?;
                let issuer = self.only(*cert, XADES, "IssuerSerial")?;
                let serial = self.only(issuer, DS, "X509SerialNumber")?.1.text();
                if serial.trim() != certificate.serial_decimal {
                    return Err(SignatureError::CertificateMismatch);
                }
                return Ok(certificate);
            }
        }
        Err(SignatureError::CertificateMismatch)
    }

    fn check_value(
        &self,
        signature: Found<'a>,
        info: Found<'a>,
        certificate: &Certificate,
    ) -> Result<SignatureAlgorithm, SignatureError> {
        let value = octets(self.only(signature, DS, "SignatureValue")?.1, "SignatureValue")?;
        let method = self.algorithm(info, "SignatureMethod", &[RSA_SHA256, RSA_SHA512, ECDSA_SHA256])?;
        let rsa_256 = &RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY;
        let rsa_512 = &RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY;
        // "Legacy use" are keys below 2048 bits: the specification admits them from 1024 on.
        let (verifier, algorithm, key): (&'static dyn VerificationAlgorithm, _, _) =
            match (method.as_str(), certificate.public_key()?) {
                (RSA_SHA256, PublicKey::Rsa(key)) => (rsa_256, SignatureAlgorithm::RsaSha256, key),
                (RSA_SHA512, PublicKey::Rsa(key)) => (rsa_512, SignatureAlgorithm::RsaSha512, key),
                (ECDSA_SHA256, PublicKey::P256(key)) => {
                    (&ECDSA_P256_SHA256_FIXED, SignatureAlgorithm::EcdsaP256Sha256, key)
                }
                _ => return Err(SignatureError::Algorithm { part: "SignatureMethod", algorithm: method }),
            };
        let covered = canonical(self.document, info.0, None);
        UnparsedPublicKey::new(verifier, key).verify(&covered, &value).map_err(|_| SignatureError::Value)?;
        Ok(algorithm)
    }

    /// The policy must be the one of the General State Administration. Of its text only the SHA-1 is
    /// published, so that alone can be compared.
    fn policy(&self, own: Found<'a>) -> Result<String, SignatureError> {
        let missing = |_| SignatureError::Policy;
        let identifier = self.only(own, XADES, "SignaturePolicyIdentifier").map_err(missing)?;
        let id = self.only(identifier, XADES, "SignaturePolicyId").map_err(missing)?;
        let named = self.only(id, XADES, "SigPolicyId").map_err(missing)?;
        let policy = self.only(named, XADES, "Identifier").map_err(missing)?.1.text();
        let hash = self.only(id, XADES, "SigPolicyHash").map_err(missing)?;
        let method = self.algorithm(hash, "DigestMethod", &[SHA1, SHA256_URI, SHA512_URI])?;
        let value = self.only(hash, DS, "DigestValue").map_err(missing)?.1.text();
        let policy = policy.trim();
        if policy != POLICY || (method == SHA1 && value.trim() != POLICY_SHA1) {
            return Err(SignatureError::Policy);
        }
        Ok(policy.to_owned())
    }

    /// Compares DigestMethod and DigestValue inside `place` with what they should be the digest of.
    fn check_digest(
        &self,
        place: Found<'a>,
        covered: &[u8],
        accepted: &[&str],
        changed: SignatureError,
    ) -> Result<(), SignatureError> {
        let algorithm = match self.algorithm(place, "DigestMethod", accepted)?.as_str() {
            SHA1 => &SHA1_FOR_LEGACY_USE_ONLY,
            SHA512_URI => &SHA512,
            _ => &SHA256,
        };
        let expected = octets(self.only(place, DS, "DigestValue")?.1, "DigestValue")?;
        if digest(algorithm, covered).as_ref() == expected { Ok(()) } else { Err(changed) }
    }

    fn transforms(&self, reference: Found<'a>) -> Result<Vec<String>, SignatureError> {
        let mut algorithms = Vec::new();
        for transforms in self.all(reference, DS, "Transforms") {
            for (index, transform) in self.document.children(transforms.0) {
                let algorithm = transform.attribute("Algorithm").unwrap_or_default();
                // A transform with content selects something else than the whole.
                if !transform.is(DS, "Transform") || self.document.children(index).next().is_some() {
                    return Err(SignatureError::Profile { part: "Transforms" });
                }
                algorithms.push(algorithm.to_owned());
            }
        }
        Ok(algorithms)
    }

    /// The algorithm that the element `name` inside `place` names, which must be an accepted one.
    fn algorithm(
        &self,
        place: Found<'a>,
        name: &'static str,
        accepted: &[&str],
    ) -> Result<String, SignatureError> {
        let (_, element) = self.only(place, DS, name)?;
        let algorithm = element.attribute("Algorithm").unwrap_or_default().to_owned();
        if accepted.contains(&algorithm.as_str()) {
            Ok(algorithm)
        } else {
            Err(SignatureError::Algorithm { part: name, algorithm })
        }
    }

    fn all(&self, place: Found<'a>, namespace: &str, name: &str) -> Vec<Found<'a>> {
        self.document.children(place.0).filter(|(_, element)| element.is(namespace, name)).collect()
    }

    /// The element of this name, which must stand inside `place` exactly once.
    fn only(
        &self,
        place: Found<'a>,
        namespace: &str,
        name: &'static str,
    ) -> Result<Found<'a>, SignatureError> {
        match self.all(place, namespace, name).as_slice() {
            [one] => Ok(*one),
            _ => Err(SignatureError::Profile { part: name }),
        }
    }
}

/// The octets in an element of base64, which may be broken into lines.
fn octets(element: &Element, part: &'static str) -> Result<Vec<u8>, SignatureError> {
    let mut text = element.text();
    text.retain(|c| !matches!(c, ' ' | '\t' | '\r' | '\n'));
    BASE64.decode(text).map_err(|_| SignatureError::Profile { part })
}
