//! Dispatch: one due chain through one slot.
//!
//! The steps are ordered so that a process may stop between any two of them. The message is written
//! down before it is sent; whatever was written down and not settled is in doubt for whoever claims
//! the chain next.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::Timestamp;

use crate::{
    authority::{
        Exchange, Outcome, Request, Service,
        outcome::{self, Refusal},
    },
    job::{Event, FailureClass, FailureSource, Progress},
    ledger::{
        Attempt, AttemptOutcome, ChainState, Claim, Claimed, FULL_MESSAGE, Fenced, Hold, HoldReason,
        JobUpdate, Lease, NewMessage, OpenMessage, Selection, Settlement, SlotKind, Submission,
    },
    types::{ChainId, MessageId, Nif, RecordId, TenantId},
};

use super::{
    Engine, EngineError, Observation, Presentation, Write,
    compose::{ComposeError, Draft, Message},
    reconcile::{self, Looked},
    settle::{self, Moment, Verdict},
};

/// What became of a slot.
enum Slot {
    /// It was used, or there was no use for it.
    Used,
    /// It is open before its time, and too little is there to fill a message. It opens at this time.
    Early(Timestamp),
}

/// Whether to go on with a chain.
pub(super) enum Step<T> {
    On(T),
    /// Somebody else claimed the chain: whatever we know of it is stale.
    Stale,
}

macro_rules! on_or_stop {
    ($step:expr) => {
        match $step {
            Step::On(value) => value,
            Step::Stale => return Ok(Step::Stale),
        }
    };
}

impl Engine {
    /// Takes one chain through what is due on it: settles what a crash left open, looks into doubts,
    /// and sends at most one message. Returns when the chain is due again, `None` for not at all.
    ///
    /// # Errors
    /// [`EngineError`] when ledger or certificate store fail; the chain stays due.
    pub async fn dispatch(&self, chain: ChainId) -> Result<Option<Timestamp>, EngineError> {
        let (now, under_way) = (self.parts.clock.now(), self.under_way());
        // Without the time at which it is over, so that a chain is never busy until now.
        let within = now - under_way + Duration::from_micros(1)..now + under_way;
        let claim = match self.parts.ledger.claim(chain, within).await? {
            Claimed::Taken(claim) => *claim,
            Claimed::Busy { since } => {
                tracing::info!(%chain, "a message of the chain may still be under way");
                return Ok(Some(since + under_way));
            }
            Claimed::Unknown => return Ok(None),
        };
        let slot = match self.slot(claim).await? {
            Step::On(Slot::Used) => None,
            Step::On(Slot::Early(opens)) => Some(opens),
            Step::Stale => {
                tracing::info!(%chain, "another worker has claimed the chain");
                None
            }
        };
        let due = self.parts.ledger.due(chain).await?;
        Ok(due.map(|due| slot.map_or(due, |opens| due.max(opens))))
    }

    /// How long a message may be under way that nobody has settled: its exchange begins within half a
    /// lease, or never. Whoever takes the chain before that throws an answer away.
    fn under_way(&self) -> Duration {
        self.settings.exchange + self.settings.lease / 2
    }

    async fn slot(&self, claim: Claim) -> Result<Step<Slot>, EngineError> {
        let Claim { lease, mut state, open } = claim;
        for message in open {
            state = on_or_stop!(self.doubt_after_crash(lease, state, message).await?);
        }
        let now = self.parts.clock.now();
        let slot_open = match self.parts.ledger.due(lease.chain).await? {
            Some(due) => due <= now,
            None => false,
        };
        if state.hold.is_some() || !slot_open {
            return Ok(Step::On(Slot::Used));
        }
        if let Some(hold) = self.hold_of_others(&state).await? {
            let class = match hold.reason {
                HoldReason::Suspended => FailureClass::Suspended,
                _ => FailureClass::Paused,
            };
            let reason = hold.reason;
            let held = self.hold_back(lease, state.clone(), hold, class).await?;
            // Whoever released the others meanwhile did not see this one held.
            if self.hold_of_others(&state).await?.is_none() {
                self.release(&state, Some(state.key.issuer), reason).await?;
            }
            return Ok(held);
        }
        let Some(presentation) = self.presentation(&state).await? else {
            return self.hold_without_certificate(lease, state, now).await;
        };
        // A slot that opens early is for as many records as fill a message, and for nothing else.
        let early = state.next_slot_at.filter(|slot| *slot > now);
        let doubtful = match early {
            Some(_) => Vec::new(),
            None => self.parts.ledger.work(lease, Selection::Doubtful { due: now }).await?,
        };
        let again = match on_or_stop!(self.look_into(lease, &mut state, doubtful, &presentation).await?) {
            Looked::At(again) => again,
            Looked::OutOfReach => return Ok(Step::On(Slot::Used)),
            Looked::ShutOut(hold, class) => {
                if hold.reason == HoldReason::Suspended {
                    self.hold_presenter(&state.key.tenant, &presentation, &hold).await?;
                }
                return self.hold_back(lease, state, hold, class).await;
            }
        };
        let draft = on_or_stop!(self.next_draft(lease, &mut state, again).await?);
        match (draft, early) {
            (Some(draft), Some(opens)) if draft.items.len() < FULL_MESSAGE as usize => {
                Ok(Step::On(Slot::Early(opens)))
            }
            (Some(draft), _) => self.send(lease, state, draft, presentation).await,
            (None, Some(opens)) => Ok(Step::On(Slot::Early(opens))),
            (None, None) => Ok(Step::On(Slot::Used)),
        }
    }

