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
        Append, Appended, ChainSelector, Installation, LedgerError, PriorRecord,
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
            "SELECT c.*, asked.nth ",
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
/// How long a transaction for several chains waits for any other lock.
const SHORT_WAIT: &str = "SET LOCAL lock_timeout = '200ms'";
const HEAD: &str = concat!(
    "SELECT r.*, asked.nth ",
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
     JOIN record r ON r.seq = i.job JOIN job j ON j.seq = r.seq JOIN chain c ON c.seq = r.chain \
     LEFT JOIN sent s ON s.record = r.seq"
);
const HISTORY: &str = concat!(
    "SELECT asked.nth, j.id, r.kind, ",
    progress_columns!(),
    " FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY \
       asked (tenant, issuer, number, date, nth) \
     CROSS JOIN LATERAL (SELECT * FROM record WHERE tenant = asked.tenant AND issuer = asked.issuer \
       AND number = asked.number AND date = asked.date OFFSET 0) r \
     JOIN job j ON j.seq = r.seq ORDER BY r.seq"
);
/// The account's chains, but not closed ones of the issuer: one other than this is all that is asked for.
const CHAINS: &str = "SELECT asked.nth, c.seq FROM unnest($1::text[], $2::text[]) WITH ORDINALITY \
                        asked (tenant, issuer, nth) \
                      CROSS JOIN LATERAL (SELECT seq FROM chain WHERE tenant = asked.tenant \
                        AND NOT (closed AND issuer = asked.issuer) LIMIT 2) c";
/// A plan's month is locked, so that no other chain of the account takes the last place meanwhile. Months
/// are locked in one order everywhere.
const USED: &str = "SELECT asked.nth, u.invoices FROM unnest($1::text[], $2::text[]) WITH ORDINALITY \
                      asked (tenant, month, nth) \
                    CROSS JOIN LATERAL (SELECT invoices FROM usage WHERE tenant = asked.tenant \
                      AND month = asked.month FOR UPDATE) u";
const NEW_MONTHS: &str = "INSERT INTO usage (tenant, month, invoices, cancellations) \
     SELECT tenant, month, 0, 0 FROM unnest($1::text[], $2::text[]) asked (tenant, month) \
     ON CONFLICT DO NOTHING";
const TAKEN: &str = "SELECT installation FROM chain WHERE tenant = $1 AND issuer = $2 AND producer = $3 \
                     AND system = $4 AND installation = ANY ($5)";

pub(super) type Answer = Result<Appended, LedgerError>;

/// Whether chains share the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Several, of which none is made or waited for.
    Together,
    /// One.
    Alone,
}

/// Appends to several chains, a run to each, in order. `None` for a run that has to be done
/// [alone](append_alone).
pub(super) async fn append_together(pool: &Pool, runs: &[&[Append]]) -> Vec<Option<Vec<Answer>>> {
    match repeated!(append(pool, runs, Way::Together)) {
        Ok(answers) => answers,
        Err(error) if error.may_concern_one() => runs.iter().map(|_| None).collect(),
        Err(error) => {
            let error = Shared::from(error);
            runs.iter().map(|run| Some(run.iter().map(|_| Err(error.error())).collect())).collect()
        }
    }
}

/// Appends to one chain, in order; there is an answer for each.
pub(super) async fn append_alone(pool: &Pool, run: &[Append]) -> Vec<Answer> {
    match repeated!(append(pool, &[run], Way::Alone)) {
        Ok(answers) => answers.into_iter().flatten().flatten().collect(),
        // An identifier that was given twice is the fault of one, and the others do not suffer from it.
        Err(error) if error.constraint().is_some() && run.len() > 1 => {
            let mut answers = Vec::with_capacity(run.len());
            for append in run {
                answers.extend(Box::pin(append_alone(pool, std::slice::from_ref(append))).await);
            }
            answers
        }
        Err(error) => {
            let error = Shared::from(error);
            run.iter().map(|_| Err(error.error())).collect()
        }
    }
}

async fn append(pool: &Pool, runs: &[&[Append]], way: Way) -> Result<Vec<Option<Vec<Answer>>>, StoreError> {
    let mut session = pool.session().await?;
    let (mut known, chains) = read(&mut session, runs, way).await?;
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
        Outcome::New => new.next().map_or(Err(StoreError::Contradiction("a record got lost")), |new| {
            let due = due.get(&new.submission.record.chain).copied().flatten();
            Ok(Appended::New { submission: new.submission, due: due.map(|due| due.max(new.append.at)) })
        }),
        Outcome::Known(answer) => answer,
    };
    let mut answers =
        |run: Vec<Outcome>| run.into_iter().map(|outcome| Ok(answer(outcome)?)).collect::<Vec<Answer>>();
    Ok(outcomes.into_iter().map(|run| run.map(&mut answers)).collect())
}

