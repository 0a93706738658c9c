//! Certificate files as they are uploaded, and the certificates in them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verifactu_core::{
    certificate::{Certificate, Wanted, open},
    types::{Nif, Secret},
};

fuzz_target!(|file: &[u8]| {
    let now = "2026-11-20T12:00:00Z".parse().expect("a time");
    let holder = Nif::parse("B12345674").ok();
    if let Ok(opened) = open(file, &Secret::new("correct".to_owned()), Wanted { holder: holder.as_ref(), now }) {
        let certificate = opened.identity.certificate();
        assert!(certificate.is_valid_at(now), "an expired identity is refused");
        // Not every kind of key that is kept can sign; those that cannot say so.
        let _ = opened.identity.sign(b"message");
    }
    let _ = Certificate::parse(file);
});
