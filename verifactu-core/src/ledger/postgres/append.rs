//! Appends of several chains in one transaction: a trip to the server that locks the chains and reads what
//! the appends need, the sealers, and a trip that writes all of them and commits.
//!
//! Each append sees those before it, as if it had come alone. What the reading cannot see is another
//! transaction that writes at the same time: one that makes the same chain, or that uses a key or writes of
//! an invoice on another chain of the account. Then a unique index refuses, all of it is done again,
//! and this time it is seen.
//!
//! Chains that share a transaction must not suffer from each other. So only what is certain to be quick is
//! done together: a chain that is new, or locked by somebody else, is left for a transaction of its own, and
//! so is each of them when the server refuses all.

use std::collections::{HashMap, HashSet};

use tokio_postgres::{Error, Row, Statement};

use crate::{
    ledger::{
        Append, Appended, ChainSelector, Head, Installation, LedgerError, PriorRecord,
        column::Unreadable,
        table::{self, ChainRow, chain_columns, item_columns, progress_columns},
    },
    record::RecordKind,
    types::{JobId, Text},
};

use super::{
    accept::{Chain, InvoiceOf, KeyOf, Known, MonthOf, Outcome, Replay, installation},
    column::{Cells, Col, each},
    error::{Shared, StoreError},
    pool::{Parameters, Pool, Session, repeated, together},
    row, write,
};

/// The chains that selectors mean: a list of each of their parts, where a chain whose installation was minted
/// has none.
macro_rules! asked {
    () => {
        "FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY \
           asked (tenant, issuer, producer, system, installation, nth) \
         CROSS JOIN LATERAL (SELECT seq FROM chain WHERE tenant = asked.tenant AND issuer = asked.issuer \
             AND producer = asked.producer AND system = asked.system AND installation = asked.installation \
           UNION ALL SELECT seq FROM chain WHERE tenant = asked.tenant AND issuer = asked.issuer \
             AND producer = asked.producer AND system = asked.system AND minted \
             AND asked.installation IS NULL LIMIT 1) found "
    };
}

/// A chain may have been closed, and its installation with it, while its lock was waited for.
macro_rules! lock {
    ($waiting:literal) => {
        concat!(
            "SELECT asked.nth, c.* ",
            asked!(),
            "CROSS JOIN LATERAL (SELECT ",
            chain_columns!(),
            " FROM chain WHERE seq = found.seq AND (minted OR asked.installation IS NOT NULL) FOR UPDATE",
            $waiting,
            ") c"
        )
    };
}

const LOCK: &str = lock!("");
const LOCK_AT_ONCE: &str = lock!(" SKIP LOCKED");
/// How long a transaction that chains may share waits for any other lock.
const SHORT_WAIT: &str = "SET LOCAL lock_timeout = '200ms'";
const HEAD: &str = concat!(
    "SELECT asked.nth, r.* ",
    asked!(),
    "CROSS JOIN LATERAL (SELECT position, issuer, number, date, huella, generated_at FROM record \
     WHERE chain = found.seq ORDER BY position DESC LIMIT 1) r"
);
/// Each key is looked up by itself: left to choose, a planner that knows the tables as they were when they
/// were empty reads all that the account has. The same goes for the queries below.
const REPLAYS: &str = concat!(
    "SELECT asked.nth, i.fingerprint, ",
    item_columns!(),
    " FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY asked (tenant, kind, key, nth) \
     CROSS JOIN LATERAL (SELECT * FROM idempotency WHERE tenant = asked.tenant AND kind = asked.kind \
       AND key = asked.key LIMIT 1) i \
     CROSS JOIN LATERAL (SELECT * FROM record WHERE seq = i.job LIMIT 1) r \
     CROSS JOIN LATERAL (SELECT * FROM job WHERE seq = i.job LIMIT 1) j \
     CROSS JOIN LATERAL (SELECT * FROM chain WHERE seq = r.chain LIMIT 1) c \
     LEFT JOIN LATERAL (SELECT * FROM sent WHERE record = i.job LIMIT 1) s ON true"
);
const HISTORY: &str = concat!(
    "SELECT asked.nth, j.id, r.kind, ",
    progress_columns!(),
    " FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY \
       asked (tenant, issuer, number, date, nth) \
     CROSS JOIN LATERAL (SELECT * FROM record WHERE tenant = asked.tenant AND issuer = asked.issuer \
       AND number = asked.number AND date = asked.date OFFSET 0) r \
     CROSS JOIN LATERAL (SELECT * FROM job WHERE seq = r.seq LIMIT 1) j ORDER BY r.seq"
);
/// The account's chains, but not closed ones of the issuer: one other than this is all that is asked for.
const CHAINS: &str = "SELECT asked.nth, c.seq FROM unnest($1::text[], $2::text[]) WITH ORDINALITY \
                        asked (tenant, issuer, nth) \
                      CROSS JOIN LATERAL (SELECT seq FROM chain WHERE tenant = asked.tenant \
                        AND NOT (closed AND issuer = asked.issuer) LIMIT 2) c";
