//! Appends of one chain in one transaction: a trip to the server that locks the chain and reads what they
//! need, the sealers, and a trip that writes all of them and commits.
//!
//! Each append sees those before it, as if it had come alone. What the reading cannot see is another
//! transaction that writes at the same time: one that makes the same chain, or that uses a key or writes of
//! an invoice on another chain of the account. Then a unique index refuses, all of it is done again,
//! and this time it is seen.

use std::{
    collections::{BTreeMap, HashMap},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use jiff::Timestamp;

use crate::{
    job::{JobKind, Progress},
    ledger::{
        Append, Appended, ChainKey, Head, Installation, JobRow, LedgerError, Place, PriorRecord, RecordRow,
        Submission, Sums,
        column::Unreadable,
        schedule::{self, Turn},
        table::{self, ChainRow, chain_columns, item_columns, progress_columns},
    },
    record::{InvoiceId, RecordKind},
    types::{ChainId, JobId, Nif, Text},
};

use super::{
    column::{Cells, Col, each},
    error::StoreError,
    pool::{Parameters, Pool, Session, repeated, together},
    row,
    work::{due_query, read_due},
};

/// The chain that a selector means, as a condition on `c` with the parameters of [`Selected`].
macro_rules! selected {
    () => {
        "c.tenant = $1 AND c.issuer = $2 AND c.producer = $3 AND c.system = $4 \
         AND CASE WHEN $5::text IS NULL THEN c.minted ELSE c.installation = $5 END"
    };
}

const LOCK: &str = concat!("SELECT ", chain_columns!(), " FROM chain c WHERE ", selected!(), " FOR UPDATE");
const HEAD: &str = concat!(
    "SELECT position, issuer, number, date, huella, generated_at FROM record \
     WHERE chain = (SELECT c.seq FROM chain c WHERE ",
    selected!(),
    ") ORDER BY position DESC LIMIT 1"
);
/// Each key is looked up by itself: left to choose, a planner that knows the tables as they were when they
/// were empty reads all that the account has. The same goes for [`HISTORY`].
const REPLAYS: &str = concat!(
    "SELECT i.kind, i.key, i.fingerprint, ",
    item_columns!(),
    " FROM unnest($2::text[], $3::text[]) asked (kind, key) CROSS JOIN LATERAL \
       (SELECT * FROM idempotency WHERE tenant = $1 AND kind = asked.kind AND key = asked.key LIMIT 1) i \
     JOIN record r ON r.seq = i.job JOIN job j ON j.seq = r.seq JOIN chain c ON c.seq = r.chain \
     LEFT JOIN sent s ON s.record = r.seq"
);
const HISTORY: &str = concat!(
    "SELECT r.issuer, r.number, r.date, j.id, r.kind, ",
    progress_columns!(),
    " FROM (SELECT DISTINCT * FROM unnest($2::text[], $3::text[], $4::text[])) asked (issuer, number, date) \
     CROSS JOIN LATERAL (SELECT * FROM record WHERE tenant = $1 AND issuer = asked.issuer \
       AND number = asked.number AND date = asked.date OFFSET 0) r \
     JOIN job j ON j.seq = r.seq ORDER BY r.seq"
);
/// The account's chains, but not closed ones of the issuer: one other than this is all that is asked for.
const CHAINS: &str = "SELECT seq FROM chain WHERE tenant = $1 AND NOT (closed AND issuer = $2) LIMIT 2";
/// A plan's month is locked, so that no other chain of the account takes the last place meanwhile.
const USED: &str =
    "SELECT month, invoices FROM usage WHERE tenant = $1 AND month = ANY ($2) ORDER BY month FOR UPDATE";
const NEW_MONTHS: &str = "INSERT INTO usage (tenant, month, invoices, cancellations) \
     SELECT $1::text, month, 0, 0 FROM unnest($2::text[]) month ORDER BY month ON CONFLICT DO NOTHING";
const TAKEN: &str = "SELECT installation FROM chain WHERE tenant = $1 AND issuer = $2 AND producer = $3 \
                     AND system = $4 AND installation = ANY ($5)";

/// The month's count first, which an append under a plan has locked already; then its sums, which stop at
/// the ends of 64 bits.
const COUNT: &str = "WITH added AS (INSERT INTO turnover AS known \
       (tenant, month, issuer, invoices, cancellations, base, tax, total) \
       SELECT $1::text, new.* FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], \
         $7::bigint[], $8::bigint[]) new \
       ON CONFLICT (tenant, month, issuer) DO UPDATE SET invoices = known.invoices + excluded.invoices, \
       cancellations = known.cancellations + excluded.cancellations, \
       base = greatest(least(known.base::numeric + excluded.base, 9223372036854775807), \
         -9223372036854775808)::bigint, \
       tax = greatest(least(known.tax::numeric + excluded.tax, 9223372036854775807), \
         -9223372036854775808)::bigint, \
       total = greatest(least(known.total::numeric + excluded.total, 9223372036854775807), \
         -9223372036854775808)::bigint) \
     INSERT INTO usage AS known (tenant, month, invoices, cancellations) \
     SELECT $1::text, month, sum(invoices)::bigint, sum(cancellations)::bigint \
     FROM unnest($2::text[], $4::bigint[], $5::bigint[]) new (month, invoices, cancellations) \
     GROUP BY month ORDER BY month COLLATE \"C\" \
     ON CONFLICT (tenant, month) DO UPDATE SET invoices = known.invoices + excluded.invoices, \
     cancellations = known.cancellations + excluded.cancellations";
const CREATE: &str = "INSERT INTO chain (id, tenant, issuer, producer, system, installation, minted, updated_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
const WRITE: &str = "WITH new AS MATERIALIZED (SELECT nextval('record_number_of') AS seq, n.* \
       FROM unnest($3::bigint[], $4::uuid[], \
       $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::text[], $11::text[], \
       $12::text[], $13::text[], $14::bytea[], $15::bigint[], $16::uuid[], $17::text[], $18::uuid[], \
       $19::bigint[], $20::text[], $21::bytea[], $28::text[]) n (position, record, issuer, number, date, \
       issuer_name, total, external_reference, huella, previous, generated_at, xml, nth, job, kind, \
       request, created_at, key, fingerprint, record_kind)), \
     target AS MATERIALIZED (SELECT seq, tenant FROM chain WHERE id = $1), \
     records AS (INSERT INTO record (seq, id, chain, position, tenant, kind, issuer, number, date, \
         issuer_name, total, external_reference, huella, previous, generated_at, xml, nth) \
       SELECT n.seq, n.record, t.seq, n.position, t.tenant, \
         n.record_kind, n.issuer, n.number, n.date, n.issuer_name, n.total, n.external_reference, n.huella, n.previous, n.generated_at, n.xml, \
         n.nth FROM new n CROSS JOIN target t), \
     jobs AS (INSERT INTO job (seq, id, chain, position, tenant, issuer, number, date, kind, request, state, standing, \
         attempts, sent, created_at, updated_at, turn, due_at) \
       SELECT n.seq, n.job, t.seq, n.position, t.tenant, n.issuer, n.number, n.date, n.kind, n.request, $22::text, $23::text, $24::bigint, $25::boolean, \
         n.created_at, n.created_at, $26::text, $27::bigint FROM new n CROSS JOIN target t), \
     keys AS (INSERT INTO idempotency (tenant, kind, key, fingerprint, job) \
       SELECT t.tenant, n.kind, n.key, n.fingerprint, n.seq FROM new n CROSS JOIN target t) \
     UPDATE chain SET length = length + $2, last_huella = $29, last_number = $30, pending = pending + $2, \
       updated_at = $31 WHERE id = $1";

/// Appends to one chain, in order; there is an answer for each.
pub(super) async fn append_all(pool: &Pool, appends: &[Append]) -> Vec<Result<Appended, LedgerError>> {
    match repeated!(append_together(pool, appends)) {
        Ok(answers) => answers.into_iter().map(|answer| answer.map_err(LedgerError::from)).collect(),
        // An identifier that was given twice is the fault of one, and the others do not suffer from it.
        Err(error) if error.constraint().is_some() && appends.len() > 1 => {
            let mut answers = Vec::with_capacity(appends.len());
            for append in appends {
                answers.extend(Box::pin(append_all(pool, std::slice::from_ref(append))).await);
            }
            answers
        }
        Err(error) => {
            let (kind, error) = (error.kind(), Arc::new(error));
            appends.iter().map(|_| Err(LedgerError::new(kind, error.clone()))).collect()
        }
    }
}

type Answer = Result<Appended, StoreError>;

async fn append_together(pool: &Pool, appends: &[Append]) -> Result<Vec<Answer>, StoreError> {
    let Some(first) = appends.first() else { return Ok(Vec::new()) };
    let mut session = pool.session().await?;
    let mut known = Known::read(&mut session, first, appends).await?;
    let mut answers: Vec<Answer> = appends.iter().map(|append| known.append(append)).collect();
    if known.new.is_empty() {
        session.roll_back().await?;
        return Ok(answers);
    }
    let due = known.write(session, first).await?;
    for (answer, append) in answers.iter_mut().zip(appends) {
        if let Ok(Appended::New { due: at, .. }) = answer {
            *at = due.map(|due| due.max(append.at));
        }
    }
    Ok(answers)
}

/// What is known of the chain and of what the appends ask for; grows with each of them.
struct Known<'a> {
    chain: Option<ChainRow>,
    head: Option<Head>,
    /// The chain that the first new record makes.
    made: Option<(ChainId, ChainKey)>,
    several: bool,
    replays: HashMap<(JobKind, String), ([u8; 32], Submission)>,
    history: HashMap<InvoiceId, Vec<PriorRecord>>,
    used: HashMap<String, u64>,
    taken: Vec<Text<100>>,
    sums: BTreeMap<(&'a str, Nif), Sums>,
    new: Vec<New<'a>>,
}

struct New<'a> {
    append: &'a Append,
    record: RecordRow,
    /// Which of the account's records of its invoice it is, from 1.
    nth: u64,
}

