//! The header of a submission: its form, whom it names, and whether the presenter may (Val 3.1.1).

use jiff::civil::{Date, date};

use super::finding::Finding;
use super::nif;
use super::pki::Presenter;
use super::refusal::Refusal;
use super::schema::{self, civil_date};
use super::settings::{PresenterPolicy, Settings};
use super::xml::Element;

/// From this day on, the day of renunciation must be the last of a year.
const YEAR_ENDS_FROM: Date = date(2027, 1, 1);

/// Which service the submission came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recipient {
    /// The one for voluntary submissions.
    Voluntary,
    /// The one for what a requirement asks for.
    Requirement,
}

/// Checks the header; the first fault refuses the message.
pub(crate) fn check(
    header: &Element,
    presenter: &Presenter,
    settings: &Settings,
    today: Date,
    to: Recipient,
) -> Result<(), Refusal> {
    schema::HEADER.content(header)?;
    let issuer = header.text_at("ObligadoEmision/NIF").unwrap_or_default();
    if !nif::is_valid(issuer) {
        return Err(identified(4116, header, "ObligadoEmision").into());
    }
    let name_of =
        |block: &str| header.at(block).and_then(|party| party.text_at("NombreRazon")).unwrap_or_default();
    if nif::is_person(issuer) && name_of("ObligadoEmision").is_empty() {
        return Err(Refusal::new(1282));
    }
    if !settings.census.identifies(issuer, name_of("ObligadoEmision")) {
        return Err(identified(4104, header, "ObligadoEmision").into());
    }
    let representative = header.text_at("Representante/NIF");
    if representative.is_some_and(|nif| !nif::is_valid(nif)) {
        return Err(identified(4117, header, "Representante").into());
    }
    if let Some(nif) = representative {
        let name = name_of("Representante");
        let code = match (nif::is_person(nif) && name.is_empty(), settings.census.identifies(nif, name)) {
            (true, _) => Some(1282),
            (false, true) => None,
            (false, false) if settings.census.holds(nif) => Some(4124),
            (false, false) => Some(4105),
        };
        if let Some(code) = code {
            return Err(identified(code, header, "Representante").into());
        }
    }
    match to {
        Recipient::Voluntary if header.at("RemisionRequerimiento").is_some() => {
            return Err(Refusal::new(4126));
        }
        Recipient::Voluntary => {}
        Recipient::Requirement => answers_a_requirement(header, settings)?,
    }
    if let Some(day) = header.text_at("RemisionVoluntaria/FechaFinVeriFactu")
        && today >= YEAR_ENDS_FROM
        && !civil_date(day).is_some_and(|day| ends_a_year(day, today))
    {
        return Err(Refusal::new(4120));
    }
    let may = match settings.presenters {
        PresenterPolicy::Anyone => true,
        PresenterPolicy::Holder => {
            presenter.is(issuer) || representative.is_some_and(|nif| presenter.is(nif))
        }
    };
    if may { Ok(()) } else { Err(Refusal::new(4112)) }
}

/// Checks that the header names a requirement, and nothing that is for voluntary submissions.
fn answers_a_requirement(header: &Element, settings: &Settings) -> Result<(), Refusal> {
    if header.at("RemisionVoluntaria").is_some() {
        return Err(Refusal::new(4127));
    }
    let reference = requirement(header);
    if reference.is_empty() {
        return Err(Refusal::new(4125));
    }
    if !reference.chars().all(char::is_alphanumeric) {
        return Err(Refusal::new(4133));
    }
    let known = settings.requirements.as_ref().is_none_or(|known| known.contains(reference));
    if known { Ok(()) } else { Err(Refusal::new(4122)) }
}

/// The requirement that the submission answers; empty without one.
pub(crate) fn requirement(header: &Element) -> &str {
    header.text_at("RemisionRequerimiento/RefRequerimiento").unwrap_or_default()
}

/// Whether the header marks the submission as the late outcome of an incident.
pub(crate) fn is_incident(header: &Element) -> bool {
    header.text_at("RemisionVoluntaria/Incidencia") == Some("S")
}

fn identified(code: u16, header: &Element, block: &str) -> Finding {
    let party = header.at(block);
    let text = |name| party.and_then(|party| party.text_at(name)).unwrap_or_default();
    Finding::new(code).with_detail(format!(". NIF:{}. NOMBRE_RAZON:{}", text("NIF"), text("NombreRazon")))
}

fn ends_a_year(day: Date, today: Date) -> bool {
    (day.month(), day.day()) == (12, 31) && (today.year() - 1..=today.year()).contains(&day.year())
}
