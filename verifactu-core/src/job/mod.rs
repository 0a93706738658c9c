//! Jobs: what became of an accepted request, as a pure function of what happened to its record.
//!
//! PENDING and FAILED become PROCESSING when the message that carries the record is written down;
//! from there the answer decides. SUCCEEDED and DEAD are final. DEAD needs a known end: a record
//! that the authority may hold is never given up (specification, States and transitions).

mod retry;

pub use retry::RetryPolicy;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{record::RecordKind, types::JobId};

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum JobKind {
    /// Registers an invoice, or a correction of one.
    Send,
    /// Registers a cancellation.
    Cancel,
}

impl JobKind {
    /// The kind of record that the job carries.
    #[must_use]
    pub const fn record_kind(self) -> RecordKind {
        match self {
            Self::Send => RecordKind::Invoice,
            Self::Cancel => RecordKind::Cancellation,
        }
    }
}

/// The public state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum JobState {
    /// Waits for its first sending, or was set due by an operator.
    Pending,
    /// A message that carries the record is under way.
    Processing,
    /// The authority holds the record. Final.
    Succeeded,
    /// The last attempt failed; another follows.
    Failed,
    /// Given up. Final.
    Dead,
}

impl JobState {
    /// SUCCEEDED and DEAD.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Dead)
    }
}

/// What the authority is known to hold of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Standing {
    /// Nothing yet: the record was never sent, or never reached the authority.
    Waiting,
    /// Bytes were sent and no valid answer came.
    InDoubt,
    /// Registered.
    Accepted,
    /// Registered, with errors to correct.
    AcceptedWithErrors,
    /// Refused, so not registered.
    Rejected,
}

/// Where a failure came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureSource {
    /// The authority answered.
    Authority,
    /// No answer, or no connection.
    Network,
    /// Our own side.
    Internal,
}

/// What kind of failure, and so what follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum FailureClass {
    /// The record was refused by its line of the answer.
    Rejected,
    /// The whole message was refused for its content.
    ContentRefused,
    /// The whole message was refused for the data of its header.
    HeaderRefused,
    /// The authority failed: a technical code, a server fault, a 5xx, no XML.
    AuthorityError,
    /// Bytes were sent and no valid answer came.
    InDoubt,
    /// The authority was never reached.
    Unreachable,
    /// The holder of the certificate may not present for the issuer, or there is no certificate.
    AccessRefused,
    /// The authority suspended the presenter.
    Suspended,
    /// The operator paused the issuer.
    Paused,
    /// The authority holds another record under the invoice's key, and it is not ours.
    ForeignDuplicate,
    /// A later record of the same invoice was sent.
    Superseded,
}

/// The last failure of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Where it came from.
    pub source: FailureSource,
    /// What kind.
    pub class: FailureClass,
    /// The authority's code, if it gave one.
    pub code: Option<i64>,
    /// What the authority or the transport said.
    pub description: String,
    /// When.
    pub at: Timestamp,
    /// The job that took its place, for [`FailureClass::Superseded`].
    pub superseded_by: Option<JobId>,
}

/// What became of the receipt number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Csv {
    /// The receipt of the submission that registered the record.
    Present(String),
    /// Registered by a submission whose answer was lost; the number cannot be fetched later.
    Lost,
}

/// The authority's word on a whole submission (L18). Nothing is decided by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SubmissionOutcome {
    /// Every record was accepted without errors.
    #[doc(alias = "Correcto")]
    Accepted,
    /// Anything between, also a single record that was accepted with errors.
    #[doc(alias = "ParcialmenteCorrecto")]
    PartlyAccepted,
    /// Every record was rejected.
    #[doc(alias = "Incorrecto")]
    Rejected,
}

/// The authority's word on one record (L19).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RecordOutcome {
    /// Stored.
    #[doc(alias = "Correcto")]
    Accepted,
    /// Stored, with an error to be corrected by a new record.
    #[doc(alias = "AceptadoConErrores")]
    AcceptedWithErrors,
    /// Not stored.
    #[doc(alias = "Incorrecto")]
    Rejected,
}

