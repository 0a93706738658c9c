//! Errors that AEAT notes and accepts (the third section of its list).

use jiff::Timestamp;

use super::super::finding::Finding;
use super::super::record::{Record, huella_of};
use super::super::schema::is_upper_hex;
use super::Facts;

/// The description carries the string the authority hashed, for the programmer who has to find the
/// difference.
pub(super) fn huella(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let canonical = record.canonical();
    (record.huella() != huella_of(&canonical))
        .then(|| Finding::new(2000).with_detail(format!(" {canonical}")))
}

/// Of a submission marked as an incident the service was seen to take a first record that comes after
/// others without a word.
pub(super) fn first_record(facts: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let first = record.at("Encadenamiento/PrimerRegistro").is_some();
    (first && facts.system_has_records && !facts.incident).then(|| Finding::new(2007))
}

/// The service applies the margin to both sides, and not at all to a submission marked as an
/// incident.
pub(super) fn clock(facts: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let stamp: Timestamp = record.text("FechaHoraHusoGenRegistro").parse().ok()?;
    let distance = facts.now.as_second().abs_diff(stamp.as_second());
    (!facts.incident && distance > u64::from(facts.clock_margin))
        .then(|| Finding::new(2004).with_detail(format!(" {} segundos.", facts.clock_margin)))
}

pub(super) fn previous_huella_length(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    (record.previous_huella()?.len() != 64).then(|| Finding::new(2002))
}

pub(super) fn previous_huella_content(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    (!is_upper_hex(record.previous_huella()?)).then(|| Finding::new(2003))
}

pub(super) fn previous_huella_differs(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    (record.previous_huella()? == record.huella()).then(|| Finding::new(2008))
}
