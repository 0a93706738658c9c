//! Settling: what an outcome means for each record of the message. Pure; the ledger writes it down.

use std::collections::HashMap;

use bytes::Bytes;
use jiff::Timestamp;

use crate::{
    authority::{
        NoAnswer, NotReached, Outcome, codes,
        outcome::{AccessRefused, Refusal},
    },
    job::{AuthorityAnswer, Csv, Event, Failure, FailureClass, FailureSource, RecordOutcome, Standing},
    ledger::{AttemptOutcome, Hold, HoldReason, SlotKind, Submission, Suspects},
    record::RecordKind,
    types::JobId,
    xml::answer::{AnswerLine, RegistrationAnswer},
};

/// Code of a refusal because the authority holds a record under the invoice's key already.
pub(super) const DUPLICATE: i64 = 3000;

/// What one record comes to.
pub(super) struct Verdict {
    pub(super) event: Event,
    pub(super) outcome: AttemptOutcome,
    pub(super) code: Option<i64>,
    pub(super) answer_line: Option<Bytes>,
}

/// What a whole message comes to.
pub(super) struct Verdicts {
    /// One for each record, in the order of the message.
    pub(super) records: Vec<Verdict>,
    /// The wait the authority asked for, in seconds.
    pub(super) wait: Option<u32>,
    /// Why nothing more is to be sent, if so.
    pub(super) hold: Option<Hold>,
    /// Whether the authority was out of reach.
    pub(super) unreachable: bool,
}

/// When things happened, as far as verdicts depend on it.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    /// The end of the exchange.
    pub(super) now: Timestamp,
    /// When the next slot opens if the authority does not say otherwise.
    pub(super) next_slot_at: Timestamp,
    /// Connections that failed in a row before this one.
    pub(super) unreachable_count: u32,
}

/// Reads the outcome of a message for each of its records.
pub(super) fn verdicts(
    items: &[Submission],
    outcome: &Outcome<RegistrationAnswer>,
    body: Option<&Bytes>,
    moment: Moment,
) -> Verdicts {
    let all = |verdict: &dyn Fn() -> Verdict| Verdicts {
        records: items.iter().map(|_| verdict()).collect(),
        wait: None,
        hold: None,
        unreachable: false,
    };
    let refused = |class: FailureClass, refusal: &Refusal| {
        let failure = failure(FailureSource::Authority, class, refusal.code, &refusal.text, moment.now);
        Verdict {
            code: refusal.code,
            event: Event::Failed(failure),
            outcome: AttemptOutcome::Error,
            answer_line: None,
        }
    };
    let doubted = |source: FailureSource, class: FailureClass, text: &str| Verdict {
        event: Event::Doubted {
            failure: failure(source, class, None, text, moment.now),
            resolve_at: moment.next_slot_at,
        },
        outcome: if class == FailureClass::InDoubt { AttemptOutcome::InDoubt } else { AttemptOutcome::Error },
        code: None,
        answer_line: None,
    };
    match outcome {
        Outcome::Processed(answer) => processed(items, answer, body, moment),
        Outcome::HeaderFault(refusal) => all(&|| refused(FailureClass::HeaderRefused, refusal)),
        Outcome::ContentFault(refusal) => content_refused(items, refusal, moment),
        Outcome::ServerFault(refusal) => all(&|| refused(FailureClass::AuthorityError, refusal)),
        Outcome::AccessRefused(refused) => {
            let (code, text) = access_text(refused);
            held(items, HoldReason::Certificate, FailureClass::AccessRefused, code, &text, moment)
        }
        Outcome::Suspended(refusal) => {
            held(items, HoldReason::Suspended, FailureClass::Suspended, refusal.code, &refusal.text, moment)
        }
        Outcome::Unreadable { status, excerpt } => {
            let text = format!("HTTP {status} without an answer of the service: {excerpt}");
            all(&|| doubted(FailureSource::Authority, FailureClass::AuthorityError, &text))
        }
        Outcome::NoAnswer(reason) => {
            let text = no_answer_text(*reason);
            all(&|| doubted(FailureSource::Network, FailureClass::InDoubt, &text))
        }
        Outcome::NotReached(NotReached::Identity { detail }) => {
            held(items, HoldReason::Certificate, FailureClass::AccessRefused, None, detail, moment)
        }
        Outcome::NotReached(reason @ NotReached::TlsAlert { alert }) if is_about_certificate(reason) => {
            let text = format!("the authority refused the certificate: {alert}");
            held(items, HoldReason::Certificate, FailureClass::AccessRefused, None, &text, moment)
        }
        Outcome::NotReached(reason) => Verdicts {
            unreachable: true,
            ..all(&|| not_reached(reason, moment.now, moment.unreachable_count))
        },
    }
}

