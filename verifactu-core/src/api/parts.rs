//! What invoices and cancellations have in common: parties, the place in the chain, a caller's own
//! huella, and a caller's own computer system.

use crate::{
    chain::{PlaceClaim, Stamp},
    record::{ComputerSystem, Country, ForeignId, ForeignIdType, Identification, InvoiceId, Party, SystemId},
    types::{Date, GenerationTime, Huella, Nif, Text},
    validation::{self, Context, Field, Finding},
};

use super::{
    names::rest_name,
    object::{Member, Object},
};

/// What a caller says about its own computer system; the rest comes from the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of ComputerSystem")]
pub struct SystemClaim {
    pub producer: Option<Party>,
    pub name: Option<Text<30>>,
    pub id: Option<SystemId>,
    pub version: Option<Text<50>>,
    pub installation: Option<Text<100>>,
    pub verifactu_only: Option<bool>,
    pub multiple_issuers_possible: Option<bool>,
    pub multiple_issuers: Option<bool>,
}

impl SystemClaim {
    /// The system that is claimed, completed from another.
    #[must_use]
    pub fn or(self, system: &ComputerSystem) -> ComputerSystem {
        ComputerSystem {
            producer: self.producer.unwrap_or_else(|| system.producer.clone()),
            name: self.name.unwrap_or_else(|| system.name.clone()),
            id: self.id.unwrap_or(system.id),
            version: self.version.unwrap_or_else(|| system.version.clone()),
            installation: self.installation.unwrap_or_else(|| system.installation.clone()),
            verifactu_only: self.verifactu_only.unwrap_or(system.verifactu_only),
            multiple_issuers_possible: self
                .multiple_issuers_possible
                .unwrap_or(system.multiple_issuers_possible),
            multiple_issuers: self.multiple_issuers.unwrap_or(system.multiple_issuers),
        }
    }
}

/// The three claims, which both bodies spell alike.
pub(super) struct Claims {
    pub(super) chain: PlaceClaim,
    pub(super) stamp: Option<Stamp>,
    pub(super) system: Option<SystemClaim>,
}

impl Claims {
    /// What the rules have against them.
    pub(super) fn findings(&self, context: &Context) -> Vec<Finding> {
        let producer = self.system.as_ref().and_then(|system| system.producer.as_ref());
        producer.map(|producer| validation::validate_producer(producer, context)).unwrap_or_default()
    }
}

pub(super) fn claims(body: &Object<'_>) -> Claims {
    let chain = chain(body);
    Claims { chain, stamp: stamp(body, chain), system: system(body) }
}

fn chain(body: &Object<'_>) -> PlaceClaim {
    let outer = body.flag(Field::FirstRecord);
    let mut claim = PlaceClaim { first: outer, previous: None };
    let Some(object) = body.object(Field::Chain) else { return claim };
    let nested = object.flag(Field::FirstRecord);
    if outer.is_some_and(|outer| nested.is_some_and(|nested| nested != outer)) {
        object.problem(Field::FirstRecord, None, "differs from primerRegistro at top level");
    }
    claim.first = nested.or(outer);
    if let Some(previous) = object.object(Field::PreviousRecord) {
        if !previous.is_empty() {
            claim.previous = previous.text(previous.need(Field::Huella), Huella::parse);
        }
        previous.finish();
    }
    if claim.first == Some(true) && claim.previous.is_some() {
        let message = "the first record of a chain has no registroAnterior: send one of the two";
        object.problem(Field::FirstRecord, Some(1180), message);
    }
    object.finish();
    claim
}

fn stamp(body: &Object<'_>, chain: PlaceClaim) -> Option<Stamp> {
    let kind = body.take(Field::HuellaType);
    body.text(kind, |text| if text == "01" { Ok(()) } else { Err("must be 01 (SHA-256)") });
    let (huella, time) = (body.take(Field::Huella), body.take(Field::GeneratedAt));
    match (huella, time) {
        (None, None) => return None,
        (Some(_), None) => body.problem(Field::GeneratedAt, None, "is required beside huella"),
        (None, Some(_)) => body.problem(Field::Huella, None, "is required beside fechaHoraHusoGenRegistro"),
        (Some(_), Some(_)) if chain.first != Some(true) && chain.previous.is_none() => {
            let message = "is required beside huella: state primerRegistro or the previous huella it covers";
            body.problem(Field::Chain, None, message);
        }
        (Some(_), Some(_)) => {}
    }
    let huella = body.text(huella, Huella::parse);
    let generated_at = body.text(time, GenerationTime::parse);
    Some(Stamp { huella: huella?, generated_at: generated_at? })
}

