//! What an operator does from the command line.

use std::{path::Path, process::Command, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use harness::{
    postgres_server::PostgresServer,
    programs::{program, said, workspace},
};
use serde_json::{Value, json};

use crate::place::{Place, text};

const BARE: [&str; 6] =
    ["--environment", "sandbox", "--data-dir", "/tmp/x", "--authority-url", "https://localhost:1"];

/// The last line that a command printed.
fn last(output: &std::process::Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.lines().last().unwrap_or_default())
        .unwrap_or_else(|_| panic!("{}", said(output)))
}

/// Every command that README.md lists is there, and every one that is there is listed.
#[test]
fn the_commands_are_those_of_the_readme() {
    let readme = std::fs::read_to_string(workspace().join("README.md")).unwrap();
    let (_, rows) = readme.split_once("`verifactu-server` has these").unwrap();
    let rows = rows.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let listed: Vec<&str> =
        rows.take_while(|line| line.starts_with('|')).map(|line| line.split('`').nth(1).unwrap()).collect();
    let help = |words: &[&str]| {
        let output = Command::new(program("verifactu-server")).args(words).arg("--help").output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", said(&output));
        said(&output)
    };
    for command in &listed {
        help(&command.split(' ').collect::<Vec<_>>());
    }
    let text = help(&[]);
    let (_, there) = text.split_once("Commands:\n").unwrap();
    let there = there.lines().take_while(|line| line.starts_with("  "));
    let names =
        there.filter(|line| !line.starts_with("   ")).map(|line| line.split_whitespace().next().unwrap());
    for name in names.filter(|name| *name != "help") {
        assert!(listed.iter().any(|row| row.split(' ').next() == Some(name)), "README.md lacks {name}");
    }
}

#[test]
fn the_settings_are_told_with_their_sources_and_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    std::fs::write(&file, "workers = 7\n[retry]\nwaits = [\"1s\", \"2s\"]\n").unwrap();
    let check = |arguments: &[&str]| {
        Command::new(program("verifactu-server"))
            .args(["config", "check"])
            .args(arguments)
            .env("ADMIN_KEY", "canary-admin")
            .env("VERIFACTU_QUEUE", "redis://user:canary-queue@localhost:1/0")
            .env("VERIFACTU_LATE_AFTER", "90s")
            .env("VERIFACTU_CONFIG", &file)
            .output()
            .unwrap()
    };
    let output = check(&BARE);
    assert!(output.status.success(), "{}", said(&output));
    let told = said(&output);
    assert!(!told.contains("canary"), "{told}");
    for (name, value, source) in [
        ("environment", "sandbox", "--environment"),
        ("admin-key", "***", "ADMIN_KEY"),
        ("queue", "***", "VERIFACTU_QUEUE"),
        ("late-after", "90s", "VERIFACTU_LATE_AFTER"),
        ("retry-waits", "1s,2s", "retry_waits in "),
        ("listen", "127.0.0.1:8080", "default"),
        ("tls-cert", "-", "default"),
    ] {
        let line = told.lines().find(|line| line.split_whitespace().next() == Some(name));
        let line = line.unwrap_or_else(|| panic!("no {name} in {told}"));
        assert!(line.contains(value) && line.contains(&format!("({source}")), "{line}");
    }
    assert!(!Path::new("/tmp/x/admin-key").exists(), "nothing is generated");

    // What keeps the service from starting is told here too.
    for (more, wanted) in [
        (&["--workers", "many"][..], "--workers"),
        (&["--authority-ca", "/no/such/file"], "/no/such/file"),
        (&["--tls-cert", "/no/such/cert", "--tls-key", "/no/such/key"], "/no/such/cert"),
        (&["--development-identity", "/no/such/identity"], "/no/such/identity"),
    ] {
        let output = check(&[&BARE, more].concat());
        assert!(!output.status.success() && said(&output).contains(wanted), "{}", said(&output));
    }
    let output = check(&BARE[2..]);
    assert!(!output.status.success() && said(&output).contains("--environment"), "{}", said(&output));
}

