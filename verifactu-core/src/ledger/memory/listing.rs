//! Lists, by looking at every row.

use std::cmp::Reverse;

use crate::{
    ledger::{Filter, Listing, Page, Search, Start, Submission},
    types::TenantId,
};

use super::State;

/// A page of rows that stand in their order; `behind` finds those that follow the row of a key.
pub(super) fn page<R, K, T>(
    rows: impl Iterator<Item = R>,
    page: Page<K>,
    behind: impl Fn(&R, &K) -> bool,
    show: impl Fn(R) -> T,
) -> Listing<T> {
    let (rows, limit): (Vec<R>, _) = (rows.collect(), page.limit);
    let total = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    let (after, skipped) = page.begin();
    let rest = rows.into_iter().filter(|row| after.as_ref().is_none_or(|key| behind(row, key)));
    let shown = rest.skip(skipped as usize).take((limit as usize).saturating_add(1)).map(show);
    Listing::of(shown.collect(), limit, total)
}

impl State {
    pub(super) fn search(&self, search: &Search, wanted: Page) -> Listing {
        let rows = (0..self.entries.len()).filter(|index| search.finds(&self.entries[*index].job));
        self.newest_first(rows.collect(), wanted)
    }

    pub(super) fn list(&self, tenant: &TenantId, filter: &Filter, wanted: Page) -> Option<Listing> {
        let own = |index: &usize| self.entries[*index].job.tenant == *tenant;
        if let Start::After(job) = wanted.start {
            self.jobs.get(&job).filter(|index| own(index))?;
        }
        let rows = (0..self.entries.len())
            .filter(own)
            .filter(|index| filter.takes(&self.entries[*index].job, &self.entries[*index].record.invoice));
        Some(self.newest_first(rows.collect(), wanted))
    }

    fn newest_first(&self, mut rows: Vec<usize>, wanted: Page) -> Listing {
        let place = |index: usize| Reverse((self.entries[index].job.created_at, index));
        rows.sort_unstable_by_key(|index| place(*index));
        let show = |index: usize| -> Submission { self.entries[index].submission() };
        page(
            rows.into_iter(),
            wanted,
            |index, job| self.jobs.get(job).is_some_and(|mark| place(*index) > place(*mark)),
            show,
        )
    }
}
