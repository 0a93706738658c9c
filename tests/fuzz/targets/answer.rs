//! What the authority's host sends: whatever it is, it is read or refused in time, and the place of each
//! line lies inside the document.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use verifactu_core::{
    authority::{Answered, Exchange, Outcome, outcome},
    xml::answer::{self, Reply},
};

fuzz_target!(|document: &[u8]| {
    let Some((&status, document)) = document.split_first() else { return };
    if let Ok(Reply::Registration(answer)) = answer::read(document) {
        for line in &answer.lines {
            let line = document.get(line.bytes.clone()).expect("inside the document");
            assert!(line.starts_with(b"<") && line.ends_with(b">"));
        }
    }
    // The last bits of the first byte choose among the statuses that are told apart.
    let status = [200, 302, 401, 403, 500, 503, 200, 200][usize::from(status) % 8];
    let exchange = Exchange::Answered(Answered::xml(status, document.to_vec()));
    if let Outcome::Processed(answer) = outcome::registration(&exchange) {
        assert!(answer.wait.is_none_or(|wait| Duration::from_secs(wait.into()) < Duration::from_secs(10_000)));
    }
    let _ = outcome::query(&exchange);
    let _ = outcome::nif_check(&exchange);
});
