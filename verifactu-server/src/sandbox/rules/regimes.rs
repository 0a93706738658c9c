//! The key of the regime and what follows from it (Val 3.1.3.15.6), line by line.

use jiff::civil::{Date, date};

use super::super::finding::Finding;
use super::super::record::Record;
use super::super::xml::Element;
use super::Facts;
use super::line::{BASE_AT_COST, Line, RATE, any_line};

/// From this day on, the key of IPSI is no longer only noted.
const IPSI_REFUSED_FROM: Date = date(2027, 1, 1);

const IPSI: &[&str] = &["01", "08", "11", "18", "19", "20"];

pub(super) fn missing(facts: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 1245, |line| {
        line.is_vat_or_igic() && line.regime().is_none()
            || facts.today >= IPSI_REFUSED_FROM && lacks_ipsi_key(line)
    })
}

/// Admissible until the end of 2026.
pub(super) fn ipsi(facts: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 2009, |line| facts.today < IPSI_REFUSED_FROM && lacks_ipsi_key(line))
}

pub(super) fn of_another_tax(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 1246, |line| line.is_vat() && line.regime() == Some("21"))
}

pub(super) fn of_no_tax(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 1260, |line| line.tax() == "05" && line.regime().is_some())
}

pub(super) fn general(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 1199, |line| line.is_under("01") && matches!(line.exemption(), Some("E2" | "E3")))
}

pub(super) fn export(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 1286, |line| line.is_under("02") && line.qualification().is_some())
}

pub(super) fn used_goods(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 1200, |line| line.is_under("03") && line.qualification().is_some_and(|it| it != "S1"))
}

pub(super) fn gold(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 1201, |line| line.is_under("04") && line.qualification().is_some_and(|it| it != "S2"))
}

pub(super) fn group(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let impossible = matches!(record.text("TipoFactura"), "F2" | "F3" | "R5");
    any_line(record, 1202, |line| line.is_under("06") && (impossible || !line.has(BASE_AT_COST)))
}

pub(super) fn cash(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 1203, |line| {
        let qualified = matches!(line.qualification(), Some("S2" | "N1" | "N2"));
        let exempt = matches!(line.exemption(), Some("E2" | "E3" | "E4" | "E5"));
        line.is_under("07") && (qualified || exempt)
    })
}

pub(super) fn other_territory(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 1252, |line| line.is_under("08") && line.qualification() != Some("N2"))
}

pub(super) fn collections(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let possible = record.text("TipoFactura") == "F1" && recipients(record).all(|it| it.at("NIF").is_some());
    any_line(record, 1205, |line| line.is_under("10") && !(possible && line.qualification() == Some("N1")))
}

/// Asked of taxed lines only: a line exempt or not subject carries no rate.
pub(super) fn premises(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 1206, |line| {
        let taxed = line.is_vat() && line.regime() == Some("11") && line.qualification() == Some("S1");
        taxed && line.number(RATE).is_some_and(|rate| rate != 21_00)
    })
}

pub(super) fn public_works_type(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let possible = matches!(record.text("TipoFactura"), "F1" | "R1" | "R2" | "R3" | "R4");
    any_line(record, 1148, |line| line.is_under("14") && !possible)
}

/// Public works are for public bodies. Whether they are in the census is asked of all recipients.
pub(super) fn public_works_recipient(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let public = recipients(record)
        .all(|it| it.text_at("NIF").is_some_and(|nif| nif.starts_with(['P', 'Q', 'S', 'V'])));
    any_line(record, 1149, |line| line.is_under("14") && !public)
}

pub(super) fn igic_subject_to_ipsi(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    any_line(record, 1293, |line| {
        line.tax() == "03" && line.regime() == Some("20") && line.qualification() != Some("N2")
    })
}

fn lacks_ipsi_key(line: Line<'_>) -> bool {
    line.tax() == "02" && line.regime().is_none_or(|key| !IPSI.contains(&key))
}

fn recipients(record: Record<'_>) -> impl Iterator<Item = &Element> {
    record.at("Destinatarios").into_iter().flat_map(|block| block.all("IDDestinatario"))
}
