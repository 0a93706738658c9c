//! The records of an account: list, single ones, and the export with their exact bytes.

use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use jiff::Timestamp;
use verifactu_core::{
    api::{ExportedRecord, InvoiceRecords},
    job::{JobKind, Standing},
    ledger::{ChainState, Filter, LedgerError, RecordRow, Submission},
    types::{InvoiceNumber, Nif, RecordId},
};

use super::{
    Service,
    auth::Account,
    call::Call,
    error::{Fault, Success},
    jobs,
    query::{self, Parameters},
    reply::{Pieces, Reply},
    view,
};

/// Records that are read at a time.
const CHUNK: u32 = 200;

const TYPES: &[(&str, JobKind)] = &[("ALTA", JobKind::Send), ("ANULACION", JobKind::Cancel)];
const STATES: &[(&str, Standing)] = &[
    ("PENDIENTE", Standing::Waiting),
    ("EN_DUDA", Standing::InDoubt),
    ("CORRECTO", Standing::Accepted),
    ("ACEPTADO_CON_ERRORES", Standing::AcceptedWithErrors),
    ("INCORRECTO", Standing::Rejected),
];

pub(super) async fn list(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let mut parameters = Parameters::of(&call);
    let filter = Filter {
        kind: parameters.word("tipo", TYPES),
        standing: parameters.word("estado", STATES),
        issuer: parameters.read("nif", Nif::parse),
        series: parameters.read("serie", InvoiceNumber::parse),
        from: parameters.since(),
        until: parameters.before(),
        ..Filter::default()
    };
    let (items, paging) = query::page(&service, &account, filter, parameters).await?;
    let records = items.iter().map(view::record).collect();
    query::answer(&call, InvoiceRecords { records, paging: paging.clone() }, &paging)
}

pub(super) async fn show(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let submission = find(&service, &call, &account).await?;
    Reply::json(Success::Ok, call.request, view::record(&submission))
}

pub(super) async fn xml(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let submission = find(&service, &call, &account).await?;
    Ok(Reply::raw("application/xml", bytes_of(&submission.record)))
}

pub(super) async fn qr(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let format = jobs::format_of(&call)?;
    let submission = find(&service, &call, &account).await?;
    jobs::picture(&service, &submission, format)
}

/// A record of another account is as absent as one that does not exist.
async fn find(service: &Service, call: &Call, account: &Account) -> Result<Submission, Fault> {
    const ABSENT: Fault = Fault::NotFound("record");
    let id = RecordId::parse(call.variable()).map_err(|_| ABSENT)?;
    service.engine.ledger().record(&account.tenant.id, id).await?.ok_or(ABSENT)
}

/// The record as it is sent; as it was generated while it has not been sent yet.
pub(super) fn bytes_of(record: &RecordRow) -> Bytes {
    record.sent_xml.clone().unwrap_or_else(|| record.xml.clone())
}

#[derive(Clone, Copy)]
enum Format {
    Ndjson,
    Xml,
}

/// Streams the records, chain by chain in the order of each; `from` and `to` are times of generation,
/// which never go back along a chain.
pub(super) async fn export(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let mut parameters = Parameters::of(&call);
    let formats = [("ndjson", Format::Ndjson), ("xml", Format::Xml)];
    let format = parameters.word("format", &formats).unwrap_or(Format::Ndjson);
    let (from, until) = (parameters.since(), parameters.before());
    parameters.finish()?;
    let chains = service.engine.ledger().chains(&account.tenant.id).await?;
    let reading = service.readings.begin(&account.tenant.id)?;
    let (sender, pieces) = Pieces::channel();
    tokio::spawn(async move {
        let (begin, end): (&[u8], &[u8]) = match format {
            Format::Ndjson => (b"", b""),
            Format::Xml => (b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Registros>\n", b"</Registros>\n"),
        };
        let mut piece = BytesMut::from(begin);
        for chain in chains {
            let mut position = match first_since(&service, &chain, from).await {
                Ok(position) => position,
                Err(error) => {
                    return tracing::error!(error = &error as &dyn std::error::Error, "export broke off");
                }
            };
            loop {
                let rows = match service.engine.ledger().records(chain.id, position, CHUNK).await {
                    Ok(rows) => rows,
                    Err(error) => {
                        return tracing::error!(error = &error as &dyn std::error::Error, "export broke off");
                    }
                };
                let Some(last) = rows.last() else { break };
                position = last.position + 1;
                let ends = until.is_some_and(|until| last.generated_at.instant() >= until);
                let within = |row: &&RecordRow| until.is_none_or(|until| row.generated_at.instant() < until);
                for row in rows.iter().take_while(within) {
                    write(&mut piece, row, format);
                }
                if !piece.is_empty() && !sender.send(piece.split().freeze()).await {
                    return;
                }
                if ends {
                    break;
                }
            }
        }
        piece.put_slice(end);
        if piece.is_empty() || sender.send(piece.freeze()).await {
            // Before the caller is told the end, who then may begin another.
            drop(reading);
            sender.finish().await;
        }
    });
    let kind = match format {
        Format::Ndjson => "application/x-ndjson",
        Format::Xml => "application/xml",
    };
    Ok(Reply::streamed(kind, pieces))
}

/// The position of a chain's first record that was generated at this time or later; behind the last
/// one, if there is none.
async fn first_since(
    service: &Service,
    chain: &ChainState,
    from: Option<Timestamp>,
) -> Result<u64, LedgerError> {
    let Some(from) = from else { return Ok(1) };
    let (mut low, mut high) = (1, chain.length + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        let rows = service.engine.ledger().records(chain.id, middle, 1).await?;
        match rows.first() {
            Some(row) if row.generated_at.instant() < from => low = middle + 1,
            _ => high = middle,
        }
    }
    Ok(low)
}

fn write(out: &mut BytesMut, row: &RecordRow, format: Format) {
    let bytes = bytes_of(row);
    match format {
        Format::Xml => out.put_slice(&bytes),
        Format::Ndjson => {
            let line = ExportedRecord {
                id: row.id,
                chain_id: row.chain,
                posicion: row.position,
                tipo: view::record_type(row.kind),
                nif_emisor: row.invoice.issuer,
                num_serie: row.invoice.number.clone(),
                fecha: row.invoice.date,
                fecha_hora_huso_gen_registro: row.generated_at.to_string(),
                huella: row.huella,
                huella_anterior: row.previous,
                xml: String::from_utf8_lossy(&bytes).into_owned(),
            };
            out.put_slice(serde_json::to_string(&line).unwrap_or_default().as_bytes());
        }
    }
    out.put_slice(b"\n");
}
