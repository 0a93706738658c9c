//! The check of NIFs against the census, `VNifV2`: the question and its answer.
//!
//! The schemas name their namespaces with `https`; the service's manual writes them with `http`, and
//! its clients are answered in it. The question goes out with `http`, the answer is read in either.

use crate::types::{Nif, Text};

use super::{
    answer::{once, owned},
    reader::{Ns, ReadError, Reader},
    writer::Writer,
};

/// Most taxpayers of one question and of one answer (`VNifV2Ent.xsd`, `VNifV2Sal.xsd`).
pub const MAX_TAXPAYERS: usize = 10_000;

/// Who is asked about.
#[doc(alias = "Contribuyente")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taxpayer {
    /// The number.
    #[doc(alias = "Nif")]
    pub nif: Nif,
    /// The name, a person's surnames first. A natural person is not identified without it; an entity
    /// is found by its number alone.
    #[doc(alias = "Nombre")]
    pub name: Option<Text<120>>,
}

/// What the census knows of the taxpayers.
#[doc(alias = "VNifV2Sal")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NifCheckAnswer {
    /// The taxpayers, in no promised order; at most [`MAX_TAXPAYERS`].
    pub taxpayers: Vec<CheckedTaxpayer>,
}

/// What the census knows of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedTaxpayer {
    /// The number, as it came back.
    #[doc(alias = "Nif")]
    pub nif: String,
    /// An entity's name in the census. For a natural person the service echoes the name asked about,
    /// so nothing can be learned from it.
    #[doc(alias = "Nombre")]
    pub name: String,
    /// The result.
    #[doc(alias = "Resultado")]
    pub status: CensusStatus,
}

/// What the census says to a number and a name.
#[doc(alias = "Resultado")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CensusStatus {
    /// Number and name belong together.
    Identified,
    /// The same, and the taxpayer is no longer active.
    Deregistered,
    /// The same, and the number is revoked.
    Revoked,
    /// The number is a natural person's with nearly this name.
    Similar,
    /// Not in the census; of a natural person, often just the name is another.
    NotIdentified,
    /// Not looked at. It may be asked again.
    NotProcessed,
    /// A word that is not known here.
    Unknown(String),
}

impl CensusStatus {
    /// Blanks around the hyphen and the case have been seen to vary.
    fn read(text: &str) -> Self {
        let words: Vec<String> = text.to_uppercase().split('-').map(|part| part.trim().to_owned()).collect();
        let word = words.join("-");
        let known = [
            Self::Identified,
            Self::Deregistered,
            Self::Revoked,
            Self::Similar,
            Self::NotIdentified,
            Self::NotProcessed,
        ];
        known.into_iter().find(|it| it.as_str() == word).unwrap_or_else(|| Self::Unknown(text.to_owned()))
    }

    /// The service's word for it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Identified => "IDENTIFICADO",
            Self::Deregistered => "IDENTIFICADO-BAJA",
            Self::Revoked => "IDENTIFICADO-REVOCADO",
            Self::Similar => "NO IDENTIFICADO-SIMILAR",
            Self::NotIdentified => "NO IDENTIFICADO",
            Self::NotProcessed => "NO PROCESADO",
            Self::Unknown(word) => word,
        }
    }

    /// Whether the census holds the taxpayer, under this number and name.
    #[must_use]
    pub fn is_identified(&self) -> bool {
        matches!(self, Self::Identified | Self::Deregistered | Self::Revoked)
    }
}

const OPEN: &str = "<Envelope xmlns=\"http://schemas.xmlsoap.org/soap/envelope/\"><Header></Header><Body><VNifV2Ent xmlns=\"http://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/burt/jdit/ws/VNifV2Ent.xsd\">";
const CLOSE: &str = "</VNifV2Ent></Body></Envelope>";

/// Writes the question. The schema wants 1 to [`MAX_TAXPAYERS`]; the caller sees to it.
#[must_use]
pub fn write(taxpayers: &[Taxpayer]) -> Vec<u8> {
    let mut out = Vec::with_capacity(OPEN.len() + CLOSE.len() + taxpayers.len() * 128);
    let mut writer = Writer::new(&mut out);
    writer.raw(OPEN);
    for Taxpayer { nif, name } in taxpayers {
        writer.text("<Contribuyente><Nif>", nif.as_str(), "</Nif>");
        let name = name.as_ref().map_or("", Text::as_str);
        writer.text("<Nombre>", name, "</Nombre></Contribuyente>");
    }
    writer.raw(CLOSE);
    out
}

/// Reads the inside of a `VNifV2Sal`.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<NifCheckAnswer, ReadError> {
    let mut taxpayers = Vec::new();
    while let Some(part) = reader.child()? {
        if !part.is(Ns::NifCheckAnswer, "Contribuyente") {
            reader.skip()?;
        } else if taxpayers.len() == MAX_TAXPAYERS {
            return Err(ReadError::TooMany("Contribuyente"));
        } else {
            taxpayers.push(taxpayer(reader)?);
        }
    }
    Ok(NifCheckAnswer { taxpayers })
}

fn taxpayer(reader: &mut Reader<'_>) -> Result<CheckedTaxpayer, ReadError> {
    let (mut nif, mut name, mut status) = (None, None, None);
    while let Some(part) = reader.child()? {
        match (part.ns, part.local) {
            (Ns::NifCheckAnswer, "Nif") => once(&mut nif, owned(reader)?, "Nif")?,
            (Ns::NifCheckAnswer, "Nombre") => once(&mut name, owned(reader)?, "Nombre")?,
            (Ns::NifCheckAnswer, "Resultado") => {
                once(&mut status, CensusStatus::read(&reader.text()?), "Resultado")?;
            }
            _ => reader.skip()?,
        }
    }
    Ok(CheckedTaxpayer {
        nif: nif.ok_or(ReadError::Missing("Nif"))?,
        name: name.unwrap_or_default(),
        status: status.ok_or(ReadError::Missing("Resultado"))?,
    })
}
