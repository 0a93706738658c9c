//! Rows as the ledger's types, and the reads that need no more than that.

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{
    job::Progress,
    ledger::{
        Attempt, ChainState, Head, RecordRow, SentMessage, Submission,
        schedule::Turn,
        table::{self, ChainRow, progress_columns, record_columns},
    },
    record::InvoiceId,
    types::{ChainId, JobId, RecordId, TenantId},
};

use super::{
    column::{Cells, Col},
    error::StoreError,
};

/// A query for records with their jobs; the argument is its condition.
macro_rules! item_query {
    ($condition:literal) => {
        concat!(
            "SELECT ",
            $crate::ledger::table::item_columns!(),
            " FROM record r JOIN job j ON j.seq = r.seq JOIN chain c ON c.seq = r.chain \
             LEFT JOIN sent s ON s.record = r.seq WHERE ",
            $condition
        )
    };
}

macro_rules! chain_query {
    ($condition:literal) => {
        concat!("SELECT ", $crate::ledger::table::chain_columns!(), " FROM chain WHERE ", $condition)
    };
}
pub(super) use chain_query;

/// Reads a row of [`chain_query`].
pub(super) fn read_chain(row: &Row<'_>) -> rusqlite::Result<ChainRow> {
    ChainRow::read(&mut Cells::of(row))
}

pub(super) fn chain(store: &Connection, id: ChainId) -> Result<Option<ChainRow>, StoreError> {
    let mut query = store.prepare_cached(chain_query!("id = ?1"))?;
    Ok(query.query_row([Col(&id)], read_chain).optional()?)
}

