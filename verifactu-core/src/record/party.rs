//! Persons and entities that take part in an invoice.

use crate::types::{Nif, Text};

use super::codes::ForeignIdType;

/// A name with an identification: a recipient, a third party, the generator of a cancellation, or
/// the producer of a computer system.
#[doc(alias = "PersonaFisicaJuridicaType")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// Name and surnames, or company name.
    #[doc(alias = "NombreRazon")]
    pub name: Text<120>,
    /// Exactly one identification.
    pub identification: Identification,
}

/// How a [`Party`] is identified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identification {
    /// A Spanish tax number.
    Nif(Nif),
    /// Any other.
    Foreign(ForeignId),
}

/// An identification that is not a NIF.
#[doc(alias = "IDOtro")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignId {
    /// The country; may be left out for an EU VAT number, which begins with it.
    pub country: Option<Country>,
    /// What kind of document.
    pub kind: ForeignIdType,
    /// Its number, with the country prefix for an EU VAT number.
    pub id: Text<20>,
}

/// A country of the authority's list: ISO 3166-1 less eight codes, with five of its own.
#[doc(alias = "CodigoPais")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Country([u8; 2]);

/// The schema's list (`CountryType2`), sorted.
const COUNTRIES: &str = concat!(
    "ADAEAFAGAIALAMAOAQARASATAUAWAZBABBBDBEBFBGBHBIBJBMBNBOBQBRBSBTBVBWBYBZCACCCDCFCGCHCICKCLCM",
    "CNCOCRCUCVCWCXCYCZDEDJDKDMDODZECEEEGERESETFIFJFKFMFOFRGAGBGDGEGGGHGIGLGMGNGQGRGSGTGUGWGYHK",
    "HMHNHRHTHUIDIEILIMINIOIQIRISITJEJMJOJPKEKGKHKIKMKNKPKRKWKYKZLALBLCLILKLRLSLTLULVLYMAMCMDME",
    "MGMHMKMLMMMNMOMPMRMSMTMUMVMWMXMYMZNANCNENFNGNINLNONPNRNUNZOMPAPEPFPGPHPKPLPMPNPRPSPTPWPYQA",
    "QURERORSRURWSASBSCSDSESGSHSISKSLSMSNSOSRSSSTSVSXSYSZTCTDTFTGTHTJTKTLTMTNTOTRTTTVTWTZUAUGUM",
    "USUYUZVAVCVEVGVIVNVUWFWSXBXGXNXUYEYTZAZMZW",
);

impl Country {
    /// The country with this code, if the authority's list has it.
    ///
    /// ```
    /// use verifactu_core::record::Country;
    /// assert!(Country::parse("FR").is_some());
    /// assert!(Country::parse("EL").is_none()); // Greece is GR
    /// ```
    #[must_use]
    pub fn parse(code: &str) -> Option<Self> {
        let code: [u8; 2] = code.as_bytes().try_into().ok()?;
        COUNTRIES.as_bytes().chunks_exact(2).any(|known| known == code).then_some(Self(code))
    }

    /// The two letters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Every country of the list, in alphabetical order.
    pub fn all() -> impl Iterator<Item = Self> {
        COUNTRIES.as_bytes().chunks_exact(2).map(|code| Self([code[0], code[1]]))
    }
}

impl std::fmt::Display for Country {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::fmt::Debug for Country {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
