//! Signed records: AEAT's example, our own, and what tampering does to them.

use std::{io::ErrorKind, process::Command};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;
use verifactu_core::{
    certificate::{HolderKind, Identity},
    signature::{
        EcKeys, SignatureAlgorithm, SignatureError, Signed, Signer, SigningError, XmlError, canonical_form,
        verify,
    },
};

use super::{nif, open_fixture, today};

const NAMESPACE: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/SuministroInformacion.xsd";

fn identity(file: &str) -> Identity {
    open_fixture(file, "correct", None).unwrap().identity
}

fn alta() -> String {
    format!(
        "<RegistroAlta xmlns=\"{NAMESPACE}\"><IDVersion>1.0</IDVersion><IDFactura><IDEmisorFactura>89890001K\
         </IDEmisorFactura><NumSerieFactura>A&amp;B &lt;1&gt; \"ñ\" 'x'</NumSerieFactura>\
         <FechaExpedicionFactura>20-11-2026</FechaExpedicionFactura></IDFactura><NombreRazonEmisor>Peña, S.L.\
         </NombreRazonEmisor><TipoFactura>F1</TipoFactura><ImporteTotal>121.0</ImporteTotal><TipoHuella>01\
         </TipoHuella><Huella>3C464DAF61ACB827C65FDA19F352A4E3BDC2C640E9E9FC4CC058073F38F12F60</Huella>\
         </RegistroAlta>"
    )
}

fn anulacion() -> String {
    format!(
        "<RegistroAnulacion xmlns=\"{NAMESPACE}\"><IDVersion>1.0</IDVersion><TipoHuella>01</TipoHuella>\
         <Huella>177547C0D57AC74748561D054A9CEC14B4C4EA23D1BEFD6F2E69E3A388F90C68</Huella></RegistroAnulacion>"
    )
}

fn signed(file: &str, record: &str) -> String {
    let signer = Signer::new(&identity(file), EcKeys::Allow).unwrap();
    let mut out = Vec::new();
    signer.sign(record, Uuid::from_u128(7), today(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// A file of AEAT's signature annex, or none where its files are not at hand.
fn official(name: &str) -> Option<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/aeat/examples/firma");
    let bytes = std::fs::read(folder.join(name)).ok();
    if bytes.is_none() {
        eprintln!("skipped: AEAT's {name} is not at hand");
    }
    bytes
}

/// What xmlsec1 says about a document; true where it is not installed, after saying so.
fn xmlsec1_accepts(document: &str) -> bool {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), document).unwrap();
    let output = Command::new("xmlsec1")
        .args([
            "--verify",
            "--insecure",
            "--id-attr:Id",
            "http://uri.etsi.org/01903/v1.3.2#:SignedProperties",
        ])
        .arg(file.path())
        .output();
    match output {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("skipped: xmlsec1 is not installed");
            true
        }
        Err(error) => panic!("xmlsec1: {error}"),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            eprintln!("{said}");
            output.status.success() && said.contains("SignedInfo References (ok/all): 2/2")
        }
    }
}

#[test]
fn the_official_example_verifies() {
    let Some(bytes) = official("ejemploRegistro-firmado-epes-xades4j.xml") else { return };
    let verified = verify(&bytes).unwrap();
    let holder = &verified.certificate.holder;
    assert_eq!(holder.person, Some(nif("89890001K")));
    assert_eq!(holder.kind, HolderKind::Person);
    assert_eq!(holder.common_name, "CERTIFICADO UNO TELEMATICAS - 89890001K");
    assert_eq!(verified.certificate.serial_decimal, "80044384284793334134753462931839354305");
    assert_eq!(verified.signing_time, "2025-02-03T16:15:55.105+01:00".parse().unwrap());
    assert_eq!(verified.algorithm, SignatureAlgorithm::RsaSha256);
    assert_eq!(verified.policy, "urn:oid:2.16.724.1.3.1.1.2.1.9");

    let text = String::from_utf8(bytes).unwrap();
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        verify(text.replacen(from, to, 1).as_bytes()).unwrap_err()
    };
    let record = SignatureError::Digest(Signed::Record).to_string();
    assert_eq!(with(">241.4<", ">241.5<").to_string(), record);
    assert_eq!(with("\t<sum1:IDVersion>", "<sum1:IDVersion>").to_string(), record);
    let properties = SignatureError::Digest(Signed::Properties).to_string();
    assert_eq!(with("2025-02-03T16:15:55.105", "2025-02-03T16:15:55.106").to_string(), properties);
    assert!(matches!(with("ruvN8lGx", "ruvN8lGy"), SignatureError::Value));
    // Line ends are not content.
    assert!(verify(text.replace('\n', "\r\n").as_bytes()).is_ok());
}

