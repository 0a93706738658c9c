//! Rules on cancellations (Val 3.1.4).

use crate::record::{Cancellation, GeneratedBy, Identification};

use super::{Check, Field, Report, Rule, Step, rule::record};

pub(super) static RULES: &[Rule] = &[
    record(
        "1224",
        "Val 3.1.4.3",
        "Quién genera la anulación y su identificación van siempre juntos.",
        "who generated the cancellation and their identification go together",
        Check::Cancellation(generator_pair),
    ),
    record(
        "1259",
        "Val 3.1.4.3",
        "Quien genera la anulación debe ser otro que el obligado a emitir.",
        "whoever generates the cancellation must be another than the issuer",
        Check::Cancellation(generator_is_another),
    ),
];

fn generator_pair(cancellation: &Cancellation, report: &mut Report<'_>) {
    match (cancellation.generated_by, &cancellation.generator) {
        (Some(_), None) => report.at(Field::Generator),
        (None, Some(_)) => report.at(Field::GeneratedBy),
        _ => {}
    }
}

/// Not held against the issuer itself: read by the letter, code 1227 asks for its NIF and code 1259
/// refuses it.
fn generator_is_another(cancellation: &Cancellation, report: &mut Report<'_>) {
    let another = matches!(cancellation.generated_by, Some(GeneratedBy::Recipient | GeneratedBy::ThirdParty));
    let is_issuer = cancellation.generator.as_ref().is_some_and(
        |party| matches!(&party.identification, Identification::Nif(nif) if *nif == cancellation.id.issuer),
    );
    if another && is_issuer {
        report.inside(&[Step::Field(Field::Generator), Step::Field(Field::Nif)]);
    }
}
