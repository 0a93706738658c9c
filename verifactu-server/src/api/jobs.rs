//! `GET /jobs/:id` and the QR of a job's invoice.

use std::sync::Arc;

use verifactu_core::{ledger::Submission, qr::Symbol, types::JobId};

use super::{
    Service,
    auth::Account,
    call::Call,
    error::{Fault, Success},
    reply::Reply,
};

pub(super) async fn show(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let submission = find(&service, &call, &account).await?;
    Reply::json(Success::Ok, call.request, service.views.job(&submission))
}

/// The QR at its regulation size, also before the authority has answered.
pub(super) async fn qr(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let format = call.parameter("format")?;
    let submission = find(&service, &call, &account).await?;
    let text =
        service.views.qr_text(&submission.record).ok_or(Fault::NotFound("QR: a cancellation has none"))?;
    let symbol = Symbol::new(&text).map_err(|error| Fault::Internal(error.into()))?;
    match format {
        None | Some("svg") => Ok(Reply::raw("image/svg+xml", symbol.svg())),
        Some("png") => {
            let png = symbol.png().map_err(|error| Fault::Internal(error.into()))?;
            Ok(Reply::raw("image/png", png))
        }
        Some("txt") => Ok(Reply::raw("text/plain; charset=utf-8", text)),
        Some(_) => Err(Fault::field("format", "must be svg, png or txt")),
    }
}

/// A job of another account is as absent as one that does not exist.
async fn find(service: &Service, call: &Call, account: &Account) -> Result<Submission, Fault> {
    const ABSENT: Fault = Fault::NotFound("job");
    let id = JobId::parse(call.variable()).map_err(|_| ABSENT)?;
    service.engine.ledger().job(&account.tenant.id, id).await?.ok_or(ABSENT)
}
