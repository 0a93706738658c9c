//! The programs as an operator runs them: processes of their own, killed without warning.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod canary;
mod crash;
mod demo;
mod faults;
mod nodes;
mod operate;
mod place;
mod readme;
mod restore;