#[test]
fn the_official_unsigned_example_has_the_published_digest() {
    let Some(bytes) = official("ejemploRegistro.xml") else { return };
    let digest = BASE64.encode(Sha256::digest(canonical_form(&bytes).unwrap()));
    assert_eq!(digest, "89qWVKHvtwa2CijR5a+DLFjRkqNjKRiz7fClSu1w0Mk=");
}

#[test]
fn signed_records_verify_here_and_with_xmlsec1() {
    for (file, algorithm) in [
        ("representative.p12", SignatureAlgorithm::RsaSha256),
        ("foreign.p12", SignatureAlgorithm::RsaSha256),
        ("no-chain.p12", SignatureAlgorithm::RsaSha256),
        ("ec.p12", SignatureAlgorithm::EcdsaP256Sha256),
    ] {
        for record in [alta(), anulacion()] {
            let document = signed(file, &record);
            let verified = verify(document.as_bytes()).unwrap();
            assert_eq!(verified.algorithm, algorithm, "{file}");
            assert_eq!(verified.signing_time, today());
            assert_eq!(verified.certificate, *identity(file).certificate());
            assert!(xmlsec1_accepts(&document), "{file}\n{document}");
            // Everything is in canonical form, the signature too.
            assert_eq!(String::from_utf8(canonical_form(document.as_bytes()).unwrap()).unwrap(), document);
            let (before, after) = record.split_at(record.rfind("</").unwrap());
            assert!(document.starts_with(before) && document.ends_with(after));
        }
    }
}

#[test]
fn a_signed_record_is_the_same_inside_its_envelope() {
    for record in [alta(), anulacion()] {
        let document = signed("aes256.p12", &record);
        let envelope = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Envelope xmlns=\"http://schemas.xmlsoap.org/soap/envelope/\">\
             <Body><RegFactuSistemaFacturacion xmlns=\"urn:lr\"><RegistroFactura>{document}</RegistroFactura>\
             </RegFactuSistemaFacturacion></Body></Envelope>"
        );
        let canonical = String::from_utf8(canonical_form(envelope.as_bytes()).unwrap()).unwrap();
        let start = canonical.find("<RegistroA").unwrap();
        let end = canonical.find("</RegistroFactura>").unwrap();
        let cut = &canonical[start..end];
        assert_eq!(cut, document);
        assert!(verify(cut.as_bytes()).is_ok());
        assert!(xmlsec1_accepts(cut));
        // The envelope itself is no record.
        assert!(matches!(verify(envelope.as_bytes()), Err(SignatureError::NotARecord)));
    }
}

#[test]
fn every_changed_octet_of_what_is_signed_is_noticed() {
    let document = signed("ec.p12", &alta());
    let place_of = |text: &str| document.find(text).unwrap();
    // Not signed: the identifier of the value, and what is beside the certificate.
    let value_id = place_of("<ds:SignatureValue ") + 19;
    let unsigned = [value_id..value_id + 64, place_of("<ds:KeyInfo>")..place_of("<ds:Object>")];
    for place in (0..document.len()).filter(|place| !unsigned.iter().any(|range| range.contains(place))) {
        let mut bytes = document.clone().into_bytes();
        bytes[place] ^= 1;
        assert!(verify(&bytes).is_err(), "{}", &document[place.saturating_sub(20)..][..20]);
    }
    let tampered = document.replacen(">121.0<", ">121.1<", 1);
    assert!(!xmlsec1_accepts(&tampered) || Command::new("xmlsec1").arg("--version").output().is_err());
}