/// A plan's month is locked, so that no other chain of the account takes the last place meanwhile. Months
/// are locked in one order everywhere.
macro_rules! used {
    ($waiting:literal) => {
        concat!(
            "SELECT asked.nth, u.invoices FROM unnest($1::text[], $2::text[]) WITH ORDINALITY \
               asked (tenant, month, nth) \
             CROSS JOIN LATERAL (SELECT invoices FROM usage WHERE tenant = asked.tenant \
               AND month = asked.month FOR UPDATE",
            $waiting,
            ") u"
        )
    };
}

const USED: &str = used!("");
const USED_AT_ONCE: &str = used!(" SKIP LOCKED");
const NEW_MONTHS: &str = "INSERT INTO usage (tenant, month, invoices, cancellations) \
     SELECT tenant, month, 0, 0 FROM unnest($1::text[], $2::text[]) asked (tenant, month) \
     ON CONFLICT DO NOTHING";
const TAKEN: &str = "SELECT installation FROM chain WHERE tenant = $1 AND issuer = $2 AND producer = $3 \
                     AND system = $4 AND installation = ANY ($5)";

pub(super) type Answer = Result<Appended, LedgerError>;
/// The appends of one chain, in order.
pub(super) type Run<'a> = Vec<&'a Append>;

/// Whether chains share the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// They may: no chain is made, and what somebody else has locked is waited for shortly or not at all.
    Shared,
    /// There is one.
    Alone,
}

/// Appends to several chains, a run to each. `None` for a run that has to be done [alone](append_alone).
pub(super) async fn append_together(pool: &Pool, runs: &[Run<'_>]) -> Vec<Option<Vec<Answer>>> {
    match repeated!(append(pool, runs, Way::Shared)) {
        Ok(answers) => answers,
        Err(error) if error.may_concern_one() => runs.iter().map(|_| None).collect(),
        Err(error) => {
            let error = Shared::from(error);
            runs.iter().map(|run| Some(error.to_each(run.len()))).collect()
        }
    }
}

/// Appends to one chain; there is an answer for each.
pub(super) async fn append_alone(pool: &Pool, run: &Run<'_>) -> Vec<Answer> {
    match repeated!(append(pool, std::slice::from_ref(run), Way::Alone)) {
        Ok(answers) => answers.into_iter().flatten().flatten().collect(),
        // An identifier that was given twice is the fault of one, and the others do not suffer from it.
        Err(error) if error.constraint().is_some() && run.len() > 1 => {
            let mut answers = Vec::with_capacity(run.len());
            for append in run {
                answers.extend(Box::pin(append_alone(pool, &vec![*append])).await);
            }
            answers
        }
        Err(error) => Shared::from(error).to_each(run.len()),
    }
}

async fn append(pool: &Pool, runs: &[Run<'_>], way: Way) -> Result<Vec<Option<Vec<Answer>>>, StoreError> {
    let mut session = pool.session().await?;
    let asked = Asked::by(runs);
    let found = read(&mut session, &asked, way).await?;
    let (mut known, chains) = sort(&mut session, &asked, &found, way).await?;
    let mut outcomes = Vec::with_capacity(runs.len());
    for (run, chain) in runs.iter().zip(chains) {
        outcomes.push(chain.map(|chain| known.append(chain, run)));
    }
    let due = if known.new.is_empty() {
        session.roll_back().await?;
        HashMap::new()
    } else {
        write::write(session, &known).await?
    };
    let mut new = known.new.into_iter();
    let mut answer = |outcome| match outcome {
        Outcome::New => new.next().ok_or(StoreError::Contradiction("a record got lost")).map(|new| {
            let due = due.get(&new.submission.record.chain).copied().flatten();
            Appended::New { submission: new.submission, due: due.map(|due| due.max(new.append.at)) }
        }),
        Outcome::Known(answer) => answer,
    };
    let mut answers = |run: Vec<Outcome>| {
        run.into_iter().map(|outcome| answer(outcome).map_err(LedgerError::from)).collect::<Vec<Answer>>()
    };
    Ok(outcomes.into_iter().map(|run| run.map(&mut answers)).collect())
}

/// What appends have to know.
struct Asked<'a, 'r> {
    runs: &'r [Run<'a>],
    /// The chain of each run.
    selectors: Vec<&'a ChainSelector>,
    keys: Vec<KeyOf<'a>>,
    invoices: Vec<InvoiceOf<'a>>,
    /// The months of all, if an allowance is taken from any.
    months: Vec<MonthOf<'a>>,
}

impl<'a, 'r> Asked<'a, 'r> {
    fn by(runs: &'r [Run<'a>]) -> Self {
        let appends = || runs.iter().flatten().copied();
        let limited = appends().filter_map(Append::counted_quota).any(|quota| quota.limit.is_some());
        let mut months = if limited { distinct(appends().filter_map(Known::month)) } else { Vec::new() };
        months.sort_unstable();
        Self {
            runs,
            selectors: runs.iter().filter_map(|run| run.first()).map(|append| &append.chain).collect(),
            keys: distinct(appends().map(Known::key)),
            invoices: distinct(appends().map(Known::invoice)),
            months,
        }
    }
}

