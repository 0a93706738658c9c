//! `Prefer: wait=N` (RFC 7240): holds an answer until there is something to say about the job.
//!
//! The job goes on by itself, whether somebody waits or not. Who waits is woken by the engine as soon
//! as it has written something, and looks again every second, because other nodes may have written it.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use jiff::Timestamp;
use tokio::time::Instant;
use verifactu_core::{
    api::{WaitedJob, Warning},
    job::{FailureClass, JobState, Progress},
    ledger::Submission,
    types::{JobId, TenantId},
};

use super::{
    Service,
    call::Call,
    error::{Fault, Success},
    reply::Reply,
};

const PREFER: HeaderName = HeaderName::from_static("prefer");
const APPLIED: HeaderName = HeaderName::from_static("preference-applied");
/// Longest wait, in seconds; who prefers more gets this.
const LONGEST: u64 = 30;
/// How often the ledger is looked at without being woken.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long the caller prefers to wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    seconds: u64,
    began: Timestamp,
    until: Instant,
}

/// What a job has come to, for somebody who waits.
enum Seen {
    /// Nothing new yet.
    Nothing,
    /// A final state.
    Final,
    /// The authority refused the record, or the chain is held: not final, but not soon either.
    Stuck,
    /// The authority failed or was out of reach.
    Failed,
    /// The authority did not answer.
    Silent,
}

impl Patience {
    /// What the request prefers; a preference that cannot be read is none.
    pub(super) fn of(headers: &HeaderMap, now: Timestamp) -> Option<Self> {
        let values = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
        let mut preferences = values.flat_map(|value| value.split([',', ';']));
        let seconds = preferences.find_map(|preference| {
            let (name, value) = preference.split_once('=')?;
            let wait = name.trim().eq_ignore_ascii_case("wait");
            value.trim().trim_matches('"').parse::<u64>().ok().filter(|_| wait)
        })?;
        let seconds = seconds.min(LONGEST);
        Some(Self { seconds, began: now, until: Instant::now() + Duration::from_secs(seconds) })
    }

    /// Waits, and answers as what became of the job asks for.
    pub(super) async fn answer(
        self,
        service: &Service,
        call: &Call,
        submission: Submission,
        warnings: Vec<Warning>,
    ) -> Result<Reply, Fault> {
        let (tenant, job) = (submission.job.tenant.clone(), submission.job.id);
        let (submission, seen) = self.watch(service, &tenant, job, submission).await?;
        let qr_info = service.views.qr_info(&submission.record, &submission.job.progress);
        let reply = match seen {
            Seen::Failed => Fault::AuthorityFailed { job, qr_info }.into_reply(call.request, &call.headers),
            Seen::Silent => Fault::AuthoritySilent { job, qr_info }.into_reply(call.request, &call.headers),
            Seen::Final | Seen::Stuck | Seen::Nothing => {
                let success = if matches!(seen, Seen::Final) { Success::Ok } else { Success::Accepted };
                let body = WaitedJob { job: service.shown(&submission).await?, qr_info, warnings };
                Reply::json(success, call.request, body)?
            }
        };
        let applied = HeaderValue::try_from(format!("wait={}", self.seconds));
        Ok(match applied {
            Ok(applied) => reply.with(APPLIED, applied),
            Err(_) => reply,
        })
    }

    async fn watch(
        self,
        service: &Service,
        tenant: &TenantId,
        job: JobId,
        mut submission: Submission,
    ) -> Result<(Submission, Seen), Fault> {
        let mut changes = service.engine.changes();
        loop {
            changes.mark_unchanged();
            if let Some(now) = service.engine.ledger().job(tenant, job).await? {
                submission = now;
            }
            let seen = self.judge(&submission.job.progress);
            if !matches!(seen, Seen::Nothing) || Instant::now() >= self.until || service.is_stopping() {
                return Ok((submission, seen));
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = tokio::time::sleep_until(self.until.min(Instant::now() + LOOK_EVERY)) => {}
            }
        }
    }

    /// A failure from before the request is no news, but a refusal is the last word for a while.
    fn judge(&self, progress: &Progress) -> Seen {
        let Some(failure) = progress.failure.as_ref().filter(|_| !progress.state.is_final()) else {
            return if progress.state.is_final() { Seen::Final } else { Seen::Nothing };
        };
        let waits = matches!(progress.state, JobState::Failed | JobState::Pending);
        let is_new = failure.at >= self.began;
        match failure.class {
            _ if !waits => Seen::Nothing,
            FailureClass::AuthorityError | FailureClass::Unreachable if is_new => Seen::Failed,
            FailureClass::InDoubt if is_new => Seen::Silent,
            FailureClass::AuthorityError | FailureClass::Unreachable | FailureClass::InDoubt => Seen::Nothing,
            _ => Seen::Stuck,
        }
    }
}
