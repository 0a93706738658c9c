//! One run: load, fault, calm, comparison.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use harness::histories::{Findings, Histories};
use serde::Serialize;
use verifactu_core::testing::Chance;

use crate::{fault::Fault, load::Load, place::Place};

/// How long after the end of the fault everything has to be settled.
const SETTLED_WITHIN: Duration = Duration::from_secs(30);
/// How long the load goes on after it.
const LOAD_AFTER: Duration = Duration::from_secs(1);

/// What a run comes to; one line of JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    fault: &'static str,
    seed: u64,
    ok: bool,
    #[serde(flatten)]
    counts: Counts,
    #[serde(flatten)]
    found: Findings,
    /// From the end of the fault until all was settled; null if it was not in time.
    settled_ms: Option<u64>,
    /// What went wrong beside that.
    problems: Vec<String>,
    /// Where the files of a failed run are.
    files: Option<PathBuf>,
}

/// How much was done.
#[derive(Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    /// Idempotency keys that were used.
    keys: usize,
    /// Answers with a job.
    acknowledged: usize,
    /// Answers that an invoice was sent under another key.
    conflicts: usize,
    /// Requests that had to be repeated: no answer, or one that says so.
    repeated: usize,
    records: usize,
    registrations: usize,
    webhooks: usize,
}

/// The runs of a kind.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Totals {
    runs: usize,
    failed: usize,
    #[serde(flatten)]
    counts: Counts,
    #[serde(flatten)]
    found: Findings,
    slowest_settled_ms: u64,
}

/// What a run has to tell.
struct Outcome {
    histories: Histories,
    repeated: usize,
    settled: Option<Duration>,
    problems: Vec<String>,
}

impl Report {
    /// Makes a run. A panic on the way is a failed run like any other.
    pub(crate) async fn of(fault: Fault, seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let mut report = match tokio::spawn(async move { run(fault, seed, &path).await }).await {
            Ok(outcome) => Self::about(fault, seed, outcome),
            Err(error) => Self::failed(fault, seed, error.to_string()),
        };
        if !report.ok {
            report.files = Some(folder.keep());
        }
        report
    }

    fn about(fault: Fault, seed: u64, outcome: Outcome) -> Self {
        let Outcome { histories, repeated, settled, problems } = outcome;
        let found = histories.compare();
        Self {
            fault: fault.name(),
            seed,
            ok: found == Findings::default() && settled.is_some() && problems.is_empty(),
            counts: Counts {
                keys: histories.told.len(),
                acknowledged: histories.told.values().map(|told| told.jobs.len()).sum(),
                conflicts: histories.told.values().map(|told| told.conflicts).sum(),
                repeated,
                records: histories.kept.len(),
                registrations: histories.registered.len(),
                webhooks: histories.hooks.len(),
            },
            found,
            settled_ms: settled.map(|time| time.as_millis().try_into().unwrap_or(u64::MAX)),
            problems,
            files: None,
        }
    }

    fn failed(fault: Fault, seed: u64, problem: String) -> Self {
        Self {
            fault: fault.name(),
            seed,
            ok: false,
            counts: Counts::default(),
            found: Findings::default(),
            settled_ms: None,
            problems: vec![problem],
            files: None,
        }
    }
}

impl Totals {
    pub(crate) fn add(&mut self, report: &Report) {
        let (counts, found) = (&mut self.counts, &mut self.found);
        for (sum, more) in [
            (&mut self.runs, 1),
            (&mut self.failed, usize::from(!report.ok)),
            (&mut counts.keys, report.counts.keys),
            (&mut counts.acknowledged, report.counts.acknowledged),
            (&mut counts.conflicts, report.counts.conflicts),
            (&mut counts.repeated, report.counts.repeated),
            (&mut counts.records, report.counts.records),
            (&mut counts.registrations, report.counts.registrations),
            (&mut counts.webhooks, report.counts.webhooks),
            (&mut found.lost, report.found.lost),
            (&mut found.twice, report.found.twice),
            (&mut found.forks, report.found.forks),
            (&mut found.webhooks_too_many, report.found.webhooks_too_many),
            (&mut found.unsettled, report.found.unsettled),
        ] {
            *sum += more;
        }
        self.slowest_settled_ms = self.slowest_settled_ms.max(report.settled_ms.unwrap_or_default());
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.failed == 0
    }
}

async fn run(fault: Fault, seed: u64, folder: &Path) -> Outcome {
    let mut chance = Chance::seeded(seed);
    let mut place = Place::new(folder, fault.shape()).await;
    let load = Load::start(&place, &mut chance);
    place.has_registered().await;
    tokio::time::sleep(Duration::from_millis(chance.below(1500))).await;
    fault.inject(&mut place, &mut chance).await;
    let ended = Instant::now();
    tokio::time::sleep(LOAD_AFTER).await;
    let story = load.end().await;
    let settled = place.settled(ended + SETTLED_WITHIN).await.map(|at| at - ended);
    let (kept, mut problems) = place.kept().await;
    problems.extend(story.complaints);
    let histories = Histories {
        told: story.told,
        registered: place.registered().await,
        hooks: place.hooks(kept.len()).await,
        kept,
    };
    Outcome { histories, repeated: story.repeated, settled, problems }
}
