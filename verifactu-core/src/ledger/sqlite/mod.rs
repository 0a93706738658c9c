//! The embedded ledger.
