//! The chain and the records on it: huellas against every published vector, broken chains, and the
//! XML of records against the official schema.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, missing_docs)]

mod literals;
mod samples;
mod vectors;
mod walk;
mod written;
