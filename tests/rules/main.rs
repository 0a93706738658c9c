//! What an invoice and its REST body may say: rules, readers, values, QR, fingerprints, webhooks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod bodies;
mod coverage;
mod doubts;
mod examples;
mod header;
mod json;
mod matrix;
#[allow(clippy::disallowed_methods, clippy::print_stderr, unreachable_pub, reason = "shared with `wire`")]
#[path = "../wire/official.rs"]
mod official;
mod parties;
mod qr;
mod rules;
mod values;
mod webhook;
mod wire;
