//! The workspace's programs as processes of their own, and the tools that judge what they write.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
    time::Duration,
};

use serde_json::Value;

/// A program of the workspace, beside the one that runs; tests and benches lie a folder below.
pub fn program(name: &str) -> PathBuf {
    let ours = std::env::current_exe().unwrap();
    let folder = ours.parent().unwrap();
    let profile = if folder.ends_with("deps") { folder.parent().unwrap() } else { folder };
    let path = profile.join(name);
    assert!(path.exists(), "{}: build it with `cargo build --workspace --bins`", path.display());
    path
}

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The endpoints that the service publishes, method and path.
pub fn endpoints() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(workspace().join("README.md")).unwrap();
    let cells = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let endpoints = cells.filter_map(|cell| cell.split_once(" /"));
    endpoints.map(|(method, path)| (method.to_owned(), format!("/{path}"))).collect()
}

/// The authority's published schemas, where they lie beside the workspace. A test that has to do
/// without says so.
pub fn official_files() -> Option<PathBuf> {
    let folder = workspace().join("../shared/aeat");
    if folder.exists() {
        return folder.canonicalize().ok();
    }
    let _ = writeln!(std::io::stderr(), "SKIPPED: the authority's schemas are not beside the workspace");
    None
}

/// Judges envelopes by the authority's schemas.
pub fn assert_valid_envelopes(files: &[PathBuf]) {
    let Some(official) = official_files() else { return };
    let output = Command::new("xmllint")
        .args(["--nonet", "--noout", "--schema"])
        .arg(official.join("xsd/soap-envelope-check.xsd"))
        .args(files)
        .env("XML_CATALOG_FILES", official.join("xsd/catalog.xml"))
        .output()
        .expect("xmllint (package libxml2-utils)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Judges a signed record, a document of its own, by xmlsec1.
pub fn assert_verifies(record: &Path) {
    let output = Command::new("xmlsec1")
        .args(["--verify", "--insecure", "--id-attr:Id"])
        .arg("http://uri.etsi.org/01903/v1.3.2#:SignedProperties")
        .arg(record)
        .output()
        .expect("xmlsec1");
    assert!(output.status.success(), "{}: {}", record.display(), said(&output));
}

pub fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A process that tells in its first line, as JSON, where it listens. Killed when dropped.
pub struct Process {
    child: Child,
    pub ready: Value,
}

impl Process {
    pub fn start(name: &str, arguments: &[&str]) -> Self {
        Self::logging(name, arguments, Stdio::null())
    }

    /// The same, with a place for what it logs.
    pub fn logging(name: &str, arguments: &[&str], log: Stdio) -> Self {
        let mut child =
            Command::new(program(name)).args(arguments).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let out = child.stdout.take().unwrap();
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(out).lines();
            let _ = send.send(lines.next());
            // Reading on keeps the pipe open, so that the process never writes into a closed one.
            lines.for_each(drop);
        });
        let first = receive.recv_timeout(Duration::from_secs(60));
        let Ok(Some(Ok(line))) = first else {
            let _ = child.kill();
            panic!("{name} {arguments:?} did not start");
        };
        Self { ready: serde_json::from_str(&line).unwrap(), child }
    }

    /// A text of its first line.
    pub fn told(&self, name: &str) -> String {
        self.ready[name].as_str().unwrap_or_else(|| panic!("no {name} in {}", self.ready)).to_owned()
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL: it learns nothing of it.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// It stands still, until [`Self::resume`].
    pub fn pause(&self) {
        signal(&self.child, "-STOP");
    }

    pub fn resume(&self) {
        signal(&self.child, "-CONT");
    }

    /// SIGTERM, and whether it ended well within the time.
    pub fn terminate(mut self, within: Duration) -> bool {
        signal(&self.child, "-TERM");
        let deadline = std::time::Instant::now() + within;
        while std::time::Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.success();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal such as `-STOP`.
pub(crate) fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}
