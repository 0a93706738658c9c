//! `GET /invoices/lookup`: what the authority holds of an invoice or of a month, or what the own ledger does.
//!
//! The authority lists by the month of the operation, else of the issue. An invoice is asked for in the
//! months that the ledger knows for it, so who knows another one names it.

use std::{ops::RangeInclusive, sync::Arc};

use verifactu_core::{
    api::{FoundInvoice, FoundState, Lookup, LookupSource},
    authority,
    job::{Csv, Standing},
    ledger::{Filter, Page, Start, Submission},
    record::{InvoiceId, RecordKind},
    types::{Date, InvoiceNumber, JobId, Nif, Text},
    xml::{
        self,
        answer::{InvoiceKey, StoredState},
        envelope::SpanishParty,
        query::{AskedBy, IssueDates, Paging, Period, Query, QueryRow},
    },
};

use super::{
    Service,
    auth::Account,
    call::Call,
    error::{Fault, Success},
    query::Parameters,
    reply::Reply,
    view,
};

const SOURCES: &[(&str, LookupSource)] =
    &[("authority", LookupSource::Authority), ("ledger", LookupSource::Ledger)];
/// Rows of a page of the ledger. The authority gives up to 10 000.
const ROWS: u32 = 200;

/// What a request asks for.
struct Asked {
    issuer: Nif,
    issuer_name: Option<Text<120>>,
    /// One invoice; all without.
    invoice: Option<InvoiceId>,
    /// The month; there is one where there is no invoice.
    month: Option<(u16, u8)>,
    /// Where to go on.
    after: Option<String>,
}

/// Rows, and where the next page begins.
type Rows = (Vec<FoundInvoice>, Option<String>);

pub(super) async fn lookup(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let (source, asked) = read(&call)?;
    let (facturas, clave_paginacion) = match source {
        LookupSource::Ledger => in_ledger(&service, &account, &asked).await?,
        LookupSource::Authority => at_authority(&service, &account, asked).await?,
    };
    Reply::json(Success::Ok, call.request, Lookup { source, facturas, clave_paginacion })
}

fn read(call: &Call) -> Result<(LookupSource, Asked), Fault> {
    let mut parameters = Parameters::of(call);
    let source = parameters.word("source", SOURCES).unwrap_or(LookupSource::Authority);
    let issuer = parameters.read("nif", Nif::parse);
    let number = parameters.read("numSerie", InvoiceNumber::parse);
    let date = parameters.read("fecha", Date::parse);
    let year = parameters.number("ejercicio", 1900..=2999);
    let month = parameters.number("periodo", 1..=12);
    let issuer_name = parameters.read("nombre", Text::parse);
    let after = parameters.read("clavePaginacion", |text| Ok::<_, &str>(text.to_owned()));
    parameters.require("nif");
    parameters.both("numSerie", "fecha");
    parameters.both("ejercicio", "periodo");
    if !parameters.given("numSerie") && !parameters.given("ejercicio") {
        parameters.problem("numSerie", "is required with fecha, or ejercicio with periodo");
    }
    parameters.finish()?;
    let issuer = issuer.ok_or_else(|| Fault::field("nif", "is required"))?;
    let invoice = number.zip(date).map(|(number, date)| InvoiceId { issuer, number, date });
    let month = year
        .zip(month)
        .and_then(|(year, month)| Some((u16::try_from(year).ok()?, u8::try_from(month).ok()?)));
    Ok((source, Asked { issuer, issuer_name, invoice, month, after }))
}

async fn at_authority(service: &Service, account: &Account, asked: Asked) -> Result<Rows, Fault> {
    account.may_write()?;
    if account.tenant.allowed_nif.is_some_and(|allowed| allowed != asked.issuer) {
        return Err(Fault::AllowedNifMismatch);
    }
    let after = asked.after.as_deref().map(key).transpose()?;
    let presentation = service.presentation(&account.tenant.id, &asked.issuer).await?;
    let months = match (asked.month, &asked.invoice) {
        (Some((year, month)), _) => Period::new(year, month).into_iter().collect(),
        (None, Some(invoice)) => service.engine.months_of(&account.tenant.id, invoice).await?,
        (None, None) => Vec::new(),
    };
    let name = issuer_name(service, account, &asked).await?;
    let mut rows: Rows = (Vec::new(), None);
    for month in months {
        let asker = SpanishParty { name: name.clone(), nif: asked.issuer };
        let query = Query {
            number: asked.invoice.as_ref().map(|invoice| invoice.number.clone()),
            issued: asked.invoice.as_ref().map(|invoice| IssueDates::On(invoice.date)),
            after: after.clone(),
            ..Query::new(AskedBy::Issuer(asker), month)
        };
        let identity = presentation.identity.clone();
        let page = authority::query(&**service.engine.authority(), identity, &query).await.into_result();
        let page = match page {
            Ok(page) => page,
            Err(outcome) => return Err(service.unanswered(&account.tenant.id, &presentation, outcome).await),
        };
        let next = match page.paging {
            Paging::Last => None,
            Paging::More(InvoiceKey { issuer, number, date }) => Some(format!("{issuer}|{number}|{date}")),
        };
        rows = (page.rows.into_iter().map(of_authority).collect(), next);
        if !rows.0.is_empty() {
            break;
        }
    }
    Ok(rows)
}

