//! A ledger restored from an old backup or dump: nothing acknowledged since is linked to again, and what the
//! authority holds already is not sent twice.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use harness::{
    postgres_server::PostgresServer,
    programs::{Process, said},
};
use serde_json::{Value, json};

use crate::place::{Place, text};

/// What was acknowledged, whether or not the ledger still knows it.
#[derive(Default)]
struct Acknowledged {
    /// The huella that each record names as its predecessor's.
    predecessors: Vec<String>,
    firsts: usize,
}

impl Acknowledged {
    async fn send(&mut self, place: &Place, service: &Process, key: &str, number: &str) -> String {
        let sent = place.send(service, key, number).await;
        self.note(place, service, key, sent).await
    }

    async fn note(&mut self, place: &Place, service: &Process, key: &str, sent: Value) -> String {
        let job = sent["jobId"].as_str().unwrap().to_owned();
        let url = format!("{}/v1/jobs/{job}/xml", service.told("url"));
        let xml = place.http.get(url).header("x-api-key", key).send().await.unwrap().text().await.unwrap();
        match xml.split_once("RegistroAnterior>") {
            None => self.firsts += 1,
            Some((_, rest)) => {
                let (_, huella) = rest.split_once("<Huella>").unwrap();
                self.predecessors.push(huella[..64].to_owned());
            }
        }
        job
    }

    fn assert_no_fork(&self, chains: usize) {
        let distinct: HashSet<&String> = self.predecessors.iter().collect();
        assert_eq!(distinct.len(), self.predecessors.len(), "no record has two successors");
        assert_eq!(self.firsts, chains);
    }
}

async fn job_when(place: &Place, service: &Process, key: &str, job: &str, wanted: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let found = place.get(service, key, &format!("/jobs/{job}")).await;
        if found["status"] == wanted {
            return found;
        }
        assert!(Instant::now() < deadline, "not {wanted} in time: {found}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Puts a backup in the ledger's place and returns what the command printed.
fn restore(place: &Place, backup: &str, words: &[&str]) -> Vec<Value> {
    let backup = place.data.path().join(backup);
    // The log is the old ledger's too: left behind, it would be taken for the restored one's.
    for file in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        let output = place.command(&["restore", "--from", text(&backup)]);
        assert!(said(&output).contains(&format!("{file}: is there")), "{}", said(&output));
        std::fs::remove_file(place.data.path().join("service").join(file)).unwrap();
    }
    let output = place.command(&[&["restore", "--from", text(&backup)], words].concat());
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn backup(place: &Place, name: &str) {
    let output = place.command(&["backup", "--to", text(&place.data.path().join(name))]);
    assert!(output.status.success(), "{}", said(&output));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_backup_forks_nothing() {
    let place = Place::new();
    let mut known = Acknowledged::default();
    let service = place.serve();
    let key = place.account(&service).await;
    let first = known.send(&place, &service, &key, "R-1").await;
    job_when(&place, &service, &key, &first, "SUCCEEDED").await;

    // Two records that the authority does not have when the backup is made, and never gets from here.
    let unheard = json!({"fault": "cut", "stored": false, "times": 0, "on": "submission"});
    place.arm(unheard.clone()).await;
    let waiting =
        [known.send(&place, &service, &key, "R-2").await, known.send(&place, &service, &key, "R-3").await];
    backup(&place, "early.db");
    let output = place.command(&["restore", "--from", text(&place.data.path().join("early.db"))]);
    assert!(!output.status.success() && said(&output).contains("move it away"), "{}", said(&output));
    service.kill();

    let told = restore(&place, "early.db", &[]);
    assert_eq!(told[0]["closedChains"], 1);
    place.http.delete(format!("{}/faults", place.sandbox.told("admin"))).send().await.unwrap();
    let service = place.serve();
    // What the authority does not hold is sent; the account's key and certificate still work.
    for job in &waiting {
        job_when(&place, &service, &key, job, "SUCCEEDED").await;
    }
    assert_eq!(place.registered().await, ["R-1", "R-2", "R-3"]);
    let next = known.send(&place, &service, &key, "R-4").await;
    job_when(&place, &service, &key, &next, "SUCCEEDED").await;

    // A backup with two records under way; both reach the authority after it, one is corrected there, and
    // another is acknowledged.
    place.arm(unheard).await;
    let kept = known.send(&place, &service, &key, "R-5").await;
    let corrected = known.send(&place, &service, &key, "R-6").await;
    backup(&place, "late.db");
    place.http.delete(format!("{}/faults", place.sandbox.told("admin"))).send().await.unwrap();
    for job in [&kept, &corrected] {
        job_when(&place, &service, &key, job, "SUCCEEDED").await;
    }
    let mut body = Place::invoice("R-6");
    body["subsanacion"] = json!(true);
    body["descripcion"] = json!("Ticket corregido");
    let correction = place.send_body(&service, &key, "correction", body).await;
    let correction = known.note(&place, &service, &key, correction).await;
    let lost = known.send(&place, &service, &key, "R-7").await;
    for job in [&correction, &lost] {
        job_when(&place, &service, &key, job, "SUCCEEDED").await;
    }
    let registered = place.registered().await.len();
    service.kill();

    let told = restore(&place, "late.db", &["--reconcile"]);
    let mut unknown: Vec<&str> = told.iter().filter_map(|line| line["unknown"]["number"].as_str()).collect();
    unknown.sort_unstable();
    assert_eq!(unknown, ["R-6", "R-7"], "{told:?}");
    assert_eq!(told.last().unwrap()["unknownRecords"], 2);

    let service = place.serve();
    let found = job_when(&place, &service, &key, &kept, "SUCCEEDED").await;
    assert_eq!(found["result"]["authority"]["reconciled"], true, "{found}");
    let found = job_when(&place, &service, &key, &corrected, "DEAD").await;
    assert_eq!(found["lastErrorDetail"]["class"], "foreign_duplicate", "{found}");
    let last = known.send(&place, &service, &key, "R-8").await;
    job_when(&place, &service, &key, &last, "SUCCEEDED").await;
    assert_eq!(place.registered().await.len(), registered + 1, "nothing was sent twice");
    known.assert_no_fork(3);

    let chains = place.get(&service, &key, "/me/chains").await;
    let chains = chains["chains"].as_array().unwrap();
    let mut shape: Vec<_> = chains.iter().map(|one| (one["closed"] == true, one["length"].clone())).collect();
    shape.sort_by_key(|(closed, length)| (*closed, length.as_u64()));
    assert_eq!(shape, [(false, json!(1)), (true, json!(3)), (true, json!(3))]);
    for chain in chains {
        let path = format!("/me/chains/{}/verify", chain["id"].as_str().unwrap());
        assert_eq!(place.get(&service, &key, &path).await["valid"], true);
    }
    assert!(service.terminate(Duration::from_secs(10)), "a stop ends in time");
}

/// Has a command refused, with these words.
fn assert_refused(place: &Place, words: &[&str], wanted: &str) {
    let output = place.command(words);
    assert!(!output.status.success() && said(&output).contains(wanted), "{words:?}: {}", said(&output));
    assert!(!said(&output).contains("correct"), "no password is shown: {}", said(&output));
}

fn verified(place: &Place) -> Value {
    let output = place.command(&["chain", "verify"]);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)))
}

