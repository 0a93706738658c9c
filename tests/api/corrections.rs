//! Which record the authority takes when: the tables of operations and states, cell by cell, through REST,
//! and the flags that the service derives so that a caller need not know them.
//!
//! In the tables two accounts speak for one issuer. The first brings the authority into the column's state;
//! the second, whose own ledger knows nothing of the invoice, sends what the row says, with its flags as
//! they are given.

use serde_json::{Value, json};
use verifactu_server::sandbox::{Effect, Fault, InvoiceState, MessageKind};

use super::world::{Answer, ISSUER, Mode, World, cancellation, invoice};

/// What the authority holds under the invoice's key when the record arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Nothing,
    Alta,
    Annulment,
}

/// What comes of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comes {
    /// The record is registered, and the invoice stands like this at the authority.
    Registered(InvoiceState),
    /// The authority refuses the record with this code, and what it held stays.
    Refused(&'static str),
    /// The authority says that it holds the invoice already, and its record is another's.
    Duplicate,
    /// The service refuses the request with this code of the authority's rules.
    NotAdmitted(&'static str),
}

use Comes::{Duplicate, NotAdmitted, Refused, Registered};

const LIVE: Comes = Registered(InvoiceState::Correcta);
const ANNULLED: Comes = Registered(InvoiceState::Anulada);

type Row = (&'static str, &'static [(&'static str, &'static str)], [Comes; 3]);

/// Of an alta: what the caller wants, `subsanacion` and `rechazoPrevio`, and what comes of it where the
/// authority holds nothing, an alta, an annulment.
const ALTAS: &[Row] = &[
    ("first alta", &[], [LIVE, Duplicate, Duplicate]),
    ("first alta, said so", &[("subsanacion", "N"), ("rechazoPrevio", "N")], [LIVE, Duplicate, Duplicate]),
    (
        "alta again after its rejection, or of a record that was never there",
        &[("subsanacion", "S"), ("rechazoPrevio", "X")],
        [LIVE, Duplicate, Duplicate],
    ),
    ("correction", &[("subsanacion", "S")], [Refused("3002"), LIVE, LIVE]),
    ("correction, said so", &[("subsanacion", "S"), ("rechazoPrevio", "N")], [Refused("3002"), LIVE, LIVE]),
    (
        "correction again after its rejection",
        &[("subsanacion", "S"), ("rechazoPrevio", "S")],
        [Refused("3002"), LIVE, LIVE],
    ),
    (
        "rejected before, and no correction",
        &[("rechazoPrevio", "S")],
        [NotAdmitted("1161"), NotAdmitted("1161"), NotAdmitted("1161")],
    ),
    (
        "never there, and no correction",
        &[("rechazoPrevio", "X")],
        [NotAdmitted("1153"), NotAdmitted("1153"), NotAdmitted("1153")],
    ),
];

/// The same of an annulment, with `sinRegistroPrevio` and `rechazoPrevio`.
const ANNULMENTS: &[Row] = &[
    ("annulment", &[], [Refused("3002"), ANNULLED, ANNULLED]),
    (
        "annulment, said so",
        &[("sinRegistroPrevio", "N"), ("rechazoPrevio", "N")],
        [Refused("3002"), ANNULLED, ANNULLED],
    ),
    ("annulment again after its rejection", &[("rechazoPrevio", "S")], [Refused("3002"), ANNULLED, ANNULLED]),
    ("annulment of what was never there", &[("sinRegistroPrevio", "S")], [ANNULLED, Duplicate, Duplicate]),
    (
        "annulment of what was never there, again after its rejection",
        &[("sinRegistroPrevio", "S"), ("rechazoPrevio", "S")],
        [ANNULLED, Duplicate, Duplicate],
    ),
];

/// Sends and returns the job once the authority has decided.
async fn sent(world: &World, key: &str, path: &str, body: &Value, name: &str) -> Value {
    let answer = world.ask("POST", path).key(key).idempotency(name).json(body).await.expect(202);
    let decided = |job: &Value| match job["status"].as_str().unwrap() {
        "SUCCEEDED" | "DEAD" => true,
        "FAILED" => job["lastErrorDetail"]["class"] != "in_doubt",
        _ => false,
    };
    world.job_when(key, answer["jobId"].as_str().unwrap(), decided).await
}

async fn succeeds(world: &World, key: &str, path: &str, body: &Value, name: &str) -> Value {
    let job = sent(world, key, path, body, name).await;
    assert_eq!(job["status"], "SUCCEEDED", "{job}");
    job
}

/// The state and huella of an invoice at the authority.
async fn at_authority(world: &World, number: &str) -> Option<(InvoiceState, String)> {
    let invoices = world.sandbox.invoices(Some(ISSUER)).await.unwrap();
    let found = invoices.into_iter().find(|invoice| invoice.key.number == number);
    found.map(|invoice| (invoice.state, invoice.huella))
}

async fn cell(world: &World, keys: [&str; 2], path: &str, number: &str, held: Held, row: &Row) {
    let (what, flags, comes) = row;
    let name = format!("{what}; the authority holds {held:?}");
    if held != Held::Nothing {
        let setup = format!("alta-{number}");
        succeeds(world, keys[0], "/v1/send-invoice", &invoice(number), &setup).await;
    }
    if held == Held::Annulment {
        let setup = format!("annulment-{number}");
        succeeds(world, keys[0], "/v1/cancel-invoice", &cancellation(number), &setup).await;
    }
    let before = at_authority(world, number).await;
    let mut body = if path == "/v1/send-invoice" { invoice(number) } else { cancellation(number) };
    for (flag, value) in *flags {
        body[flag] = json!(value);
    }
    let comes = comes[held as usize];
    if let NotAdmitted(code) = comes {
        let answer = world.ask("POST", path).key(keys[1]).idempotency(number).json(&body).await;
        answer.fails(400, "validation_failed");
        assert_eq!(answer.body["details"][0]["code"], code, "{name}: {}", answer.body);
        assert_eq!(at_authority(world, number).await, before, "{name}");
        return;
    }
    let job = sent(world, keys[1], path, &body, number).await;
    let after = at_authority(world, number).await;
    match comes {
        Registered(state) => {
            assert_eq!(job["status"], "SUCCEEDED", "{name}: {job}");
            let huella = job["result"]["qrInfo"]["huella"].as_str().unwrap();
            assert_eq!(after, Some((state, huella.to_owned())), "{name}");
        }
        Refused(code) => {
            assert_eq!(job["status"], "FAILED", "{name}: {job}");
            assert_eq!(job["lastErrorDetail"]["class"], "rejected", "{name}: {job}");
            assert_eq!(job["result"]["errorCode"], code, "{name}: {job}");
            assert_eq!(after, before, "{name}");
        }
        Duplicate => {
            assert_eq!(job["status"], "FAILED", "{name}: {job}");
            assert_eq!(job["lastErrorDetail"]["class"], "foreign_duplicate", "{name}: {job}");
            assert_eq!(after, before, "{name}");
        }
        NotAdmitted(_) => unreachable!(),
    }
}

async fn table(path: &str, rows: &[Row]) {
    let world = World::new().await;
    let keys = [world.ready_account("first").await, world.ready_account("second").await];
    for (index, row) in rows.iter().enumerate() {
        for held in [Held::Nothing, Held::Alta, Held::Annulment] {
            let number = format!("T-{index}-{}", held as usize);
            cell(&world, [&keys[0], &keys[1]], path, &number, held, row).await;
        }
    }
}

#[tokio::test]
async fn every_cell_of_the_table_of_altas() {
    table("/v1/send-invoice", ALTAS).await;
}

#[tokio::test]
async fn every_cell_of_the_table_of_annulments() {
    table("/v1/cancel-invoice", ANNULMENTS).await;
}

/// One account, whose ledger knows the invoice.
struct Own {
    world: World,
    key: String,
    sent: u32,
}

impl Own {
    async fn new() -> Self {
        let world = World::new().await;
        let key = world.ready_account("acme").await;
        Self { world, key, sent: 0 }
    }

    async fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.sent += 1;
        let name = format!("key-{}", self.sent);
        self.world.ask("POST", path).key(&self.key).idempotency(&name).json(body).await
    }

    async fn settled(&mut self, path: &str, body: &Value) -> Value {
        self.sent += 1;
        sent(&self.world, &self.key, path, body, &format!("key-{}", self.sent)).await
    }

    /// The next message's records are refused.
    async fn refused(&mut self, path: &str, body: &Value) {
        let fault = Fault::new(Effect::Force { code: 1123, number: None }).on(MessageKind::Submission);
        self.world.sandbox.arm(fault);
        let job = self.settled(path, body).await;
        assert_eq!(
            (&job["status"], &job["result"]["errorCode"]),
            (&json!("FAILED"), &json!("1123")),
            "{job}"
        );
    }

    /// The record that is registered now states these flags, and the authority holds it.
    async fn registered(&mut self, path: &str, body: &Value, flags: &[(&str, &str)], state: InvoiceState) {
        let job = self.settled(path, body).await;
        assert_eq!(job["status"], "SUCCEEDED", "{job}");
        self.states(&job, flags).await;
        let huella = job["result"]["qrInfo"]["huella"].as_str().unwrap().to_owned();
        let held = at_authority(&self.world, body["numSerie"].as_str().unwrap()).await;
        assert_eq!(held, Some((state, huella)));
    }

    async fn states(&self, job: &Value, flags: &[(&str, &str)]) {
        let path = format!("/v1/jobs/{}/xml", job["jobId"].as_str().unwrap());
        let xml = self.world.ask("GET", &path).key(&self.key).send().await;
        let xml = String::from_utf8(xml.bytes).unwrap();
        for name in ["Subsanacion", "RechazoPrevio", "SinRegistroPrevio"] {
            let stated = xml.split_once(&format!("<{name}>")).map(|(_, rest)| &rest[..1]);
            let wanted = flags.iter().find(|(flag, _)| *flag == name).map(|(_, value)| *value);
            assert_eq!(stated, wanted, "{name} in {xml}");
        }
    }

    async fn conflicts(&mut self, path: &str, body: &Value, expected: &str) {
        let answer = self.post(path, body).await;
        answer.fails(409, "correction_conflict");
        assert_eq!(answer.body["expected"], expected, "{}", answer.body);
    }
}

