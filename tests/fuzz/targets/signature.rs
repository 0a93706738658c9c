//! Signed records of others: read or refused, and their canonical form is its own canonical form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verifactu_core::signature::{canonical_form, verify};

fuzz_target!(|document: &[u8]| {
    if let Ok(form) = canonical_form(document) {
        assert_eq!(canonical_form(&form).expect("well-formed"), form);
    }
    let _ = verify(document);
});
