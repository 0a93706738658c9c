//! Doubt: finding out whether the authority holds a record whose answer never came.
//!
//! The query tells the huella that the authority holds under the invoice's key. Ours: registered.
//! Nothing: the same bytes are sent again. "Found nothing" and "could not ask" are different things;
//! after the latter a plain alta may be sent again, because the authority refuses a second one with a
//! duplicate, but a correction or cancellation would overwrite, and is only sent again while no later
//! record of its invoice was sent.

use std::{
    collections::{BTreeMap, HashSet},
    pin::pin,
    sync::Arc,
};

use futures_util::TryStreamExt as _;
use jiff::Timestamp;

use crate::{
    authority::{NotReached, Outcome, QueryError, Unprocessed, query, query_pages},
    job::{AuthorityAnswer, Csv, Event, FailureClass, FailureSource, JobState, RecordOutcome, Standing},
    ledger::{
        AttemptOutcome, ChainState, Hold, HoldReason, JobUpdate, Lease, LedgerError, Settlement, Submission,
    },
    record::{InvoiceId, RecordKind},
    types::{Date, TenantId},
    xml::{
        self,
        answer::StoredState,
        query::{AskedBy, IssueDates, Period, Query, QueryRow},
    },
};

use super::{
    Engine, EngineError, Presentation,
    dispatch::{Step, settlement},
    settle::{self, Verdict},
};

/// Up to so many doubts of one month are asked for one by one; more are looked up in the month's list.
const FEW: usize = 5;

/// Most pages of a month's list that are read at a time.
const MAX_PAGES: usize = 10;

/// What looking into the doubts of a chain brought.
pub(super) enum Looked {
    /// The records to send again.
    At(Vec<Submission>),
    /// The authority was not reached, so there is no use in sending either.
    OutOfReach,
    /// The authority does not let the presenter in, so nothing may be sent.
    ShutOut(Hold, FailureClass),
}

/// A doubtful record, with every record of its invoice, itself among them.
struct Doubt {
    item: Submission,
    history: Vec<Submission>,
}

impl Doubt {
    fn periods(&self) -> Vec<Period> {
        periods(self.item.record.invoice.date, Some(&self.item), &self.history)
    }

    fn is_of(&self, row: &QueryRow) -> bool {
        let id = &self.item.record.invoice;
        row.invoice.issuer == id.issuer.as_str()
            && row.invoice.number == id.number.as_str()
            && row.invoice.date == id.date.to_string()
    }
}

/// The months in which the authority may list an invoice, the likeliest first: that of the operation
/// that the record in question states, or, without one or for a cancellation, the last record that was
/// not refused; else that of the issue. Other records of the invoice may have stated others.
fn periods(issued: Date, item: Option<&Submission>, history: &[Submission]) -> Vec<Period> {
    let period =
        |known: &Submission| Period::of(xml::record::operation_date(&known.record.xml).unwrap_or(issued));
    let altas = || history.iter().rev().filter(|known| known.record.kind == RecordKind::Invoice);
    let own = item.into_iter().filter(|item| item.record.kind == RecordKind::Invoice);
    let held = altas().filter(|known| known.job.progress.standing != Standing::Rejected);
    let mut periods: Vec<Period> = Vec::new();
    for period in own.chain(held).chain(altas()).map(period).chain([Period::of(issued)]) {
        if !periods.contains(&period) {
            periods.push(period);
        }
    }
    periods
}

/// What a look into a doubt brought.
enum Finding {
    /// Known now.
    Known(Verdict),
    /// Not held: the same bytes may go again.
    NotHeld,
    /// The query failed.
    Unanswered,
    /// The query was never sent.
    NotReached(NotReached),
    /// The presenter is not let in.
    ShutOut(Hold, FailureClass),
}

/// What the authority says of the invoices it was asked for.
enum Listed {
    /// All that it holds of them.
    Rows(Vec<QueryRow>),
    /// Part of it: the list is too long to be read at once.
    Part(Vec<QueryRow>),
    /// Nothing: the query failed.
    Unanswered,
    /// Nothing: the query was never sent.
    NotReached(NotReached),
    /// Nothing: the presenter is not let in.
    ShutOut(Hold, FailureClass),
}

impl Listed {
    /// What it says of one invoice.
    fn of(&self, doubt: &Doubt) -> Self {
        match self {
            Self::Rows(rows) | Self::Part(rows) => {
                Self::Rows(rows.iter().filter(|row| doubt.is_of(row)).cloned().collect())
            }
            Self::Unanswered => Self::Unanswered,
            Self::NotReached(reason) => Self::NotReached(reason.clone()),
            Self::ShutOut(hold, class) => Self::ShutOut(hold.clone(), *class),
        }
    }
}

