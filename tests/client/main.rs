//! The client: what it sends, what it takes answers for, when it repeats, and the service itself
//! through it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod answers;
mod bodies;
mod configuration;
mod repeats;
mod routes;
mod scripted;
mod service;
mod waits;