/// The authority's last word on a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorityAnswer {
    /// Outcome of the whole submission; `None` when learnt by a query.
    pub submission: Option<SubmissionOutcome>,
    /// Outcome of the record.
    pub record: RecordOutcome,
    /// The authority's clock at the presentation.
    pub presented_at: Option<Timestamp>,
    /// Learnt by the query instead of an answer to the submission.
    pub reconciled: bool,
    /// Error code of the line, if any.
    pub code: Option<i64>,
    /// Its text.
    pub description: Option<String>,
}

/// Everything about a job that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Public state.
    pub state: JobState,
    /// What the authority holds.
    pub standing: Standing,
    /// Attempts burnt, at most [`RetryPolicy::max_attempts`] until the end is known.
    pub attempts: u32,
    /// Whether the record was sent, and its answer is known or its doubt was looked into once: its
    /// successors may go, and sending it again is a retry.
    pub sent: bool,
    /// Whether the authority refused a message that held this record alone: it breaks every message
    /// that carries it, so it never shares one again.
    pub alone: bool,
    /// When the next attempt is due, for FAILED; `None` means at once, if the chain is not held.
    pub next_retry_at: Option<Timestamp>,
    /// The last failure.
    pub failure: Option<Failure>,
    /// Receipt, once registered.
    pub csv: Option<Csv>,
    /// The authority's last word.
    pub answer: Option<AuthorityAnswer>,
    /// When a final state was reached.
    pub completed_at: Option<Timestamp>,
}

/// What happened to a record.
#[derive(Clone, Debug)]
pub enum Event {
    /// The message that carries it was written down and is about to be sent.
    Dispatched,
    /// The authority registered it.
    Accepted {
        /// With errors or without.
        standing: Standing,
        /// The submission's receipt.
        csv: Csv,
        /// The authority's word.
        answer: AuthorityAnswer,
    },
    /// Its line of the answer refused it.
    Rejected {
        /// Why.
        failure: Failure,
        /// The authority's word.
        answer: AuthorityAnswer,
    },
    /// The attempt failed without a word on this record.
    Failed(Failure),
    /// The authority was not reached; nothing was sent.
    Unreachable {
        /// What was seen.
        failure: Failure,
        /// How many connections have failed in a row, this one counted.
        tries: u32,
    },
    /// The message was sent and its fate is unknown.
    Doubted {
        /// What was seen.
        failure: Failure,
        /// When the next slot of the chain opens: the first try at resolving it.
        resolve_at: Timestamp,
    },
    /// The doubt was looked into, and the authority does not hold the record: it may be sent again.
    DoubtCleared,
    /// A later record of the same invoice waits to be sent: this one must not go before it, since the
    /// later one's flags say that it was refused.
    Deferred,
    /// The chain is held: nothing was processed, nothing is burnt.
    Held(Failure),
    /// The message was refused as a whole, and another of its records may be to blame: smaller messages
    /// will tell. Nothing was processed, nothing is burnt.
    Suspected(Failure),
    /// The message was refused as a whole, and held this record alone.
    Isolated(Failure),
    /// A later record of the same invoice is about to be sent.
    Superseded(Failure),
    /// An operator asks for another attempt now.
    Retried,
}

