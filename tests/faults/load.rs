//! The clients: each sends invoices one after the other, as somebody does who must not lose one. What
//! has no answer is sent again under the same key, to whichever process takes it.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use harness::histories::{Job, Told};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinSet};
use verifactu_core::testing::Chance;

use crate::place::{ANSWER, Account, Place};

const CLIENTS: u64 = 6;
/// How long a client goes on to ask for an answer once the load has ended.
const PATIENCE: Duration = Duration::from_secs(20);

/// The clients at work.
pub(crate) struct Load {
    world: Arc<World>,
    stop: watch::Sender<Option<Instant>>,
    clients: JoinSet<()>,
}

/// What the clients have to tell.
#[derive(Default)]
pub(crate) struct Story {
    /// By idempotency key.
    pub(crate) told: BTreeMap<String, Told>,
    pub(crate) repeated: usize,
    /// Answers that nobody should have had.
    pub(crate) complaints: Vec<String>,
}

struct World {
    http: reqwest::Client,
    urls: Arc<RwLock<Vec<String>>>,
    accounts: Vec<Account>,
    story: Mutex<Story>,
    turn: AtomicUsize,
    stopped: watch::Receiver<Option<Instant>>,
}

/// One invoice.
struct Draft {
    account: Account,
    issuer: &'static str,
    number: String,
}

impl Load {
    pub(crate) fn start(place: &Place, chance: &mut Chance) -> Self {
        let (stop, stopped) = watch::channel(None);
        let world = Arc::new(World {
            http: place.http.clone(),
            urls: place.urls.clone(),
            accounts: place.accounts.clone(),
            story: Mutex::default(),
            turn: AtomicUsize::default(),
            stopped,
        });
        let mut clients = JoinSet::new();
        for number in 0..CLIENTS {
            clients.spawn(client(world.clone(), number, Chance::seeded(chance.draw())));
        }
        Self { world, stop, clients }
    }

    /// Nothing new is begun; what was begun is asked for until there is an answer.
    pub(crate) async fn end(self) -> Story {
        self.stop.send_replace(Some(Instant::now()));
        self.clients.join_all().await;
        std::mem::take(&mut self.world.story.lock().unwrap())
    }
}

async fn client(world: Arc<World>, client: u64, mut chance: Chance) {
    for count in 0.. {
        if world.stopped.borrow().is_some() {
            return;
        }
        let account = chance.pick(&world.accounts).clone();
        let draft = Draft {
            issuer: chance.pick::<&str>(account.issuers),
            account,
            number: format!("C{client}-{count:04}"),
        };
        let (key, rival) = (format!("key-{client}-{count}"), format!("rival-{client}-{count}"));
        match chance.below(6) {
            0 => {
                tokio::join!(world.send(&draft, &key), world.send(&draft, &key));
            }
            1 => {
                tokio::join!(world.send(&draft, &key), world.send(&draft, &rival));
            }
            2 => {
                world.send(&draft, &key).await;
                world.send(&draft, &key).await;
            }
            _ => world.send(&draft, &key).await,
        }
        tokio::time::sleep(Duration::from_millis(20 + chance.below(180))).await;
    }
}

impl World {
    /// Sends until there is an answer.
    async fn send(&self, draft: &Draft, key: &str) {
        loop {
            let answer = self.ask(draft, key).await;
            if let Some((status, body)) = answer {
                return self.note(draft, key, status, &body);
            }
            self.story.lock().unwrap().repeated += 1;
            if self.stopped.borrow().is_some_and(|at| at.elapsed() > PATIENCE) {
                return self.complain(format!("{key} has no answer"));
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// `None` for no answer, and for one that asks for a repetition.
    async fn ask(&self, draft: &Draft, key: &str) -> Option<(StatusCode, Value)> {
        let url = {
            let urls = self.urls.read().unwrap();
            let turn = self.turn.fetch_add(1, Ordering::Relaxed);
            urls.get(turn % urls.len().max(1))?.clone()
        };
        let body = json!({
            "nif": draft.issuer, "nombre": "Talleres Ebro SL", "numSerie": draft.number, "fecha": "15-01-2026",
            "tipoFactura": "F2", "descripcion": "Ticket",
            "desglose": [{"clave": "01", "calif": "S1", "base": "10", "tipo": "21", "cuota": "2.1"}]
        });
        let request = self.http.post(format!("{url}/v1/send-invoice")).timeout(ANSWER);
        let request = request.header("x-api-key", &draft.account.key).header("x-idempotency-key", key);
        let answer = request.json(&body).send().await.ok()?;
        let status = answer.status();
        let again = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
        if again { None } else { Some((status, answer.json().await.ok()?)) }
    }

    fn note(&self, draft: &Draft, key: &str, status: StatusCode, body: &Value) {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let info = [&body["qrInfo"], &body["result"]["qrInfo"]].into_iter().find(|info| info.is_object());
        let job = text(&body["jobId"]).zip(info.and_then(|info| text(&info["huella"])));
        let conflict = status == StatusCode::CONFLICT && body["code"] == "invoice_already_submitted";
        if !(status.is_success() && job.is_some() || conflict) {
            return self.complain(format!("{key}: {status} {body}"));
        }
        let mut story = self.story.lock().unwrap();
        let told = story.told.entry(key.to_owned()).or_insert_with(|| Told {
            issuer: draft.issuer.to_owned(),
            number: draft.number.clone(),
            jobs: Vec::new(),
            conflicts: 0,
        });
        match job {
            Some((id, huella)) if !conflict => told.jobs.push(Job { id, huella }),
            _ => told.conflicts += 1,
        }
    }

    fn complain(&self, complaint: String) {
        self.story.lock().unwrap().complaints.push(complaint);
    }
}
