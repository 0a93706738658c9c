//! Random operations on a ledger, compared step by step with the ledger in memory.

use bytes::Bytes;
use jiff::ToSpan;

use crate::{
    job::{Csv, Failure, FailureClass, FailureSource, JobKind, JobState, Progress, Standing},
    ledger::{
        Attempt, AttemptOutcome, ChainSearch, Filter, Hold, HoldReason, Installation, JobUpdate, Lease,
        Ledger, LedgerErrorKind, MemoryLedger, NewMessage, Page, Quota, Selection, Settlement, SlotKind,
        Start, Submission, Suspects,
    },
    record::SystemId,
    types::{ChainId, Ids, InvoiceNumber, JobId, MessageId, RecordId, TenantId, Text},
};

use super::{Chance, Draft, Scene, Sealing};

const TENANTS: [&str; 2] = ["acme", "other"];
const STATES: [JobState; 5] =
    [JobState::Pending, JobState::Processing, JobState::Failed, JobState::Succeeded, JobState::Dead];
const STANDINGS: [Standing; 5] =
    [Standing::Waiting, Standing::Waiting, Standing::InDoubt, Standing::Rejected, Standing::Accepted];

/// Does the same random things to `subject`, which is empty, and to a [`MemoryLedger`], and compares
/// every answer and the final state. The same seed does the same things.
///
/// # Panics
/// At the first difference, with the seed and the operation.
pub async fn compare_with_memory(subject: &dyn Ledger, seed: u64, steps: u32) {
    let mut run = Run {
        chance: Chance::seeded(seed),
        scene: Scene::new(),
        reference: MemoryLedger::new(),
        subject,
        seed,
        drafts: Vec::new(),
        chains: Vec::new(),
        leases: Vec::new(),
        messages: Vec::new(),
        accepted: Vec::new(),
    };
    for step in 0..steps {
        run.step(step).await;
    }
    run.compare_state().await;
}

struct Run<'a> {
    chance: Chance,
    scene: Scene,
    reference: MemoryLedger,
    subject: &'a dyn Ledger,
    seed: u64,
    drafts: Vec<Draft>,
    chains: Vec<ChainId>,
    leases: Vec<Lease>,
    messages: Vec<MessageId>,
    accepted: Vec<Submission>,
}

/// Calls both ledgers and compares what they say; `Err` only by its kind.
macro_rules! both {
    ($run:expr, $what:expr, |$ledger:ident| $call:expr) => {{
        let expected = {
            let $ledger: &dyn Ledger = &$run.reference;
            $call.await.map_err(|error| error.kind)
        };
        let found = {
            let $ledger: &dyn Ledger = $run.subject;
            $call.await.map_err(|error| error.kind)
        };
        assert_eq!(
            format!("{expected:#?}"),
            format!("{found:#?}"),
            "seed {}: {} differs from the reference",
            $run.seed,
            $what
        );
        expected
    }};
}

