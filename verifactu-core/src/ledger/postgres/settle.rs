//! What workers and operators write: messages, settlements, revised jobs, held chains. The chain's row is
//! locked first and a worker's epoch compared under the lock, in the transaction that writes. A worker
//! that was paused for too long so writes nothing, however late its statements arrive.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use jiff::Timestamp;
use tokio_postgres::{Row, Statement};

use crate::{
    job::{AuthorityAnswer, Csv, Failure, FailureClass, Progress},
    ledger::{
        Attempt, Fenced, Hold, HoldReason, JobUpdate, Lease, NewMessage, Settlement,
        schedule::{self, Turn},
        table::{self, progress_columns},
    },
    types::{ChainId, JobId, Nif, RecordId, TenantId},
};

use super::{
    column::{Cells, Col, Json, each},
    error::StoreError,
    pool::{Pool, Session, together},
    row,
    webhook::OWE,
};

const HELD: &str = "SELECT seq, hold FROM chain WHERE id = $1 AND epoch = $2 FOR UPDATE";
const MESSAGE: &str = "SELECT seq, chain, settled_at IS NOT NULL FROM message WHERE id = $1";
const RECORDS: &str = "SELECT r.id, r.seq FROM record r WHERE r.id = ANY ($1) \
                       AND r.chain = (SELECT seq FROM chain WHERE id = $2)";
const JOBS: &str = concat!(
    "SELECT j.id, j.seq, ",
    progress_columns!(),
    " FROM job j WHERE j.id = ANY ($1) AND j.chain = (SELECT seq FROM chain WHERE id = $2)"
);

const OPEN: &str = "WITH opened AS (INSERT INTO message (id, chain, at, digest, incident, slot) \
       VALUES ($1, $2, $3, $4, $5, $6) RETURNING seq) \
     INSERT INTO message_record (message, ordinal, record) SELECT o.seq, n.ordinal - 1, n.record \
     FROM opened o CROSS JOIN unnest($7::bigint[]) WITH ORDINALITY n (record, ordinal)";
/// The first bytes stay: every later sending repeats them.
const SENT: &str = "INSERT INTO sent (record, xml) SELECT * FROM unnest($1::bigint[], $2::bytea[]) \
                    ON CONFLICT DO NOTHING";
const OPENED: &str =
    "UPDATE chain SET last_slot = $2, updated_at = $3, pending = pending + $4 WHERE seq = $1";
const ANSWERED: &str = "UPDATE message SET settled_at = $2, answer = $3 WHERE seq = $1";
const SETTLED: &str = "UPDATE chain SET next_slot_at = $2, wait_seconds = $3, unreachable_count = $4, \
     hold = coalesce($5, hold), hold_reason = coalesce($6, hold_reason), updated_at = $7, suspects = $8, \
     pending = pending + $9 WHERE seq = $1";

const UPDATE: &str = "UPDATE job j SET state = n.state, standing = n.standing, attempts = n.attempts, \
       sent = n.sent, alone = n.alone, next_retry_at = n.next_retry_at, failure = n.failure, \
       failure_class = n.failure_class, failure_code = n.failure_code, csv = n.csv, answer = n.answer, \
       completed_at = n.completed_at, turn = n.turn, due_at = n.due_at, \
       answer_line = coalesce(n.answer_line, j.answer_line), updated_at = coalesce($1, j.updated_at) \
     FROM unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::boolean[], $7::boolean[], \
       $8::bigint[], $9::text[], $10::text[], $11::bigint[], $12::text[], $13::text[], $14::bigint[], \
       $15::text[], $16::bigint[], $17::bytea[]) n (seq, state, standing, attempts, sent, alone, \
       next_retry_at, failure, failure_class, failure_code, csv, answer, completed_at, turn, due_at, \
       answer_line) WHERE j.seq = n.seq";
const ATTEMPTS: &str = "INSERT INTO attempt (job, started_at, duration_ms, outcome, code, message) \
     SELECT job, started_at, duration_ms, outcome, code, message \
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::uuid[]) \
       WITH ORDINALITY n (job, started_at, duration_ms, outcome, code, message, ordinal) ORDER BY ordinal";

