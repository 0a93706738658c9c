//! The programs as an operator runs them: processes of their own, killed without warning.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod crash;
mod demo;
mod faults;
mod nodes;