/// Reads what the appends need, and which of the chains each run belongs to.
async fn read<'a>(
    session: &mut Session,
    runs: &[&'a [Append]],
    way: Way,
) -> Result<(Known<'a>, Vec<Option<usize>>), StoreError> {
    let appends = || runs.iter().copied().flatten();
    let selectors: Vec<&ChainSelector> =
        runs.iter().filter_map(|run| run.first()).map(|append| &append.chain).collect();
    let named: Vec<Option<Text<100>>> = selectors.iter().map(|selector| named(selector)).collect();
    let keys: Vec<KeyOf<'a>> = distinct(appends().map(Known::key));
    let invoices: Vec<InvoiceOf<'a>> = distinct(appends().map(Known::invoice));
    let limited = appends().filter_map(Append::counted_quota).any(|quota| quota.limit.is_some());
    let mut months: Vec<MonthOf<'a>> =
        if limited { distinct(appends().filter_map(Known::month)) } else { Vec::new() };
    months.sort_unstable();

    let statement = if runs.len() == 1 { LOCK } else { LOCK_AT_ONCE };
    let [lock, head, replays, history, chains, used] =
        session.prepare([statement, HEAD, REPLAYS, HISTORY, CHAINS, USED]).await?;
    let (tenants, issuers, producers, systems, installations) = (
        each(&selectors, |selector| &selector.tenant),
        each(&selectors, |selector| &selector.issuer),
        each(&selectors, |selector| &selector.producer),
        each(&selectors, |selector| &selector.system),
        each(&named, |named| named),
    );
    let asked: Parameters<'_> = &[&tenants, &issuers, &producers, &systems, &installations];
    let reads = async {
        together!(
            session.start(),
            async {
                if way == Way::Together { session.client().batch_execute(SHORT_WAIT).await } else { Ok(()) }
            },
            session.query(&lock, asked),
            session.query(&head, asked),
            session.query(
                &replays,
                &[
                    &each(&keys, |(tenant, ..)| *tenant),
                    &each(&keys, |(_, kind, _)| kind),
                    &keys.iter().map(|(.., key)| *key).collect::<Vec<&str>>(),
                ]
            ),
            session.query(
                &history,
                &[
                    &each(&invoices, |(tenant, _)| *tenant),
                    &each(&invoices, |(_, invoice)| &invoice.issuer),
                    &each(&invoices, |(_, invoice)| &invoice.number),
                    &each(&invoices, |(_, invoice)| &invoice.date),
                ]
            ),
            session.query(&chains, &[&tenants, &issuers]),
            async {
                if months.is_empty() { Ok(Vec::new()) } else { lock_months(session, &used, &months).await }
            },
        )
    };
    let (_, _, locked, heads, replays, history, others, used) = session.trip(reads).await?;

    let mut known = Known::default();
    for (nth, fingerprint, submission) in
        row::all(&replays, |cells| Ok((cells.next::<u64>()?, cells.next()?, table::read_item(cells)?)))?
    {
        known.replays.insert(*nth_of(&keys, nth)?, Replay::Earlier(fingerprint, Box::new(submission)));
    }
    for (nth, prior) in row::all(&history, |cells| Ok((cells.next()?, read_prior(cells)?)))? {
        known.history.entry(*nth_of(&invoices, nth)?).or_default().push(prior);
    }
    known.used = read_used(&used, &months)?;
    if known.used.len() < months.len() {
        known.used = open_months(session, &months).await?;
    }

    let mut heads: HashMap<u64, _> = row::all(&heads, |cells| Ok((table::read_head(cells)?, cells.next()?)))?
        .into_iter()
        .map(|(head, nth)| (nth, head))
        .collect();
    let mut locked: HashMap<u64, ChainRow> =
        row::all(&locked, |cells| Ok((ChainRow::read(cells)?, cells.next()?)))?
            .into_iter()
            .map(|(chain, nth)| (nth, chain))
            .collect();
    let others: Vec<(u64, i64)> = row::all(&others, |cells| Ok((cells.next()?, cells.next()?)))?;
    let mut chains = Vec::with_capacity(selectors.len());
    for (nth, selector) in (1..).zip(selectors) {
        let row = locked.remove(&nth);
        if row.is_none() && way == Way::Together {
            chains.push(None);
            continue;
        }
        let seq = row.as_ref().map(|row| row.seq);
        // One may name the installation that was minted for another.
        let same = |known: &Chain<'_>| seq.is_some() && known.row.as_ref().map(|row| row.seq) == seq;
        let at = known.chains.iter().position(same).unwrap_or_else(|| {
            let several = others.iter().any(|(of, other)| *of == nth && Some(*other) != seq);
            known.chains.push(Chain::new(selector, row, heads.remove(&nth), several));
            known.chains.len() - 1
        });
        chains.push(Some(at));
    }
    if let ([chain], [run]) = (&mut *known.chains, runs)
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

/// What the server speaks of by its place in a list.
fn nth_of<T>(asked: &[T], nth: u64) -> Result<&T, StoreError> {
    let at = usize::try_from(nth).ok().and_then(|nth| nth.checked_sub(1));
    at.and_then(|at| asked.get(at)).ok_or(StoreError::Contradiction("the server answers what was not asked"))
}

async fn lock_months(
    session: &Session,
    statement: &Statement,
    months: &[MonthOf<'_>],
) -> Result<Vec<Row>, Error> {
    let texts: Vec<&str> = months.iter().map(|(_, month)| *month).collect();
    session.query(statement, &[&each(months, |(tenant, _)| *tenant), &texts]).await
}

fn read_used<'a>(rows: &[Row], months: &[MonthOf<'a>]) -> Result<HashMap<MonthOf<'a>, u64>, StoreError> {
    let used: Vec<(u64, u64)> = row::all(rows, |cells| Ok((cells.next()?, cells.next()?)))?;
    used.into_iter().map(|(nth, invoices)| Ok((*nth_of(months, nth)?, invoices))).collect()
}

/// A month without a row has nothing to lock, so it gets one; without a new record it goes again.
async fn open_months<'a>(
    session: &mut Session,
    months: &[MonthOf<'a>],
) -> Result<HashMap<MonthOf<'a>, u64>, StoreError> {
    let [open, used] = session.prepare([NEW_MONTHS, USED]).await?;
    let reads = async { together!(lock_months(session, &open, months), lock_months(session, &used, months)) };
    let (_, used) = session.trip(reads).await?;
    read_used(&used, months)
}

/// Which of the texts that were minted are the installations of named chains.
async fn find_taken(
    session: &mut Session,
    selector: &ChainSelector,
    run: &[Append],
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