impl<'a> Known<'a> {
    async fn read(session: &mut Session, first: &Append, appends: &[Append]) -> Result<Self, StoreError> {
        let selector = &first.chain;
        let tenant = &selector.tenant;
        let named = match &selector.installation {
            Installation::Named(installation) => Some(installation.clone()),
            Installation::Minted(_) => None,
        };
        let invoices: Vec<&InvoiceId> = appends.iter().map(|append| &append.invoice).collect();
        let mut months: Vec<&str> = appends
            .iter()
            .filter_map(Append::counted_quota)
            .filter(|quota| quota.limit.is_some())
            .map(|quota| quota.month.as_str())
            .collect();
        months.sort_unstable();
        months.dedup();

        let [lock, head, replays, history, chains, used] =
            session.prepare([LOCK, HEAD, REPLAYS, HISTORY, CHAINS, USED]).await?;
        let (tenant_of, issuer, producer, system, installation) =
            (Col(tenant), Col(&selector.issuer), Col(&selector.producer), Col(&selector.system), Col(&named));
        let chosen: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&tenant_of, &issuer, &producer, &system, &installation];
        let reads = async {
            together!(
                session.start(),
                session.query(&lock, &chosen),
                session.query(&head, &chosen),
                session.query(
                    &replays,
                    &[
                        &tenant_of,
                        &each(appends, |append| &append.kind),
                        &each(appends, |append| &append.idempotency.key),
                    ]
                ),
                session.query(
                    &history,
                    &[
                        &tenant_of,
                        &each(&invoices, |invoice| &invoice.issuer),
                        &each(&invoices, |invoice| &invoice.number),
                        &each(&invoices, |invoice| &invoice.date),
                    ]
                ),
                session.query(&chains, &[&tenant_of, &issuer]),
                async {
                    if months.is_empty() {
                        Ok(Vec::new())
                    } else {
                        session.query(&used, &[&tenant_of, &months]).await
                    }
                },
            )
        };
        let (_, chain, head, replays, history, chains, used) = session.trip(reads).await?;