/// No process makes secrets of its own for a ledger that it shares, and none is started without the roots
/// that it was told to trust.
#[test]
fn a_shared_ledger_is_refused_without_its_secrets_and_roots() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("roots.pem");
    std::fs::write(&file, "no certificate").unwrap();
    let vault = format!("1:{}", BASE64.encode([7; 32]));
    let (vault, pepper) = (["--vault-key", &vault], ["--key-pepper", "pepper"]);
    let both = [vault, pepper].concat();
    let ledger = "postgres://user:hush@localhost:1/ledger";
    for (ledger, more, wanted) in [
        (ledger, vec![], "--vault-key is required with a shared ledger"),
        (ledger, pepper.to_vec(), "--vault-key is required with a shared ledger"),
        (ledger, vault.to_vec(), "--key-pepper is required with a shared ledger"),
        (ledger, [&both[..], &["--ledger-ca", "/no/such/file"]].concat(), "/no/such/file: cannot be read"),
        (ledger, [&both[..], &["--ledger-ca", text(&file)]].concat(), "not certificates in PEM"),
        ("postgres://user:hush@localhost", both.clone(), "the address is not postgres://"),
    ] {
        for command in [&["serve"][..], &["config", "check"]] {
            let output = Command::new(program("verifactu-server"))
                .args(command)
                .args(&BARE[..2])
                .args(&BARE[4..])
                .args(["--data-dir", text(folder.path()), "--ledger", ledger])
                .args(&more)
                .output()
                .unwrap();
            let said = said(&output);
            assert!(!output.status.success() && said.contains(wanted), "{command:?} {more:?}: {said}");
            assert!(!said.contains("hush"), "{said}");
        }
    }
}

#[tokio::test]
async fn a_shared_ledger_is_reached_by_the_roots_that_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (server, ca) = PostgresServer::with_tls();
    let address =
        format!("{}?sslmode=verify-full", server.database().await.replace("127.0.0.1", "localhost"));
    let key = rcgen::KeyPair::generate().unwrap();
    let stranger = rcgen::CertificateParams::new(Vec::new()).unwrap().self_signed(&key).unwrap().pem();
    let vault = format!("1:{}", BASE64.encode([7; 32]));
    for (roots, trusted) in [(stranger, false), (ca, true)] {
        let file = folder.path().join("roots.pem");
        std::fs::write(&file, roots).unwrap();
        let output = Command::new(program("verifactu-server"))
            .arg("migrate")
            .args(&BARE[..2])
            .args(&BARE[4..])
            .args(["--data-dir", text(folder.path()), "--ledger", &address, "--ledger-ca", text(&file)])
            .args(["--vault-key", &vault, "--key-pepper", "pepper"])
            .output()
            .unwrap();
        assert_eq!(output.status.success(), trusted, "{}", said(&output));
        assert!(trusted || said(&output).contains("certificate"), "{}", said(&output));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_ledger_is_checked_and_copied() {
    let place = Place::new();
    let ledger = place.data.path().join("service/ledger.db");
    let output = place.command(&["chain", "verify"]);
    assert!(!output.status.success(), "there is no ledger yet: {}", said(&output));
    let output = place.command(&["migrate"]);
    assert!(output.status.success() && ledger.exists(), "{}", said(&output));
    let output = place.command(&["chain", "verify"]);
    assert_eq!(last(&output), json!({ "valid": true, "chains": 0, "records": 0 }), "{}", said(&output));

    let service = place.serve();
    let key = place.account(&service).await;
    for number in 0..5 {
        place.send(&service, &key, &format!("O-{number}")).await;
    }
    let address = service.told("address");
    let healthcheck = || place.command(&["healthcheck", "--listen", &address]);
    let output = healthcheck();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(last(&output)["ready"], true);

    // While the service runs: two writers would stand in each other's way, readers do not.
    assert!(!place.command(&["migrate"]).status.success());
    let whole = json!({ "valid": true, "chains": 1, "records": 5 });
    assert_eq!(last(&place.command(&["chain", "verify"])), whole);
    let copy = place.data.path().join("copy.db");
    let output = place.command(&["backup", "--to", text(&copy)]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(last(&place.command(&["chain", "verify", "--file", text(&copy)])), whole);
    let output = place.command(&["backup", "--to", text(&copy)]);
    assert!(!output.status.success() && said(&output).contains("there already"), "{}", said(&output));

    // A copy is one file, for its owner alone, and no secret of the service is in it.
    let bytes = std::fs::read(&copy).unwrap();
    for secret in ["vault-key", "key-pepper", "admin-key"] {
        let secret = std::fs::read(place.data.path().join("service").join(secret)).unwrap();
        let secret = secret.trim_ascii();
        assert!(!bytes.windows(secret.len()).any(|part| part == secret));
    }
    assert!(!bytes.windows(key.len()).any(|part| part == key.as_bytes()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    }

    assert!(service.terminate(Duration::from_secs(10)), "a stop ends in time");
    assert!(!healthcheck().status.success(), "nobody answers any more");

    // A damaged copy is told with the place of the damage.
    let raw = rusqlite::Connection::open(&copy).unwrap();
    raw.execute_batch(
        "DROP TRIGGER record_unchanged; UPDATE record SET xml = CAST(replace(CAST(xml AS TEXT), 'O-2', 'O-9') AS BLOB) \
         WHERE position = 3",
    )
    .unwrap();
    let output = place.command(&["chain", "verify", "--file", text(&copy)]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let first: Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
    assert_eq!((&first["tenant"], &first["firstBreak"]["posicion"]), (&json!("taller"), &json!(3)), "{told}");
    assert_eq!(last(&output)["valid"], false);
}
