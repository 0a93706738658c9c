//! Rules on recipients, third parties, generators of cancellations and producers of systems
//! (Val 3.1.3.12, 3.1.3.13, 3.1.4.3, 3.1.5).

use jiff::civil::{self, date};

use crate::{
    record::{ForeignId, ForeignIdType, GeneratedBy, Identification, Party},
    types::{Nif, NifKind},
};

use super::{Field, Report, Role, Step, vat_number};

/// The last day on which a British number is refused to begin with `XI`, and the first on which it
/// is refused to begin with `GB`, lie a month apart.
const XI_FROM: civil::Date = date(2021, 1, 1);
const GB_UNTIL: civil::Date = date(2021, 1, 31);

fn foreign(party: &Party) -> Option<&ForeignId> {
    match &party.identification {
        Identification::Foreign(id) => Some(id),
        Identification::Nif(_) => None,
    }
}

fn at(report: &mut Report<'_>, field: Field) {
    report.inside(&[Step::Field(Field::ForeignId), Step::Field(field)]);
}

fn is_spain(id: &ForeignId) -> bool {
    id.country.is_some_and(|country| country.as_str() == "ES")
}

pub(super) fn country_missing(party: &Party, _: &Role, report: &mut Report<'_>) {
    if foreign(party).is_some_and(|id| id.country.is_none() && id.kind != ForeignIdType::EuVat) {
        at(report, Field::Country);
    }
}

pub(super) fn vat_number_shape(party: &Party, _: &Role, report: &mut Report<'_>) {
    if foreign(party)
        .is_some_and(|id| id.kind == ForeignIdType::EuVat && !vat_number::has_shape(id.id.as_str()))
    {
        at(report, Field::ForeignIdNumber);
    }
}

pub(super) fn vat_number_country(party: &Party, _: &Role, report: &mut Report<'_>) {
    let Some(ForeignId { country: Some(country), kind: ForeignIdType::EuVat, id }) = foreign(party) else {
        return;
    };
    let prefix = id.as_str().get(..2).unwrap_or_default();
    // Spain has a code of its own for this: a Spanish number is never an EU VAT number here.
    if country.as_str() != "ES" && !vat_number::belongs_to(prefix, country.as_str()) {
        at(report, Field::Country);
    }
}

pub(super) fn country_for_kind(party: &Party, role: &Role, report: &mut Report<'_>) {
    let Some(id) = foreign(party) else { return };
    let only_spain = id.kind == ForeignIdType::NotInCensus && id.country.is_some() && !is_spain(id);
    let not_spain = matches!(role, Role::Recipient(_))
        && is_spain(id)
        && !matches!(id.kind, ForeignIdType::Passport | ForeignIdType::NotInCensus);
    if only_spain || not_spain {
        at(report, Field::Country);
    }
}

pub(super) fn not_in_census_is_nif(party: &Party, _: &Role, report: &mut Report<'_>) {
    if foreign(party)
        .is_some_and(|id| id.kind == ForeignIdType::NotInCensus && Nif::parse(id.id.as_str()).is_err())
    {
        at(report, Field::ForeignIdNumber);
    }
}

pub(super) fn not_in_census_is_person(party: &Party, _: &Role, report: &mut Report<'_>) {
    if foreign(party).is_some_and(|id| {
        id.kind == ForeignIdType::NotInCensus
            && Nif::parse(id.id.as_str()).is_ok_and(|nif| nif.kind() == NifKind::Entity)
    }) {
        at(report, Field::ForeignIdNumber);
    }
}

pub(super) fn northern_ireland(party: &Party, role: &Role, report: &mut Report<'_>) {
    if british(party, role).is_some_and(|(prefix, day)| prefix == "XI" && day < XI_FROM) {
        at(report, Field::ForeignIdNumber);
    }
}

pub(super) fn great_britain(party: &Party, role: &Role, report: &mut Report<'_>) {
    if british(party, role).is_some_and(|(prefix, day)| prefix == "GB" && day > GB_UNTIL) {
        at(report, Field::ForeignIdNumber);
    }
}

/// Prefix of an EU VAT number and the day of the operation it is named for.
fn british<'a>(party: &'a Party, role: &Role) -> Option<(&'a str, civil::Date)> {
    let (Role::Recipient(day) | Role::ThirdParty(day)) = role else { return None };
    let id = foreign(party).filter(|id| id.kind == ForeignIdType::EuVat)?;
    Some((id.id.as_str().get(..2)?, day.civil()))
}

pub(super) fn third_party_not_in_census(party: &Party, role: &Role, report: &mut Report<'_>) {
    if matches!(role, Role::ThirdParty(_)) && not_in_census(party) {
        at(report, Field::ForeignIdType);
    }
}

pub(super) fn producer_not_in_census(party: &Party, role: &Role, report: &mut Report<'_>) {
    if matches!(role, Role::Producer) && not_in_census(party) {
        at(report, Field::ForeignIdType);
    }
}

pub(super) fn generator_not_in_census(party: &Party, role: &Role, report: &mut Report<'_>) {
    if matches!(role, Role::Generator(Some(GeneratedBy::ThirdParty))) && not_in_census(party) {
        at(report, Field::ForeignIdType);
    }
}

fn not_in_census(party: &Party) -> bool {
    foreign(party).is_some_and(|id| id.kind == ForeignIdType::NotInCensus)
}

pub(super) fn spain_by_passport(party: &Party, role: &Role, report: &mut Report<'_>) {
    let concerned =
        matches!(role, Role::ThirdParty(_) | Role::Producer | Role::Generator(Some(GeneratedBy::ThirdParty)));
    // A number that the census does not hold has its own rule for each of these roles.
    let allowed = |id: &ForeignId| matches!(id.kind, ForeignIdType::Passport | ForeignIdType::NotInCensus);
    if concerned && foreign(party).is_some_and(|id| is_spain(id) && !allowed(id)) {
        at(report, Field::ForeignIdType);
    }
}

pub(super) fn generator_recipient_spain(party: &Party, role: &Role, report: &mut Report<'_>) {
    let allowed = |id: &ForeignId| matches!(id.kind, ForeignIdType::Passport | ForeignIdType::NotInCensus);
    if matches!(role, Role::Generator(Some(GeneratedBy::Recipient)))
        && foreign(party).is_some_and(|id| is_spain(id) && !allowed(id))
    {
        at(report, Field::ForeignIdType);
    }
}

pub(super) fn generator_issuer_by_nif(party: &Party, role: &Role, report: &mut Report<'_>) {
    if matches!(role, Role::Generator(Some(GeneratedBy::Issuer))) && foreign(party).is_some() {
        report.at(Field::Nif);
    }
}
