//! What the authority remembers: the current state of every invoice, and a log of every
//! registration that is only ever appended to.
//!
//! A submission is one transaction, committed to stable storage before its answer is composed: a
//! client that lost the answer finds what was registered, also after the sandbox was killed.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{
    Connection, OptionalExtension, Row, Statement, ToSql, Transaction, TransactionBehavior, params,
};
use serde::Serialize;

use super::SandboxError;
use super::record::{InvoiceKey, Operation, SystemKey};

const SCHEMA_VERSION: i64 = 2;
const SCHEMA: &str = "
CREATE TABLE request (
    id INTEGER PRIMARY KEY AUTOINCREMENT
) STRICT;
CREATE TABLE registration (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    presenter TEXT NOT NULL,
    issuer TEXT NOT NULL,
    number TEXT NOT NULL,
    issued TEXT NOT NULL,
    operation TEXT NOT NULL,
    state TEXT NOT NULL,
    code INTEGER,
    huella TEXT NOT NULL,
    csv TEXT NOT NULL,
    id_peticion TEXT NOT NULL
) STRICT;
CREATE INDEX registration_issuer ON registration (issuer, seq);
CREATE TABLE remission (
    reference TEXT NOT NULL,
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    presenter TEXT NOT NULL,
    issuer TEXT NOT NULL,
    number TEXT NOT NULL,
    issued TEXT NOT NULL,
    operation TEXT NOT NULL,
    state TEXT NOT NULL,
    code INTEGER,
    huella TEXT NOT NULL,
    csv TEXT NOT NULL,
    id_peticion TEXT NOT NULL
) STRICT;
CREATE INDEX remission_reference ON remission (reference, seq);
CREATE TABLE invoice (
    issuer TEXT NOT NULL,
    number TEXT NOT NULL,
    issued TEXT NOT NULL,
    state TEXT NOT NULL,
    code INTEGER,
    description TEXT,
    huella TEXT NOT NULL,
    reference TEXT,
    period TEXT NOT NULL,
    day TEXT NOT NULL,
    alta TEXT,
    anulacion TEXT,
    header TEXT NOT NULL,
    presenter TEXT NOT NULL,
    presented_at TEXT NOT NULL,
    id_peticion TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (issuer, number, issued)
) STRICT, WITHOUT ROWID;
CREATE INDEX invoice_period ON invoice (period, seq);
CREATE TABLE system (
    issuer TEXT NOT NULL,
    producer TEXT NOT NULL,
    system TEXT NOT NULL,
    installation TEXT NOT NULL,
    PRIMARY KEY (issuer, producer, system, installation)
) STRICT, WITHOUT ROWID;
";

/// The state of an invoice that the authority holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum InvoiceState {
    /// Registered without errors.
    Correcta,
    /// Registered with an admissible error.
    AceptadaConErrores,
    /// Annulled.
    Anulada,
}

impl InvoiceState {
    /// AEAT's word in `EstadoRegistroDuplicado`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Correcta => "Correcta",
            Self::AceptadaConErrores => "AceptadaConErrores",
            Self::Anulada => "Anulada",
        }
    }

    /// AEAT's word in the answer to a query, which bends the words the other way.
    pub(crate) fn in_query(self) -> &'static str {
        match self {
            Self::Correcta => "Correcto",
            Self::AceptadaConErrores => "AceptadoConErrores",
            Self::Anulada => "Anulado",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Correcta, Self::AceptadaConErrores, Self::Anulada]
            .into_iter()
            .find(|state| state.as_str() == text)
    }
}

/// One invoice as the authority holds it now.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Invoice {
    /// Issuer, number and date.
    #[serde(flatten)]
    pub key: InvoiceKey,
    /// Its state.
    pub state: InvoiceState,
    /// The admissible error of the record held, if any.
    pub code: Option<u16>,
    /// The error's text.
    pub description: Option<String>,
    /// Huella of the record held.
    pub huella: String,
    /// `RefExterna` of the record held.
    pub reference: Option<String>,
    /// Year and month it is filed under, `YYYY-MM`.
    pub period: String,
    /// The alta held, as XML.
    pub alta: Option<String>,
    /// The anulación held, as XML.
    pub anulacion: Option<String>,
    /// The header of the submission, as XML.
    pub header: String,
    /// NIF of who presented it.
    pub presenter: String,
    /// When, with the offset of Madrid.
    pub presented_at: String,
    /// The submission's identifier.
    pub id_peticion: String,
    /// The registration that gave it this state.
    pub seq: i64,
}

/// One line of the log: a record that was accepted.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Registration {
    /// Position in the log.
    pub seq: i64,
    /// When, with the offset of Madrid.
    pub at: String,
    /// NIF of who presented it.
    pub presenter: String,
    /// Issuer, number and date.
    #[serde(flatten)]
    pub key: InvoiceKey,
    /// Alta or anulación.
    pub operation: Operation,
    /// The state it gave the invoice.
    pub state: InvoiceState,
    /// The admissible error, if any.
    pub code: Option<u16>,
    /// Huella as received.
    pub huella: String,
    /// CSV of the submission.
    pub csv: String,
    /// The submission's identifier.
    pub id_peticion: String,
}

