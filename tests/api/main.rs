//! The service from outside: a real server on a free port, asked over HTTP.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod authority;
mod batches;
mod certificates;
mod config;
mod corrections;
mod declaration;
mod errors;
mod idempotency;
mod issuers;
mod limits;
mod lists;
mod operator;
mod partners;
mod plans;
mod queue;
mod rates;
mod records;
mod stop;
mod waiting;
mod web_accounts;
mod webhooks;
mod world;
