//! The ledger in memory: plain collections behind one lock. It is the reference that the durable
//! backends are compared with, and serves tests and programs that keep nothing. What no method reads
//! back it does not keep.

mod accounts;
mod append;
mod listing;
mod upkeep;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;
use jiff::Timestamp;

use crate::{
    job::{JobKind, Progress},
    record::{InvoiceId, SystemId},
    types::{BatchId, ChainId, JobId, MessageId, Nif, RecordId, TenantId},
};

use super::{
    ApiKey, Append, Appended, Attempt, AuditLine, Batch, ChainKey, ChainSearch, ChainState, Claim, Delivery,
    FULL_MESSAGE, Fenced, Filter, Hold, HoldReason, JobRow, JobUpdate, Lease, Ledger, LedgerError,
    LedgerErrorKind, Listing, NewMessage, OpenMessage, Overview, Page, Reassess, RecordRow,
    SealedCertificate, Search, Selection, SentMessage, Settlement, Submission, Sums, Tenant, Turnover, Usage,
    Webhook,
    schedule::{self, Turn},
};

/// A ledger that lasts as long as the process.
#[derive(Debug, Default)]
pub struct MemoryLedger {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Every accepted request in the order of acceptance, whatever its chain.
    entries: Vec<Entry>,
    jobs: HashMap<JobId, usize>,
    records: HashMap<RecordId, usize>,
    chains: BTreeMap<ChainId, Chain>,
    keys: HashMap<ChainKey, ChainId>,
    minted: HashMap<(TenantId, Nif, String, SystemId), ChainId>,
    invoices: HashMap<(TenantId, InvoiceId), Vec<usize>>,
    idempotency: HashMap<(TenantId, JobKind, String), ([u8; 32], usize)>,
    turnover: BTreeMap<(TenantId, String, Nif), Sums>,
    messages: HashMap<MessageId, Message>,
    /// In the order in which they were written down.
    sent: Vec<MessageId>,

    tenants: BTreeMap<TenantId, Tenant>,
    api_keys: HashMap<String, ApiKey>,
    certificates: HashMap<TenantId, SealedCertificate>,
    batches: HashMap<BatchId, Batch>,
    requests: BTreeMap<(TenantId, String), u64>,
    webhooks: HashMap<TenantId, Webhook>,
    /// In the order in which they became owed.
    deliveries: Vec<Delivery>,
    audit: Vec<AuditLine>,
}

#[derive(Debug)]
struct Entry {
    job: JobRow,
    record: RecordRow,
    attempts: Vec<Attempt>,
    answer_line: Option<Bytes>,
}

#[derive(Debug)]
struct Chain {
    state: ChainState,
    epoch: u64,
    /// Its entries by position, less one.
    entries: Vec<usize>,
    /// Positions, less one, of the jobs that are not final.
    unfinished: BTreeSet<usize>,
    /// Messages that were never settled, oldest first.
    open: Vec<MessageId>,
}

#[derive(Debug)]
struct Message {
    chain: ChainId,
    written: NewMessage,
    /// When it was settled, and by which answer.
    settled: Option<(Timestamp, Option<Bytes>)>,
}

impl MemoryLedger {
    /// An empty ledger.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Ledger for MemoryLedger {
    async fn append(&self, append: Append) -> Result<Appended, LedgerError> {
        self.lock().append(append)
    }

    async fn replay(
        &self,
        tenant: &TenantId,
        kind: JobKind,
        key: &str,
    ) -> Result<Option<([u8; 32], Submission)>, LedgerError> {
        let state = self.lock();
        let entry = state.idempotency.get(&(tenant.clone(), kind, key.to_owned()));
        Ok(entry.map(|(fingerprint, index)| (*fingerprint, state.entries[*index].submission())))
    }

    async fn job(&self, tenant: &TenantId, job: JobId) -> Result<Option<Submission>, LedgerError> {
        let state = self.lock();
        let entry = state.jobs.get(&job).map(|index| &state.entries[*index]);
        Ok(entry.filter(|entry| entry.job.tenant == *tenant).map(Entry::submission))
    }

    async fn find_job(&self, job: JobId) -> Result<Option<Submission>, LedgerError> {
        let state = self.lock();
        Ok(state.jobs.get(&job).map(|index| state.entries[*index].submission()))
    }

