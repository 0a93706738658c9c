//! Identifications that are no NIF: `IDOtro` (Val 3.1.3.12 and 13, 3.1.4.3, 3.1.5, and note 1).
//!
//! Types: 02 VAT number of the Union, 03 passport, 04 official document, 05 certificate of
//! residence, 06 other, 07 not in the census. Whether a VAT number exists is not asked: the sandbox
//! is offline.

use jiff::civil::{Date, date};

use super::super::finding::Finding;
use super::super::nif;
use super::super::record::Record;
use super::Facts;
use super::invoice_type::is_simplified;
use super::party::{Other, Party, Place, parties};

const XI_FROM: Date = date(2021, 1, 1);
const GB_BEFORE: Date = date(2021, 2, 1);

pub(super) fn country(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    find(record, |_, other| (other.country.is_empty() && other.kind != "02").then_some(1111))
}

pub(super) fn not_in_census(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    find(record, |party, other| match party.place {
        _ if other.kind != "07" => None,
        Place::ThirdParty => Some(1211),
        Place::Producer => Some(1221),
        Place::Generator if record.text("GeneradoPor") == "T" => Some(1229),
        _ if other.country != "ES" => Some(1126),
        _ if !nif::is_valid(other.id) => Some(1290),
        _ if !nif::is_person(other.id) => Some(1131),
        _ => None,
    })
}

/// A Spanish document is a passport, or one of who is not in the census.
pub(super) fn spain(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    find(record, |party, other| match (other.country, other.kind, party.place) {
        ("ES", "03" | "07", _) => None,
        ("ES", _, Place::Recipient) => Some(1126),
        ("ES", _, Place::Generator) if record.text("GeneradoPor") == "D" => Some(1230),
        ("ES", ..) => Some(1232),
        _ => None,
    })
}

pub(super) fn vat_number_by_type(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let impossible = record.is_alta() && is_simplified(record);
    find(record, |party, other| {
        (impossible && other.kind == "02" && party.place == Place::Recipient).then_some(1156)
    })
}

pub(super) fn vat_number(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    find(record, |_, other| (other.kind == "02" && !is_vat_number(other.id)).then_some(1103))
}

/// Greece has the prefix EL, and Northern Ireland XI; neither is a country of the list.
pub(super) fn prefix(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    find(record, |_, other| {
        if other.kind != "02" || other.country.is_empty() {
            return None;
        }
        let prefix = match other.id.get(..2) {
            Some("EL") => "GR",
            Some("XI") => "GB",
            other => other.unwrap_or_default(),
        };
        (prefix != other.country).then_some(1122)
    })
}

pub(super) fn northern_ireland(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let early = record.operated()? < XI_FROM;
    find(record, |party, other| (early && is_dated(party, other, "XI")).then_some(1254))
}

pub(super) fn great_britain(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let late = record.operated()? >= GB_BEFORE;
    find(record, |party, other| (late && is_dated(party, other, "GB")).then_some(1255))
}

/// Whether it is a VAT number with this prefix, of a party to the operation.
fn is_dated(party: Party<'_>, other: Other<'_>, prefix: &str) -> bool {
    let concerned = matches!(party.place, Place::Recipient | Place::ThirdParty);
    concerned && other.kind == "02" && other.id.starts_with(prefix)
}

fn find(record: Record<'_>, check: impl Fn(Party<'_>, Other<'_>) -> Option<u16>) -> Option<Finding> {
    parties(record).find_map(|party| check(party, party.other()?).map(|code| party.finding(code)))
}

/// What may follow the prefix.
#[derive(Clone, Copy)]
enum Body {
    Digits,
    /// Digits and capitals.
    Signs,
}

/// Prefix, kind of body, and its lengths.
#[rustfmt::skip]
const VAT_NUMBERS: &[(&str, Body, &[usize])] = &[
    ("AT", Body::Signs, &[9]), ("BE", Body::Digits, &[10]), ("BG", Body::Digits, &[9, 10]),
    ("CY", Body::Signs, &[9]), ("CZ", Body::Digits, &[8, 9, 10]), ("DE", Body::Digits, &[9]),
    ("DK", Body::Digits, &[8]), ("EE", Body::Digits, &[9]), ("EL", Body::Digits, &[9]),
    ("FI", Body::Digits, &[8]), ("FR", Body::Signs, &[11]), ("GB", Body::Signs, &[5, 9, 12]),
    ("HR", Body::Digits, &[11]), ("HU", Body::Digits, &[8]), ("IE", Body::Signs, &[8, 9]),
    ("IT", Body::Digits, &[11]), ("LT", Body::Digits, &[9, 12]), ("LU", Body::Digits, &[8]),
    ("LV", Body::Digits, &[11]), ("MT", Body::Digits, &[8]), ("NL", Body::Signs, &[12]),
    ("PL", Body::Digits, &[10]), ("PT", Body::Digits, &[9]),
    ("RO", Body::Digits, &[2, 3, 4, 5, 6, 7, 8, 9, 10]), ("SE", Body::Digits, &[12]),
    ("SI", Body::Digits, &[8]), ("SK", Body::Digits, &[10]), ("XI", Body::Signs, &[5, 9, 12]),
];

fn is_vat_number(id: &str) -> bool {
    let Some((prefix, body)) = id.split_at_checked(2) else {
        return false;
    };
    VAT_NUMBERS.iter().any(|(country, kind, lengths)| {
        let of_kind = |byte: u8| match kind {
            Body::Digits => byte.is_ascii_digit(),
            Body::Signs => byte.is_ascii_digit() || byte.is_ascii_uppercase(),
        };
        let leading_zero = prefix == "RO" && body.starts_with('0');
        *country == prefix && lengths.contains(&body.len()) && body.bytes().all(of_kind) && !leading_zero
    })
}

#[cfg(test)]
mod tests {
    use super::is_vat_number;

    #[test]
    fn shapes_of_vat_numbers() {
        for id in ["DE123456789", "EL123456789", "FR1A345678901", "RO12", "LT123456789012", "XI12345"] {
            assert!(is_vat_number(id), "{id}");
        }
        for id in
            ["123456789", "DE12345678", "de123456789", "RO0234", "ES89890001K", "LV123456789", "D", "Ñ1"]
        {
            assert!(!is_vat_number(id), "{id}");
        }
    }
}