/// Nothing was sent, so nothing is burnt; the next try comes later each time.
pub(super) fn not_reached(reason: &NotReached, now: Timestamp, failed_before: u32) -> Verdict {
    let class = FailureClass::Unreachable;
    let failure = failure(FailureSource::Network, class, None, &reason.to_string(), now);
    Verdict {
        event: Event::Unreachable { failure, tries: failed_before + 1 },
        outcome: AttemptOutcome::Unreachable,
        code: None,
        answer_line: None,
    }
}

/// A record that a message carried alone is to blame; of several, it is not known which.
fn content_refused(items: &[Submission], refusal: &Refusal, moment: Moment) -> Verdicts {
    let verdict = |_: &Submission| {
        let class = FailureClass::ContentRefused;
        let failure = failure(FailureSource::Authority, class, refusal.code, &refusal.text, moment.now);
        Verdict {
            event: if items.len() == 1 { Event::Isolated(failure) } else { Event::Suspected(failure) },
            outcome: AttemptOutcome::Error,
            code: refusal.code,
            answer_line: None,
        }
    };
    let records = items.iter().map(verdict).collect();
    Verdicts { records, wait: None, hold: None, unreachable: false }
}

/// Where the search for the record that breaks whole messages stands after another message. Only what
/// the authority read says something: a refusal that the record is among these, an answer that it is not.
pub(super) fn suspects_after(
    known: Option<Suspects>,
    slot: SlotKind,
    sent: u32,
    outcome: &Outcome<RegistrationAnswer>,
) -> Option<Suspects> {
    match outcome {
        Outcome::ContentFault(_) => (sent > 1).then_some(Suspects { slot, records: sent }),
        Outcome::Processed(_) => {
            let known = known?;
            let cleared = if known.slot == slot { sent } else { 0 };
            let records = known.records.saturating_sub(cleared);
            (records > 0).then_some(Suspects { records, ..known })
        }
        _ => known,
    }
}

/// Each record by its own line. The state of the whole submission decides nothing.
fn processed(
    items: &[Submission],
    answer: &RegistrationAnswer,
    body: Option<&Bytes>,
    moment: Moment,
) -> Verdicts {
    let mut lines: HashMap<(&str, &str, &str, RecordKind), Option<&AnswerLine>> = HashMap::new();
    for line in &answer.lines {
        let key = (&*line.invoice.issuer, &*line.invoice.number, &*line.invoice.date, line.operation.kind);
        // Two lines for one record contradict each other: neither is believed.
        lines.entry(key).and_modify(|known| *known = None).or_insert(Some(line));
    }
    let records = items.iter().map(|item| {
        let date = item.record.invoice.date.to_string();
        let id = &item.record.invoice;
        match lines
            .get(&(id.issuer.as_str(), id.number.as_str(), &*date, item.record.kind))
            .copied()
            .flatten()
        {
            Some(line) if belongs(line, item) => by_line(line, answer, body, moment),
            _ => Verdict {
                event: Event::Doubted {
                    failure: failure(
                        FailureSource::Authority,
                        FailureClass::InDoubt,
                        None,
                        "the answer has no line for the record",
                        moment.now,
                    ),
                    resolve_at: moment.next_slot_at,
                },
                outcome: AttemptOutcome::InDoubt,
                code: None,
                answer_line: None,
            },
        }
    });
    Verdicts { records: records.collect(), wait: answer.wait, hold: None, unreachable: false }
}