    async fn search(&self, search: &Search, page: Page) -> Result<Listing, LedgerError> {
        Ok(self.lock().search(search, page))
    }

    async fn messages(&self, job: JobId) -> Result<Vec<SentMessage>, LedgerError> {
        let state = self.lock();
        let Some(index) = state.jobs.get(&job) else { return Ok(Vec::new()) };
        let record = state.entries[*index].record.id;
        let carried = state.sent.iter().filter_map(|id| state.messages.get(id));
        let carried =
            carried.filter(|message| message.written.records.iter().any(|(carried, _)| *carried == record));
        Ok(carried
            .map(|message| SentMessage {
                id: message.written.id,
                at: message.written.at,
                incident: message.written.incident,
                settled_at: message.settled.as_ref().map(|(at, _)| *at),
                answer: message.settled.as_ref().and_then(|(_, answer)| answer.clone()),
            })
            .collect())
    }

    async fn record(&self, tenant: &TenantId, record: RecordId) -> Result<Option<Submission>, LedgerError> {
        let state = self.lock();
        let entry = state.records.get(&record).map(|index| &state.entries[*index]);
        Ok(entry.filter(|entry| entry.job.tenant == *tenant).map(Entry::submission))
    }

    async fn list(
        &self,
        tenant: &TenantId,
        filter: &Filter,
        page: Page,
    ) -> Result<Option<Listing>, LedgerError> {
        Ok(self.lock().list(tenant, filter, page))
    }

    async fn claim(&self, chain: ChainId) -> Result<Option<Claim>, LedgerError> {
        let mut state = self.lock();
        let Some(claimed) = state.chains.get_mut(&chain) else { return Ok(None) };
        claimed.epoch += 1;
        let lease = Lease { chain, epoch: claimed.epoch };
        let (chain_state, open) = (claimed.state.clone(), claimed.open.clone());
        let open = open.iter().filter_map(|id| state.messages.get(id)).map(|message| OpenMessage {
            id: message.written.id,
            at: message.written.at,
            items: state.items(message.written.records.iter().map(|(record, _)| *record)),
        });
        Ok(Some(Claim { lease, state: chain_state, open: open.collect() }))
    }

    async fn work(&self, lease: Lease, selection: Selection) -> Result<Vec<Submission>, LedgerError> {
        let state = self.lock();
        let Some(chain) = state.chains.get(&lease.chain) else { return Ok(Vec::new()) };
        let unfinished = chain.unfinished.iter().map(|place| &state.entries[chain.entries[*place]]);
        Ok(match selection {
            Selection::First { limit } => {
                state.run(chain).take(limit as usize).map(Entry::submission).collect()
            }
            Selection::Retry { due, limit } => unfinished
                .filter(|entry| schedule::is_retry(&entry.job.progress, due))
                .take(limit as usize)
                .map(Entry::submission)
                .collect(),
            Selection::Doubtful { due } => unfinished
                .filter(|entry| schedule::is_doubtful(&entry.job.progress, due))
                .take(FULL_MESSAGE as usize)
                .map(Entry::submission)
                .collect(),
        })
    }

    async fn overtaken(&self, lease: Lease, records: &[RecordId]) -> Result<Vec<Submission>, LedgerError> {
        let state = self.lock();
        let given = records.iter().filter_map(|record| state.records.get(record));
        let given: Vec<&RecordRow> = given.map(|index| &state.entries[*index].record).collect();
        let Some(chain) = state.chains.get(&lease.chain) else { return Ok(Vec::new()) };
        let unfinished = chain.unfinished.iter().map(|place| &state.entries[chain.entries[*place]]);
        let overtaken = unfinished.filter(|entry| {
            schedule::can_be_overtaken(&entry.job.progress)
                && given.iter().any(|later| {
                    later.chain == lease.chain
                        && later.invoice == entry.record.invoice
                        && later.position > entry.record.position
                })
        });
        Ok(overtaken.map(Entry::submission).collect())
    }

    async fn history(&self, tenant: &TenantId, invoice: &InvoiceId) -> Result<Vec<Submission>, LedgerError> {
        let state = self.lock();
        let known = state.invoices.get(&(tenant.clone(), invoice.clone())).into_iter().flatten();
        Ok(known.map(|index| state.entries[*index].submission()).collect())
    }

