//! Rules on cancellations (Val 3.1.4).

use crate::record::{Cancellation, GeneratedBy, Identification};

use super::{Field, Report, Step};

pub(super) fn generator_pair(cancellation: &Cancellation, report: &mut Report<'_>) {
    match (cancellation.generated_by, &cancellation.generator) {
        (Some(_), None) => report.at(Field::Generator),
        (None, Some(_)) => report.at(Field::GeneratedBy),
        _ => {}
    }
}

/// Not held against the issuer itself: read by the letter, code 1227 asks for its NIF and code 1259
/// refuses it.
pub(super) fn generator_is_another(cancellation: &Cancellation, report: &mut Report<'_>) {
    let another = matches!(cancellation.generated_by, Some(GeneratedBy::Recipient | GeneratedBy::ThirdParty));
    let is_issuer = cancellation.generator.as_ref().is_some_and(
        |party| matches!(&party.identification, Identification::Nif(nif) if *nif == cancellation.id.issuer),
    );
    if another && is_issuer {
        report.inside(&[Step::Field(Field::Generator), Step::Field(Field::Nif)]);
    }
}
