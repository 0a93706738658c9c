//! What operators see and do across all accounts.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::{
    job::{JobState, Progress},
    ledger::{
        Overview,
        table::{self, progress_columns},
    },
};

use super::{
    column::{Cells, Col},
    error::StoreError,
    pool::{Pool, together},
    row,
    settle::{JobChange, UPDATE, write_jobs},
};

/// Counts on the indexes of unfinished jobs, which cover what is asked.
pub(super) async fn overview(pool: &Pool) -> Result<Overview, StoreError> {
    const JOBS: &str = "SELECT state, count(*), min(created_at) FROM ( \
         (SELECT state, created_at FROM job WHERE turn IN ('first', 'barrier') LIMIT $1) UNION ALL \
         (SELECT state, created_at FROM job WHERE turn = 'again' LIMIT $1)) unfinished GROUP BY state";
    const DOUBTS: &str = "SELECT count(*) FROM (SELECT 1 FROM job WHERE standing = 'in_doubt' \
                          AND turn IS NOT NULL LIMIT $1) doubts";
    const HELD: &str =
        "SELECT hold_reason, count(*) FROM chain WHERE hold_reason IS NOT NULL GROUP BY hold_reason";
    let mut overview = Overview::default();
    let limit = Col(&Overview::COUNTED);
    for (state, jobs, oldest) in row::all(&pool.read(JOBS, &[&limit]).await?, |cells| {
        Ok((cells.next::<JobState>()?, cells.next()?, cells.next()?))
    })? {
        overview.count(state, jobs, oldest);
    }
    let doubts = row::first(&pool.read(DOUBTS, &[&limit]).await?, Cells::next::<u64>)?;
    overview.in_doubt = doubts.unwrap_or_default();
    let held = pool.read(HELD, &[]).await?;
    for (reason, chains) in row::all(&held, |cells| Ok((cells.next()?, cells.next()?)))? {
        overview.count_held(reason, chains);
    }
    Ok(overview)
}

/// Rows have the order in which they were written, so the oldest are the first; no index by time is needed.
pub(super) async fn prune(pool: &Pool, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    const PRUNE: &str = "WITH old AS MATERIALIZED (SELECT seq FROM (SELECT seq, at FROM message \
           WHERE settled_at IS NOT NULL ORDER BY seq LIMIT $2) first WHERE at < $1), \
         carried AS (DELETE FROM message_record WHERE message IN (SELECT seq FROM old)), \
         messages AS (DELETE FROM message WHERE seq IN (SELECT seq FROM old) RETURNING 1), \
         attempts AS (DELETE FROM attempt WHERE started_at < $1 \
           AND seq IN (SELECT seq FROM attempt ORDER BY seq LIMIT $2) RETURNING 1) \
         SELECT (SELECT count(*) FROM messages) + (SELECT count(*) FROM attempts)";
    let pruned = pool.write(PRUNE, &[&Col(&before), &Col(&limit)]).await?;
    Ok(row::first(&pruned, Cells::next::<u64>)?.unwrap_or_default())
}

pub(super) async fn close_chains(
    pool: &Pool,
    at: Timestamp,
    reassess: &(dyn Fn(&Progress) -> Progress + Send + Sync),
) -> Result<u64, StoreError> {
    const LOCK: &str = "SELECT 1 FROM chain ORDER BY seq FOR UPDATE";
    const CLOSE: &str = "UPDATE chain c SET closed = true, minted = false, epoch = c.epoch + 1 \
                         FROM chain before WHERE before.seq = c.seq RETURNING NOT before.closed";
    const UNFINISHED: &str = concat!(
        "SELECT j.seq, j.chain, ",
        progress_columns!(),
        " FROM job j WHERE j.turn IN ('first', 'barrier') UNION ALL SELECT j.seq, j.chain, ",
        progress_columns!(),
        " FROM job j WHERE j.turn = 'again'"
    );
    // What was lost with another server stays behind the closed chains.
    const CONFIRM: &str = "SELECT confirm_server()";
    const COUNT: &str = "UPDATE chain c SET pending = pending - n.finished \
                         FROM unnest($1::bigint[], $2::bigint[]) n (seq, finished) WHERE c.seq = n.seq";
    let mut session = pool.session().await?;
    let [lock, close, unfinished] = session.prepare([LOCK, CLOSE, UNFINISHED]).await?;
    let [update, count, confirm] = session.prepare([UPDATE, COUNT, CONFIRM]).await?;
    let reads = async {
        together!(
            session.start(),
            session.query(&lock, &[]),
            session.query(&close, &[]),
            session.query(&unfinished, &[]),
        )
    };
    let (_, _, closed, unfinished) = session.trip(reads).await?;
    let closed = row::all(&closed, Cells::next::<bool>)?.into_iter().filter(|was_open| *was_open).count();
    let mut finished = BTreeMap::<i64, i64>::new();
    let mut jobs = Vec::with_capacity(unfinished.len());
    for (seq, chain, progress) in row::all(&unfinished, |cells| {
        Ok((cells.next::<i64>()?, cells.next::<i64>()?, table::read_progress(cells)?))
    })? {
        let progress = reassess(&progress);
        *finished.entry(chain).or_default() += i64::from(progress.state.is_final());
        jobs.push(JobChange::new(seq, &progress, None));
    }
    let (chains, finished): (Vec<i64>, Vec<i64>) = finished.into_iter().unzip();
    let writes = async {
        together!(
            write_jobs(&session, &update, &jobs, Some(at)),
            session.query(&count, &[&chains, &finished]),
            session.query(&confirm, &[]),
            session.commit(),
        )
    };
    session.last_trip(writes).await?;
    session.release();
    Ok(closed as u64)
}
