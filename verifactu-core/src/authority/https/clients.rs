//! The clients of the identities used last.
//!
//! A client costs 8 KiB, and 50 KiB more while it has a connection open, so thousands can be kept;
//! the one used longest ago goes first. A client that is dropped here ends its exchanges undisturbed.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use reqwest::Client;

use crate::certificate::IdentityId;

pub(super) struct Clients {
    most: usize,
    kept: Mutex<Kept>,
}

/// Every use has a number. `by_use` holds each identity once, under its last one.
#[derive(Default)]
struct Kept {
    uses: u64,
    by_identity: HashMap<IdentityId, (u64, Client)>,
    by_use: BTreeMap<u64, IdentityId>,
}

impl Clients {
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), kept: Mutex::default() }
    }

    pub(super) fn find(&self, identity: IdentityId) -> Option<Client> {
        let mut kept = self.lock();
        let (_, client) = kept.by_identity.get(&identity)?;
        let client = client.clone();
        kept.touch(identity, client.clone());
        Some(client)
    }

    pub(super) fn keep(&self, identity: IdentityId, client: Client) {
        let mut kept = self.lock();
        kept.touch(identity, client);
        while kept.by_identity.len() > self.most {
            let Some((_, oldest)) = kept.by_use.pop_first() else { return };
            kept.by_identity.remove(&oldest);
        }
    }

    /// The map is whole after every step, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn touch(&mut self, identity: IdentityId, client: Client) {
        self.uses += 1;
        if let Some((before, _)) = self.by_identity.insert(identity, (self.uses, client)) {
            self.by_use.remove(&before);
        }
        self.by_use.insert(self.uses, identity);
    }
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clients").field("most", &self.most).finish_non_exhaustive()
    }
}
