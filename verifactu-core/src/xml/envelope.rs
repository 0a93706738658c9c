//! The SOAP request of the registration service: envelope, header and up to a thousand records
//! (schema `SuministroLR.xsd`; DR sheet 1).
//!
//! Elements outside the records use default namespaces only: no prefix is in scope where a record
//! begins, so a record's canonical form does not depend on the envelope around it.

use crate::types::{Date, Nif, Text};

use super::writer::Writer;

/// The most records of one message.
pub const MAX_RECORDS: usize = 1000;

/// Who sends, for whom, and under which circumstances.
#[doc(alias = "Cabecera")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The obliged issuer of every record in the message.
    #[doc(alias = "ObligadoEmision")]
    pub issuer: SpanishParty,
    /// The adviser who produced the records on a third party's platform.
    #[doc(alias = "Representante")]
    pub representative: Option<SpanishParty>,
    /// Last day of VERI*FACTU operation; sent when the issuer renounces.
    #[doc(alias = "FechaFinVeriFactu")]
    pub verifactu_end: Option<Date>,
    /// An incident delayed the records.
    #[doc(alias = "Incidencia")]
    pub incident: bool,
}

/// A name with a NIF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanishParty {
    /// Name, as the census has it.
    pub name: Text<120>,
    /// Tax number.
    pub nif: Nif,
}

const OPEN: &str = concat!(
    "<Envelope xmlns=\"http://schemas.xmlsoap.org/soap/envelope/\"><Header></Header><Body>",
    "<RegFactuSistemaFacturacion xmlns=\"https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/SuministroLR.xsd\">",
    "<Cabecera>"
);
const CLOSE: &str = "</RegFactuSistemaFacturacion></Body></Envelope>";

macro_rules! information {
    ($name:literal) => {
        concat!(
            "<",
            $name,
            " xmlns=\"https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/SuministroInformacion.xsd\">"
        )
    };
}

/// Writes a message around records that are XML already, in the given order.
///
/// The schema wants 1 to [`MAX_RECORDS`] records; the caller sees to it.
#[must_use]
pub fn registration<'a>(header: &Header, records: impl IntoIterator<Item = &'a [u8]> + Clone) -> Vec<u8> {
    let size: usize = records.clone().into_iter().map(|record| record.len() + 40).sum();
    let mut out = Vec::with_capacity(size + 1536);
    open_registration(header, &mut out);
    for record in records {
        out.extend_from_slice(b"<RegistroFactura>");
        out.extend_from_slice(record);
        out.extend_from_slice(b"</RegistroFactura>");
    }
    out.extend_from_slice(CLOSE.as_bytes());
    out
}

fn open_registration(header: &Header, out: &mut Vec<u8>) {
    let mut w = Writer::new(out);
    w.raw(OPEN);
    party(&mut w, information!("ObligadoEmision"), &header.issuer, "</ObligadoEmision>");
    if let Some(representative) = &header.representative {
        party(&mut w, information!("Representante"), representative, "</Representante>");
    }
    if header.verifactu_end.is_some() || header.incident {
        w.raw(information!("RemisionVoluntaria"));
        if let Some(end) = header.verifactu_end {
            w.value("<FechaFinVeriFactu>", |out| end.write_to(out), "</FechaFinVeriFactu>");
        }
        if header.incident {
            w.raw("<Incidencia>S</Incidencia>");
        }
        w.raw("</RemisionVoluntaria>");
    }
    w.raw("</Cabecera>");
}

fn party(w: &mut Writer<'_>, open: &str, party: &SpanishParty, close: &str) {
    w.raw(open);
    w.text("<NombreRazon>", party.name.as_str(), "</NombreRazon>");
    w.text("<NIF>", party.nif.as_str(), "</NIF>");
    w.raw(close);
}
