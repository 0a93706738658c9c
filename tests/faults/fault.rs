//! The faults, and what the service is made of while they happen.

use std::time::Duration;

use serde_json::{Value, json};
use verifactu_core::testing::Chance;

use crate::place::{LEASE, Ledger, Place, Queue, Shape, SmallDisk};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    KillSingle,
    KillWorker,
    KillApi,
    KillAll,
    PauseWorker,
    RedisRestart,
    RedisFlush,
    RedisNosave,
    RedisUnreachable,
    PostgresRestart,
    PostgresKill,
    AuthorityBefore,
    AuthorityAfter,
    DiskFull,
}

impl Fault {
    /// The longest first, so that it runs beside the others.
    pub(crate) const ALL: &[Self] = &[
        Self::RedisUnreachable,
        Self::PauseWorker,
        Self::KillSingle,
        Self::KillWorker,
        Self::KillApi,
        Self::KillAll,
        Self::RedisRestart,
        Self::RedisFlush,
        Self::RedisNosave,
        Self::PostgresRestart,
        Self::PostgresKill,
        Self::AuthorityBefore,
        Self::AuthorityAfter,
        Self::DiskFull,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::KillSingle => "kill-single",
            Self::KillWorker => "kill-worker",
            Self::KillApi => "kill-api",
            Self::KillAll => "kill-all",
            Self::PauseWorker => "pause-worker",
            Self::RedisRestart => "redis-restart",
            Self::RedisFlush => "redis-flush",
            Self::RedisNosave => "redis-nosave",
            Self::RedisUnreachable => "redis-unreachable",
            Self::PostgresRestart => "postgres-restart",
            Self::PostgresKill => "postgres-kill",
            Self::AuthorityBefore => "authority-before",
            Self::AuthorityAfter => "authority-after",
            Self::DiskFull => "disk-full",
        }
    }

    pub(crate) const fn what(self) -> &'static str {
        match self {
            Self::KillSingle => "kill -9 of the only process, on SQLite",
            Self::KillWorker => "kill -9 of one of three workers, which does not come back",
            Self::KillApi => "kill -9 of one of two processes that take requests, which does not come back",
            Self::KillAll => "kill -9 of all processes",
            Self::PauseWorker => "one of three workers stands still for longer than its leases, and goes on",
            Self::RedisRestart => "Redis is stopped and started again, with what it had written down",
            Self::RedisFlush => "Redis is emptied",
            Self::RedisNosave => "Redis is stopped and started again, and remembers nothing",
            Self::RedisUnreachable => "Redis is out of reach for 30 s: silent, or not there",
            Self::PostgresRestart => "PostgreSQL is stopped and started again",
            Self::PostgresKill => "kill -9 of PostgreSQL",
            Self::AuthorityBefore => "the authority cuts every connection before it stores anything",
            Self::AuthorityAfter => "the authority cuts every connection after it has stored",
            Self::DiskFull => "the disk of the SQLite ledger is full",
        }
    }

    pub(crate) const fn shape(self) -> Shape {
        let alone = Shape { ledger: Ledger::Sqlite, queue: Queue::Memory, nodes: &["all"] };
        let shared = Shape {
            ledger: Ledger::Postgres,
            queue: Queue::Redis,
            nodes: &["api", "api", "worker", "worker"],
        };
        match self {
            Self::KillSingle | Self::AuthorityBefore | Self::AuthorityAfter => alone,
            Self::DiskFull => Shape { ledger: Ledger::SmallDisk, ..alone },
            Self::KillWorker | Self::PauseWorker => {
                Shape { nodes: &["api", "worker", "worker", "worker"], ..shared }
            }
            Self::RedisRestart | Self::RedisUnreachable => Shape { queue: Queue::RedisOnDisk, ..shared },
            _ => shared,
        }
    }

    /// Whether this process may let it happen.
    pub(crate) fn is_possible(self) -> bool {
        self.shape().ledger != Ledger::SmallDisk || SmallDisk::is_possible()
    }

    /// Lets it happen. Returns when it is over.
    pub(crate) async fn inject(self, place: &mut Place, chance: &mut Chance) {
        match self {
            Self::KillSingle => {
                place.kill(0);
                place.start(0);
            }
            Self::KillWorker => place.kill(*chance.pick(&place.with_role("worker"))),
            Self::KillApi => place.kill(*chance.pick(&place.with_role("api"))),
            Self::KillAll => {
                (0..place.node_count()).for_each(|number| place.kill(number));
                (0..place.node_count()).for_each(|number| place.start(number));
            }
            Self::PauseWorker => {
                let worker = place.process(*chance.pick(&place.with_role("worker")));
                worker.pause();
                tokio::time::sleep(LEASE + Duration::from_secs(2)).await;
                worker.resume();
            }
            Self::PostgresRestart => {
                let postgres = place.postgres.as_mut().unwrap();
                postgres.stop();
                tokio::time::sleep(Duration::from_secs(1)).await;
                postgres.restart();
            }
            Self::PostgresKill => {
                let postgres = place.postgres.as_mut().unwrap();
                postgres.kill();
                postgres.restart();
            }
            Self::RedisRestart => restart_redis(place, "SHUTDOWN").await,
            Self::RedisNosave => restart_redis(place, "SHUTDOWN NOSAVE").await,
            Self::RedisFlush => place.redis.as_ref().unwrap().command("FLUSHALL"),
            Self::RedisUnreachable => {
                let redis = place.redis.as_mut().unwrap();
                let outage = tokio::time::sleep(Duration::from_secs(30));
                if chance.one_in(2) {
                    redis.pause();
                    outage.await;
                    redis.resume();
                } else {
                    redis.kill();
                    outage.await;
                    redis.restart();
                }
            }
            Self::AuthorityBefore => cut(place, json!({"fault": "cut", "times": 0})).await,
            Self::AuthorityAfter => cut(place, json!({"fault": "cut", "stored": true, "times": 0})).await,
            Self::DiskFull => {
                let disk = place.disk.as_ref().unwrap();
                disk.fill();
                a_while().await;
                disk.clear();
            }
        }
    }
}

/// Long enough for every chain to meet the fault.
async fn a_while() {
    tokio::time::sleep(Duration::from_secs(3)).await;
}

async fn restart_redis(place: &mut Place, command: &str) {
    let redis = place.redis.as_mut().unwrap();
    redis.shut_down(command);
    tokio::time::sleep(Duration::from_secs(1)).await;
    redis.restart();
}

/// Queries meet the fault as well as submissions do.
async fn cut(place: &Place, fault: Value) {
    place.clear_faults().await;
    place.order(fault).await;
    a_while().await;
    place.clear_faults().await;
}
