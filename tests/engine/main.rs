//! The engine against the sandbox authority over mutual TLS, in one process, on a manual clock: what
//! becomes of a record under every outcome the authority can bring about.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod circuit;
mod clock;
mod doubt;
mod halving;
mod hostile;
mod outcomes;
mod pace;
mod paths;
mod place;
mod shared;
mod table;
mod troubles;
mod turns;
mod wire;
mod world;
