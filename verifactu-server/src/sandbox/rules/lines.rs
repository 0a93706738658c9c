//! The classification of the lines of the breakdown (Val 3.1.3.15.4 and 5), and what a line must and
//! must not carry with it (3.1.3.15.3 and 7).

use super::super::finding::Finding;
use super::super::record::Record;
use super::Facts;
use super::line::{BASE_AT_COST, Line, QUOTA, RATE, SURCHARGE_QUOTA, SURCHARGE_RATE, any_line, lines};

pub(super) fn classification(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    lines(record).find_map(|line| match (line.qualification(), line.exemption()) {
        (None, None) => Some(Finding::new(1195)),
        (Some(_), Some(_)) => Some(Finding::new(1196)),
        _ => None,
    })
}

/// E7 and E8 exist for IGIC only.
pub(super) fn exemption_of_vat(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 1182, |line| line.is_vat() && matches!(line.exemption(), Some("E7" | "E8")))
}

pub(super) fn reverse_charge_by_type(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let simplified = matches!(record.text("TipoFactura"), "F2" | "R5");
    any_line(record, 1197, |line| simplified && line.qualification() == Some("S2"))
}

pub(super) fn rates_and_quotas(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    lines(record).find_map(|line| {
        let any = [RATE, QUOTA, SURCHARGE_RATE, SURCHARGE_QUOTA].into_iter().any(|name| line.has(name));
        let both = line.has(RATE) && line.has(QUOTA);
        let code = match line.qualification() {
            None if any => 1238,
            Some("S1") if !both && line.regime() == Some("06") => 1209,
            Some("S1") if !both && !line.has(BASE_AT_COST) => 1208,
            Some("S2") if !(is_zero(line, RATE) && is_zero(line, QUOTA)) => 1198,
            Some("N1" | "N2") if any && line.is_vat() => 1237,
            _ => return None,
        };
        Some(Finding::new(code))
    })
}

pub(super) fn quota_of_taxed_lines(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 1207, |line| {
        line.qualification() != Some("S1") && line.number(QUOTA).is_some_and(|quota| quota != 0)
    })
}

pub(super) fn surcharge(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    lines(record).find_map(|line| match (line.has(SURCHARGE_RATE), line.has(SURCHARGE_QUOTA)) {
        (false, false) => None,
        _ if line.qualification() != Some("S1") => Some(Finding::new(1281)),
        (true, true) => None,
        _ => Some(Finding::new(1284)),
    })
}

pub(super) fn base_at_cost(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 1257, |line| {
        line.has(BASE_AT_COST) && line.regime() != Some("06") && !matches!(line.tax(), "02" | "05")
    })
}

/// Supplies within the Union go to recipients that have no NIF.
pub(super) fn recipients_of_union_supplies(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let mut recipients = record.at("Destinatarios").into_iter().flat_map(|block| block.all("IDDestinatario"));
    let any_nif = recipients.any(|party| party.at("NIF").is_some());
    any_line(record, 1289, |line| any_nif && line.is_vat() && line.exemption() == Some("E5"))
}

/// Whether the number is there and is zero.
fn is_zero(line: Line<'_>, name: &str) -> bool {
    line.number(name) == Some(0)
}