/// What the server has of it.
struct Found {
    locked: Vec<Row>,
    heads: Vec<Row>,
    replays: Vec<Row>,
    history: Vec<Row>,
    others: Vec<Row>,
    used: Vec<Row>,
}

async fn read(session: &mut Session, asked: &Asked<'_, '_>, way: Way) -> Result<Found, StoreError> {
    let Asked { runs, selectors, keys, invoices, months } = asked;
    let lock = if runs.len() == 1 { LOCK } else { LOCK_AT_ONCE };
    let [lock, head, replays, history, chains, used] =
        session.prepare([lock, HEAD, REPLAYS, HISTORY, CHAINS, used_by(way)]).await?;
    let named: Vec<Option<Text<100>>> = selectors.iter().map(|selector| named(selector)).collect();
    let (tenants, issuers, producers, systems, installations) = (
        each(selectors, |selector| &selector.tenant),
        each(selectors, |selector| &selector.issuer),
        each(selectors, |selector| &selector.producer),
        each(selectors, |selector| &selector.system),
        each(&named, |named| named),
    );
    let chosen: Parameters<'_> = &[&tenants, &issuers, &producers, &systems, &installations];
    let reads = async {
        together!(
            session.start(),
            async {
                if way == Way::Shared { session.client().batch_execute(SHORT_WAIT).await } else { Ok(()) }
            },
            session.query(&lock, chosen),
            session.query(&head, chosen),
            session.query(
                &replays,
                &[
                    &each(keys, |(tenant, ..)| *tenant),
                    &each(keys, |(_, kind, _)| kind),
                    &keys.iter().map(|(.., key)| *key).collect::<Vec<&str>>(),
                ]
            ),
            session.query(
                &history,
                &[
                    &each(invoices, |(tenant, _)| *tenant),
                    &each(invoices, |(_, invoice)| &invoice.issuer),
                    &each(invoices, |(_, invoice)| &invoice.number),
                    &each(invoices, |(_, invoice)| &invoice.date),
                ]
            ),
            session.query(&chains, &[&tenants, &issuers]),
            async {
                if months.is_empty() { Ok(Vec::new()) } else { on_months(session, &used, months).await }
            },
        )
    };
    let (_, _, locked, heads, replays, history, others, used) = session.trip(reads).await?;
    Ok(Found { locked, heads, replays, history, others, used })
}

