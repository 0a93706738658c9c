//! What the suites share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

pub mod functions;
pub mod histories;
pub mod postgres_server;
pub mod programs;
pub mod receiver;
pub mod records;
pub mod redis_server;