    async fn presentation(&self, state: &ChainState) -> Result<Option<Arc<Presentation>>, EngineError> {
        Ok(self.parts.presenters.presentation(&state.key.tenant, &state.key.issuer).await?)
    }

    /// Nobody knows whether the message got through before the process that sent it stopped. The pace
    /// counts from now, since the end of that exchange is not known either.
    async fn doubt_after_crash(
        &self,
        lease: Lease,
        mut state: ChainState,
        message: OpenMessage,
    ) -> Result<Step<ChainState>, EngineError> {
        let now = self.parts.clock.now();
        let next_slot_at = now + self.wait_of(&state);
        let updates = message
            .items
            .iter()
            .map(|item| {
                let failure = settle::failure(
                    FailureSource::Internal,
                    FailureClass::InDoubt,
                    None,
                    "the service stopped before the answer was written down",
                    now,
                );
                let verdict = Verdict {
                    event: Event::Doubted { failure, resolve_at: next_slot_at },
                    outcome: AttemptOutcome::InDoubt,
                    code: None,
                    answer_line: None,
                };
                self.update(item, verdict, message.at, now, Some(message.id))
            })
            .collect();
        state.next_slot_at = Some(next_slot_at);
        let settlement = Settlement { message: Some(message.id), updates, ..settlement(&state, now) };
        self.settle(lease, state, settlement).await
    }

    async fn hold_without_certificate(
        &self,
        lease: Lease,
        state: ChainState,
        now: Timestamp,
    ) -> Result<Step<Slot>, EngineError> {
        let description = "the account has no valid certificate; upload one and the chain goes on".to_owned();
        let hold = Hold { reason: HoldReason::Certificate, description, since: now };
        let held = self.hold_back(lease, state.clone(), hold, FailureClass::AccessRefused).await?;
        self.release_if_replaced(&state, None).await?;
        Ok(held)
    }

    /// A certificate that was uploaded while the chain was not held yet released nothing: the chain is
    /// released here if another certificate is in force than the one that led to the hold.
    async fn release_if_replaced(
        &self,
        state: &ChainState,
        used: Option<&Presentation>,
    ) -> Result<(), EngineError> {
        let current = self.presentation(state).await?;
        let identity = |presentation: &Presentation| presentation.identity.id();
        let Some(current) = current else { return Ok(()) };
        if used.map(identity) != Some(identity(&current)) {
            self.release(state, None, HoldReason::Certificate).await?;
        }
        Ok(())
    }

    /// Releases chains of the account, and has them looked at.
    async fn release(
        &self,
        state: &ChainState,
        issuer: Option<Nif>,
        reason: HoldReason,
    ) -> Result<(), EngineError> {
        for chain in self.parts.ledger.release(&state.key.tenant, issuer, reason).await? {
            self.parts.queue.schedule(chain, self.parts.clock.now()).await?;
        }
        Ok(())
    }

    /// Why a chain that has sent nothing yet must not begin, which the account's other chains know: the
    /// authority has suspended the presenter, or the operator has paused the issuer.
    async fn hold_of_others(&self, state: &ChainState) -> Result<Option<Hold>, EngineError> {
        if state.next_slot_at.is_some() {
            return Ok(None);
        }
        let concerns = |chain: &ChainState, hold: &Hold| match hold.reason {
            HoldReason::Certificate => false,
            HoldReason::Operator => chain.key.issuer == state.key.issuer,
            HoldReason::Suspended => true,
        };
        let chains = self.parts.ledger.chains(&state.key.tenant).await?;
        let others = chains.into_iter().filter(|chain| chain.id != state.id);
        let holds = others.filter_map(|mut chain| {
            let hold = chain.hold.take()?;
            concerns(&chain, &hold).then_some(hold)
        });
        Ok(holds.max_by_key(|hold| hold.reason))
    }

