//! `POST /send-invoice` and `POST /cancel-invoice`.
//!
//! The order of the checks is part of the contract: a repeated key is answered before the account
//! and the body are looked at, and only an accepted request uses a key up.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, header::RETRY_AFTER};
use jiff::Timestamp;
use verifactu_core::{
    api::{CancelRequest, Defaults, Json, SendRequest, SystemClaim, Warning, fingerprint},
    chain::{PlaceClaim, Stamp},
    engine::Submit,
    job::{JobKind, JobState},
    ledger::{Appended, Idempotency, Submission},
    record::Statement,
    types::{Date, Month, RequestId, Text},
};

use super::{
    Service,
    auth::Account,
    call::Call,
    error::{Fault, Success},
    reply::Reply,
    under_way::UnderWay,
    wait::Patience,
};

const KEY: HeaderName = HeaderName::from_static("x-idempotency-key");
const KEY_ALIAS: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// Longest idempotency key (specification, Limits).
const MAX_KEY: usize = 128;

/// A body that was read, of either kind.
struct Stated {
    statement: Statement,
    issuer_name: Option<Text<120>>,
    place: PlaceClaim,
    stamp: Option<Stamp>,
    system: Option<SystemClaim>,
    warnings: Vec<Warning>,
    demoted: Vec<&'static str>,
}

/// A request that can be accepted.
pub(super) struct Prepared {
    pub(super) submit: Submit,
    pub(super) warnings: Vec<Warning>,
    /// The rules that would have refused it, had the operator not demoted them.
    pub(super) demoted: Vec<&'static str>,
}

/// A request that was accepted, now or before.
pub(super) enum Taken {
    New { submission: Box<Submission>, due: Option<Timestamp>, warnings: Vec<Warning> },
    Replayed { same_body: bool, submission: Box<Submission> },
}

pub(super) async fn send(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    accept(&service, &call, &account, JobKind::Send).await
}

pub(super) async fn cancel(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    accept(&service, &call, &account, JobKind::Cancel).await
}

async fn accept(service: &Service, call: &Call, account: &Account, kind: JobKind) -> Result<Reply, Fault> {
    let patience = Patience::of(&call.headers, service.clock.now());
    let body = call.json()?;
    let key = idempotency_key(&call.headers)?;
    match take(service, account, kind, key, &body, call.request).await? {
        Taken::New { submission, due, warnings } => match patience {
            None => created(service, call.request, &submission, due, warnings),
            Some(patience) => {
                let location = location(&submission);
                Ok(patience.answer(service, call, *submission, warnings).await?.at(&location))
            }
        },
        Taken::Replayed { same_body, submission } => match patience {
            Some(patience) if same_body && !submission.job.progress.state.is_final() => {
                let location = location(&submission);
                let reply = patience.answer(service, call, *submission, Vec::new()).await?.at(&location);
                Ok(reply.with(REPLAYED, HeaderValue::from_static("true")))
            }
            _ => replayed(service, call, same_body, &submission),
        },
    }
}

/// Takes one request: finds it again by its key, or makes a record of it.
pub(super) async fn take(
    service: &Service,
    account: &Account,
    kind: JobKind,
    key: String,
    body: &Json,
    request: RequestId,
) -> Result<Taken, Fault> {
    let fingerprint = fingerprint(body);
    let tenant = &account.tenant.id;
    let replayed = |(known, submission)| Taken::Replayed {
        same_body: known == fingerprint,
        submission: Box::new(submission),
    };
    let under_way = UnderWay::new(tenant, kind, &key, request);
    if let Some(known) = under_way.wait(service, tenant, kind, &key).await? {
        return Ok(replayed(known));
    }
    let idempotency = Idempotency { key: key.clone(), fingerprint };
    let taken = match prepare(service, account, kind, idempotency, body, request).await {
        Ok(prepared) => append(service, account, prepared).await,
        // The append looks for the key itself. A request that does not get there may still be one that
        // was accepted before.
        Err(fault) => match service.engine.ledger().replay(tenant, kind, &key).await? {
            Some(known) => Ok(replayed(known)),
            None => Err(fault),
        },
    };
    if taken.is_err() {
        under_way.leave(service).await;
    }
    taken
}

