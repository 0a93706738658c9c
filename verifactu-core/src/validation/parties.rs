//! Rules on recipients, third parties, generators of cancellations and producers of systems
//! (Val 3.1.3.12, 3.1.3.13, 3.1.4.3, 3.1.5).

use jiff::civil::{self, date};

use crate::{
    record::{ForeignId, ForeignIdType, GeneratedBy, Identification, Party},
    types::{Nif, NifKind},
};

use super::{Check, Field, Report, Role, Rule, Step, rule::record, vat_number};

/// The last day on which a British number is refused to begin with `XI`, and the first on which it
/// is refused to begin with `GB`, lie a month apart.
const XI_FROM: civil::Date = date(2021, 1, 1);
const GB_UNTIL: civil::Date = date(2021, 1, 31);

pub(super) static RULES: &[Rule] = &[
    record(
        "1111",
        "Val 3.1.3.13",
        "Falta el país, que solo sobra en un NIF-IVA.",
        "the country is mandatory, except for an EU VAT number (02)",
        Check::Party(country_missing),
    ),
    record(
        "1103",
        "Val, note 1",
        "No es un NIF-IVA: escríbalo en mayúsculas y con el prefijo de su país.",
        "not the shape of an EU VAT number: write it in upper case with its country prefix, such as FR12345678901",
        Check::Party(vat_number_shape),
    ),
    record(
        "1122",
        "Val 3.1.3.13",
        "El país no es el del prefijo del NIF-IVA.",
        "the country is not the one that the EU VAT number begins with",
        Check::Party(vat_number_country),
    ),
    record(
        "1126",
        "Val 3.1.3.13",
        "España va con 03 o 07, y 07 va con España.",
        "Spain goes with 03 or 07 only, and 07 goes with Spain only",
        Check::Party(country_for_kind),
    ),
    record(
        "1290",
        "Val 3.1.3.13",
        "Un no censado (07) se identifica con un NIF bien formado.",
        "a person not in the census (07) is identified by a well-formed NIF",
        Check::Party(not_in_census_is_nif),
    ),
    record(
        "1131",
        "Val 3.1.3.13",
        "Un no censado (07) debe ser persona física.",
        "only a natural person can be stated as not in the census (07)",
        Check::Party(not_in_census_is_person),
    ),
    record(
        "1254",
        "Val 3.1.3.13",
        "Antes de 2021 no existía el prefijo XI.",
        "the prefix XI does not exist for operations before 2021",
        Check::Party(northern_ireland),
    ),
    record(
        "1255",
        "Val 3.1.3.13",
        "Desde febrero de 2021 no existe el prefijo GB.",
        "the prefix GB does not exist for operations from February 2021 on",
        Check::Party(great_britain),
    ),
    record(
        "1211",
        "Val 3.1.3.12",
        "Un tercero no puede identificarse como no censado (07).",
        "a third party cannot be stated as not in the census (07)",
        Check::Party(third_party_not_in_census),
    ),
    record(
        "1221",
        "Val 3.1.5",
        "El productor del sistema no puede identificarse como no censado (07).",
        "the producer of the system cannot be stated as not in the census (07)",
        Check::Party(producer_not_in_census),
    ),
    record(
        "1232",
        "Val 3.1.3.12, 3.1.4.3, 3.1.5",
        "Con país España, el documento debe ser un pasaporte (03).",
        "with Spain as the country the document must be a passport (03)",
        Check::Party(spain_by_passport),
    ),
    record(
        "1227",
        "Val 3.1.4.3",
        "Si la anulación la genera el emisor, se identifica con NIF.",
        "an issuer that generates the cancellation is identified by NIF",
        Check::Party(generator_issuer_by_nif),
    ),
    record(
        "1229",
        "Val 3.1.4.3",
        "Un tercero que genera la anulación no puede ser no censado (07).",
        "a third party that generates the cancellation cannot be stated as not in the census (07)",
        Check::Party(generator_not_in_census),
    ),
    record(
        "1230",
        "Val 3.1.4.3",
        "Si la anulación la genera un destinatario con país España, el documento es 03 o 07.",
        "with Spain as the country of a recipient that generates the cancellation, the document is 03 or 07",
        Check::Party(generator_recipient_spain),
    ),
];

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

fn country_missing(party: &Party, _: &Role, report: &mut Report<'_>) {
    if foreign(party).is_some_and(|id| id.country.is_none() && id.kind != ForeignIdType::EuVat) {
        at(report, Field::Country);
    }
}