    /// Holds every chain whose messages the same holder presents: the authority has shut out the
    /// presenter, not one chain.
    async fn hold_presenter(
        &self,
        tenant: &TenantId,
        presentation: &Presentation,
        hold: &Hold,
    ) -> Result<(), EngineError> {
        self.parts.ledger.hold(tenant, None, hold).await?;
        for account in self.parts.presenters.presented_by(presentation).await? {
            self.parts.ledger.hold(&account, None, hold).await?;
        }
        Ok(())
    }

    /// Holds everything of a presenter that the authority told, when asked something else, to have
    /// suspended.
    ///
    /// # Errors
    /// [`EngineError`] when the ledger or the presenters fail.
    pub async fn suspended(
        &self,
        tenant: &TenantId,
        presentation: &Presentation,
        refusal: &Refusal,
    ) -> Result<(), EngineError> {
        let since = self.parts.clock.now();
        let hold = Hold { reason: HoldReason::Suspended, description: refusal.text.clone(), since };
        self.hold_presenter(tenant, presentation, &hold).await
    }

    /// Holds the chain before anything is sent, and says why on the jobs that wait.
    async fn hold_back(
        &self,
        lease: Lease,
        state: ChainState,
        hold: Hold,
        class: FailureClass,
    ) -> Result<Step<Slot>, EngineError> {
        let now = self.parts.clock.now();
        let failure = settle::failure(FailureSource::Internal, class, None, &hold.description, now);
        let limit = self.settings.max_records;
        let mut updates = Vec::new();
        for selection in [Selection::First { limit }, Selection::Retry { due: now, limit }] {
            for item in self.parts.ledger.work(lease, selection).await? {
                let progress = self.apply(&item.job.progress, Event::Held(failure.clone()), now);
                updates.push(JobUpdate { job: item.job.id, progress, attempt: None, answer_line: None });
            }
        }
        let settlement = Settlement { updates, hold: Some(hold), ..settlement(&state, now) };
        on_or_stop!(self.settle(lease, state, settlement).await?);
        Ok(Step::On(Slot::Used))
    }

    /// What the slot is used for: the first-time run, or what has been sent before, which are due
    /// retries and the given doubts. The two take turns when both wait, but a search among the one kind
    /// is ended before the other has its turn. A slot that a full message opened early is its alone.
    async fn next_draft(
        &self,
        lease: Lease,
        state: &mut ChainState,
        doubtful: Vec<Submission>,
    ) -> Result<Step<Option<Draft>>, EngineError> {
        let now = self.parts.clock.now();
        let early = state.next_slot_at.is_some_and(|slot| slot > now);
        let order = match (state.suspects.map(|suspects| suspects.slot), state.last_slot) {
            _ if early => &[SlotKind::First][..],
            (Some(SlotKind::Retry), _) | (None, Some(SlotKind::First)) => &[SlotKind::Retry, SlotKind::First],
            _ => &[SlotKind::First, SlotKind::Retry],
        };
        let limit = self.settings.max_records;
        let mut doubtful = Some(doubtful);
        for kind in order.iter().copied() {
            let candidates = match kind {
                SlotKind::First => self.parts.ledger.work(lease, Selection::First { limit }).await?,
                SlotKind::Retry => {
                    let mut due = self.parts.ledger.work(lease, Selection::Retry { due: now, limit }).await?;
                    due.extend(doubtful.take().into_iter().flatten());
                    due.sort_by_key(|item| item.record.position);
                    on_or_stop!(self.yield_to_later(lease, state, due).await?)
                }
            };
            if !candidates.is_empty() {
                return Ok(Step::On(Some(self.draft(candidates, kind, state.suspects, now))));
            }
            // What was searched through is gone: overtaken, or in another message by now.
            state.suspects = state.suspects.filter(|suspects| suspects.slot != kind);
        }
        Ok(Step::On(None))
    }

