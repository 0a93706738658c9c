//! The rows of a query.
//!
//! A row is the present state of one invoice, not a log: a correction replaces what was there, a
//! cancellation turns it to cancelled. Its values are normalised by the authority (`21.00` comes
//! back as `21`, `+00:00` as `Z`), so a huella is compared with a row's and never recomputed from it.

use std::ops::Range;

use jiff::Timestamp;

use crate::{
    record::PriorRejection,
    xml::{
        answer::{
            InvoiceKey, StoredState, error_code, invoice_key, once, optional, owned, stored_state, yes_no,
        },
        reader::{Name, Ns, ReadError, Reader},
    },
};

/// Most rows of one answer (`RespuestaConsultaLR.xsd`).
pub const MAX_ROWS: usize = 10_000;

/// One page of a query.
#[doc(alias = "RespuestaConsultaFactuSistemaFacturacion")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryAnswer {
    /// The rows, by time of presentation and not by place in a chain; at most [`MAX_ROWS`].
    #[doc(alias = "RegistroRespuestaConsultaFactuSistemaFacturacion")]
    pub rows: Vec<QueryRow>,
    /// Whether there are more.
    #[doc(alias = "IndicadorPaginacion")]
    pub paging: Paging,
}

/// Whether a query has further pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paging {
    /// No.
    Last,
    /// Yes: ask again [`after`](super::Query::after) this key.
    #[doc(alias = "ClavePaginacion")]
    More(InvoiceKey),
}

/// The present state of one invoice at the authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryRow {
    /// The invoice.
    #[doc(alias = "IDFactura")]
    pub invoice: InvoiceKey,
    /// The state.
    #[doc(alias = "EstadoRegistro")]
    pub state: StoredState,
    /// The number of its error.
    #[doc(alias = "CodigoErrorRegistro")]
    pub code: Option<i64>,
    /// The text of its error.
    #[doc(alias = "DescripcionErrorRegistro")]
    pub description: Option<String>,
    /// When the state last changed.
    #[doc(alias = "TimestampUltimaModificacion")]
    pub modified_at: Option<Timestamp>,
    /// The huella of the record held.
    #[doc(alias = "Huella")]
    pub huella: Option<String>,
    /// Its tie to the record before it; none if the authority does not tell.
    #[doc(alias = "Encadenamiento")]
    pub link: Option<StoredLink>,
    /// Type of invoice; a cancellation that came without prior record has none.
    #[doc(alias = "TipoFactura")]
    pub invoice_type: Option<String>,
    /// The total, normalised.
    #[doc(alias = "ImporteTotal")]
    pub total: Option<String>,
    /// When the record was generated, normalised.
    #[doc(alias = "FechaHoraHusoGenRegistro")]
    pub generated_at: Option<String>,
    /// The sender's own reference.
    #[doc(alias = "RefExterna")]
    pub external_reference: Option<String>,
    /// `Subsanacion`.
    #[doc(alias = "Subsanacion")]
    pub corrects: Option<bool>,
    /// `RechazoPrevio`.
    #[doc(alias = "RechazoPrevio")]
    pub prior_rejection: Option<PriorRejection>,
    /// `SinRegistroPrevio`.
    #[doc(alias = "SinRegistroPrevio")]
    pub without_prior_record: Option<bool>,
    /// The request that stored it.
    #[doc(alias = "IdPeticion")]
    pub request_id: Option<String>,
    /// Whose certificate presented it.
    #[doc(alias = "NIFPresentador")]
    pub presenter: Option<String>,
    /// When.
    #[doc(alias = "TimestampPresentacion")]
    pub presented_at: Option<Timestamp>,
    /// Where the row stands in the document, from its first `<` to its last `>`.
    pub bytes: Range<usize>,
}

/// A stored record's tie to the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredLink {
    /// It was sent as the first of its chain.
    #[doc(alias = "PrimerRegistro")]
    First,
    /// Any other.
    #[doc(alias = "RegistroAnterior")]
    Previous {
        /// The invoice of the record before.
        invoice: InvoiceKey,
        /// Its huella.
        huella: String,
    },
}

impl QueryAnswer {
    pub(in crate::xml) fn read(reader: &mut Reader<'_>) -> Result<Self, ReadError> {
        let (mut more, mut key) = (None, None);
        let mut rows = Vec::new();
        while let Some(part) = reader.child()? {
            if part.ns != Ns::QueryAnswer {
                reader.skip()?;
                continue;
            }
            match part.local {
                "RegistroRespuestaConsultaFactuSistemaFacturacion" => {
                    if rows.len() == MAX_ROWS {
                        return Err(ReadError::TooMany("RegistroRespuestaConsultaFactuSistemaFacturacion"));
                    }
                    rows.push(row(reader, part)?);
                }
                "IndicadorPaginacion" => {
                    let value = yes_no(&reader.text()?).ok_or(ReadError::Value("IndicadorPaginacion"))?;
                    once(&mut more, value, "IndicadorPaginacion")?;
                }
                "ClavePaginacion" => once(&mut key, invoice_key(reader)?, "ClavePaginacion")?,
                _ => reader.skip()?,
            }
        }
        let paging = match (more, key) {
            (None, _) => return Err(ReadError::Missing("IndicadorPaginacion")),
            (Some(false), _) => Paging::Last,
            (Some(true), Some(key)) => Paging::More(key),
            (Some(true), None) => return Err(ReadError::Missing("ClavePaginacion")),
        };
        Ok(Self { rows, paging })
    }
}

