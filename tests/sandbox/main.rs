//! The sandbox authority, from outside: bytes in over TLS, bytes out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod admin;
mod bench;
mod census;
mod certificates;
mod differential;
mod faults;
mod invoice;
mod nif_check;
mod persistence;
mod qr_page;
mod query;
mod records;
mod requirement;
mod rules;
mod statements;
mod states;
mod structure;
mod xmllint;
