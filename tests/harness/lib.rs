//! What the suites share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

pub mod histories;
pub mod programs;
pub mod receiver;
pub mod records;
pub mod redis_server;
