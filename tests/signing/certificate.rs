//! PKCS#12 files as openssl, Java and NSS write them, whom they identify, and the vault.

use std::time::{Duration, Instant};

use verifactu_core::{
    certificate::{
        BerError, CertificateError, HolderKind, Identity, KeyKind, Malformed, Purpose, Vault, VaultError,
        Wanted, open,
    },
    types::{Secret, SecretBytes, TenantId},
};

use super::{fixture, nif, open_fixture, today};

/// What a file and a passphrase lead to, in one word.
fn outcome(name: &str, passphrase: &str) -> &'static str {
    match open_fixture(name, passphrase, None) {
        Ok(opened) if opened.normalized_from_legacy => "opens, was legacy",
        Ok(_) => "opens",
        Err(error) => fault(&error),
    }
}

fn fault(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::WrongPassphrase => "wrong passphrase",
        CertificateError::LegacyEncryption => "legacy encryption",
        CertificateError::UnsupportedMac => "unsupported mac",
        CertificateError::Expired { .. } => "expired",
        CertificateError::Malformed(Malformed::NoKey) => "no key",
        CertificateError::Malformed(Malformed::NoCertificate) => "no certificate",
        CertificateError::Malformed(Malformed::NoMatchingPair) => "no matching pair",
        CertificateError::Malformed(Malformed::TooLarge) => "too large",
        CertificateError::Malformed(Malformed::NotPkcs12(_)) => "not pkcs12",
        CertificateError::Malformed(Malformed::Content) => "content",
        CertificateError::Malformed(Malformed::TooMuchWork) => "too much work",
        CertificateError::Malformed(Malformed::TooManyParts) => "too many parts",
        _ => "other",
    }
}

const ACCENTS: &str = "contraseña€ñ";
const ASTRAL: &str = "llave🔑";

