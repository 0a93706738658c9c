//! The wire to the authority: what it answers, what we ask, and what becomes of an exchange.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::disallowed_methods,
    missing_docs,
    unreachable_pub
)]

mod answers;
mod codes;
mod hostile;
mod nif_checks;
mod official;
mod outcomes;
mod queries;
mod samples;
mod server;
mod services;
mod transport;
