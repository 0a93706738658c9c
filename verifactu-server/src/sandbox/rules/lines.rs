//! The lines of the breakdown (Val 3.1.3.15).
//!
//! "Not informed" means that the element is absent: a zero is informed.

use super::super::finding::Finding;
use super::super::record::Record;
use super::super::xml::Element;
use super::Facts;

const RATE: &str = "TipoImpositivo";
const QUOTA: &str = "CuotaRepercutida";
const SURCHARGE_RATE: &str = "TipoRecargoEquivalencia";
const SURCHARGE_QUOTA: &str = "CuotaRecargoEquivalencia";

pub(super) fn classification(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    lines(record).find_map(|line| match (has(line, "CalificacionOperacion"), has(line, "OperacionExenta")) {
        (false, false) => Some(Finding::new(1195)),
        (true, true) => Some(Finding::new(1196)),
        _ => None,
    })
}

pub(super) fn rates_and_quotas(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    lines(record).find_map(|line| {
        let any = [RATE, QUOTA, SURCHARGE_RATE, SURCHARGE_QUOTA].into_iter().any(|name| has(line, name));
        let both = has(line, RATE) && has(line, QUOTA);
        let code = match line.text_at("CalificacionOperacion") {
            None if any => 1238,
            Some("S1") if !both && line.text_at("ClaveRegimen") == Some("06") => 1209,
            Some("S1") if !both && !has(line, "BaseImponibleACoste") => 1208,
            Some("S2") if !(is_zero(line, RATE) && is_zero(line, QUOTA)) => 1198,
            Some("N1" | "N2") if any && is_vat(line) => 1237,
            _ => return None,
        };
        Some(Finding::new(code))
    })
}

pub(super) fn surcharge(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    lines(record).find_map(|line| match (has(line, SURCHARGE_RATE), has(line, SURCHARGE_QUOTA)) {
        (false, false) => None,
        _ if line.text_at("CalificacionOperacion") != Some("S1") => Some(Finding::new(1281)),
        (true, true) => None,
        _ => Some(Finding::new(1284)),
    })
}

fn lines(record: Record<'_>) -> impl Iterator<Item = &Element> {
    record.at("Desglose").into_iter().flat_map(|breakdown| breakdown.all("DetalleDesglose"))
}

fn has(line: &Element, name: &str) -> bool {
    line.at(name).is_some()
}

fn is_vat(line: &Element) -> bool {
    matches!(line.text_at("Impuesto"), None | Some("01"))
}

/// Whether the amount is there and is zero; its form has been checked.
fn is_zero(line: &Element, name: &str) -> bool {
    line.text_at(name).is_some_and(|amount| !amount.contains(|digit: char| matches!(digit, '1'..='9')))
}
