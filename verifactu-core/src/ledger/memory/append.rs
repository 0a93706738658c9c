//! The append, under the lock.

use std::collections::BTreeSet;

use crate::{
    job::Progress,
    ledger::{
        Append, Appended, ChainKey, ChainSelector, ChainState, Head, Installation, JobRow, LedgerError,
        LedgerErrorKind, Place, PriorRecord, RecordRow,
    },
    record::{RecordKind, SystemId},
    types::{ChainId, Nif, TenantId, Text},
};

use super::{Chain, Entry, State};

impl State {
    pub(super) fn append(&mut self, append: Append) -> Result<Appended, LedgerError> {
        let tenant = &append.chain.tenant;
        let idempotency = (tenant.clone(), append.kind, append.idempotency.key.clone());
        if let Some((fingerprint, index)) = self.idempotency.get(&idempotency) {
            let submission = Box::new(self.entries[*index].submission());
            return Ok(Appended::Replay { fingerprint: *fingerprint, submission });
        }
        let invoice = (tenant.clone(), append.invoice.clone());
        let earlier: Vec<&Entry> =
            self.invoices.get(&invoice).into_iter().flatten().map(|index| &self.entries[*index]).collect();
        if !append.repeats_invoice
            && let Some(last) = earlier.last()
        {
            let alta = earlier.iter().rfind(|entry| entry.record.kind == RecordKind::Invoice);
            return Ok(Appended::AlreadySubmitted(alta.unwrap_or(last).job.id));
        }
        if let Some(quota) = append.counted_quota() {
            let used = self.usage(tenant, &quota.month).find(|usage| usage.month == quota.month);
            let used = used.map_or(0, |usage| usage.invoices);
            if quota.limit.is_some_and(|limit| used >= limit) {
                return Ok(Appended::QuotaReached { used });
            }
        }
        let (key, known) = self.resolve(&append.chain)?;
        if known.and_then(|id| self.chains.get(&id)).is_some_and(|chain| chain.state.closed) {
            return Ok(Appended::Closed);
        }
        let others = self.chains.values().map(|chain| &chain.state).any(|chain| {
            chain.key.tenant == *tenant
                && Some(chain.id) != known
                && !(chain.closed && chain.key.issuer == key.issuer)
        });
        let place = Place {
            key,
            head: known.and_then(|id| self.head(id)),
            several_chains: others,
            history: earlier
                .iter()
                .map(|entry| PriorRecord::new(entry.job.id, entry.record.kind, &entry.job.progress))
                .collect(),
        };
        let sealed = match (append.seal)(&place) {
            Ok(sealed) => sealed,
            Err(refusal) => return Ok(Appended::Refused(refusal)),
        };
        place
            .check(append.kind, &append.invoice, &sealed)
            .map_err(|misfit| LedgerError::new(LedgerErrorKind::Corrupt, misfit))?;

        if self.jobs.contains_key(&append.job) || self.records.contains_key(&append.record) {
            return Err(LedgerError::new(LedgerErrorKind::Corrupt, "an identifier was given twice"));
        }
        let chain_id = known.unwrap_or(ChainId(append.record.0));
        let counted = append.counted(&sealed);
        let record = RecordRow::sealed(append.record, chain_id, &place, sealed);
        if known.is_none() {
            self.create_chain(chain_id, &append, &place.key);
        }
        let index = self.entries.len();
        if let Some(chain) = self.chains.get_mut(&chain_id) {
            chain.unfinished.insert(chain.entries.len());
            chain.entries.push(index);
            chain.state.length = record.position;
            chain.state.last_huella = Some(record.huella);
            chain.state.last_number = Some(record.invoice.number.clone());
            chain.state.pending += 1;
            chain.state.updated_at = append.at;
        }
        let job = JobRow {
            id: append.job,
            tenant: tenant.clone(),
            kind: append.kind,
            request: append.request,
            progress: Progress::new(),
            created_at: append.at,
            updated_at: append.at,
        };
        self.jobs.insert(job.id, index);
        self.records.insert(record.id, index);
        self.idempotency.insert(idempotency, (append.idempotency.fingerprint, index));
        self.invoices.entry(invoice).or_default().push(index);
        if let Some((month, sums)) = counted {
            let known =
                self.turnover.entry((tenant.clone(), month.to_owned(), record.invoice.issuer)).or_default();
            *known = known.plus(sums);
        }
        self.entries.push(Entry { job, record, attempts: Vec::new(), answer_line: None });
        let due = self.chains.get(&chain_id).and_then(|chain| self.due(chain));
        let submission = Box::new(self.entries[index].submission());
        Ok(Appended::New { submission, due: due.map(|due| due.max(append.at)) })
    }

    /// The key of the chain that is meant, and the chain if it exists.
    fn resolve(&self, selector: &ChainSelector) -> Result<(ChainKey, Option<ChainId>), LedgerError> {
        let key = |installation: &Text<100>| ChainKey {
            tenant: selector.tenant.clone(),
            issuer: selector.issuer,
            producer: selector.producer.clone(),
            system: selector.system,
            installation: installation.clone(),
        };
        match &selector.installation {
            Installation::Named(installation) => {
                let key = key(installation);
                let known = self.keys.get(&key).copied();
                Ok((key, known))
            }
            Installation::Minted(installation) => {
                let known = self.minted.get(&minted_key(selector)).and_then(|id| self.chains.get(id));
                if let Some(chain) = known {
                    return Ok((chain.state.key.clone(), Some(chain.state.id)));
                }
                let key = key(installation);
                if self.keys.contains_key(&key) {
                    return Err(LedgerError::new(LedgerErrorKind::Corrupt, "the new installation is taken"));
                }
                Ok((key, None))
            }
        }
    }

    fn create_chain(&mut self, id: ChainId, append: &Append, key: &ChainKey) {
        let state = ChainState {
            id,
            key: key.clone(),
            length: 0,
            last_huella: None,
            last_number: None,
            pending: 0,
            next_slot_at: None,
            wait_seconds: None,
            last_slot: None,
            unreachable_count: 0,
            suspects: None,
            hold: None,
            closed: false,
            updated_at: append.at,
        };
        let chain =
            Chain { state, epoch: 0, entries: Vec::new(), unfinished: BTreeSet::new(), open: Vec::new() };
        self.chains.insert(id, chain);
        self.keys.insert(key.clone(), id);
        if matches!(append.chain.installation, Installation::Minted(_)) {
            self.minted.insert(minted_key(&append.chain), id);
        }
    }

    fn head(&self, chain: ChainId) -> Option<Head> {
        let last = self.chains.get(&chain)?.entries.last()?;
        let record = &self.entries[*last].record;
        Some(Head {
            position: record.position,
            invoice: record.invoice.clone(),
            huella: record.huella,
            generated_at: record.generated_at.clone(),
        })
    }
}

fn minted_key(selector: &ChainSelector) -> (TenantId, Nif, String, SystemId) {
    (selector.tenant.clone(), selector.issuer, selector.producer.clone(), selector.system)
}