#[test]
fn a_signature_of_something_else_is_refused() {
    let document = signed("aes256.p12", &alta());
    let id = "xmldsig-00000000-0000-0000-0000-000000000007";
    let start = document.find("<ds:Signature ").unwrap();
    let end = document.find("</RegistroAlta>").unwrap();
    let signature = &document[start..end];
    let object =
        &signature[signature.find("<ds:Object>").unwrap()..signature.find("</ds:Signature>").unwrap()];
    let profile = |text: String| {
        let error = verify(text.as_bytes()).unwrap_err();
        assert!(matches!(error, SignatureError::Profile { .. }), "{error:?}\n{text}");
    };
    // A second signature, a signature that is not last, one deeper down.
    profile(document.replacen("</RegistroAlta>", &format!("{signature}</RegistroAlta>"), 1));
    profile(document.replacen("</RegistroAlta>", "<Otro></Otro></RegistroAlta>", 1));
    let moved = document.replacen(signature, "", 1);
    profile(moved.replacen("</RegistroAlta>", &format!("<Otro>{signature}</Otro></RegistroAlta>"), 1));
    // A second element with the identifier of the signed properties, where nothing is signed.
    for name in ["Id", "ID", "id"] {
        profile(document.replacen("<ds:KeyInfo>", &format!("<ds:KeyInfo {name}=\"{id}-signedprops\">"), 1));
    }
    profile(document.replacen("<ds:KeyInfo>", &format!("{object}<ds:KeyInfo>"), 1));
    // References to something else, or of another number.
    profile(document.replacen("URI=\"\"", "URI=\"#x\"", 1));
    profile(document.replacen(&format!("URI=\"#{id}-signedprops\""), "URI=\"\"", 1));
    profile(document.replacen(&format!("URI=\"#{id}-signedprops\""), &format!("URI=\"#{id}\""), 1));
    let reference =
        &document[document.find("<ds:Reference Type").unwrap()..document.find("</ds:SignedInfo>").unwrap()];
    profile(document.replacen(reference, "", 1));
    profile(document.replacen(reference, &format!("{reference}{reference}"), 1));
    // A filter in the transforms.
    let enveloped =
        "<ds:Transform Algorithm=\"http://www.w3.org/2000/09/xmldsig#enveloped-signature\"></ds:Transform>";
    profile(document.replacen(enveloped, "", 1));
    profile(document.replacen(
        enveloped,
        &format!("{enveloped}<ds:Transform Algorithm=\"http://www.w3.org/TR/1999/REC-xpath-19991116\"></ds:Transform>"),
        1,
    ));
    profile(document.replacen(&format!("Target=\"#{id}\""), "Target=\"#other\"", 1));
}

#[test]
fn other_algorithms_certificates_and_policies_are_told_apart() {
    let document = signed("aes256.p12", &alta());
    let with = |from: &str, to: &str| {
        assert!(document.contains(from), "{from}");
        verify(document.replacen(from, to, 1).as_bytes()).unwrap_err()
    };
    assert!(matches!(
        with("xmldsig-more#rsa-sha256", "xmldsig-more#rsa-md5"),
        SignatureError::Algorithm { part: "SignatureMethod", .. }
    ));
    assert!(matches!(
        with("xmldsig-more#rsa-sha256", "xmldsig-more#ecdsa-sha256"),
        SignatureError::Algorithm { part: "SignatureMethod", .. }
    ));
    assert!(matches!(
        with("2001/04/xmlenc#sha256", "2000/09/xmldsig#sha1"),
        SignatureError::Algorithm { part: "DigestMethod", .. }
    ));
    assert!(matches!(
        with("TR/2001/REC-xml-c14n-20010315\"></ds:Can", "2001/10/xml-exc-c14n#\"></ds:Can"),
        SignatureError::Algorithm { part: "CanonicalizationMethod", .. }
    ));
    // Another certificate of ours beside the signature.
    let other = signed("representative.p12", &alta());
    let certificate = |text: &str| {
        let start = text.find("<ds:X509Certificate>").unwrap();
        text[start..text.find("</ds:X509Certificate>").unwrap()].to_owned()
    };
    assert!(matches!(
        with(&certificate(&document), &certificate(&other)),
        SignatureError::CertificateMismatch
    ));
    assert!(matches!(verify(alta().as_bytes()), Err(SignatureError::Unsigned)));
    assert!(matches!(verify(b"<a/>"), Err(SignatureError::NotARecord)));
    let dtd = format!("<!DOCTYPE RegistroAlta>{document}");
    assert!(matches!(verify(dtd.as_bytes()), Err(SignatureError::Xml(XmlError::Forbidden))));
}

