//! A Redis of a test's own, which can be killed, paused and started anew.

use std::{
    fs::File,
    net::{Ipv4Addr, TcpListener},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use redis::{Cmd, FromRedisValue};
use tempfile::TempDir;

use crate::programs::signal;

/// A server on a free port of this machine, with a directory of its own. Killed when dropped.
pub struct RedisServer {
    directory: TempDir,
    port: u16,
    arguments: Vec<String>,
    child: Option<Child>,
}

impl RedisServer {
    /// A server that keeps nothing beyond its life.
    pub fn start() -> Self {
        Self::with(&["--save", ""])
    }

    /// A server with these arguments besides port and directory. `{dir}` and `{port}` in one stand for
    /// those.
    pub fn with(arguments: &[&str]) -> Self {
        Self::prepared(tempfile::tempdir().unwrap(), arguments)
    }

    /// A server with a directory that already holds what its arguments name.
    pub fn prepared(directory: TempDir, arguments: &[&str]) -> Self {
        let path = directory.path().to_str().unwrap();
        let arguments = arguments.iter().map(|argument| argument.replace("{dir}", path)).collect();
        let mut server = Self { directory, port: 0, arguments, child: None };
        // Another program may take a free port before the server does; then there is another one.
        for _ in 0..5 {
            let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            server.port = free.local_addr().unwrap().port();
            drop(free);
            if server.try_restart() {
                return server;
            }
        }
        panic!("redis-server (package redis-server) does not start");
    }

    /// Starts it again, after [`Self::kill`].
    pub fn restart(&mut self) {
        assert!(self.try_restart(), "redis-server does not start again");
    }

    fn try_restart(&mut self) -> bool {
        let log = self.directory.path().join("log");
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &self.port.to_string(), "--dir"])
            .arg(self.directory.path())
            .args(self.arguments.iter().map(|argument| argument.replace("{port}", &self.port.to_string())))
            .stdout(Stdio::from(File::create(&log).unwrap()))
            .stderr(Stdio::null())
            .spawn()
            .expect("redis-server (package redis-server)");
        self.child = Some(child);
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if std::fs::read_to_string(&log).unwrap().contains("Ready to accept connections") {
                return true;
            }
            if self.child.as_mut().unwrap().try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where it is, with the password that it wants.
    pub fn url(&self) -> String {
        let mut arguments = self.arguments.iter().skip_while(|argument| *argument != "--requirepass");
        let password = arguments.nth(1).map(|password| format!(":{password}@")).unwrap_or_default();
        format!("redis://{password}127.0.0.1:{}", self.port)
    }

    /// SIGKILL: whatever it has not written is lost.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Ends in its own way, with a command such as `SHUTDOWN NOSAVE`.
    pub fn shut_down(&mut self, command: &str) {
        // It answers by closing the connection.
        let _ = self.ask::<()>(command);
        if let Some(mut child) = self.child.take() {
            child.wait().unwrap();
        }
    }

    /// It takes connections and says nothing, until [`Self::resume`].
    pub fn pause(&self) {
        signal(self.child.as_ref().unwrap(), "-STOP");
    }

    pub fn resume(&self) {
        signal(self.child.as_ref().unwrap(), "-CONT");
    }

    /// Runs a command on it, such as `FLUSHALL`.
    pub fn command<T: FromRedisValue>(&self, command: &str) -> T {
        self.ask(command).unwrap()
    }

    fn ask<T: FromRedisValue>(&self, command: &str) -> redis::RedisResult<T> {
        let mut words = command.split(' ');
        let mut query = Cmd::new();
        query.arg(words.next().unwrap());
        words.for_each(|word| {
            query.arg(word);
        });
        query.query(&mut redis::Client::open(self.url())?.get_connection()?)
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}
