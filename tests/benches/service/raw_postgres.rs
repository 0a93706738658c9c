//! The raw engine of the shared ledger: PostgreSQL by itself, which writes the rows of accepted invoices
//! for callers who wait for the commit. A connection for each chain takes what waits into one statement,
//! a transaction of its own and one trip to the server.

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
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

use crate::raw::GROUP;

/// The columns that differ between two records of a chain, as the statement names them.
const RECORD: &[(&str, &str)] = &[
    ("seq", "n.seq"),
    ("id", "n.record::uuid"),
    ("position", "n.position"),
    ("number", "n.number"),
    ("huella", "n.huella"),
    ("previous", "n.previous"),
];
const JOB: &[(&str, &str)] = &[
    ("seq", "n.seq"),
    ("id", "n.job::uuid"),
    ("position", "n.position"),
    ("number", "n.number"),
    ("request", "n.request::uuid"),
];
const IDEMPOTENCY: &[(&str, &str)] = &[("key", "'key of ' || n.number"), ("job", "n.seq")];

type Waiting = (String, oneshot::Sender<()>);

/// Appends per second, for so many callers.
pub(crate) async fn load(address: &str, callers: usize, time: Duration, run: u32) -> f64 {
    let client = connect(address).await;
    let chains = client.query("SELECT seq FROM chain", &[]).await.unwrap();
    let (mut writers, mut tasks) = (JoinSet::new(), JoinSet::new());
    let mut chains_calls = Vec::new();
    for chain in &chains {
        let (calls, waiting) = mpsc::channel::<Waiting>(1024);
        let chain = Chain::open(address, chain.get(0)).await;
        writers.spawn(chain.write_for_ever(waiting));
        chains_calls.push(calls);
    }
    let (chains_calls, began) = (Arc::new(chains_calls), Instant::now());
    for caller in 0..callers {
        let calls = chains_calls.clone();
        tasks.spawn(async move {
            let mut written = 0_usize;
            while began.elapsed() < time {
                let (answer, answered) = oneshot::channel();
                let chain = &calls[(caller + written * callers) % calls.len()];
                chain.send((format!("raw-{run}-{caller}-{written}"), answer)).await.unwrap();
                answered.await.unwrap();
                written += 1;
            }
            written
        });
    }
    drop(chains_calls);
    let written: usize = tasks.join_all().await.into_iter().sum();
    let rate = written as f64 / began.elapsed().as_secs_f64();
    writers.join_all().await;
    rate
}

struct Chain {
    client: Client,
    seq: i64,
    length: i64,
    huella: String,
    statement: Statement,
}

impl Chain {
    async fn open(address: &str, seq: i64) -> Self {
        let client = connect(address).await;
        let head =
            client.query_one("SELECT length, last_huella FROM chain WHERE seq = $1", &[&seq]).await.unwrap();
        let (length, huella) = (head.get(0), head.get(1));
        let of_last =
            format!("WHERE seq = (SELECT max(seq) FROM record WHERE chain = {seq} AND position = {length})");
        let record = insert(&client, "record", &of_last, RECORD).await;
        let job = insert(&client, "job", &of_last, JOB).await;
        let of_job = of_last.replacen("seq", "job", 1);
        let idempotency = insert(&client, "idempotency", &of_job, IDEMPOTENCY).await;
        let statement = format!(
            "WITH new AS MATERIALIZED (SELECT nextval('record_number_of') AS seq, u.* FROM unnest($1::text[], \
             $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[]) \
             u (record, job, request, position, number, huella, previous)), \
             records AS ({record}), jobs AS ({job}), keys AS ({idempotency}), \
             used AS (UPDATE usage SET invoices = invoices + 1 WHERE tenant = \
             (SELECT tenant FROM chain WHERE seq = {seq})), \
             summed AS (UPDATE turnover SET invoices = invoices + 1, base = base + 1 WHERE tenant = \
             (SELECT tenant FROM chain WHERE seq = {seq})) \
             UPDATE chain SET length = $8, last_huella = $9, last_number = $10, \
             pending = pending + (SELECT count(*) FROM new) WHERE seq = {seq}"
        );
        let statement = client.prepare(&statement).await.unwrap();
        Self { client, seq, length, huella, statement }
    }

    async fn write_for_ever(mut self, mut waiting: mpsc::Receiver<Waiting>) {
        while let Some(first) = waiting.recv().await {
            let mut group = vec![first];
            while group.len() < GROUP
                && let Ok(next) = waiting.try_recv()
            {
                group.push(next);
            }
            let ids = || group.iter().map(|_| Uuid::now_v7().to_string()).collect::<Vec<_>>();
            let numbers: Vec<&str> = group.iter().map(|(number, _)| &**number).collect();
            let huella = |number: &&str| {
                let digest = Sha256::digest(format!("{} {number}", self.seq));
                digest.iter().map(|byte| format!("{byte:02X}")).collect()
            };
            let huellas: Vec<String> = numbers.iter().map(huella).collect();
            let mut previous = vec![self.huella.clone()];
            previous.extend(huellas.iter().take(huellas.len() - 1).cloned());
            let positions: Vec<i64> = (self.length + 1..).take(group.len()).collect();
            self.length += group.len() as i64;
            self.huella = huellas.last().unwrap().clone();
            let (records, jobs, requests) = (ids(), ids(), ids());
            self.client
                .execute(
                    &self.statement,
                    &[
                        &records,
                        &jobs,
                        &requests,
                        &positions,
                        &numbers,
                        &huellas,
                        &previous,
                        &self.length,
                        &self.huella,
                        &numbers.last().unwrap(),
                    ],
                )
                .await
                .unwrap();
            for (_, answer) in group {
                let _ = answer.send(());
            }
        }
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
