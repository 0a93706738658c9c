//! `POST /invoices/preview`: the record that an invoice would become, and nothing of it is kept.

use std::sync::Arc;

use verifactu_core::{
    api::{Preview, fingerprint},
    chain,
    job::JobKind,
    ledger::Idempotency,
    qr::Symbol,
    record::Statement,
};

use super::{
    Service,
    auth::Account,
    call::Call,
    error::{Fault, Success},
    invoices::{Prepared, declined, prepare},
    reply::Reply,
};

pub(super) async fn preview(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let body = call.json()?;
    // A key that nobody uses, so that the preview is no replay.
    let idempotency = Idempotency { key: service.ids.next().to_string(), fingerprint: fingerprint(&body) };
    let Prepared { mut submit, warnings, .. } =
        prepare(&service, &account, JobKind::Send, idempotency, &body, call.request).await?;
    // Nothing is taken from the plan, so nothing is refused for it.
    submit.quota = None;
    let sealed = service.engine.preview(submit).await?.map_err(declined)?;
    let (record, previous) = (&sealed.record, sealed.record.link.previous_huella());
    let Statement::Invoice(invoice) = &record.statement else { return Err(Fault::NotFound("QR")) };
    let qr_text = service.views.invoice_qr(invoice);
    let symbol = Symbol::new(&qr_text).map_err(|error| Fault::Internal(error.into()))?;
    let preview = Preview {
        canonical: chain::canonical(&record.statement, previous, &record.generated_at),
        huella: record.huella,
        huella_anterior: previous.copied(),
        xml: String::from_utf8_lossy(&sealed.xml).into_owned(),
        qr_svg: symbol.svg(),
        qr_text,
        warnings,
    };
    Reply::json(Success::Ok, call.request, preview)
}