impl Engine {
    /// The months in which the authority may list an invoice, the likeliest first: those of the operations
    /// that its records state, and that of its issue.
    ///
    /// # Errors
    /// [`LedgerError`] when the ledger fails.
    pub async fn months_of(
        &self,
        tenant: &TenantId,
        invoice: &InvoiceId,
    ) -> Result<Vec<Period>, LedgerError> {
        let history = self.parts.ledger.history(tenant, invoice).await?;
        Ok(periods(invoice.date, None, &history))
    }

    /// Looks into every doubt that is due. What proves not to be held becomes a due retry; returned are the
    /// records that may be sent again though the authority could not be asked.
    pub(super) async fn look_into(
        &self,
        lease: Lease,
        state: &mut ChainState,
        doubtful: Vec<Submission>,
        presentation: &Arc<Presentation>,
    ) -> Result<Step<Looked>, EngineError> {
        let mut months: BTreeMap<Period, Vec<Doubt>> = BTreeMap::new();
        for item in doubtful {
            let history = self.parts.ledger.history(&state.key.tenant, &item.record.invoice).await?;
            let doubt = Doubt { item, history };
            let Some(month) = doubt.periods().first().copied() else { continue };
            months.entry(month).or_default().push(doubt);
        }
        let mut again = Vec::new();
        let mut updates = Vec::new();
        let (mut unreached, mut shut_out) = (None, None);
        for (month, doubts) in months {
            let began = self.parts.clock.now();
            let findings = match &unreached {
                Some(reason) => doubts
                    .into_iter()
                    .map(|doubt| (doubt, Finding::NotReached(NotReached::clone(reason))))
                    .collect(),
                None => self.find(month, doubts, presentation).await,
            };
            let now = self.parts.clock.now();
            for (Doubt { item, history }, finding) in findings {
                let verdict = match finding {
                    Finding::Known(verdict) => verdict,
                    Finding::NotHeld => {
                        let progress = self.apply(&item.job.progress, Event::DoubtCleared, now);
                        updates.push(JobUpdate {
                            job: item.job.id,
                            progress,
                            attempt: None,
                            answer_line: None,
                        });
                        continue;
                    }
                    Finding::Unanswered if may_go_again(&item, &history) => {
                        again.push(item);
                        continue;
                    }
                    Finding::Unanswered => unresolved(now),
                    Finding::ShutOut(hold, class) => {
                        shut_out = Some((hold, class));
                        continue;
                    }
                    Finding::NotReached(reason) => {
                        let verdict = settle::not_reached(&reason, now, state.unreachable_count);
                        unreached = Some(reason);
                        verdict
                    }
                };
                updates.push(self.update(&item, verdict, began, now, None));
            }
        }
        if unreached.is_some() {
            state.unreachable_count += 1;
        }
        if !updates.is_empty() {
            let settlement = Settlement { updates, ..settlement(state, self.parts.clock.now()) };
            if let Step::Stale = self.settle(lease, state.clone(), settlement).await? {
                return Ok(Step::Stale);
            }
        }
        Ok(Step::On(match (shut_out, unreached) {
            (Some((hold, class)), _) => Looked::ShutOut(hold, class),
            (None, Some(_)) => Looked::OutOfReach,
            (None, None) => Looked::At(again),
        }))
    }

    /// Finds out about doubts of one month: few by a query each, many in the month's list. What a list
    /// that is too long does not tell is asked for one by one, as far as few go.
    async fn find(
        &self,
        month: Period,
        doubts: Vec<Doubt>,
        presentation: &Arc<Presentation>,
    ) -> Vec<(Doubt, Finding)> {
        let mut listed = match doubts.len() {
            0..=FEW => Listed::Part(Vec::new()),
            _ => self.list(month, &doubts, presentation).await,
        };
        let mut asked = 0;
        let mut findings = Vec::with_capacity(doubts.len());
        for doubt in doubts {
            let answer = match &listed {
                Listed::Part(rows) if !rows.iter().any(|row| doubt.is_of(row)) => {
                    asked += 1;
                    if asked > FEW {
                        Listed::Unanswered
                    } else {
                        self.ask_for(month, &doubt, presentation).await
                    }
                }
                known => known.of(&doubt),
            };
            let mut finding = self.finding(&answer, &doubt);
            if let Listed::NotReached(_) | Listed::ShutOut(..) = answer {
                listed = answer;
            }
            for other in doubt.periods().into_iter().skip(1) {
                if !matches!(finding, Finding::NotHeld) {
                    break;
                }
                finding = self.finding(&self.ask_for(other, &doubt, presentation).await, &doubt);
            }
            findings.push((doubt, finding));
        }
        findings
    }