/// What is read of a row, in the order the parts come.
#[derive(Default)]
struct Parts {
    huella: Option<String>,
    link: Option<StoredLink>,
    invoice_type: Option<String>,
    total: Option<String>,
    generated_at: Option<String>,
    external_reference: Option<String>,
    corrects: Option<bool>,
    prior_rejection: Option<PriorRejection>,
    without_prior_record: Option<bool>,
    request_id: Option<String>,
    presenter: Option<String>,
    presented_at: Option<Timestamp>,
    state: Option<StoredState>,
    code: Option<i64>,
    description: Option<String>,
    modified_at: Option<Timestamp>,
}

fn row(reader: &mut Reader<'_>, row: Name<'_>) -> Result<QueryRow, ReadError> {
    let mut invoice = None;
    let mut parts = Parts::default();
    while let Some(part) = reader.child()? {
        match (part.ns, part.local) {
            (Ns::QueryAnswer, "IDFactura") => once(&mut invoice, invoice_key(reader)?, "IDFactura")?,
            (Ns::QueryAnswer, "DatosRegistroFacturacion") => data(reader, &mut parts)?,
            (Ns::QueryAnswer, "DatosPresentacion") => presentation(reader, &mut parts)?,
            (Ns::QueryAnswer, "EstadoRegistro") => state(reader, &mut parts)?,
            _ => reader.skip()?,
        }
    }
    Ok(QueryRow {
        invoice: invoice.ok_or(ReadError::Missing("IDFactura"))?,
        state: parts.state.ok_or(ReadError::Missing("EstadoRegistro"))?,
        code: parts.code,
        description: parts.description,
        modified_at: parts.modified_at,
        huella: parts.huella,
        link: parts.link,
        invoice_type: parts.invoice_type,
        total: parts.total,
        generated_at: parts.generated_at,
        external_reference: parts.external_reference,
        corrects: parts.corrects,
        prior_rejection: parts.prior_rejection,
        without_prior_record: parts.without_prior_record,
        request_id: parts.request_id,
        presenter: parts.presenter,
        presented_at: parts.presented_at,
        bytes: row.start..reader.position(),
    })
}

fn data(reader: &mut Reader<'_>, parts: &mut Parts) -> Result<(), ReadError> {
    while let Some(part) = reader.child()? {
        if part.ns != Ns::QueryAnswer {
            reader.skip()?;
            continue;
        }
        match part.local {
            "RefExterna" => parts.external_reference = optional(reader)?,
            "Subsanacion" => parts.corrects = yes_no(&reader.text()?),
            "RechazoPrevio" => parts.prior_rejection = PriorRejection::from_code(&reader.text()?),
            "SinRegistroPrevio" => parts.without_prior_record = yes_no(&reader.text()?),
            "TipoFactura" => parts.invoice_type = optional(reader)?,
            "ImporteTotal" => parts.total = optional(reader)?,
            "Encadenamiento" => parts.link = link(reader)?,
            "FechaHoraHusoGenRegistro" => parts.generated_at = optional(reader)?,
            "Huella" => {
                if let Some(huella) = optional(reader)? {
                    once(&mut parts.huella, huella, "Huella")?;
                }
            }
            _ => reader.skip()?,
        }
    }
    Ok(())
}

fn link(reader: &mut Reader<'_>) -> Result<Option<StoredLink>, ReadError> {
    let mut link = None;
    while let Some(part) = reader.child()? {
        match (part.ns, part.local) {
            (Ns::QueryAnswer, "PrimerRegistro") => {
                reader.skip()?;
                once(&mut link, StoredLink::First, "Encadenamiento")?;
            }
            (Ns::QueryAnswer, "RegistroAnterior") => {
                once(&mut link, previous(reader)?, "Encadenamiento")?;
            }
            _ => reader.skip()?,
        }
    }
    Ok(link)
}

/// The schema lets the number of the record before be empty, so its parts default to nothing.
fn previous(reader: &mut Reader<'_>) -> Result<StoredLink, ReadError> {
    let (mut invoice, mut huella) = (InvoiceKey::default(), String::new());
    while let Some(part) = reader.child()? {
        match (part.ns, part.local) {
            (Ns::Information, "IDEmisorFactura") => invoice.issuer = owned(reader)?,
            (Ns::Information, "NumSerieFactura") => invoice.number = owned(reader)?,
            (Ns::Information, "FechaExpedicionFactura") => invoice.date = owned(reader)?,
            (Ns::Information, "Huella") => huella = owned(reader)?,
            _ => reader.skip()?,
        }
    }
    Ok(StoredLink::Previous { invoice, huella })
}

fn presentation(reader: &mut Reader<'_>, parts: &mut Parts) -> Result<(), ReadError> {
    while let Some(part) = reader.child()? {
        match (part.ns, part.local) {
            (Ns::Information, "NIFPresentador") => parts.presenter = optional(reader)?,
            (Ns::Information, "TimestampPresentacion") => parts.presented_at = reader.text()?.parse().ok(),
            (Ns::Information, "IdPeticion") => parts.request_id = optional(reader)?,
            _ => reader.skip()?,
        }
    }
    Ok(())
}

/// Two elements are called `EstadoRegistro`: this one, and the state inside it.
fn state(reader: &mut Reader<'_>, parts: &mut Parts) -> Result<(), ReadError> {
    while let Some(part) = reader.child()? {
        match (part.ns, part.local) {
            (Ns::QueryAnswer, "TimestampUltimaModificacion") => {
                parts.modified_at = reader.text()?.parse().ok();
            }
            (Ns::QueryAnswer, "EstadoRegistro") => {
                let value = stored_state(&reader.text()?, "EstadoRegistro")?;
                once(&mut parts.state, value, "EstadoRegistro")?;
            }
            (Ns::QueryAnswer, "CodigoErrorRegistro") => parts.code = error_code(reader)?,
            (Ns::QueryAnswer, "DescripcionErrorRegistro") => parts.description = optional(reader)?,
            _ => reader.skip()?,
        }
    }
    Ok(())
}
