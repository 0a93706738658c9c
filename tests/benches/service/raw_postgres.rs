//! The raw engine of the shared ledger: PostgreSQL by itself, which writes the rows of accepted invoices
//! for callers who wait for the commit. What waits for the chains of a connection
//! is taken into one statement, a transaction of its own and one trip to the server.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use harness::postgres_server::connect;
use sha2::{Digest as _, Sha256};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};
use tokio_postgres::{Client, Row, Statement, types::ToSql};
use uuid::Uuid;

use crate::raw::GROUP;

/// The columns that differ between two records, as the statement names them.
const RECORD: &[(&str, &str)] = &[
    ("seq", "n.seq"),
    ("id", "n.record::uuid"),
    ("chain", "n.chain"),
    ("tenant", "n.tenant"),
    ("issuer", "n.issuer"),
    ("position", "n.position"),
    ("number", "n.number"),
    ("huella", "n.huella"),
    ("previous", "n.previous"),
];
const JOB: &[(&str, &str)] = &[
    ("seq", "n.seq"),
    ("id", "n.job::uuid"),
    ("chain", "n.chain"),
    ("tenant", "n.tenant"),
    ("issuer", "n.issuer"),
    ("position", "n.position"),
    ("number", "n.number"),
    ("request", "n.request::uuid"),
];
const IDEMPOTENCY: &[(&str, &str)] =
    &[("tenant", "n.tenant"), ("key", "'key of ' || n.number"), ("job", "n.seq")];
struct Waiting {
    chain: usize,
    number: String,
    answer: oneshot::Sender<()>,
}

/// Appends per second, for so many callers, over so many connections, each with its share of the chains.
pub(crate) async fn load(address: &str, connections: usize, callers: usize, time: Duration, run: u32) -> f64 {
    let client = connect(address).await;
    let query = "SELECT seq, tenant, issuer, length, last_huella FROM chain ORDER BY seq";
    let mut chains: Vec<Chain> = client.query(query, &[]).await.unwrap().iter().map(Chain::read).collect();
    let count = chains.len();
    let (mut writers, mut tasks, mut writers_calls) = (JoinSet::new(), JoinSet::new(), Vec::new());
    while !chains.is_empty() {
        let (calls, waiting) = mpsc::channel::<Waiting>(1024);
        let share = chains.split_off(chains.len().saturating_sub(count.div_ceil(connections)));
        let (address, last) = (address.to_owned(), share[0].seq);
        writers.spawn(async move {
            Writer::open(&address, connections, last, share).await.write_for_ever(waiting).await
        });
        writers_calls.push(calls);
    }
    let (writers_calls, began) = (Arc::new(writers_calls), Instant::now());
    for caller in 0..callers {
        let calls = writers_calls.clone();
        tasks.spawn(async move {
            let mut written = 0_usize;
            while began.elapsed() < time {
                let (answer, answered) = oneshot::channel();
                let (chain, number) =
                    (caller + written * callers, format!("raw-{connections}-{run}-{caller}-{written}"));
                calls[chain % calls.len()].send(Waiting { chain, number, answer }).await.unwrap();
                answered.await.unwrap();
                written += 1;
            }
            written
        });
    }
    drop(writers_calls);
    let written: usize = tasks.join_all().await.into_iter().sum();
    let rate = written as f64 / began.elapsed().as_secs_f64();
    writers.join_all().await;
    rate
}

struct Chain {
    seq: i64,
    tenant: String,
    issuer: String,
    length: i64,
    huella: String,
    number: String,
    /// Records of this transaction.
    added: i64,
}

impl Chain {
    fn read(row: &Row) -> Self {
        let (seq, tenant, issuer) = (row.get(0), row.get(1), row.get(2));
        Self { seq, tenant, issuer, length: row.get(3), huella: row.get(4), number: String::new(), added: 0 }
    }
}

struct Writer {
    client: Client,
    /// Of which this is one.
    connections: usize,
    chains: Vec<Chain>,
    statement: Statement,
}