pub(super) async fn open_message(
    pool: &Pool,
    lease: Lease,
    message: &NewMessage,
) -> Result<Fenced, StoreError> {
    let mut session = pool.session().await?;
    let [held, known, records, jobs] = session.prepare([HELD, MESSAGE, RECORDS, JOBS]).await?;
    let [open, sent, opened] = session.prepare([OPEN, SENT, OPENED]).await?;
    let write_jobs = JobStatements::prepare(&mut session).await?;
    let chain_id = Col(&lease.chain);
    let reads = async {
        together!(
            session.start(),
            session.query(&held, &[&chain_id, &Col(&lease.epoch)]),
            session.query(&known, &[&Col(&message.id)]),
            session.query(&records, &[&each(&message.records, |(record, _)| record), &chain_id]),
            session.query(&jobs, &[&each(&message.updates, |update| &update.job), &chain_id]),
        )
    };
    let (_, held, known, records, jobs) = session.trip(reads).await?;
    let Some(chain) = row::first(&held, Cells::next::<i64>)? else {
        return stop(session, Fenced::Stale).await;
    };
    if let Some(known) = row::first(&known, KnownMessage::read)? {
        return if known.chain == chain {
            stop(session, Fenced::Done).await
        } else {
            Err(StoreError::Contradiction("the message belongs to another chain"))
        };
    }
    let records: HashMap<RecordId, i64> =
        row::all(&records, |cells| Ok((cells.next()?, cells.next()?)))?.into_iter().collect();
    let mut seqs = Vec::with_capacity(message.records.len());
    for (record, _) in &message.records {
        let seq = records.get(record);
        seqs.push(*seq.ok_or(StoreError::Contradiction("the chain has no such record"))?);
    }
    let changes = Changes::of(&jobs, &message.updates)?;
    let writes = async {
        together!(
            session.query(
                &open,
                &[
                    &Col(&message.id),
                    &chain,
                    &Col(&message.at),
                    &Col(&message.digest),
                    &message.incident,
                    &Col(&message.slot),
                    &seqs,
                ],
            ),
            session.query(&sent, &[&seqs, &each(&message.records, |(_, xml)| xml)]),
            write_jobs.run(&session, chain, &changes, Some(message.at)),
            session.query(&opened, &[&chain, &Col(&message.slot), &Col(&message.at), &changes.unfinished]),
            session.commit(),
        )
    };
    session.last_trip(writes).await?;
    session.release();
    Ok(Fenced::Done)
}

pub(super) async fn settle(pool: &Pool, lease: Lease, settlement: &Settlement) -> Result<Fenced, StoreError> {
    let mut session = pool.session().await?;
    let [held, known, jobs] = session.prepare([HELD, MESSAGE, JOBS]).await?;
    let [answered, settled] = session.prepare([ANSWERED, SETTLED]).await?;
    let write_jobs = JobStatements::prepare(&mut session).await?;
    let chain_id = Col(&lease.chain);
    let reads = async {
        together!(
            session.start(),
            session.query(&held, &[&chain_id, &Col(&lease.epoch)]),
            session.query(&known, &[&Col(&settlement.message)]),
            session.query(&jobs, &[&each(&settlement.updates, |update| &update.job), &chain_id]),
        )
    };
    let (_, held, known, jobs) = session.trip(reads).await?;
    let known_hold = |cells: &mut Cells<'_>| Ok((cells.next::<i64>()?, cells.next::<Option<Json<Hold>>>()?));
    let Some((chain, known_hold)) = row::first(&held, known_hold)? else {
        return stop(session, Fenced::Stale).await;
    };
    let message = row::first(&known, KnownMessage::read)?.filter(|message| message.chain == chain);
    if settlement.message.is_some() {
        let message = message.as_ref().ok_or(StoreError::Contradiction("the chain has no such message"))?;
        if message.settled {
            return stop(session, Fenced::Done).await;
        }
    }
    let changes = Changes::of(&jobs, &settlement.updates)?;
    let known_hold = known_hold.as_ref().map(|Json(hold)| hold);
    let hold = settlement.hold.as_ref().filter(|hold| hold.outweighs(known_hold));
    let writes = async {
        together!(
            session.query(
                &answered,
                &[
                    &message.as_ref().map(|message| message.seq),
                    &Col(&settlement.at),
                    &Col(&settlement.answer),
                ],
            ),
            write_jobs.run(&session, chain, &changes, Some(settlement.at)),
            session.query(
                &settled,
                &[
                    &chain,
                    &Col(&settlement.next_slot_at),
                    &Col(&settlement.wait_seconds),
                    &Col(&settlement.unreachable_count),
                    &Col(&hold.cloned().map(Json)),
                    &Col(&hold.map(|hold| hold.reason)),
                    &Col(&settlement.at),
                    &Col(&settlement.suspects.map(Json)),
                    &changes.unfinished,
                ],
            ),
            session.commit(),
        )
    };
    session.last_trip(writes).await?;
    session.release();
    Ok(Fenced::Done)
}

