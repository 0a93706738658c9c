//! What tests need, and the suites that define a backend.
//!
//! A ledger, an account store or a queue is what passes its suite: numbered sentences, each with a case
//! that shows it. Every backend of this crate runs the same suites, and so does one of your own:
//!
//! ```
//! use std::sync::Arc;
//! use verifactu_core::ledger::MemoryLedger;
//!
//! mod my_ledger {
//!     verifactu_core::ledger_suite!((super::Arc::new(super::MemoryLedger::new()), ()));
//! }
//! ```
//!
//! Each case calls the expression once and gets an empty backend; the guard lives as long as the case.
//! The macros write `#[tokio::test]` functions, so the calling crate needs tokio.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod accounts;
mod chance;
mod fixture;
pub mod gate;
pub mod ledger;
mod model;
pub mod queue;
mod seams;
pub mod webhooks;

pub use chance::Chance;
pub use fixture::{Draft, NEVER, Scene, Sealing, claim, quick_settlement};
pub use model::compare_with_memory;
pub use seams::{ManualClock, SequentialIds};

/// Writes a test for each case of a suite.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    ($open:expr, $suite:ident { $($case:ident)* }) => {
        $(
            #[tokio::test]
            async fn $case() {
                let (subject, _guard) = $open;
                $crate::testing::$suite::$case(subject).await;
            }
        )*
    };
}
