//! Lists, by looking at every record of the account.

use std::cmp::Reverse;

use crate::{
    ledger::{Filter, Listing, Page, Search, Start, Submission},
    types::{JobId, TenantId},
};

use super::State;

impl State {
    pub(super) fn search(&self, search: &Search, after: Option<JobId>, limit: u32) -> Vec<Submission> {
        let place = |index: usize| Reverse((self.entries[index].job.created_at, index));
        let mark = match after.map(|after| self.jobs.get(&after)) {
            Some(None) => return Vec::new(),
            Some(Some(index)) => Some(place(*index)),
            None => None,
        };
        let mut rows: Vec<usize> = (0..self.entries.len())
            .filter(|index| search.finds(&self.entries[*index].job))
            .filter(|index| mark.is_none_or(|mark| place(*index) > mark))
            .collect();
        rows.sort_unstable_by_key(|index| place(*index));
        rows.into_iter().take(limit as usize).map(|index| self.entries[index].submission()).collect()
    }

    pub(super) fn list(&self, tenant: &TenantId, filter: &Filter, page: Page) -> Option<Listing> {
        let own = |index: &usize| self.entries[*index].job.tenant == *tenant;
        let place = |index: usize| Reverse((self.entries[index].job.created_at, index));
        let mut rows: Vec<usize> = (0..self.entries.len())
            .filter(own)
            .filter(|index| filter.takes(&self.entries[*index].job, &self.entries[*index].record.invoice))
            .collect();
        rows.sort_unstable_by_key(|index| place(*index));
        let begin = match page.start {
            Start::Skip(rows) => rows as usize,
            Start::After(job) => {
                let mark = place(*self.jobs.get(&job).filter(|index| own(index))?);
                rows.partition_point(|index| place(*index) <= mark)
            }
        };
        let rest = rows.get(begin..).unwrap_or_default();
        Some(Listing {
            items: rest
                .iter()
                .take(page.limit as usize)
                .map(|index| self.entries[*index].submission())
                .collect(),
            more: rest.len() > page.limit as usize,
            total: u32::try_from(rows.len()).ok().filter(|total| *total <= Listing::COUNTED),
        })
    }
}