impl Writer {
    /// For new rows like the last ones of one of the chains.
    async fn open(address: &str, connections: usize, like: i64, chains: Vec<Chain>) -> Self {
        let client = connect(address).await;
        let of_last = format!(
            "WHERE seq = (SELECT max(record.seq) FROM record JOIN chain ON chain.seq = record.chain \
             AND position = length WHERE chain.seq = {like})"
        );
        let record = insert(&client, "record", &of_last, RECORD).await;
        let job = insert(&client, "job", &of_last, JOB).await;
        let of_job = of_last.replacen("seq", "job", 1);
        let idempotency = insert(&client, "idempotency", &of_job, IDEMPOTENCY).await;
        let statement = format!(
            "WITH new AS MATERIALIZED (SELECT nextval('record_number_of') AS seq, u.* FROM unnest($1::text[], \
             $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::bigint[], \
             $9::text[], $10::text[]) \
             u (record, job, request, position, number, huella, previous, chain, tenant, issuer)), \
             changed AS MATERIALIZED (SELECT * FROM unnest($11::bigint[], $12::bigint[], $13::text[], \
             $14::text[], $15::text[]) u (chain, added, huella, number, tenant)), \
             records AS ({record}), jobs AS ({job}), keys AS ({idempotency}), \
             used AS (UPDATE usage u SET invoices = invoices + added FROM changed c \
             WHERE u.tenant = c.tenant), \
             summed AS (UPDATE turnover t SET invoices = invoices + added, base = base + added \
             FROM changed c WHERE t.tenant = c.tenant) \
             UPDATE chain SET length = length + added, last_huella = huella, last_number = number, \
             pending = pending + added FROM changed WHERE seq = changed.chain"
        );
        let plan = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; \
                    SET plan_cache_mode = force_generic_plan";
        client.batch_execute(plan).await.unwrap();
        let statement = client.prepare(&statement).await.unwrap();
        Self { client, connections, chains, statement }
    }

    async fn write_for_ever(mut self, mut waiting: mpsc::Receiver<Waiting>) {
        while let Some(first) = waiting.recv().await {
            let mut group = vec![first];
            while group.len() < GROUP
                && let Ok(next) = waiting.try_recv()
            {
                group.push(next);
            }
            self.write(&group).await;
            for waiting in group {
                let _ = waiting.answer.send(());
            }
        }
    }

    async fn write(&mut self, group: &[Waiting]) {
        let ids = || group.iter().map(|_| Uuid::now_v7().to_string()).collect::<Vec<_>>();
        let (records, jobs, requests) = (ids(), ids(), ids());
        let mut numbers = Vec::new();
        let (mut positions, mut huellas, mut previous) = (Vec::new(), Vec::new(), Vec::new());
        let (mut seqs, mut tenants, mut issuers) = (Vec::new(), Vec::new(), Vec::new());
        let count = self.chains.len();
        for waiting in group {
            let chain = &mut self.chains[waiting.chain / self.connections % count];
            let digest = Sha256::digest(format!("{} {}", chain.seq, waiting.number));
            let huella = digest.iter().map(|byte| format!("{byte:02X}")).collect::<String>();
            previous.push(std::mem::replace(&mut chain.huella, huella.clone()));
            huellas.push(huella);
            (chain.length, chain.added) = (chain.length + 1, chain.added + 1);
            chain.number.clone_from(&waiting.number);
            positions.push(chain.length);
            numbers.push(&*waiting.number);
            seqs.push(chain.seq);
            tenants.push(chain.tenant.clone());
            issuers.push(chain.issuer.clone());
        }
        let changed: Vec<&Chain> = self.chains.iter().filter(|chain| chain.added > 0).collect();
        let texts = |text: fn(&Chain) -> &String| changed.iter().map(|chain| text(chain)).collect::<Vec<_>>();
        let (last, last_numbers) = (texts(|chain| &chain.huella), texts(|chain| &chain.number));
        let changed_tenants = texts(|chain| &chain.tenant);
        let of_changed: Vec<i64> = changed.iter().map(|chain| chain.seq).collect();
        let added: Vec<i64> = changed.iter().map(|chain| chain.added).collect();
        let values: [&(dyn ToSql + Sync); 15] = [
            &records,
            &jobs,
            &requests,
            &positions,
            &numbers,
            &huellas,
            &previous,
            &seqs,
            &tenants,
            &issuers,
            &of_changed,
            &added,
            &last,
            &last_numbers,
            &changed_tenants,
        ];
        self.client.execute(&self.statement, &values).await.unwrap();
        self.chains.iter_mut().for_each(|chain| chain.added = 0);
    }
}

/// An insertion of a row for each of `new`: like the one that is selected, but for some columns.
async fn insert(client: &Client, table: &str, selected: &str, changed: &[(&str, &str)]) -> String {
    let columns = "SELECT column_name::text, udt_name::text FROM information_schema.columns \
                   WHERE table_schema = 'public' AND table_name = $1 AND is_generated = 'NEVER' ORDER BY ordinal_position";
    let columns = client.query(columns, &[&table]).await.unwrap();
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for column in &columns {
        let (name, kind): (String, String) = (column.get(0), column.get(1));
        values.push(match changed.iter().find(|(changed, _)| *changed == name) {
            Some((_, value)) => (*value).to_owned(),
            None => {
                let literal = format!("SELECT format('%L::{kind}', {name}::text) FROM {table} {selected}");
                client.query_one(&literal, &[]).await.unwrap().get(0)
            }
        });
        names.push(name);
    }
    format!("INSERT INTO {table} ({}) SELECT {} FROM new n", names.join(", "), values.join(", "))
}
