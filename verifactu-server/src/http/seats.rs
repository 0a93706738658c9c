//! Who makes room when all connections are taken.
//!
//! A limit alone would let idle or slow peers lock everybody else out for as long as they may take. So
//! one more than the limit is let in, and who has kept the service waiting longest loses its connection:
//! by saying nothing, or by sending a request bit by bit. Whose request is being answered does not.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use tokio::{
    sync::Notify,
    task::{AbortHandle, Id},
};

/// The connections that are open.
pub(super) struct Seats {
    limit: usize,
    taken: HashMap<Id, (AbortHandle, Arc<Seat>)>,
    /// Told when an answer has ended, and somebody may have to make room.
    rest: Arc<Notify>,
}

/// A connection, as far as making room goes.
pub(super) struct Seat {
    /// Since when the service waits for the peer; none while it answers.
    waits_since: Mutex<Option<Instant>>,
    rest: Arc<Notify>,
}

/// A request is being answered as long as this lives.
pub(super) struct Answering<'a>(&'a Seat);

impl Seats {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, taken: HashMap::new(), rest: Arc::default() }
    }

    /// A seat for a connection that is about to be served.
    pub(super) fn seat(&self) -> Arc<Seat> {
        Arc::new(Seat { waits_since: Mutex::new(Some(Instant::now())), rest: self.rest.clone() })
    }

    pub(super) fn take(&mut self, connection: AbortHandle, seat: Arc<Seat>) {
        self.taken.insert(connection.id(), (connection, seat));
    }

    pub(super) fn leave(&mut self, connection: Id) {
        self.taken.remove(&connection);
    }

    /// Whether nobody more can be let in, even after somebody was made to leave.
    pub(super) fn are_full(&mut self) -> bool {
        if self.taken.len() > self.limit {
            let waiting = self.taken.iter().filter_map(|(id, (_, seat))| Some((seat.waits_since()?, *id)));
            if let Some((_, longest)) = waiting.min()
                && let Some((connection, _)) = self.taken.remove(&longest)
            {
                connection.abort();
            }
        }
        self.taken.len() > self.limit
    }

    /// Completes when it is worth asking again.
    pub(super) async fn somebody_rests(&self) {
        self.rest.notified().await;
    }
}

impl Seat {
    pub(super) fn answering(&self) -> Answering<'_> {
        self.set(None);
        Answering(self)
    }

    fn waits_since(&self) -> Option<Instant> {
        *self.waits_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, since: Option<Instant>) {
        *self.waits_since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.set(Some(Instant::now()));
        self.0.rest.notify_one();
    }
}