impl Progress {
    /// A job that was just accepted.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            state: JobState::Pending,
            standing: Standing::Waiting,
            attempts: 0,
            sent: false,
            alone: false,
            next_retry_at: None,
            failure: None,
            csv: None,
            answer: None,
            completed_at: None,
        }
    }

    /// Whether the authority will hold the record by the time a later record of its invoice arrives:
    /// it does, it may, or the record goes out before the later one. A record that was refused or came
    /// to nothing is not sent again once a later one waits.
    #[must_use]
    pub const fn counts_as_held(&self) -> bool {
        match (self.state, self.standing) {
            (JobState::Processing, _)
            | (_, Standing::Accepted | Standing::AcceptedWithErrors | Standing::InDoubt) => true,
            (_, Standing::Rejected) => false,
            (state, Standing::Waiting) => !state.is_final() && !self.sent,
        }
    }

    /// What the job becomes. Final states stay as they are.
    ///
    /// `jitter` is a random number that spreads retries; `now` is when the event was seen.
    #[must_use]
    pub fn after(&self, event: Event, now: Timestamp, policy: &RetryPolicy, jitter: u32) -> Self {
        let mut next = self.clone();
        if self.state.is_final() {
            return next;
        }
        match event {
            Event::Dispatched => {
                next.state = JobState::Processing;
                next.next_retry_at = None;
            }
            Event::Accepted { standing, csv, answer } => {
                next.state = JobState::Succeeded;
                next.standing = standing;
                next.attempts += 1;
                next.sent = true;
                next.csv = Some(csv);
                next.answer = Some(answer);
                next.failure = None;
                next.next_retry_at = None;
                next.completed_at = Some(now);
            }
            Event::Rejected { failure, answer } => {
                next.standing = Standing::Rejected;
                next.answer = Some(answer);
                next.fail(failure, now, policy, jitter);
            }
            Event::Failed(failure) => next.fail(failure, now, policy, jitter),
            Event::Unreachable { failure, tries } => {
                if policy.count_unreachable {
                    next.fail(failure, now, policy, jitter);
                } else {
                    next.state = JobState::Failed;
                    next.next_retry_at = Some(now + policy.wait(tries, failure.class, jitter));
                    next.failure = Some(failure);
                }
                next.sent = self.sent;
            }
            Event::Doubted { failure, resolve_at } => {
                // The first look is due at the next slot and the successors wait for it; later
                // looks wait as retries do, and hold nobody up.
                let first_look = !self.sent && self.standing != Standing::InDoubt;
                next.standing = Standing::InDoubt;
                next.fail(failure, now, policy, jitter);
                next.sent = !first_look;
                if first_look {
                    next.next_retry_at = Some(resolve_at);
                }
            }
            Event::DoubtCleared => {
                next.standing = Standing::Waiting;
                next.sent = true;
                match self.failure.clone() {
                    // The proof that a record whose attempts are used up needs for its end.
                    Some(failure) if self.attempts >= policy.max_attempts() => next.bury(failure, now),
                    _ => {
                        next.state = JobState::Failed;
                        next.next_retry_at = Some(now);
                    }
                }
            }
            Event::Deferred => {
                let wait = policy.wait(self.attempts, FailureClass::AuthorityError, jitter);
                next.state = JobState::Failed;
                next.next_retry_at = Some(now + wait);
            }
            Event::Isolated(failure) => {
                next.alone = true;
                next.fail(failure, now, policy, jitter);
            }
            Event::Held(failure) => next.stand_by(failure, None),
            Event::Suspected(failure) => next.stand_by(failure, Some(now)),
            Event::Superseded(failure) => next.bury(failure, now),
            Event::Retried => {
                next.state = JobState::Pending;
                next.next_retry_at = None;
            }
        }
        next
    }

    /// An attempt that reached the authority is burnt. The last one ends the job, unless the
    /// authority may hold the record: then the doubt is looked into until it is resolved.
    fn fail(&mut self, failure: Failure, now: Timestamp, policy: &RetryPolicy, jitter: u32) {
        self.attempts = self.attempts.saturating_add(1);
        self.sent = true;
        let exhausted = self.attempts >= policy.max_attempts();
        if exhausted && self.standing != Standing::InDoubt {
            self.bury(failure, now);
            return;
        }
        let wait =
            if exhausted { policy.doubt_interval } else { policy.wait(self.attempts, failure.class, jitter) };
        self.state = JobState::Failed;
        self.next_retry_at = Some(now + wait);
        self.failure = Some(failure);
    }

    /// Nothing was processed, so nothing is burnt. A record that was never sent still waits for that.
    fn stand_by(&mut self, failure: Failure, retry_at: Option<Timestamp>) {
        let untouched = self.attempts == 0 && !self.sent;
        self.state = if untouched { JobState::Pending } else { JobState::Failed };
        self.next_retry_at = retry_at.filter(|_| !untouched);
        self.failure = Some(failure);
    }

    fn bury(&mut self, failure: Failure, now: Timestamp) {
        self.state = JobState::Dead;
        self.next_retry_at = None;
        self.failure = Some(failure);
        self.completed_at = Some(now);
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}