/// The database. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Store(Arc<Mutex<Connection>>);

impl Store {
    /// The file `sandbox.db` in `directory`, or a store in memory.
    pub(crate) fn open(directory: Option<&Path>) -> Result<Self, SandboxError> {
        let connection = match directory {
            None => Connection::open_in_memory()?,
            Some(directory) => {
                std::fs::create_dir_all(directory).map_err(SandboxError::file(directory))?;
                Connection::open(directory.join("sandbox.db"))?
            }
        };
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.busy_timeout(std::time::Duration::from_secs(5))?;
        let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        match found {
            0 => {
                let batch = format!("BEGIN;{SCHEMA}PRAGMA user_version = {SCHEMA_VERSION};COMMIT;");
                connection.execute_batch(&batch)?;
            }
            SCHEMA_VERSION => {}
            found => {
                return Err(SandboxError::StoreVersion { found, known: SCHEMA_VERSION });
            }
        }
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    /// Runs `work` on a thread that may block, in one transaction: committed when `work` says so.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Book<'_>) -> Result<Verdict<T>, SandboxError> + Send + 'static,
    ) -> Result<T, SandboxError> {
        let store = self.clone();
        let task = tokio::task::spawn_blocking(move || {
            let mut connection = store.lock();
            let book = Book(connection.transaction_with_behavior(TransactionBehavior::Immediate)?);
            match work(&book)? {
                Verdict::Keep(value) => {
                    book.0.commit()?;
                    Ok(value)
                }
                Verdict::Discard(value) => {
                    book.0.rollback()?;
                    Ok(value)
                }
            }
        });
        task.await.map_err(|_| SandboxError::Interrupted)?
    }

    /// Runs `work` on a thread that may block; what it would write is discarded.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Book<'_>) -> Result<T, SandboxError> + Send + 'static,
    ) -> Result<T, SandboxError> {
        self.write(|book| work(book).map(Verdict::Discard)).await
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a transaction's writes stay.
pub(crate) enum Verdict<T> {
    Keep(T),
    Discard(T),
}

/// The store within a transaction.
pub(crate) struct Book<'c>(Transaction<'c>);

impl Book<'_> {
    /// A number no other stored submission has.
    pub(crate) fn next_request(&self) -> Result<i64, SandboxError> {
        self.0.execute("INSERT INTO request DEFAULT VALUES", [])?;
        Ok(self.0.last_insert_rowid())
    }

    pub(crate) fn invoice(&self, key: &InvoiceKey) -> Result<Option<Invoice>, SandboxError> {
        let mut statement = self
            .0
            .prepare_cached("SELECT * FROM invoice WHERE issuer = ?1 AND number = ?2 AND issued = ?3")?;
        let row =
            statement.query_row(params![key.issuer, key.number, key.issued], read_invoice).optional()?;
        Ok(row)
    }

    pub(crate) fn system_has_records(&self, issuer: &str, system: &SystemKey) -> Result<bool, SandboxError> {
        let mut statement = self.0.prepare_cached(
            "SELECT 1 FROM system
             WHERE issuer = ?1 AND producer = ?2 AND system = ?3 AND installation = ?4",
        )?;
        Ok(statement.exists(params![issuer, system.producer, system.system, system.installation])?)
    }

    /// Appends to the log; the position goes into the invoice's row.
    pub(crate) fn append(&self, entry: &Registration) -> Result<i64, SandboxError> {
        let mut statement = self.0.prepare_cached(
            "INSERT INTO registration (at, presenter, issuer, number, issued, operation, state,
                 code, huella, csv, id_peticion)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?;
        insert(&mut statement, entry, &[])?;
        Ok(self.0.last_insert_rowid())
    }

    /// Keeps a record that answers a requirement.
    pub(crate) fn remit(&self, reference: &str, entry: &Registration) -> Result<(), SandboxError> {
        let mut statement = self.0.prepare_cached(
            "INSERT INTO remission (at, presenter, issuer, number, issued, operation, state,
                 code, huella, csv, id_peticion, reference)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?;
        insert(&mut statement, entry, &[&reference])
    }

    /// What answered a requirement, oldest first.
    pub(crate) fn remissions(&self, reference: &str) -> Result<Vec<Registration>, SandboxError> {
        let mut statement =
            self.0.prepare_cached("SELECT * FROM remission WHERE reference = ?1 ORDER BY seq")?;
        let rows = statement.query_map([reference], read_registration)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Puts the invoice's state in the place of the one before. `day` is its date of issue,
    /// `YYYY-MM-DD`.
    pub(crate) fn put(&self, invoice: &Invoice, day: &str, system: &SystemKey) -> Result<(), SandboxError> {
        let mut statement = self.0.prepare_cached(
            "INSERT OR REPLACE INTO invoice (issuer, number, issued, state, code, description,
                 huella, reference, period, day, alta, anulacion, header, presenter, presented_at,
                 id_peticion, seq)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        )?;
        statement.execute(params![
            invoice.key.issuer,
            invoice.key.number,
            invoice.key.issued,
            invoice.state.as_str(),
            invoice.code,
            invoice.description,
            invoice.huella,
            invoice.reference,
            invoice.period,
            day,
            invoice.alta,
            invoice.anulacion,
            invoice.header,
            invoice.presenter,
            invoice.presented_at,
            invoice.id_peticion,
            invoice.seq,
        ])?;
        let mut statement = self.0.prepare_cached("INSERT OR IGNORE INTO system VALUES (?1, ?2, ?3, ?4)")?;
        statement.execute(params![
            invoice.key.issuer,
            system.producer,
            system.system,
            system.installation
        ])?;
        Ok(())
    }

    /// Offers the invoices of a selection to `keep`, last registered first, until it has had
    /// enough.
    pub(crate) fn select(
        &self,
        selection: &Selection,
        mut keep: impl FnMut(Invoice) -> Further,
    ) -> Result<(), SandboxError> {
        let mut statement = self.0.prepare_cached(
            "SELECT * FROM invoice
             WHERE (?1 IS NULL OR period = ?1)
               AND (?2 IS NULL OR issuer = ?2)
               AND (?3 IS NULL OR number = ?3)
               AND (?4 IS NULL OR day >= ?4)
               AND (?5 IS NULL OR day <= ?5)
               AND (?6 IS NULL OR reference = ?6)
               AND (?7 IS NULL OR seq < ?7)
             ORDER BY seq DESC",
        )?;
        let mut rows = statement.query(params![
            selection.period,
            selection.issuer,
            selection.number,
            selection.from_day,
            selection.to_day,
            selection.reference,
            selection.before,
        ])?;
        while let Some(row) = rows.next()? {
            if let Further::Stop = keep(read_invoice(row)?) {
                break;
            }
        }
        Ok(())
    }

    /// The log, oldest first; of one issuer if given.
    pub(crate) fn registrations(&self, issuer: Option<&str>) -> Result<Vec<Registration>, SandboxError> {
        let mut statement = self
            .0
            .prepare_cached("SELECT * FROM registration WHERE ?1 IS NULL OR issuer = ?1 ORDER BY seq")?;
        let rows = statement.query_map([issuer], read_registration)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// Which invoices; a part that is `None` selects all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    pub(crate) period: Option<String>,
    pub(crate) issuer: Option<String>,
    pub(crate) number: Option<String>,
    pub(crate) from_day: Option<String>,
    pub(crate) to_day: Option<String>,
    pub(crate) reference: Option<String>,
    pub(crate) before: Option<i64>,
}

