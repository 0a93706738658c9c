//! Doubt: finding out whether the authority holds a record whose answer never came.
//!
//! The query tells the huella that the authority holds under the invoice's key. Ours: registered.
//! Nothing: the same bytes are sent again. "Found nothing" and "could not ask" are different things;
//! after the latter a plain alta may be sent again, because the authority refuses a second one with a
//! duplicate, but a correction or cancellation would overwrite, and is only sent again while no later
//! record of its invoice was sent.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use jiff::Timestamp;

use crate::{
    authority::{NotReached, Outcome, Request, Service, outcome},
    job::{AuthorityAnswer, Csv, Event, FailureClass, FailureSource, JobState, RecordOutcome, Standing},
    ledger::{AttemptOutcome, ChainState, JobUpdate, Lease, Settlement, Submission},
    record::RecordKind,
    xml::{
        self,
        answer::StoredState,
        query::{AskedBy, IssueDates, Paging, Period, Query, QueryAnswer, QueryRow},
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
}

/// A doubtful record, with every record of its invoice, itself among them.
struct Doubt {
    item: Submission,
    history: Vec<Submission>,
}

impl Doubt {
    /// The month in which the authority lists the invoice: that of the operation, else of the issue.
    fn period(&self) -> Period {
        let day = self
            .history
            .iter()
            .filter(|known| known.record.kind == RecordKind::Invoice)
            .find_map(|known| xml::record::operation_date(&known.record.xml))
            .unwrap_or(self.item.record.invoice.date);
        Period::of(day)
    }

    fn is_of(&self, row: &QueryRow) -> bool {
        let id = &self.item.record.invoice;
        row.invoice.issuer == id.issuer.as_str()
            && row.invoice.number == id.number.as_str()
            && row.invoice.date == id.date.to_string()
    }
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
        }
    }
}

impl Engine {
    /// Looks into every doubt that is due, and returns the records to send again.
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
            months.entry(doubt.period()).or_default().push(doubt);
        }
        let mut again = Vec::new();
        let mut updates = Vec::new();
        let mut unreached = None;
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
            for (Doubt { mut item, history }, finding) in findings {
                let verdict = match finding {
                    Finding::Known(verdict) => verdict,
                    Finding::NotHeld => {
                        item.job.progress = self.apply(&item.job.progress, Event::DoubtCleared, now);
                        updates.push(JobUpdate {
                            job: item.job.id,
                            progress: item.job.progress.clone(),
                            attempt: None,
                            answer_line: None,
                        });
                        again.push(item);
                        continue;
                    }
                    Finding::Unanswered if may_go_again(&item, &history) => {
                        again.push(item);
                        continue;
                    }
                    Finding::Unanswered => unresolved(now),
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
        again.sort_by_key(|item| item.record.position);
        Ok(Step::On(if unreached.is_some() { Looked::OutOfReach } else { Looked::At(again) }))
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
            let finding = match &answer {
                Listed::Rows(rows) | Listed::Part(rows) => find_in(rows, &doubt, self.parts.clock.now()),
                Listed::Unanswered => Finding::Unanswered,
                Listed::NotReached(reason) => Finding::NotReached(reason.clone()),
            };
            if let Listed::NotReached(_) = answer {
                listed = answer;
            }
            findings.push((doubt, finding));
        }
        findings
    }

    /// What the authority holds under one invoice's key.
    async fn ask_for(&self, month: Period, doubt: &Doubt, presentation: &Arc<Presentation>) -> Listed {
        let record = &doubt.item.record;
        let mut query = Query::new(AskedBy::Issuer(asker(&doubt.item)), month);
        query.number = Some(record.invoice.number.clone());
        query.issued = Some(IssueDates::On(record.invoice.date));
        match self.ask(&query, presentation).await {
            Ok(page) => Listed::Rows(page.rows),
            Err(listed) => listed,
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
        let mut rows = Vec::new();
        for _ in 0..MAX_PAGES {
            let page = match self.ask(&query, presentation).await {
                Ok(page) => page,
                Err(listed) => return listed,
            };
            for row in page.rows {
                if wanted.remove(&(row.invoice.number.clone(), row.invoice.date.clone())) {
                    rows.push(row);
                }
            }
            match page.paging {
                Paging::Last => return Listed::Rows(rows),
                Paging::More(_) if wanted.is_empty() => return Listed::Rows(rows),
                Paging::More(key) => query.after = Some(key),
            }
        }
        Listed::Part(rows)
    }

    async fn ask(&self, query: &Query, presentation: &Arc<Presentation>) -> Result<QueryAnswer, Listed> {
        let request = Request {
            service: Service::Query,
            identity: presentation.identity.clone(),
            body: query.to_xml().into_bytes().into(),
        };
        match outcome::query(&self.parts.authority.exchange(request).await) {
            Outcome::Processed(answer) => Ok(answer),
            // A certificate that cannot be used is told by the sending, which holds the chain.
            Outcome::NotReached(reason) if !settle::is_about_certificate(&reason) => {
                Err(Listed::NotReached(reason))
            }
            _ => Err(Listed::Unanswered),
        }
    }
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
    // invoice's is not documented, so the state tells, if no other cancellation of ours could.
    let cancelled_by_us = item.record.kind == RecordKind::Cancellation
        && row.state == StoredState::Cancelled
        && !history.iter().any(|known| {
            known.record.kind == RecordKind::Cancellation && known.record.position != item.record.position
        });
    if ours || cancelled_by_us {
        return Finding::Known(registered(row));
    }
    let other = history.iter().find(|known| known.record.huella.as_str() == held);
    let verdict = |event, outcome| Verdict { event, outcome, code: row.code, answer_line: None };
    match other {
        // An earlier record of ours still stands there: this one never took its place.
        Some(known) if known.record.position < item.record.position => Finding::NotHeld,
        // A later one does: this one must never be sent after it.
        Some(known) => {
            let mut failure = settle::failure(
                FailureSource::Internal,
                FailureClass::Superseded,
                None,
                "the authority holds a later record of the same invoice",
                now,
            );
            failure.superseded_by = Some(known.job.id);
            Finding::Known(verdict(Event::Superseded(failure), AttemptOutcome::Rejected))
        }
        None => {
            let failure = settle::failure(
                FailureSource::Authority,
                FailureClass::ForeignDuplicate,
                row.code,
                "the authority holds another record of this invoice that was not generated here",
                now,
            );
            let answer = AuthorityAnswer {
                submission: None,
                record: RecordOutcome::Rejected,
                presented_at: row.presented_at,
                reconciled: true,
                code: row.code,
                description: row.description.clone(),
            };
            Finding::Known(verdict(Event::Rejected { failure, answer }, AttemptOutcome::Rejected))
        }
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

/// Whether a doubtful record may be sent again though the authority could not be asked.
fn may_go_again(item: &Submission, history: &[Submission]) -> bool {
    let plain = item.record.kind == RecordKind::Invoice
        && !history.iter().any(|known| known.record.position < item.record.position);
    let overtaken = history.iter().any(|known| {
        known.record.position > item.record.position
            && (known.job.progress.sent || known.job.progress.state == JobState::Processing)
    });
    plain || !overtaken
}
