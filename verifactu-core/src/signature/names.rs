//! Names and identifiers of the signature's profile.

/// The namespace of `RegistroAlta` and `RegistroAnulacion`.
pub(super) const RECORD: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/SuministroInformacion.xsd";
pub(super) const DS: &str = "http://www.w3.org/2000/09/xmldsig#";
pub(super) const XADES: &str = "http://uri.etsi.org/01903/v1.3.2#";

pub(super) const C14N: &str = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315";
pub(super) const ENVELOPED: &str = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
pub(super) const SIGNED_PROPERTIES: &str = "http://uri.etsi.org/01903#SignedProperties";

pub(super) const SHA1: &str = "http://www.w3.org/2000/09/xmldsig#sha1";
pub(super) const SHA256: &str = "http://www.w3.org/2001/04/xmlenc#sha256";
pub(super) const SHA512: &str = "http://www.w3.org/2001/04/xmlenc#sha512";
pub(super) const RSA_SHA256: &str = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
pub(super) const RSA_SHA512: &str = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512";
pub(super) const ECDSA_SHA256: &str = "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256";

/// The signing policy of the General State Administration, version 1.9, and the SHA-1 of its text.
/// SHA-1 is allowed here and nowhere else that we write.
pub(super) const POLICY: &str = "urn:oid:2.16.724.1.3.1.1.2.1.9";
pub(super) const POLICY_SHA1: &str = "G7roucf600+f03r/o0bAOQ6WAs0=";
pub(super) const POLICY_URI: &str = "https://sede.administracion.gob.es/politica_de_firma_anexo_1.pdf";
/// The object identifier of XML as a document format.
pub(super) const XML_FORMAT: &str = "urn:oid:1.2.840.10003.5.109.10";
