//! Registering one record: the state machine of an invoice (Val 6.1, 6.2), and what is kept.

use super::SandboxError;
use super::codes::Level;
use super::finding::Finding;
use super::record::{Operation, Record};
use super::rules::{self, Facts};
use super::store::{Book, Invoice, InvoiceState, Registration};
use super::submission::{Duplicate, Line};
use super::xml::{Element, Writer};

/// The submission a record came with.
pub(crate) struct Occasion<'a> {
    pub(crate) at: &'a str,
    pub(crate) presenter: &'a str,
    pub(crate) header: &'a str,
    pub(crate) csv: &'a str,
    pub(crate) id_peticion: &'a str,
}

/// Checks a record and, unless it is refused, registers it. `forced` is a finding ordered by a
/// tester, which goes before all others.
pub(crate) fn register(
    book: &Book<'_>,
    facts: &Facts<'_>,
    occasion: &Occasion<'_>,
    record: Record<'_>,
    forced: Option<Finding>,
) -> Result<Line, SandboxError> {
    let admitted = match forced {
        Some(finding) if finding.level() == Level::Admitted => Some(finding),
        Some(finding) => return Ok(Line::refused(record, &finding, None)),
        None => None,
    };
    if let Some(finding) = rules::refusal(facts, record) {
        return Ok(Line::refused(record, &finding, None));
    }
    let held = book.invoice(&record.key())?;
    if let Err(clash) = transition(record, held.as_ref()) {
        let duplicate = held.filter(|_| clash.shows_held).map(Duplicate::of);
        return Ok(Line::refused(record, &Finding::new(clash.code), duplicate));
    }
    let admitted = admitted.or_else(|| rules::admission(facts, record));
    store(book, occasion, record, held, admitted.as_ref())?;
    Ok(Line::accepted(record, admitted.as_ref()))
}

/// Why a record does not fit the state of its invoice.
struct Clash {
    code: u16,
    /// Whether the answer shows the record held.
    shows_held: bool,
}

/// The tables of operations and states. Altas without `Subsanacion=S` but with a `RechazoPrevio`
/// have been refused by the rule on flags.
fn transition(record: Record<'_>, held: Option<&Invoice>) -> Result<(), Clash> {
    let creates = match record.operation {
        Operation::Alta => record.text("Subsanacion") != "S" || record.text("RechazoPrevio") == "X",
        Operation::Anulacion => record.text("SinRegistroPrevio") == "S",
    };
    match (creates, held) {
        (true, None) | (false, Some(_)) => Ok(()),
        (false, None) => Err(Clash { code: 3002, shows_held: false }),
        // An annulment refused because the invoice exists must not read as one already delivered,
        // so the answer does not show what is held.
        (true, Some(_)) => Err(Clash { code: 3000, shows_held: record.is_alta() }),
    }
}

fn store(
    book: &Book<'_>,
    occasion: &Occasion<'_>,
    record: Record<'_>,
    held: Option<Invoice>,
    admitted: Option<&Finding>,
) -> Result<(), SandboxError> {
    let state = match (record.operation, admitted) {
        (Operation::Anulacion, _) => InvoiceState::Anulada,
        (Operation::Alta, Some(_)) => InvoiceState::AceptadaConErrores,
        (Operation::Alta, None) => InvoiceState::Correcta,
    };
    let code = admitted.map(|finding| finding.code);
    let seq = book.append(&Registration {
        seq: 0,
        at: occasion.at.to_owned(),
        presenter: occasion.presenter.to_owned(),
        key: record.key(),
        operation: record.operation,
        state,
        code,
        huella: record.huella().to_owned(),
        csv: occasion.csv.to_owned(),
        id_peticion: occasion.id_peticion.to_owned(),
    })?;
    let day = iso(record.issued_text());
    let text = text_of(record.element);
    // An annulment is filed where its invoice was, and does not make the invoice's data forgotten.
    let (period, alta, anulacion) = match (record.operation, held) {
        (Operation::Alta, _) => {
            let operation = record.element.text_at("FechaOperacion").map(iso);
            let period = operation.unwrap_or_else(|| day.clone())[..7].to_owned();
            (period, Some(text), None)
        }
        (Operation::Anulacion, Some(held)) => (held.period, held.alta, Some(text)),
        (Operation::Anulacion, None) => (day[..7].to_owned(), None, Some(text)),
    };
    let invoice = Invoice {
        key: record.key(),
        state,
        code,
        description: admitted.map(Finding::description),
        huella: record.huella().to_owned(),
        reference: record.element.text_at("RefExterna").map(str::to_owned),
        period,
        alta,
        anulacion,
        header: occasion.header.to_owned(),
        presenter: occasion.presenter.to_owned(),
        presented_at: occasion.at.to_owned(),
        id_peticion: occasion.id_peticion.to_owned(),
        seq,
    };
    book.put(&invoice, &day, &record.system())
}

/// `dd-mm-yyyy` as `yyyy-mm-dd`; the form has been checked.
pub(crate) fn iso(date: &str) -> String {
    let mut parts: Vec<&str> = date.split('-').collect();
    parts.reverse();
    parts.join("-")
}

/// An element as it is kept: names without namespaces, values trimmed, no signature.
pub(crate) fn text_of(element: &Element) -> String {
    let mut out = Writer::default();
    out.open("", &element.name);
    for child in element.children.iter().filter(|child| child.name != "Signature") {
        child.write(&mut out, "");
    }
    out.close("", &element.name);
    out.finish()
}
