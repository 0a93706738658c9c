//! The computer system that generates the records.

use crate::types::Text;

use super::party::Party;

/// A billing system as every record names it (DR, block SistemaInformatico).
#[doc(alias = "SistemaInformatico")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComputerSystem {
    /// Who produced the software.
    pub producer: Party,
    /// Name of the product.
    #[doc(alias = "NombreSistemaInformatico")]
    pub name: Text<30>,
    /// Tells the products of one producer apart.
    #[doc(alias = "IdSistemaInformatico")]
    pub id: SystemId,
    /// Version of the product.
    #[doc(alias = "Version")]
    pub version: Text<50>,
    /// The installation; never used twice for one issuer (FAQ 4).
    #[doc(alias = "NumeroInstalacion")]
    pub installation: Text<100>,
    /// The product can work in VERI*FACTU mode only.
    #[doc(alias = "TipoUsoPosibleSoloVerifactu")]
    pub verifactu_only: bool,
    /// The product can hold several issuers.
    #[doc(alias = "TipoUsoPosibleMultiOT")]
    pub multiple_issuers_possible: bool,
    /// At the moment it does hold several.
    #[doc(alias = "IndicadorMultiplesOT")]
    pub multiple_issuers: bool,
}

/// Two characters, each A to Z or 0 to 9 (code 1177).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SystemId([u8; 2]);

impl SystemId {
    /// Checks the two characters.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let id: [u8; 2] = text.as_bytes().try_into().ok()?;
        id.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()).then_some(Self(id))
    }

    /// The two characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl std::fmt::Debug for SystemId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