/// The reference is a cross-check: a line that carries another one is not this record's.
fn belongs(line: &AnswerLine, item: &Submission) -> bool {
    let Some(echoed) = &line.external_reference else { return true };
    match &item.record.external_reference {
        Some(reference) => reference.as_str() == echoed,
        None => *echoed == item.record.id.to_string(),
    }
}

fn by_line(line: &AnswerLine, answer: &RegistrationAnswer, body: Option<&Bytes>, moment: Moment) -> Verdict {
    let text = line.description.as_deref().unwrap_or_default();
    let word = AuthorityAnswer {
        submission: Some(answer.state),
        record: line.state,
        presented_at: answer.presented_at,
        reconciled: false,
        code: line.code,
        description: line.description.clone(),
    };
    let rejected_as = |class| failure(FailureSource::Authority, class, line.code, text, moment.now);
    let (event, outcome) = match line.state {
        RecordOutcome::Accepted | RecordOutcome::AcceptedWithErrors => {
            let standing = match line.state {
                RecordOutcome::Accepted => Standing::Accepted,
                _ => Standing::AcceptedWithErrors,
            };
            let csv = answer.csv.clone().map_or(Csv::Lost, Csv::Present);
            (Event::Accepted { standing, csv, answer: word }, AttemptOutcome::Accepted)
        }
        // The key exists, but whose record holds it only the query can tell.
        RecordOutcome::Rejected if line.code == Some(DUPLICATE) => (
            Event::Doubted { failure: rejected_as(FailureClass::InDoubt), resolve_at: moment.next_slot_at },
            AttemptOutcome::InDoubt,
        ),
        RecordOutcome::Rejected if is_technical(line.code) => {
            (Event::Failed(rejected_as(FailureClass::AuthorityError)), AttemptOutcome::Error)
        }
        RecordOutcome::Rejected => (
            Event::Rejected { failure: rejected_as(FailureClass::Rejected), answer: word },
            AttemptOutcome::Rejected,
        ),
    };
    let answer_line = body.map(|body| body.slice(line.bytes.clone()));
    Verdict { event, outcome, code: line.code, answer_line }
}

fn is_technical(code: Option<i64>) -> bool {
    code.and_then(codes::lookup).is_some_and(|row| row.retry == codes::Retry::Unchanged)
}

fn held(
    items: &[Submission],
    reason: HoldReason,
    class: FailureClass,
    code: Option<i64>,
    text: &str,
    moment: Moment,
) -> Verdicts {
    let verdict = |_: &Submission| Verdict {
        event: Event::Held(failure(FailureSource::Authority, class, code, text, moment.now)),
        outcome: AttemptOutcome::Error,
        code,
        answer_line: None,
    };
    Verdicts {
        records: items.iter().map(verdict).collect(),
        wait: None,
        hold: Some(Hold { reason, description: text.to_owned(), since: moment.now }),
        unreachable: false,
    }
}

/// Whether our certificate stood in the way: we cannot use it, or the server's alert refuses it, or
/// says that it saw none.
pub(super) fn is_about_certificate(reason: &NotReached) -> bool {
    match reason {
        NotReached::Identity { .. } => true,
        NotReached::TlsAlert { alert } => {
            alert.contains("Certificate") || alert == "UnknownCA" || alert == "AccessDenied"
        }
        _ => false,
    }
}

pub(super) fn access_text(refused: &AccessRefused) -> (Option<i64>, String) {
    match refused {
        AccessRefused::Fault(refusal) => (refusal.code, refusal.text.clone()),
        other => (None, other.to_string()),
    }
}

fn no_answer_text(reason: NoAnswer) -> String {
    format!("sent, but {reason}; whether the authority holds the record is being found out")
}

/// The failure of a record that gives way to a later one of its invoice.
pub(super) fn superseded(by: JobId, at: Timestamp) -> Failure {
    let text = "a later record of the same invoice was sent";
    let failure = failure(FailureSource::Internal, FailureClass::Superseded, None, text, at);
    Failure { superseded_by: Some(by), ..failure }
}

pub(super) fn failure(
    source: FailureSource,
    class: FailureClass,
    code: Option<i64>,
    text: &str,
    at: Timestamp,
) -> Failure {
    Failure { source, class, code, description: text.to_owned(), at, superseded_by: None }
}
