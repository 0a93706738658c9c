//! The invoices of the demonstration: one JSON file each, with what is to come of it.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use verifactu_core::{
    api::{Defaults, JobStatus, JobType, Json, SendRequest},
    chain,
    record::Statement,
    types::{Date, Huella},
};

/// One file.
pub(super) struct InvoiceFile {
    /// Its name without extension; also the idempotency key, so that a second run replays.
    pub(super) name: String,
    pub(super) title: String,
    /// Series and number of the invoice.
    pub(super) number: String,
    pub(super) task: Task,
}

/// What is done with it.
pub(super) enum Task {
    /// Sent to the service.
    Submit { kind: JobType, body: Value, expected: JobStatus },
    /// Computed through the core with its own predecessor; neither chained nor sent.
    Compute { huella: Huella, expected: Huella },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    title: String,
    send: Option<Value>,
    cancel: Option<Value>,
    record: Option<Value>,
    expect: Expect,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Expect {
    State { state: JobStatus },
    Offline { mode: Mode, huella: Huella },
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Offline,
}

/// A file of the demonstration cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvoiceFileError {
    /// The directory or a file cannot be read.
    #[error("{}: cannot be read; name the directory with --invoices", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// No file ends in `.json`.
    #[error("{}: holds no .json file", .0.display())]
    Empty(PathBuf),
    /// Not the JSON of an invoice file.
    #[error("{}: not an invoice file", path.display())]
    Json {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// It names no task, or one that does not go with its expectation, or an invalid record.
    #[error("{}: {problem}", path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

impl InvoiceFile {
    /// Every `.json` file of a directory, in the order of the names.
    pub(super) fn read_all(directory: &Path) -> Result<Vec<Self>, InvoiceFileError> {
        let unreadable = |source| InvoiceFileError::Read { path: directory.to_owned(), source };
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(directory).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                paths.push(path);
            }
        }
        if paths.is_empty() {
            return Err(InvoiceFileError::Empty(directory.to_owned()));
        }
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    fn read(path: &Path) -> Result<Self, InvoiceFileError> {
        let bytes =
            std::fs::read(path).map_err(|source| InvoiceFileError::Read { path: path.to_owned(), source })?;
        let content: Content = serde_json::from_slice(&bytes)
            .map_err(|source| InvoiceFileError::Json { path: path.to_owned(), source })?;
        let problem = |problem: String| InvoiceFileError::Content { path: path.to_owned(), problem };
        let number = [&content.send, &content.cancel, &content.record]
            .into_iter()
            .flatten()
            .find_map(|body| body.get("numSerie")?.as_str())
            .unwrap_or_default()
            .to_owned();
        let task = match content {
            Content {
                send: Some(body), cancel: None, record: None, expect: Expect::State { state }, ..
            } => Task::Submit { kind: JobType::SendInvoice, body, expected: state },
            Content {
                send: None, cancel: Some(body), record: None, expect: Expect::State { state }, ..
            } => Task::Submit { kind: JobType::CancelInvoice, body, expected: state },
            Content {
                send: None,
                cancel: None,
                record: Some(body),
                expect: Expect::Offline { mode: Mode::Offline, huella: expected },
                ..
            } => Task::Compute { huella: compute(&body).map_err(problem)?, expected },
            _ => {
                let wanted = "one of send, cancel (with a state) or record (with mode offline and a huella)";
                return Err(problem(format!("wanted is {wanted}")));
            }
        };
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { name, title: content.title, number, task })
    }
}

/// The huella of a sealed record, from its own fields.
fn compute(body: &Value) -> Result<Huella, String> {
    let json = Json::parse(body.to_string().as_bytes()).map_err(|error| error.to_string())?;
    let issued = body.get("fecha").and_then(Value::as_str).unwrap_or_default();
    let today = Date::parse(issued).map_err(|error| error.to_string())?;
    let request = SendRequest::read(&json, &Defaults { issuer_name: None, today, demoted: &[] })
        .map_err(|details| format!("{details:?}"))?;
    let stamp = request.stamp.ok_or("the record has no time")?;
    let statement = Statement::Invoice(Box::new(request.invoice));
    Ok(chain::huella(&statement, request.chain.previous.as_ref(), &stamp.generated_at))
}
