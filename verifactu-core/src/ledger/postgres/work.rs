//! What a worker asks: its claim, the records that wait, and when a chain is due.

use std::ops::Range;

use jiff::Timestamp;

use crate::{
    ledger::{
        Claim, Claimed, FULL_MESSAGE, Lease, OpenMessage, Selection, Submission, schedule,
        table::{self, ChainRow, chain_columns, item_columns},
    },
    types::{ChainId, MessageId, RecordId},
};

use super::{
    column::{Cells, Col, each},
    error::StoreError,
    pool::{Pool, together},
    row::{self, item_query},
};

/// What a chain's due time is computed from; the argument is which chains. The full message is only
/// looked for where it would open a slot.
macro_rules! due_query {
    ($condition:literal) => {
        concat!(
            "SELECT c.id, c.pending, c.hold IS NOT NULL, t.front, t.again, c.next_slot_at, \
             CASE WHEN c.hold IS NULL AND c.next_slot_at > least(t.front, t.again) \
               AND c.suspects IS NULL AND c.pending >= 1000 \
             THEN (SELECT count(*) = 1000 FROM (SELECT turn FROM job WHERE chain = c.seq \
               AND turn IN ('first', 'barrier') ORDER BY position LIMIT 1000) run WHERE turn = 'first') \
             ELSE false END \
             FROM chain c CROSS JOIN LATERAL (SELECT \
               (SELECT due_at FROM job WHERE chain = c.seq AND turn IN ('first', 'barrier') \
                ORDER BY position LIMIT 1) AS front, \
               (SELECT due_at FROM job WHERE chain = c.seq AND turn = 'again' \
                ORDER BY due_at LIMIT 1) AS again) t WHERE ",
            $condition
        )
    };
}
pub(super) use due_query;

/// The number that [`due_query`] spells.
const _: () = assert!(FULL_MESSAGE == 1000);

/// Reads a row of [`due_query`].
pub(super) fn read_due(cells: &mut Cells<'_>) -> Result<(ChainId, Option<Timestamp>), StoreError> {
    let (chain, pending, held) = (cells.next()?, cells.next::<u64>()?, cells.next::<bool>()?);
    let times: [Option<Timestamp>; 2] = [cells.next()?, cells.next()?];
    let (slot, full) = (cells.next()?, cells.next::<bool>()?);
    if held || pending == 0 {
        return Ok((chain, None));
    }
    let soonest = times
        .into_iter()
        .flatten()
        .min()
        .ok_or(StoreError::Contradiction("the chain counts unfinished jobs that it does not have"))?;
    Ok((chain, Some(schedule::chain_due(soonest, slot, || full))))
}

/// What is read under the lock of the chain's row stands until the commit: a message is opened and settled
/// under it too.
pub(super) async fn claim(
    pool: &Pool,
    id: ChainId,
    under_way: &Range<Timestamp>,
) -> Result<Claimed, StoreError> {
    const LOCK: &str = concat!("SELECT ", chain_columns!(), " FROM chain WHERE id = $1 FOR UPDATE");
    const RAISE: &str = "UPDATE chain SET epoch = epoch + 1 WHERE id = $1";
    const MESSAGES: &str = "SELECT id, at FROM message WHERE chain = (SELECT seq FROM chain WHERE id = $1) \
                            AND settled_at IS NULL ORDER BY seq";
    const ITEMS: &str = concat!(
        "SELECT m.id, ",
        item_columns!(),
        " FROM message m JOIN message_record mr ON mr.message = m.seq JOIN record r ON r.seq = mr.record \
         JOIN job j ON j.seq = r.seq JOIN chain c ON c.seq = r.chain LEFT JOIN sent s ON s.record = r.seq \
         WHERE m.chain = (SELECT seq FROM chain WHERE id = $1) AND m.settled_at IS NULL \
         ORDER BY m.seq, mr.ordinal"
    );
    let mut session = pool.session().await?;
    let [lock, messages, items, raise] = session.prepare([LOCK, MESSAGES, ITEMS, RAISE]).await?;
    let id_cell = Col(&id);
    let reads = async {
        together!(
            session.start(),
            session.query(&lock, &[&id_cell]),
            session.query(&messages, &[&id_cell]),
            session.query(&items, &[&id_cell]),
        )
    };
    let (_, chain, messages, items) = session.trip(reads).await?;
    let Some(chain) = row::first(&chain, ChainRow::read)? else {
        session.roll_back().await?;
        return Ok(Claimed::Unknown);
    };
    let mut open = row::all(&messages, |cells| {
        Ok(OpenMessage { id: cells.next()?, at: cells.next()?, items: Vec::new() })
    })?;
    if let Some(since) = open.iter().map(|open| open.at).filter(|at| under_way.contains(at)).max() {
        session.roll_back().await?;
        return Ok(Claimed::Busy { since });
    }
    for (message, item) in
        row::all(&items, |cells| Ok((cells.next::<MessageId>()?, table::read_item(cells)?)))?
    {
        open.iter_mut()
            .find(|open| open.id == message)
            .into_iter()
            .for_each(|open| open.items.push(item.clone()));
    }
    session.last_trip(async { together!(session.query(&raise, &[&id_cell]), session.commit()) }).await?;
    session.release();
    let lease = Lease { chain: id, epoch: chain.epoch + 1 };
    Ok(Claimed::Taken(Box::new(Claim { lease, open, state: chain.state })))
}

