//! Records that the authority has asked for (SWeb annex III, Val 4.3.2).
//!
//! Systems outside VERI*FACTU keep their records and remit them when a requirement asks for them, to a
//! service and a store of its own. Each record is taken as it was kept: none is a duplicate, none corrects
//! another, and what a rule holds against it is noted instead of refusing it. Only a form that cannot be
//! read, or somebody whom the census does not know, refuses a record.

use super::SandboxError;
use super::finding::Finding;
use super::record::Record;
use super::register::Occasion;
use super::rules::{self, Facts};
use super::store::{Book, InvoiceState, Registration};
use super::submission::Line;

/// Codes about who somebody is.
const IDENTIFICATION: &[u16] = &[1109, 1110, 1121, 1123, 1154, 1193];

/// Checks a record and, unless it is refused, keeps it under the requirement. `forced` is a finding
/// ordered by a tester, which goes before all others.
pub(crate) fn remit(
    book: &Book<'_>,
    facts: &Facts<'_>,
    occasion: &Occasion<'_>,
    record: Record<'_>,
    reference: &str,
    forced: Option<Finding>,
) -> Result<Line, SandboxError> {
    if let Some(finding) = rules::form(record) {
        return Ok(Line::refused(record, &finding, None));
    }
    let finding = forced.or_else(|| rules::business(facts, record));
    if let Some(finding) = finding.as_ref().filter(|finding| IDENTIFICATION.contains(&finding.code)) {
        return Ok(Line::refused(record, finding, None));
    }
    let noted = finding.or_else(|| rules::admission(facts, record));
    let registration = Registration {
        seq: 0,
        at: occasion.at.to_owned(),
        presenter: occasion.presenter.to_owned(),
        key: record.key(),
        operation: record.operation,
        state: if noted.is_some() { InvoiceState::AceptadaConErrores } else { InvoiceState::Correcta },
        code: noted.as_ref().map(|finding| finding.code),
        huella: record.huella().to_owned(),
        csv: occasion.csv.to_owned(),
        id_peticion: occasion.id_peticion.to_owned(),
    };
    book.remit(reference, &registration)?;
    Ok(Line::accepted(record, noted.as_ref()))
}
