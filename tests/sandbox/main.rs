//! The sandbox authority, from outside: bytes in over TLS, bytes out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod admin;
mod bench;
mod certificates;
mod faults;
mod invoice;
mod persistence;
mod query;
mod records;
mod states;
mod structure;
mod xmllint;