impl Run<'_> {
    async fn step(&mut self, step: u32) {
        let passed = self.chance.below(90_000_000) as i64;
        self.scene.clock.set(self.scene.now() + passed.microseconds());
        match self.chance.below(22) {
            // Rarely, because every chain is closed by it.
            21 if self.chance.one_in(8) => {
                let (progress, now) = (self.progress(), self.scene.now());
                let fate = |progress: &Progress| {
                    let progress = progress.clone();
                    Box::new(move |_: &Progress| progress.clone())
                };
                let _ =
                    both!(self, format!("{step}: close"), |ledger| ledger.close_chains(now, fate(&progress)));
            }
            21 => {
                let before = self.scene.now() - (self.chance.below(900) as i64).seconds();
                let what = format!("{step}: prune");
                let _ = both!(self, what, |ledger| ledger.prune(before, u32::MAX));
            }
            20 => {
                let tenant = self.tenant();
                let (reason, since) = (self.reason(), self.scene.now());
                let issuer = self.chance.one_in(2).then_some(self.scene.issuer);
                let hold = Hold { reason, description: "suspended".to_owned(), since };
                let _ = both!(self, format!("{step}: hold"), |ledger| ledger.hold(&tenant, issuer, &hold));
            }
            0..6 => self.append(step).await,
            6..8 => self.claim(step).await,
            8..11 => self.open_message(step).await,
            11..15 => self.settle(step).await,
            15 => self.revise(step).await,
            16 => {
                let tenant = self.tenant();
                let reason = self.reason();
                let issuer = self.chance.one_in(2).then_some(self.scene.issuer);
                let _ =
                    both!(self, format!("{step}: release"), |ledger| ledger.release(&tenant, issuer, reason));
            }
            _ => self.read(step).await,
        }
    }

    fn tenant(&mut self) -> TenantId {
        TenantId::parse(self.chance.pick::<&str>(&TENANTS)).unwrap()
    }

    fn reason(&mut self) -> HoldReason {
        *self.chance.pick(&HoldReason::ALL)
    }

    async fn append(&mut self, step: u32) {
        let chance = &mut self.chance;
        let scene = self.scene.of(chance.pick::<&str>(&TENANTS));
        let number = format!("F-{}", chance.below(12));
        let mut draft = match chance.below(4) {
            0 => scene.correction(&number),
            1 => scene.cancellation(&number),
            _ => scene.invoice(&number),
        };
        let text = Text::parse(&format!("i-{}", chance.below(2))).unwrap();
        draft.installation = if chance.one_in(3) {
            Installation::Minted(Text::parse(&format!("m-{}", chance.below(100))).unwrap())
        } else {
            Installation::Named(text)
        };
        if chance.one_in(8) {
            draft.system = SystemId::parse("78").unwrap();
        }
        if chance.one_in(3) {
            let limit = (!chance.one_in(3)).then(|| chance.below(5));
            draft.quota = Some(Quota { month: format!("2026-0{}", 7 + chance.below(2)), limit });
        }
        draft.sealing = match chance.below(12) {
            0 => Sealing::Refuse,
            1 => *chance.pick(&[Sealing::WrongPredecessor, Sealing::WrongInvoice, Sealing::Backdated]),
            _ => Sealing::Honest,
        };
        if chance.one_in(6) && !self.drafts.is_empty() {
            let earlier = chance.pick(&self.drafts).clone();
            draft = if chance.one_in(2) { earlier } else { Draft { key: earlier.key, ..draft } };
        }
        self.drafts.push(draft.clone());
        let what = format!("{step}: append {draft:?}");
        let appended = both!(self, what, |ledger| ledger.append(draft.append()));
        if let Ok(crate::ledger::Appended::New { submission, .. }) = appended {
            if !self.chains.contains(&submission.record.chain) {
                self.chains.push(submission.record.chain);
            }
            self.accepted.push(*submission);
        }
    }

    async fn claim(&mut self, step: u32) {
        let chain = self.chain();
        let claim = both!(self, format!("{step}: claim"), |ledger| ledger.claim(chain));
        if let Ok(Some(claim)) = claim {
            self.leases.push(claim.lease);
        }
    }

    fn chain(&mut self) -> ChainId {
        if self.chains.is_empty() || self.chance.one_in(20) {
            ChainId(self.scene.ids.next())
        } else {
            *self.chance.pick(&self.chains)
        }
    }

    /// Mostly the newest lease, so that most writes take place.
    fn lease(&mut self) -> Option<Lease> {
        let newest = self.leases.last().copied()?;
        Some(if self.chance.one_in(4) { *self.chance.pick(&self.leases) } else { newest })
    }

    /// Accepted records, mostly of one chain.
    fn some_of(&mut self, chain: ChainId) -> Vec<Submission> {
        let stray = self.chance.one_in(15);
        let own: Vec<Submission> = self
            .accepted
            .iter()
            .filter(|submission| stray || submission.record.chain == chain)
            .cloned()
            .collect();
        let mut some = Vec::new();
        for submission in own {
            if self.chance.one_in(3) {
                some.push(submission);
            }
        }
        some
    }

    fn progress(&mut self) -> Progress {
        let now = self.scene.now();
        let chance = &mut self.chance;
        let state = *chance.pick(&STATES);
        let later = now + (chance.below(7_200) as i64).seconds();
        Progress {
            state,
            standing: *chance.pick(&STANDINGS),
            attempts: chance.below(9) as u32,
            sent: chance.one_in(2),
            alone: chance.one_in(4),
            next_retry_at: (state == JobState::Failed && !chance.one_in(4)).then_some(later),
            failure: chance.one_in(2).then(|| Failure {
                source: FailureSource::Network,
                class: FailureClass::InDoubt,
                code: None,
                description: "sin respuesta".to_owned(),
                at: now,
                superseded_by: None,
            }),
            csv: chance.one_in(3).then_some(Csv::Lost),
            answer: None,
            completed_at: state.is_final().then_some(now),
        }
    }

    fn updates(&mut self, of: &[Submission]) -> Vec<JobUpdate> {
        let mut updates = Vec::new();
        for submission in of {
            let attempt = self.chance.one_in(2).then(|| Attempt {
                started_at: self.scene.now(),
                duration_ms: self.chance.below(30_000),
                outcome: AttemptOutcome::Error,
                code: None,
                message: self.messages.last().copied(),
            });
            let progress = self.progress();
            updates.push(JobUpdate { job: submission.job.id, progress, attempt, answer_line: None });
        }
        updates
    }

    async fn open_message(&mut self, step: u32) {
        let Some(lease) = self.lease() else { return };
        let some = self.some_of(lease.chain);
        let id = if self.chance.one_in(12) && !self.messages.is_empty() {
            *self.chance.pick(&self.messages)
        } else {
            MessageId(self.scene.ids.next())
        };
        let bytes = Bytes::from(format!("sent in step {step}"));
        let message = NewMessage {
            id,
            at: self.scene.now(),
            digest: [3; 32],
            incident: self.chance.one_in(2),
            slot: *self.chance.pick(&[SlotKind::First, SlotKind::Retry]),
            records: some.iter().map(|submission| (submission.record.id, bytes.clone())).collect(),
            updates: self.updates(&some),
        };
        self.messages.push(id);
        let what = format!("{step}: open_message");
        let _ = both!(self, what, |ledger| ledger.open_message(lease, message.clone()));
    }

    async fn settle(&mut self, step: u32) {
        let Some(lease) = self.lease() else { return };
        let some = self.some_of(lease.chain);
        let message =
            (!self.messages.is_empty() && !self.chance.one_in(3)).then(|| *self.chance.pick(&self.messages));
        let now = self.scene.now();
        let settlement = Settlement {
            message,
            at: now,
            answer: self.chance.one_in(2).then(|| Bytes::from_static(b"<answer/>")),
            updates: self.updates(&some),
            next_slot_at: (!self.chance.one_in(5)).then(|| now + (self.chance.below(120) as i64).seconds()),
            wait_seconds: Some(self.chance.below(300) as u32),
            unreachable_count: self.chance.below(4) as u32,
            suspects: self.chance.one_in(4).then(|| Suspects {
                slot: *self.chance.pick(&[SlotKind::First, SlotKind::Retry]),
                records: 1 + self.chance.below(1000) as u32,
            }),
            hold: self.chance.one_in(6).then(|| Hold {
                reason: *self.chance.pick(&HoldReason::ALL),
                description: "stopped".to_owned(),
                since: now,
            }),
        };
        let what = format!("{step}: settle");
        let _ = both!(self, what, |ledger| ledger.settle(lease, settlement.clone()));
    }

    async fn revise(&mut self, step: u32) {
        if self.accepted.is_empty() {
            return;
        }
        let submission = self.chance.pick(&self.accepted).clone();
        let known = self.reference.job(&submission.job.tenant, submission.job.id).await.unwrap().unwrap();
        let seen = if self.chance.one_in(4) { self.progress() } else { known.job.progress };
        let next = self.progress();
        let what = format!("{step}: revise");
        let _ = both!(self, what, |ledger| ledger.revise(submission.job.id, &seen, &next));
    }

    async fn read(&mut self, step: u32) {
        let chain = self.chain();
        let lease = Lease { chain, epoch: 0 };
        let due = self.scene.now() + (self.chance.below(3_600) as i64).seconds();
        let limit = self.chance.below(6) as u32;
        for selection in
            [Selection::First { limit }, Selection::Retry { due, limit }, Selection::Doubtful { due }]
        {
            let what = format!("{step}: {selection:?}");
            let _ = both!(self, what, |ledger| ledger.work(lease, selection));
        }
        let records: Vec<RecordId> = self.some_of(chain).iter().map(|some| some.record.id).collect();
        let _ = both!(self, format!("{step}: overtaken"), |ledger| ledger.overtaken(lease, &records));
        let _ = both!(self, format!("{step}: due"), |ledger| ledger.due(chain));
        let after = self.chance.one_in(2).then_some(chain);
        let _ = both!(self, format!("{step}: due_chains"), |ledger| ledger.due_chains(after, limit));
        let _ = both!(self, format!("{step}: chain"), |ledger| ledger.chain(chain));
        let search = ChainSearch {
            tenant: self.chance.one_in(2).then(|| self.tenant()),
            issuer: self.chance.one_in(3).then_some(self.scene.issuer),
            held: self.chance.one_in(2),
        };
        let what = format!("{step}: {search:?}");
        let page = Page::behind(after, limit);
        let _ = both!(self, what, |ledger| ledger.search_chains(&search, page));
        let _ = both!(self, format!("{step}: overview"), |ledger| ledger.overview());
        self.list(step, limit).await;
    }

    async fn list(&mut self, step: u32, limit: u32) {
        let tenant = self.tenant();
        let chance = &mut self.chance;
        let number = InvoiceNumber::parse(&format!("F-{}", chance.below(12))).unwrap();
        let series = InvoiceNumber::parse("F-1").unwrap();
        let back = chance.below(600) as i64;
        let filter = Filter {
            kind: chance.one_in(4).then(|| *chance.pick(&[JobKind::Send, JobKind::Cancel])),
            state: chance.one_in(4).then(|| *chance.pick(&STATES)),
            standing: chance.one_in(4).then(|| *chance.pick(&STANDINGS)),
            issuer: chance.one_in(4).then_some(self.scene.issuer),
            number: chance.one_in(4).then_some(number),
            series: chance.one_in(4).then_some(series),
            issued: None,
            from: chance.one_in(4).then(|| self.scene.now() - back.seconds()),
            until: chance.one_in(4).then(|| self.scene.now() - (back / 2).seconds()),
        };
        let start = match self.accepted.last() {
            Some(last) if chance.one_in(3) => Start::After(last.job.id),
            _ => Start::Skip(chance.below(5) as u32),
        };
        let page = Page { start, limit };
        let what = format!("{step}: {filter:?} {page:?}");
        let _ = both!(self, what, |ledger| ledger.list(&tenant, &filter, page));
    }

    async fn compare_state(&mut self) {
        for tenant in TENANTS.map(|tenant| TenantId::parse(tenant).unwrap()) {
            let _ = both!(self, "final usage", |ledger| ledger.usage(&tenant, ""));
            let _ = both!(self, "final turnover", |ledger| ledger.turnover(&tenant, "2026-07"));
            let _ = both!(self, "final chains", |ledger| ledger.chains(&tenant));
            let (all, page) = (Filter::default(), Page { start: Start::Skip(0), limit: u32::MAX });
            let _ = both!(self, "final list", |ledger| ledger.list(&tenant, &all, page));
        }
        for chain in self.chains.clone() {
            let _ = both!(self, "final records", |ledger| ledger.records(chain, 1, 10_000));
            let _ = both!(self, "final due", |ledger| ledger.due(chain));
            let _ = both!(self, "final claim", |ledger| ledger.claim(chain));
        }
        for submission in &self.accepted {
            let (tenant, job): (&TenantId, JobId) = (&submission.job.tenant, submission.job.id);
            let _ = both!(self, "final job", |ledger| ledger.job(tenant, job));
            let _ = both!(self, "final attempts", |ledger| ledger.attempts(job));
            let _ = both!(self, "final answer line", |ledger| ledger.answer_line(job));
            let record = submission.record.id;
            let _ = both!(self, "final record", |ledger| ledger.record(tenant, record));
        }
        for draft in &self.drafts {
            let _ =
                both!(self, "final replay", |ledger| ledger.replay(&draft.tenant, draft.kind, &draft.key));
        }
        let _: Result<(), LedgerErrorKind> = both!(self, "final probe", |ledger| ledger.probe());
    }
}
