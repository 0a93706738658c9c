//! The trip that writes new records, counts them, and commits.

use std::collections::HashMap;

use jiff::Timestamp;
use tokio_postgres::{Error, Statement};

use crate::{
    job::Progress,
    ledger::{
        ChainSelector, Installation, Sums,
        schedule::{self, Turn},
    },
    types::ChainId,
};

use super::{
    accept::{Chain, Known, New},
    column::{Cells, Col, each},
    error::StoreError,
    pool::{Parameters, Session, together},
    work::{due_query, read_due},
};

/// The months' counts first, which an append under a plan has locked already; then their sums, which stop
/// at the ends of 64 bits.
const COUNT: &str = "WITH added AS (INSERT INTO turnover AS known \
       (tenant, month, issuer, invoices, cancellations, base, tax, total) \
       SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], \
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
     SELECT tenant, month, sum(invoices)::bigint, sum(cancellations)::bigint \
     FROM unnest($1::text[], $2::text[], $4::bigint[], $5::bigint[]) \
       new (tenant, month, invoices, cancellations) \
     GROUP BY tenant, month ORDER BY tenant COLLATE \"C\", month COLLATE \"C\" \
     ON CONFLICT (tenant, month) DO UPDATE SET invoices = known.invoices + excluded.invoices, \
     cancellations = known.cancellations + excluded.cancellations";
const CREATE: &str = "INSERT INTO chain (id, tenant, issuer, producer, system, installation, minted, updated_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
/// Numbers are drawn in the order of the list.
const WRITE: &str = "WITH new AS MATERIALIZED (SELECT nextval('record_number_of') AS seq, n.*, t.* \
       FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], \
         $8::bigint[], $9::text[], $10::text[], $11::text[], $12::text[], $13::bytea[], $14::bigint[], \
         $15::text[], $16::uuid[], $17::text[], $18::uuid[], $19::bigint[], $20::text[], $21::bytea[]) \
         n (chain_id, position, record, issuer, number, date, issuer_name, total, external_reference, huella, \
           previous, generated_at, xml, nth, record_kind, job, kind, request, created_at, key, fingerprint) \
       CROSS JOIN LATERAL (SELECT seq, tenant FROM chain WHERE id = n.chain_id LIMIT 1) t (chain, tenant)), \
     records AS (INSERT INTO record (seq, id, chain, position, tenant, kind, issuer, number, date, \
         issuer_name, total, external_reference, huella, previous, generated_at, xml, nth) \
       SELECT seq, record, chain, position, tenant, record_kind, issuer, number, date, issuer_name, total, \
         external_reference, huella, previous, generated_at, xml, nth FROM new), \
     jobs AS (INSERT INTO job (seq, id, chain, position, tenant, issuer, number, date, kind, request, state, \
         standing, attempts, sent, created_at, updated_at, turn, due_at) \
       SELECT seq, job, chain, position, tenant, issuer, number, date, kind, request, $22::text, $23::text, \
         $24::bigint, $25::boolean, created_at, created_at, $26::text, $27::bigint FROM new), \
     keys AS (INSERT INTO idempotency (tenant, kind, key, fingerprint, job) \
       SELECT tenant, kind, key, fingerprint, seq FROM new) \
     UPDATE chain SET length = length + added, last_huella = huella, last_number = number, \
       pending = pending + added, updated_at = at \
     FROM unnest($28::uuid[], $29::bigint[], $30::text[], $31::text[], $32::bigint[]) \
       changed (chain_id, added, huella, number, at) WHERE id = chain_id AND id = ANY ($28)";

