//! The amounts of the lines, the limit of simplified invoices, and the totals (Val 3.1.3.2,
//! 3.1.3.10, 3.1.3.15.7 and 8, 3.1.3.16 and 17).
//!
//! Amounts are whole cents. Every comparison has a margin of 10.00.

use super::super::finding::Finding;
use super::super::record::Record;
use super::Facts;
use super::line::{BASE, BASE_AT_COST, Line, QUOTA, RATE, SURCHARGE_QUOTA, any_line, hundredths, lines};

const EURO: i128 = 100;
const MARGIN: i128 = 10 * EURO;
const SIMPLIFIED_LIMIT: i128 = 3_000 * EURO;
const LARGE: i128 = 100_000_000 * EURO;

/// Regimes in which base and quota need not add up; one line of them frees the whole record.
const WITHOUT_TOTALS: &[&str] = &["03", "05", "06", "08", "09"];

pub(super) fn sign(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 1143, |line| !is_free(record) && !line.has(BASE_AT_COST) && signs_differ(line, BASE))
}

pub(super) fn product(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 1142, |line| !is_free(record) && !line.has(BASE_AT_COST) && product_differs(line, BASE))
}

pub(super) fn sign_at_cost(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 1140, |line| !is_free(record) && signs_differ(line, BASE_AT_COST))
}

pub(super) fn product_at_cost(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 1144, |line| !is_free(record) && product_differs(line, BASE_AT_COST))
}

pub(super) fn simplified_limit(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let limited = record.text("TipoFactura") == "F2"
        && record.at("NumRegistroAcuerdoFacturacion").is_none()
        && record.text("FacturaSinIdentifDestinatarioArt61d") != "S";
    let sum = sum(record, &[BASE, QUOTA]);
    (limited && sum > SIMPLIFIED_LIMIT + MARGIN).then(|| Finding::new(1150))
}

pub(super) fn large_amount(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let large = hundredths(record.text("ImporteTotal"))?.abs() >= LARGE;
    match (record.text("Macrodato") == "S", large) {
        (true, false) => Some(Finding::new(1138)),
        (false, true) => Some(Finding::new(1139)),
        _ => None,
    }
}

pub(super) fn total(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let sum = sum(record, &[BASE, QUOTA, SURCHARGE_QUOTA]);
    misses(record, "ImporteTotal", sum).then(|| Finding::new(2005))
}

pub(super) fn quota_total(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    misses(record, "CuotaTotal", sum(record, &[QUOTA, SURCHARGE_QUOTA])).then(|| Finding::new(2006))
}

/// Corrections by differences, and those of insolvencies and bad debts, need not multiply.
fn is_free(record: Record<'_>) -> bool {
    record.text("TipoRectificativa") == "I" || matches!(record.text("TipoFactura"), "R2" | "R3")
}

/// A zero goes with either sign.
fn signs_differ(line: Line<'_>, base: &str) -> bool {
    let (Some(base), Some(quota)) = (line.number(base), line.number(QUOTA)) else {
        return false;
    };
    base.signum() * quota.signum() < 0
}

fn product_differs(line: Line<'_>, base: &str) -> bool {
    let (Some(base), Some(rate), Some(quota)) = (line.number(base), line.number(RATE), line.number(QUOTA))
    else {
        return false;
    };
    // A rate in hundredths of a per cent: 10 000 of them are the whole.
    (quota * 10_000 - base * rate).abs() > MARGIN * 10_000
}

fn sum(record: Record<'_>, names: &[&str]) -> i128 {
    lines(record).flat_map(|line| names.iter().filter_map(move |name| line.number(name))).sum()
}

fn misses(record: Record<'_>, name: &str, sum: i128) -> bool {
    let exempt = lines(record).any(|line| line.regime().is_some_and(|key| WITHOUT_TOTALS.contains(&key)));
    !exempt && hundredths(record.text(name)).is_some_and(|stated| (stated - sum).abs() > MARGIN)
}
