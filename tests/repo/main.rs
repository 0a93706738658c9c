//! Tidy tests: rules of the repository that the compiler does not hold.
//!
//! Each test names every place where its rule is broken. The rules are told in ARCHITECTURE.md; the
//! tables that say who may do what stand here, in the modules.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, missing_docs)]

mod decisions;
mod dependencies;
mod documents;
mod files;
mod layers;
mod source;
mod spelling;

/// Fails with one line for each finding.
#[track_caller]
fn none(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}\n  {}", findings.join("\n  "));
}
