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
    /// The invoice's date of issue.
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

/// A part of a list, which has the newest first, by the time of acceptance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Where it begins.
    pub start: Start,
    /// The most rows.
    pub limit: u32,
}

/// Where a page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Behind this job, wherever rows were added since.
    After(JobId),
    /// Behind so many rows.
    Skip(u32),
}

/// A page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Its rows.
    pub items: Vec<Submission>,
    /// Whether more follow.
    pub more: bool,
    /// How many rows the whole list has, if that is at most [`Listing::COUNTED`].
    pub total: Option<u32>,
}

impl Listing {
    /// Up to here a list is counted; a longer one is not, because that would take ever longer.
    pub const COUNTED: u32 = 10_000;
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
