//! What a worker asks: its claim, the records that wait, and when a chain is due.

use std::ops::Range;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    ledger::{
        Claim, Claimed, FULL_MESSAGE, Lease, OpenMessage, Selection, Submission,
        schedule::{self, Turn},
        table::ChainRow,
    },
    types::{ChainId, RecordId},
};

use super::{
    column::{Cells, Col},
    error::StoreError,
    row::{self, chain_query},
};

/// The number of the last message that was written down and never settled, or none.
pub(super) fn last_open_message(store: &Connection) -> Result<i64, StoreError> {
    let query = "SELECT ifnull(max(seq), 0) FROM message INDEXED BY message_open WHERE settled_at IS NULL";
    Ok(store.query_row(query, [], |row| row.get(0))?)
}

/// Claims a chain, unless a message behind number `found` may still be under way.
pub(super) fn claim(
    store: &Connection,
    id: ChainId,
    under_way: &Range<Timestamp>,
    found: i64,
) -> Result<Claimed, StoreError> {
    const NEWEST: &str = "SELECT at FROM message WHERE chain = ?1 AND settled_at IS NULL AND seq > ?2 \
                          AND at >= ?3 AND at < ?4 ORDER BY at DESC LIMIT 1";
    let Some(chain) = row::chain(store, id)? else { return Ok(Claimed::Unknown) };
    let newest = store
        .prepare_cached(NEWEST)?
        .query_row(params![chain.seq, found, Col(&under_way.start), Col(&under_way.end)], |row| {
            Cells::of(row).next()
        })
        .optional()?;
    if let Some(since) = newest {
        return Ok(Claimed::Busy { since });
    }
    store.prepare_cached("UPDATE chain SET epoch = epoch + 1 WHERE seq = ?1")?.execute([chain.seq])?;
    let lease = Lease { chain: id, epoch: chain.epoch + 1 };
    let open = open_messages(store, chain.seq)?;
    Ok(Claimed::Taken(Box::new(Claim { lease, open, state: chain.state })))
}

