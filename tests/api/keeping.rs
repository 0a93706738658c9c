//! What is kept for a time only, and what for good.

use std::{sync::Arc, time::Duration};

use jiff::ToSpan;
use verifactu_core::{
    ledger::{Accounts as _, Ledger as _, Page},
    testing::ManualClock,
    types::{Clock as _, JobId, TenantId},
};
use verifactu_server::{Server, clock::SystemClock};

use crate::world::{World, config, invoice};

#[tokio::test]
async fn messages_attempts_and_deliveries_are_forgotten_after_ninety_days() {
    let world = World::with(|config| config.webhook_loopback = true).await;
    let key = world.ready_account("acme").await;
    let webhook = serde_json::json!({ "url": "http://127.0.0.1:1/", "secret": "0123456789abcdef" });
    world.ask("PATCH", "/v1/admin/tenants/acme/webhook").admin().json(&webhook).await.expect(200);
    let send = world.ask("POST", "/v1/send-invoice").key(&key).idempotency("k");
    let sent = send.json(&invoice("K-1")).await.expect(202);
    let job = sent["jobId"].as_str().unwrap().to_owned();
    world.job_when(&key, &job, |job| job["status"] == "SUCCEEDED").await;
    let (ledger, tenant) = (world.ledger(), TenantId::parse("acme").unwrap());
    let id = JobId::parse(&job).unwrap();
    let attempted = async {
        loop {
            let deliveries = ledger.deliveries(&tenant, Page::behind(None, 9)).await.unwrap().items;
            if deliveries.iter().any(|delivery| delivery.outcome.is_some()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), attempted).await.expect("an attempt at the delivery");
    let before = (ledger.job(&tenant, id).await.unwrap(), ledger.answer_line(id).await.unwrap());
    assert!(before.1.is_some());

    // Another service on the same ledger, at another time, looks for what is old as it starts.
    let at = async |hours: i64| {
        let clock = Arc::new(ManualClock::at(SystemClock.now() + hours.hours()));
        let mut settings = config(world.directory.path(), &world.sandbox.url());
        settings.workers = 1;
        Server::builder(settings)
            .stores(ledger.clone(), ledger.clone())
            .authority(world.authority.clone())
            .clock(clock)
            .start()
            .await
            .unwrap()
    };
    let left = async || {
        let deliveries = ledger.deliveries(&tenant, Page::behind(None, 9)).await.unwrap().items.len();
        [ledger.messages(id).await.unwrap().len(), ledger.attempts(id).await.unwrap().len(), deliveries]
    };
    let early = at(89 * 24).await;
    early.stop().await;
    assert_eq!(left().await, [1, 1, 1]);
    let late = at(91 * 24).await;
    let gone = async {
        while left().await != [0, 0, 0] {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.expect("the old is forgotten");
    late.stop().await;

    let after = (ledger.job(&tenant, id).await.unwrap(), ledger.answer_line(id).await.unwrap());
    assert_eq!(after, before, "record, XML and answer line stay");
    let again = world.ask("POST", "/v1/send-invoice").key(&key).idempotency("k");
    assert_eq!(again.json(&invoice("K-1")).await.expect(200)["jobId"], job.as_str(), "and so does the key");
}
