//! What goes with which type of invoice: corrections, substitutions and flags (Val 3.1.3.2 to 6, 8
//! and 9, 14).

use super::super::finding::Finding;
use super::super::record::Record;
use super::Facts;

pub(super) fn correction_mode(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    match (is_correction(record), record.at("TipoRectificativa").is_some()) {
        (true, false) => Some(Finding::new(1114)),
        (false, true) => Some(Finding::new(1115)),
        _ => None,
    }
}

pub(super) fn corrected_invoices(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let misplaced = !is_correction(record) && record.at("FacturasRectificadas").is_some();
    misplaced.then(|| Finding::new(1117))
}

pub(super) fn substituted_invoices(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let misplaced = record.text("TipoFactura") != "F3" && record.at("FacturasSustituidas").is_some();
    misplaced.then(|| Finding::new(1116))
}

/// Only who issued them is looked up; whether the invoices exist is not.
pub(super) fn earlier_issuers(facts: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let keys = |block, key| record.at(block).into_iter().flat_map(move |block| block.all(key));
    keys("FacturasRectificadas", "IDFacturaRectificada")
        .chain(keys("FacturasSustituidas", "IDFacturaSustituida"))
        .filter_map(|key| key.text_at("IDEmisorFactura"))
        .any(|nif| !facts.census.holds(nif))
        .then(|| Finding::new(1154))
}

pub(super) fn corrected_amounts(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let substitutes = record.text("TipoRectificativa") == "S";
    match (substitutes, record.at("ImporteRectificacion").is_some()) {
        (true, false) => Some(Finding::new(1118)),
        (false, true) => Some(Finding::new(1119)),
        _ => None,
    }
}

pub(super) fn qualified_simplified(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let flagged = record.text("FacturaSimplificadaArt7273") == "S";
    (flagged && is_simplified(record)).then(|| Finding::new(1183))
}

pub(super) fn without_recipient(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let flagged = record.text("FacturaSinIdentifDestinatarioArt61d") == "S";
    (flagged && !is_simplified(record)).then(|| Finding::new(1185))
}

pub(super) fn coupon(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let possible = matches!(record.text("TipoFactura"), "R1" | "R5");
    (record.text("Cupon") == "S" && !possible).then(|| Finding::new(1157))
}

pub(super) fn is_simplified(record: Record<'_>) -> bool {
    matches!(record.text("TipoFactura"), "F2" | "R5")
}

fn is_correction(record: Record<'_>) -> bool {
    record.text("TipoFactura").starts_with('R')
}
