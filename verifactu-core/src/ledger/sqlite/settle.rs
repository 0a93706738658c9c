//! What workers and operators write: messages, settlements, revised jobs, released chains. A worker's
//! epoch is compared inside the transaction that writes.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    job::{JobState, Progress},
    ledger::{
        Attempt, Fenced, Hold, HoldReason, JobUpdate, Lease, NewMessage, Settlement,
        schedule::{self, Turn},
    },
    types::{ChainId, JobId, MessageId, Nif, TenantId},
};

use super::{
    column::{Cells, Col, Json},
    error::StoreError,
    row, webhook,
};

/// The weight of a hold, by the name of its reason.
macro_rules! weight {
    ($reason:literal) => {
        concat!(
            "CASE ",
            $reason,
            " WHEN 'certificate' THEN 1 WHEN 'operator' THEN 2 WHEN 'suspended' THEN 3 ELSE 0 END"
        )
    };
}

/// Whether a hold for this reason takes the place of the chain's.
macro_rules! outweighs {
    ($reason:literal) => {
        concat!("(", weight!($reason), ") > (", weight!("hold_reason"), ")")
    };
}

pub(super) fn open_message(
    store: &Connection,
    lease: Lease,
    message: &NewMessage,
) -> Result<Fenced, StoreError> {
    let Some(chain) = held(store, lease)? else { return Ok(Fenced::Stale) };
    if let Some(known) = find_message(store, message.id)? {
        return if known.chain == chain {
            Ok(Fenced::Done)
        } else {
            Err(StoreError::Contradiction("the message belongs to another chain"))
        };
    }
    store
        .prepare_cached(
            "INSERT INTO message (id, chain, at, digest, incident, slot) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            Col(&message.id),
            chain,
            Col(&message.at),
            message.digest,
            message.incident,
            Col(&message.slot)
        ])?;
    let message_seq = store.last_insert_rowid();
    for (ordinal, (record, xml)) in (0_i64..).zip(&message.records) {
        let record = row::record_seq(store, chain, *record)?
            .ok_or(StoreError::Contradiction("the chain has no such record"))?;
        store
            .prepare_cached("INSERT INTO message_record (message, ordinal, record) VALUES (?1, ?2, ?3)")?
            .execute([message_seq, ordinal, record])?;
        // The first bytes stay: every later sending repeats them.
        store
            .prepare_cached("INSERT INTO sent (record, xml) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
            .execute(params![record, Col(xml)])?;
    }
    update_jobs(store, chain, &message.updates, message.at)?;
    store
        .prepare_cached("UPDATE chain SET last_slot = ?2, updated_at = ?3 WHERE seq = ?1")?
        .execute(params![chain, Col(&message.slot), Col(&message.at)])?;
    Ok(Fenced::Done)
}

pub(super) fn settle(
    store: &Connection,
    lease: Lease,
    settlement: &Settlement,
) -> Result<Fenced, StoreError> {
    let Some(chain) = held(store, lease)? else { return Ok(Fenced::Stale) };
    if let Some(id) = settlement.message {
        let known = find_message(store, id)?.filter(|message| message.chain == chain);
        let message = known.ok_or(StoreError::Contradiction("the chain has no such message"))?;
        if message.settled {
            return Ok(Fenced::Done);
        }
        store
            .prepare_cached("UPDATE message SET settled_at = ?2, answer = ?3 WHERE seq = ?1")?
            .execute(params![message.seq, Col(&settlement.at), Col(&settlement.answer)])?;
    }
    update_jobs(store, chain, &settlement.updates, settlement.at)?;
    let hold = settlement.hold.as_ref();
    store
        .prepare_cached(concat!(
            "UPDATE chain SET next_slot_at = ?2, wait_seconds = ?3, unreachable_count = ?4, \
             hold = CASE WHEN ",
            outweighs!("?6"),
            " THEN ?5 ELSE hold END, hold_reason = CASE WHEN ",
            outweighs!("?6"),
            " THEN ?6 ELSE hold_reason END, updated_at = ?7, suspects = ?8 WHERE seq = ?1"
        ))?
        .execute(params![
            chain,
            Col(&settlement.next_slot_at),
            settlement.wait_seconds,
            settlement.unreachable_count,
            Col(&hold.cloned().map(Json)),
            Col(&hold.map(|hold| hold.reason)),
            Col(&settlement.at),
            Col(&settlement.suspects.map(Json))
        ])?;
    Ok(Fenced::Done)
}

