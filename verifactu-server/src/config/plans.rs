//! Plans: how many invoices an account may have in a month.

use std::collections::BTreeMap;

/// The plans that accounts can have.
#[derive(Clone, Debug)]
pub struct Plans {
    /// Whether their limits hold; else everything is only counted.
    pub billing: bool,
    /// New invoices of a calendar month, by the name of the plan.
    pub limits: BTreeMap<String, u64>,
}

/// The plan of accounts that have none of their own.
const DEFAULT: &str = "free";

impl Default for Plans {
    fn default() -> Self {
        let limits = [(DEFAULT, 50), ("pro", 5_000), ("enterprise", 50_000)];
        Self {
            billing: false,
            limits: limits.into_iter().map(|(name, limit)| (name.to_owned(), limit)).collect(),
        }
    }
}

impl Plans {
    /// The name of the plan that holds for an account.
    pub(crate) fn name<'a>(&self, own: Option<&'a str>) -> &'a str {
        own.unwrap_or(DEFAULT)
    }

    /// The most new invoices of a month. A plan that is not in the settings has no limit.
    pub(crate) fn limit(&self, own: Option<&str>) -> Option<u64> {
        self.limits.get(self.name(own)).copied().filter(|_| self.billing)
    }

    /// The name of a plan that accounts can have.
    pub(crate) fn known(&self, name: &str) -> Result<String, String> {
        if self.limits.contains_key(name) {
            return Ok(name.to_owned());
        }
        let names: Vec<_> = self.limits.keys().map(String::as_str).collect();
        Err(format!("must be one of {}", names.join(", ")))
    }

    /// Reads `free=50,pro=5000`.
    pub(super) fn limits(text: &str) -> Option<BTreeMap<String, u64>> {
        text.split(',')
            .map(|plan| {
                let (name, limit) = plan.split_once('=')?;
                let name = name.trim();
                (!name.is_empty()).then_some(())?;
                Some((name.to_owned(), limit.trim().parse().ok()?))
            })
            .collect()
    }
}
