//! What was acknowledged is there after the process or the machine has died.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
};

use jiff::Timestamp;
use verifactu_core::{
    ledger::{
        Claimed, Fenced, Lease, Ledger,
        sqlite::{SqliteLedger, SqliteOptions},
    },
    testing::{Scene, SequentialIds, claim},
    types::{Environment, Huella},
};

use super::{Place, prove_chain};

const CHILD: &str = "LEDGER_CRASH_CHILD";

/// Appends until it is killed, and says the huella of each acknowledged record. Does nothing unless the
/// test below has started it.
#[tokio::test]
#[allow(clippy::disallowed_methods)]
async fn child_that_appends() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let ledger = SqliteLedger::open(path, Environment::Sandbox, &SqliteOptions::default()).unwrap();
    let scene = Scene::new();
    // Identifiers of an earlier child are in the ledger already; each record has taken four.
    let earlier = ledger.chains(&scene.tenant).await.unwrap().first().map_or(0, |chain| chain.length);
    let scene = Scene { ids: Arc::new(SequentialIds::after(earlier * 10)), ..scene };
    for number in earlier.. {
        let record = scene.accept(&ledger, &scene.invoice(&format!("F-{number}"))).await.record;
        writeln!(std::io::stdout(), "acknowledged {}", record.huella).unwrap();
    }
}

#[tokio::test]
async fn a_killed_process_loses_nothing_it_acknowledged() {
    let place = Place::new();
    let mut acknowledged = Vec::new();
    for kill_after in [1, 25, 110] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sqlite::crash::child_that_appends", "--nocapture"])
            .env(CHILD, place.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let told = |line: String| {
            let (_, huella) = line.rsplit_once("acknowledged ")?;
            Huella::parse(huella.trim()).ok()
        };
        acknowledged.extend(lines.by_ref().filter_map(told).take(kill_after));
        child.kill().unwrap();
        child.wait().unwrap();
        // What was in the pipe was acknowledged too; the last line may be cut.
        acknowledged.extend(lines.filter_map(told));

        let ledger = place.open();
        let stored = prove_chain(&ledger, &Scene::new().tenant).await;
        let missing = acknowledged.iter().filter(|huella| !stored.contains(huella)).count();
        assert_eq!(missing, 0, "of {} acknowledged", acknowledged.len());
    }
    assert!(acknowledged.len() >= 136);
}

/// The files as a power cut would leave them: without shutdown, and with the end of the log lost.
#[tokio::test]
async fn a_cut_log_leaves_a_whole_chain() {
    let place = Place::new();
    let ledger = place.open();
    let scene = Scene::new();
    let accepted: Vec<_> =
        scene.accept_many(&ledger, 60).await.iter().map(|submission| submission.record.huella).collect();
    let wal = |path: PathBuf| {
        let mut name = path.into_os_string();
        name.push("-wal");
        PathBuf::from(name)
    };
    let log = fs::read(wal(place.path())).unwrap();
    let file = fs::read(place.path()).unwrap();
    let mut lengths = Vec::new();
    for percent in [100, 99, 70, 41, 13, 0] {
        let copy = Place::new();
        fs::write(copy.path(), &file).unwrap();
        fs::write(wal(copy.path()), &log[..log.len() * percent / 100]).unwrap();
        let reopened = copy.open();
        let stored = prove_chain(&reopened, &scene.tenant).await;
        assert_eq!(stored, accepted[..stored.len()], "{percent} %");
        lengths.push(stored.len());
        // The chain goes on from what is left.
        let next = Scene { ids: Arc::new(SequentialIds::after(10_000)), ..Scene::new() };
        let position = next.accept(&reopened, &next.correction("F-1")).await.record.position;
        assert_eq!(position, stored.len() as u64 + 1);
    }
    assert_eq!(lengths[0], 60, "an intact log loses nothing");
    assert!(lengths.is_sorted_by(|longer, shorter| longer >= shorter));
}

#[tokio::test]
async fn a_closed_ledger_opens_again_as_it_was() {
    let place = Place::new();
    let scene = Scene::new();
    let ledger = place.open();
    let accepted = scene.accept_many(&ledger, 5).await;
    let first = claim(&ledger, accepted[0].record.chain).await;
    drop(ledger);
    let ledger = place.open();
    assert_eq!(prove_chain(&ledger, &scene.tenant).await.len(), 5);
    let again = claim(&ledger, accepted[0].record.chain).await;
    assert!(again.lease.epoch > first.lease.epoch);
    assert_eq!(ledger.job(&scene.tenant, accepted[4].job.id).await.unwrap().as_ref(), Some(&accepted[4]));
}

/// Whoever sent it is gone, because nobody else had the file.
#[tokio::test]
async fn a_message_of_before_the_start_keeps_nobody() {
    let place = Place::new();
    let scene = Scene::new();
    let ledger = place.open();
    let accepted = scene.accept_many(&ledger, 2).await;
    let chain = accepted[0].record.chain;
    let always = Timestamp::MIN..Timestamp::MAX;
    let mut lease = claim(&ledger, chain).await.lease;
    drop(ledger);
    for open in 1..=2 {
        let ledger = place.open();
        lease = Lease { epoch: lease.epoch + 1, ..lease };
        match ledger.claim(chain, always.clone()).await.unwrap() {
            Claimed::Taken(claim) => assert_eq!((claim.lease, claim.open.len()), (lease, open - 1)),
            other => panic!("{other:?}"),
        }
        let message = scene.message(&accepted[open - 1..open], Vec::new());
        assert_eq!(ledger.open_message(lease, message).await.unwrap(), Fenced::Done);
        assert!(matches!(ledger.claim(chain, always.clone()).await.unwrap(), Claimed::Busy { .. }));
    }
}