    /// Returns the records that may be sent again. One whose invoice has a later record that was sent,
    /// on whatever chain, never is; one whose later record waits is put off.
    async fn yield_to_later(
        &self,
        lease: Lease,
        state: &ChainState,
        candidates: Vec<Submission>,
    ) -> Result<Step<Vec<Submission>>, EngineError> {
        let now = self.parts.clock.now();
        let mut kept = Vec::with_capacity(candidates.len());
        let mut updates = Vec::new();
        for item in candidates {
            let history = self.parts.ledger.history(&state.key.tenant, &item.record.invoice).await?;
            let later = reconcile::after(&history, &item);
            let event = match later.iter().find(|known| reconcile::was_sent(known)) {
                Some(by) => Event::Superseded(settle::superseded(by.job.id, now)),
                None if later.iter().any(|known| !known.job.progress.state.is_final()) => Event::Deferred,
                None => {
                    kept.push(item);
                    continue;
                }
            };
            let progress = self.apply(&item.job.progress, event, now);
            updates.push(JobUpdate { job: item.job.id, progress, attempt: None, answer_line: None });
        }
        if !updates.is_empty() {
            let settlement = Settlement { updates, ..settlement(state, now) };
            on_or_stop!(self.settle(lease, state.clone(), settlement).await?);
        }
        Ok(Step::On(kept))
    }

    /// Writes a message down, sends it, and settles its records.
    async fn send(
        &self,
        lease: Lease,
        mut state: ChainState,
        draft: Draft,
        presentation: Arc<Presentation>,
    ) -> Result<Step<Slot>, EngineError> {
        let began = self.parts.clock.now();
        let message = match self.compose(draft, &presentation, began).await {
            Ok(message) => message,
            Err(ComposeError::Aborted) => return Err(EngineError::Aborted),
            Err(error) => {
                // A record that cannot be signed now can be once the certificate is another one.
                tracing::error!(%error, chain = %lease.chain, "no message could be made");
                let hold =
                    Hold { reason: HoldReason::Certificate, description: error.to_string(), since: began };
                let settlement = Settlement { hold: Some(hold), ..settlement(&state, began) };
                on_or_stop!(self.settle(lease, state, settlement).await?);
                return Ok(Step::On(Slot::Used));
            }
        };
        let (began, written) = (self.parts.clock.now(), Instant::now());
        on_or_stop!(self.write_down(lease, &message, began).await?);
        if self.is_late(began, written) {
            tracing::warn!(chain = %lease.chain, "the message was held up before it was sent, and is not sent now");
            return Ok(Step::On(Slot::Used));
        }
        let request = Request {
            service: Service::Registration,
            identity: presentation.identity.clone(),
            body: message.body.clone(),
        };
        self.observe(Observation::Sending { records: message.draft.items.len() });
        let exchange = self.parts.authority.exchange(request).await;
        let now = self.parts.clock.now();
        let body = match &exchange {
            Exchange::Answered(answered) => Some(answered.body.clone()),
            _ => None,
        };
        let moment = Moment {
            now,
            next_slot_at: now + self.wait_of(&state),
            unreachable_count: state.unreachable_count,
        };
        let outcome = outcome::registration(&exchange);
        let verdicts = settle::verdicts(&message.draft.items, &outcome, body.as_ref(), moment);
        if let Some(seconds) = verdicts.wait {
            self.observe(Observation::WaitAsked(Duration::from_secs(seconds.into())));
        }
        state.wait_seconds = verdicts.wait.or(state.wait_seconds);
        state.next_slot_at = Some(now + self.wait_of(&state));
        state.unreachable_count = if verdicts.unreachable { state.unreachable_count + 1 } else { 0 };
        let sent = u32::try_from(message.draft.items.len()).unwrap_or(u32::MAX);
        state.suspects = settle::suspects_after(state.suspects, message.draft.slot, sent, &outcome);
        if let (Outcome::Suspended(_), Some(hold)) = (&outcome, &verdicts.hold) {
            self.hold_presenter(&state.key.tenant, &presentation, hold).await?;
        }
        let updates = message
            .draft
            .items
            .iter()
            .zip(verdicts.records)
            .map(|(item, verdict)| {
                let mut sent = item.clone();
                sent.job.progress = self.apply(&item.job.progress, Event::Dispatched, began);
                self.update(&sent, verdict, began, now, Some(message.id))
            })
            .collect();
        let held = verdicts.hold.as_ref().map(|hold| hold.reason);
        let settlement = Settlement {
            message: Some(message.id),
            answer: body,
            updates,
            hold: verdicts.hold,
            ..settlement(&state, now)
        };
        let state = on_or_stop!(self.settle(lease, state, settlement).await?);
        if held == Some(HoldReason::Certificate) {
            self.release_if_replaced(&state, Some(&presentation)).await?;
        }
        Ok(Step::On(Slot::Used))
    }

