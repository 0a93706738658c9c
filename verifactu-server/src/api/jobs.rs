//! The jobs of an account: list, single ones, their attempts, and the QR and XML of their records.

use std::sync::Arc;

use verifactu_core::{
    api::{Job, Jobs},
    job::{JobKind, JobState},
    ledger::{Filter, Submission},
    qr::Symbol,
    types::{InvoiceNumber, JobId, Nif},
};

use super::{
    Service,
    auth::Account,
    call::Call,
    error::{Fault, Success},
    query::{self, Parameters},
    records,
    reply::Reply,
    view,
};

pub(super) async fn show(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let submission = find(&service, &call, &account).await?;
    Reply::json(Success::Ok, call.request, service.shown(&submission).await?)
}

impl Service {
    /// A job as it stands, also behind a hold of its chain.
    pub(super) async fn shown(&self, submission: &Submission) -> Result<Job, Fault> {
        let Submission { job, record } = submission;
        let mut shown = self.views.job(submission);
        if !job.progress.state.is_final()
            && let Some(hold) = self.engine.ledger().chain(record.chain).await?.and_then(|chain| chain.hold)
        {
            view::held(&mut shown, &hold);
        }
        Ok(shown)
    }
}

/// The states by their names.
pub(super) const STATES: &[(&str, JobState)] = &[
    ("PENDING", JobState::Pending),
    ("PROCESSING", JobState::Processing),
    ("SUCCEEDED", JobState::Succeeded),
    ("FAILED", JobState::Failed),
    ("DEAD", JobState::Dead),
];
const KINDS: &[(&str, JobKind)] = &[("SEND_INVOICE", JobKind::Send), ("CANCEL_INVOICE", JobKind::Cancel)];

pub(super) async fn list(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let mut parameters = Parameters::of(&call);
    let filter = Filter {
        kind: parameters.word("type", KINDS),
        state: parameters.word("status", STATES),
        issuer: parameters.read("nif", Nif::parse),
        number: parameters.read("numSerie", InvoiceNumber::parse),
        from: parameters.since(),
        until: parameters.before(),
        ..Filter::default()
    };
    let (items, paging) = query::page(&service, &account, filter, parameters).await?;
    let mut jobs = Vec::with_capacity(items.len());
    for item in &items {
        jobs.push(service.shown(item).await?);
    }
    query::answer(&call, Jobs { jobs, paging: paging.clone() }, &paging)
}

pub(super) async fn attempts(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let submission = find(&service, &call, &account).await?;
    let attempts = service.engine.ledger().attempts(submission.job.id).await?;
    Reply::json(Success::Ok, call.request, view::attempts(&attempts))
}

#[derive(Clone, Copy)]
enum Part {
    Request,
    Response,
}

/// The record's own XML, or the authority's own line for it.
pub(super) async fn xml(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let mut parameters = Parameters::of(&call);
    let part = parameters.word("part", &[("request", Part::Request), ("response", Part::Response)]);
    parameters.finish()?;
    let submission = find(&service, &call, &account).await?;
    let bytes = match part.unwrap_or(Part::Request) {
        Part::Request => records::bytes_of(&submission.record),
        Part::Response => {
            let line = service.engine.ledger().answer_line(submission.job.id).await?;
            line.ok_or(Fault::NotFound("answer yet"))?
        }
    };
    Ok(Reply::raw("application/xml", bytes))
}

/// The QR at its regulation size, also before the authority has answered.
pub(super) async fn qr(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let format = format_of(&call)?;
    let submission = find(&service, &call, &account).await?;
    picture(&service, &submission, format)
}

/// How a QR is wanted.
#[derive(Clone, Copy)]
pub(super) enum Format {
    Svg,
    Png,
    Text,
}

pub(super) fn format_of(call: &Call) -> Result<Format, Fault> {
    let mut parameters = Parameters::of(call);
    let words = [("svg", Format::Svg), ("png", Format::Png), ("txt", Format::Text)];
    let format = parameters.word("format", &words);
    parameters.finish()?;
    Ok(format.unwrap_or(Format::Svg))
}

pub(super) fn picture(service: &Service, submission: &Submission, format: Format) -> Result<Reply, Fault> {
    let text =
        service.views.qr_text(&submission.record).ok_or(Fault::NotFound("QR: a cancellation has none"))?;
    let symbol = Symbol::new(&text).map_err(|error| Fault::Internal(error.into()))?;
    match format {
        Format::Svg => Ok(Reply::raw("image/svg+xml", symbol.svg())),
        Format::Png => {
            let png = symbol.png().map_err(|error| Fault::Internal(error.into()))?;
            Ok(Reply::raw("image/png", png))
        }
        Format::Text => Ok(Reply::raw("text/plain; charset=utf-8", text)),
    }
}

/// A job of another account is as absent as one that does not exist.
async fn find(service: &Service, call: &Call, account: &Account) -> Result<Submission, Fault> {
    const ABSENT: Fault = Fault::NotFound("job");
    let id = JobId::parse(call.variable()).map_err(|_| ABSENT)?;
    service.engine.ledger().job(&account.tenant.id, id).await?.ok_or(ABSENT)
}
