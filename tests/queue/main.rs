//! Every queue against the suite that defines one, and the one in Redis against servers that forget,
//! restart, fall silent and move.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod access;
mod faults;
mod sentinel;

mod redis_suite {
    use harness::redis_server::RedisServer;
    use verifactu_core::{gate_suite, queue_suite};

    queue_suite!({
        let server = RedisServer::start();
        (crate::queue_at(&server), server)
    });
    gate_suite!({
        let server = RedisServer::start();
        (crate::queue_at(&server), server)
    });
}

use std::sync::Arc;

use harness::redis_server::RedisServer;
use verifactu_core::{
    queue::{RedisOptions, RedisQueue},
    types::Ids as _,
};
use verifactu_server::clock::UuidV7Ids;

fn options() -> RedisOptions {
    RedisOptions { name: "test".into(), worker: UuidV7Ids.next(), roots: None }
}

/// A queue as a process has it that starts now.
fn queue_at(server: &RedisServer) -> Arc<RedisQueue> {
    Arc::new(RedisQueue::open(&server.url(), options()).unwrap())
}