    /// Whether so much time has passed since a message was written down that another worker may have taken
    /// the chain and sent newer ones: the process was frozen, or the store took long. Not every clock goes
    /// on while a machine sleeps.
    fn is_late(&self, began: Timestamp, written: Instant) -> bool {
        let passed = self.parts.clock.now().duration_since(began).unsigned_abs();
        passed.max(written.elapsed()) > self.settings.lease / 2
    }

    async fn write_down(
        &self,
        lease: Lease,
        message: &Message,
        at: Timestamp,
    ) -> Result<Step<()>, EngineError> {
        let ids: Vec<RecordId> = message.records.iter().map(|(id, _)| *id).collect();
        let mut updates: Vec<JobUpdate> = message
            .draft
            .items
            .iter()
            .map(|item| JobUpdate {
                job: item.job.id,
                progress: self.apply(&item.job.progress, Event::Dispatched, at),
                attempt: None,
                answer_line: None,
            })
            .collect();
        for overtaken in self.parts.ledger.overtaken(lease, &ids).await? {
            let same = |item: &&Submission| item.record.invoice == overtaken.record.invoice;
            let Some(by) = message.draft.items.iter().find(same) else { continue };
            let failure = settle::superseded(by.job.id, at);
            updates.push(JobUpdate {
                job: overtaken.job.id,
                progress: self.apply(&overtaken.job.progress, Event::Superseded(failure), at),
                attempt: None,
                answer_line: None,
            });
        }
        let new = NewMessage {
            id: message.id,
            at,
            digest: message.digest,
            incident: message.draft.incident,
            slot: message.draft.slot,
            records: message.records.clone(),
            updates,
        };
        let (written, updates) = (Instant::now(), new.updates.clone());
        Ok(match self.parts.ledger.open_message(lease, new).await? {
            Fenced::Done => {
                self.committed(Write::Message, written);
                self.updated(&updates);
                self.changes.send_replace(());
                Step::On(())
            }
            Fenced::Stale => Step::Stale,
        })
    }

    /// Writes a settlement down. What it says was learnt from the authority and cannot be learnt again,
    /// so a store that is out of order is tried again for as long as a lease lasts.
    pub(super) async fn settle(
        &self,
        lease: Lease,
        state: ChainState,
        settlement: Settlement,
    ) -> Result<Step<ChainState>, EngineError> {
        let mut wait = Duration::from_millis(50);
        let mut waited = Duration::ZERO;
        loop {
            let began = Instant::now();
            match self.parts.ledger.settle(lease, settlement.clone()).await {
                Ok(Fenced::Done) => {
                    self.committed(Write::Settlement, began);
                    self.updated(&settlement.updates);
                    self.changes.send_replace(());
                    return Ok(Step::On(state));
                }
                Ok(Fenced::Stale) => return Ok(Step::Stale),
                Err(error) if error.may_pass() && waited < self.settings.lease => {
                    tracing::warn!(%error, chain = %lease.chain, "an outcome could not be written down; trying again");
                    tokio::time::sleep(wait).await;
                    waited += wait;
                    wait = (wait * 2).min(Duration::from_secs(5));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The job's update for a verdict on its record.
    pub(super) fn update(
        &self,
        item: &Submission,
        verdict: Verdict,
        began: Timestamp,
        now: Timestamp,
        message: Option<MessageId>,
    ) -> JobUpdate {
        let duration = now.duration_since(began).as_millis();
        JobUpdate {
            job: item.job.id,
            progress: self.apply(&item.job.progress, verdict.event, now),
            attempt: Some(Attempt {
                started_at: began,
                duration_ms: u64::try_from(duration).unwrap_or(0),
                outcome: verdict.outcome,
                code: verdict.code,
                message,
            }),
            answer_line: verdict.answer_line,
        }
    }

    pub(super) fn apply(&self, progress: &Progress, event: Event, now: Timestamp) -> Progress {
        let (_, random) = self.parts.ids.next().as_u64_pair();
        progress.after(event, now, &self.settings.retry, (random & u64::from(u32::MAX)) as u32)
    }

    /// The wait in force on a chain.
    fn wait_of(&self, state: &ChainState) -> Duration {
        state
            .wait_seconds
            .map_or(self.settings.initial_wait, |seconds| Duration::from_secs(u64::from(seconds)))
    }
}

/// A settlement that changes nothing but what the caller fills in.
pub(super) fn settlement(state: &ChainState, at: Timestamp) -> Settlement {
    Settlement {
        message: None,
        at,
        answer: None,
        updates: Vec::new(),
        next_slot_at: state.next_slot_at,
        wait_seconds: state.wait_seconds,
        unreachable_count: state.unreachable_count,
        suspects: state.suspects,
        hold: None,
    }
}
