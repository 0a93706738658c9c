//! Certificates and signatures, through the public API: files of real programs on one side, and
//! xmlsec1 as the independent judge of what is signed on the other.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, missing_docs)]

mod certificate;
mod signature;

use std::path::Path;

use jiff::Timestamp;
use verifactu_core::{
    certificate::{CertificateError, Opened, Wanted, open},
    types::{Nif, Secret},
};

/// A day on which all certificates of the fixtures but one are valid.
fn today() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

fn nif(text: &str) -> Nif {
    Nif::parse(text).unwrap()
}

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/pkcs12").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn open_fixture(name: &str, passphrase: &str, holder: Option<&Nif>) -> Result<Opened, CertificateError> {
    open(&fixture(name), &Secret::new(passphrase.to_owned()), Wanted { holder, now: today() })
}
