//! Reads that need no more than rows as the ledger's types.

use bytes::Bytes;
use jiff::Timestamp;
use tokio_postgres::{Row, types::ToSql};

use crate::{
    job::JobKind,
    ledger::{
        Attempt, ChainSearch, ChainState, Listing, Page, RecordRow, SentMessage, Submission, Turnover, Usage,
        column::Unreadable,
        table::{self, ChainRow, chain_columns, item_columns, record_columns},
    },
    record::InvoiceId,
    types::{ChainId, JobId, RecordId, TenantId},
};

use super::{
    column::{Cells, Col},
    error::StoreError,
    listing::{MOST_COUNTED, counted, one_above},
    pool::Pool,
};

/// A query for records with their jobs. The argument is what follows the tables: `r`, its job `j`, chain
/// `c` and sent bytes `s`.
macro_rules! item_query {
    ($rest:literal) => {
        concat!(
            "SELECT ",
            $crate::ledger::table::item_columns!(),
            " FROM record r JOIN job j ON j.seq = r.seq JOIN chain c ON c.seq = r.chain \
             LEFT JOIN sent s ON s.record = r.seq ",
            $rest
        )
    };
}

macro_rules! chain_query {
    ($condition:literal) => {
        concat!("SELECT ", $crate::ledger::table::chain_columns!(), " FROM chain WHERE ", $condition)
    };
}
pub(super) use item_query;

/// Every row read in the same way.
pub(super) fn all<'r, T>(
    rows: &'r [Row],
    read: impl Fn(&mut Cells<'r>) -> Result<T, Unreadable>,
) -> Result<Vec<T>, StoreError> {
    rows.iter().map(|row| Ok(read(&mut Cells::of(row))?)).collect()
}

/// The only row, if there is one.
pub(super) fn first<'r, T>(
    rows: &'r [Row],
    read: impl Fn(&mut Cells<'r>) -> Result<T, Unreadable>,
) -> Result<Option<T>, StoreError> {
    Ok(rows.first().map(|row| read(&mut Cells::of(row))).transpose()?)
}

/// A place in a list that the server counts from 1.
pub(super) fn place(nth: u64) -> Option<usize> {
    usize::try_from(nth).ok()?.checked_sub(1)
}

/// What the server speaks of by its place in a list, from 1.
pub(super) fn nth<T>(asked: &[T], nth: u64) -> Result<&T, StoreError> {
    place(nth)
        .and_then(|at| asked.get(at))
        .ok_or(StoreError::Contradiction("the server answers what was not asked"))
}

pub(super) async fn replay(
    pool: &Pool,
    tenant: &TenantId,
    kind: JobKind,
    key: &str,
) -> Result<Option<([u8; 32], Submission)>, StoreError> {
    const QUERY: &str = concat!(
        "SELECT i.fingerprint, ",
        item_columns!(),
        " FROM idempotency i JOIN record r ON r.seq = i.job JOIN job j ON j.seq = r.seq \
         JOIN chain c ON c.seq = r.chain LEFT JOIN sent s ON s.record = r.seq \
         WHERE i.tenant = $1 AND i.kind = $2 AND i.key = $3"
    );
    let rows = pool.read(QUERY, &[&Col(tenant), &Col(&kind), &key]).await?;
    first(&rows, |cells| Ok((cells.next()?, table::read_item(cells)?)))
}

pub(super) async fn job(
    pool: &Pool,
    job: JobId,
    tenant: &TenantId,
) -> Result<Option<Submission>, StoreError> {
    const QUERY: &str = item_query!("WHERE j.id = $1 AND r.tenant = $2");
    first(&pool.read(QUERY, &[&Col(&job), &Col(tenant)]).await?, table::read_item)
}

pub(super) async fn find_job(pool: &Pool, job: JobId) -> Result<Option<Submission>, StoreError> {
    first(&pool.read(item_query!("WHERE j.id = $1"), &[&Col(&job)]).await?, table::read_item)
}

pub(super) async fn record(
    pool: &Pool,
    record: RecordId,
    tenant: &TenantId,
) -> Result<Option<Submission>, StoreError> {
    const QUERY: &str = item_query!("WHERE r.id = $1 AND r.tenant = $2");
    first(&pool.read(QUERY, &[&Col(&record), &Col(tenant)]).await?, table::read_item)
}

/// Every record of an invoice with its job, in the order of acceptance.
pub(super) async fn history(
    pool: &Pool,
    tenant: &TenantId,
    invoice: &InvoiceId,
) -> Result<Vec<Submission>, StoreError> {
    const QUERY: &str =
        item_query!("WHERE r.tenant = $1 AND r.issuer = $2 AND r.number = $3 AND r.date = $4 ORDER BY r.seq");
    let InvoiceId { issuer, number, date } = invoice;
    let rows = pool.read(QUERY, &[&Col(tenant), &Col(issuer), &Col(number), &Col(date)]).await?;
    all(&rows, table::read_item)
}

pub(super) async fn chains(pool: &Pool, tenant: &TenantId) -> Result<Vec<ChainState>, StoreError> {
    let rows = pool.read(chain_query!("tenant = $1 ORDER BY id"), &[&Col(tenant)]).await?;
    let read = |row| StoreError::unless_damaged(ChainRow::read(&mut Cells::of(row)));
    Ok(rows.iter().filter_map(read).map(|chain| chain.state).collect())
}