/// Makes a record of a request, unless its key is known.
async fn append(service: &Service, account: &Account, prepared: Prepared) -> Result<Taken, Fault> {
    let Prepared { submit, warnings, demoted } = prepared;
    let (fingerprint, request) = (submit.idempotency.fingerprint, submit.request);
    match service.engine.accept(submit).await? {
        Appended::New { submission, due } => {
            service.note_demoted(&submission, &demoted, request).await;
            Ok(Taken::New { submission, due, warnings })
        }
        Appended::Replay { fingerprint: known, submission } => {
            Ok(Taken::Replayed { same_body: known == fingerprint, submission })
        }
        Appended::QuotaReached { used } => Err(Fault::QuotaReached {
            limit: service.quota(account).limit,
            used,
            resets_at: Month::in_madrid(service.clock.now()).end(),
        }),
        other => Err(declined(other)),
    }
}

/// What a new request states, once everything but its place in the chain is known to be right.
pub(super) async fn prepare(
    service: &Service,
    account: &Account,
    kind: JobKind,
    idempotency: Idempotency,
    body: &Json,
    request: RequestId,
) -> Result<Prepared, Fault> {
    account.may_write()?;
    let tenant = &account.tenant;
    let defaults = Defaults {
        issuer_name: tenant.issuer_name.as_ref(),
        today: Date::in_madrid(service.clock.now()),
        demoted: &service.demoted_rules,
    };
    let mut stated = read(kind, body, &defaults)?;
    let issuer_name = match stated.issuer_name.take() {
        Some(name) => name,
        None => known_name(service, account, &stated.statement).await?,
    };
    let issuer = stated.statement.invoice_id().issuer;
    if tenant.allowed_nif.is_some_and(|allowed| allowed != issuer) {
        return Err(Fault::AllowedNifMismatch);
    }
    check_certificate(service, account, &mut stated.warnings)?;
    let system = own_system(service, account, &mut stated);
    let submit = Submit {
        tenant: tenant.id.clone(),
        statement: stated.statement,
        issuer_name,
        idempotency,
        place: stated.place,
        stamp: stated.stamp,
        system,
        quota: Some(service.quota(account)),
        request,
    };
    Ok(Prepared { submit, warnings: stated.warnings, demoted: stated.demoted })
}

fn read(kind: JobKind, body: &Json, defaults: &Defaults<'_>) -> Result<Stated, Fault> {
    match kind {
        JobKind::Send => {
            let request = SendRequest::read(body, defaults).map_err(Fault::Fields)?;
            Ok(Stated {
                issuer_name: Some(request.invoice.issuer_name.clone()),
                statement: Statement::Invoice(Box::new(request.invoice)),
                place: request.chain,
                stamp: request.stamp,
                system: request.system,
                warnings: request.warnings,
                demoted: request.demoted,
            })
        }
        JobKind::Cancel => {
            let request = CancelRequest::read(body, defaults).map_err(Fault::Fields)?;
            Ok(Stated {
                issuer_name: request.issuer_name,
                statement: Statement::Cancellation(Box::new(request.cancellation)),
                place: request.chain,
                stamp: request.stamp,
                system: request.system,
                warnings: request.warnings,
                demoted: request.demoted,
            })
        }
    }
}