    async fn open_message(&self, lease: Lease, message: NewMessage) -> Result<Fenced, LedgerError> {
        let mut state = self.lock();
        if !state.holds(lease) {
            return Ok(Fenced::Stale);
        }
        if state.messages.get(&message.id).is_some_and(|known| known.chain == lease.chain) {
            return Ok(Fenced::Done);
        }
        let records = message.records.iter().map(|(record, _)| state.records.get(record).copied());
        let records = records.collect::<Option<Vec<_>>>().ok_or_else(|| unknown("record"))?;
        if records.iter().any(|index| state.entries[*index].record.chain != lease.chain)
            || state.messages.contains_key(&message.id)
        {
            return Err(unknown("record"));
        }
        state.update_jobs(lease.chain, &message.updates, message.at)?;
        for (index, (_, sent)) in records.into_iter().zip(&message.records) {
            state.entries[index].record.sent_xml.get_or_insert_with(|| sent.clone());
        }
        if let Some(chain) = state.chains.get_mut(&lease.chain) {
            chain.state.last_slot = Some(message.slot);
            chain.state.updated_at = message.at;
            chain.open.push(message.id);
        }
        state.sent.push(message.id);
        state.messages.insert(message.id, Message { chain: lease.chain, written: message, settled: None });
        Ok(Fenced::Done)
    }

    async fn settle(&self, lease: Lease, settlement: Settlement) -> Result<Fenced, LedgerError> {
        let mut state = self.lock();
        if !state.holds(lease) {
            return Ok(Fenced::Stale);
        }
        if let Some(id) = settlement.message {
            let message = state.messages.get(&id).filter(|message| message.chain == lease.chain);
            if message.ok_or_else(|| unknown("message"))?.settled.is_some() {
                return Ok(Fenced::Done);
            }
        }
        state.update_jobs(lease.chain, &settlement.updates, settlement.at)?;
        if let Some(message) = settlement.message.and_then(|id| state.messages.get_mut(&id)) {
            message.settled = Some((settlement.at, settlement.answer.clone()));
        }
        if let Some(chain) = state.chains.get_mut(&lease.chain) {
            chain.open.retain(|open| Some(*open) != settlement.message);
            chain.state.next_slot_at = settlement.next_slot_at;
            chain.state.wait_seconds = settlement.wait_seconds;
            chain.state.unreachable_count = settlement.unreachable_count;
            chain.state.suspects = settlement.suspects;
            if settlement.hold.as_ref().is_some_and(|hold| hold.outweighs(chain.state.hold.as_ref())) {
                chain.state.hold = settlement.hold;
            }
            chain.state.updated_at = settlement.at;
        }
        Ok(Fenced::Done)
    }

    async fn due(&self, chain: ChainId) -> Result<Option<Timestamp>, LedgerError> {
        let state = self.lock();
        Ok(state.chains.get(&chain).and_then(|chain| state.due(chain)))
    }

    async fn due_chains(
        &self,
        after: Option<ChainId>,
        limit: u32,
    ) -> Result<Vec<(ChainId, Timestamp)>, LedgerError> {
        let state = self.lock();
        let chains = state.chains.iter().filter(|(id, _)| after.is_none_or(|after| **id > after));
        let due = chains.filter_map(|(id, chain)| state.due(chain).map(|due| (*id, due)));
        Ok(due.take(limit as usize).collect())
    }

    async fn hold(
        &self,
        tenant: &TenantId,
        issuer: Option<Nif>,
        hold: &Hold,
    ) -> Result<Vec<ChainId>, LedgerError> {
        let mut state = self.lock();
        let concerned = state.of_issuer(tenant, issuer).filter(|chain| hold.outweighs(chain.hold.as_ref()));
        Ok(concerned
            .map(|chain| {
                chain.hold = Some(hold.clone());
                chain.id
            })
            .collect())
    }

    async fn release(
        &self,
        tenant: &TenantId,
        issuer: Option<Nif>,
        reason: HoldReason,
    ) -> Result<Vec<ChainId>, LedgerError> {
        let mut state = self.lock();
        let held = state
            .of_issuer(tenant, issuer)
            .filter(|chain| chain.hold.as_ref().is_some_and(|hold| hold.reason == reason));
        Ok(held
            .map(|chain| {
                chain.hold = None;
                chain.id
            })
            .collect())
    }

