//! The raw engine: SQLite by itself, which writes the rows of accepted invoices with the service's own
//! pragmas, for callers who wait for the flush. One thread takes what waits into one transaction, as many
//! as the ledger does.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use rusqlite::{Connection, params, params_from_iter, types::Value};
use sha2::{Digest as _, Sha256};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};

/// The most appends that share a transaction in the ledger.
pub(crate) const GROUP: usize = 64;

/// A ledger's file, with rows to write more of.
pub(crate) struct Raw {
    pub(crate) connection: Connection,
    pub(crate) chains: Vec<Chain>,
    statements: Statements,
}

/// A chain's head, and the rows of its last record.
#[derive(Clone)]
pub(crate) struct Chain {
    pub(crate) seq: i64,
    pub(crate) tenant: Value,
    pub(crate) length: i64,
    pub(crate) huella: String,
    pub(crate) record: Row,
    pub(crate) job: Row,
    pub(crate) idempotency: Row,
}

/// A row by its columns.
#[derive(Clone)]
pub(crate) struct Row {
    columns: Vec<String>,
    values: Vec<Value>,
}

struct Statements {
    record: String,
    job: String,
    idempotency: String,
}

impl Raw {
    /// Opens a ledger that no service has open.
    pub(crate) fn open(path: &Path) -> Self {
        let connection = Connection::open(path).unwrap();
        for (name, value) in [("synchronous", "FULL"), ("foreign_keys", "ON"), ("cell_size_check", "ON")] {
            connection.pragma_update(None, name, value).unwrap();
        }
        connection.pragma_update(None, "cache_size", -65_536).unwrap();
        connection.pragma_update(None, "wal_autocheckpoint", 8000).unwrap();
        connection.pragma_update(None, "journal_size_limit", 64 << 20).unwrap();
        let chains = Self::chains(&connection);
        let statements = Statements {
            record: chains[0].record.insert("record"),
            job: chains[0].job.insert("job"),
            idempotency: chains[0].idempotency.insert("idempotency"),
        };
        Self { connection, chains, statements }
    }

