//! What outlives a restart, an orderly one or not, and how a sandbox ends.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Parser;
use serde_json::Value;
use verifactu_server::sandbox::{
    Effect, Fault, Holder, Pki, PkiArgs, SandboxArgs, SandboxConfig, VERIFACTU_PATH,
};

use crate::bench::{Bench, client, send};
use crate::invoice::{Alta, ISSUER, envelope};

#[tokio::test]
async fn a_restart_forgets_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let open = || Bench::with(|config| config.data(directory.path()));
    let bench = open().await;
    bench.submit(&[Alta::new("R-1").record()]).await;
    bench.sandbox.stop().await;
    let bench = open().await;
    let again = bench.submit(&[Alta::new("R-1").record(), Alta::new("R-2").record()]).await;
    assert_eq!(again.texts("tikR:CodigoErrorRegistro"), ["3000"]);
    assert_eq!(bench.registered("R-1").await, 1);
    let log = bench.sandbox.registrations(None).await.unwrap();
    assert_ne!(log[0].csv, log[1].csv);
    assert_ne!(log[0].id_peticion, log[1].id_peticion);
}

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    sandbox: SandboxArgs,
}

/// The process that the next test kills; run by itself it does nothing.
#[tokio::test]
#[allow(clippy::disallowed_methods)]
async fn child() {
    let Ok(data) = std::env::var("SANDBOX_TEST_DATA") else { return };
    let cli = Cli::parse_from([
        "x",
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
        "--data",
        &data,
        "--wait",
        "1",
    ]);
    cli.sandbox.run(std::io::stdout(), std::future::pending()).await.unwrap();
}

#[tokio::test]
async fn a_killed_process_forgets_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut numbers = Vec::new();
    for round in 0..3 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "persistence::child", "--nocapture"])
            .env("SANDBOX_TEST_DATA", directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let report: Value = lines
            .map_while(Result::ok)
            .find_map(|line| serde_json::from_str(&line[line.find('{')?..]).ok())
            .unwrap();
        let pki = Pki::open(&directory.path().join("pki")).unwrap();
        assert_eq!(report["ca_pem"], pki.ca_pem());
        assert!(report["admin"].as_str().unwrap().starts_with("http://127.0.0.1:"));
        let identity = pki.issue(&Holder::person(ISSUER, "UNO").with_ec_key()).unwrap();
        let client = client(&pki, Some(&identity));
        let endpoint = report["endpoint"].as_str().unwrap();
        assert!(endpoint.ends_with(VERIFACTU_PATH));
        let submit =
            |number: String| send(client.post(endpoint).body(envelope(&[Alta::new(number).record()])));
        for number in &numbers {
            let answer = submit(String::clone(number)).await.unwrap();
            assert_eq!(answer.text("tikR:CodigoErrorRegistro"), "3000", "{number} was lost");
        }
        for index in 0..20 {
            let number = format!("K-{round}-{index}");
            let answer = submit(number.clone()).await.unwrap();
            assert!(answer.has("tikR:CSV"), "{}", answer.body);
            assert_eq!(answer.text("tikR:TiempoEsperaEnvio"), "1");
            numbers.push(number);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// A request in progress is finished; then nobody answers any more.
#[tokio::test]
async fn an_orderly_end() {
    let bench = Bench::start().await;
    bench.sandbox.arm(Fault::new(Effect::Delay).delayed(Duration::from_millis(400)));
    let url = bench.url();
    let client = bench.client.clone();
    let body = envelope(&[Alta::new("END").record()]);
    let request = tokio::spawn({
        let (client, url) = (client.clone(), url.clone());
        async move { send(client.post(url).body(body)).await }
    });
    let met = async {
        while !bench.sandbox.armed().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), met).await.unwrap();
    bench.sandbox.stop().await;
    let answer = request.await.unwrap().unwrap();
    assert!(answer.has("tikR:CSV"), "{}", answer.body);
    assert!(send(client.post(url).body("x")).await.is_err());
}

/// Two sandboxes in one process know nothing of each other.
#[tokio::test]
async fn two_at_once() {
    let (first, second) = (Bench::start().await, Bench::start().await);
    first.submit(&[Alta::new("T").record()]).await;
    let answer = second.submit(&[Alta::new("T").record()]).await;
    assert_eq!(answer.text("tikR:EstadoRegistro"), "Correcto");
    assert_eq!(second.registered("T").await, 1);
}

#[derive(Parser)]
struct PkiCli {
    #[command(flatten)]
    pki: PkiArgs,
}

#[tokio::test]
async fn certificates_from_the_command_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).into_os_string().into_string().unwrap();
    let (data, p12, pem) = (path("data"), path("a.p12"), path("a.pem"));
    let parse = |rest: &[&str]| {
        let fixed = ["x", "--data", &data, "--nif", ISSUER, "--name", "UNO", "--out", &p12, "--pem", &pem];
        PkiCli::try_parse_from(fixed.iter().chain(rest))
    };
    assert!(parse(&["--kind", "representative"]).is_err());
    let cli = parse(&["--kind", "representative", "--entity-nif", "B12345674", "--entity-name", "E SL"]);
    let mut said = Vec::new();
    cli.unwrap().pki.run(&mut said).await.unwrap();
    let said: serde_json::Value = serde_json::from_slice(&said).unwrap();
    assert_eq!((said["pkcs12"].as_str(), said["pem"].as_str()), (Some(&*p12), Some(&*pem)));
    let text = std::fs::read_to_string(&pem).unwrap();
    assert!(text.contains("BEGIN CERTIFICATE") && text.contains("BEGIN PRIVATE KEY"));
    assert!(!std::fs::read(&p12).unwrap().is_empty());
    let sandbox = SandboxConfig::default().data(&data).start().await.unwrap();
    assert_eq!(sandbox.pki().ca_pem(), Pki::open(&directory.path().join("data/pki")).unwrap().ca_pem());
    sandbox.stop().await;
}
