//! The canonical string that a huella covers (Hash 0.1.2): `name=value` pairs joined by `&`, values
//! as they stand in the XML with the blanks around them removed, nothing escaped.
//!
//! The functions take literals, so that records of any origin can be checked as they were written:
//! `21`, `21.0` and `21.00` are three different strings, and each is right for a record that spells
//! its amount so.

use sha2::{Digest, Sha256};

use crate::types::Huella;

/// The hashed fields of an invoice record, spelled as in its XML.
#[derive(Clone, Copy, Debug)]
pub struct InvoiceFields<'a> {
    /// `IDEmisorFactura`
    pub issuer: &'a str,
    /// `NumSerieFactura`
    pub number: &'a str,
    /// `FechaExpedicionFactura`
    pub date: &'a str,
    /// `TipoFactura`
    pub invoice_type: &'a str,
    /// `CuotaTotal`
    pub tax_total: &'a str,
    /// `ImporteTotal`
    pub total: &'a str,
    /// `Huella` of the record before; empty for the first.
    pub previous: &'a str,
    /// `FechaHoraHusoGenRegistro`
    pub generated_at: &'a str,
}

/// The hashed fields of a cancellation record, spelled as in its XML.
#[derive(Clone, Copy, Debug)]
pub struct CancellationFields<'a> {
    /// `IDEmisorFacturaAnulada`
    pub issuer: &'a str,
    /// `NumSerieFacturaAnulada`
    pub number: &'a str,
    /// `FechaExpedicionFacturaAnulada`
    pub date: &'a str,
    /// `Huella` of the record before; empty for the first.
    pub previous: &'a str,
    /// `FechaHoraHusoGenRegistro`
    pub generated_at: &'a str,
}

/// The hashed fields of an event record, spelled as in its XML. Of `producer_nif` and `producer_id`
/// one is empty.
#[derive(Clone, Copy, Debug)]
pub struct EventFields<'a> {
    /// `SistemaInformatico/NIF`
    pub producer_nif: &'a str,
    /// `SistemaInformatico/IDOtro/ID`
    pub producer_id: &'a str,
    /// `IdSistemaInformatico`
    pub system: &'a str,
    /// `Version`
    pub version: &'a str,
    /// `NumeroInstalacion`
    pub installation: &'a str,
    /// `ObligadoEmision/NIF`
    pub issuer: &'a str,
    /// `TipoEvento`
    pub event_type: &'a str,
    /// `HuellaEvento` of the event before; empty for the first.
    pub previous: &'a str,
    /// `FechaHoraHusoGenEvento`
    pub generated_at: &'a str,
}

/// Fields that have a canonical string.
pub trait Canonical {
    /// Appends the canonical string to a buffer.
    fn write_canonical(&self, out: &mut Vec<u8>);

    /// The canonical string.
    fn canonical(&self) -> String {
        let mut out = Vec::with_capacity(320);
        self.write_canonical(&mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    /// The huella: SHA-256 of the canonical string.
    fn huella(&self) -> Huella {
        let mut out = Vec::with_capacity(320);
        self.write_canonical(&mut out);
        huella_of(&out)
    }
}

/// SHA-256 of a canonical string, spelled in upper-case hexadecimal digits.
#[must_use]
pub fn huella_of(canonical: &[u8]) -> Huella {
    Huella::from_digest(Sha256::digest(canonical).into())
}

fn pairs<const N: usize>(pairs: [(&str, &str); N], out: &mut Vec<u8>) {
    for (index, (name, value)) in pairs.into_iter().enumerate() {
        if index > 0 {
            out.push(b'&');
        }
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        // Java's trim, which the authority's description names, removes everything up to the blank.
        out.extend_from_slice(value.trim_matches(|c| c <= ' ').as_bytes());
    }
}

impl Canonical for InvoiceFields<'_> {
    fn write_canonical(&self, out: &mut Vec<u8>) {
        pairs(
            [
                ("IDEmisorFactura", self.issuer),
                ("NumSerieFactura", self.number),
                ("FechaExpedicionFactura", self.date),
                ("TipoFactura", self.invoice_type),
                ("CuotaTotal", self.tax_total),
                ("ImporteTotal", self.total),
                ("Huella", self.previous),
                ("FechaHoraHusoGenRegistro", self.generated_at),
            ],
            out,
        );
    }
}

impl Canonical for CancellationFields<'_> {
    fn write_canonical(&self, out: &mut Vec<u8>) {
        pairs(
            [
                ("IDEmisorFacturaAnulada", self.issuer),
                ("NumSerieFacturaAnulada", self.number),
                ("FechaExpedicionFacturaAnulada", self.date),
                ("Huella", self.previous),
                ("FechaHoraHusoGenRegistro", self.generated_at),
            ],
            out,
        );
    }
}

impl Canonical for EventFields<'_> {
    fn write_canonical(&self, out: &mut Vec<u8>) {
        pairs(
            [
                ("NIF", self.producer_nif),
                ("ID", self.producer_id),
                ("IdSistemaInformatico", self.system),
                ("Version", self.version),
                ("NumeroInstalacion", self.installation),
                ("NIF", self.issuer),
                ("TipoEvento", self.event_type),
                ("HuellaEvento", self.previous),
                ("FechaHoraHusoGenEvento", self.generated_at),
            ],
            out,
        );
    }
}