pub(super) async fn revise(
    pool: &Pool,
    job: JobId,
    seen: &Progress,
    next: &Progress,
) -> Result<bool, StoreError> {
    // The chain comes first, as in every other transaction, so that none waits for the other.
    const CHAIN: &str = "SELECT id FROM chain WHERE seq = (SELECT chain FROM job WHERE id = $1) FOR UPDATE";
    const JOB: &str = concat!("SELECT j.id, j.seq, ", progress_columns!(), " FROM job j WHERE j.id = $1");
    const COUNT: &str = "UPDATE chain SET pending = pending + $2 WHERE id = $1";
    let mut session = pool.session().await?;
    let [chain, known, count] = session.prepare([CHAIN, JOB, COUNT]).await?;
    let write_jobs = JobStatements::prepare(&mut session).await?;
    let id = Col(&job);
    let reads =
        async { together!(session.start(), session.query(&chain, &[&id]), session.query(&known, &[&id])) };
    let (_, chain, known) = session.trip(reads).await?;
    let stored = row::first(&known, read_job)?;
    let (Some(chain), Some((_, (_, stored)))) = (row::first(&chain, Cells::next::<ChainId>)?, stored) else {
        return stop(session, false).await;
    };
    if stored != *seen {
        return stop(session, false).await;
    }
    let update = JobUpdate { job, progress: next.clone(), attempt: None, answer_line: None };
    let changes = Changes::of(&known, &[update])?;
    let writes = async {
        together!(
            write_jobs.update(&session, &changes, None),
            session.query(&count, &[&Col(&chain), &changes.unfinished]),
            session.commit(),
        )
    };
    session.last_trip(writes).await?;
    session.release();
    Ok(true)
}

pub(super) async fn hold(
    pool: &Pool,
    tenant: &TenantId,
    issuer: Option<Nif>,
    hold: &Hold,
) -> Result<Vec<ChainId>, StoreError> {
    const HOLD: &str = "UPDATE chain SET hold = $3, hold_reason = $4 WHERE seq IN (SELECT seq FROM chain \
         WHERE tenant = $1 AND issuer = coalesce($2, issuer) \
         AND (hold_reason IS NULL OR hold_reason <> ALL ($5::text[])) ORDER BY seq FOR UPDATE) RETURNING id";
    let weightier: Vec<HoldReason> =
        HoldReason::ALL.into_iter().filter(|reason| *reason >= hold.reason).collect();
    let held = Json(hold.clone());
    let rows = pool
        .write(
            HOLD,
            &[
                &Col(tenant),
                &Col(&issuer),
                &Col(&held),
                &Col(&hold.reason),
                &each(&weightier, |reason| reason),
            ],
        )
        .await?;
    sorted(&rows)
}

pub(super) async fn release(
    pool: &Pool,
    tenant: &TenantId,
    issuer: Option<Nif>,
    reason: HoldReason,
) -> Result<Vec<ChainId>, StoreError> {
    const RELEASE: &str = "UPDATE chain SET hold = NULL, hold_reason = NULL WHERE seq IN (SELECT seq \
         FROM chain WHERE tenant = $1 AND issuer = coalesce($2, issuer) AND hold_reason = $3 \
         ORDER BY seq FOR UPDATE) RETURNING id";
    sorted(&pool.write(RELEASE, &[&Col(tenant), &Col(&issuer), &Col(&reason)]).await?)
}

fn sorted(rows: &[Row]) -> Result<Vec<ChainId>, StoreError> {
    let mut chains = row::all(rows, Cells::next::<ChainId>)?;
    chains.sort_unstable();
    Ok(chains)
}

/// Ends a transaction in which nothing was to be written.
async fn stop<T>(session: Session, answer: T) -> Result<T, StoreError> {
    session.roll_back().await?;
    Ok(answer)
}

struct KnownMessage {
    seq: i64,
    chain: i64,
    settled: bool,
}

impl KnownMessage {
    fn read(cells: &mut Cells<'_>) -> Result<Self, crate::ledger::column::Unreadable> {
        Ok(Self { seq: cells.next()?, chain: cells.next()?, settled: cells.next()? })
    }
}

/// Reads a row of [`JOBS`].
fn read_job(cells: &mut Cells<'_>) -> Result<(JobId, (i64, Progress)), crate::ledger::column::Unreadable> {
    Ok((cells.next()?, (cells.next()?, table::read_progress(cells)?)))
}

/// What becomes of jobs of one chain.
struct Changes {
    jobs: Vec<JobChange>,
    attempts: Vec<(i64, Attempt)>,
    /// Jobs that become final, in order.
    finished: Vec<JobId>,
    /// By how much the number of unfinished jobs changes.
    unfinished: i64,
}

/// A job's row as it is to be.
struct JobChange {
    seq: i64,
    progress: Progress,
    failure: Option<Json<Failure>>,
    failure_class: Option<Json<FailureClass>>,
    failure_code: Option<i64>,
    csv: Option<Json<Csv>>,
    answer: Option<Json<AuthorityAnswer>>,
    turn: Option<Turn>,
    due_at: Option<Timestamp>,
    answer_line: Option<Bytes>,
}