fn vat_number_shape(party: &Party, _: &Role, report: &mut Report<'_>) {
    if foreign(party)
        .is_some_and(|id| id.kind == ForeignIdType::EuVat && !vat_number::has_shape(id.id.as_str()))
    {
        at(report, Field::ForeignIdNumber);
    }
}

fn vat_number_country(party: &Party, _: &Role, report: &mut Report<'_>) {
    let Some(ForeignId { country: Some(country), kind: ForeignIdType::EuVat, id }) = foreign(party) else {
        return;
    };
    let prefix = id.as_str().get(..2).unwrap_or_default();
    // Spain has a code of its own for this: a Spanish number is never an EU VAT number here.
    if country.as_str() != "ES" && !vat_number::belongs_to(prefix, country.as_str()) {
        at(report, Field::Country);
    }
}

fn country_for_kind(party: &Party, role: &Role, report: &mut Report<'_>) {
    let Some(id) = foreign(party) else { return };
    let only_spain = id.kind == ForeignIdType::NotInCensus && id.country.is_some() && !is_spain(id);
    let not_spain = matches!(role, Role::Recipient(_))
        && is_spain(id)
        && !matches!(id.kind, ForeignIdType::Passport | ForeignIdType::NotInCensus);
    if only_spain || not_spain {
        at(report, Field::Country);
    }
}

fn not_in_census_is_nif(party: &Party, _: &Role, report: &mut Report<'_>) {
    if foreign(party)
        .is_some_and(|id| id.kind == ForeignIdType::NotInCensus && Nif::parse(id.id.as_str()).is_err())
    {
        at(report, Field::ForeignIdNumber);
    }
}

fn not_in_census_is_person(party: &Party, _: &Role, report: &mut Report<'_>) {
    if foreign(party).is_some_and(|id| {
        id.kind == ForeignIdType::NotInCensus
            && Nif::parse(id.id.as_str()).is_ok_and(|nif| nif.kind() == NifKind::Entity)
    }) {
        at(report, Field::ForeignIdNumber);
    }
}

fn northern_ireland(party: &Party, role: &Role, report: &mut Report<'_>) {
    if british(party, role).is_some_and(|(prefix, day)| prefix == "XI" && day < XI_FROM) {
        at(report, Field::ForeignIdNumber);
    }
}

fn great_britain(party: &Party, role: &Role, report: &mut Report<'_>) {
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

fn third_party_not_in_census(party: &Party, role: &Role, report: &mut Report<'_>) {
    if matches!(role, Role::ThirdParty(_)) && not_in_census(party) {
        at(report, Field::ForeignIdType);
    }
}

fn producer_not_in_census(party: &Party, role: &Role, report: &mut Report<'_>) {
    if matches!(role, Role::Producer) && not_in_census(party) {
        at(report, Field::ForeignIdType);
    }
}

fn generator_not_in_census(party: &Party, role: &Role, report: &mut Report<'_>) {
    if matches!(role, Role::Generator(Some(GeneratedBy::ThirdParty))) && not_in_census(party) {
        at(report, Field::ForeignIdType);
    }
}

fn not_in_census(party: &Party) -> bool {
    foreign(party).is_some_and(|id| id.kind == ForeignIdType::NotInCensus)
}

fn spain_by_passport(party: &Party, role: &Role, report: &mut Report<'_>) {
    let concerned =
        matches!(role, Role::ThirdParty(_) | Role::Producer | Role::Generator(Some(GeneratedBy::ThirdParty)));
    // A number that the census does not hold has its own rule for each of these roles.
    let allowed = |id: &ForeignId| matches!(id.kind, ForeignIdType::Passport | ForeignIdType::NotInCensus);
    if concerned && foreign(party).is_some_and(|id| is_spain(id) && !allowed(id)) {
        at(report, Field::ForeignIdType);
    }
}

fn generator_recipient_spain(party: &Party, role: &Role, report: &mut Report<'_>) {
    let allowed = |id: &ForeignId| matches!(id.kind, ForeignIdType::Passport | ForeignIdType::NotInCensus);
    if matches!(role, Role::Generator(Some(GeneratedBy::Recipient)))
        && foreign(party).is_some_and(|id| is_spain(id) && !allowed(id))
    {
        at(report, Field::ForeignIdType);
    }
}

fn generator_issuer_by_nif(party: &Party, role: &Role, report: &mut Report<'_>) {
    if matches!(role, Role::Generator(Some(GeneratedBy::Issuer))) && foreign(party).is_some() {
        report.at(Field::Nif);
    }
}
