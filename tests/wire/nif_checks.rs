//! The check of NIFs: its question, its answer, and the whole way to the sandbox and back.

use std::{process::Command, sync::Arc};

use verifactu_core::{
    authority::{
        self, Answered, Exchange, NifCheckError, NifChecked, NotReached, Outcome,
        https::{Hosts, HttpsAuthority, Limits, Trust},
        outcome,
    },
    certificate::Identity,
    types::{Nif, SecretBytes, Text},
    xml::{
        answer::{self, Reply},
        nif_check::{self, CensusStatus, CheckedTaxpayer, Taxpayer},
        reader::ReadError,
    },
};
use verifactu_server::sandbox::{Effect, Fault, Holder, MessageKind, RunningSandbox, SandboxConfig};

use super::official;

const SPACE: &str =
    "www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/burt/jdit/ws/";

fn taxpayer(nif: &str, name: &str) -> Taxpayer {
    let name = if name.is_empty() { None } else { Some(Text::parse(name).unwrap()) };
    Taxpayer { nif: Nif::parse(nif).unwrap(), name }
}

fn answer(scheme: &str, inside: &str) -> Vec<u8> {
    format!("<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\"><e:Body><V:VNifV2Sal xmlns:V=\"{scheme}://{SPACE}VNifV2Sal.xsd\">{inside}</V:VNifV2Sal></e:Body></e:Envelope>").into_bytes()
}

fn line(nif: &str, name: &str, result: &str) -> String {
    format!(
        "<V:Contribuyente><V:Nif>{nif}</V:Nif><V:Nombre>{name}</V:Nombre><V:Resultado>{result}</V:Resultado></V:Contribuyente>"
    )
}

fn read(document: &[u8]) -> Result<Vec<CheckedTaxpayer>, ReadError> {
    match answer::read(document)? {
        Reply::NifCheck(answer) => Ok(answer.taxpayers),
        other => panic!("no check of NIFs: {other:?}"),
    }
}

#[test]
fn the_question_is_written_as_the_schema_wants() {
    let question =
        nif_check::write(&[taxpayer("89890001K", "GARCÍA & CÍA <ANA>"), taxpayer("A58818501", "")]);
    let question = String::from_utf8(question).unwrap();
    assert!(question.contains(
        "<Contribuyente><Nif>89890001K</Nif><Nombre>GARCÍA &amp; CÍA &lt;ANA&gt;</Nombre></Contribuyente>\
         <Contribuyente><Nif>A58818501</Nif><Nombre></Nombre></Contribuyente>"
    ));
    let start = question.find("<VNifV2Ent").unwrap();
    let end = question.find("</Body>").unwrap();
    // The schema names its namespace with https.
    let body = question[start..end].replacen("\"http://", "\"https://", 1);
    let Some(schema) = official::file("vnif/VNifV2Ent.xsd") else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("question.xml");
    std::fs::write(&path, &body).unwrap();
    let Ok(lint) =
        Command::new("xmllint").args(["--nonet", "--noout", "--schema"]).arg(schema).arg(&path).output()
    else {
        eprintln!("skipped: xmllint is not installed");
        return;
    };
    assert!(lint.status.success(), "{}\n{body}", String::from_utf8_lossy(&lint.stderr));
}

#[test]
fn answers_are_read_in_either_namespace() {
    let lines: String = [
        ("89890001K", "IDENTIFICADO", CensusStatus::Identified),
        ("1", "IDENTIFICADO-BAJA", CensusStatus::Deregistered),
        ("2", "Identificado - Revocado", CensusStatus::Revoked),
        ("3", "No identificado -similar", CensusStatus::Similar),
        ("4", "NO IDENTIFICADO", CensusStatus::NotIdentified),
        ("5", "NO PROCESADO", CensusStatus::NotProcessed),
        ("6", "NO IDENTIFICABLE", CensusStatus::Unknown("NO IDENTIFICABLE".to_owned())),
    ]
    .map(|(nif, result, status)| {
        for scheme in ["http", "https"] {
            let name = "A &amp; B".to_owned();
            let found = read(&answer(scheme, &line(nif, &name, result))).unwrap();
            let expected =
                CheckedTaxpayer { nif: nif.to_owned(), name: "A & B".to_owned(), status: status.clone() };
            assert_eq!(found, [expected]);
        }
        line(nif, "X", result)
    })
    .concat();
    assert_eq!(
        read(&answer("http", &lines)).unwrap().iter().filter(|it| it.status.is_identified()).count(),
        3
    );
}

