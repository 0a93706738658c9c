//! Recipients, the third party, the generator and the producer: who must be there, and whether they
//! are who they say (Val 3.1.3.11 to 3.1.3.13, 3.1.4.3, 3.1.5).

use super::super::finding::Finding;
use super::super::nif;
use super::super::record::Record;
use super::Facts;
use super::invoice_type::is_simplified;
use super::party::{Party, Place, parties, recipients};

pub(super) fn issued_by(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let third_party = record.at("Tercero").is_some();
    match record.text("EmitidaPorTerceroODestinatario") {
        "T" if !third_party => Some(Finding::new(1186)),
        "D" if third_party => Some(Finding::new(1159)),
        "D" if record.at("Destinatarios").is_none() => Some(Finding::new(1158)),
        "" if third_party => Some(Finding::new(1155)),
        _ => None,
    }
}

pub(super) fn third_party_is_another(facts: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    (record.text("Tercero/NIF") == facts.issuer).then(|| Finding::new(1188))
}

pub(super) fn recipients_by_type(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    if !record.is_alta() {
        return None;
    }
    match (is_simplified(record), record.at("Destinatarios").is_some()) {
        (true, true) => Some(Finding::new(1190)),
        (false, false) => Some(Finding::new(1189)),
        _ => None,
    }
}

/// A wrong check character comes back as 4109 on the record's line, though AEAT lists the code
/// among those that refuse a message.
pub(super) fn check_characters(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    parties(record)
        .find(|party| party.nif().is_some_and(|written| !nif::is_valid(written)))
        .map(|party| party.identified(4109))
}

pub(super) fn names_of_persons(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    recipients(record)
        .find(|party| party.name().is_empty() && party.nif().is_some_and(nif::is_person))
        .map(|party| party.finding(1283))
}

/// Of recipients the name is asked too. Codes are those reported from the service: 1110 for recipients
/// and third parties; a generator's has a text of its own, and a producer's is the text of the block.
pub(super) fn census(facts: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let known = |party: &Party<'_>| match (party.place, party.nif()) {
        (_, None) => true,
        (Place::Recipient, Some(nif)) => facts.census.identifies(nif, party.name()),
        (_, Some(nif)) => facts.census.holds(nif),
    };
    parties(record).find(|party| !known(party)).map(|party| match party.place {
        Place::Recipient | Place::ThirdParty => party.identified(1110),
        Place::Generator => Finding::new(1259),
        Place::Producer => Finding::new(1179),
    })
}

pub(super) fn generator(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let present = |name| record.at(name).is_some();
    if present("GeneradoPor") != present("Generador") {
        Some(Finding::new(1224))
    } else if record.text("GeneradoPor") == "E" && !present("Generador/NIF") {
        Some(Finding::new(1227))
    } else {
        None
    }
}

/// An issuer that names itself is let through, though the texts contradict each other there.
pub(super) fn generator_is_another(facts: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let other = matches!(record.text("GeneradoPor"), "D" | "T");
    (other && record.text("Generador/NIF") == facts.issuer).then(|| Finding::new(1259))
}

/// One whose NIF the census does not hold yet may be named with type 07; that is noted.
pub(super) fn recipient_to_come(facts: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    recipients(record)
        .filter_map(|party| Some((party, party.other()?)))
        .any(|(party, other)| other.kind == "07" && !facts.census.identifies(other.id, party.name()))
        .then(|| Finding::new(2001))
}
