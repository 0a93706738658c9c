//! Doubt: finding out whether the authority holds a record whose answer never came.
//!
//! The query tells the huella that the authority holds under the invoice's key. Ours: registered.
//! Nothing: the same bytes are sent again. "Found nothing" and "could not ask" are different things;
//! after the latter a plain alta may be sent again, because the authority refuses a second one with a
//! duplicate, but a correction or cancellation would overwrite, and is only sent again while no later
//! record of its invoice was sent.

use std::sync::Arc;

use jiff::Timestamp;

use crate::{
    authority::{Outcome, Request, Service, outcome},
    job::{AuthorityAnswer, Csv, Event, FailureClass, FailureSource, JobState, RecordOutcome, Standing},
    ledger::{AttemptOutcome, ChainState, JobUpdate, Lease, Settlement, Submission},
    record::RecordKind,
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

/// What a look into a doubt brought.
enum Finding {
    /// Known now.
    Known(Verdict),
    /// Not held: the same bytes may go again.
    NotHeld,
    /// The query failed.
    Unanswered(String),
}

impl Engine {
    /// Looks into every doubt that is due, and returns the records to send again.
    pub(super) async fn look_into(
        &self,
        lease: Lease,
        state: &mut ChainState,
        doubtful: Vec<Submission>,
        presentation: &Arc<Presentation>,
    ) -> Result<Step<Vec<Submission>>, EngineError> {
        let mut again = Vec::new();
        let mut updates = Vec::new();
        for mut item in doubtful {
            let began = self.parts.clock.now();
            let history = self.parts.ledger.history(&state.key.tenant, &item.record.invoice).await?;
            let finding = self.ask(&item, &history, presentation).await;
            let now = self.parts.clock.now();
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
                Finding::Unanswered(_) if may_go_again(&item, &history) => {
                    again.push(item);
                    continue;
                }
                Finding::Unanswered(text) => {
                    let failure =
                        settle::failure(FailureSource::Network, FailureClass::InDoubt, None, &text, now);
                    Verdict {
                        event: Event::Doubted { failure, resolve_at: now },
                        outcome: AttemptOutcome::InDoubt,
                        code: None,
                        answer_line: None,
                    }
                }
            };
            updates.push(self.update(&item, verdict, began, now, None));
        }
        if updates.is_empty() {
            return Ok(Step::On(again));
        }
        let settlement = Settlement { updates, ..settlement(state, self.parts.clock.now()) };
        Ok(match self.settle(lease, state.clone(), settlement).await? {
            Step::On(_) => Step::On(again),
            Step::Stale => Step::Stale,
        })
    }

    /// Asks the authority what it holds under the invoice's key.
    async fn ask(
        &self,
        item: &Submission,
        history: &[Submission],
        presentation: &Arc<Presentation>,
    ) -> Finding {
        let issuer = xml::envelope::SpanishParty {
            name: item.record.issuer_name.clone(),
            nif: item.record.invoice.issuer,
        };
        let day = history
            .iter()
            .filter(|known| known.record.kind == RecordKind::Invoice)
            .find_map(|known| xml::record::operation_date(&known.record.xml))
            .unwrap_or(item.record.invoice.date);
        let mut query = Query::new(AskedBy::Issuer(issuer), Period::of(day));
        query.number = Some(item.record.invoice.number.clone());
        query.issued = Some(IssueDates::On(item.record.invoice.date));
        let request = Request {
            service: Service::Query,
            identity: presentation.identity.clone(),
            body: query.to_xml().into_bytes().into(),
        };
        let exchange = self.parts.authority.exchange(request).await;
        let now = self.parts.clock.now();
        match outcome::query(&exchange) {
            Outcome::Processed(answer) => {
                let id = &item.record.invoice;
                let date = id.date.to_string();
                let row = answer.rows.iter().find(|row| {
                    row.invoice.issuer == id.issuer.as_str()
                        && row.invoice.number == id.number.as_str()
                        && row.invoice.date == date
                });
                match row {
                    None => Finding::NotHeld,
                    Some(row) => judge(item, row, history, now),
                }
            }
            _ => Finding::Unanswered("the authority could not be asked what it holds".to_owned()),
        }
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