pub(super) async fn chain(pool: &Pool, chain: ChainId) -> Result<Option<ChainState>, StoreError> {
    let rows = pool.read(chain_query!("id = $1"), &[&Col(&chain)]).await?;
    first(&rows, |cells| ChainRow::read(cells).map(|chain| chain.state))
}

/// Chains of all accounts, each with the age of what waits on it.
pub(super) async fn search_chains(
    pool: &Pool,
    search: &ChainSearch,
    page: Page<ChainId>,
) -> Result<Listing<(ChainState, Option<Timestamp>)>, StoreError> {
    macro_rules! wanted {
        () => {
            "FROM chain c WHERE ($2::text IS NULL OR tenant = $2) AND ($3::text IS NULL OR issuer = $3) \
             AND (NOT $4 OR hold IS NOT NULL)"
        };
    }
    const COUNTED: &str = counted!(wanted!());
    const QUERY: &str = concat!(
        "SELECT ",
        chain_columns!(),
        ", least((SELECT min(created_at) FROM job WHERE chain = c.seq AND turn IN ('first', 'barrier')), \
         (SELECT min(created_at) FROM job WHERE chain = c.seq AND turn = 'again')) ",
        wanted!(),
        " AND ($5::uuid IS NULL OR id > $5) ORDER BY id LIMIT $1 OFFSET $6"
    );
    let ChainSearch { tenant, issuer, held } = search;
    let (tenant, issuer) = (&Col(tenant), &Col(issuer));
    let (limit, most) = (page.limit, one_above(page.limit));
    let total = pool.count(COUNTED, &[&MOST_COUNTED, tenant, issuer, held]).await?;
    let (after, skipped) = page.begin();
    let values: [&(dyn ToSql + Sync); 6] = [&Col(&most), tenant, issuer, held, &Col(&after), &Col(&skipped)];
    let rows = pool.read(QUERY, &values).await?;
    let found = all(&rows, |cells| Ok((ChainRow::read(cells)?.state, cells.next()?)))?;
    Ok(Listing::of(found, limit, total))
}

pub(super) async fn records(
    pool: &Pool,
    chain: ChainId,
    from: u64,
    limit: u32,
) -> Result<Vec<RecordRow>, StoreError> {
    const QUERY: &str = concat!(
        "SELECT ",
        record_columns!(),
        " FROM chain c JOIN record r ON r.chain = c.seq LEFT JOIN sent s ON s.record = r.seq \
         WHERE c.id = $1 AND r.position >= $2 ORDER BY r.position LIMIT $3"
    );
    let from = from.min(i64::MAX as u64);
    let rows = pool.read(QUERY, &[&Col(&chain), &Col(&from), &Col(&limit)]).await?;
    all(&rows, table::read_record)
}

pub(super) async fn attempts(pool: &Pool, job: JobId) -> Result<Vec<Attempt>, StoreError> {
    const QUERY: &str = "SELECT a.started_at, a.duration_ms, a.outcome, a.code, a.message \
                         FROM job j JOIN attempt a ON a.job = j.seq WHERE j.id = $1 ORDER BY a.seq";
    all(&pool.read(QUERY, &[&Col(&job)]).await?, table::read_attempt)
}

pub(super) async fn messages(pool: &Pool, job: JobId) -> Result<Vec<SentMessage>, StoreError> {
    const QUERY: &str = "SELECT m.id, m.at, m.incident, m.settled_at, m.answer FROM job j \
                         JOIN message_record mr ON mr.record = j.seq JOIN message m ON m.seq = mr.message \
                         WHERE j.id = $1 ORDER BY m.seq";
    all(&pool.read(QUERY, &[&Col(&job)]).await?, table::read_message)
}

pub(super) async fn answer_line(pool: &Pool, job: JobId) -> Result<Option<Bytes>, StoreError> {
    let rows = pool.read("SELECT answer_line FROM job WHERE id = $1", &[&Col(&job)]).await?;
    Ok(first(&rows, Cells::next::<Option<Bytes>>)?.flatten())
}

/// Months that a quota was looked up for, and that came to nothing, are left out.
pub(super) async fn usage(pool: &Pool, tenant: &TenantId, since: &str) -> Result<Vec<Usage>, StoreError> {
    const QUERY: &str = "SELECT month, invoices, cancellations FROM usage WHERE tenant = $1 AND month >= $2 \
                         AND invoices + cancellations > 0 ORDER BY month DESC";
    all(&pool.read(QUERY, &[&Col(tenant), &since]).await?, |cells| {
        Ok(Usage { month: cells.next()?, invoices: cells.next()?, cancellations: cells.next()? })
    })
}

pub(super) async fn turnover(
    pool: &Pool,
    tenant: &TenantId,
    since: &str,
) -> Result<Vec<Turnover>, StoreError> {
    const QUERY: &str = "SELECT month, issuer, invoices, cancellations, base, tax, total FROM turnover \
                         WHERE tenant = $1 AND month >= $2 ORDER BY month DESC, issuer";
    all(&pool.read(QUERY, &[&Col(tenant), &since]).await?, |cells| {
        Ok(Turnover { month: cells.next()?, issuer: cells.next()?, sums: table::read_sums(cells)? })
    })
}
