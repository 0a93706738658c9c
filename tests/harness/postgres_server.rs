//! A PostgreSQL of a test's own, which can be killed, paused and started anew.

use std::{
    fs,
    io::Write as _,
    net::{Ipv4Addr, TcpListener},
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

/// The server's superuser.
const USER: &str = "postgres";
const PASSWORD: &str = "correct horse";

/// Starts the server, and ends it at a word or when the test's process ends, however that ends: then there
/// is no word, and nobody else to remove the directory.
const KEEPER: &str = r#"directory=$1; shift; "$@" & server=$!; read -r word; kill -QUIT $server 2>/dev/null
wait $server; test -n "$word" || rm -rf "$directory""#;

/// A server on a free port of this machine, with a directory of its own. Killed when dropped.
pub struct PostgresServer {
    directory: TempDir,
    port: u16,
    settings: Vec<String>,
    keeper: Option<Child>,
    databases: AtomicU32,
}

/// A server for all tests of a process that only need a database of their own.
static SHARED: LazyLock<PostgresServer> = LazyLock::new(PostgresServer::quick);

impl PostgresServer {
    /// The server that the tests of this process share. It is quick, because it survives no power cut.
    pub fn shared() -> &'static Self {
        &SHARED
    }

    /// A server that writes nothing through to the disk, for tests that never kill it.
    pub fn quick() -> Self {
        Self::with(&["fsync=off", "full_page_writes=off", "synchronous_commit=on"])
    }

    /// A server that keeps what it promises, as in production.
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// A server with these settings, such as `max_connections=5`. `{dir}` in one stands for its directory.
    pub fn with(settings: &[&str]) -> Self {
        Self::prepared(tempfile::tempdir().unwrap(), settings)
    }

    /// A server that speaks TLS as `localhost`, and the certificate of its CA in PEM.
    pub fn with_tls() -> (Self, String) {
        let directory = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        let key = KeyPair::generate().unwrap();
        let leaf =
            CertificateParams::new(vec!["localhost".into()]).unwrap().signed_by(&key, &issuer).unwrap();
        for (name, pem) in [("leaf.pem", leaf.pem()), ("key.pem", key.serialize_pem())] {
            let file = directory.path().join(name);
            fs::write(&file, pem).unwrap();
            fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let tls = ["ssl=on", "ssl_cert_file={dir}/leaf.pem", "ssl_key_file={dir}/key.pem"];
        (Self::prepared(directory, &[&["fsync=off"], &tls[..]].concat()), ca)
    }

    /// A server with a directory that already holds what its settings name.
    pub fn prepared(directory: TempDir, settings: &[&str]) -> Self {
        let path = directory.path();
        fs::write(path.join("password"), PASSWORD).unwrap();
        give_to_server(path);
        let made = as_server(Command::new(binary("initdb")))
            .args(["--username", USER, "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C"])
            .args(["--no-sync", "--pwfile"])
            .arg(path.join("password"))
            .arg(path.join("data"))
            .output()
            .expect("initdb (package postgresql)");
        assert!(made.status.success(), "{}", super::programs::said(&made));
        let text = path.to_str().unwrap();
        let settings = settings.iter().map(|setting| setting.replace("{dir}", text)).collect();
        let mut server = Self { directory, port: 0, settings, keeper: None, databases: AtomicU32::new(0) };
        // Another program may take a free port before the server does; then there is another one.
        for _ in 0..5 {
            let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            server.port = free.local_addr().unwrap().port();
            drop(free);
            if server.try_restart() {
                return server;
            }
        }
        panic!("postgres (package postgresql) does not start: {}", server.log());
    }

    /// Starts it again, after [`Self::kill`] or [`Self::stop`]. While processes of before are still there,
    /// it refuses to.
    pub fn restart(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.try_restart() {
            assert!(Instant::now() < deadline, "postgres does not start again: {}", self.log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn try_restart(&mut self) -> bool {
        self.end();
        // Processes of a server that was killed go on to write into the old one.
        let path = self.directory.path().join("log");
        let _ = fs::remove_file(&path);
        let log = fs::File::create(path).unwrap();
        let mut command = as_server(Command::new("sh"));
        command
            .args(["-c", KEEPER, "keeper"])
            .arg(self.directory.path())
            .arg(binary("postgres"))
            .arg("-D")
            .arg(self.data());
        for setting in
            [&format!("port={}", self.port), "listen_addresses=127.0.0.1", "unix_socket_directories="]
                .into_iter()
                .chain(self.settings.iter().map(String::as_str))
        {
            command.args(["-c", setting]);
        }
        let keeper = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log).spawn();
        self.keeper = Some(keeper.expect("postgres (package postgresql)"));
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline {
            let log = self.log();
            if log.contains("database system is ready to accept connections") {
                return true;
            }
            // Other fatal words are for callers who come too early.
            let refusals = ["database system is shut down", "FATAL:  could not", "is still in use"];
            if refusals.iter().any(|refusal| log.contains(refusal)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap()
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// A new, empty database, as the superuser reaches it.
    pub async fn database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.run("postgres", &format!("CREATE DATABASE {name}")).await;
        self.address(&name)
    }

    /// How the superuser reaches a database.
    pub fn address(&self, database: &str) -> String {
        let password = PASSWORD.replace(' ', "%20");
        format!("postgres://{USER}:{password}@127.0.0.1:{}/{database}", self.port)
    }

    /// Has PostgreSQL's own tools copy a database into a file, as an operator does.
    pub fn dump(&self, address: &str, file: &Path) {
        tool("pg_dump", &[&format!("--dbname={address}"), "--format=custom", "--file"], file);
    }

    /// Brings a dump into another database.
    pub fn load(&self, address: &str, dump: &Path) {
        tool("pg_restore", &[&format!("--dbname={address}"), "--exit-on-error"], dump);
    }

    /// Runs statements in a database.
    pub async fn run(&self, database: &str, statements: &str) {
        connect(&self.address(database)).await.batch_execute(statements).await.unwrap();
    }

    /// SIGKILL to its first process; the others end when they see it gone.
    pub fn kill(&mut self) {
        self.signal("-KILL");
        self.end();
    }

    /// Ends it in good order, cutting every connection.
    pub fn stop(&mut self) {
        self.signal("-INT");
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.first_process().is_some() {
            assert!(Instant::now() < deadline, "postgres does not stop");
            std::thread::sleep(Duration::from_millis(10));
        }
        self.end();
    }

    /// None of its processes does anything, until [`Self::resume`].
    pub fn pause(&self) {
        self.signal_all("-STOP");
    }

    pub fn resume(&self) {
        self.signal_all("-CONT");
    }

    /// The number of the first process, while there is one.
    fn first_process(&self) -> Option<String> {
        let file = fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        file.lines().next().map(str::to_owned)
    }

    fn signal(&self, signal: &str) {
        let id = self.first_process().unwrap();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    fn signal_all(&self, signal: &str) {
        let id = self.first_process().unwrap();
        self.signal(signal);
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        for child in children.split_whitespace() {
            // One that has just ended needs no signal.
            let _ = Command::new("kill").args([signal, child]).stderr(Stdio::null()).status();
        }
    }

    fn end(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            let _ = keeper.stdin.take().unwrap().write_all(b"end\n");
            let _ = keeper.wait();
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.end();
    }
}

/// A connection beside the ledger's own, to look and to do harm.
pub async fn connect(address: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(address, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Debian keeps the programs outside the path.
fn binary(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        versions.map(|version| version.path().join("bin").join(name)).filter(|path| path.exists()).collect();
    found.sort();
    found.pop().unwrap_or_else(|| name.into())
}

fn tool(name: &str, arguments: &[&str], file: &Path) {
    let output = Command::new(binary(name)).args(arguments).arg(file).output().unwrap();
    assert!(output.status.success(), "{name}: {}", super::programs::said(&output));
}

/// The server refuses to run as root, so that it gets another user where the tests do.
fn server_user() -> Option<(u32, u32)> {
    let ours = fs::metadata("/proc/self").map(|of| std::os::unix::fs::MetadataExt::uid(&of));
    if ours.unwrap_or(1) != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let numbers = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut parts = line.split(':').skip(2).map_while(|part| part.parse().ok());
        Some((parts.next()?, parts.next()?))
    };
    Some(numbers("postgres").or_else(|| numbers("nobody")).expect("a user that is not root"))
}

fn as_server(mut command: Command) -> Command {
    if let Some((user, group)) = server_user() {
        command.uid(user).gid(group);
    }
    command.current_dir("/");
    command
}

fn give_to_server(directory: &Path) {
    let Some((user, group)) = server_user() else { return };
    chown(directory, Some(user), Some(group)).unwrap();
    for entry in fs::read_dir(directory).unwrap() {
        chown(entry.unwrap().path(), Some(user), Some(group)).unwrap();
    }
}
