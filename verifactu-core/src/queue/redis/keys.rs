//! What the queue's keys are called. All of a queue carry one hash tag, so that a cluster keeps them
//! together and a script may touch several.

/// The names of a queue.
#[derive(Debug)]
pub(super) struct Keys {
    tag: String,
}

impl Keys {
    /// 1 to 64 letters, digits, `.`, `_` or `-`; anything else could end the hash tag.
    pub(super) fn of(name: &str) -> Option<Self> {
        let fits = (1..=64).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        fits.then(|| Self { tag: format!("{{verifactu:{name}}}") })
    }

    /// Sorted set: every chain that is due some time, by that time, or by the end of its lease.
    pub(super) fn due(&self) -> String {
        format!("{}:due", self.tag)
    }

    /// Hash: whose the chains are that are taken.
    pub(super) fn leases(&self) -> String {
        format!("{}:leases", self.tag)
    }

    /// Hash: when taken chains are due again, if they were scheduled meanwhile.
    pub(super) fn waiting(&self) -> String {
        format!("{}:waiting", self.tag)
    }

    /// Channel: another chain has become the first.
    pub(super) fn channel(&self) -> String {
        format!("{}:wake", self.tag)
    }

    /// A number, gone by itself: when a bucket is full again.
    pub(super) fn bucket(&self, name: &str) -> String {
        format!("{}:rate:{name}", self.tag)
    }

    /// A text, gone by itself: who has a request under way, and until when.
    pub(super) fn mark(&self, name: &str) -> String {
        format!("{}:mark:{name}", self.tag)
    }

    /// Written to find out whether the server takes anything at all.
    pub(super) fn probe(&self) -> String {
        format!("{}:probe", self.tag)
    }
}
