//! What an invoice and its REST body may say: rules, readers, QR, fingerprints, webhooks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod json;