    async fn revise(&self, job: JobId, seen: &Progress, next: &Progress) -> Result<bool, LedgerError> {
        let mut state = self.lock();
        let Some(index) = state.jobs.get(&job).copied() else { return Ok(false) };
        if state.entries[index].job.progress != *seen {
            return Ok(false);
        }
        state.set_progress(index, next);
        Ok(true)
    }

    async fn chains(&self, tenant: &TenantId) -> Result<Vec<ChainState>, LedgerError> {
        let state = self.lock();
        let own = state.chains.values().filter(|chain| chain.state.key.tenant == *tenant);
        Ok(own.map(|chain| chain.state.clone()).collect())
    }

    async fn chain(&self, chain: ChainId) -> Result<Option<ChainState>, LedgerError> {
        Ok(self.lock().chains.get(&chain).map(|chain| chain.state.clone()))
    }

    async fn search_chains(
        &self,
        search: &ChainSearch,
        page: Page<ChainId>,
    ) -> Result<Listing<(ChainState, Option<Timestamp>)>, LedgerError> {
        let state = self.lock();
        let found = state.chains.values().filter(|chain| {
            let ChainSearch { tenant, issuer, held } = search;
            tenant.as_ref().is_none_or(|tenant| chain.state.key.tenant == *tenant)
                && issuer.is_none_or(|issuer| chain.state.key.issuer == issuer)
                && (!held || chain.state.hold.is_some())
        });
        let oldest = |chain: &Chain| {
            let unfinished = chain.unfinished.iter().map(|place| &state.entries[chain.entries[*place]]);
            unfinished.map(|entry| entry.job.created_at).min()
        };
        let show = |chain: &Chain| (chain.state.clone(), oldest(chain));
        Ok(listing::page(found, page, |chain, after| chain.state.id > *after, show))
    }

    async fn records(&self, chain: ChainId, from: u64, limit: u32) -> Result<Vec<RecordRow>, LedgerError> {
        let state = self.lock();
        let Some(chain) = state.chains.get(&chain) else { return Ok(Vec::new()) };
        let records = chain.entries.iter().map(|index| &state.entries[*index].record);
        Ok(records.filter(|record| record.position >= from).take(limit as usize).cloned().collect())
    }

    async fn attempts(&self, job: JobId) -> Result<Vec<Attempt>, LedgerError> {
        let state = self.lock();
        Ok(state.jobs.get(&job).map(|index| state.entries[*index].attempts.clone()).unwrap_or_default())
    }

    async fn answer_line(&self, job: JobId) -> Result<Option<Bytes>, LedgerError> {
        let state = self.lock();
        Ok(state.jobs.get(&job).and_then(|index| state.entries[*index].answer_line.clone()))
    }

    async fn usage(&self, tenant: &TenantId, since: &str) -> Result<Vec<Usage>, LedgerError> {
        Ok(self.lock().usage(tenant, since).collect())
    }

    async fn turnover(&self, tenant: &TenantId, since: &str) -> Result<Vec<Turnover>, LedgerError> {
        let state = self.lock();
        let own = state.turnover.iter().filter(|((of, month, _), _)| of == tenant && **month >= *since);
        let mut rows: Vec<_> = own
            .map(|((_, month, issuer), sums)| Turnover { month: month.clone(), issuer: *issuer, sums: *sums })
            .collect();
        rows.sort_by(|one, other| other.month.cmp(&one.month));
        Ok(rows)
    }

    async fn overview(&self) -> Result<Overview, LedgerError> {
        Ok(self.lock().overview())
    }

    async fn prune(&self, before: Timestamp, limit: u32) -> Result<u64, LedgerError> {
        Ok(self.lock().prune(before, limit as usize))
    }

    async fn close_chains(&self, at: Timestamp, reassess: Reassess) -> Result<u64, LedgerError> {
        Ok(self.lock().close_chains(at, &*reassess))
    }

    async fn probe(&self) -> Result<(), LedgerError> {
        Ok(())
    }
}

impl State {
    /// The chains of a tenant, or of one of its issuers.
    fn of_issuer(&mut self, tenant: &TenantId, issuer: Option<Nif>) -> impl Iterator<Item = &mut ChainState> {
        self.chains.values_mut().map(|chain| &mut chain.state).filter(move |chain| {
            chain.key.tenant == *tenant && issuer.is_none_or(|issuer| chain.key.issuer == issuer)
        })
    }