const SEND: &str = "/v1/send-invoice";
const CANCEL: &str = "/v1/cancel-invoice";

fn correction(number: &str) -> Value {
    let mut body = invoice(number);
    body["subsanacion"] = json!(true);
    body
}

fn with(mut body: Value, flag: &str, value: &str) -> Value {
    body[flag] = json!(value);
    body
}

#[tokio::test]
async fn a_correction_of_what_was_refused_says_that_nothing_is_there() {
    let mut own = Own::new().await;
    own.refused(SEND, &invoice("D-1")).await;
    own.conflicts(SEND, &with(correction("D-1"), "rechazoPrevio", "N"), "X").await;
    own.conflicts(SEND, &with(correction("D-1"), "rechazoPrevio", "S"), "X").await;
    own.refused(SEND, &correction("D-1")).await;
    let flags = [("Subsanacion", "S"), ("RechazoPrevio", "X")];
    own.registered(SEND, &correction("D-1"), &flags, InvoiceState::Correcta).await;
    // The same with the flag stated.
    own.refused(SEND, &invoice("D-2")).await;
    let stated = with(correction("D-2"), "rechazoPrevio", "X");
    own.registered(SEND, &stated, &flags, InvoiceState::Correcta).await;
}

#[tokio::test]
async fn a_correction_of_what_is_held_says_no_more() {
    let mut own = Own::new().await;
    own.registered(SEND, &invoice("D-1"), &[], InvoiceState::Correcta).await;
    own.conflicts(SEND, &with(correction("D-1"), "rechazoPrevio", "X"), "N").await;
    own.conflicts(SEND, &with(correction("D-1"), "rechazoPrevio", "S"), "N").await;
    let flags = [("Subsanacion", "S")];
    own.registered(SEND, &correction("D-1"), &flags, InvoiceState::Correcta).await;
    // Refused once, the next one says so; accepted, the one after does not.
    own.refused(SEND, &correction("D-1")).await;
    own.conflicts(SEND, &with(correction("D-1"), "rechazoPrevio", "N"), "S").await;
    own.conflicts(SEND, &with(correction("D-1"), "rechazoPrevio", "X"), "S").await;
    let again = [("Subsanacion", "S"), ("RechazoPrevio", "S")];
    own.registered(SEND, &correction("D-1"), &again, InvoiceState::Correcta).await;
    own.registered(SEND, &correction("D-1"), &flags, InvoiceState::Correcta).await;
    // After the annulment it brings the invoice back.
    own.registered(CANCEL, &cancellation("D-1"), &[], InvoiceState::Anulada).await;
    own.registered(SEND, &correction("D-1"), &flags, InvoiceState::Correcta).await;
}

