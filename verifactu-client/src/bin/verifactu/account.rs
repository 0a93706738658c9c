//! What the account has at the service: its records, their export, and its plan.

use std::{
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde_json::json;
use verifactu_client::{
    Client,
    api::{ExportFilter, InvoiceRecord, Moment, RecordFilter, RecordState, RecordType, Timestamp},
    types::{Date, InvoiceNumber, Nif},
};

use crate::{
    failure::{End, Failure},
    output::{Output, listed, value},
};

/// A span of time.
#[derive(Args)]
pub(crate) struct Span {
    /// From this day in Madrid, such as 2026-01-31, or this time, such as 2026-01-31T09:00:00Z.
    #[arg(long, value_name = "DAY", value_parser = moment)]
    from: Option<Moment>,
    /// To the end of this day, or to this time.
    #[arg(long, value_name = "DAY", value_parser = moment)]
    to: Option<Moment>,
}

fn moment(text: &str) -> Result<Moment, String> {
    if let Ok(day) = Date::parse(text) {
        return Ok(day.into());
    }
    let instant: Result<jiff::Timestamp, _> = text.parse();
    instant.map(|instant| Timestamp(instant).into()).map_err(|error| error.to_string())
}

#[derive(Args)]
pub(crate) struct Records {
    #[command(flatten)]
    span: Span,
    /// The issuer.
    #[arg(long, value_parser = Nif::parse)]
    nif: Option<Nif>,
    /// How the number begins.
    #[arg(long, value_parser = InvoiceNumber::parse)]
    series: Option<InvoiceNumber>,
    #[arg(long = "type", value_enum)]
    kind: Option<Kind>,
    /// What the authority holds of it.
    #[arg(long, value_enum)]
    state: Option<State>,
    /// Most rows.
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Alta,
    Anulacion,
}

#[derive(Clone, Copy, ValueEnum)]
enum State {
    Pendiente,
    EnDuda,
    Correcto,
    AceptadoConErrores,
    Incorrecto,
}

impl Records {
    pub(crate) async fn run(&self, client: &Client, output: Output) -> Result<End, Failure> {
        let filter = RecordFilter {
            from: self.span.from,
            to: self.span.to,
            serie: self.series.clone(),
            tipo: self.kind.map(|kind| match kind {
                Kind::Alta => RecordType::Alta,
                Kind::Anulacion => RecordType::Anulacion,
            }),
            nif: self.nif,
            estado: self.state.map(|state| match state {
                State::Pendiente => RecordState::Pendiente,
                State::EnDuda => RecordState::EnDuda,
                State::Correcto => RecordState::Correcto,
                State::AceptadoConErrores => RecordState::AceptadoConErrores,
                State::Incorrecto => RecordState::Incorrecto,
            }),
        };
        let mut rows = std::pin::pin!(client.invoice_records(&filter).rows().take(self.limit));
        while let Some(record) = rows.try_next().await? {
            output.print(&line(&record), &value(&record)?)?;
        }
        Ok(End::Well)
    }
}

/// The line of a record: state, date, number, receipt, identifier.
fn line(record: &InvoiceRecord) -> String {
    let state = value(&record.estado).ok().and_then(|state| state.as_str().map(str::to_owned));
    format!(
        "{:<20} {} {} {} {} {}",
        state.unwrap_or_default(),
        record.fecha,
        record.nif_emisor,
        record.num_serie,
        record.csv.as_deref().unwrap_or("-"),
        record.id,
    )
}

pub(crate) async fn plan(client: &Client, output: Output) -> Result<End, Failure> {
    let plan = value(&client.plan().await?)?;
    output.print(&listed(&plan), &plan)?;
    Ok(End::Well)
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Ndjson,
    Xml,
}

#[derive(Args)]
pub(crate) struct Export {
    #[command(flatten)]
    span: Span,
    #[arg(long, value_enum, default_value = "ndjson")]
    format: Format,
    /// Where to write it. It appears there once it is whole.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl Export {
    pub(crate) async fn run(&self, client: &Client, output: Output) -> Result<End, Failure> {
        let filter = ExportFilter { from: self.span.from, to: self.span.to };
        let mut part = self.out.clone().into_os_string();
        part.push(".part");
        let part = PathBuf::from(part);
        let written = self.write(client, &filter, &part).await;
        let kept =
            written.and_then(|()| std::fs::rename(&part, &self.out).map_err(|error| at(&self.out, error)));
        if let Err(failure) = kept {
            // What is left of it is of no use, and the first failure is the one to tell.
            let _ = std::fs::remove_file(&part);
            return Err(failure);
        }
        output.print(&self.out.display().to_string(), &json!({"file": self.out}))?;
        Ok(End::Well)
    }

    async fn write(&self, client: &Client, filter: &ExportFilter, part: &Path) -> Result<(), Failure> {
        let mut file = File::create(part).map_err(|error| at(part, error))?;
        match self.format {
            Format::Ndjson => {
                let mut records = std::pin::pin!(client.export(filter).await?);
                while let Some(record) = records.try_next().await? {
                    writeln!(file, "{}", value(&record)?).map_err(|error| at(part, error))?;
                }
            }
            Format::Xml => {
                let mut pieces = std::pin::pin!(client.export_xml(filter).await?);
                while let Some(piece) = pieces.try_next().await? {
                    file.write_all(&piece).map_err(|error| at(part, error))?;
                }
            }
        }
        file.sync_all().map_err(|error| at(part, error))
    }
}

fn at(path: &Path, source: std::io::Error) -> Failure {
    Failure::File { path: path.to_owned(), source }
}