/// Every record of an invoice with its job, in the order of acceptance.
pub(super) fn history(
    store: &Connection,
    tenant: &TenantId,
    invoice: &InvoiceId,
) -> Result<Vec<Submission>, StoreError> {
    let mut query = store.prepare_cached(item_query!(
        "r.tenant = ?1 AND r.issuer = ?2 AND r.number = ?3 AND r.date = ?4 ORDER BY r.seq"
    ))?;
    let rows = query.query_map(
        params![Col(tenant), Col(&invoice.issuer), Col(&invoice.number), Col(&invoice.date)],
        read_item,
    )?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn chains(store: &Connection, tenant: &TenantId) -> Result<Vec<ChainState>, StoreError> {
    let mut query = store.prepare_cached(chain_query!("tenant = ?1 ORDER BY id"))?;
    let rows = query.query_map([Col(tenant)], |row| read_chain(row).map(|chain| chain.state))?;
    rows.filter_map(|chain| StoreError::unless_damaged(chain.map_err(StoreError::from)).transpose()).collect()
}

/// The last record of a chain. That the chain's own row agrees with it is checked, so that a damaged
/// chain is never taken for a shorter one.
pub(super) fn head(store: &Connection, chain: &ChainRow) -> Result<Option<Head>, StoreError> {
    let mut query = store.prepare_cached(
        "SELECT position, issuer, number, date, huella, generated_at FROM record \
         WHERE chain = ?1 ORDER BY position DESC LIMIT 1",
    )?;
    let head = query.query_row([chain.seq], |row| table::read_head(&mut Cells::of(row))).optional()?;
    if chain.ends_with(head.as_ref()) {
        Ok(head)
    } else {
        Err(StoreError::Contradiction("the chain's last record is not the one its head names"))
    }
}

/// Reads a row of [`item_query`].
pub(super) fn read_item(row: &Row<'_>) -> rusqlite::Result<Submission> {
    table::read_item(&mut Cells::of(row))
}

/// The record with this number, and its job.
pub(super) fn item(store: &Connection, seq: i64) -> Result<Submission, StoreError> {
    Ok(store.prepare_cached(item_query!("r.seq = ?1"))?.query_row([seq], read_item)?)
}

pub(super) fn items(store: &Connection, seqs: &[i64]) -> Result<Vec<Submission>, StoreError> {
    seqs.iter().map(|seq| item(store, *seq)).collect()
}

pub(super) fn job(
    store: &Connection,
    job: JobId,
    tenant: &TenantId,
) -> Result<Option<Submission>, StoreError> {
    let mut query = store.prepare_cached(item_query!("j.id = ?1 AND r.tenant = ?2"))?;
    Ok(query.query_row(params![Col(&job), Col(tenant)], read_item).optional()?)
}

pub(super) fn record(
    store: &Connection,
    record: RecordId,
    tenant: &TenantId,
) -> Result<Option<Submission>, StoreError> {
    let mut query = store.prepare_cached(item_query!("r.id = ?1 AND r.tenant = ?2"))?;
    Ok(query.query_row(params![Col(&record), Col(tenant)], read_item).optional()?)
}

pub(super) fn answer_line(store: &Connection, job: JobId) -> Result<Option<Bytes>, StoreError> {
    let mut query = store.prepare_cached("SELECT answer_line FROM job WHERE id = ?1")?;
    Ok(query.query_row([Col(&job)], |row| Cells::of(row).next()).optional()?.flatten())
}

pub(super) fn find_job(store: &Connection, job: JobId) -> Result<Option<Submission>, StoreError> {
    let mut query = store.prepare_cached(item_query!("j.id = ?1"))?;
    Ok(query.query_row([Col(&job)], read_item).optional()?)
}

pub(super) fn messages(store: &Connection, job: JobId) -> Result<Vec<SentMessage>, StoreError> {
    let mut query = store.prepare_cached(
        "SELECT m.id, m.at, m.incident, m.settled_at, m.answer FROM job j \
         JOIN message_record mr ON mr.record = j.seq JOIN message m ON m.seq = mr.message \
         WHERE j.id = ?1 ORDER BY m.seq",
    )?;
    let rows = query.query_map([Col(&job)], |row| table::read_message(&mut Cells::of(row)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn records(
    store: &Connection,
    chain: ChainId,
    from: u64,
    limit: u32,
) -> Result<Vec<RecordRow>, StoreError> {
    let mut query = store.prepare_cached(concat!(
        "SELECT ",
        record_columns!(),
        " FROM chain c JOIN record r ON r.chain = c.seq LEFT JOIN sent s ON s.record = r.seq \
         WHERE c.id = ?1 AND r.position >= ?2 ORDER BY r.position LIMIT ?3"
    ))?;
    let from = from.min(i64::MAX as u64);
    let rows = query
        .query_map(params![Col(&chain), Col(&from), limit], |row| table::read_record(&mut Cells::of(row)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn attempts(store: &Connection, job: JobId) -> Result<Vec<Attempt>, StoreError> {
    let mut query = store.prepare_cached(
        "SELECT a.started_at, a.duration_ms, a.outcome, a.code, a.message \
         FROM job j JOIN attempt a ON a.job = j.seq WHERE j.id = ?1 ORDER BY a.seq",
    )?;
    let rows = query.query_map([Col(&job)], |row| table::read_attempt(&mut Cells::of(row)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// A job's number, progress and turn, by its identifier.
pub(super) fn progress(store: &Connection, job: JobId) -> Result<Option<(i64, i64, Progress)>, StoreError> {
    let mut query = store.prepare_cached(concat!(
        "SELECT j.seq, j.chain, ",
        progress_columns!(),
        " FROM job j WHERE j.id = ?1"
    ))?;
    let found = query.query_row([Col(&job)], |row| {
        let mut cells = Cells::of(row);
        Ok((cells.next()?, cells.next()?, table::read_progress(&mut cells)?))
    });
    Ok(found.optional()?)
}

/// The number of a record of a chain.
pub(super) fn record_seq(store: &Connection, chain: i64, id: RecordId) -> Result<Option<i64>, StoreError> {
    let mut query = store.prepare_cached("SELECT seq FROM record WHERE id = ?1 AND chain = ?2")?;
    Ok(query.query_row(params![Col(&id), chain], |row| row.get(0)).optional()?)
}

/// The turns of a chain's records that were never sent, from the front on.
pub(super) fn never_sent(store: &Connection, chain: i64, limit: u32) -> Result<Vec<(i64, Turn)>, StoreError> {
    let mut query = store.prepare_cached(
        "SELECT seq, turn FROM job WHERE chain = ?1 AND turn IN ('first', 'barrier') \
         ORDER BY position LIMIT ?2",
    )?;
    let rows = query.query_map(params![chain, limit], |row| {
        let mut cells = Cells::of(row);
        Ok((cells.next()?, cells.next()?))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
