//! What the authority answers: the result of a registration, the rows of a query, the result of a check
//! of NIFs, or a fault.
//!
//! An answer that lacks what the schema demands, or uses a value that its lists do not know, is not
//! read in part: a record whose outcome is unclear must be found out, not guessed. Three things are
//! let pass because no outcome hangs on them: elements that are not known yet, a wait that is not a
//! number of seconds, and a time of presentation that is not an instant. Error codes are kept as the
//! numbers they are (`RespuestaSuministro.xsd`, SWeb 6.4.4).

use std::{borrow::Cow, ops::Range};

use jiff::Timestamp;

use crate::{
    job::{RecordOutcome, SubmissionOutcome},
    record::{PriorRejection, RecordKind},
};

use super::{
    fault::{self, Fault},
    nif_check::{self, NifCheckAnswer},
    query::QueryAnswer,
    reader::{Name, Ns, ReadError, Reader},
};

/// Most lines of one answer: the records that one message can carry.
pub const MAX_LINES: usize = 1000;

/// A document of the authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The message was processed; each record has its own outcome.
    #[doc(alias = "RespuestaRegFactuSistemaFacturacion")]
    Registration(RegistrationAnswer),
    /// Rows of a query.
    #[doc(alias = "RespuestaConsultaFactuSistemaFacturacion")]
    Query(QueryAnswer),
    /// What the census knows.
    #[doc(alias = "VNifV2Sal")]
    NifCheck(NifCheckAnswer),
    /// The whole message was refused.
    Fault(Fault),
}

/// The result of a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationAnswer {
    /// The receipt of the submission. None if every record was rejected. It cannot be asked for later.
    #[doc(alias = "CSV")]
    pub csv: Option<String>,
    /// Whose certificate presented it.
    #[doc(alias = "NIFPresentador")]
    pub presenter: Option<String>,
    /// When, by the authority's clock.
    #[doc(alias = "TimestampPresentacion")]
    pub presented_at: Option<Timestamp>,
    /// Seconds to wait before the next submission; none keeps the last wait.
    #[doc(alias = "TiempoEsperaEnvio")]
    pub wait: Option<u32>,
    /// The submission as a whole. Never decide on a record by it.
    #[doc(alias = "EstadoEnvio")]
    pub state: SubmissionOutcome,
    /// The records, in no promised order; at most [`MAX_LINES`].
    #[doc(alias = "RespuestaLinea")]
    pub lines: Vec<AnswerLine>,
}

/// The outcome of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerLine {
    /// The invoice.
    #[doc(alias = "IDFactura")]
    pub invoice: InvoiceKey,
    /// What was asked for it.
    #[doc(alias = "Operacion")]
    pub operation: Operation,
    /// The sender's own reference.
    #[doc(alias = "RefExterna")]
    pub external_reference: Option<String>,
    /// The outcome.
    #[doc(alias = "EstadoRegistro")]
    pub state: RecordOutcome,
    /// The error's number, also one that no table knows.
    #[doc(alias = "CodigoErrorRegistro")]
    pub code: Option<i64>,
    /// The error's text, with the values that the authority put in.
    #[doc(alias = "DescripcionErrorRegistro")]
    pub description: Option<String>,
    /// What the authority holds already, if the record was refused as a duplicate.
    #[doc(alias = "RegistroDuplicado")]
    pub duplicate: Option<Duplicate>,
    /// Where the line stands in the document, from its first `<` to its last `>`.
    pub bytes: Range<usize>,
}

/// The key of an invoice in the authority's words, trimmed: it may echo what was never valid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct InvoiceKey {
    /// NIF of the issuer.
    #[doc(alias = "IDEmisorFactura")]
    pub issuer: String,
    /// Series and number.
    #[doc(alias = "NumSerieFactura")]
    pub number: String,
    /// Date of issue, `DD-MM-YYYY`.
    #[doc(alias = "FechaExpedicionFactura")]
    pub date: String,
}

