//! Programs (`programs/`) and sample invoices (`invoices/`) for VERI*FACTU for Rust. Each program is
//! an example of cargo's and asserts what it prints; the tests run all of them.

/// The Rust in README.md, which is compiled and run with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
