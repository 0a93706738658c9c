//! Certificates: who may connect, who may present, and what the issued ones look like.

use std::io::Write;
use std::process::Command;

use jiff::Timestamp;
use reqwest::StatusCode;
use verifactu_server::sandbox::{DEFAULT_PASSPHRASE, Holder, Pki, PresenterPolicy, Settings};

use crate::bench::{Bench, client, issue, pki, send};
use crate::invoice::{Alta, ISSUER, envelope, envelope_with};

async fn present(bench: &Bench, holder: &Holder, body: String) -> crate::bench::Answer {
    let identity = issue(holder);
    send(client(pki(), Some(&identity)).post(bench.url()).body(body)).await.unwrap()
}

#[tokio::test]
async fn without_a_certificate_the_service_shows_the_way_out() {
    let bench = Bench::start().await;
    let answer = send(client(pki(), None).post(bench.url()).body("x")).await.unwrap();
    assert_eq!(answer.status, StatusCode::FOUND);
    assert_eq!(
        answer.location.as_deref(),
        Some("https://sede.agenciatributaria.gob.es/Sede/errores/erro4033.html")
    );
    assert_eq!(answer.body, "");
}

#[tokio::test]
async fn certificates_that_end_the_handshake() {
    let bench = Bench::start().await;
    let stranger = Pki::ephemeral().unwrap();
    let foreign = stranger.issue(&Holder::person(ISSUER, "UNO").with_ec_key()).unwrap();
    let time = |text: &str| text.parse::<Timestamp>().unwrap();
    let expired = issue(
        &Holder::person(ISSUER, "UNO")
            .with_validity(time("2024-01-01T00:00:00Z"), time("2026-01-01T00:00:00Z")),
    );
    let not_yet = issue(
        &Holder::person(ISSUER, "UNO")
            .with_validity(time("2026-10-01T00:00:00Z"), time("2028-01-01T00:00:00Z")),
    );
    for identity in [&foreign, &expired, &not_yet] {
        let outcome = send(client(pki(), Some(identity)).post(bench.url()).body("x")).await;
        assert!(outcome.is_err(), "{outcome:?}");
    }
    // The authority's clock judges, not the computer's.
    bench.set_clock("2026-11-01T00:00:00Z");
    let outcome = send(client(pki(), Some(&not_yet)).post(bench.url()).body("")).await.unwrap();
    outcome.assert_fault(4138, "incorrecto.");
    // And a client that does not know the CA does not talk to the server.
    assert!(send(client(&stranger, None).post(bench.url()).body("x")).await.is_err());
}

#[tokio::test]
async fn who_may_present() {
    let bench = Bench::start().await;
    let body = || envelope(&[Alta::new("W").record()]);
    let other = Holder::person("12345678Z", "OTRO");
    present(&bench, &other, body()).await.assert_fault(4112, "Apoderado o Sucesor.");
    let own = Holder::person(ISSUER, "UNO");
    assert_eq!(present(&bench, &own, body()).await.status, StatusCode::OK);
    let representative = Holder::representative(ISSUER, "UNO", "A58818501", "EMPRESA SA");
    let answer = present(&bench, &representative, envelope(&[Alta::new("W-2").record()])).await;
    assert_eq!(answer.text("tik:NIFPresentador"), "A58818501", "{}", answer.body);
    let named =
        "<s:Representante><s:NombreRazon>OTRO</s:NombreRazon><s:NIF>12345678Z</s:NIF></s:Representante>";
    let answer = present(&bench, &other, envelope_with(named, &[Alta::new("W-3").record()])).await;
    assert_eq!(answer.text("tikR:EstadoEnvio"), "Correcto", "{}", answer.body);
    let seal = Holder::seal("A58818501", "EMPRESA SA");
    present(&bench, &seal, body()).await.assert_fault(4112, "Apoderado o Sucesor.");
    let anyone = Settings { presenters: PresenterPolicy::Anyone, ..Settings::default() };
    bench.sandbox.set_settings(anyone).unwrap();
    let answer = present(&bench, &seal, envelope(&[Alta::new("W-4").record()])).await;
    assert_eq!(answer.text("tikR:EstadoEnvio"), "Correcto", "{}", answer.body);
    assert_eq!(answer.text("tik:NIFPresentador"), "A58818501");
    let nameless = Holder::person("X", "SIN NIF");
    let answer = present(&bench, &nameless, body()).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert!(answer.text("faultstring").starts_with("Codigo[103]"));
}

