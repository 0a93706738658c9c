//! The form of the huellas (Val 3.1.3.18 and 23).

use super::super::finding::Finding;
use super::super::record::Record;
use super::Facts;

pub(super) fn huella_form(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let huella = record.huella();
    if huella.chars().count() != 64 {
        Some(Finding::new(1262))
    } else if !is_alphanumeric(huella) {
        Some(Finding::new(1292))
    } else {
        None
    }
}

pub(super) fn previous_huella_alphanumeric(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let previous = record.previous_huella()?;
    (!is_alphanumeric(previous)).then(|| Finding::new(1291))
}

fn is_alphanumeric(huella: &str) -> bool {
    huella.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
