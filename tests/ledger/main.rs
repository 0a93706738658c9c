//! Every ledger and queue against the suites that define them, and the embedded ledger against crashes,
//! full disks and damaged files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod postgres;
mod sqlite;

mod memory {
    use std::sync::Arc;
    use verifactu_core::{
        accounts_suite, gate_suite,
        ledger::MemoryLedger,
        ledger_suite,
        queue::{MemoryGate, MemoryQueue},
        queue_suite, webhook_suite,
    };

    ledger_suite!((Arc::new(MemoryLedger::new()), ()));
    accounts_suite!((Arc::new(MemoryLedger::new()), ()));
    webhook_suite!((Arc::new(MemoryLedger::new()), ()));
    queue_suite!((Arc::new(MemoryQueue::default()), ()));
    gate_suite!((Arc::new(MemoryGate::default()), ()));
}