/// Whether a reader wants more rows.
pub(crate) enum Further {
    Go,
    Stop,
}

/// Runs an `INSERT` with the values of an entry, and those that follow them.
fn insert(
    statement: &mut Statement<'_>,
    entry: &Registration,
    rest: &[&dyn ToSql],
) -> Result<(), SandboxError> {
    let own: [&dyn ToSql; 11] = [
        &entry.at,
        &entry.presenter,
        &entry.key.issuer,
        &entry.key.number,
        &entry.key.issued,
        &entry.operation.as_str(),
        &entry.state.as_str(),
        &entry.code,
        &entry.huella,
        &entry.csv,
        &entry.id_peticion,
    ];
    statement.execute(&*[&own, rest].concat())?;
    Ok(())
}

fn read_key(row: &Row<'_>) -> rusqlite::Result<InvoiceKey> {
    Ok(InvoiceKey { issuer: row.get("issuer")?, number: row.get("number")?, issued: row.get("issued")? })
}

fn read_state(row: &Row<'_>) -> rusqlite::Result<InvoiceState> {
    InvoiceState::parse(row.get_ref("state")?.as_str()?).ok_or(rusqlite::Error::InvalidQuery)
}

fn read_invoice(row: &Row<'_>) -> rusqlite::Result<Invoice> {
    Ok(Invoice {
        key: read_key(row)?,
        state: read_state(row)?,
        code: row.get("code")?,
        description: row.get("description")?,
        huella: row.get("huella")?,
        reference: row.get("reference")?,
        period: row.get("period")?,
        alta: row.get("alta")?,
        anulacion: row.get("anulacion")?,
        header: row.get("header")?,
        presenter: row.get("presenter")?,
        presented_at: row.get("presented_at")?,
        id_peticion: row.get("id_peticion")?,
        seq: row.get("seq")?,
    })
}

fn read_registration(row: &Row<'_>) -> rusqlite::Result<Registration> {
    let operation = match row.get_ref("operation")?.as_str()? {
        "Alta" => Operation::Alta,
        "Anulacion" => Operation::Anulacion,
        _ => return Err(rusqlite::Error::InvalidQuery),
    };
    Ok(Registration {
        seq: row.get("seq")?,
        at: row.get("at")?,
        presenter: row.get("presenter")?,
        key: read_key(row)?,
        operation,
        state: read_state(row)?,
        code: row.get("code")?,
        huella: row.get("huella")?,
        csv: row.get("csv")?,
        id_peticion: row.get("id_peticion")?,
    })
}