    fn holds(&self, lease: Lease) -> bool {
        self.chains.get(&lease.chain).is_some_and(|chain| chain.epoch == lease.epoch)
    }

    /// The run from the front of the chain.
    fn run<'a>(&'a self, chain: &'a Chain) -> impl Iterator<Item = &'a Entry> {
        self.never_sent(chain).take_while(|entry| Turn::of(&entry.job.progress) == Some(Turn::First))
    }

    fn never_sent<'a>(&'a self, chain: &'a Chain) -> impl Iterator<Item = &'a Entry> {
        let unfinished = chain.unfinished.iter().map(|place| &self.entries[chain.entries[*place]]);
        unfinished.filter(|entry| matches!(Turn::of(&entry.job.progress), Some(Turn::First | Turn::Barrier)))
    }

    fn due(&self, chain: &Chain) -> Option<Timestamp> {
        if chain.state.hold.is_some() {
            return None;
        }
        let front = self.never_sent(chain).next();
        let again = chain.unfinished.iter().map(|place| &self.entries[chain.entries[*place]]);
        let again = again.filter(|entry| Turn::of(&entry.job.progress) == Some(Turn::Again));
        let soonest =
            front.into_iter().chain(again).filter_map(|entry| schedule::own_time(&entry.job.progress));
        Some(schedule::chain_due(soonest.min()?, chain.state.next_slot_at, || {
            chain.state.suspects.is_none()
                && self.run(chain).take(FULL_MESSAGE as usize).count() == FULL_MESSAGE as usize
        }))
    }

    /// The months of a tenant, newest first.
    fn usage(&self, tenant: &TenantId, since: &str) -> impl Iterator<Item = Usage> {
        let mut months = BTreeMap::<&str, Usage>::new();
        for ((of, month, _), sums) in &self.turnover {
            if of == tenant && **month >= *since {
                let usage = months.entry(month).or_default();
                usage.month.clone_from(month);
                usage.invoices += sums.invoices;
                usage.cancellations += sums.cancellations;
            }
        }
        months.into_values().rev()
    }

    fn items(&self, records: impl Iterator<Item = RecordId>) -> Vec<Submission> {
        records
            .filter_map(|record| self.records.get(&record))
            .map(|index| self.entries[*index].submission())
            .collect()
    }

    /// Writes new progress, all of it or nothing.
    fn update_jobs(
        &mut self,
        chain: ChainId,
        updates: &[JobUpdate],
        at: Timestamp,
    ) -> Result<(), LedgerError> {
        let indices = updates.iter().map(|update| {
            let index = self.jobs.get(&update.job).copied();
            index.filter(|index| self.entries[*index].record.chain == chain)
        });
        let indices = indices.collect::<Option<Vec<_>>>().ok_or_else(|| unknown("job"))?;
        for (index, update) in indices.into_iter().zip(updates) {
            let was_final = self.entries[index].job.progress.state.is_final();
            self.set_progress(index, &update.progress);
            let entry = &mut self.entries[index];
            if update.progress.state.is_final()
                && !was_final
                && self.webhooks.get(&entry.job.tenant).is_some_and(|webhook| webhook.enabled)
            {
                self.deliveries.push(Delivery::owed(entry.job.tenant.clone(), entry.job.id, at));
            }
            entry.job.updated_at = at;
            entry.attempts.extend(update.attempt.clone());
            if update.answer_line.is_some() {
                entry.answer_line.clone_from(&update.answer_line);
            }
        }
        Ok(())
    }

    fn set_progress(&mut self, index: usize, progress: &Progress) {
        let entry = &mut self.entries[index];
        entry.job.progress = progress.clone();
        let place = usize::try_from(entry.record.position - 1).unwrap_or(usize::MAX);
        if let Some(chain) = self.chains.get_mut(&entry.record.chain) {
            if progress.state.is_final() {
                chain.unfinished.remove(&place);
            } else {
                chain.unfinished.insert(place);
            }
            chain.state.pending = chain.unfinished.len() as u64;
        }
    }
}

impl Entry {
    fn submission(&self) -> Submission {
        Submission { job: self.job.clone(), record: self.record.clone() }
    }
}

/// A worker named something that its chain does not have; nothing was written.
fn unknown(what: &'static str) -> LedgerError {
    LedgerError::new(LedgerErrorKind::Corrupt, format!("the chain has no such {what}"))
}