        let chain = row::first(&chain, ChainRow::read)?;
        let others = row::all(&chains, Cells::next::<i64>)?;
        let mut known = Self {
            several: others.iter().any(|seq| chain.as_ref().is_none_or(|chain| chain.seq != *seq)),
            head: row::first(&head, table::read_head)?,
            made: None,
            replays: row::all(&replays, |cells| {
                Ok(((cells.next()?, cells.next()?), (cells.next()?, table::read_item(cells)?)))
            })?
            .into_iter()
            .collect(),
            history: HashMap::new(),
            used: row::all(&used, |cells| Ok((cells.next()?, cells.next()?)))?.into_iter().collect(),
            taken: Vec::new(),
            sums: BTreeMap::new(),
            new: Vec::new(),
            chain,
        };
        for (invoice, prior) in row::all(&history, read_prior)? {
            known.history.entry(invoice).or_default().push(prior);
        }
        if known.used.len() < months.len() {
            known.open_months(session, &tenant_of, &months).await?;
        }
        if known.chain.is_none() && named.is_none() {
            known.find_taken(session, &chosen[..4], appends).await?;
        }
        Ok(known)
    }

    /// A month without a row has nothing to lock, so it gets one; without a new record it goes again.
    async fn open_months(
        &mut self,
        session: &mut Session,
        tenant: &(dyn tokio_postgres::types::ToSql + Sync),
        months: &[&str],
    ) -> Result<(), StoreError> {
        let [open, used] = session.prepare([NEW_MONTHS, USED]).await?;
        let reads = async {
            together!(session.query(&open, &[tenant, &months]), session.query(&used, &[tenant, &months]))
        };
        let (_, used) = session.trip(reads).await?;
        self.used = row::all(&used, |cells| Ok((cells.next()?, cells.next()?)))?.into_iter().collect();
        Ok(())
    }

    /// Which of the texts that were minted are the installations of named chains.
    async fn find_taken(
        &mut self,
        session: &mut Session,
        chosen: &[&(dyn tokio_postgres::types::ToSql + Sync)],
        appends: &[Append],
    ) -> Result<(), StoreError> {
        let [taken] = session.prepare([TAKEN]).await?;
        let texts: Vec<&str> = appends.iter().map(|append| installation(append).as_str()).collect();
        let mut parameters = chosen.to_vec();
        parameters.push(&texts);
        let rows = session.trip(session.query(&taken, &parameters)).await?;
        self.taken = row::all(&rows, Cells::next)?;
        Ok(())
    }

    /// One append, behind all before it.
    fn append(&mut self, append: &'a Append) -> Answer {
        let replay = (append.kind, append.idempotency.key.clone());
        if let Some((fingerprint, submission)) = self.replays.get(&replay) {
            let submission = Box::new(submission.clone());
            return Ok(Appended::Replay { fingerprint: *fingerprint, submission });
        }
        let history = self.history.get(&append.invoice).cloned().unwrap_or_default();
        if !append.repeats_invoice
            && let Some(last) = history.last()
        {
            let alta = history.iter().rfind(|prior| prior.kind == RecordKind::Invoice);
            return Ok(Appended::AlreadySubmitted(alta.unwrap_or(last).job));
        }
        if let Some(quota) = append.counted_quota() {
            let used = self.used.get(&quota.month).copied().unwrap_or_default();
            if quota.limit.is_some_and(|limit| used >= limit) {
                return Ok(Appended::QuotaReached { used });
            }
        }
        if self.chain.as_ref().is_some_and(|chain| chain.state.closed) {
            return Ok(Appended::Closed);
        }
        let (id, key) = self.target(append)?;
        let place = Place { key, head: self.head.clone(), several_chains: self.several, history };
        // The sealer is not ours. If it panics, that is the end of this append alone.
        let sealed = catch_unwind(AssertUnwindSafe(|| (append.seal)(&place)))
            .map_err(|_| StoreError::Contradiction("the call panicked"))?;
        let sealed = match sealed {
            Ok(sealed) => sealed,
            Err(refusal) => return Ok(Appended::Refused(refusal)),
        };
        place.check(append.kind, &append.invoice, &sealed)?;
        Ok(self.take(append, id, place, sealed))
    }

    /// The chain that the append goes to.
    fn target(&self, append: &Append) -> Result<(ChainId, ChainKey), StoreError> {
        if let Some(made) = &self.made {
            return Ok(made.clone());
        }
        let Some(chain) = &self.chain else {
            let installation = installation(append).clone();
            if self.taken.contains(&installation) {
                return Err(StoreError::Contradiction("the new installation is taken"));
            }
            let selector = &append.chain;
            let key = ChainKey {
                tenant: selector.tenant.clone(),
                issuer: selector.issuer,
                producer: selector.producer.clone(),
                system: selector.system,
                installation,
            };
            // A chain bears the identifier of its first record.
            return Ok((ChainId(append.record.0), key));
        };
        if self.new.is_empty() && !chain.ends_with(self.head.as_ref()) {
            return Err(StoreError::Contradiction("the chain's last record is not the one its head names"));
        }
        Ok((chain.state.id, chain.state.key.clone()))
    }

    /// What the record changes for those behind it.
    fn take(
        &mut self,
        append: &'a Append,
        chain: ChainId,
        place: Place,
        sealed: crate::ledger::Sealed,
    ) -> Appended {
        if let Some((month, sums)) = append.counted(&sealed) {
            let known = self.sums.entry((month, append.invoice.issuer)).or_default();
            *known = known.plus(sums);
            if let Some(used) = self.used.get_mut(month) {
                *used += sums.invoices;
            }
        }
        let record = RecordRow::sealed(append.record, chain, &place, sealed);
        let job = JobRow {
            id: append.job,
            tenant: append.chain.tenant.clone(),
            kind: append.kind,
            request: append.request,
            progress: Progress::new(),
            created_at: append.at,
            updated_at: append.at,
        };
        if self.chain.is_none() {
            self.made = Some((chain, place.key));
        }
        self.head = Some(Head {
            position: record.position,
            invoice: record.invoice.clone(),
            huella: record.huella,
            generated_at: record.generated_at.clone(),
        });
        let prior = PriorRecord::new(job.id, record.kind, &job.progress);
        let history = self.history.entry(append.invoice.clone()).or_default();
        history.push(prior);
        let nth = history.len() as u64;
        let submission = Submission { job, record: record.clone() };
        let Append { kind, idempotency, .. } = append;
        self.replays.insert((*kind, idempotency.key.clone()), (idempotency.fingerprint, submission.clone()));
        self.new.push(New { append, record, nth });
        Appended::New { submission: Box::new(submission), due: None }
    }

    /// Writes what is new, and says when the chain is due then.
    async fn write(self, mut session: Session, first: &Append) -> Result<Option<Timestamp>, StoreError> {
        let Self { new, sums, made, .. } = &self;
        let Some(last) = new.last() else { return Ok(None) };
        let selector = &first.chain;
        let chain = last.record.chain;
        let progress = Progress::new();
        let minted = matches!(selector.installation, Installation::Minted(_));
        let count = new.len() as i64;

        let [count_sums, create, write, due] =
            session.prepare([COUNT, CREATE, WRITE, due_query!("c.id = $1")]).await?;
        let months: Vec<&str> = sums.keys().map(|(month, _)| *month).collect();
        let issuers: Vec<&Nif> = sums.keys().map(|(_, issuer)| issuer).collect();
        let totals: Vec<&Sums> = sums.values().collect();
        let [base, tax, total] =
            [|sums: &Sums| sums.base.0, |sums: &Sums| sums.tax.0, |sums: &Sums| sums.total.0]
                .map(|part| totals.iter().map(|sums| part(sums)).collect::<Vec<i64>>());
        let tenant = Col(&selector.tenant);
        let writes = async {
            together!(
                async {
                    if totals.is_empty() {
                        return Ok(());
                    }
                    let sums: Parameters<'_> = &[
                        &tenant,
                        &months,
                        &each(&issuers, |issuer| *issuer),
                        &each(&totals, |sums| &sums.invoices),
                        &each(&totals, |sums| &sums.cancellations),
                        &base,
                        &tax,
                        &total,
                    ];
                    session.query(&count_sums, sums).await.map(drop)
                },
                async {
                    let Some((_, key)) = made else { return Ok(()) };
                    let chain: Parameters<'_> = &[
                        &Col(&chain),
                        &tenant,
                        &Col(&selector.issuer),
                        &Col(&selector.producer),
                        &Col(&selector.system),
                        &Col(&key.installation),
                        &minted,
                        &Col(&last.append.at),
                    ];
                    session.query(&create, chain).await.map(drop)
                },
                session.query(
                    &write,
                    &[
                        &Col(&chain),
                        &count,
                        &each(new, |new| &new.record.position),
                        &each(new, |new| &new.record.id),
                        &each(new, |new| &new.record.invoice.issuer),
                        &each(new, |new| &new.record.invoice.number),
                        &each(new, |new| &new.record.invoice.date),
                        &each(new, |new| &new.record.issuer_name),
                        &each(new, |new| &new.record.total),
                        &each(new, |new| &new.record.external_reference),
                        &each(new, |new| &new.record.huella),
                        &each(new, |new| &new.record.previous),
                        &each(new, |new| &new.record.generated_at),
                        &each(new, |new| &new.record.xml),
                        &each(new, |new| &new.nth),
                        &each(new, |new| &new.append.job),
                        &each(new, |new| &new.append.kind),
                        &each(new, |new| &new.append.request),
                        &each(new, |new| &new.append.at),
                        &each(new, |new| &new.append.idempotency.key),
                        &each(new, |new| &new.append.idempotency.fingerprint),
                        &Col(&progress.state),
                        &Col(&progress.standing),
                        &Col(&progress.attempts),
                        &progress.sent,
                        &Col(&Turn::of(&progress)),
                        &Col(&schedule::own_time(&progress)),
                        &each(new, |new| &new.record.kind),
                        &Col(&last.record.huella),
                        &Col(&last.record.invoice.number),
                        &Col(&last.append.at),
                    ],
                ),
                session.query(&due, &[&Col(&chain)]),
                session.commit(),
            )
        };
        let (.., due, ()) = session.last_trip(writes).await?;
        session.release();
        let due = due.first().map(|row| read_due(&mut Cells::of(row))).transpose()?;
        Ok(due.and_then(|(_, at)| at))
    }
}

/// Reads a row of [`HISTORY`].
fn read_prior(cells: &mut Cells<'_>) -> Result<(InvoiceId, PriorRecord), Unreadable> {
    let invoice = table::read_invoice(cells)?;
    let (job, kind): (JobId, RecordKind) = (cells.next()?, cells.next()?);
    Ok((invoice, PriorRecord::new(job, kind, &table::read_progress(cells)?)))
}

/// The installation that the caller names, or has minted.
const fn installation(append: &Append) -> &Text<100> {
    match &append.chain.installation {
        Installation::Named(installation) | Installation::Minted(installation) => installation,
    }
}
