//! The service from outside: a real server on a free port, asked over HTTP.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod authority;
mod batches;
mod cases;
mod certificates;
mod config;
mod contract;
mod corrections;
mod declaration;
mod errors;
mod hostile;
mod idempotency;
mod isolation;
mod issuers;
mod keeping;
mod limits;
mod lists;
mod metrics;
mod operator;
mod partners;
mod plans;
mod queue;
mod rates;
mod records;
mod stop;
mod vault;
mod waiting;
mod web_accounts;
mod webhooks;
mod world;
