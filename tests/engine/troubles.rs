//! Stores that fail, chains that are damaged, workers that break down, and backlogs: what happens to
//! one chain costs the others nothing, and no outcome that was learnt is lost.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::sync::watch;
use uuid::Uuid;
use verifactu_core::{
    authority::Service,
    engine::{Engine, Observation, Observer, Parts, Settings, Worker, Write},
    job::{Csv, JobState, Standing},
    ledger::{
        Hold, HoldReason, Ledger,
        sqlite::{SqliteLedger, SqliteOptions},
    },
    queue::{MemoryQueue, Queue, QueueError, Taken},
    testing::{ManualClock, SequentialIds},
    types::{ChainId, Clock as _, Environment, Ids, JobId},
};

use crate::{
    wire::Spoil,
    world::{World, in_chain, send, system, tenant},
};

const MINUTE: Duration = Duration::from_secs(60);

/// A ledger's file that another program can lock and damage.
struct Store {
    _directory: TempDir,
    ledger: Arc<SqliteLedger>,
    raw: Arc<Mutex<Connection>>,
}

impl Store {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("ledger.db");
        let options = SqliteOptions { busy_timeout: Duration::from_millis(20), ..SqliteOptions::default() };
        let ledger = Arc::new(SqliteLedger::open(&path, Environment::Sandbox, &options).unwrap());
        let raw = Arc::new(Mutex::new(Connection::open(&path).unwrap()));
        Self { _directory: directory, ledger, raw }
    }

    fn execute(&self, sql: &str) {
        self.raw.lock().unwrap().execute_batch(sql).unwrap();
    }

    /// Locks the file as soon as the next answer has come.
    fn lock_with_the_next_answer(&self, world: &World) {
        let raw = self.raw.clone();
        let lock = move || raw.lock().unwrap().execute_batch("BEGIN IMMEDIATE").unwrap();
        world.wire.spoil(Spoil::Then(Box::new(lock)));
    }

    /// Waits until so many writes have been refused.
    async fn refuses(&self, times: usize) {
        let mut refused = 0;
        while refused < times {
            refused += usize::from(self.ledger.probe().await.is_err());
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn an_answer_outlasts_a_store_that_fails_for_a_while() {
    let store = Store::new();
    let world = World::on(store.ledger.clone()).await;
    let job = world.accept(send("F-1")).await.job.id;
    store.lock_with_the_next_answer(&world);
    let repaired = async {
        store.refuses(20).await;
        assert_eq!(world.state(job).await, JobState::Processing);
        store.execute("ROLLBACK");
    };
    tokio::join!(world.run(), repaired);
    let progress = world.progress(job).await;
    assert_eq!(progress.state, JobState::Succeeded);
    assert!(matches!(progress.csv, Some(Csv::Present(_))), "the answer was kept: {progress:?}");
    assert_eq!(world.wire.passed(Service::Query).len(), 0);
}

#[tokio::test]
async fn an_answer_that_a_store_never_took_is_found_out_again() {
    let store = Store::new();
    let mut world = World::on(store.ledger.clone()).await;
    world.set(Settings { lease: Duration::from_millis(100), ..Settings::new(system()) });
    let job = world.accept(send("F-1")).await.job.id;
    store.lock_with_the_next_answer(&world);
    assert!(world.engine.dispatch_next().await.is_err(), "it tries for as long as a lease lasts");
    store.execute("ROLLBACK");
    world.run_for(3 * MINUTE, MINUTE).await;
    let progress = world.progress(job).await;
    assert_eq!((progress.state, progress.csv), (JobState::Succeeded, Some(Csv::Lost)));
    assert_eq!(world.registered("F-1").await, 1);
}

#[tokio::test]
async fn a_damaged_chain_is_passed_over_and_the_others_go_on() {
    let store = Store::new();
    let mut world = World::on(store.ledger.clone()).await;
    let mut jobs = Vec::new();
    for n in 0..3 {
        jobs.push(world.accept(in_chain(send(&format!("F-{n}")), n)).await.job.id);
    }
    store.execute("UPDATE chain SET last_huella = 'x' || last_huella WHERE installation = 'i-1'");
    // The queue knows the chain already, so its dispatch fails; the others have their turn all the same.
    let mut failures = 0;
    loop {
        match world.engine.dispatch_next().await {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) => failures += 1,
        }
    }
    assert_eq!(failures, 1, "it is put off, so that it does not take every turn");
    // A sweep passes it over.
    for n in 3..6 {
        let number = send(&format!("F-{n}"));
        if n != 4 {
            jobs.push(world.accept(in_chain(number, n - 3)).await.job.id);
        }
    }
    world.clock.advance(MINUTE);
    world.restart().await;
    world.run().await;
    for (n, job) in jobs.iter().enumerate() {
        let expected = if n == 1 { JobState::Pending } else { JobState::Succeeded };
        assert_eq!(world.state(*job).await, expected, "{n}");
    }
    store.execute("UPDATE chain SET last_huella = substr(last_huella, 2) WHERE installation = 'i-1'");
    world.restart().await;
    world.run().await;
    assert_eq!(world.state(jobs[1]).await, JobState::Succeeded, "repaired, it goes on");
}

/// A backlog is due again at once after each full message, and still takes its turn behind the others.
#[tokio::test]
async fn a_backlog_of_many_messages_takes_turns_with_the_other_chains() {
    let world = World::new().await;
    world.without_signature();
    world.wire.takes(Duration::from_secs(1));
    for n in 0..3100 {
        world.accept(in_chain(send(&format!("A-{n}")), 0)).await;
    }
    for chain in 1..5 {
        world.accept(in_chain(send(&format!("B-{chain}")), chain)).await;
    }
    world.run().await;
    let sizes: Vec<usize> =
        world.wire.passed(Service::Registration).iter().map(|passed| passed.records).collect();
    assert_eq!(sizes, [1000, 1, 1, 1, 1, 1000, 1000], "the rest waits for its slot");
}

/// The ledger is read page by page, and no page keeps the chains of the next from being found.
#[tokio::test]
async fn a_sweep_finds_more_chains_than_a_page_holds() {
    const CHAINS: u32 = 2100;
    let mut world = World::new().await;
    world.without_signature();
    // Without a certificate each chain is held as soon as it is looked at, and nothing is sent.
    world.presenter.0.lock().unwrap().take();
    for chain in 0..CHAINS {
        world.accept(in_chain(send(&format!("F-{chain}")), chain)).await;
    }
    world.restart().await;
    world.run().await;
    let chains = world.ledger.chains(&tenant()).await.unwrap();
    assert_eq!(chains.len(), CHAINS as usize);
    for chain in chains {
        assert_eq!(chain.hold.unwrap().reason, HoldReason::Certificate, "{:?}", chain.key);
    }
}

/// Runs a worker until the jobs are done; the engine's clock runs faster than ours meanwhile.
async fn work_until_done(world: &World, engine: Engine, jobs: &[JobId]) {
    let (stop, stopped) = watch::channel(false);
    let worker = tokio::spawn(Worker::new(engine).run(1, stopped));
    let deadline = Instant::now() + Duration::from_secs(60);
    for job in jobs {
        while world.state(*job).await != JobState::Succeeded {
            assert!(Instant::now() < deadline, "{:?}", world.progress(*job).await);
            world.clock.advance(Duration::from_secs(2));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    stop.send_replace(true);
    worker.await.unwrap();
}

#[tokio::test]
async fn a_worker_that_panics_starts_anew_and_its_message_is_found_out() {
    let world = World::new().await;
    world.wire.spoil(Spoil::Panic);
    let mut jobs = Vec::new();
    for n in 0..3 {
        jobs.push(world.accept(in_chain(send(&format!("F-{n}")), n)).await.job.id);
    }
    work_until_done(&world, world.engine.clone(), &jobs).await;
    for n in 0..3 {
        assert_eq!(world.registered(&format!("F-{n}")).await, 1);
    }
}

/// Moves the clock on once a message is written down, as if the process had been frozen there.
struct Freeze(Arc<ManualClock>, AtomicBool);

impl Observer for Freeze {
    fn observe(&self, observation: Observation) {
        let written = matches!(observation, Observation::Committed { write: Write::Message, .. });
        if written && !self.1.swap(true, Ordering::SeqCst) {
            self.0.advance(MINUTE);
        }
    }
}

#[tokio::test]
async fn a_message_that_was_held_up_is_not_sent_behind_newer_ones() {
    let world = World::new().await;
    let engine =
        world.engine.clone().observed_by(Arc::new(Freeze(world.clock.clone(), AtomicBool::default())));
    let job = world.accept(send("F-1")).await.job.id;
    let chain = world.ledger.chains(&tenant()).await.unwrap()[0].id;
    let again = engine.dispatch(chain).await.unwrap().unwrap();
    assert_eq!(world.wire.passed(Service::Registration).len(), 0);
    assert_eq!(world.state(job).await, JobState::Processing);
    // It may be under way, for all that others know.
    let until = engine.dispatch(chain).await.unwrap().unwrap();
    assert!(again < world.clock.now() && until > world.clock.now(), "{again} {until}");
    world.clock.set(until);
    world.run_for(5 * MINUTE, MINUTE).await;
    assert_eq!(world.state(job).await, JobState::Succeeded);
    assert_eq!(world.wire.passed(Service::Registration).len(), 1);
}

#[tokio::test]
async fn an_answer_under_way_is_not_thrown_away_when_the_queue_forgets_who_sends() {
    let world = World::new().await;
    let job = world.accept(send("F-1")).await.job.id;
    let chain = world.ledger.chains(&tenant()).await.unwrap()[0].id;
    let (ledger, clock) = (world.ledger.clone(), world.clock.clone());
    let other = Engine::new(world.parts(), world.engine.settings().clone());
    let (answered, arrived) = std::sync::mpsc::channel();
    let runtime = tokio::runtime::Handle::current();
    // While the answer is on its way, another worker finds the chain due.
    let meddle = move || {
        let meddling = std::thread::spawn(move || runtime.block_on(other.dispatch(chain)).unwrap());
        answered.send(meddling.join().unwrap()).unwrap();
    };
    world.wire.spoil(Spoil::Then(Box::new(meddle)));
    world.run().await;
    assert!(arrived.recv().unwrap().unwrap() > clock.now());
    let progress = ledger.job(&tenant(), job).await.unwrap().unwrap().job.progress;
    assert!(matches!(progress.csv, Some(Csv::Present(_))), "{progress:?}");
}

/// Does something as soon as the engine asks for an identifier.
struct Meddling(SequentialIds, Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Ids for Meddling {
    fn next(&self) -> Uuid {
        if let Some(meddle) = self.1.lock().unwrap().take() {
            meddle();
        }
        self.0.next()
    }
}

#[tokio::test]
async fn a_release_in_the_middle_of_a_dispatch_stays() {
    let world = World::new().await;
    let job = world.accept(send("F-1")).await.job.id;
    let chain = world.ledger.chains(&tenant()).await.unwrap()[0].id;
    world.wire.spoil(Spoil::Hang);
    world.run_until_sent(1).await;
    world.clock.advance(3 * MINUTE);
    let hold = Hold { reason: HoldReason::Operator, description: String::new(), since: world.clock.now() };
    assert_eq!(world.ledger.hold(&tenant(), None, &hold).await.unwrap(), [chain]);
    let (ledger, runtime) = (world.ledger.clone(), tokio::runtime::Handle::current());
    // The message of before is put in doubt while the operator releases the chain.
    let release = move || {
        let release = async move { ledger.release(&tenant(), None, HoldReason::Operator).await.unwrap() };
        let released = std::thread::spawn(move || runtime.block_on(release)).join().unwrap();
        assert_eq!(released, [chain]);
    };
    let ids = Meddling(SequentialIds::after(1000), Mutex::new(Some(Box::new(release))));
    let parts = Parts { ids: Arc::new(ids), ..world.parts() };
    Engine::new(parts, world.engine.settings().clone()).dispatch(chain).await.unwrap();
    assert_eq!(world.progress(job).await.standing, Standing::InDoubt);
    assert_eq!(world.ledger.chain(chain).await.unwrap().unwrap().hold, None);
}

/// Its first chain makes it panic.
#[derive(Default)]
struct PanickingQueue(MemoryQueue, AtomicBool);

#[async_trait]
impl Queue for PanickingQueue {
    async fn schedule(&self, chain: ChainId, at: Timestamp) -> Result<(), QueueError> {
        assert!(self.1.swap(true, Ordering::SeqCst), "the first chain");
        self.0.schedule(chain, at).await
    }

    async fn take(&self, now: Timestamp, lease: Duration) -> Result<Option<Taken>, QueueError> {
        self.0.take(now, lease).await
    }

    async fn renew(&self, taken: &Taken, now: Timestamp, lease: Duration) -> Result<bool, QueueError> {
        self.0.renew(taken, now, lease).await
    }

    async fn finish(&self, taken: Taken, next: Option<Timestamp>) -> Result<(), QueueError> {
        self.0.finish(taken, next).await
    }

    async fn leased_until(&self, chain: ChainId) -> Result<Option<Timestamp>, QueueError> {
        self.0.leased_until(chain).await
    }

    async fn wait(&self, now: Timestamp, at_most: Duration) {
        self.0.wait(now, at_most).await;
    }

    async fn probe(&self) -> Result<(), QueueError> {
        self.0.probe().await
    }
}

#[tokio::test]
async fn a_sweep_that_panics_is_made_again() {
    let world = World::new().await;
    let job = world.accept(send("F-1")).await.job.id;
    let parts = Parts { queue: Arc::new(PanickingQueue::default()), ..world.parts() };
    work_until_done(&world, Engine::new(parts, Settings::new(system())), &[job]).await;
}