    fn finding(&self, answer: &Listed, doubt: &Doubt) -> Finding {
        match answer {
            Listed::Rows(rows) | Listed::Part(rows) => find_in(rows, doubt, self.parts.clock.now()),
            Listed::Unanswered => Finding::Unanswered,
            Listed::NotReached(reason) => Finding::NotReached(reason.clone()),
            Listed::ShutOut(hold, class) => Finding::ShutOut(hold.clone(), *class),
        }
    }

    /// What the authority holds under one invoice's key.
    async fn ask_for(&self, month: Period, doubt: &Doubt, presentation: &Arc<Presentation>) -> Listed {
        let record = &doubt.item.record;
        let asked = Query {
            number: Some(record.invoice.number.clone()),
            issued: Some(IssueDates::On(record.invoice.date)),
            ..Query::new(AskedBy::Issuer(asker(&doubt.item)), month)
        };
        match query(&*self.parts.authority, presentation.identity.clone(), &asked).await.into_result() {
            Ok(page) => Listed::Rows(page.rows),
            Err(other) => self.unlisted(other),
        }
    }

    /// What the authority holds of these invoices: reads the month's list page by page, narrowed to
    /// their dates of issue, until all of them were seen.
    async fn list(&self, month: Period, doubts: &[Doubt], presentation: &Arc<Presentation>) -> Listed {
        let dates = || doubts.iter().map(|doubt| doubt.item.record.invoice.date);
        let (Some(first), Some(from), Some(until)) = (doubts.first(), dates().min(), dates().max()) else {
            return Listed::Rows(Vec::new());
        };
        let mut wanted: HashSet<(String, String)> = doubts
            .iter()
            .map(|doubt| &doubt.item.record.invoice)
            .map(|id| (id.number.as_str().to_owned(), id.date.to_string()))
            .collect();
        let mut query = Query::new(AskedBy::Issuer(asker(&first.item)), month);
        query.issued = Some(IssueDates::Between(from, until));
        let identity = presentation.identity.clone();
        let mut pages = pin!(query_pages(&*self.parts.authority, identity, query, MAX_PAGES));
        let mut rows = Vec::new();
        while !wanted.is_empty() {
            let page = match pages.try_next().await {
                Ok(Some(page)) => page,
                Ok(None) => break,
                Err(QueryError::MorePages(_)) => return Listed::Part(rows),
                Err(QueryError::Unprocessed(other)) => return self.unlisted(other),
                Err(_) => return Listed::Unanswered,
            };
            for row in page.rows {
                if wanted.remove(&(row.invoice.number.clone(), row.invoice.date.clone())) {
                    rows.push(row);
                }
            }
        }
        Listed::Rows(rows)
    }

    fn shut_out(&self, reason: HoldReason, class: FailureClass, description: String) -> Listed {
        Listed::ShutOut(Hold { reason, description, since: self.parts.clock.now() }, class)
    }

    /// What a query that was not answered means for who asked it.
    fn unlisted(&self, outcome: Unprocessed) -> Listed {
        match outcome {
            // A certificate that cannot be used is told by the sending, which holds the chain.
            Outcome::NotReached(reason) if !settle::is_about_certificate(&reason) => {
                Listed::NotReached(reason)
            }
            Outcome::Suspended(refusal) => {
                self.shut_out(HoldReason::Suspended, FailureClass::Suspended, refusal.text)
            }
            Outcome::AccessRefused(refused) => {
                let (_, text) = settle::access_text(&refused);
                self.shut_out(HoldReason::Certificate, FailureClass::AccessRefused, text)
            }
            _ => Listed::Unanswered,
        }
    }
}

/// The records of the invoice that were accepted after this one, on whatever chain.
pub(super) fn after<'a>(history: &'a [Submission], item: &Submission) -> &'a [Submission] {
    let own = history.iter().position(|known| known.record.id == item.record.id);
    own.and_then(|own| history.get(own + 1..)).unwrap_or_default()
}

/// Whether the authority was ever sent the record.
pub(super) fn was_sent(known: &Submission) -> bool {
    let progress = &known.job.progress;
    progress.sent || progress.state == JobState::Processing || progress.standing == Standing::InDoubt
}

fn asker(item: &Submission) -> xml::envelope::SpanishParty {
    xml::envelope::SpanishParty { name: item.record.issuer_name.clone(), nif: item.record.invoice.issuer }
}

