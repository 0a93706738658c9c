//! Two engines on one ledger and one queue in Redis, which is emptied and killed while they work.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use harness::redis_server::RedisServer;
use jiff::Timestamp;
use tokio::sync::watch;
use verifactu_core::{
    authority::https::{Hosts, HttpsAuthority, Limits, Trust},
    engine::{Engine, Parts, Settings, Worker},
    job::{Csv, JobState, RetryPolicy},
    ledger::{Appended, Ledger, MemoryLedger},
    queue::{RedisOptions, RedisQueue},
    testing::SequentialIds,
    types::{Clock, Ids, TenantId},
};
use verifactu_server::{
    clock::UuidV7Ids,
    sandbox::{self, Holder, SandboxConfig},
};

use crate::world::{ISSUER, OnePresenter, presentation, send, system};

const CHAINS: usize = 6;
const INVOICES: usize = 8;
const SECOND: Duration = Duration::from_secs(1);

/// Runs on from the day of the invoices.
struct Running(Timestamp, Instant);

impl Clock for Running {
    fn now(&self) -> Timestamp {
        self.0 + self.1.elapsed()
    }
}

fn settings() -> Settings {
    let retry = RetryPolicy { waits: vec![SECOND; 20], transient_cap: SECOND, ..RetryPolicy::default() };
    Settings {
        retry,
        initial_wait: Duration::ZERO,
        exchange: 5 * SECOND,
        lease: 2 * SECOND,
        sweep_every: SECOND / 2,
        // Several messages for each chain, so that there is a middle to be hit.
        max_records: 2,
        ..Settings::new(system())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_is_emptied_and_killed_under_two_engines_loses_no_job() {
    let mut server = RedisServer::start();
    let clock = Arc::new(Running("2026-11-20T09:00:00Z".parse().unwrap(), Instant::now()));
    let shared = clock.clone();
    let sandbox = SandboxConfig::default()
        .clock(sandbox::Clock::from_fn(move || shared.now()))
        .settings(sandbox::Settings { wait_seconds: Some(1), ..sandbox::Settings::default() })
        .start()
        .await
        .unwrap();
    let presentation = presentation(&sandbox, &Holder::seal(ISSUER, "Talleres Ebro SL"));
    let presenter = Arc::new(OnePresenter(Mutex::new(Some(Arc::new(presentation)))));
    let ledger = Arc::new(MemoryLedger::new());
    let trust = Trust::Only(sandbox.pki().ca_pem().as_bytes().to_vec());
    let limits = Limits { exchange: settings().exchange, ..Limits::default() };
    let authority = HttpsAuthority::new(Hosts::at(&sandbox.url()).unwrap(), &trust, limits);
    let authority = Arc::new(authority.unwrap());
    let ids = Arc::new(SequentialIds::default());
    let engine = || {
        let options = RedisOptions { name: "engines".into(), worker: UuidV7Ids.next(), roots: None };
        let parts = Parts {
            ledger: ledger.clone(),
            queue: Arc::new(RedisQueue::open(&server.url(), options).unwrap()),
            authority: authority.clone(),
            presenters: presenter.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
        };
        Engine::new(parts, settings())
    };
    let engines = [engine(), engine()];
    let (stop, stopped) = watch::channel(false);
    let workers = engines.each_ref().map(|engine| {
        let worker = Worker::new(engine.clone());
        tokio::spawn(worker.run(2, stopped.clone()))
    });

    let mut jobs = Vec::new();
    for number in 0..INVOICES {
        for chain in 0..CHAINS {
            let tenant = TenantId::parse(&format!("taller-{chain}")).unwrap();
            let mut submit = send(&format!("S-{chain}-{number}"));
            submit.tenant = tenant.clone();
            match engines[(number + chain) % 2].accept(submit).await.unwrap() {
                Appended::New { submission, .. } => jobs.push((tenant, submission.job.id)),
                other => panic!("not accepted: {other:?}"),
            }
        }
        if number % 3 == 2 {
            server.command::<()>("FLUSHALL");
        }
    }
    let deadline = Instant::now() + Duration::from_secs(90);
    for (index, (tenant, job)) in jobs.into_iter().enumerate() {
        match index % 12 {
            5 => server.command::<()>("FLUSHALL"),
            11 => {
                server.kill();
                server.restart();
            }
            _ => {}
        }
        loop {
            let progress = ledger.job(&tenant, job).await.unwrap().unwrap().job.progress;
            if progress.state == JobState::Succeeded {
                assert!(
                    matches!(progress.csv, Some(Csv::Present(_))),
                    "no answer is thrown away: {progress:?}"
                );
                break;
            }
            assert!(Instant::now() < deadline, "{progress:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    stop.send_replace(true);
    for worker in workers {
        worker.await.unwrap();
    }
    let mut numbers: Vec<String> = sandbox
        .registrations(Some(ISSUER))
        .await
        .unwrap()
        .into_iter()
        .map(|registration| registration.key.number)
        .collect();
    numbers.sort();
    let expected: Vec<String> = (0..CHAINS)
        .flat_map(|chain| (0..INVOICES).map(move |number| format!("S-{chain}-{number}")))
        .collect();
    assert_eq!(numbers, expected, "each registered once");
}
