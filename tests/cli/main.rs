//! The command line tool, as a process: against a service with its sandbox, and without one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod batch;
mod documents;
mod offline;
mod online;
mod place;
mod webhook;