impl Service {
    /// Writes down, and counts, that a record was accepted although rules object to it: the operator has
    /// demoted them. The record is there already, so a failure to write it down is only logged.
    async fn note_demoted(&self, submission: &Submission, rules: &[&'static str], request: RequestId) {
        if rules.is_empty() {
            return;
        }
        self.metrics.demoted(rules);
        let subject = format!("{}/{}: {}", submission.job.tenant, submission.job.id, rules.join(", "));
        let actor = submission.job.tenant.as_str();
        if let Err(error) = self.audit(actor, "validation.demoted", subject, request).await {
            tracing::warn!(error = &error as &dyn std::error::Error, %request, "demoted rules were not audited");
        }
    }
}

/// Why there is no new record.
pub(super) fn declined(appended: Appended) -> Fault {
    match appended {
        Appended::AlreadySubmitted(job) => Fault::AlreadySubmitted(job),
        Appended::QuotaReached { used } => Fault::QuotaReached { limit: None, used, resets_at: None },
        Appended::Refused(refusal) => Fault::Chain(refusal),
        Appended::Closed => Fault::IssuerHeld(
            "it was closed when the ledger was restored from a backup; name a new \
             sistemaInformatico.numeroInstalacion"
                .to_owned(),
        ),
        Appended::Replay { submission, .. } | Appended::New { submission, .. } => {
            Fault::IdempotencyConflict(submission.job.id)
        }
    }
}

fn created(
    service: &Service,
    request: RequestId,
    submission: &Submission,
    due: Option<Timestamp>,
    warnings: Vec<Warning>,
) -> Result<Reply, Fault> {
    let body = service.views.accepted(submission, warnings);
    let reply = Reply::json(Success::Accepted, request, body)?;
    Ok(reply.at(&location(submission)).with(RETRY_AFTER, seconds_until(due, service.clock.now())))
}

/// The answer to a key that was used before.
fn replayed(
    service: &Service,
    call: &Call,
    same_body: bool,
    submission: &Submission,
) -> Result<Reply, Fault> {
    if !same_body {
        return Err(Fault::IdempotencyConflict(submission.job.id));
    }
    let progress = &submission.job.progress;
    let reply = match progress.state {
        JobState::Dead => {
            let job = Box::new(service.views.job(submission));
            return Ok(Fault::JobDead(job)
                .into_reply(call.request, &call.headers)
                .with(REPLAYED, HeaderValue::from_static("true")));
        }
        JobState::Succeeded => Reply::json(Success::Ok, call.request, service.views.job(submission))?,
        JobState::Pending | JobState::Processing | JobState::Failed => {
            let body = service.views.accepted(submission, Vec::new());
            let wait = seconds_until(progress.next_retry_at, service.clock.now());
            Reply::json(Success::Accepted, call.request, body)?.with(RETRY_AFTER, wait)
        }
    };
    Ok(reply.at(&location(submission)).with(REPLAYED, HeaderValue::from_static("true")))
}

fn location(submission: &Submission) -> String {
    format!("/v1/jobs/{}", submission.job.id)
}

/// Whole seconds, one at least; five where nothing is known.
fn seconds_until(time: Option<Timestamp>, now: Timestamp) -> HeaderValue {
    let seconds = time.map_or(5, |time| (time.as_second() - now.as_second()).max(1));
    HeaderValue::from(seconds)
}

/// The key, under either name of its header.
fn idempotency_key(headers: &HeaderMap) -> Result<String, Fault> {
    let mut found: Option<&str> = None;
    for value in headers.get_all(KEY).iter().chain(headers.get_all(KEY_ALIAS)) {
        let value = value.to_str().map_err(|_| Fault::IdempotencyKeyInvalid)?;
        if found.is_some_and(|known| known != value) {
            return Err(Fault::IdempotencyKeyInvalid);
        }
        found = Some(value);
    }
    let key = found.ok_or(Fault::IdempotencyKeyMissing)?;
    if is_key(key) { Ok(key.to_owned()) } else { Err(Fault::IdempotencyKeyInvalid) }
}

/// Whether a text can be an idempotency key.
pub(super) fn is_key(text: &str) -> bool {
    (1..=MAX_KEY).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// An account needs a certificate where they are required. One that has expired meanwhile holds the
/// sending up, not the invoice: its record and QR do not depend on it.
fn check_certificate(service: &Service, account: &Account, warnings: &mut Vec<Warning>) -> Result<(), Fault> {
    match account.certificate_until {
        None if service.certificate_required => Err(Fault::CertificateRequired),
        Some(end) if end < service.clock.now() => {
            warnings.push(Warning {
                code: "certificate_expired".to_owned(),
                field: None,
                message: "the account's certificate has expired; the record is sent once another is uploaded"
                    .to_owned(),
            });
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A cancellation may leave the issuer's name to the record of the invoice that it cancels.
async fn known_name(service: &Service, account: &Account, statement: &Statement) -> Result<Text<120>, Fault> {
    let history = service.engine.ledger().history(&account.tenant.id, statement.invoice_id()).await?;
    history
        .last()
        .map(|known| known.record.issuer_name.clone())
        .ok_or_else(|| Fault::field("nombre", "is required: the account has no record of the invoice"))
}

/// The caller's own system counts where the account may name one.
fn own_system(
    service: &Service,
    account: &Account,
    stated: &mut Stated,
) -> Option<verifactu_core::record::ComputerSystem> {
    let claim = stated.system.take()?;
    if account.tenant.own_system {
        return Some(claim.or(&service.engine.settings().system));
    }
    stated.warnings.push(Warning {
        code: "system_ignored".to_owned(),
        field: Some("sistemaInformatico".to_owned()),
        message: "the account may not name its own system; the service's stands in the record".to_owned(),
    });
    None
}
