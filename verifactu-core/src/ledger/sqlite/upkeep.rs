//! What operators see and do across all accounts.

use jiff::Timestamp;
use rusqlite::{Connection, params};

use crate::{
    job::{JobState, Progress},
    ledger::Overview,
};

use super::{
    column::{Cells, Col},
    error::StoreError,
    row, settle,
};

/// Counts on the indexes of unfinished jobs, which cover what is asked.
pub(super) fn overview(store: &Connection) -> Result<Overview, StoreError> {
    let mut overview = Overview::default();
    for unfinished in [
        "job INDEXED BY job_never_sent WHERE turn IN ('first', 'barrier')",
        "job INDEXED BY job_again WHERE turn = 'again'",
    ] {
        let counted = format!(
            "SELECT state, count(*), min(created_at) FROM (SELECT state, created_at FROM {unfinished} \
             LIMIT {}) GROUP BY state",
            Overview::COUNTED
        );
        let mut query = store.prepare_cached(&counted)?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let mut cells = Cells::of(row);
            overview.count(cells.next::<JobState>()?, cells.next()?, Some(cells.next()?));
        }
    }
    overview.in_doubt = store
        .prepare_cached(
            "SELECT count(*) FROM (SELECT 1 FROM job INDEXED BY job_doubtful \
             WHERE standing = 'in_doubt' AND turn IS NOT NULL LIMIT ?1)",
        )?
        .query_row([Overview::COUNTED], |row| Cells::of(row).next())?;
    let mut query = store.prepare_cached(
        "SELECT hold_reason, count(*) FROM chain WHERE hold_reason IS NOT NULL GROUP BY hold_reason",
    )?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let mut cells = Cells::of(row);
        overview.count_held(cells.next()?, cells.next()?);
    }
    Ok(overview)
}

/// Rows have the order in which they were written, so the oldest are the first; no index by time is needed.
pub(super) fn prune(store: &Connection, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let old: Vec<i64> = store
        .prepare_cached(
            "SELECT seq FROM (SELECT seq, at FROM message WHERE settled_at IS NOT NULL ORDER BY seq LIMIT ?2) \
             WHERE at < ?1",
        )?
        .query_map(params![Col(&before), limit], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut carried = store.prepare_cached("DELETE FROM message_record WHERE message = ?1")?;
    let mut message = store.prepare_cached("DELETE FROM message WHERE seq = ?1")?;
    for seq in &old {
        carried.execute([seq])?;
        message.execute([seq])?;
    }
    let attempts = store
        .prepare_cached(
            "DELETE FROM attempt WHERE started_at < ?1 \
             AND seq IN (SELECT seq FROM attempt ORDER BY seq LIMIT ?2)",
        )?
        .execute(params![Col(&before), limit])?;
    Ok((old.len() + attempts) as u64)
}

pub(super) fn close_chains(
    store: &Connection,
    at: Timestamp,
    reassess: &dyn Fn(&Progress) -> Progress,
) -> Result<u64, StoreError> {
    store.prepare_cached("UPDATE chain SET epoch = epoch + 1")?.execute([])?;
    let open =
        store.prepare_cached("UPDATE chain SET closed = 1, minted = 0 WHERE closed = 0")?.execute([])?;
    let unfinished: Vec<i64> = store
        .prepare_cached("SELECT seq FROM job WHERE turn IS NOT NULL")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for seq in unfinished {
        let progress = reassess(&row::item(store, seq)?.job.progress);
        settle::reassess(store, seq, &progress, at)?;
    }
    Ok(open as u64)
}