/// PostgreSQL's own tools make the dump and bring it into another database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_dump_forks_nothing() {
    let server = PostgresServer::quick();
    let live = server.database().await;
    let mut place = Place::new();
    place.ledger = Some(live.clone());
    let mut known = Acknowledged::default();
    let service = place.serve();
    let key = place.account(&service).await;
    let first = known.send(&place, &service, &key, "D-1").await;
    job_when(&place, &service, &key, &first, "SUCCEEDED").await;

    // One record is under way when the dump is made, and one is acknowledged after it.
    place.arm(json!({"fault": "cut", "stored": false, "times": 0, "on": "submission"})).await;
    let waiting = known.send(&place, &service, &key, "D-2").await;
    let dump = place.data.path().join("dump");
    server.dump(&live, &dump);
    place.http.delete(format!("{}/faults", place.sandbox.told("admin"))).send().await.unwrap();
    let lost = known.send(&place, &service, &key, "D-3").await;
    for job in [&waiting, &lost] {
        job_when(&place, &service, &key, job, "SUCCEEDED").await;
    }

    // Beside the service a ledger is read, and nothing else.
    assert_eq!(verified(&place), json!({ "valid": true, "chains": 1, "records": 3 }));
    assert_refused(&place, &["restore"], "in use");
    assert_refused(&place, &["restore", "--from", text(&dump)], "pg_restore");
    assert_refused(&place, &["backup", "--to", text(&dump)], "pg_dump");
    service.kill();

    let restored = server.database().await;
    place.ledger = Some(restored.clone());
    for words in [&["restore"][..], &["chain", "verify"]] {
        assert_refused(&place, words, "the database holds no ledger");
    }
    // What was refused has left nothing that would stand in the dump's way.
    server.load(&restored, &dump);
    let output = place.command(&["restore"]);
    assert!(output.status.success(), "{}", said(&output));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told, json!({ "restored": "postgres", "closedChains": 1 }));

    let service = place.serve();
    let found = job_when(&place, &service, &key, &waiting, "SUCCEEDED").await;
    assert_eq!(found["result"]["authority"]["reconciled"], true, "{found}");
    let next = known.send(&place, &service, &key, "D-4").await;
    job_when(&place, &service, &key, &next, "SUCCEEDED").await;
    assert_eq!(place.registered().await, ["D-1", "D-2", "D-3", "D-4"], "nothing was sent twice");
    known.assert_no_fork(2);
    assert!(service.terminate(Duration::from_secs(10)), "a stop ends in time");

    // Who may only read can verify, and finds what was changed.
    let database = restored.rsplit('/').next().unwrap();
    let reader =
        "CREATE ROLE reader LOGIN PASSWORD 'correct'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader";
    server.run(database, reader).await;
    place.ledger = Some(restored.replace("postgres:correct%20horse@", "reader:correct@"));
    assert_eq!(verified(&place), json!({ "valid": true, "chains": 2, "records": 3 }));
    let damage = "ALTER TABLE record DISABLE TRIGGER record_unchanged; UPDATE record SET xml = \
                  convert_to(replace(convert_from(xml, 'UTF8'), 'D-2', 'D-9'), 'UTF8') WHERE position = 2";
    server.run(database, damage).await;
    let output = place.command(&["chain", "verify"]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains(r#""posicion":2"#) && told.contains(r#""valid":false"#), "{told}");
}
