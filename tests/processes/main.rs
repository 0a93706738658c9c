//! The programs as an operator runs them: processes of their own, killed without warning.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, missing_docs)]

mod crash;
mod demo;
