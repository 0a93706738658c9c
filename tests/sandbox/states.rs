//! The state machine: every cell of AEAT's tables of operations and states.

use crate::bench::{Answer, Bench};
use crate::invoice::{Alta, Anulacion, ISSUER, Rec};

#[derive(Clone, Copy, Debug)]
enum Held {
    Nothing,
    Alta,
    Annulled,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Stored,
    /// Refused with this code; whether the answer shows the record held.
    Refused(&'static str, bool),
}
use Outcome::{Refused, Stored};

const DUPLICATE: Outcome = Refused("3000", true);
const MISSING: Outcome = Refused("3002", false);

/// `Subsanacion`, `RechazoPrevio`, then the outcome over nothing, an alta, an annulment.
const ALTA: &[(Option<&str>, Option<&str>, [Outcome; 3])] = &[
    (None, None, [Stored, DUPLICATE, DUPLICATE]),
    (Some("N"), Some("N"), [Stored, DUPLICATE, DUPLICATE]),
    (Some("S"), Some("X"), [Stored, DUPLICATE, DUPLICATE]),
    (Some("S"), None, [MISSING, Stored, Stored]),
    (Some("S"), Some("N"), [MISSING, Stored, Stored]),
    (Some("S"), Some("S"), [MISSING, Stored, Stored]),
    (None, Some("X"), [Refused("1153", false); 3]),
    (Some("N"), Some("X"), [Refused("1153", false); 3]),
    (None, Some("S"), [Refused("1161", false); 3]),
    (Some("N"), Some("S"), [Refused("1161", false); 3]),
];

/// `SinRegistroPrevio`, `RechazoPrevio`, then the same.
const ANULACION: &[(Option<&str>, Option<&str>, [Outcome; 3])] = &[
    (None, None, [MISSING, Stored, Stored]),
    (Some("N"), Some("N"), [MISSING, Stored, Stored]),
    (None, Some("S"), [MISSING, Stored, Stored]),
    (Some("S"), None, [Stored, Refused("3000", false), Refused("3000", false)]),
    (Some("S"), Some("S"), [Stored, Refused("3000", false), Refused("3000", false)]),
];

#[tokio::test]
async fn every_cell_of_the_tables() {
    let bench = Bench::start().await;
    let mut cell = 0;
    for (operation, rows) in [("Alta", ALTA), ("Anulacion", ANULACION)] {
        for (first, second, outcomes) in rows {
            for (held, outcome) in [Held::Nothing, Held::Alta, Held::Annulled].iter().zip(outcomes) {
                cell += 1;
                let number = format!("CELL-{cell}");
                prepare(&bench, &number, *held).await;
                let record = if operation == "Alta" {
                    Alta::new(&number)
                        .with(|alta| {
                            (alta.subsanacion, alta.rechazo) = (*first, *second);
                            alta.total = "121.01".into();
                        })
                        .record()
                } else {
                    Anulacion::new(&number)
                        .with(|anulacion| {
                            (anulacion.sin_registro, anulacion.rechazo) = (*first, *second);
                            anulacion.stamp = "2026-09-22T12:00:01+02:00".into();
                        })
                        .record()
                };
                let before = state_of(&bench, &number).await;
                let answer = bench.submit(std::slice::from_ref(&record)).await;
                let what = format!("{operation} {first:?} {second:?} over {held:?}: {}", answer.body);
                check(&answer, *outcome, *held, &what);
                let after = state_of(&bench, &number).await;
                match (outcome, operation) {
                    (Stored, "Alta") => {
                        assert_eq!(after, Some(("Correcta".into(), record.huella)), "{what}")
                    }
                    (Stored, _) => {
                        assert_eq!(after, Some(("Anulada".into(), record.huella)), "{what}")
                    }
                    (Refused(..), _) => assert_eq!(after, before, "{what}"),
                }
            }
        }
    }
    assert_eq!(cell, 45);
}

async fn prepare(bench: &Bench, number: &str, held: Held) {
    let alta = Alta::new(number).record();
    let annulment = Anulacion::new(number).record();
    let records: &[Rec] = match held {
        Held::Nothing => return,
        Held::Alta => &[alta],
        Held::Annulled => &[alta, annulment],
    };
    let answer = bench.submit(records).await;
    assert_eq!(answer.text("tikR:EstadoEnvio"), "Correcto", "{}", answer.body);
}

async fn state_of(bench: &Bench, number: &str) -> Option<(String, String)> {
    let invoices = bench.sandbox.invoices(Some(ISSUER)).await.unwrap();
    let invoice = invoices.into_iter().find(|invoice| invoice.key.number == number)?;
    Some((invoice.state.as_str().to_owned(), invoice.huella))
}

fn check(answer: &Answer, outcome: Outcome, held: Held, what: &str) {
    match outcome {
        Stored => {
            assert_eq!(answer.text("tikR:EstadoEnvio"), "Correcto", "{what}");
            assert_eq!(answer.text("tikR:EstadoRegistro"), "Correcto", "{what}");
            assert!(!answer.has("tikR:CodigoErrorRegistro"), "{what}");
            let csv = answer.text("tikR:CSV");
            assert!(csv.len() == 16 && csv.starts_with("A-"), "{what}");
        }
        Refused(code, shows_held) => {
            assert_eq!(answer.text("tikR:EstadoEnvio"), "Incorrecto", "{what}");
            assert_eq!(answer.text("tikR:EstadoRegistro"), "Incorrecto", "{what}");
            assert_eq!(answer.text("tikR:CodigoErrorRegistro"), code, "{what}");
            assert!(!answer.has("tikR:CSV") && !answer.has("tikR:DatosPresentacion"), "{what}");
            assert_eq!(answer.has("tikR:RegistroDuplicado"), shows_held, "{what}");
            let state = match held {
                Held::Alta if shows_held => "Correcta",
                Held::Annulled if shows_held => "Anulada",
                _ => "",
            };
            assert_eq!(answer.text("tik:EstadoRegistroDuplicado"), state, "{what}");
        }
    }
}

/// Records of one message are applied in the order sent.
#[tokio::test]
async fn a_message_is_applied_in_order() {
    let bench = Bench::start().await;
    let annulment = Anulacion::new("A-1").record();
    let alta = Alta::new("A-1").record();
    let answer = bench.submit(&[annulment.clone(), alta, annulment]).await;
    assert_eq!(answer.text("tikR:EstadoEnvio"), "ParcialmenteCorrecto");
    assert_eq!(answer.texts("tikR:EstadoRegistro"), ["Incorrecto", "Correcto", "Correcto"]);
    assert_eq!(answer.texts("tikR:CodigoErrorRegistro"), ["3002"]);
    assert_eq!(answer.texts("tik:TipoOperacion"), ["Anulacion", "Alta", "Anulacion"]);
    assert_eq!(bench.registered("A-1").await, 2);
}

/// The answer to a duplicate tells the error of the record held.
#[tokio::test]
async fn a_duplicate_shows_the_error_held() {
    let bench = Bench::start().await;
    let wrong = Alta::new("D-1").with(|alta| alta.huella = Some("0".repeat(64))).record();
    let first = bench.submit(std::slice::from_ref(&wrong)).await;
    assert_eq!(first.text("tikR:CodigoErrorRegistro"), "2000");
    let second = bench.submit(&[wrong]).await;
    assert_eq!(second.text("tikR:CodigoErrorRegistro"), "3000");
    assert_eq!(second.text("tik:EstadoRegistroDuplicado"), "AceptadaConErrores");
    assert_eq!(second.text("tik:CodigoErrorRegistro"), "2000");
    assert_eq!(second.text("tik:IdPeticionRegistroDuplicado").len(), 20);
    assert_eq!(bench.registered("D-1").await, 1);
}

/// Another date makes another invoice.
#[tokio::test]
async fn the_date_is_part_of_the_key() {
    let bench = Bench::start().await;
    let today = Alta::new("K-1").record();
    let yesterday = Alta::new("K-1").with(|alta| alta.issued = "21-09-2026".into()).record();
    let answer = bench.submit(&[today, yesterday]).await;
    assert_eq!(answer.text("tikR:EstadoEnvio"), "Correcto");
}
