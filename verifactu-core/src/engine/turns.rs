//! Turns between accounts: whoever has many chains does not keep all others waiting.
//!
//! The queue gives out chains by the time since when they are due, whomever they belong to. So one
//! dispatch of a process is always kept free for chains of other accounts: a chain whose account has all
//! the others is put back for a moment, and the next one in the queue is looked at.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use crate::types::TenantId;

/// How many dispatches each account has under way.
pub(super) struct Turns {
    most: usize,
    under_way: Mutex<HashMap<TenantId, usize>>,
}

/// An account's dispatch, until it is dropped.
pub(super) struct Turn<'a> {
    tenant: TenantId,
    turns: &'a Turns,
}

impl Turns {
    /// For so many dispatches side by side.
    pub(super) fn among(concurrency: usize) -> Self {
        Self { most: concurrency.saturating_sub(1).max(1), under_way: Mutex::default() }
    }

    /// A turn of an account, unless it has its share.
    pub(super) fn begin(&self, tenant: TenantId) -> Option<Turn<'_>> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let count = under_way.entry(tenant.clone()).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Turn { tenant, turns: self })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut under_way = self.turns.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = under_way.get_mut(&self.tenant) {
            *count -= 1;
            if *count == 0 {
                under_way.remove(&self.tenant);
            }
        }
    }
}
