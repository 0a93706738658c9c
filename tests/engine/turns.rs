//! Accounts take turns: one with many chains does not keep the others waiting.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::sync::watch;
use verifactu_core::{
    authority::{Authority, Exchange, Request},
    engine::{Submit, Worker},
    job::JobState,
    types::TenantId,
};

use crate::world::{World, in_chain, of_issuer, send};

const MANY: &str = "89890001K";

/// Never answers what is about the issuer with many chains.
struct Deaf(Arc<dyn Authority>);

#[async_trait]
impl Authority for Deaf {
    async fn exchange(&self, request: Request) -> Exchange {
        if String::from_utf8_lossy(&request.body).contains(MANY) {
            std::future::pending().await
        } else {
            self.0.exchange(request).await
        }
    }
}

#[tokio::test]
async fn an_account_with_many_chains_leaves_room_for_others() {
    let mut world = World::new().await;
    for chain in 1..=20 {
        let submit = in_chain(of_issuer(send(&format!("M-{chain}")), MANY), chain);
        world.accept(submit).await;
    }
    let other = TenantId::parse("otro").unwrap();
    let job = world.accept(Submit { tenant: other.clone(), ..send("F-1") }).await.job.id;
    world.through(Arc::new(Deaf(world.wire.clone())));

    let (_running, stopped) = watch::channel(false);
    let mut changes = world.engine.changes();
    let worker = tokio::spawn(Worker::new(world.engine.clone()).run(2, stopped));
    let sent = async {
        loop {
            let found = world.ledger.job(&other, job).await.unwrap().unwrap();
            if found.job.progress.state == JobState::Succeeded {
                return;
            }
            changes.changed().await.unwrap();
        }
    };
    let sent = tokio::time::timeout(Duration::from_secs(20), sent).await;
    sent.expect("the other account's invoice is sent");
    worker.abort();
}
