//! The operator's view across accounts: jobs with what went out and came back, a retry by hand,
//! certificates that end, and the audit log.

use std::{fmt::Write as _, sync::Arc};

use verifactu_core::{
    api::{
        AuditEvent, AuditEvents, ExpiringCertificate, ExpiringCertificates, JobMessage, JobMessages,
        OperatorJob, OperatorJobs,
    },
    job::{Event, FailureClass, JobState},
    ledger::{AuditLine, SealedCertificate, Search, Submission},
    types::{JobId, RequestId, TenantId},
};

use super::{
    Service,
    call::Call,
    error::{Fault, Success},
    jobs::STATES,
    query::{self, Parameters},
    reply::Reply,
    tenants::OPERATOR,
    view,
};

/// The kinds of failure that a search can ask for.
pub(super) const CLASSES: &[FailureClass] = &[
    FailureClass::Rejected,
    FailureClass::ContentRefused,
    FailureClass::HeaderRefused,
    FailureClass::AuthorityError,
    FailureClass::InDoubt,
    FailureClass::Unreachable,
    FailureClass::AccessRefused,
    FailureClass::Suspended,
    FailureClass::Paused,
    FailureClass::ForeignDuplicate,
    FailureClass::Superseded,
];

const SECONDS_OF_A_DAY: i64 = 24 * 60 * 60;
/// Most certificates that are shown.
const MOST_CERTIFICATES: u32 = 1000;

pub(super) async fn jobs(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let mut parameters = Parameters::of(&call);
    let classes: Vec<_> = CLASSES.iter().map(|class| (view::class(*class), *class)).collect();
    let search = Search {
        tenant: parameters.read("tenantId", TenantId::parse),
        request: parameters.read("requestId", RequestId::parse),
        state: parameters.word("status", STATES),
        class: parameters.word("class", &classes),
        code: parameters.read("code", str::parse::<i64>),
        until: parameters.time("olderThan"),
    };
    let page = parameters.page(JobId::parse);
    parameters.finish()?;
    let listing = service.engine.ledger().search(&search, page).await?;
    service.audit(OPERATOR, "jobs.search", call.query.clone(), call.request).await?;
    let paging = query::paging(&listing, |last| last.job.id);
    let mut jobs = Vec::with_capacity(listing.items.len());
    for found in &listing.items {
        jobs.push(OperatorJob {
            tenant_id: found.job.tenant.clone(),
            accepted_request_id: found.job.request,
            job: service.shown(found).await?,
        });
    }
    query::answer(&call, OperatorJobs { jobs, paging: paging.clone() }, &paging)
}

/// What support needs of a job: its record as it was sent, and the authority's answers as they came.
pub(super) async fn messages(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let Submission { job, record } = find(&service, &call).await?;
    let messages = service.engine.ledger().messages(job.id).await?;
    service.audit(OPERATOR, "job.messages", format!("{}/{}", job.tenant, job.id), call.request).await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let messages = messages.into_iter().map(|message| JobMessage {
        id: message.id,
        sent_at: message.at.into(),
        incidencia: message.incident,
        settled_at: message.settled_at.map(Into::into),
        answer: message.answer.as_deref().map(text),
    });
    let told = JobMessages {
        tenant_id: job.tenant,
        sent_xml: record.sent_xml.as_deref().map(text),
        messages: messages.collect(),
    };
    Reply::json(Success::Ok, call.request, told)
}

/// Makes a FAILED job due now, within the pace of its chain. Its attempts stay: if this one was the last,
/// it is the end of the job, and a job in doubt is looked into.
pub(super) async fn retry(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let Submission { job, record } = find(&service, &call).await?;
    if job.progress.state != JobState::Failed {
        return Err(Fault::NotRetryable(view::status(job.progress.state)));
    }
    let ledger = service.engine.ledger();
    if let Some(hold) = ledger.chain(record.chain).await?.and_then(|chain| chain.hold) {
        return Err(Fault::IssuerHeld(hold.description));
    }
    let now = service.clock.now();
    let next = job.progress.after(Event::Retried, now, &service.engine.settings().retry, 0);
    if !ledger.revise(job.id, &job.progress, &next).await? {
        // It changed under our eyes: a worker has it, or another operator was first.
        let changed = find(&service, &call).await?;
        return Err(Fault::NotRetryable(view::status(changed.job.progress.state)));
    }
    service.audit(OPERATOR, "job.retry", format!("{}/{}", job.tenant, job.id), call.request).await?;
    service.wake(record.chain).await;
    let revised = find(&service, &call).await?;
    Reply::json(Success::Ok, call.request, service.shown(&revised).await?)
}

pub(super) async fn expiring(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let mut parameters = Parameters::of(&call);
    let days = parameters.number("days", 0..=36500).unwrap_or(30);
    parameters.finish()?;
    let now = service.clock.now();
    let before = now + jiff::SignedDuration::from_secs(i64::from(days) * SECONDS_OF_A_DAY);
    let ending = service.accounts.expiring_certificates(before, MOST_CERTIFICATES).await?;
    service.audit(OPERATOR, "certificates.expiring", days.to_string(), call.request).await?;
    let certificates =
        ending.into_iter().map(|SealedCertificate { tenant, not_after, uploaded_at, .. }| {
            ExpiringCertificate {
                tenant_id: tenant,
                not_after: not_after.into(),
                days_until_expiry: (not_after.as_second() - now.as_second()).div_euclid(SECONDS_OF_A_DAY),
                uploaded_at: uploaded_at.into(),
            }
        });
    Reply::json(Success::Ok, call.request, ExpiringCertificates { certificates: certificates.collect() })
}

/// The audit log. Reading it is a line of it too, which the next reading shows.
pub(super) async fn events(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let mut parameters = Parameters::of(&call);
    let page = parameters.page(str::parse::<u64>);
    parameters.finish()?;
    let listing = service.accounts.audit_lines(page).await?;
    service.audit(OPERATOR, "events.read", call.query.clone(), call.request).await?;
    let paging = query::paging(&listing, |last| last.position);
    let events = listing.items.into_iter().map(event).collect();
    query::answer(&call, AuditEvents { events, paging: paging.clone() }, &paging)
}

async fn find(service: &Service, call: &Call) -> Result<Submission, Fault> {
    const ABSENT: Fault = Fault::NotFound("job");
    let id = JobId::parse(call.variable()).map_err(|_| ABSENT)?;
    service.engine.ledger().find_job(id).await?.ok_or(ABSENT)
}

fn event(line: AuditLine) -> AuditEvent {
    let AuditLine { position, entry, hash } = line;
    AuditEvent {
        position,
        at: entry.at.into(),
        actor: entry.actor,
        action: entry.action,
        subject: entry.subject,
        caused_by: entry.request,
        hash: hash.iter().fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }),
    }
}