    fn chains(connection: &Connection) -> Vec<Chain> {
        let mut query = connection.prepare("SELECT seq, tenant, length, last_huella FROM chain").unwrap();
        let heads = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)));
        let heads: Vec<(i64, Value, i64, String)> = heads.unwrap().map(Result::unwrap).collect();
        let of = |(seq, tenant, length, huella)| {
            let place = "SELECT seq FROM record WHERE chain = ?1 AND position = ?2";
            let last: i64 = connection.query_row(place, params![seq, length], |row| row.get(0)).unwrap();
            Chain {
                seq,
                tenant,
                length,
                huella,
                record: Row::read(connection, "SELECT * FROM record WHERE seq = ?1", last),
                job: Row::read(connection, "SELECT * FROM job WHERE seq = ?1", last),
                idempotency: Row::read(connection, "SELECT * FROM idempotency WHERE job = ?1", last),
            }
        };
        heads.into_iter().map(of).collect()
    }

    /// Writes the rows of one more record on a chain.
    pub(crate) fn append(&mut self, chain: usize, number: &str) {
        let chain = &mut self.chains[chain];
        let execute = |sql: &str, values: &[Value]| {
            let mut statement = self.connection.prepare_cached(sql).unwrap();
            statement.execute(params_from_iter(values)).unwrap();
        };
        let huella = Sha256::digest(format!("{} {number}", chain.seq));
        let huella: String = huella.iter().map(|byte| format!("{byte:02X}")).collect();
        chain.length += 1;
        let record = chain.record.next_id("id");
        for (column, value) in [
            ("seq", Value::Null),
            ("id", record),
            ("position", Value::Integer(chain.length)),
            ("number", Value::Text(number.to_owned())),
            ("previous", Value::Text(std::mem::replace(&mut chain.huella, huella.clone()))),
            ("huella", Value::Text(huella)),
        ] {
            chain.record.set(column, value);
        }
        execute(&self.statements.record, &chain.record.values);
        let seq = self.connection.last_insert_rowid();
        for (column, value) in [
            ("seq", Value::Integer(seq)),
            ("id", chain.job.next_id("id")),
            ("number", Value::Text(number.to_owned())),
            ("request", chain.job.next_id("request")),
            ("position", Value::Integer(chain.length)),
            ("created_at", chain.job.later("created_at")),
            ("updated_at", chain.job.later("updated_at")),
        ] {
            chain.job.set(column, value);
        }
        execute(&self.statements.job, &chain.job.values);
        chain.idempotency.set("key", Value::Text(format!("key of {number}")));
        chain.idempotency.set("job", Value::Integer(seq));
        execute(&self.statements.idempotency, &chain.idempotency.values);
        let tenant = std::slice::from_ref(&chain.tenant);
        execute("UPDATE usage SET invoices = invoices + 1 WHERE tenant = ?1", tenant);
        execute("UPDATE turnover SET invoices = invoices + 1, base = base + 1 WHERE tenant = ?1", tenant);
        let mut head = self.connection.prepare_cached(
            "UPDATE chain SET length = ?2, last_huella = ?3, last_number = ?4, pending = pending + 1, \
             updated_at = ?5 WHERE seq = ?1",
        );
        let head = head.as_mut().unwrap();
        head.execute(params![chain.seq, chain.length, chain.huella, number, chain.job.value("updated_at")])
            .unwrap();
    }

    /// Appends per second, for so many callers.
    pub(crate) async fn load(mut self, callers: usize, time: Duration, run: u32) -> f64 {
        let began = Instant::now();
        let (calls, mut waiting) = mpsc::channel::<(String, oneshot::Sender<()>)>(1024);
        let writer = std::thread::spawn(move || {
            let mut turn = 0;
            while let Some(first) = waiting.blocking_recv() {
                let mut group = vec![first];
                while group.len() < GROUP
                    && let Ok(next) = waiting.try_recv()
                {
                    group.push(next);
                }
                self.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
                for (number, _) in &group {
                    turn += 1;
                    self.append(turn % self.chains.len(), number);
                }
                self.connection.execute_batch("COMMIT").unwrap();
                for (_, answer) in group {
                    let _ = answer.send(());
                }
            }
        });
        let mut tasks = JoinSet::new();
        for caller in 0..callers {
            let calls = calls.clone();
            tasks.spawn(async move {
                let mut written = 0_usize;
                while began.elapsed() < time {
                    let (answer, answered) = oneshot::channel();
                    calls.send((format!("raw-{run}-{caller}-{written}"), answer)).await.unwrap();
                    answered.await.unwrap();
                    written += 1;
                }
                written
            });
        }
        drop(calls);
        let written: usize = tasks.join_all().await.into_iter().sum();
        let rate = written as f64 / began.elapsed().as_secs_f64();
        writer.join().unwrap();
        rate
    }
}

impl Row {
    pub(crate) fn read(connection: &Connection, sql: &str, key: i64) -> Self {
        let mut query = connection.prepare(sql).unwrap();
        let columns: Vec<String> = query.column_names().map(str::to_owned).collect();
        let values = query.query_row([key], |row| (0..columns.len()).map(|at| row.get(at)).collect());
        Self { values: values.unwrap(), columns }
    }

    pub(crate) fn insert(&self, table: &str) -> String {
        let places = vec!["?"; self.columns.len()].join(", ");
        format!("INSERT INTO {table} ({}) VALUES ({places})", self.columns.join(", "))
    }

    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }

    fn at(&self, column: &str) -> usize {
        self.columns.iter().position(|known| known == column).unwrap()
    }

    pub(crate) fn value(&self, column: &str) -> &Value {
        &self.values[self.at(column)]
    }

    pub(crate) fn set(&mut self, column: &str, value: Value) {
        let at = self.at(column);
        self.values[at] = value;
    }

    /// The identifier after this row's, as those rise with time.
    pub(crate) fn next_id(&self, column: &str) -> Value {
        let Value::Blob(id) = self.value(column) else { panic!("{column} is no identifier") };
        let id = u128::from_be_bytes(id.as_slice().try_into().unwrap()) + (1 << 64);
        Value::Blob(id.to_be_bytes().to_vec())
    }

    fn later(&self, column: &str) -> Value {
        let Value::Integer(time) = self.value(column) else { panic!("{column} is no time") };
        Value::Integer(time + 1)
    }
}
