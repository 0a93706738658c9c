//! Issuer, number and the flags of corrections (Val 3.1.3.1 to 3.1.3.3, 3.1.4.1).

use super::super::finding::Finding;
use super::super::record::Record;
use super::Facts;

pub(super) fn issuer_is_the_headers(facts: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    (record.issuer() != facts.issuer).then(|| Finding::new(1108))
}

/// The message says `NumSerieFactura` for an annulment too; the service does the same.
pub(super) fn number_characters(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let number = record.number();
    if number.contains(|character: char| !(' '..='~').contains(&character)) {
        Some(Finding::new(1130))
    } else if number.contains(['"', '\'', '<', '>', '=']) {
        Some(Finding::new(1287).about("NumSerieFactura"))
    } else {
        None
    }
}

pub(super) fn flags(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    if !record.is_alta() || record.text("Subsanacion") == "S" {
        return None;
    }
    match record.text("RechazoPrevio") {
        "X" => Some(Finding::new(1153)),
        "S" => Some(Finding::new(1161)),
        _ => None,
    }
}