/// What another product's tools read in the files: openssl, if it is installed.
#[test]
fn openssl_reads_what_is_issued() {
    if Command::new("openssl").arg("version").output().is_err() {
        let _ = writeln!(std::io::stderr(), "SKIPPED: openssl is not installed");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let pki = Pki::open(directory.path()).unwrap();
    let holders = [
        (
            Holder::person(ISSUER, "PÉREZ NÚÑEZ ANA"),
            "C=ES, serialNumber=IDCES-89890001K, CN=PÉREZ NÚÑEZ ANA - 89890001K",
        ),
        (
            Holder::representative(ISSUER, "ANA PEREZ", "B12345674", "EMPRESA SL").with_passphrase("año €"),
            "C=ES, O=EMPRESA SL, organizationIdentifier=VATES-B12345674, serialNumber=IDCES-89890001K, CN=89890001K ANA PEREZ (R: B12345674)",
        ),
        (
            Holder::seal("B12345674", "EMPRESA SL").with_ec_key(),
            "C=ES, O=EMPRESA SL, organizationIdentifier=VATES-B12345674, serialNumber=B12345674, CN=EMPRESA SL",
        ),
    ];
    for (holder, subject) in holders {
        let issued = pki.issue(&holder).unwrap();
        let file = directory.path().join("holder.p12");
        std::fs::write(&file, issued.pkcs12().unwrap()).unwrap();
        let passphrase = if subject.contains("(R:") { "año €" } else { DEFAULT_PASSPHRASE };
        let output = Command::new("openssl")
            .args(["pkcs12", "-nodes", "-passin", &format!("pass:{passphrase}"), "-in"])
            .arg(&file)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text.matches("BEGIN CERTIFICATE").count(), 2, "{text}");
        assert_eq!(text.matches("BEGIN PRIVATE KEY").count(), 1);
        let pem = directory.path().join("holder.pem");
        std::fs::write(&pem, issued.certificate_pem()).unwrap();
        let output = Command::new("openssl")
            .args([
                "x509",
                "-noout",
                "-subject",
                "-nameopt",
                "utf8,sep_comma_plus_space,sname",
                "-ext",
                "qcStatements",
                "-in",
            ])
            .arg(&pem)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(subject), "{subject} in {text}");
        let output = Command::new("openssl")
            .args(["verify", "-CAfile"])
            .arg(directory.path().join("ca.pem"))
            .arg(&pem)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        // id-etsi-qct-eseal is 0.4.0.1862.1.6.2, id-etsi-qct-esign ends in 1.
        let output = Command::new("openssl").args(["asn1parse", "-in"]).arg(&pem).output().unwrap();
        let purpose = if subject.contains("(R:") || subject.contains(" - ") { "01" } else { "02" };
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(&format!("06070400 8E460106{purpose}").replace(' ', "")), "{text}");
    }
}

/// The CA that is opened again is the same; its key is for its owner only.
#[tokio::test]
async fn a_ca_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let first = Pki::open(directory.path()).unwrap();
    let identity = first.issue(&Holder::person(ISSUER, "UNO").with_ec_key()).unwrap();
    let second = Pki::open(directory.path()).unwrap();
    assert_eq!(first.ca_pem(), second.ca_pem());
    let bench = Bench::with(|config| config.pki(second)).await;
    let known = client(&first, Some(&identity));
    let body = envelope(&[Alta::new("CA").record()]);
    let answer = send(known.post(bench.url()).body(body)).await.unwrap();
    assert_eq!(answer.text("tikR:EstadoEnvio"), "Correcto");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(directory.path().join("ca-key.pem")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

/// Whoever opens a new directory at the same time gets the same CA.
#[test]
fn a_ca_is_made_once() {
    let directory = tempfile::tempdir().unwrap();
    let identities: Vec<_> = std::thread::scope(|scope| {
        let open = || {
            let pki = Pki::open(directory.path()).unwrap();
            pki.issue(&Holder::person(ISSUER, "UNO").with_ec_key()).unwrap()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let pki = Pki::open(directory.path()).unwrap();
        let bench = Bench::with(|config| config.pki(pki.clone())).await;
        for identity in &identities {
            let answer = send(client(&pki, Some(identity)).post(bench.url()).body("")).await;
            answer.unwrap().assert_fault(4138, "incorrecto.");
        }
    });
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn holders_that_cannot_stand_in_a_certificate() {
    for holder in [
        Holder::person("", "X"),
        Holder::person("1234 5678", "X"),
        Holder::seal("A58818501", ""),
        Holder::seal("A58818501", "x".repeat(201)),
        Holder::person(ISSUER, "a\nb"),
    ] {
        assert!(pki().issue(&holder.with_ec_key()).is_err());
    }
}

/// Secrets do not show when things are printed.
#[test]
fn debug_shows_no_secret() {
    let holder = Holder::person(ISSUER, "UNO").with_passphrase("hunter2").with_ec_key();
    let issued = pki().issue(&holder).unwrap();
    let shown = format!("{holder:?} {issued:?} {:?}", pki());
    assert!(!shown.contains("hunter2") && !shown.contains("PRIVATE"), "{shown}");
}
