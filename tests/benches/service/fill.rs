//! Ledgers of a size, written by rows: more of what the service has written of its own.

use std::path::Path;

use aws_lc_rs::hmac;
use rusqlite::{params, params_from_iter, types::Value};

use crate::{
    raw::{Raw, Row},
    service::{Key, PEPPER},
};

/// Chains of each account of the crowd.
pub(crate) const CHAINS: u64 = 10;
/// Rows of a transaction.
const AT_ONCE: u64 = 20_000;

/// A ledger without flushes, which nobody relies on while it is filled.
fn open(ledger: &Path) -> Raw {
    let raw = Raw::open(ledger);
    raw.connection.pragma_update(None, "synchronous", "OFF").unwrap();
    raw.connection.pragma_update(None, "cache_size", -2_097_152).unwrap();
    raw
}

/// Brings the ledger to so many records; the new ones are settled.
pub(crate) fn fill(ledger: &Path, records: u64) {
    let mut raw = open(ledger);
    let number = |sql: &str| -> i64 { raw.connection.query_row(sql, [], |row| row.get(0)).unwrap() };
    let had = u64::try_from(number("SELECT count(*) FROM record")).unwrap();
    let now = Value::Integer(number("SELECT max(created_at) FROM job"));
    for chain in &mut raw.chains {
        for (column, value) in [
            ("state", Value::Text("succeeded".into())),
            ("standing", Value::Text("accepted".into())),
            ("turn", Value::Null),
            ("due_at", Value::Null),
            ("completed_at", now.clone()),
        ] {
            chain.job.set(column, value);
        }
    }
    let mut number = had;
    while number < records {
        raw.connection.execute_batch("BEGIN").unwrap();
        for _ in 0..AT_ONCE.min(records - number) {
            number += 1;
            let chain = usize::try_from(number).unwrap() % raw.chains.len();
            raw.append(chain, &format!("filled-{number}"));
        }
        raw.connection.execute_batch("COMMIT").unwrap();
    }
    raw.connection
        .execute_batch(
            "UPDATE chain SET pending = \
             (SELECT count(*) FROM job WHERE job.chain = chain.seq AND turn IN ('first', 'barrier')); \
             PRAGMA wal_checkpoint(TRUNCATE);",
        )
        .unwrap();
}

/// Brings the ledger to so many accounts, each with a key and with [`CHAINS`] chains on which a record
/// waits.
pub(crate) fn crowd(ledger: &Path, tenants: u64) -> Vec<Key> {
    let raw = open(ledger);
    let connection = &raw.connection;
    let seq: i64 = connection.query_row("SELECT min(seq) FROM chain", [], |row| row.get(0)).unwrap();
    let mut chain = Row::read(connection, "SELECT * FROM chain WHERE seq = ?1", seq);
    let of_tenant = "WHERE tenant = (SELECT tenant FROM chain WHERE seq = ?1)";
    let mut key = Row::read(connection, &format!("SELECT * FROM api_key {of_tenant}"), seq);
    let mut tenant = Row::read(
        connection,
        "SELECT * FROM tenant WHERE id = (SELECT tenant FROM chain WHERE seq = ?1)",
        seq,
    );
    let mut rows = raw.chains[0].clone();
    let insert = |row: &Row, table: &str| {
        let mut statement = connection.prepare_cached(&row.insert(table)).unwrap();
        statement.execute(params_from_iter(row.values())).unwrap();
    };
    let pepper = hmac::Key::new(hmac::HMAC_SHA256, PEPPER.as_bytes());
    let mut keys = Vec::new();
    connection.execute_batch("BEGIN").unwrap();
    for number in 0..tenants {
        let id = Value::Text(format!("crowd-{number:05}"));
        tenant.set("id", id.clone());
        insert(&tenant, "tenant");
        let public = spelled(number);
        let text = format!("vf_{public}{}", "a".repeat(40));
        key.set("id", key.next_id("id"));
        key.set("tenant", id.clone());
        key.set("public", Value::Text(public));
        key.set("hash", Value::Blob(hmac::sign(&pepper, text.as_bytes()).as_ref().to_vec()));
        insert(&key, "api_key");
        let mut issuer = String::new();
        for of_tenant in 0..CHAINS {
            issuer = nif(number * CHAINS + of_tenant);
            let issuer = Value::Text(issuer.clone());
            for (column, value) in [
                ("seq", Value::Null),
                ("id", chain.next_id("id")),
                ("tenant", id.clone()),
                ("issuer", issuer.clone()),
                ("hold", Value::Null),
                ("hold_reason", Value::Null),
                ("length", Value::Integer(1)),
                ("pending", Value::Integer(1)),
                ("last_huella", rows.record.value("huella").clone()),
            ] {
                chain.set(column, value);
            }
            insert(&chain, "chain");
            let seq = Value::Integer(connection.last_insert_rowid());
            for (column, value) in [
                ("seq", Value::Null),
                ("id", rows.record.next_id("id")),
                ("chain", seq.clone()),
                ("position", Value::Integer(1)),
                ("previous", Value::Null),
                ("tenant", id.clone()),
                ("issuer", issuer.clone()),
            ] {
                rows.record.set(column, value);
            }
            insert(&rows.record, "record");
            let record = Value::Integer(connection.last_insert_rowid());
            for (column, value) in [
                ("seq", record.clone()),
                ("id", rows.job.next_id("id")),
                ("chain", seq),
                ("position", Value::Integer(1)),
                ("tenant", id.clone()),
                ("issuer", issuer),
            ] {
                rows.job.set(column, value);
            }
            insert(&rows.job, "job");
            rows.idempotency.set("tenant", id.clone());
            rows.idempotency.set("key", Value::Text(format!("first of {of_tenant}")));
            rows.idempotency.set("job", record);
            insert(&rows.idempotency, "idempotency");
        }
        keys.push(Key { text, issuer });
    }
    connection.execute("DELETE FROM api_key WHERE tenant NOT LIKE 'crowd-%'", params![]).unwrap();
    connection.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE);").unwrap();
    keys
}

/// A number in the letters of keys.
fn spelled(number: u64) -> String {
    (0..16).map(|digit| char::from(b'a' + ((number >> (3 * digit)) & 7) as u8)).collect()
}

/// A NIF of a company, with its check digit.
fn nif(number: u64) -> String {
    let digits = format!("{number:07}");
    let sum: u32 = digits
        .chars()
        .enumerate()
        .map(|(at, digit)| {
            let digit = digit.to_digit(10).unwrap();
            if at % 2 == 0 { digit * 2 / 10 + digit * 2 % 10 } else { digit }
        })
        .sum();
    format!("B{digits}{}", (10 - sum % 10) % 10)
}