#[tokio::test]
async fn what_waits_counts_as_held() {
    let mut own = Own::new().await;
    own.world.set(Mode::Unreachable);
    let first = own.post(SEND, &invoice("D-1")).await.expect(202);
    let second = own.post(SEND, &correction("D-1")).await.expect(202);
    let third = own.post(CANCEL, &cancellation("D-1")).await.expect(202);
    own.states(&second, &[("Subsanacion", "S")]).await;
    own.states(&third, &[]).await;
    own.conflicts(SEND, &with(correction("D-1"), "rechazoPrevio", "X"), "N").await;
    own.conflicts(CANCEL, &with(cancellation("D-1"), "sinRegistroPrevio", "S"), "N").await;
    own.world.set(Mode::Sandbox);
    for job in [first, second, third] {
        let id = job["jobId"].as_str().unwrap();
        let retry = format!("/v1/admin/jobs/{id}/retry");
        let _ = own.world.ask("POST", &retry).admin().send().await;
        own.world.job_when(&own.key, id, |job| job["status"] == "SUCCEEDED").await;
    }
    assert_eq!(at_authority(&own.world, "D-1").await.unwrap().0, InvoiceState::Anulada);
}

#[tokio::test]
async fn an_annulment_follows_what_is_held_and_what_was_refused() {
    let mut own = Own::new().await;
    own.refused(SEND, &invoice("D-1")).await;
    own.conflicts(CANCEL, &with(cancellation("D-1"), "sinRegistroPrevio", "N"), "X").await;
    own.refused(CANCEL, &cancellation("D-1")).await;
    own.conflicts(CANCEL, &with(cancellation("D-1"), "rechazoPrevio", "N"), "S").await;
    let flags = [("SinRegistroPrevio", "S"), ("RechazoPrevio", "S")];
    own.registered(CANCEL, &cancellation("D-1"), &flags, InvoiceState::Anulada).await;

    own.registered(SEND, &invoice("D-2"), &[], InvoiceState::Correcta).await;
    own.conflicts(CANCEL, &with(cancellation("D-2"), "sinRegistroPrevio", "S"), "N").await;
    own.conflicts(CANCEL, &with(cancellation("D-2"), "rechazoPrevio", "S"), "N").await;
    own.refused(CANCEL, &cancellation("D-2")).await;
    own.registered(CANCEL, &cancellation("D-2"), &[("RechazoPrevio", "S")], InvoiceState::Anulada).await;
}

/// Of an invoice that the ledger does not know, it is taken for held what the caller does not deny.
#[tokio::test]
async fn what_the_ledger_does_not_know_is_for_the_caller_to_say() {
    let mut own = Own::new().await;
    let unknown = own.settled(SEND, &correction("D-1")).await;
    own.states(&unknown, &[("Subsanacion", "S")]).await;
    assert_eq!(unknown["result"]["errorCode"], "3002", "{unknown}");
    let flags = [("Subsanacion", "S"), ("RechazoPrevio", "X")];
    let stated = with(correction("D-2"), "rechazoPrevio", "X");
    own.registered(SEND, &stated, &flags, InvoiceState::Correcta).await;
    let stated = with(cancellation("D-3"), "sinRegistroPrevio", "S");
    own.registered(CANCEL, &stated, &[("SinRegistroPrevio", "S")], InvoiceState::Anulada).await;
}
