//! What the account has at the service: its records, their export, and its plan; and what the authority
//! has of it.

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
    api::{
        CheckNif, ExportFilter, InvoiceRecord, LookupFilter, Moment, RecordFilter, RecordState, RecordType,
        Timestamp,
    },
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
    /// Records of invoices, or of cancellations.
    #[arg(long = "type", value_name = "TYPE", value_enum)]
    kind: Option<Kind>,
    /// What the authority holds of it.
    #[arg(long, value_enum)]
    state: Option<State>,
    /// Most rows.
    #[arg(long, value_name = "ROWS", default_value_t = 50)]
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
        let mut shown = false;
        while let Some(record) = rows.try_next().await? {
            output.print(&line(&record), &value(&record)?)?;
            shown = true;
        }
        if !shown {
            output.note("no records")?;
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

#[derive(Args)]
#[command(override_usage = "verifactu lookup [OPTIONS] <NIF> <NUMBER> <DATE>
       verifactu lookup [OPTIONS] <NIF> --month <MONTH>")]
pub(crate) struct Lookup {
    /// The issuer.
    #[arg(value_parser = Nif::parse)]
    nif: Nif,
    /// Series and number of one invoice.
    #[arg(requires = "date", required_unless_present = "month", value_parser = InvoiceNumber::parse)]
    number: Option<InvoiceNumber>,
    /// Its date of issue, such as 31-01-2026.
    #[arg(value_parser = Date::parse)]
    date: Option<Date>,
    /// All invoices of a month instead, such as 2026-01.
    #[arg(long, conflicts_with = "number", value_parser = month)]
    month: Option<(u16, u8)>,
    /// Name of the issuer; needed where the account has no record of it.
    #[arg(long)]
    name: Option<String>,
    /// Ask the account's own ledger instead of the authority.
    #[arg(long)]
    ledger: bool,
    /// Most rows.
    #[arg(long, value_name = "ROWS", default_value_t = 50)]
    limit: usize,
}

fn month(text: &str) -> Result<(u16, u8), &'static str> {
    const EXPECTED: &str = "must be a month such as 2026-01";
    let (year, month) = text.split_once('-').ok_or(EXPECTED)?;
    Ok((year.parse().map_err(|_| EXPECTED)?, month.parse().map_err(|_| EXPECTED)?))
}

impl Lookup {
    pub(crate) async fn run(&self, client: &Client, output: Output) -> Result<End, Failure> {
        let filter = match (&self.number, self.date, self.month) {
            (_, _, Some((year, month))) => LookupFilter::month(self.nif, year, month),
            (Some(number), Some(date), None) => LookupFilter::invoice(self.nif, number.clone(), date),
            _ => return Err(Failure::Unset("invoice", "its number and date", "--month")),
        };
        let filter = LookupFilter { nombre: self.name.clone(), ..filter };
        let filter = if self.ledger { filter.in_ledger() } else { filter };
        let mut rows = std::pin::pin!(client.lookup(&filter).rows().take(self.limit));
        let mut end = End::NotWell;
        while let Some(found) = rows.try_next().await? {
            let found = value(&found)?;
            output.print(&listed(&found), &found)?;
            end = End::Well;
        }
        if end == End::NotWell {
            output.note("nothing found")?;
        }
        Ok(end)
    }
}

#[derive(Args)]
pub(crate) struct NifCheck {
    /// The number.
    #[arg(value_parser = Nif::parse)]
    nif: Nif,
    /// The name; a natural person is not identified without.
    name: Option<String>,
}

impl NifCheck {
    pub(crate) async fn run(&self, client: &Client, output: Output) -> Result<End, Failure> {
        let checked = client.verify_nif(&CheckNif { nif: self.nif, nombre: self.name.clone() }).await?;
        let json = value(&checked)?;
        output.print(&listed(&json), &json)?;
        Ok(End::well_if(checked.identificado.into()))
    }
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
    /// One JSON per line, or one XML document.
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
