//! Two nodes at the same time, and workers that come late.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::task::JoinSet;
use verifactu_core::{
    job::{JobState, Progress},
    ledger::{
        Accounts, Appended, AuditEntry, Fenced, Installation, JobUpdate, Ledger, Page, Quota, Settlement,
        Start, postgres::PostgresLedger,
    },
    testing::{Draft, Scene, claim, quick_settlement},
    types::Text,
};

use super::support::{WAITS, assert_passing, count, two_nodes, until};

fn on(installation: &str, draft: Draft) -> Draft {
    Draft { installation: Installation::Named(Text::parse(installation).unwrap()), ..draft }
}

/// Appends all at the same time, by turns on each node.
async fn at_once(nodes: &[Arc<PostgresLedger>; 2], drafts: Vec<Draft>) -> Vec<Appended> {
    let mut tasks = JoinSet::new();
    for (number, draft) in drafts.into_iter().enumerate() {
        let node = nodes[number % 2].clone();
        tasks.spawn(async move { node.append(draft.append()).await.unwrap() });
    }
    tasks.join_all().await
}

fn new(appended: &[Appended]) -> usize {
    appended.iter().filter(|appended| matches!(appended, Appended::New { .. })).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_make_one_chain() {
    let (nodes, client) = two_nodes().await;
    let scene = Scene::new();
    let minted = |number: i32| Draft {
        installation: Installation::Minted(Text::parse(&format!("m-{number}")).unwrap()),
        ..scene.invoice(&format!("F-{number}"))
    };
    assert_eq!(new(&at_once(&nodes, (0..60).map(minted).collect()).await), 60);
    assert_eq!(super::support::prove_chain(&nodes[0], &scene.tenant).await.len(), 60);
    assert_eq!(count(&client, "SELECT count(*) FROM chain").await, 1);
    let shared = "SELECT count(*) - count(DISTINCT xmin::text) FROM record";
    assert!(count(&client, shared).await > 0, "appends that met share a transaction");
}

/// The key and the invoice belong to the account, so they are contested across its chains too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_taken_twice_across_the_chains_of_an_account() {
    let (nodes, client) = two_nodes().await;
    let scene = Scene::new();
    for round in 0..5 {
        let one = scene.invoice("-");
        let keyed = |number: i32| {
            let draft = Draft { key: one.key.clone(), ..scene.invoice(&format!("K-{round}-{number}")) };
            on(&format!("i-{}", number % 3), draft)
        };
        let appended = at_once(&nodes, (0..24).map(keyed).collect()).await;
        let replayed = appended.iter().filter(|one| matches!(one, Appended::Replay { .. })).count();
        assert_eq!((new(&appended), replayed), (1, 23));

        let same = |number: i32| on(&format!("i-{}", number % 3), scene.invoice(&format!("F-{round}")));
        let appended = at_once(&nodes, (0..24).map(same).collect()).await;
        let known = appended.iter().filter(|one| matches!(one, Appended::AlreadySubmitted(_))).count();
        assert_eq!((new(&appended), known), (1, 23));
    }
    assert_eq!(count(&client, "SELECT count(*) FROM record").await, 10);
    assert_eq!(count(&client, "SELECT count(*) FROM idempotency").await, 10);
}

/// An invoice as new on one node and chain, its correction or cancellation on others: both are sealed before
/// either is written, and who comes second is sealed anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeat_and_a_new_invoice_know_of_each_other() {
    let (nodes, client) = two_nodes().await;
    let scene = Scene::new();
    for (alta, repeat) in
        [(scene.invoice("F-1"), scene.correction("F-1")), (scene.invoice("F-2"), scene.cancellation("F-2"))]
    {
        let (alta, repeat) = (on("i-1", alta), on("i-2", repeat));
        let seen = Arc::new(AtomicUsize::new(0));
        let (mut append, inner, sink) = (repeat.append(), repeat.append().seal, seen.clone());
        append.seal = Box::new(move |place| {
            sink.store(place.history.len(), Ordering::SeqCst);
            inner(place)
        });
        client.batch_execute("BEGIN; LOCK TABLE record IN SHARE MODE").await.unwrap();
        let (node, other, new_one) = (nodes[0].clone(), nodes[1].clone(), alta.append());
        let tasks = [
            tokio::spawn(async move { node.append(new_one).await.unwrap() }),
            tokio::spawn(async move { other.append(append).await.unwrap() }),
        ];
        until(&client, &format!("SELECT greatest(({WAITS}) - 1, 0)")).await;
        client.batch_execute("COMMIT").await.unwrap();
        let mut appended = Vec::new();
        for task in tasks {
            appended.push(task.await.unwrap());
        }
        let history = nodes[0].history(&scene.tenant, &alta.invoice).await.unwrap();
        let alta_is_first = history[0].job.id == alta.job;
        let known = (new(&appended), history.len(), seen.load(Ordering::SeqCst));
        assert_eq!(known, if alta_is_first { (2, 2, 1) } else { (1, 1, 0) });
    }
}