#[test]
fn files_of_many_programs_open_or_say_why_not() {
    let table = [
        ("aes256.p12", "correct", "opens"),
        ("aes256.p12", "wrong", "wrong passphrase"),
        ("aes256.p12", "", "wrong passphrase"),
        ("aes128-certs-plain.p12", "correct", "opens"),
        ("mac-sha512.p12", "correct", "opens"),
        ("mac-sha512.p12", "wrong", "wrong passphrase"),
        ("legacy-rc2-40.p12", "correct", "opens, was legacy"),
        ("legacy-rc2-40.p12", "wrong", "wrong passphrase"),
        ("legacy-rc2-40-both.p12", "correct", "opens, was legacy"),
        ("legacy-3des.p12", "correct", "opens, was legacy"),
        ("legacy-rc2-128.p12", "correct", "legacy encryption"),
        ("legacy-rc2-128.p12", "wrong", "wrong passphrase"),
        ("legacy-rc4-128.p12", "correct", "legacy encryption"),
        ("pbes2-3des.p12", "correct", "legacy encryption"),
        ("no-mac.p12", "correct", "opens"),
        ("no-mac.p12", "wrong", "wrong passphrase"),
        ("no-mac-rc2-40.p12", "correct", "opens, was legacy"),
        ("no-mac-rc2-40.p12", "wrong", "wrong passphrase"),
        ("empty-passphrase.p12", "", "opens"),
        ("empty-passphrase.p12", "correct", "wrong passphrase"),
        ("empty-passphrase-rc2-40.p12", "", "opens, was legacy"),
        ("accents.p12", ACCENTS, "opens"),
        ("accents.p12", "contrasena", "wrong passphrase"),
        ("accents-rc2-40.p12", ACCENTS, "opens, was legacy"),
        ("astral.p12", ASTRAL, "opens"),
        ("astral-rc2-40.p12", ASTRAL, "opens, was legacy"),
        ("ec.p12", "correct", "opens"),
        ("ec-rc2-40.p12", "correct", "opens, was legacy"),
        ("p384.p12", "correct", "opens"),
        ("keytool.p12", "correct", "opens"),
        ("keytool.p12", "wrong", "wrong passphrase"),
        ("keytool-legacy.p12", "correct", "opens, was legacy"),
        ("nss.p12", "correct", "opens"),
        ("nss.p12", "wrong", "wrong passphrase"),
        ("nss-empty-passphrase.p12", "", "opens"),
        ("nss-legacy.p12", "correct", "opens, was legacy"),
        ("nss-legacy.p12", "wrong", "wrong passphrase"),
        ("two-keys.p12", "correct", "opens"),
        ("expired-and-valid.p12", "correct", "opens"),
        ("expired.p12", "correct", "expired"),
        ("expired.p12", "wrong", "wrong passphrase"),
        ("no-chain.p12", "correct", "opens"),
        ("no-key.p12", "correct", "no key"),
        ("no-certificate.p12", "correct", "no certificate"),
        ("mismatched.p12", "correct", "no matching pair"),
    ];
    let wrong: Vec<String> = table
        .iter()
        .filter_map(|(name, passphrase, expected)| {
            let found = outcome(name, passphrase);
            (found != *expected).then(|| format!("{name} with {passphrase:?}: {found}, not {expected}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_no_file_is_malformed() {
    let whole = fixture("aes256.p12");
    let mut trailing = whole.clone();
    trailing.push(0);
    let wanted = Wanted { holder: None, now: today() };
    let pem = b"-----BEGIN CERTIFICATE-----\nMIIB".as_slice();
    for (file, expected) in [
        (&[][..], "not pkcs12"),
        (b"PK\x03\x04 something else".as_slice(), "not pkcs12"),
        (pem, "not pkcs12"),
        (&whole[..whole.len() / 2], "not pkcs12"),
        (&trailing, "not pkcs12"),
        (&vec![0x30; 200_000], "too large"),
        (&[0x30, 0x80].repeat(1000), "not pkcs12"),
    ] {
        let error = open(file, &Secret::new("correct".to_owned()), wanted).unwrap_err();
        assert_eq!(fault(&error), expected, "{error:?}");
    }
    // A changed byte fails somehow, and never panics.
    for place in (0..whole.len()).step_by(97) {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x15;
        assert!(open(&damaged, &Secret::new("correct".to_owned()), wanted).is_err(), "byte {place}");
    }
    let error = open(&[0x30, 0x80], &Secret::default(), wanted).unwrap_err();
    assert!(matches!(error, CertificateError::Malformed(Malformed::NotPkcs12(BerError::Truncated))));
}

#[test]
fn a_file_that_asks_for_too_much_work_is_refused() {
    // The last field of the frame is the iteration count: INTEGER of two octets, 2048.
    let mut file = fixture("aes256.p12");
    let end = file.len() - 4;
    assert_eq!(file[end..], [2, 2, 8, 0]);
    file.truncate(end);
    file.extend_from_slice(&[2, 4, 0x7f, 0xff, 0xff, 0xff]);
    // The two lengths around it grow with it: the MacData's, then the file's.
    let grown = (file.len() - 4) as u16;
    file[2..4].copy_from_slice(&grown.to_be_bytes());
    let mac = file.windows(4).rposition(|w| w[0] == 0x30 && w[2] == 0x30 && w[3] == 0x31).unwrap();
    file[mac + 1] += 2;
    let wanted = Wanted { holder: None, now: today() };
    let error = open(&file, &Secret::new("correct".to_owned()), wanted).unwrap_err();
    assert_eq!(fault(&error), "unsupported mac", "{error:?}");
}

/// Some of these would hash for half a minute, and others take a gigabyte.
#[test]
fn files_that_are_made_to_cost_are_refused_before_they_do() {
    let began = Instant::now();
    for (name, expected) in [
        ("bomb-keys.p12", "too much work"),
        ("bomb-keys-inside.p12", "too much work"),
        ("bomb-secrets.p12", "no key"),
        ("bomb-secrets-inside.p12", "no key"),
        ("bomb-scrypt.p12", "legacy encryption"),
        ("bomb-scrypt-inside.p12", "legacy encryption"),
        ("bomb-parts.p12", "too many parts"),
    ] {
        assert_eq!(outcome(name, "correct"), expected, "{name}");
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn the_holder_is_found_wherever_the_issuer_put_it() {
    use HolderKind::{Person, Representative, Seal};
    for (file, person, entity, kind) in [
        ("aes256.p12", Some("99999972C"), None, Person),
        ("representative.p12", Some("99999972C"), Some("B12345674"), Representative),
        ("seal.p12", None, Some("B12345674"), Seal),
        ("old-common-name.p12", Some("99999972C"), None, Person),
        ("foreign.p12", None, None, Person),
    ] {
        let opened = open_fixture(file, "correct", None).unwrap();
        let holder = &opened.identity.certificate().holder;
        assert_eq!((holder.person, holder.entity), (person.map(nif), entity.map(nif)), "{file}");
        assert_eq!(holder.kind, kind, "{file}");
        assert_eq!(holder.nif(), entity.or(person).map(nif), "{file}");
        for number in ["99999972C", "B12345674", "89890001K"] {
            let expected = person == Some(number) || entity == Some(number);
            assert_eq!(opened.identity.matches(&nif(number)), expected, "{file} {number}");
        }
    }
}

#[test]
fn a_certificate_is_described() {
    let opened = open_fixture("aes256.p12", "correct", None).unwrap();
    let certificate = opened.identity.certificate();
    assert_eq!(certificate.holder.common_name, "ESPAÑOL ESPAÑOL JUAN - 99999972C");
    assert_eq!(certificate.issuer, r"CN=AC Pruebas Usuarios,OU=Ceres\, de ensayo,O=Pruebas,C=ES");
    assert_eq!(certificate.not_before, "2024-01-01T00:00:00Z".parse().unwrap());
    assert_eq!(certificate.not_after, "2046-01-01T00:00:00Z".parse().unwrap());
    let serial = u128::from_str_radix(&certificate.serial, 16).unwrap();
    assert_eq!(certificate.serial_decimal, serial.to_string());
    assert_eq!(opened.identity.chain().count(), 3, "leaf, intermediate and root");
    assert_eq!(opened.identity.chain().next(), Some(certificate.der()));
    let shown = format!("{opened:?} {certificate:?}");
    assert!(shown.contains("99999972C") && shown.len() < 1500, "{shown}");
}

#[test]
fn among_several_identities_the_wanted_holder_goes_first_then_the_newest() {
    let chosen = |file, holder| {
        let opened = open_fixture(file, "correct", holder).unwrap();
        opened.identity.certificate().holder.nif().unwrap()
    };
    let (person, entity, stranger) = (nif("99999972C"), nif("B12345674"), nif("89890001K"));
    assert_eq!(chosen("two-keys.p12", None), person, "issued a year later");
    assert_eq!(chosen("two-keys.p12", Some(&entity)), entity);
    assert_eq!(chosen("two-keys.p12", Some(&stranger)), person);
    assert_eq!(chosen("expired-and-valid.p12", None), entity);
    let early = Wanted { holder: None, now: "2019-01-01T00:00:00Z".parse().unwrap() };
    let error = open(&fixture("two-keys.p12"), &Secret::new("correct".to_owned()), early).unwrap_err();
    assert_eq!(fault(&error), "expired");
}

#[test]
fn an_identity_survives_the_vault_and_opens_for_its_account_alone() {
    let (acme, other) = (TenantId::parse("acme").unwrap(), TenantId::parse("other").unwrap());
    let vault = Vault::new([(1, SecretBytes::new(vec![1; 32]))]).unwrap();
    let message = b"a record";
    for (file, kind, length) in [
        ("aes256.p12", KeyKind::Rsa, 256),
        ("keytool-legacy.p12", KeyKind::Rsa, 256),
        ("ec.p12", KeyKind::EcdsaP256, 64),
    ] {
        let identity = open_fixture(file, "correct", None).unwrap().identity;
        let sealed = identity.to_sealed(&vault, &acme).unwrap();
        let again = Identity::from_sealed(&vault, &acme, &sealed).unwrap();
        assert_eq!(again.certificate(), identity.certificate());
        assert!(again.chain().eq(identity.chain()));
        assert_eq!(again.key_kind(), kind);
        assert_eq!(again.sign(message).unwrap().len(), length);
        again.certified_key().keys_match().unwrap();
        let error = Identity::from_sealed(&vault, &other, &sealed).unwrap_err();
        assert!(matches!(error, CertificateError::Vault(VaultError::Refused)));
    }
    let p384 = open_fixture("p384.p12", "correct", None).unwrap().identity;
    assert_eq!(p384.key_kind(), KeyKind::Other);
    assert!(matches!(p384.sign(message), Err(CertificateError::UnsupportedKey)));
    for stored in [&[][..], &[2], &[1], &[1, 0, 0, 0, 9, 1], &[1, 0, 0, 0, 1, 1]] {
        let sealed = vault.seal(&acme, Purpose::Identity, stored).unwrap();
        assert!(matches!(Identity::from_sealed(&vault, &acme, &sealed), Err(CertificateError::Malformed(_))));
    }
}

#[test]
fn vault_keys_are_replaced_without_losing_what_they_sealed() {
    let acme = TenantId::parse("acme").unwrap();
    let key = |fill| SecretBytes::new(vec![fill; 32]);
    let old = Vault::new([(1, key(1))]).unwrap();
    let both = Vault::new([(2, key(2)), (1, key(1))]).unwrap();
    let new = Vault::new([(2, key(2))]).unwrap();
    let sealed = old.seal(&acme, Purpose::ApiKey, b"key").unwrap();
    assert_eq!(both.open(&acme, Purpose::ApiKey, &sealed).unwrap().expose(), b"key");
    assert!(old.is_current(&sealed) && !both.is_current(&sealed));
    assert_eq!(new.open(&acme, Purpose::ApiKey, &sealed).unwrap_err(), VaultError::UnknownKey { number: 1 });
    let again = both.seal(&acme, Purpose::ApiKey, b"key").unwrap();
    assert!(both.is_current(&again));
    assert_eq!(new.open(&acme, Purpose::ApiKey, &again).unwrap().expose(), b"key");
    assert_eq!(new.open(&acme, Purpose::Identity, &again).unwrap_err(), VaultError::Refused);
    assert_ne!(again, both.seal(&acme, Purpose::ApiKey, b"key").unwrap(), "each sealing has its own nonce");
    for place in 0..again.len() {
        let mut altered = again.clone();
        altered[place] ^= 1;
        assert!(new.open(&acme, Purpose::ApiKey, &altered).is_err(), "byte {place}");
    }
    assert_eq!(new.open(&acme, Purpose::ApiKey, &again[..9]).unwrap_err(), VaultError::Malformed);
    // While others only know how to open with the new key, the old one goes on sealing.
    let first = Vault::new([(1, key(1)), (2, key(2))]).unwrap().sealing_with(1).unwrap();
    let of_the_old = first.seal(&acme, Purpose::ApiKey, b"key").unwrap();
    assert_eq!(old.open(&acme, Purpose::ApiKey, &of_the_old).unwrap().expose(), b"key");
    assert!(first.is_current(&of_the_old) && !first.has_older_keys());
    assert!(first.is_current(&again), "what is newer is not moved back");
    assert!(both.has_older_keys() && !new.has_older_keys());
    let unknown = Vault::new([(1, key(1))]).unwrap().sealing_with(2).unwrap_err();
    assert_eq!(unknown, VaultError::NotGiven { number: 2 });
    assert_eq!(Vault::new([]).unwrap_err(), VaultError::NoKey);
    assert_eq!(
        Vault::new([(3, SecretBytes::new(vec![0; 16]))]).unwrap_err(),
        VaultError::KeyLength { number: 3 }
    );
    assert_eq!(Vault::new([(3, key(1)), (3, key(2))]).unwrap_err(), VaultError::DuplicateKey { number: 3 });
    assert_eq!(format!("{both:?}"), "Vault { keys: [1, 2] }");
}