/// Writes what is new, and says when the chains are due then.
pub(super) async fn write(
    mut session: Session,
    known: &Known<'_>,
) -> Result<HashMap<ChainId, Option<Timestamp>>, StoreError> {
    let [count, create, write, due] =
        session.prepare([COUNT, CREATE, WRITE, due_query!("c.id = ANY ($1)")]).await?;
    let changed: Vec<Changed<'_>> = known
        .chains
        .iter()
        .filter(|chain| chain.added > 0)
        .map(|chain| Changed { chain, last: &known.new[chain.last] })
        .collect();
    let chains = each(&changed, |changed| &changed.last.submission.record.chain);
    let writes = async {
        together!(
            count_sums(&session, &count, known),
            create_chain(&session, &create, &changed),
            write_records(&session, &write, &known.new, &changed),
            session.query(&due, &[&chains]),
            session.commit(),
        )
    };
    let (.., due, ()) = session.last_trip(writes).await?;
    session.release();
    // All is written; a chain whose time cannot be read is found by the sweep.
    Ok(due.iter().filter_map(|row| StoreError::unless_damaged(read_due(&mut Cells::of(row)))).collect())
}

/// A chain with the last of its new records.
struct Changed<'a> {
    chain: &'a Chain<'a>,
    last: &'a New<'a>,
}

async fn count_sums(session: &Session, statement: &Statement, known: &Known<'_>) -> Result<(), Error> {
    if known.sums.is_empty() {
        return Ok(());
    }
    let months: Vec<_> = known.sums.keys().collect();
    let sums: Vec<&Sums> = known.sums.values().collect();
    let [base, tax, total] =
        [|sums: &Sums| sums.base.0, |sums: &Sums| sums.tax.0, |sums: &Sums| sums.total.0]
            .map(|part| sums.iter().map(|sums| part(sums)).collect::<Vec<i64>>());
    let values: Parameters<'_> = &[
        &each(&months, |((tenant, _), _)| *tenant),
        &months.iter().map(|((_, month), _)| *month).collect::<Vec<&str>>(),
        &each(&months, |(_, issuer)| issuer),
        &each(&sums, |sums| &sums.invoices),
        &each(&sums, |sums| &sums.cancellations),
        &base,
        &tax,
        &total,
    ];
    session.query(statement, values).await.map(drop)
}

async fn create_chain(
    session: &Session,
    statement: &Statement,
    changed: &[Changed<'_>],
) -> Result<(), Error> {
    let made = changed.iter().find_map(|Changed { chain, last }| Some((chain, last, chain.made.as_ref()?)));
    let Some((chain, last, (id, key))) = made else { return Ok(()) };
    let ChainSelector { tenant, issuer, producer, system, installation } = chain.selector;
    let values: Parameters<'_> = &[
        &Col(id),
        &Col(tenant),
        &Col(issuer),
        producer,
        &Col(system),
        &Col(&key.installation),
        &matches!(installation, Installation::Minted(_)),
        &Col(&last.append.at),
    ];
    session.query(statement, values).await.map(drop)
}

async fn write_records(
    session: &Session,
    statement: &Statement,
    new: &[New<'_>],
    changed: &[Changed<'_>],
) -> Result<(), Error> {
    let progress = Progress::new();
    let values: Parameters<'_> = &[
        &each(new, |new| &new.submission.record.chain),
        &each(new, |new| &new.submission.record.position),
        &each(new, |new| &new.submission.record.id),
        &each(new, |new| &new.submission.record.invoice.issuer),
        &each(new, |new| &new.submission.record.invoice.number),
        &each(new, |new| &new.submission.record.invoice.date),
        &each(new, |new| &new.submission.record.issuer_name),
        &each(new, |new| &new.submission.record.total),
        &each(new, |new| &new.submission.record.external_reference),
        &each(new, |new| &new.submission.record.huella),
        &each(new, |new| &new.submission.record.previous),
        &each(new, |new| &new.submission.record.generated_at),
        &each(new, |new| &new.submission.record.xml),
        &each(new, |new| &new.nth),
        &each(new, |new| &new.submission.record.kind),
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
        &each(changed, |changed| &changed.last.submission.record.chain),
        &each(changed, |changed| &changed.chain.added),
        &each(changed, |changed| &changed.last.submission.record.huella),
        &each(changed, |changed| &changed.last.submission.record.invoice.number),
        &each(changed, |changed| &changed.last.append.at),
    ];
    session.query(statement, values).await.map(drop)
}