pub(super) async fn select(
    pool: &Pool,
    chain: ChainId,
    selection: Selection,
) -> Result<Vec<Submission>, StoreError> {
    const FIRST: &str = concat!(
        "WITH front AS (SELECT seq, position, turn FROM job \
         WHERE chain = (SELECT seq FROM chain WHERE id = $1) AND turn IN ('first', 'barrier') \
         ORDER BY position LIMIT $2) ",
        item_query!(
            "JOIN front f ON f.seq = r.seq \
             WHERE f.position < ALL (SELECT position FROM front WHERE turn = 'barrier') ORDER BY r.position"
        )
    );
    const RETRY: &str = item_query!(
        "WHERE j.chain = (SELECT seq FROM chain WHERE id = $1) AND j.turn = 'again' AND j.due_at <= $2 \
         AND j.standing <> 'in_doubt' AND j.state <> 'processing' ORDER BY j.position LIMIT $3"
    );
    const DOUBTFUL: &str = item_query!(
        "WHERE j.chain = (SELECT seq FROM chain WHERE id = $1) AND j.standing = 'in_doubt' \
         AND j.turn IS NOT NULL AND j.due_at <= $2 AND j.state <> 'processing' ORDER BY j.position LIMIT $3"
    );
    let rows = match selection {
        Selection::First { limit } => pool.read(FIRST, &[&Col(&chain), &Col(&limit)]).await?,
        Selection::Retry { due, limit } => {
            pool.read(RETRY, &[&Col(&chain), &Col(&due), &Col(&limit)]).await?
        }
        Selection::Doubtful { due } => {
            pool.read(DOUBTFUL, &[&Col(&chain), &Col(&due), &Col(&FULL_MESSAGE)]).await?
        }
    };
    row::all(&rows, table::read_item)
}

pub(super) async fn overtaken(
    pool: &Pool,
    chain: ChainId,
    records: &[RecordId],
) -> Result<Vec<Submission>, StoreError> {
    const QUERY: &str = item_query!(
        "WHERE r.seq IN (SELECT earlier.seq FROM unnest($2::uuid[]) asked (id) \
           JOIN record later ON later.id = asked.id \
           JOIN record earlier ON earlier.tenant = later.tenant AND earlier.issuer = later.issuer \
            AND earlier.number = later.number AND earlier.date = later.date AND earlier.chain = later.chain \
            AND earlier.position < later.position \
           JOIN chain of ON of.seq = later.chain WHERE of.id = $1) \
         AND (j.state = 'failed' OR (j.state = 'pending' AND j.sent)) ORDER BY r.position"
    );
    let rows = pool.read(QUERY, &[&Col(&chain), &each(records, |record| record)]).await?;
    row::all(&rows, table::read_item)
}

pub(super) async fn due(pool: &Pool, chain: ChainId) -> Result<Option<Timestamp>, StoreError> {
    let rows = pool.read(due_query!("c.id = $1"), &[&Col(&chain)]).await?;
    let due = rows.first().map(|row| read_due(&mut Cells::of(row))).transpose()?;
    Ok(due.and_then(|(_, at)| at))
}

pub(super) async fn due_chains(
    pool: &Pool,
    after: Option<ChainId>,
    limit: u32,
) -> Result<Vec<(ChainId, Timestamp)>, StoreError> {
    const FIRST: &str = due_query!("c.busy ORDER BY c.id LIMIT $1");
    const NEXT: &str = due_query!("c.busy AND c.id > $2 ORDER BY c.id LIMIT $1");
    let rows = match after {
        None => pool.read(FIRST, &[&Col(&limit)]).await?,
        Some(after) => pool.read(NEXT, &[&Col(&limit), &Col(&after)]).await?,
    };
    let read = |row| StoreError::unless_damaged(read_due(&mut Cells::of(row)));
    Ok(rows.iter().filter_map(read).filter_map(|(chain, at)| Some((chain, at?))).collect())
}
