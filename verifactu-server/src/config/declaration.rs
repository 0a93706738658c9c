//! What the producer of the system declares beside the system's own data (Orden HAC/1177/2024, art. 15).

use verifactu_core::types::{Date, Environment, Text};

use super::{error::ConfigError, value::Reader};

/// The parts of the declaration that records do not carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclarationConfig {
    /// Components of hardware and software, and what the system does.
    pub components: Text<2000>,
    /// Postal address of the producer.
    pub address: Text<250>,
    /// When it was signed.
    pub date: Date,
    /// Town and country where it was signed.
    pub place: Text<120>,
}

const COMPONENTS: &str = "Servicio VERI*FACTU for Rust, que funciona en un servidor de uso general. Recibe facturas \
    y anulaciones por una interfaz REST, genera sus registros de facturación encadenados con su huella y su \
    código QR, los conserva y los remite a la Agencia Estatal de Administración Tributaria.";

impl DeclarationConfig {
    /// Address, date and place belong together. The sandbox makes them up; production, whose users must
    /// find the declaration, does not start without.
    pub(super) fn read(reader: &Reader<'_>, environment: Environment) -> Result<Option<Self>, ConfigError> {
        let components =
            reader.read("declaration-components", "1 to 2000 characters", |text| Text::parse(text).ok())?;
        let address =
            reader.read("declaration-address", "1 to 250 characters", |text| Text::parse(text).ok())?;
        let date =
            reader.read("declaration-date", "a day such as 2026-01-31", |text| Date::parse(text).ok())?;
        let place = reader.read("declaration-place", "1 to 120 characters", |text| Text::parse(text).ok())?;
        let made_up = (environment == Environment::Sandbox).then_some([
            "Calle de Prueba 1, 28001 Madrid, España",
            "01-01-2026",
            "Madrid, España",
        ]);
        let given = (address, date, place);
        let (address, date, place) = match (given, made_up) {
            ((None, None, None), Some([address, date, place])) => {
                (Text::parse(address).ok(), Date::parse(date).ok(), Text::parse(place).ok())
            }
            ((None, None, None), None) if environment != Environment::Production => return Ok(None),
            (given, _) => given,
        };
        let missing = |setting| ConfigError::Missing {
            setting,
            reason: "in production, and beside other parts of the declaration",
        };
        let components = components.or_else(|| Text::parse(COMPONENTS).ok());
        Ok(Some(Self {
            components: components.ok_or_else(|| missing("--declaration-components"))?,
            address: address.ok_or_else(|| missing("--declaration-address"))?,
            date: date.ok_or_else(|| missing("--declaration-date"))?,
            place: place.ok_or_else(|| missing("--declaration-place"))?,
        }))
    }
}
