//! A party named in a record, and the place it stands in.

use super::super::finding::Finding;
use super::super::record::Record;
use super::super::xml::Element;

/// Where a party stands; rules differ by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Recipient,
    ThirdParty,
    Generator,
    Producer,
}

impl Place {
    /// The words that the service puts before an error in the block.
    fn block(self) -> &'static str {
        match self {
            Self::Recipient => "Error en el bloque Destinatario.",
            Self::ThirdParty => "Error en el bloque de Tercero.",
            Self::Generator => "Error en el bloque de Generador.",
            Self::Producer => "Error en el bloque de SistemaInformatico.",
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Party<'a> {
    pub(super) place: Place,
    element: &'a Element,
}

impl<'a> Party<'a> {
    pub(super) fn nif(self) -> Option<&'a str> {
        self.element.text_at("NIF")
    }

    pub(super) fn name(self) -> &'a str {
        self.element.text_at("NombreRazon").unwrap_or_default()
    }

    /// The identification that is no NIF: its country, its type and itself; a country not stated
    /// reads as an empty text.
    pub(super) fn other(self) -> Option<Other<'a>> {
        let other = self.element.at("IDOtro")?;
        let text = |name| other.text_at(name).unwrap_or_default();
        Some(Other { country: text("CodigoPais"), kind: text("IDType"), id: text("ID") })
    }

    /// A finding in this party's block.
    pub(super) fn finding(self, code: u16) -> Finding {
        Finding::new(code).in_block(self.place.block())
    }

    /// The same, with whom it is about.
    pub(super) fn identified(self, code: u16) -> Finding {
        let nif = self.nif().unwrap_or_default();
        self.finding(code).with_detail(format!(". NIF:{nif}. NOMBRE_RAZON:{}", self.name()))
    }
}

/// `IDOtro`.
#[derive(Clone, Copy)]
pub(super) struct Other<'a> {
    pub(super) country: &'a str,
    pub(super) kind: &'a str,
    pub(super) id: &'a str,
}

/// All parties of a record, in the order they stand in; the recipients first.
pub(super) fn parties(record: Record<'_>) -> impl Iterator<Item = Party<'_>> {
    let one = move |name, place| record.at(name).map(|element| Party { place, element });
    recipients(record)
        .chain(one("Tercero", Place::ThirdParty))
        .chain(one("Generador", Place::Generator))
        .chain(one("SistemaInformatico", Place::Producer))
}

pub(super) fn recipients(record: Record<'_>) -> impl Iterator<Item = Party<'_>> {
    let block = record.at("Destinatarios").into_iter();
    block
        .flat_map(|block| block.all("IDDestinatario"))
        .map(|element| Party { place: Place::Recipient, element })
}