/// A party under the given field; an empty object is none.
pub(super) fn party(body: &Object<'_>, field: Field) -> Option<Party> {
    let object = body.object(field)?;
    if object.is_empty() {
        return None;
    }
    let party = party_of(&object);
    object.finish();
    party
}

/// A name with exactly one identification.
pub(super) fn party_of(object: &Object<'_>) -> Option<Party> {
    let name = object.text(object.need(Field::Name), Text::parse);
    let identification =
        identification(object, object.take(Field::Nif), object.object(Field::ForeignId), NAMES);
    Some(Party { name: name?, identification: identification? })
}

/// The two names of an identification.
const NAMES: [&str; 2] = [rest_name(Field::Nif), rest_name(Field::ForeignId)];

/// Exactly one of two identifications, which go by the given names at this place.
pub(super) fn identification(
    object: &Object<'_>,
    nif: Option<Member<'_>>,
    foreign: Option<Object<'_>>,
    [nif_name, foreign_name]: [&str; 2],
) -> Option<Identification> {
    match (&nif, &foreign) {
        (None, None) => object.problem_at(nif_name, None, format!("is required, or {foreign_name} instead")),
        (Some(_), Some(_)) => object.problem_at(foreign_name, None, format!("excludes {nif_name}: send one")),
        _ => {}
    }
    let nif = object.text(nif, Nif::parse).map(Identification::Nif);
    nif.or(foreign.and_then(foreign_id).map(Identification::Foreign))
}

fn foreign_id(object: Object<'_>) -> Option<ForeignId> {
    let country = object.take(Field::Country);
    let stated = country.is_some();
    let country = object.text(country, |text| {
        Country::parse(text)
            .ok_or("not a country of the authority's list (ISO 3166-1, two upper-case letters)")
    });
    let kind = object.code(object.need(Field::ForeignIdType), ForeignIdType::ALL, ForeignIdType::code);
    let id = object.text(object.need(Field::ForeignIdNumber), Text::parse);
    object.finish();
    if stated && country.is_none() {
        return None;
    }
    Some(ForeignId { country, kind: kind?, id: id? })
}

/// The further names of the parts of another invoice's key.
pub(super) const KEY_SPELLINGS: [(Field, &str); 3] = [
    (Field::Nif, "idEmisorFactura"),
    (Field::Number, "numSerieFactura"),
    (Field::Date, "fechaExpedicionFactura"),
];

/// The key of another invoice.
pub(super) fn invoice_id(object: &Object<'_>) -> Option<InvoiceId> {
    let [issuer, number, date] = KEY_SPELLINGS.map(|(field, other)| object.need_as(field, &[other]));
    let issuer = object.text(issuer, Nif::parse);
    let number = object.number(number);
    let date = object.text(date, Date::parse);
    Some(InvoiceId { issuer: issuer?, number: number?, date: date? })
}

fn system(body: &Object<'_>) -> Option<SystemClaim> {
    let object = body.object(Field::System)?;
    let claim = SystemClaim {
        producer: producer(&object),
        name: object.bounded(Field::SystemName),
        id: object.text(object.take(Field::SystemId), |text| {
            SystemId::parse(text).ok_or("two characters, each A to Z or 0 to 9")
        }),
        version: object.bounded(Field::SystemVersion),
        installation: object.bounded(Field::Installation),
        verifactu_only: object.flag(Field::VerifactuOnly),
        multiple_issuers_possible: object.flag(Field::MultipleIssuersPossible),
        multiple_issuers: object.flag(Field::MultipleIssuers),
    };
    object.finish();
    (claim != SystemClaim::default()).then_some(claim)
}

/// Name and identification of a producer are defaulted together or not at all.
fn producer(object: &Object<'_>) -> Option<Party> {
    let (name, nif, foreign) =
        (object.take(Field::ProducerName), object.take(Field::Nif), object.object(Field::ForeignId));
    if name.is_none() && nif.is_none() && foreign.is_none() {
        return None;
    }
    let name = object.text(name.or_else(|| object.need(Field::ProducerName)), Text::parse);
    let identification = identification(object, nif, foreign, NAMES);
    Some(Party { name: name?, identification: identification? })
}