pub(super) fn revise(
    store: &Connection,
    job: JobId,
    seen: &Progress,
    next: &Progress,
) -> Result<bool, StoreError> {
    match row::progress(store, job)? {
        Some((seq, chain, stored)) if stored == *seen => {
            set_progress(store, seq, next)?;
            count_finished(store, chain, change(&stored, next))?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

pub(super) fn hold(
    store: &Connection,
    tenant: &TenantId,
    issuer: Option<Nif>,
    hold: &Hold,
) -> Result<Vec<ChainId>, StoreError> {
    let mut query = store.prepare_cached(concat!(
        "UPDATE chain SET hold = ?3, hold_reason = ?4 WHERE tenant = ?1 AND issuer = ifnull(?2, issuer) AND ",
        outweighs!("?4"),
        " RETURNING id"
    ))?;
    let values = params![Col(tenant), Col(&issuer), Col(&Json(hold.clone())), Col(&hold.reason)];
    sorted(query.query_map(values, |row| Cells::of(row).next())?)
}

pub(super) fn release(
    store: &Connection,
    tenant: &TenantId,
    issuer: Option<Nif>,
    reason: HoldReason,
) -> Result<Vec<ChainId>, StoreError> {
    let mut query = store.prepare_cached(
        "UPDATE chain SET hold = NULL, hold_reason = NULL \
         WHERE tenant = ?1 AND issuer = ifnull(?2, issuer) AND hold_reason = ?3 RETURNING id",
    )?;
    let values = params![Col(tenant), Col(&issuer), Col(&reason)];
    sorted(query.query_map(values, |row| Cells::of(row).next())?)
}

fn sorted(chains: impl Iterator<Item = rusqlite::Result<ChainId>>) -> Result<Vec<ChainId>, StoreError> {
    let mut chains = chains.collect::<Result<Vec<_>, _>>()?;
    chains.sort_unstable();
    Ok(chains)
}

/// The number of the leased chain, if the lease is still the last one.
fn held(store: &Connection, lease: Lease) -> Result<Option<i64>, StoreError> {
    let mut query = store.prepare_cached("SELECT seq FROM chain WHERE id = ?1 AND epoch = ?2")?;
    Ok(query.query_row(params![Col(&lease.chain), Col(&lease.epoch)], |row| row.get(0)).optional()?)
}

struct KnownMessage {
    seq: i64,
    chain: i64,
    settled: bool,
}

fn find_message(store: &Connection, id: MessageId) -> Result<Option<KnownMessage>, StoreError> {
    let mut query =
        store.prepare_cached("SELECT seq, chain, settled_at IS NOT NULL FROM message WHERE id = ?1")?;
    let found = query.query_row([Col(&id)], |row| {
        Ok(KnownMessage { seq: row.get(0)?, chain: row.get(1)?, settled: row.get(2)? })
    });
    Ok(found.optional()?)
}

fn update_jobs(
    store: &Connection,
    chain: i64,
    updates: &[JobUpdate],
    at: Timestamp,
) -> Result<(), StoreError> {
    let mut pending = 0;
    for update in updates {
        let known = row::progress(store, update.job)?.filter(|(_, of, _)| *of == chain);
        let (seq, _, before) = known.ok_or(StoreError::Contradiction("the chain has no such job"))?;
        set_progress(store, seq, &update.progress)?;
        pending += change(&before, &update.progress);
        if update.progress.state.is_final() && !before.state.is_final() {
            webhook::owe(store, chain, update.job, at)?;
        }
        store
            .prepare_cached(
                "UPDATE job SET updated_at = ?2, answer_line = ifnull(?3, answer_line) WHERE seq = ?1",
            )?
            .execute(params![seq, Col(&at), Col(&update.answer_line)])?;
        if let Some(attempt) = &update.attempt {
            insert_attempt(store, seq, attempt)?;
        }
    }
    count_finished(store, chain, pending)
}

fn set_progress(store: &Connection, seq: i64, progress: &Progress) -> Result<(), StoreError> {
    store
        .prepare_cached(
            "UPDATE job SET state = ?2, standing = ?3, attempts = ?4, sent = ?5, next_retry_at = ?6, \
             failure = ?7, csv = ?8, answer = ?9, completed_at = ?10, turn = ?11, due_at = ?12, alone = ?13 \
             WHERE seq = ?1",
        )?
        .execute(params![
            seq,
            Col(&progress.state),
            Col(&progress.standing),
            progress.attempts,
            progress.sent,
            Col(&progress.next_retry_at),
            Col(&progress.failure.clone().map(Json)),
            Col(&progress.csv.clone().map(Json)),
            Col(&progress.answer.clone().map(Json)),
            Col(&progress.completed_at),
            Col(&Turn::of(progress)),
            Col(&schedule::own_time(progress)),
            progress.alone
        ])?;
    Ok(())
}

/// By how much a job's step changes the number of unfinished jobs.
fn change(before: &Progress, after: &Progress) -> i64 {
    let unfinished = |state: JobState| i64::from(!state.is_final());
    unfinished(after.state) - unfinished(before.state)
}

fn count_finished(store: &Connection, chain: i64, change: i64) -> Result<(), StoreError> {
    if change != 0 {
        store
            .prepare_cached("UPDATE chain SET pending = pending + ?2 WHERE seq = ?1")?
            .execute([chain, change])?;
    }
    Ok(())
}

fn insert_attempt(store: &Connection, job: i64, attempt: &Attempt) -> Result<(), StoreError> {
    store
        .prepare_cached(
            "INSERT INTO attempt (job, started_at, duration_ms, outcome, code, message) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            job,
            Col(&attempt.started_at),
            Col(&attempt.duration_ms),
            Col(&attempt.outcome),
            attempt.code,
            Col(&attempt.message)
        ])?;
    Ok(())
}