/// The key behind which a page begins, as the page before told it.
fn key(text: &str) -> Result<InvoiceKey, Fault> {
    let parts = text.split_once('|').and_then(|(issuer, rest)| Some((issuer, rest.rsplit_once('|')?)));
    let (issuer, (number, date)) = parts.ok_or_else(no_key)?;
    Ok(InvoiceKey { issuer: issuer.to_owned(), number: number.to_owned(), date: date.to_owned() })
}

fn no_key() -> Fault {
    Fault::field("clavePaginacion", "is not the clavePaginacion of a page of this source")
}

/// The name that the authority knows the issuer by: the given one, that of its last record here, or that
/// of the account.
async fn issuer_name(service: &Service, account: &Account, asked: &Asked) -> Result<Text<120>, Fault> {
    if let Some(name) = &asked.issuer_name {
        return Ok(name.clone());
    }
    let filter = Filter { issuer: Some(asked.issuer), ..Filter::default() };
    let page = Page { start: Start::Skip(0), limit: 1 };
    let known = service.engine.ledger().list(&account.tenant.id, &filter, page).await?;
    let known = known.and_then(|listing| listing.items.into_iter().next());
    known
        .map(|item| item.record.issuer_name)
        .or_else(|| account.tenant.issuer_name.clone())
        .ok_or_else(|| Fault::field("nombre", "is required: the account has no record of the issuer"))
}

/// The records of an invoice, the last first; of a month those of invoices that were issued in it.
async fn in_ledger(service: &Service, account: &Account, asked: &Asked) -> Result<Rows, Fault> {
    let start = match &asked.after {
        Some(after) => Start::After(JobId::parse(after).map_err(|_| no_key())?),
        None => Start::Skip(0),
    };
    let filter = Filter {
        issuer: Some(asked.issuer),
        number: asked.invoice.as_ref().map(|invoice| invoice.number.clone()),
        issued: match &asked.invoice {
            Some(invoice) => Some(invoice.date..=invoice.date),
            None => asked.month.and_then(days),
        },
        ..Filter::default()
    };
    let page = Page { start, limit: ROWS };
    let listing =
        service.engine.ledger().list(&account.tenant.id, &filter, page).await?.ok_or_else(no_key)?;
    let last = listing.items.last().filter(|_| listing.more).map(|last| last.job.id.to_string());
    Ok((listing.items.iter().map(of_ledger).collect(), last))
}

fn days((year, month): (u16, u8)) -> Option<RangeInclusive<Date>> {
    let first = Date::parse(&format!("{year:04}-{month:02}-01")).ok()?;
    let last = Date::parse(&first.civil().last_of_month().to_string()).ok()?;
    Some(first..=last)
}

fn of_authority(row: QueryRow) -> FoundInvoice {
    FoundInvoice {
        nif: row.invoice.issuer,
        num_serie: row.invoice.number,
        fecha: row.invoice.date,
        estado: match row.state {
            StoredState::Accepted => FoundState::Correcto,
            StoredState::AcceptedWithErrors => FoundState::AceptadoConErrores,
            StoredState::Cancelled => FoundState::Anulado,
        },
        codigo_error: row.code.map(|code| code.to_string()),
        descripcion_error: row.description,
        tipo_factura: row.invoice_type,
        total: row.total,
        huella: row.huella,
        fecha_hora_huso_gen_registro: row.generated_at,
        ref_externa: row.external_reference,
        nif_presentador: row.presenter,
        timestamp_presentacion: row.presented_at.map(Into::into),
        timestamp_ultima_modificacion: row.modified_at.map(Into::into),
        csv: None,
        job_id: None,
    }
}

fn of_ledger(Submission { job, record }: &Submission) -> FoundInvoice {
    let answer = job.progress.answer.as_ref();
    let literals = xml::literals::read(&record.xml).ok();
    let [invoice_type, total] = match literals.and_then(|literals| literals.amounts) {
        Some([invoice_type, _, total]) => [Some(invoice_type.into_owned()), Some(total.into_owned())],
        None => [None, None],
    };
    FoundInvoice {
        nif: record.invoice.issuer.to_string(),
        num_serie: record.invoice.number.to_string(),
        fecha: record.invoice.date.to_string(),
        estado: match (job.progress.standing, record.kind) {
            (Standing::Waiting, _) => FoundState::Pendiente,
            (Standing::InDoubt, _) => FoundState::EnDuda,
            (Standing::Rejected, _) => FoundState::Incorrecto,
            (_, RecordKind::Cancellation) => FoundState::Anulado,
            (Standing::Accepted, _) => FoundState::Correcto,
            (Standing::AcceptedWithErrors, _) => FoundState::AceptadoConErrores,
        },
        codigo_error: answer.and_then(|answer| answer.code).map(|code| code.to_string()),
        descripcion_error: answer.and_then(|answer| answer.description.clone()),
        tipo_factura: invoice_type,
        total,
        huella: Some(record.huella.to_string()),
        fecha_hora_huso_gen_registro: Some(record.generated_at.to_string()),
        ref_externa: view::reference(record),
        nif_presentador: None,
        timestamp_presentacion: answer.and_then(|answer| answer.presented_at).map(Into::into),
        timestamp_ultima_modificacion: Some(job.updated_at.into()),
        csv: match &job.progress.csv {
            Some(Csv::Present(csv)) => Some(csv.clone()),
            Some(Csv::Lost) | None => None,
        },
        job_id: Some(job.id),
    }
}