/// Gives everybody what was found, and each run its chain.
async fn sort<'a>(
    session: &mut Session,
    asked: &Asked<'a, '_>,
    found: &Found,
    way: Way,
) -> Result<(Known<'a>, Vec<Option<usize>>), StoreError> {
    let mut known = Known::default();
    for (nth, fingerprint, submission) in
        row::all(&found.replays, |cells| Ok((cells.next()?, cells.next()?, table::read_item(cells)?)))?
    {
        let earlier = Replay::Earlier(fingerprint, Box::new(submission));
        known.replays.insert(*row::nth(&asked.keys, nth)?, earlier);
    }
    for (nth, prior) in row::all(&found.history, |cells| Ok((cells.next()?, read_prior(cells)?)))? {
        known.history.entry(*row::nth(&asked.invoices, nth)?).or_default().push(prior);
    }
    known.used = read_used(&found.used, &asked.months)?;
    if known.used.len() < asked.months.len() {
        known.used = open_months(session, &asked.months, way).await?;
    }

    let mut heads: HashMap<u64, Head> =
        row::all(&found.heads, |cells| Ok((cells.next()?, table::read_head(cells)?)))?.into_iter().collect();
    let mut locked: HashMap<u64, ChainRow> =
        row::all(&found.locked, |cells| Ok((cells.next()?, ChainRow::read(cells)?)))?.into_iter().collect();
    let others: Vec<(u64, i64)> = row::all(&found.others, |cells| Ok((cells.next()?, cells.next()?)))?;
    let mut chains = Vec::with_capacity(asked.runs.len());
    for (nth, (run, selector)) in (1..).zip(asked.runs.iter().zip(&asked.selectors)) {
        let row = locked.remove(&nth);
        let left = |append: &&'a Append| {
            !asked.months.is_empty()
                && Known::month(append).is_some_and(|month| !known.used.contains_key(&month))
        };
        if way == Way::Shared && (row.is_none() || run.iter().any(left)) {
            chains.push(None);
            continue;
        }
        let seq = row.as_ref().map(|row| row.seq);
        // One may name the installation that was minted for another.
        let same = |known: &Chain<'_>| seq.is_some() && known.row.as_ref().map(|row| row.seq) == seq;
        let at = known.chains.iter().position(same).unwrap_or_else(|| {
            let several = others.iter().any(|(of, other)| *of == nth && Some(*other) != seq);
            let head = row.as_ref().and_then(|_| heads.remove(&nth));
            known.chains.push(Chain::new(selector, row, head, several));
            known.chains.len() - 1
        });
        chains.push(Some(at));
    }
    if let ([chain], [run]) = (&mut *known.chains, asked.runs)
        && chain.row.is_none()
        && matches!(chain.selector.installation, Installation::Minted(_))
    {
        chain.taken = find_taken(session, chain.selector, run).await?;
    }
    Ok((known, chains))
}

/// Each of them once, in order.
fn distinct<T: Copy + Eq + std::hash::Hash>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    all.filter(|item| seen.insert(*item)).collect()
}

const fn used_by(way: Way) -> &'static str {
    match way {
        Way::Shared => USED_AT_ONCE,
        Way::Alone => USED,
    }
}

async fn on_months(
    session: &Session,
    statement: &Statement,
    months: &[MonthOf<'_>],
) -> Result<Vec<Row>, Error> {
    let texts: Vec<&str> = months.iter().map(|(_, month)| *month).collect();
    session.query(statement, &[&each(months, |(tenant, _)| *tenant), &texts]).await
}

fn read_used<'a>(rows: &[Row], months: &[MonthOf<'a>]) -> Result<HashMap<MonthOf<'a>, u64>, StoreError> {
    let used: Vec<(u64, u64)> = row::all(rows, |cells| Ok((cells.next()?, cells.next()?)))?;
    used.into_iter().map(|(nth, invoices)| Ok((*row::nth(months, nth)?, invoices))).collect()
}

/// A month without a row has nothing to lock, so it gets one; without a new record it goes again.
async fn open_months<'a>(
    session: &mut Session,
    months: &[MonthOf<'a>],
    way: Way,
) -> Result<HashMap<MonthOf<'a>, u64>, StoreError> {
    let [open, used] = session.prepare([NEW_MONTHS, used_by(way)]).await?;
    let reads = async { together!(on_months(session, &open, months), on_months(session, &used, months)) };
    let (_, used) = session.trip(reads).await?;
    read_used(&used, months)
}

/// Which of the texts that were minted are the installations of named chains.
async fn find_taken(
    session: &mut Session,
    selector: &ChainSelector,
    run: &Run<'_>,
) -> Result<Vec<Text<100>>, StoreError> {
    let [taken] = session.prepare([TAKEN]).await?;
    let ChainSelector { tenant, issuer, producer, system, .. } = selector;
    let texts: Vec<&str> = run.iter().map(|append| installation(&append.chain).as_str()).collect();
    let values: Parameters<'_> = &[&Col(tenant), &Col(issuer), producer, &Col(system), &texts];
    let rows = session.trip(session.query(&taken, values)).await?;
    row::all(&rows, Cells::next)
}

fn named(selector: &ChainSelector) -> Option<Text<100>> {
    match &selector.installation {
        Installation::Named(installation) => Some(installation.clone()),
        Installation::Minted(_) => None,
    }
}

/// Reads a row of [`HISTORY`] behind its number.
fn read_prior(cells: &mut Cells<'_>) -> Result<PriorRecord, Unreadable> {
    let (job, kind): (JobId, RecordKind) = (cells.next()?, cells.next()?);
    Ok(PriorRecord::new(job, kind, &table::read_progress(cells)?))
}