/// Who loses every time is told to come again.
#[tokio::test]
async fn a_race_that_is_never_won_passes() {
    let (nodes, client) = two_nodes().await;
    let scene = Scene::new();
    let lose = "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'lost' \
         USING ERRCODE = 'unique_violation', CONSTRAINT = 'record_invoice'; END $$; \
         CREATE TRIGGER lost BEFORE INSERT ON record FOR EACH ROW EXECUTE FUNCTION lose()";
    client.batch_execute(lose).await.unwrap();
    assert_passing(&nodes[0].append(scene.invoice("F-1").append()).await.unwrap_err());
    client.batch_execute("DROP TRIGGER lost ON record").await.unwrap();
    scene.accept(&*nodes[0], &scene.invoice("F-1")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_is_never_exceeded() {
    let (nodes, client) = two_nodes().await;
    let scene = Scene::new();
    let quota = Some(Quota { month: "2026-07".to_owned(), limit: Some(10) });
    let draft = |number: i32| {
        let draft = Draft { quota: quota.clone(), ..scene.invoice(&format!("F-{number}")) };
        on(&format!("i-{}", number % 4), draft)
    };
    assert_eq!(new(&at_once(&nodes, (0..40).map(draft).collect()).await), 10);
    assert_eq!(count(&client, "SELECT invoices FROM usage").await, 10);
}

/// The worker's settlement is on its way when another worker takes the chain.
#[tokio::test]
async fn a_worker_that_is_overtaken_in_the_middle_writes_nothing() {
    let (nodes, client) = two_nodes().await;
    let scene = Scene::new();
    let jobs = scene.accept_many(&*nodes[0], 2).await;
    let claim = claim(&*nodes[0], jobs[0].record.chain).await;
    let message = scene.message(&jobs, Vec::new());
    let done = |job: &verifactu_core::ledger::Submission| JobUpdate {
        job: job.job.id,
        progress: Progress { state: JobState::Succeeded, ..Progress::new() },
        attempt: None,
        answer_line: None,
    };
    let settlement =
        Settlement { updates: jobs.iter().map(done).collect(), ..quick_settlement(&claim, scene.now()) };

    client.batch_execute("BEGIN; UPDATE chain SET epoch = epoch + 1").await.unwrap();
    let lease = claim.lease;
    let (opening, settling) = (nodes[0].clone(), nodes[0].clone());
    let opening = tokio::spawn(async move { opening.open_message(lease, message).await.unwrap() });
    let settling = tokio::spawn(async move { settling.settle(lease, settlement).await.unwrap() });
    until(&client, &format!("SELECT greatest(({WAITS}) - 1, 0)")).await;
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!((opening.await.unwrap(), settling.await.unwrap()), (Fenced::Stale, Fenced::Stale));
    assert_eq!(count(&client, "SELECT count(*) FROM message").await, 0);
    assert_eq!(nodes[1].chains(&scene.tenant).await.unwrap()[0].pending, 2);
}

#[tokio::test]
async fn an_append_whose_caller_goes_away_comes_to_its_end() {
    let (nodes, client) = two_nodes().await;
    let scene = Scene::new();
    scene.accept(&*nodes[0], &scene.invoice("F-1")).await;
    client.batch_execute("BEGIN; SELECT 1 FROM chain FOR UPDATE").await.unwrap();
    let (node, draft) = (nodes[0].clone(), scene.invoice("F-2"));
    let append = draft.append();
    let caller = tokio::spawn(async move { node.append(append).await });
    until(&client, WAITS).await;
    caller.abort();
    client.batch_execute("COMMIT").await.unwrap();
    until(&client, "SELECT count(*) FROM record WHERE number = 'F-2'").await;
    assert!(matches!(nodes[1].append(draft.append()).await.unwrap(), Appended::Replay { .. }));
}

/// Vacuum has a lock of its own on the table, and gives way to those that ask for a stronger one.
#[tokio::test]
async fn the_audit_log_goes_on_while_its_table_is_vacuumed() {
    let (nodes, client) = two_nodes().await;
    client.batch_execute("BEGIN; LOCK TABLE audit IN SHARE UPDATE EXCLUSIVE MODE").await.unwrap();
    let entry = |number: usize| AuditEntry {
        at: Scene::new().now(),
        actor: "operator".to_owned(),
        action: "test".to_owned(),
        subject: number.to_string(),
        request: None,
    };
    let mut tasks = JoinSet::new();
    for number in 0..20 {
        let (node, entry) = (nodes[number % 2].clone(), entry(number));
        tasks.spawn(async move { node.audit(&entry).await.unwrap() });
    }
    tasks.join_all().await;
    let lines = nodes[0].audit_lines(Page { start: Start::Skip(0), limit: 100 }).await.unwrap();
    assert_eq!(
        lines.items.iter().map(|line| line.position).collect::<Vec<_>>(),
        (1..=20).rev().collect::<Vec<_>>()
    );
}

/// A worker's write whose caller goes away leaves no transaction behind, and no connection inside one.
#[tokio::test]
async fn a_write_whose_caller_goes_away_is_undone() {
    let (nodes, client) = two_nodes().await;
    let scene = Scene::new();
    let job = scene.accept(&*nodes[0], &scene.invoice("F-1")).await;
    let claim = claim(&*nodes[0], job.record.chain).await;
    client.batch_execute("BEGIN; SELECT 1 FROM chain FOR UPDATE").await.unwrap();
    let (node, settlement) = (nodes[0].clone(), quick_settlement(&claim, scene.now()));
    let settling = tokio::spawn(async move { node.settle(claim.lease, settlement).await });
    until(&client, WAITS).await;
    settling.abort();
    client.batch_execute("COMMIT").await.unwrap();
    until(
        &client,
        "SELECT (count(*) = 0)::int::bigint FROM pg_stat_activity \
         WHERE datname = current_database() AND state LIKE 'idle in transaction%'",
    )
    .await;
    assert_eq!(scene.accept(&*nodes[0], &scene.invoice("F-2")).await.record.position, 2);
}