#[test]
fn answers_that_are_none() {
    let whole = line("89890001K", "X", "IDENTIFICADO");
    assert_eq!(read(&answer("http", &whole.repeat(10_000))).unwrap().len(), 10_000);
    assert!(matches!(read(&answer("http", &whole.repeat(10_001))), Err(ReadError::TooMany("Contribuyente"))));
    let without = |part: &str| answer("http", &whole.replace(part, ""));
    assert!(matches!(
        read(&without("<V:Resultado>IDENTIFICADO</V:Resultado>")),
        Err(ReadError::Missing("Resultado"))
    ));
    assert!(matches!(read(&without("<V:Nif>89890001K</V:Nif>")), Err(ReadError::Missing("Nif"))));
    let twice = whole.replace("<V:Nombre>", "<V:Nif>1</V:Nif><V:Nombre>");
    assert!(matches!(read(&answer("http", &twice)), Err(ReadError::TooMany("Nif"))));
    assert!(read(&answer("ftp", &whole)).is_err());
    let cut = answer("http", &whole);
    assert!(matches!(read(&cut[..cut.len() - 30]), Err(ReadError::Truncated)));
    let registration = Exchange::Answered(Answered::xml(200, answer("http", &whole)));
    assert!(matches!(outcome::registration(&registration), Outcome::Unreadable { .. }));
    assert!(matches!(outcome::nif_check(&registration), Outcome::Processed(_)));
}

async fn sandbox() -> (RunningSandbox, Arc<Identity>) {
    let sandbox = SandboxConfig::default().start().await.unwrap();
    let issued = sandbox.pki().issue(&Holder::seal("A58818501", "EMPRESA SA").with_ec_key()).unwrap();
    let chain = issued.chain_der().iter().map(|der| der.to_vec()).collect();
    let key = SecretBytes::new(issued.key_der().secret_der().to_vec());
    (sandbox, Arc::new(Identity::new(key, chain).unwrap()))
}

fn https(sandbox: &RunningSandbox, hosts: Hosts) -> HttpsAuthority {
    let trust = Trust::Only(sandbox.pki().ca_pem().as_bytes().to_vec());
    HttpsAuthority::new(hosts, &trust, Limits::default()).unwrap()
}

#[tokio::test]
async fn the_sandbox_answers_in_the_order_of_the_question() {
    let (sandbox, identity) = sandbox().await;
    let authority = https(&sandbox, Hosts::at(&sandbox.url()).unwrap());
    let asked = [
        taxpayer("87654321X", "GARCIA ANA"),
        taxpayer("11111111H", "NADIE"),
        taxpayer("A58818501", ""),
        taxpayer("87654321X", "GARCIA PEREZ ANA"),
        taxpayer("B64717838", "X"),
    ];
    let check = |asked: Vec<Taxpayer>| {
        let (authority, identity) = (&authority, Arc::clone(&identity));
        async move { authority::nif_check(authority, identity, &asked).await }
    };
    let found = check(asked.to_vec()).await.unwrap();
    let expected = [
        CensusStatus::Similar,
        CensusStatus::NotIdentified,
        CensusStatus::Identified,
        CensusStatus::Identified,
        CensusStatus::Revoked,
    ];
    for ((found, asked), status) in found.iter().zip(&asked).zip(expected) {
        assert_eq!((found.nif, &found.status), (asked.nif, &status));
    }
    assert_eq!(found.len(), asked.len());
    assert_eq!(check(Vec::new()).await, Err(NifCheckError::None));
    assert_eq!(check(vec![taxpayer("A58818501", ""); 10_001]).await, Err(NifCheckError::TooMany));
    sandbox.arm(Fault::new(Effect::CutAnswer).on(MessageKind::NifCheck));
    let unprocessed = |found| match found {
        Err(NifCheckError::Unprocessed(outcome)) => outcome,
        other => panic!("{other:?}"),
    };
    assert!(matches!(unprocessed(check(asked.to_vec()).await), Outcome::NoAnswer(_)));
    sandbox.arm(Fault::new(Effect::Status(503)).on(MessageKind::NifCheck));
    assert!(matches!(unprocessed(check(asked.to_vec()).await), Outcome::Unreadable { status: 503, .. }));
}

#[tokio::test]
async fn its_host_can_be_another() {
    let (sandbox, identity) = sandbox().await;
    let nowhere = Hosts::at("https://127.0.0.1:1").unwrap();
    let elsewhere = https(&sandbox, nowhere.clone().with_nif_check_at(&sandbox.url()).unwrap());
    let asked = [taxpayer("A58818501", "X")];
    let found = authority::nif_check(&elsewhere, Arc::clone(&identity), &asked).await.unwrap();
    let expected = NifChecked { nif: asked[0].nif, status: CensusStatus::Identified, name: "X".to_owned() };
    assert_eq!(found, [expected]);
    let unreached = authority::nif_check(&https(&sandbox, nowhere), identity, &asked).await;
    assert_eq!(unreached, Err(Outcome::NotReached(NotReached::Connect).into()));
    assert!(Hosts::at(&sandbox.url()).unwrap().with_nif_check_at("http://x").is_err());
}

/// An access that was refused with a TLS alert is told as such.
#[tokio::test]
async fn a_refused_handshake_is_not_reached() {
    let (sandbox, identity) = sandbox().await;
    sandbox.arm(Fault::new(Effect::TlsAlert));
    let authority = https(&sandbox, Hosts::at(&sandbox.url()).unwrap());
    let found = authority::nif_check(&authority, identity, &[taxpayer("A58818501", "X")]).await;
    let alert = NotReached::TlsAlert { alert: "AccessDenied".to_owned() };
    assert_eq!(found, Err(Outcome::NotReached(alert).into()));
}
