//! Which world a record belongs to.

/// Where records go. The three never share a ledger or a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Environment {
    /// An authority of our own, to develop and test against.
    Sandbox,
    /// The authority's test service, without effect for taxes.
    Preproduction,
    /// The authority.
    Production,
}

impl Environment {
    /// `sandbox`, `preproduction` or `production`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Preproduction => "preproduction",
            Self::Production => "production",
        }
    }

    /// Reads what [`as_str`](Self::as_str) writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Sandbox, Self::Preproduction, Self::Production].into_iter().find(|one| one.as_str() == text)
    }
}

impl std::fmt::Display for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
