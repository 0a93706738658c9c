//! A record as received: what it identifies, what it asks for, and the string its huella is
//! computed over.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::schema::{self, Node, civil_date};
use super::xml::Element;

/// The two kinds of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// `RegistroAlta`: an invoice, or the correction of one.
    Alta,
    /// `RegistroAnulacion`: an invoice annulled.
    Anulacion,
}

impl Operation {
    /// AEAT's word for it, as in `TipoOperacion`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alta => "Alta",
            Self::Anulacion => "Anulacion",
        }
    }
}

/// What AEAT tells invoices apart by: issuer, number and date of issue.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct InvoiceKey {
    /// NIF of the issuer.
    pub issuer: String,
    /// Series and number.
    pub number: String,
    /// Date of issue, `dd-mm-yyyy` as received.
    pub issued: String,
}

/// What AEAT tells chains apart by, together with the issuer: the producer of the system, the
/// system and its installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SystemKey {
    pub(crate) producer: String,
    pub(crate) system: String,
    pub(crate) installation: String,
}

/// A record whose structure has been checked. Values are those received, trimmed; an element that
/// is absent reads as an empty text.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) operation: Operation,
    pub(crate) element: &'a Element,
}

impl<'a> Record<'a> {
    /// The record inside a `RegistroFactura`.
    pub(crate) fn of(wrapper: &'a Element) -> Option<Self> {
        let element = wrapper.children.first()?;
        let operation = match element.name.as_str() {
            "RegistroAlta" => Operation::Alta,
            "RegistroAnulacion" => Operation::Anulacion,
            _ => return None,
        };
        Some(Self { operation, element })
    }

    pub(crate) fn node(self) -> &'static Node {
        match self.operation {
            Operation::Alta => &schema::RECORD_ALTA,
            Operation::Anulacion => &schema::RECORD_ANULACION,
        }
    }

    pub(crate) fn at(self, path: &str) -> Option<&'a Element> {
        self.element.at(path)
    }

    pub(crate) fn text(self, path: &str) -> &'a str {
        self.element.text_at(path).unwrap_or_default()
    }

    pub(crate) fn is_alta(self) -> bool {
        self.operation == Operation::Alta
    }

    pub(crate) fn issuer(self) -> &'a str {
        match self.operation {
            Operation::Alta => self.text("IDFactura/IDEmisorFactura"),
            Operation::Anulacion => self.text("IDFactura/IDEmisorFacturaAnulada"),
        }
    }

    pub(crate) fn number(self) -> &'a str {
        match self.operation {
            Operation::Alta => self.text("IDFactura/NumSerieFactura"),
            Operation::Anulacion => self.text("IDFactura/NumSerieFacturaAnulada"),
        }
    }

    pub(crate) fn issued_text(self) -> &'a str {
        match self.operation {
            Operation::Alta => self.text("IDFactura/FechaExpedicionFactura"),
            Operation::Anulacion => self.text("IDFactura/FechaExpedicionFacturaAnulada"),
        }
    }

    pub(crate) fn issued(self) -> Option<Date> {
        civil_date(self.issued_text())
    }

    /// The day of the operation, else that of issue.
    pub(crate) fn operated(self) -> Option<Date> {
        civil_date(self.text("FechaOperacion")).or_else(|| self.issued())
    }

    pub(crate) fn key(self) -> InvoiceKey {
        InvoiceKey {
            issuer: self.issuer().to_owned(),
            number: self.number().to_owned(),
            issued: self.issued_text().to_owned(),
        }
    }

    pub(crate) fn system(self) -> SystemKey {
        let producer = match self.text("SistemaInformatico/NIF") {
            "" => format!(
                "{} {}",
                self.text("SistemaInformatico/IDOtro/CodigoPais"),
                self.text("SistemaInformatico/IDOtro/ID")
            ),
            nif => nif.to_owned(),
        };
        SystemKey {
            producer,
            system: self.text("SistemaInformatico/IdSistemaInformatico").to_owned(),
            installation: self.text("SistemaInformatico/NumeroInstalacion").to_owned(),
        }
    }

    pub(crate) fn huella(self) -> &'a str {
        self.text("Huella")
    }

    pub(crate) fn previous_huella(self) -> Option<&'a str> {
        self.element.text_at("Encadenamiento/RegistroAnterior/Huella")
    }

    /// The input of the huella (Huella 0.1.2, 4): names and values joined, over the texts as sent.
    pub(crate) fn canonical(self) -> String {
        let previous = self.previous_huella().unwrap_or_default();
        let stamp = self.text("FechaHoraHusoGenRegistro");
        let (issuer, number, issued) = (self.issuer(), self.number(), self.issued_text());
        match self.operation {
            Operation::Alta => format!(
                "IDEmisorFactura={issuer}&NumSerieFactura={number}&FechaExpedicionFactura={issued}\
                 &TipoFactura={}&CuotaTotal={}&ImporteTotal={}\
                 &Huella={previous}&FechaHoraHusoGenRegistro={stamp}",
                self.text("TipoFactura"),
                self.text("CuotaTotal"),
                self.text("ImporteTotal"),
            ),
            Operation::Anulacion => format!(
                "IDEmisorFacturaAnulada={issuer}&NumSerieFacturaAnulada={number}\
                 &FechaExpedicionFacturaAnulada={issued}\
                 &Huella={previous}&FechaHoraHusoGenRegistro={stamp}"
            ),
        }
    }
}

/// SHA-256 of a canonical string, in upper-case hexadecimal.
pub(crate) fn huella_of(canonical: &str) -> String {
    use std::fmt::Write;
    Sha256::digest(canonical.as_bytes()).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02X}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::huella_of;

    /// The examples of AEAT's document on the huella, and of its signature annex.
    #[test]
    fn official_strings_have_the_official_huellas() {
        let cases = [
            (
                "IDEmisorFactura=89890001K&NumSerieFactura=12345678/G33&FechaExpedicionFactura=01-01-2024&TipoFactura=F1&CuotaTotal=12.35&ImporteTotal=123.45&Huella=&FechaHoraHusoGenRegistro=2024-01-01T19:20:30+01:00",
                "3C464DAF61ACB827C65FDA19F352A4E3BDC2C640E9E9FC4CC058073F38F12F60",
            ),
            (
                "IDEmisorFacturaAnulada=89890001K&NumSerieFacturaAnulada=12345679/G34&FechaExpedicionFacturaAnulada=01-01-2024&Huella=F7B94CFD8924EDFF273501B01EE5153E4CE8F259766F88CF6ACB8935802A2B97&FechaHoraHusoGenRegistro=2024-01-01T19:20:40+01:00",
                "177547C0D57AC74748561D054A9CEC14B4C4EA23D1BEFD6F2E69E3A388F90C68",
            ),
            (
                "IDEmisorFactura=89890001K&NumSerieFactura=12345678-G66&FechaExpedicionFactura=03-02-2025&TipoFactura=R3&CuotaTotal=41.4&ImporteTotal=241.4&Huella=C9AF4AF1EF5EBBA700350DE3EEF12C2D355C56AC56F13DB2A25E0031BD2B7ED5&FechaHoraHusoGenRegistro=2025-02-03T14:30:00+01:00",
                "FF954378B64ED331A9B2366AD317D86E9DEC1716B12DD0ACCB172A6DC4C105AA",
            ),
        ];
        for (canonical, huella) in cases {
            assert_eq!(huella_of(canonical), huella);
        }
    }
}