/// The operation that a line answers, with the flags it was sent with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Alta or anulación.
    #[doc(alias = "TipoOperacion")]
    pub kind: RecordKind,
    /// `Subsanacion`.
    #[doc(alias = "Subsanacion")]
    pub corrects: Option<bool>,
    /// `RechazoPrevio`.
    #[doc(alias = "RechazoPrevio")]
    pub prior_rejection: Option<PriorRejection>,
    /// `SinRegistroPrevio`.
    #[doc(alias = "SinRegistroPrevio")]
    pub without_prior_record: Option<bool>,
}

/// State of a record that the authority holds. Duplicates tell it in the feminine (L21), queries in
/// the masculine; both are read everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoredState {
    /// Without errors.
    #[doc(alias = "Correcta")]
    Accepted,
    /// With errors.
    #[doc(alias = "AceptadaConErrores")]
    AcceptedWithErrors,
    /// Cancelled.
    #[doc(alias = "Anulada")]
    Cancelled,
}

/// The record that the authority holds in place of one it refused as a duplicate (code 3000). It
/// has no huella, so it proves only that the invoice's key exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The request that stored it.
    #[doc(alias = "IdPeticionRegistroDuplicado")]
    pub request_id: String,
    /// Its state.
    #[doc(alias = "EstadoRegistroDuplicado")]
    pub state: StoredState,
    /// The number of its error.
    pub code: Option<i64>,
    /// The text of its error.
    pub description: Option<String>,
}

/// Reads a document of the authority, whatever the HTTP status it came with.
///
/// # Errors
/// [`ReadError`] if it is not one whole, valid document of the service.
pub fn read(document: &[u8]) -> Result<Reply, ReadError> {
    let mut reader = Reader::new(document)?;
    if !reader.root()?.is(Ns::Soap, "Envelope") {
        return Err(ReadError::Unexpected { expected: "a SOAP envelope" });
    }
    let mut reply = None;
    while let Some(part) = reader.child()? {
        if part.is(Ns::Soap, "Body") {
            while let Some(message) = reader.child()? {
                let message = match (message.ns, message.local) {
                    (Ns::RegistrationAnswer, "RespuestaRegFactuSistemaFacturacion") => {
                        Reply::Registration(registration(&mut reader)?)
                    }
                    (Ns::QueryAnswer, "RespuestaConsultaFactuSistemaFacturacion") => {
                        Reply::Query(QueryAnswer::read(&mut reader)?)
                    }
                    (Ns::NifCheckAnswer, "VNifV2Sal") => Reply::NifCheck(nif_check::read(&mut reader)?),
                    (Ns::Soap, "Fault") => Reply::Fault(fault::read(&mut reader)?),
                    _ => return Err(ReadError::Unexpected { expected: "an answer or a fault" }),
                };
                once(&mut reply, message, "the message in Body")?;
            }
        } else {
            reader.skip()?;
        }
    }
    reader.finish()?;
    reply.ok_or(ReadError::Missing("the message in Body"))
}

