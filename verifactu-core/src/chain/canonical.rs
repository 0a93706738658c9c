//! The canonical string that a huella covers (Hash 0.1.2): `name=value` pairs joined by `&`, values
//! as they stand in the XML with the blanks around them removed, nothing escaped.
//!
//! The functions take literals, so that records of any origin can be checked as they were written:
//! `21`, `21.0` and `21.00` are three different strings, and each is right for a record that spells
//! its amount so.

use sha2::{Digest, Sha256};

use crate::types::{Amount, Date, Huella, Nif};

/// The hashed fields of an invoice record: literals spelled as in its XML, or values of the model,
/// which are spelled here as they are in the XML that we write.
#[derive(Clone, Copy, Debug)]
pub struct InvoiceFields<'a, I = &'a str, D = &'a str, A = &'a str, H = &'a str> {
    /// `IDEmisorFactura`
    pub issuer: I,
    /// `NumSerieFactura`
    pub number: &'a str,
    /// `FechaExpedicionFactura`
    pub date: D,
    /// `TipoFactura`
    pub invoice_type: &'a str,
    /// `CuotaTotal`
    pub tax_total: A,
    /// `ImporteTotal`
    pub total: A,
    /// `Huella` of the record before; empty for the first.
    pub previous: H,
    /// `FechaHoraHusoGenRegistro`
    pub generated_at: &'a str,
}

/// The hashed fields of a cancellation record, as those of an [invoice record](InvoiceFields).
#[derive(Clone, Copy, Debug)]
pub struct CancellationFields<'a, I = &'a str, D = &'a str, H = &'a str> {
    /// `IDEmisorFacturaAnulada`
    pub issuer: I,
    /// `NumSerieFacturaAnulada`
    pub number: &'a str,
    /// `FechaExpedicionFacturaAnulada`
    pub date: D,
    /// `Huella` of the record before; empty for the first.
    pub previous: H,
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

/// A value as it stands in a canonical string: a literal, or a value of the model.
pub trait CanonicalValue {
    /// Appends its text, without blanks around it.
    fn write_value(&self, out: &mut Vec<u8>);
}

/// Java's trim, which the authority's description names, removes everything up to the blank.
impl CanonicalValue for &str {
    fn write_value(&self, out: &mut Vec<u8>) {
        let mut bytes = self.as_bytes();
        while let [0..=b' ', rest @ ..] | [rest @ .., 0..=b' '] = bytes {
            bytes = rest;
        }
        out.extend_from_slice(bytes);
    }
}

impl CanonicalValue for &Nif {
    fn write_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }
}

/// The huella of the record before; none for the first record.
impl CanonicalValue for Option<&Huella> {
    fn write_value(&self, out: &mut Vec<u8>) {
        if let Some(huella) = self {
            out.extend_from_slice(huella.as_bytes());
        }
    }
}

impl CanonicalValue for Date {
    fn write_value(&self, out: &mut Vec<u8>) {
        self.write_to(out);
    }
}

impl CanonicalValue for Amount {
    fn write_value(&self, out: &mut Vec<u8>) {
        self.write_to(out);
    }
}

/// Appends pairs; each name is written with what stands around it, in one copy.
macro_rules! pairs {
    ($out:ident, $($name:literal $value:expr,)+) => {
        $($out.extend_from_slice($name); $value.write_value($out);)+
    };
}

impl<I, D, A, H> Canonical for InvoiceFields<'_, I, D, A, H>
where
    I: CanonicalValue,
    D: CanonicalValue,
    A: CanonicalValue,
    H: CanonicalValue,
{
    #[inline]
    fn write_canonical(&self, out: &mut Vec<u8>) {
        pairs! { out,
            b"IDEmisorFactura=" self.issuer,
            b"&NumSerieFactura=" self.number,
            b"&FechaExpedicionFactura=" self.date,
            b"&TipoFactura=" self.invoice_type,
            b"&CuotaTotal=" self.tax_total,
            b"&ImporteTotal=" self.total,
            b"&Huella=" self.previous,
            b"&FechaHoraHusoGenRegistro=" self.generated_at,
        }
    }
}

impl<I, D, H> Canonical for CancellationFields<'_, I, D, H>
where
    I: CanonicalValue,
    D: CanonicalValue,
    H: CanonicalValue,
{
    fn write_canonical(&self, out: &mut Vec<u8>) {
        pairs! { out,
            b"IDEmisorFacturaAnulada=" self.issuer,
            b"&NumSerieFacturaAnulada=" self.number,
            b"&FechaExpedicionFacturaAnulada=" self.date,
            b"&Huella=" self.previous,
            b"&FechaHoraHusoGenRegistro=" self.generated_at,
        }
    }
}

impl Canonical for EventFields<'_> {
    fn write_canonical(&self, out: &mut Vec<u8>) {
        pairs! { out,
            b"NIF=" self.producer_nif,
            b"&ID=" self.producer_id,
            b"&IdSistemaInformatico=" self.system,
            b"&Version=" self.version,
            b"&NumeroInstalacion=" self.installation,
            b"&NIF=" self.issuer,
            b"&TipoEvento=" self.event_type,
            b"&HuellaEvento=" self.previous,
            b"&FechaHoraHusoGenEvento=" self.generated_at,
        }
    }
}