/// What the rows say of a doubt, being all there are under its key.
fn find_in(rows: &[QueryRow], doubt: &Doubt, now: Timestamp) -> Finding {
    match rows.iter().find(|row| doubt.is_of(row)) {
        None => Finding::NotHeld,
        Some(row) => judge(&doubt.item, row, &doubt.history, now),
    }
}

/// Still in doubt: the query failed, and the record must not go again without it.
fn unresolved(now: Timestamp) -> Verdict {
    let text = "the authority could not be asked what it holds";
    let failure = settle::failure(FailureSource::Network, FailureClass::InDoubt, None, text, now);
    Verdict {
        event: Event::Doubted { failure, resolve_at: now },
        outcome: AttemptOutcome::InDoubt,
        code: None,
        answer_line: None,
    }
}

/// What the row that the authority holds says about our record.
fn judge(item: &Submission, row: &QueryRow, history: &[Submission], now: Timestamp) -> Finding {
    let held = row.huella.as_deref().unwrap_or_default();
    let ours = held == item.record.huella.as_str();
    // A cancellation turns the row over; whether the row then shows the cancellation's huella or the
    // invoice's is not documented, so the state tells, if no other cancellation of ours could, and if
    // this one was not refused as a duplicate when it was sent for the first time.
    let last = item.job.progress.failure.as_ref();
    let refused_at_once =
        item.job.progress.attempts == 1 && last.is_some_and(|last| last.code == Some(settle::DUPLICATE));
    let cancelled_by_us = item.record.kind == RecordKind::Cancellation
        && row.state == StoredState::Cancelled
        && !refused_at_once
        && !history
            .iter()
            .any(|known| known.record.kind == RecordKind::Cancellation && known.record.id != item.record.id);
    if ours || cancelled_by_us {
        return Finding::Known(registered(row));
    }
    let other = history.iter().find(|known| known.record.huella.as_str() == held);
    let verdict = |event, outcome| Verdict { event, outcome, code: row.code, answer_line: None };
    let refused = |class, code, text: &str| {
        let failure = settle::failure(FailureSource::Authority, class, code, text, now);
        let answer = AuthorityAnswer {
            submission: None,
            record: RecordOutcome::Rejected,
            presented_at: row.presented_at,
            reconciled: true,
            code,
            description: row.description.clone(),
        };
        Finding::Known(verdict(Event::Rejected { failure, answer }, AttemptOutcome::Rejected))
    };
    match other {
        // A later one stands there: this one must never be sent after it.
        Some(known) if after(history, item).iter().any(|later| later.job.id == known.job.id) => {
            let event = Event::Superseded(settle::superseded(known.job.id, now));
            Finding::Known(verdict(event, AttemptOutcome::Rejected))
        }
        // An earlier one does, and this one was refused because of it: its flags are wrong.
        Some(_) if last.is_some_and(|last| last.code == Some(settle::DUPLICATE)) => refused(
            FailureClass::Rejected,
            Some(settle::DUPLICATE),
            "the authority holds an earlier record of this invoice: correct it without a prior rejection",
        ),
        // An earlier one does: this one never took its place.
        Some(_) => Finding::NotHeld,
        None => refused(
            FailureClass::ForeignDuplicate,
            row.code,
            "the authority holds another record of this invoice that was not generated here",
        ),
    }
}

/// Registered by a submission whose answer was lost, and its receipt with it.
fn registered(row: &QueryRow) -> Verdict {
    let with_errors = row.state == StoredState::AcceptedWithErrors;
    let (standing, record) = if with_errors {
        (Standing::AcceptedWithErrors, RecordOutcome::AcceptedWithErrors)
    } else {
        (Standing::Accepted, RecordOutcome::Accepted)
    };
    let answer = AuthorityAnswer {
        submission: None,
        record,
        presented_at: row.presented_at,
        reconciled: true,
        code: row.code,
        description: row.description.clone(),
    };
    Verdict {
        event: Event::Accepted { standing, csv: Csv::Lost, answer },
        outcome: AttemptOutcome::Accepted,
        code: row.code,
        answer_line: None,
    }
}

/// Whether a doubtful record may be sent again though the authority could not be asked. A plain alta
/// may, because the authority refuses a second one; anything else would overwrite what came later.
fn may_go_again(item: &Submission, history: &[Submission]) -> bool {
    let first = history.first().is_some_and(|first| first.record.id == item.record.id);
    let plain = first && item.record.kind == RecordKind::Invoice;
    plain || !after(history, item).iter().any(was_sent)
}