fn registration(reader: &mut Reader<'_>) -> Result<RegistrationAnswer, ReadError> {
    let (mut csv, mut wait, mut state) = (None, None, None);
    let (mut presenter, mut presented_at) = (None, None);
    let mut lines = Vec::new();
    while let Some(part) = reader.child()? {
        match (part.ns, part.local) {
            (Ns::RegistrationAnswer, "RespuestaLinea") => {
                if lines.len() == MAX_LINES {
                    return Err(ReadError::TooMany("RespuestaLinea"));
                }
                lines.push(line(reader, part)?);
            }
            (Ns::RegistrationAnswer, "CSV") => once(&mut csv, optional(reader)?, "CSV")?,
            (Ns::RegistrationAnswer, "TiempoEsperaEnvio") => wait = seconds(&reader.text()?),
            (Ns::RegistrationAnswer, "EstadoEnvio") => {
                let value = match &*reader.text()? {
                    "Correcto" => SubmissionOutcome::Accepted,
                    "ParcialmenteCorrecto" => SubmissionOutcome::PartlyAccepted,
                    "Incorrecto" => SubmissionOutcome::Rejected,
                    _ => return Err(ReadError::Value("EstadoEnvio")),
                };
                once(&mut state, value, "EstadoEnvio")?;
            }
            (Ns::RegistrationAnswer, "DatosPresentacion") => {
                while let Some(part) = reader.child()? {
                    match (part.ns, part.local) {
                        (Ns::Information, "NIFPresentador") => presenter = optional(reader)?,
                        (Ns::Information, "TimestampPresentacion") => {
                            presented_at = reader.text()?.parse().ok();
                        }
                        _ => reader.skip()?,
                    }
                }
            }
            _ => reader.skip()?,
        }
    }
    let state = state.ok_or(ReadError::Missing("EstadoEnvio"))?;
    Ok(RegistrationAnswer { csv: csv.flatten(), presenter, presented_at, wait, state, lines })
}

fn line(reader: &mut Reader<'_>, line: Name<'_>) -> Result<AnswerLine, ReadError> {
    let (mut invoice, mut operation, mut state) = (None, None, None);
    let (mut external_reference, mut code, mut description, mut duplicate) = (None, None, None, None);
    while let Some(part) = reader.child()? {
        if part.ns != Ns::RegistrationAnswer {
            reader.skip()?;
            continue;
        }
        match part.local {
            "IDFactura" => once(&mut invoice, invoice_key(reader)?, "IDFactura")?,
            "Operacion" => once(&mut operation, read_operation(reader)?, "Operacion")?,
            "RefExterna" => external_reference = optional(reader)?,
            "EstadoRegistro" => {
                let value = match &*reader.text()? {
                    "Correcto" | "Correcta" => RecordOutcome::Accepted,
                    "AceptadoConErrores" | "AceptadaConErrores" => RecordOutcome::AcceptedWithErrors,
                    "Incorrecto" | "Incorrecta" => RecordOutcome::Rejected,
                    _ => return Err(ReadError::Value("EstadoRegistro")),
                };
                once(&mut state, value, "EstadoRegistro")?;
            }
            "CodigoErrorRegistro" => code = error_code(reader)?,
            "DescripcionErrorRegistro" => description = optional(reader)?,
            "RegistroDuplicado" => once(&mut duplicate, read_duplicate(reader)?, "RegistroDuplicado")?,
            _ => reader.skip()?,
        }
    }
    Ok(AnswerLine {
        invoice: invoice.ok_or(ReadError::Missing("IDFactura"))?,
        operation: operation.ok_or(ReadError::Missing("Operacion"))?,
        external_reference,
        state: state.ok_or(ReadError::Missing("EstadoRegistro"))?,
        code,
        description,
        duplicate,
        bytes: line.start..reader.position(),
    })
}

/// Three children of [`Ns::Information`], under the names of an alta.
pub(super) fn invoice_key(reader: &mut Reader<'_>) -> Result<InvoiceKey, ReadError> {
    let (mut issuer, mut number, mut date) = (None, None, None);
    while let Some(part) = reader.child()? {
        match (part.ns, part.local) {
            (Ns::Information, "IDEmisorFactura") => issuer = Some(owned(reader)?),
            (Ns::Information, "NumSerieFactura") => number = Some(owned(reader)?),
            (Ns::Information, "FechaExpedicionFactura") => date = Some(owned(reader)?),
            _ => reader.skip()?,
        }
    }
    Ok(InvoiceKey {
        issuer: issuer.ok_or(ReadError::Missing("IDEmisorFactura"))?,
        number: number.ok_or(ReadError::Missing("NumSerieFactura"))?,
        date: date.ok_or(ReadError::Missing("FechaExpedicionFactura"))?,
    })
}

