//! The processes of one run: a sandbox, what the service stands on, and the service.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex, RwLock},
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use harness::{
    histories::{Job, Kept, Registered},
    postgres_server::PostgresServer,
    programs::Process,
    receiver,
    redis_server::RedisServer,
};
use serde_json::{Value, json};

/// How long a worker keeps a chain without a sign of life.
pub(crate) const LEASE: Duration = Duration::from_secs(3);
const ADMIN_KEY: &str = "operator";
/// What takes a process of the service longer is no answer.
pub(crate) const ANSWER: Duration = Duration::from_secs(5);
/// How long a step of the preparation, or a look at the end, may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the service is made of.
pub(crate) struct Shape {
    pub(crate) ledger: Ledger,
    pub(crate) queue: Queue,
    /// The role of each process.
    pub(crate) nodes: &'static [&'static str],
}

/// Where chains and accounts are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ledger {
    Sqlite,
    /// SQLite on a disk of [`SmallDisk::SIZE`]; only root can have one.
    SmallDisk,
    Postgres,
}

/// Which queue there is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queue {
    Memory,
    /// Redis that keeps nothing beyond its life.
    Redis,
    /// Redis that writes down every step.
    RedisOnDisk,
}

/// An account with its key.
#[derive(Clone)]
pub(crate) struct Account {
    pub(crate) key: String,
    pub(crate) issuers: &'static [&'static str],
}

const ACCOUNTS: &[(&str, &[&str])] =
    &[("taller", &["B12345674", "B65410011"]), ("bodega", &["B50482132", "12345678Z"])];

/// One process of the service.
struct Node {
    role: &'static str,
    directory: PathBuf,
    process: Option<Process>,
}

pub(crate) struct Place {
    folder: PathBuf,
    nodes: Vec<Node>,
    pub(crate) postgres: Option<PostgresServer>,
    /// Address of its database.
    database: Option<String>,
    pub(crate) redis: Option<RedisServer>,
    pub(crate) disk: Option<SmallDisk>,
    sandbox: Process,
    pub(crate) http: reqwest::Client,
    /// Where requests are taken at the moment.
    pub(crate) urls: Arc<RwLock<Vec<String>>>,
    pub(crate) accounts: Vec<Account>,
    hooks: Arc<Mutex<Vec<String>>>,
}

impl Place {
    pub(crate) async fn new(folder: &Path, shape: Shape) -> Self {
        let listen = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
        let arguments = [&["sandbox", "--wait", "1", "--any-presenter"], &listen[..]].concat();
        let sandbox = Process::logging("verifactu-server", &arguments, log(folder, "sandbox"));
        fs::write(folder.join("ca.pem"), sandbox.told("ca_pem")).unwrap();
        let disk = (shape.ledger == Ledger::SmallDisk).then(|| SmallDisk::mount(&folder.join("disk")));
        let data = disk.as_ref().map_or(folder, |disk| &disk.folder);
        let postgres = (shape.ledger == Ledger::Postgres).then(PostgresServer::start);
        let database = match &postgres {
            Some(server) => Some(server.database().await),
            None => None,
        };
        let node = |(number, role): (usize, &&'static str)| Node {
            role,
            directory: data.join(format!("node-{number}")),
            process: None,
        };
        let mut place = Self {
            folder: folder.to_owned(),
            nodes: shape.nodes.iter().enumerate().map(node).collect(),
            postgres,
            database,
            redis: match shape.queue {
                Queue::Memory => None,
                Queue::Redis => Some(RedisServer::start()),
                Queue::RedisOnDisk => {
                    Some(RedisServer::with(&["--appendonly", "yes", "--appendfsync", "always"]))
                }
            },
            disk,
            sandbox,
            http: reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().unwrap(),
            urls: Arc::default(),
            accounts: Vec::new(),
            hooks: Arc::default(),
        };
        for number in 0..place.nodes.len() {
            place.start(number);
        }
        place.prepare_accounts().await;
        // Answers are slow to come, so that a fault finds messages that are registered and not answered.
        let slow = json!({"fault": "delay", "stored": true, "delay_ms": 300, "times": 0, "on": "submission"});
        place.order(slow).await;
        place
    }

