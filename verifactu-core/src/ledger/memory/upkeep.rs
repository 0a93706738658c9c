//! What operators see and do across all accounts.

use std::collections::HashSet;

use jiff::Timestamp;

use crate::{job::Progress, ledger::Overview, types::MessageId};

use super::State;

impl State {
    pub(super) fn overview(&self) -> Overview {
        let mut overview = Overview::default();
        for chain in self.chains.values() {
            for place in &chain.unfinished {
                let job = &self.entries[chain.entries[*place]].job;
                overview.count_job(&job.progress, job.created_at);
            }
            if let Some(hold) = &chain.state.hold {
                overview.count_held(hold.reason, 1);
            }
        }
        overview
    }

    pub(super) fn prune(&mut self, before: Timestamp, limit: usize) -> u64 {
        let is_old = |id: &&MessageId| {
            let message = self.messages.get(id);
            message.is_some_and(|message| message.settled.is_some() && message.written.at < before)
        };
        let old: HashSet<MessageId> = self.sent.iter().filter(is_old).take(limit).copied().collect();
        self.sent.retain(|id| !old.contains(id));
        self.messages.retain(|id, _| !old.contains(id));
        let mut attempts = 0;
        for entry in &mut self.entries {
            entry.attempts.retain(|attempt| {
                let goes = attempts < limit && attempt.started_at < before;
                attempts += usize::from(goes);
                !goes
            });
        }
        (old.len() + attempts) as u64
    }

    pub(super) fn close_chains(&mut self, at: Timestamp, reassess: &dyn Fn(&Progress) -> Progress) -> u64 {
        self.minted.clear();
        let mut open = 0;
        let mut unfinished = Vec::new();
        for chain in self.chains.values_mut() {
            open += u64::from(!chain.state.closed);
            chain.state.closed = true;
            chain.epoch += 1;
            unfinished.extend(chain.unfinished.iter().map(|place| chain.entries[*place]));
        }
        for index in unfinished {
            let progress = reassess(&self.entries[index].job.progress);
            self.entries[index].job.updated_at = at;
            self.set_progress(index, &progress);
        }
        open
    }
}