fn read_operation(reader: &mut Reader<'_>) -> Result<Operation, ReadError> {
    let mut kind = None;
    let (mut corrects, mut prior_rejection, mut without_prior_record) = (None, None, None);
    while let Some(part) = reader.child()? {
        match (part.ns, part.local) {
            (Ns::Information, "TipoOperacion") => {
                let value = match &*reader.text()? {
                    "Alta" => RecordKind::Invoice,
                    "Anulacion" => RecordKind::Cancellation,
                    _ => return Err(ReadError::Value("TipoOperacion")),
                };
                once(&mut kind, value, "TipoOperacion")?;
            }
            (Ns::Information, "Subsanacion") => corrects = yes_no(&reader.text()?),
            (Ns::Information, "RechazoPrevio") => {
                prior_rejection = PriorRejection::from_code(&reader.text()?);
            }
            (Ns::Information, "SinRegistroPrevio") => without_prior_record = yes_no(&reader.text()?),
            _ => reader.skip()?,
        }
    }
    let kind = kind.ok_or(ReadError::Missing("TipoOperacion"))?;
    Ok(Operation { kind, corrects, prior_rejection, without_prior_record })
}

fn read_duplicate(reader: &mut Reader<'_>) -> Result<Duplicate, ReadError> {
    let (mut request_id, mut state, mut code, mut description) = (None, None, None, None);
    while let Some(part) = reader.child()? {
        match (part.ns, part.local) {
            (Ns::Information, "IdPeticionRegistroDuplicado") => request_id = Some(owned(reader)?),
            (Ns::Information, "EstadoRegistroDuplicado") => {
                let value = stored_state(&reader.text()?, "EstadoRegistroDuplicado")?;
                once(&mut state, value, "EstadoRegistroDuplicado")?;
            }
            (Ns::Information, "CodigoErrorRegistro") => code = error_code(reader)?,
            (Ns::Information, "DescripcionErrorRegistro") => description = optional(reader)?,
            _ => reader.skip()?,
        }
    }
    Ok(Duplicate {
        request_id: request_id.ok_or(ReadError::Missing("IdPeticionRegistroDuplicado"))?,
        state: state.ok_or(ReadError::Missing("EstadoRegistroDuplicado"))?,
        code,
        description,
    })
}

/// A part that occurs once at most: two of them could contradict each other.
pub(super) fn once<T>(slot: &mut Option<T>, value: T, what: &'static str) -> Result<(), ReadError> {
    if slot.replace(value).is_some() { Err(ReadError::TooMany(what)) } else { Ok(()) }
}

pub(super) fn owned(reader: &mut Reader<'_>) -> Result<String, ReadError> {
    reader.text().map(Cow::into_owned)
}

/// A text, or none if it is empty.
pub(super) fn optional(reader: &mut Reader<'_>) -> Result<Option<String>, ReadError> {
    let text = reader.text()?;
    Ok(if text.is_empty() { None } else { Some(text.into_owned()) })
}

pub(super) fn error_code(reader: &mut Reader<'_>) -> Result<Option<i64>, ReadError> {
    let text = reader.text()?;
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| ReadError::Value("CodigoErrorRegistro"))
}

pub(super) fn yes_no(text: &str) -> Option<bool> {
    match text {
        "S" => Some(true),
        "N" => Some(false),
        _ => None,
    }
}

pub(super) fn stored_state(text: &str, what: &'static str) -> Result<StoredState, ReadError> {
    match text {
        "Correcto" | "Correcta" => Ok(StoredState::Accepted),
        "AceptadoConErrores" | "AceptadaConErrores" => Ok(StoredState::AcceptedWithErrors),
        "Anulado" | "Anulada" => Ok(StoredState::Cancelled),
        _ => Err(ReadError::Value(what)),
    }
}

/// `Tipo6Type`: up to four digits, maybe none.
fn seconds(text: &str) -> Option<u32> {
    (text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}