    /// Starts a process of the service, which ran before or not.
    pub(crate) fn start(&mut self, number: usize) {
        let node = &self.nodes[number];
        let (directory, ca) = (text(&node.directory), self.folder.join("ca.pem"));
        let (authority, queue) = (self.sandbox.told("url"), self.redis.as_ref().map(RedisServer::url));
        let vault_key = format!("1:{}", BASE64.encode([7; 32]));
        let mut arguments = vec!["serve", "--environment", "sandbox", "--listen", "127.0.0.1:0"];
        // The load comes from a few accounts, and is meant to.
        arguments.extend(["--data-dir", directory, "--role", node.role]);
        arguments.extend([
            "--authority-url",
            &authority,
            "--authority-ca",
            text(&ca),
            "--signature-ec",
            "true",
        ]);
        arguments.extend(["--admin-key", ADMIN_KEY, "--key-pepper", "pepper", "--vault-key", &vault_key]);
        let lease = format!("{}s", LEASE.as_secs());
        arguments.extend(["--lease", &lease, "--initial-wait", "1s", "--sweep-every", "3s"]);
        // A message of a process that was killed is left alone for so long.
        arguments.extend(["--authority-exchange", "5s"]);
        arguments.extend(["--retry-waits", "1s,1s,1s,1s,1s,1s,1s,1s", "--retry-doubt-interval", "1s"]);
        arguments.extend(["--webhook-loopback", "true", "--rates", "false"]);
        if let Some(queue) = &queue {
            arguments.extend(["--queue", queue]);
        }
        if let Some(database) = &self.database {
            arguments.extend(["--ledger", database]);
        }
        let log = log(&self.folder, &format!("node-{number}"));
        let process = Process::logging("verifactu-server", &arguments, log);
        self.nodes[number].process = Some(process);
        self.tell_urls();
    }

    /// SIGKILL. It stays away until it is started.
    pub(crate) fn kill(&mut self, number: usize) {
        if let Some(process) = self.nodes[number].process.take() {
            process.kill();
        }
        self.tell_urls();
    }

    /// The processes with this role.
    pub(crate) fn with_role(&self, role: &str) -> Vec<usize> {
        (0..self.nodes.len()).filter(|number| self.nodes[*number].role == role).collect()
    }

    pub(crate) fn process(&self, number: usize) -> &Process {
        self.nodes[number].process.as_ref().unwrap()
    }

    pub(crate) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    fn tell_urls(&self) {
        let takes_requests = |node: &&Node| node.role != "worker";
        let running = self.nodes.iter().filter(takes_requests).filter_map(|node| node.process.as_ref());
        *self.urls.write().unwrap() = running.map(|process| process.told("url")).collect();
    }

    async fn prepare_accounts(&mut self) {
        let (address, mut received) = receiver::receiver(receiver::OK).await;
        let hooks = self.hooks.clone();
        tokio::spawn(async move {
            while let Some(request) = received.recv().await {
                let job = request.event()["jobId"].as_str().unwrap().to_owned();
                hooks.lock().unwrap().push(job);
            }
        });
        for (tenant, issuers) in ACCOUNTS {
            self.admin("POST", "/admin/tenants", json!({"id": tenant})).await;
            let scopes = ["invoices:write", "invoices:read", "tenant:certificates:write"];
            let key = json!({"tenantId": tenant, "name": "clients", "scopes": scopes});
            let key = self.admin("POST", "/admin/api-keys", key).await["apiKey"]["key"].clone();
            let key = key.as_str().unwrap().to_owned();
            let holder = json!({"kind": "seal", "nif": issuers[0], "name": "Talleres Ebro SL", "key": "p256",
                "passphrase": "secreto"});
            let url = format!("{}/pki/pkcs12", self.sandbox.told("admin"));
            let file = self.http.post(url).json(&holder).send().await.unwrap().bytes().await.unwrap();
            let upload = json!({"pfxBase64": BASE64.encode(file), "pfxPassphrase": "secreto"});
            self.ask("POST", "/me/certificate", ("x-api-key", &key), Some(upload)).await;
            let webhook = json!({"url": format!("http://{address}/"), "secret": receiver::SECRET});
            self.admin("PATCH", &format!("/admin/tenants/{tenant}/webhook"), webhook).await;
            self.accounts.push(Account { key, issuers });
        }
    }

    async fn admin(&self, method: &str, path: &str, body: Value) -> Value {
        self.ask(method, path, ("x-admin-key", ADMIN_KEY), Some(body)).await
    }

    async fn get(&self, account: &Account, path: &str) -> Value {
        self.ask("GET", path, ("x-api-key", &account.key), None).await
    }