impl Changes {
    fn of(known: &[Row], updates: &[JobUpdate]) -> Result<Self, StoreError> {
        let mut known: HashMap<JobId, (i64, Progress)> = row::all(known, read_job)?.into_iter().collect();
        let mut jobs = BTreeMap::<i64, JobChange>::new();
        let (mut attempts, mut finished, mut unfinished) = (Vec::new(), Vec::new(), 0);
        for JobUpdate { job, progress, attempt, answer_line } in updates {
            let (seq, stored) =
                known.get_mut(job).ok_or(StoreError::Contradiction("the chain has no such job"))?;
            let was_final = std::mem::replace(stored, progress.clone()).state.is_final();
            unfinished += i64::from(was_final) - i64::from(progress.state.is_final());
            if progress.state.is_final() && !was_final {
                finished.push(*job);
            }
            attempts.extend(attempt.clone().map(|attempt| (*seq, attempt)));
            let earlier_line = jobs.remove(seq).and_then(|earlier| earlier.answer_line);
            jobs.insert(*seq, JobChange::new(*seq, progress, answer_line.clone().or(earlier_line)));
        }
        Ok(Self { jobs: jobs.into_values().collect(), attempts, finished, unfinished })
    }
}

impl JobChange {
    fn new(seq: i64, progress: &Progress, answer_line: Option<Bytes>) -> Self {
        let failure = progress.failure.clone();
        Self {
            seq,
            failure_class: failure.as_ref().map(|failure| Json(failure.class)),
            failure_code: failure.as_ref().and_then(|failure| failure.code),
            failure: failure.map(Json),
            csv: progress.csv.clone().map(Json),
            answer: progress.answer.clone().map(Json),
            turn: Turn::of(progress),
            due_at: schedule::own_time(progress),
            progress: progress.clone(),
            answer_line,
        }
    }
}

struct JobStatements([Statement; 3]);

impl JobStatements {
    async fn prepare(session: &mut Session) -> Result<Self, StoreError> {
        Ok(Self(session.prepare([UPDATE, ATTEMPTS, OWE]).await?))
    }

    /// Writes the changes of a worker: jobs, attempts, and what is owed to a webhook.
    async fn run(
        &self,
        session: &Session,
        chain: i64,
        changes: &Changes,
        at: Option<Timestamp>,
    ) -> Result<(), tokio_postgres::Error> {
        let Self([_, insert, owe]) = self;
        let attempts = &changes.attempts;
        together!(
            self.update(session, changes, at),
            async {
                if attempts.is_empty() {
                    return Ok(Vec::new());
                }
                session
                    .query(
                        insert,
                        &[
                            &each(attempts, |(job, _)| job),
                            &each(attempts, |(_, attempt)| &attempt.started_at),
                            &each(attempts, |(_, attempt)| &attempt.duration_ms),
                            &each(attempts, |(_, attempt)| &attempt.outcome),
                            &each(attempts, |(_, attempt)| &attempt.code),
                            &each(attempts, |(_, attempt)| &attempt.message),
                        ],
                    )
                    .await
            },
            async {
                if changes.finished.is_empty() {
                    return Ok(Vec::new());
                }
                session.query(owe, &[&chain, &each(&changes.finished, |job| job), &Col(&at)]).await
            },
        )
        .map(drop)
    }

    async fn update(
        &self,
        session: &Session,
        changes: &Changes,
        at: Option<Timestamp>,
    ) -> Result<(), tokio_postgres::Error> {
        let Self([update, ..]) = self;
        let jobs = &changes.jobs;
        if jobs.is_empty() {
            return Ok(());
        }
        session
            .query(
                update,
                &[
                    &Col(&at),
                    &each(jobs, |job| &job.seq),
                    &each(jobs, |job| &job.progress.state),
                    &each(jobs, |job| &job.progress.standing),
                    &each(jobs, |job| &job.progress.attempts),
                    &each(jobs, |job| &job.progress.sent),
                    &each(jobs, |job| &job.progress.alone),
                    &each(jobs, |job| &job.progress.next_retry_at),
                    &each(jobs, |job| &job.failure),
                    &each(jobs, |job| &job.failure_class),
                    &each(jobs, |job| &job.failure_code),
                    &each(jobs, |job| &job.csv),
                    &each(jobs, |job| &job.answer),
                    &each(jobs, |job| &job.progress.completed_at),
                    &each(jobs, |job| &job.turn),
                    &each(jobs, |job| &job.due_at),
                    &each(jobs, |job| &job.answer_line),
                ],
            )
            .await
            .map(drop)
    }
}
