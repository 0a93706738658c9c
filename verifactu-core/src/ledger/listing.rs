//! Lists of an account's records with their jobs.

use std::ops::RangeInclusive;

use jiff::Timestamp;

use crate::{
    job::{FailureClass, JobKind, JobState, Standing},
    record::InvoiceId,
    types::{Date, InvoiceNumber, JobId, Nif, RequestId, TenantId},
};

use super::{append::Submission, row::JobRow};

/// Which records of an account a list shows. What is `None` does not narrow it down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// What the job does.
    pub kind: Option<JobKind>,
    /// The job's state.
    pub state: Option<JobState>,
    /// What the authority holds.
    pub standing: Option<Standing>,
    /// The issuer.
    pub issuer: Option<Nif>,
    /// The number of the invoice.
    pub number: Option<InvoiceNumber>,
    /// How the number begins.
    pub series: Option<InvoiceNumber>,
    /// The invoice's date of issue. It costs a look at every record that the rest of the filter takes.
    pub issued: Option<RangeInclusive<Date>>,
    /// Accepted at this time or later.
    pub from: Option<Timestamp>,
    /// Accepted before this time.
    pub until: Option<Timestamp>,
}

/// Which jobs of all accounts an operator looks for. What is `None` does not narrow it down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// The account.
    pub tenant: Option<TenantId>,
    /// The request that was accepted.
    pub request: Option<RequestId>,
    /// The job's state.
    pub state: Option<JobState>,
    /// What kind of failure the last one was.
    pub class: Option<FailureClass>,
    /// The authority's code of the last failure.
    pub code: Option<i64>,
    /// Accepted before this time.
    pub until: Option<Timestamp>,
}

impl Search {
    /// Whether the search finds this job.
    pub(super) fn finds(&self, job: &JobRow) -> bool {
        let failure = job.progress.failure.as_ref();
        self.tenant.as_ref().is_none_or(|tenant| job.tenant == *tenant)
            && self.request.is_none_or(|request| job.request == request)
            && self.state.is_none_or(|state| job.progress.state == state)
            && self.class.is_none_or(|class| failure.is_some_and(|failure| failure.class == class))
            && self.code.is_none_or(|code| failure.is_some_and(|failure| failure.code == Some(code)))
            && self.until.is_none_or(|until| job.created_at < until)
    }
}

/// Which chains of all accounts an operator looks for. What is not given does not narrow it down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainSearch {
    /// The account.
    pub tenant: Option<TenantId>,
    /// The issuer.
    pub issuer: Option<Nif>,
    /// Only those that are held.
    pub held: bool,
}

/// A part of a list, whose rows are told apart by keys: jobs, if nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<K = JobId> {
    /// Where it begins.
    pub start: Start<K>,
    /// The most rows.
    pub limit: u32,
}

impl<K> Page<K> {
    /// So many rows from the beginning, or from behind a row.
    #[must_use]
    pub fn behind(key: Option<K>, limit: u32) -> Self {
        Self { start: key.map_or(Start::Skip(0), Start::After), limit }
    }

    /// The row that it begins behind, and how many it skips.
    pub(super) fn begin(self) -> (Option<K>, u32) {
        match self.start {
            Start::After(key) => (Some(key), 0),
            Start::Skip(rows) => (None, rows),
        }
    }
}

/// Where a page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start<K = JobId> {
    /// Behind this row, wherever rows were added since.
    After(K),
    /// Behind so many rows.
    Skip(u32),
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing<T = Submission> {
    /// Its rows.
    pub items: Vec<T>,
    /// Whether more follow.
    pub more: bool,
    /// How many rows the whole list has, if that is at most [`Listing::COUNTED`].
    pub total: Option<u32>,
}

impl Listing {
    /// Up to here a list is counted; a longer one is not, because that would take ever longer.
    pub const COUNTED: u32 = 10_000;
}

impl<T> Listing<T> {
    /// A page whose rows were read to one above its limit, so that it is known whether more follow.
    pub(super) fn of(mut items: Vec<T>, limit: u32, total: u32) -> Self {
        let more = items.len() > limit as usize;
        items.truncate(limit as usize);
        Self { items, more, total: Some(total).filter(|total| *total <= Listing::COUNTED) }
    }
}

impl Filter {
    /// Whether a list shows this record.
    pub(super) fn takes(&self, job: &JobRow, invoice: &InvoiceId) -> bool {
        fn fits<T: PartialEq>(wanted: Option<&T>, found: &T) -> bool {
            wanted.is_none_or(|wanted| wanted == found)
        }
        fits(self.kind.as_ref(), &job.kind)
            && fits(self.state.as_ref(), &job.progress.state)
            && fits(self.standing.as_ref(), &job.progress.standing)
            && fits(self.issuer.as_ref(), &invoice.issuer)
            && fits(self.number.as_ref(), &invoice.number)
            && self.series.as_ref().is_none_or(|series| invoice.number.as_str().starts_with(series.as_str()))
            && self.issued.as_ref().is_none_or(|days| days.contains(&invoice.date))
            && self.from.is_none_or(|from| job.created_at >= from)
            && self.until.is_none_or(|until| job.created_at < until)
    }
}