    /// Asks whoever takes requests until it is answered well.
    async fn ask(&self, method: &str, path: &str, key: (&str, &str), body: Option<Value>) -> Value {
        let deadline = Instant::now() + PATIENCE;
        for turn in 0.. {
            let urls = self.urls.read().unwrap().clone();
            let url = format!("{}/v1{path}", urls[turn % urls.len()]);
            let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
            let mut request = self.http.request(method, url).timeout(ANSWER).header(key.0, key.1);
            if let Some(body) = &body {
                request = request.json(body);
            }
            let problem = match request.send().await {
                Ok(answer) if answer.status().is_success() => return answer.json().await.unwrap(),
                Ok(answer) => format!("{} {:?}", answer.status(), answer.text().await),
                Err(error) => error.to_string(),
            };
            assert!(Instant::now() < deadline, "{path}: {problem}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        unreachable!("the count has no end")
    }

    /// Orders a fault of the authority's.
    pub(crate) async fn order(&self, fault: Value) {
        let request = self.http.post(format!("{}/faults", self.sandbox.told("admin"))).json(&fault);
        assert!(request.send().await.unwrap().status().is_success());
    }

    /// The authority is well again.
    pub(crate) async fn clear_faults(&self) {
        let request = self.http.delete(format!("{}/faults", self.sandbox.told("admin")));
        assert!(request.send().await.unwrap().status().is_success());
    }

    /// Waits for the first registration.
    pub(crate) async fn has_registered(&self) {
        let deadline = Instant::now() + PATIENCE;
        while self.registered().await.is_empty() {
            assert!(Instant::now() < deadline, "nothing was sent");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until nothing is left to do. When that was, unless the deadline came first.
    pub(crate) async fn settled(&self, deadline: Instant) -> Option<Instant> {
        loop {
            let mut pending = 0;
            for account in &self.accounts {
                let chains = self.get(account, "/me/chains").await;
                let chains = chains["chains"].as_array().unwrap();
                pending += chains.iter().map(|chain| chain["pending"].as_u64().unwrap()).sum::<u64>();
            }
            let now = Instant::now();
            if pending == 0 {
                return Some(now);
            }
            if now > deadline {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// The records in the ledger, and what is wrong with its chains.
    pub(crate) async fn kept(&self) -> (Vec<Kept>, Vec<String>) {
        let (mut kept, mut problems) = (Vec::new(), Vec::new());
        for account in &self.accounts {
            let mut path = "/me/invoice-records?limit=200".to_owned();
            loop {
                let page = self.get(account, &path).await;
                kept.extend(page["records"].as_array().unwrap().iter().map(record));
                let Some(cursor) = page["nextCursor"].as_str() else { break };
                path = format!("/me/invoice-records?limit=200&cursor={cursor}");
            }
            for chain in self.get(account, "/me/chains").await["chains"].as_array().unwrap() {
                let path = format!("/me/chains/{}/verify", chain["id"].as_str().unwrap());
                let walk = self.get(account, &path).await;
                if walk["valid"] != true {
                    problems.push(walk.to_string());
                }
            }
        }
        (kept, problems)
    }

    /// What the authority has registered, in order.
    pub(crate) async fn registered(&self) -> Vec<Registered> {
        let url = format!("{}/registrations", self.sandbox.told("admin"));
        let all: Value = self.http.get(url).send().await.unwrap().json().await.unwrap();
        let registered = |it: &Value| Registered {
            issuer: text_of(&it["issuer"]),
            number: text_of(&it["number"]),
            huella: text_of(&it["huella"]),
        };
        all.as_array().unwrap().iter().map(registered).collect()
    }

    /// The jobs of the webhooks, once there are so many or none has come for a while: one attempt is
    /// made, and a fault may have cost it.
    pub(crate) async fn hooks(&self, awaited: usize) -> Vec<String> {
        let (mut known, mut quiet) = (0, 0);
        while known < awaited && quiet < 20 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let now = self.hooks.lock().unwrap().len();
            quiet = if now == known { quiet + 1 } else { 0 };
            known = now;
        }
        self.hooks.lock().unwrap().clone()
    }
}

fn record(shown: &Value) -> Kept {
    Kept {
        job: Job { id: text_of(&shown["jobId"]), huella: text_of(&shown["huella"]) },
        issuer: text_of(&shown["nifEmisor"]),
        number: text_of(&shown["numSerie"]),
        position: shown["posicion"].as_u64().unwrap(),
        previous: shown["huellaAnterior"].as_str().map(str::to_owned),
        // With errors is accepted too: a record that is sent again after later ones breaks their order.
        accepted: shown["estado"] == "CORRECTO" || shown["estado"] == "ACEPTADO_CON_ERRORES",
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// A file of the run for what a process logs, whoever of that name has logged before.
fn log(folder: &Path, name: &str) -> Stdio {
    let file = File::options().create(true).append(true).open(folder.join(format!("{name}.log")));
    Stdio::from(file.unwrap())
}

/// A disk in memory that is soon full.
pub(crate) struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    const SIZE: &str = "size=16m";

    /// Whether this process may have one.
    pub(crate) fn is_possible() -> bool {
        let folder = tempfile::tempdir().unwrap();
        Self::mounted(folder.path()).then(|| Self { folder: folder.path().to_owned() }).is_some()
    }

    fn mount(folder: &Path) -> Self {
        fs::create_dir(folder).unwrap();
        assert!(Self::mounted(folder), "a disk needs root");
        Self { folder: folder.to_owned() }
    }

    fn mounted(folder: &Path) -> bool {
        let mount = ["-t", "tmpfs", "-o", Self::SIZE, "tmpfs"];
        Command::new("mount")
            .args(mount)
            .arg(folder)
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|it| it.success())
    }

    fn ballast(&self) -> PathBuf {
        self.folder.join("ballast")
    }

    /// Leaves no room on it.
    pub(crate) fn fill(&self) {
        let mut ballast = File::create(self.ballast()).unwrap();
        while std::io::Write::write_all(&mut ballast, &[0; 4096]).is_ok() {}
    }

    pub(crate) fn clear(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.folder).status();
    }
}