/// Messages that were written down and never settled, oldest first.
fn open_messages(store: &Connection, chain: i64) -> Result<Vec<OpenMessage>, StoreError> {
    let mut messages = store.prepare_cached(
        "SELECT seq, id, at FROM message WHERE chain = ?1 AND settled_at IS NULL ORDER BY seq",
    )?;
    let mut records =
        store.prepare_cached("SELECT record FROM message_record WHERE message = ?1 ORDER BY ordinal")?;
    let rows = messages.query_map([chain], |row| {
        let mut cells = Cells::of(row);
        Ok((cells.next::<i64>()?, cells.next()?, cells.next()?))
    })?;
    let mut open = Vec::new();
    for row in rows {
        let (seq, id, at) = row?;
        let seqs = records.query_map([seq], |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
        open.push(OpenMessage { id, at, items: row::items(store, &seqs)? });
    }
    Ok(open)
}

pub(super) fn select(
    store: &Connection,
    chain: ChainId,
    selection: Selection,
) -> Result<Vec<Submission>, StoreError> {
    let Some(chain) = row::chain(store, chain)? else { return Ok(Vec::new()) };
    let seqs: Vec<i64> = match selection {
        Selection::First { limit } => row::never_sent(store, chain.seq, limit)?
            .into_iter()
            .take_while(|(_, turn)| *turn == Turn::First)
            .map(|(seq, _)| seq)
            .collect(),
        Selection::Retry { due, limit } => store
            .prepare_cached(
                "SELECT seq FROM job WHERE chain = ?1 AND turn = 'again' AND due_at <= ?2 \
                 AND standing <> 'in_doubt' AND state <> 'processing' ORDER BY position LIMIT ?3",
            )?
            .query_map(params![chain.seq, Col(&due), limit], |row| row.get(0))?
            .collect::<Result<_, _>>()?,
        Selection::Doubtful { due } => store
            .prepare_cached(
                "SELECT seq FROM job WHERE chain = ?1 AND standing = 'in_doubt' AND turn IS NOT NULL \
                 AND due_at <= ?2 AND state <> 'processing' ORDER BY position LIMIT ?3",
            )?
            .query_map(params![chain.seq, Col(&due), FULL_MESSAGE], |row| row.get(0))?
            .collect::<Result<_, _>>()?,
    };
    row::items(store, &seqs)
}

pub(super) fn overtaken(
    store: &Connection,
    chain: ChainId,
    records: &[RecordId],
) -> Result<Vec<Submission>, StoreError> {
    let Some(chain) = row::chain(store, chain)? else { return Ok(Vec::new()) };
    // Left to itself, SQLite walks the chain instead of the few records of the invoice.
    let mut query = store.prepare_cached(
        "SELECT j.position, j.seq FROM record later JOIN record r INDEXED BY record_invoice \
           ON r.tenant = later.tenant AND r.issuer = later.issuer AND r.number = later.number \
          AND r.date = later.date AND r.chain = later.chain AND r.position < later.position \
         JOIN job j ON j.seq = r.seq \
         WHERE later.id = ?1 AND later.chain = ?2 \
           AND (j.state = 'failed' OR (j.state = 'pending' AND j.sent = 1))",
    )?;
    let mut earlier = std::collections::BTreeMap::<i64, i64>::new();
    for record in records {
        let rows = query.query_map(params![Col(record), chain.seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
        for row in rows {
            let (position, seq) = row?;
            earlier.insert(position, seq);
        }
    }
    row::items(store, &earlier.into_values().collect::<Vec<_>>())
}

pub(super) fn due(store: &Connection, chain: ChainId) -> Result<Option<Timestamp>, StoreError> {
    row::chain(store, chain)?.map_or(Ok(None), |chain| chain_due(store, &chain))
}

pub(super) fn due_chains(
    store: &Connection,
    after: Option<ChainId>,
    limit: u32,
) -> Result<Vec<(ChainId, Timestamp)>, StoreError> {
    // The blob of no bytes comes before every identifier.
    let mut query = store.prepare_cached(chain_query!(
        "pending > 0 AND hold IS NULL AND id > ifnull(?1, x'') ORDER BY id LIMIT ?2"
    ))?;
    let chains = query.query_map(params![Col(&after), limit], row::read_chain)?;
    let mut due = Vec::new();
    for chain in chains {
        let found = chain
            .map_err(StoreError::from)
            .and_then(|chain| Ok(chain_due(store, &chain)?.map(|at| (chain.state.id, at))));
        due.extend(StoreError::unless_damaged(found)?.flatten());
    }
    Ok(due)
}

pub(super) fn chain_due(store: &Connection, chain: &ChainRow) -> Result<Option<Timestamp>, StoreError> {
    if chain.state.hold.is_some() || chain.state.pending == 0 {
        return Ok(None);
    }
    let time = |sql| -> Result<Option<Timestamp>, StoreError> {
        let mut query = store.prepare_cached(sql)?;
        Ok(query.query_row([chain.seq], |row| Cells::of(row).next()).optional()?)
    };
    let front = time(
        "SELECT due_at FROM job WHERE chain = ?1 AND turn IN ('first', 'barrier') ORDER BY position LIMIT 1",
    )?;
    let again = time("SELECT due_at FROM job WHERE chain = ?1 AND turn = 'again' ORDER BY due_at LIMIT 1")?;
    let Some(soonest) = front.into_iter().chain(again).min() else {
        return Err(StoreError::Contradiction("the chain counts unfinished jobs that it does not have"));
    };
    let slot = chain.state.next_slot_at;
    let early = slot.is_some_and(|slot| slot > soonest)
        && chain.state.suspects.is_none()
        && chain.state.pending >= u64::from(FULL_MESSAGE)
        && full_message_waits(store, chain.seq)?;
    Ok(Some(schedule::chain_due(soonest, slot, || early)))
}

fn full_message_waits(store: &Connection, chain: i64) -> Result<bool, StoreError> {
    let mut query = store.prepare_cached(
        "SELECT count(*) = ?2 FROM (SELECT turn FROM job WHERE chain = ?1 AND turn IN ('first', 'barrier') \
         ORDER BY position LIMIT ?2) WHERE turn = 'first'",
    )?;
    Ok(query.query_row([chain, i64::from(FULL_MESSAGE)], |row| row.get(0))?)
}
