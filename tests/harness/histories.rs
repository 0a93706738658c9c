//! One story as four parties tell it: the clients of the service, its ledger, the authority, and the
//! receiver of webhooks. Whatever went wrong meanwhile, they have to agree (specification, Idempotency
//! and Events).

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// What the clients were told about one idempotency key.
#[derive(Clone, Debug)]
pub struct Told {
    pub issuer: String,
    pub number: String,
    /// Every answer with a job.
    pub jobs: Vec<Job>,
    /// How often the number was said to be used up under another key.
    pub conflicts: usize,
}

/// A job, with the huella of its record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Job {
    pub id: String,
    pub huella: String,
}

/// A record in the ledger.
#[derive(Clone, Debug)]
pub struct Kept {
    pub job: Job,
    pub issuer: String,
    pub number: String,
    pub position: u64,
    pub previous: Option<String>,
    /// The ledger says that the authority holds it.
    pub accepted: bool,
}

/// A registration that the authority made.
#[derive(Clone, Debug)]
pub struct Registered {
    pub issuer: String,
    pub number: String,
    pub huella: String,
}

/// The four stories. Each issuer has one chain.
#[derive(Clone, Debug, Default)]
pub struct Histories {
    /// By idempotency key.
    pub told: BTreeMap<String, Told>,
    pub kept: Vec<Kept>,
    pub registered: Vec<Registered>,
    /// The job of each webhook that came in.
    pub hooks: Vec<String>,
}

/// What they disagree about, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Findings {
    /// Acknowledged, and not in the ledger as it was told; or accepted by the authority in the ledger
    /// alone.
    pub lost: usize,
    /// An invoice with two records or two registrations, or a key with two jobs, or
    /// with one and a conflict.
    pub twice: usize,
    /// A record that does not follow on the one before it, or that only the authority knows.
    pub forks: usize,
    /// More than one webhook of a job, or one of no job.
    pub webhooks_too_many: usize,
    /// In the ledger, and not with the authority.
    pub unsettled: usize,
}

impl Histories {
    pub fn compare(&self) -> Findings {
        let by_job: BTreeMap<&str, &Kept> = self.kept.iter().map(|kept| (&*kept.job.id, kept)).collect();
        Findings {
            lost: self.lost(&by_job),
            twice: self.twice(),
            forks: self.forks(),
            webhooks_too_many: repeated(&self.hooks)
                + self.hooks.iter().filter(|job| !by_job.contains_key(job.as_str())).count(),
            unsettled: self.kept.iter().filter(|kept| !kept.accepted).count(),
        }
    }

    fn lost(&self, by_job: &BTreeMap<&str, &Kept>) -> usize {
        let is_kept = |told: &Told, job: &Job| {
            by_job.get(&*job.id).is_some_and(|kept| {
                kept.job == *job && kept.issuer == told.issuer && kept.number == told.number
            })
        };
        let numbers: BTreeSet<_> = self.kept.iter().map(|kept| (&kept.issuer, &kept.number)).collect();
        let acknowledged = self.told.values().flat_map(|told| told.jobs.iter().map(move |job| (told, job)));
        let conflicts = self.told.values().filter(|told| told.conflicts > 0);
        let registered: BTreeSet<_> =
            self.registered.iter().map(|it| (&it.issuer, &it.number, &it.huella)).collect();
        let accepted = self.kept.iter().filter(|kept| kept.accepted);
        acknowledged.filter(|(told, job)| !is_kept(told, job)).count()
            + conflicts.filter(|told| !numbers.contains(&(&told.issuer, &told.number))).count()
            + accepted
                .filter(|kept| !registered.contains(&(&kept.issuer, &kept.number, &kept.job.huella)))
                .count()
    }

    fn twice(&self) -> usize {
        let two_answers = |told: &&Told| {
            let jobs = told.jobs.iter().collect::<BTreeSet<_>>().len();
            jobs > 1 || (jobs == 1 && told.conflicts > 0)
        };
        repeated(self.kept.iter().map(|kept| (&kept.issuer, &kept.number)))
            + repeated(self.registered.iter().map(|it| (&it.issuer, &it.number)))
            + self.told.values().filter(two_answers).count()
    }

    fn forks(&self) -> usize {
        let mut chains: BTreeMap<&str, Vec<&Kept>> = BTreeMap::new();
        for kept in &self.kept {
            chains.entry(&kept.issuer).or_default().push(kept);
        }
        let mut forks = 0;
        for chain in chains.values_mut() {
            chain.sort_by_key(|kept| kept.position);
            let mut before: Option<&Kept> = None;
            for kept in chain {
                let follows = kept.position == before.map_or(1, |before| before.position + 1)
                    && kept.previous.as_ref() == before.map(|before| &before.job.huella);
                forks += usize::from(!follows);
                before = Some(kept);
            }
        }
        let known: BTreeSet<&str> = self.kept.iter().map(|kept| &*kept.job.huella).collect();
        forks + self.registered.iter().filter(|it| !known.contains(&*it.huella)).count()
    }
}

/// How many are there after another that is the same.
fn repeated<T: Ord>(all: impl IntoIterator<Item = T>) -> usize {
    let (mut seen, mut repeated) = (BTreeSet::new(), 0);
    for one in all {
        repeated += usize::from(!seen.insert(one));
    }
    repeated
}