/// Changes the properties of a signature and signs them again, as another program might write them.
fn signed_with(from: &str, to: &str) -> Result<(), SignatureError> {
    let document = signed("aes256.p12", &alta());
    let between = |text: &str, start: &str, end: &str| {
        let start = text.find(start).unwrap();
        text[start..start + text[start..].find(end).unwrap() + end.len()].to_owned()
    };
    let scope = format!(" xmlns=\"{NAMESPACE}\" xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"");
    let digest = |properties: &str| {
        let xades =
            format!("<xades:SignedProperties{scope} xmlns:xades=\"http://uri.etsi.org/01903/v1.3.2#\"");
        BASE64.encode(Sha256::digest(properties.replacen("<xades:SignedProperties", &xades, 1)))
    };
    let properties = between(&document, "<xades:SignedProperties", "</xades:SignedProperties>");
    let changed = properties.replacen(from, to, 1);
    assert!(from.is_empty() || changed != properties, "{from}");
    let info = between(&document, "<ds:SignedInfo>", "</ds:SignedInfo>");
    let new_info = info.replacen(&digest(&properties), &digest(&changed), 1);
    let canonical = new_info.replacen("<ds:SignedInfo", &format!("<ds:SignedInfo{scope}"), 1);
    let value = between(&document, "-sigvalue\">", "<");
    let new_value = BASE64.encode(identity("aes256.p12").sign(canonical.as_bytes()).unwrap());
    let document = document.replacen(&properties, &changed, 1).replacen(&info, &new_info, 1).replacen(
        &value,
        &format!("-sigvalue\">{new_value}<"),
        1,
    );
    verify(document.as_bytes()).map(|_| ())
}

#[test]
fn a_valid_signature_must_still_keep_to_policy_and_certificate() {
    signed_with("", "").unwrap();
    let certificate = identity("aes256.p12").certificate().clone();
    let digest = |octets: &[u8]| BASE64.encode(octets);
    let sha_256 = digest(&Sha256::digest(certificate.der()));
    let policy = |outcome| assert!(matches!(outcome, Err(SignatureError::Policy)), "{outcome:?}");
    policy(signed_with("urn:oid:2.16.724.1.3.1.1.2.1.9", "urn:oid:2.16.724.1.3.1.1.2.1.8"));
    policy(signed_with("G7roucf600+f03r/o0bAOQ6WAs0=", "G7roucf600+f03r/o0bAOQ6WAs1="));
    policy(signed_with("<xades:SigPolicyId>", "<xades:SigPolicyId></xades:SigPolicyId><xades:SigPolicyId>"));
    let mismatch =
        |outcome| assert!(matches!(outcome, Err(SignatureError::CertificateMismatch)), "{outcome:?}");
    mismatch(signed_with(&sha_256, &digest(&[0; 32])));
    mismatch(signed_with(&certificate.serial_decimal, "1"));
    let time = signed_with("+01:00</xades:SigningTime>", "</xades:SigningTime>");
    assert!(matches!(time, Err(SignatureError::Profile { part: "SigningTime" })), "{time:?}");
    // Digests of the certificate in SHA-1, as AEAT's example has them.
    let sha_1 = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, certificate.der());
    let tail = "\"></ds:DigestMethod><ds:DigestValue>";
    signed_with(
        &format!("http://www.w3.org/2001/04/xmlenc#sha256{tail}{sha_256}"),
        &format!("http://www.w3.org/2000/09/xmldsig#sha1{tail}{}", digest(sha_1.as_ref())),
    )
    .unwrap();
}

#[test]
fn what_cannot_be_signed_says_why_and_leaves_nothing_behind() {
    let ec = Signer::new(&identity("ec.p12"), EcKeys::Refuse).unwrap_err();
    assert!(matches!(ec, SigningError::EcNotEnabled));
    let p384 = Signer::new(&identity("p384.p12"), EcKeys::Allow).unwrap_err();
    assert!(matches!(p384, SigningError::UnsupportedKey));

    let signer = Signer::new(&identity("aes256.p12"), EcKeys::Refuse).unwrap();
    let mut out = b"before".to_vec();
    for record in [
        String::new(),
        "<RegistroAlta></RegistroAlta>".to_owned(),
        alta().replace("<RegistroAlta xmlns", "<sum1:RegistroAlta xmlns:sum1"),
        alta().replace("</Huella></RegistroAlta>", "</Huella>"),
        alta().replace("<Huella>", "<Firma>").replace("</Huella>", "</Firma>"),
        format!("<?xml version=\"1.0\"?>{}", alta()),
        signed("aes256.p12", &alta()),
    ] {
        let error = signer.sign(&record, Uuid::nil(), today(), &mut out).unwrap_err();
        assert!(matches!(error, SigningError::NotARecord), "{record}");
    }
    assert_eq!(out, b"before");
    assert!(format!("{signer:?}").len() < 800);
}

/// RSA signatures are deterministic, so the same record, identifier and time give the same octets.
#[test]
fn the_same_arguments_give_the_same_document() {
    assert_eq!(signed("aes256.p12", &alta()), signed("aes256.p12", &alta()));
}
