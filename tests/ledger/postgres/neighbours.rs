//! Chains that share transactions, and do not suffer from each other.

use std::{sync::Arc, time::Duration};

use tokio::{task::JoinSet, time::timeout};
use tokio_postgres::Client;
use verifactu_core::{
    ledger::{Appended, Ledger, LedgerError, LedgerErrorKind, Quota, postgres::PostgresLedger},
    testing::{Draft, Scene},
};

use super::support::{WAITS, assert_passing, count, prove_chain, two_nodes, until};

/// Accounts with a chain each, of which the first one is in trouble.
struct Street {
    node: Arc<PostgresLedger>,
    client: Client,
    scenes: Vec<Scene>,
}

type Outcome = Result<Appended, LedgerError>;

impl Street {
    async fn new() -> Self {
        let ([node, _], client) = two_nodes().await;
        let scene = Scene::new();
        let scenes: Vec<Scene> = ["in-trouble", "next", "next-but-one"].map(|name| scene.of(name)).into();
        for scene in &scenes {
            scene.accept(&*node, &scene.invoice("F-0")).await;
        }
        Self { node, client, scenes }
    }

    fn drafts(&self) -> Vec<Draft> {
        let of = |number| self.scenes.iter().map(move |scene| scene.invoice(&format!("F-{number}")));
        (1..=20).flat_map(of).collect()
    }

    /// Appends all at the same time. The neighbours come to their end soon; what becomes of the others is
    /// told once they come to theirs.
    async fn append(&self, drafts: Vec<Draft>) -> (Vec<Appended>, JoinSet<Outcome>) {
        let (mut troubled, mut neighbours) = (JoinSet::new(), JoinSet::new());
        for draft in drafts {
            let tasks = if draft.tenant == self.scenes[0].tenant { &mut troubled } else { &mut neighbours };
            let node = self.node.clone();
            tasks.spawn(async move { node.append(draft.append()).await });
        }
        let soon = timeout(Duration::from_secs(8), neighbours.join_all()).await.unwrap();
        (soon.into_iter().map(Result::unwrap).collect(), troubled)
    }

    async fn assert_whole(&self, scene: &Scene, records: usize) {
        assert_eq!(prove_chain(&self.node, &scene.tenant).await.len(), records);
    }
}

fn new(appended: &[Appended]) -> usize {
    appended.iter().filter(|appended| matches!(appended, Appended::New { .. })).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chains_share_a_transaction() {
    let street = Street::new().await;
    let (neighbours, others) = street.append(street.drafts()).await;
    assert_eq!((new(&neighbours), others.join_all().await.iter().flatten().count()), (40, 20));
    for scene in &street.scenes {
        street.assert_whole(scene, 21).await;
    }
    let shared = "SELECT count(*) FROM (SELECT FROM record GROUP BY xmin::text \
                  HAVING count(DISTINCT chain) > 1) transactions";
    assert!(count(&street.client, shared).await > 0);
}

/// Somebody else has the chain, such as a worker on a node that has stopped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_that_is_locked_keeps_nobody_waiting() {
    let street = Street::new().await;
    let lock = "BEGIN; SELECT FROM chain WHERE tenant = 'in-trouble' FOR UPDATE";
    street.client.batch_execute(lock).await.unwrap();
    let (neighbours, troubled) = street.append(street.drafts()).await;
    assert_eq!(new(&neighbours), 40);
    until(&street.client, WAITS).await;
    street.client.batch_execute("COMMIT").await.unwrap();
    assert!(troubled.join_all().await.iter().all(Result::is_ok));
    street.assert_whole(&street.scenes[0], 21).await;
}

/// The allowance of an account is locked by a node that has stopped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allowance_that_is_locked_keeps_nobody_waiting() {
    let street = Street::new().await;
    let quota = Some(Quota { month: "2026-07".to_owned(), limit: Some(15) });
    let counted = |draft: Draft| Draft { quota: quota.clone(), ..draft };
    let first = counted(street.scenes[0].invoice("F-first"));
    street.scenes[0].accept(&*street.node, &first).await;
    let lock = "BEGIN; SELECT FROM usage WHERE tenant = 'in-trouble' FOR UPDATE";
    street.client.batch_execute(lock).await.unwrap();
    let (neighbours, troubled) = street.append(street.drafts().into_iter().map(counted).collect()).await;
    assert_eq!(new(&neighbours), 30, "the allowance of each is 15");
    until(&street.client, WAITS).await;
    street.client.batch_execute("COMMIT").await.unwrap();
    let troubled: Vec<Appended> = troubled.join_all().await.into_iter().map(Result::unwrap).collect();
    assert_eq!(new(&troubled), 14);
    assert_eq!(count(&street.client, "SELECT sum(invoices)::bigint FROM usage").await, 45);
}

/// Of a damaged chain each append fails, and no other does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_chain_harms_no_other() {
    for damage in ["length = length + 1", "hold = 'no hold'"] {
        let street = Street::new().await;
        let damage = format!("UPDATE chain SET {damage} WHERE tenant = 'in-trouble'");
        street.client.batch_execute(&damage).await.unwrap();
        let (neighbours, troubled) = street.append(street.drafts()).await;
        assert_eq!(new(&neighbours), 40);
        for outcome in troubled.join_all().await {
            assert_eq!(outcome.unwrap_err().kind, LedgerErrorKind::Corrupt);
        }
        let records = "SELECT count(*) FROM record WHERE tenant = 'in-trouble'";
        assert_eq!(count(&street.client, records).await, 1);
    }
}

/// Writes of one account lose every race, or bear an identifier that is taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_is_refused_harms_no_other() {
    for constraint in ["record_invoice", "record_id"] {
        let street = Street::new().await;
        let refuse = format!(
            "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF NEW.tenant = 'in-trouble' THEN RAISE EXCEPTION 'lost' \
             USING ERRCODE = 'unique_violation', CONSTRAINT = '{constraint}'; END IF; RETURN NEW; END $$; \
             CREATE TRIGGER lost BEFORE INSERT ON record FOR EACH ROW EXECUTE FUNCTION lose()"
        );
        street.client.batch_execute(&refuse).await.unwrap();
        let (neighbours, troubled) = street.append(street.drafts()).await;
        assert_eq!(new(&neighbours), 40);
        let outcomes = troubled.join_all().await;
        assert!(outcomes.iter().all(Result::is_err));
        if constraint == "record_invoice" {
            outcomes.into_iter().for_each(|outcome| assert_passing(&outcome.unwrap_err()));
        }
    }
}

/// A sealer that panics is the end of its own append.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sealer_that_panics_harms_no_other() {
    let street = Street::new().await;
    let mut outcomes = JoinSet::new();
    for (number, draft) in street.drafts().into_iter().enumerate() {
        let (node, mut append) = (street.node.clone(), draft.append());
        if number % 3 == 0 {
            append.seal = Box::new(|_| panic!("not today"));
        }
        outcomes.spawn(async move { (number % 3, node.append(append).await) });
    }
    for (of, outcome) in outcomes.join_all().await {
        assert_eq!(outcome.is_ok(), of != 0, "{outcome:?}");
    }
    street.assert_whole(&street.scenes[0], 1).await;
    street.assert_whole(&street.scenes[1], 21).await;
}
