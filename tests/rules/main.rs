//! What an invoice and its REST body may say: rules, readers, values, QR, fingerprints, webhooks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod bodies;
mod json;
mod parties;
mod qr;
mod rules;
mod values;
mod webhook;
mod wire;
