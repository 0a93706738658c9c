//! A submission and its answer (SWeb 6.4).
//!
//! Structure, header and presenter are judged for the whole message; then every record for itself,
//! in the order sent. All that is registered is committed before the answer exists.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::authority::Authority;
use super::finding::Finding;
use super::header::{self, Recipient};
use super::pki::Presenter;
use super::record::{InvoiceKey, Operation, Record};
use super::refusal::Refusal;
use super::register::{Occasion, register, text_of};
use super::requirement;
use super::rules::Facts;
use super::schema;
use super::store::{Invoice, InvoiceState, Verdict};
use super::xml::{Element, INFORMATION, SUBMISSION_ANSWER, Writer};

const DESCRIPTION_LIMIT: usize = 1500;
const DUPLICATE_DESCRIPTION_LIMIT: usize = 500;

/// A finding that a tester ordered for records, of all numbers or those that contain a text.
#[derive(Clone, Debug)]
pub(crate) struct Forced {
    pub(crate) code: u16,
    pub(crate) number: Option<String>,
}

impl Forced {
    fn finding(&self, record: Record<'_>) -> Option<Finding> {
        let applies = match &self.number {
            None => true,
            Some(part) => record.number().contains(part),
        };
        applies.then(|| Finding::new(self.code))
    }
}

/// Processes the message whose body is `root`.
pub(crate) async fn process(
    authority: &Authority,
    presenter: &Presenter,
    root: Element,
    to: Recipient,
    forced: Option<Forced>,
) -> Result<Answer, Refusal> {
    schema::SUBMISSION.structure(&root)?;
    let settings = authority.settings();
    let wait = settings.wait_seconds;
    let now = authority.clock.now();
    let today = authority.madrid.date(now);
    let root = Arc::new(root);
    if let Some(header) = root.at("Cabecera") {
        header::check(header, presenter, &settings, today, to)?;
    }
    let at = authority.madrid.stamp(now);
    let digits = authority.madrid.digits(now);
    let presenter_nif = presenter.nif().to_owned();
    let message = Arc::clone(&root);
    let written = authority.store.write(move |book| {
        let id_peticion = format!("{digits}{:06}", book.next_request()? % 1_000_000);
        let csv = csv_of(&id_peticion);
        let header = message.at("Cabecera");
        let header_text = header.map(text_of).unwrap_or_default();
        let occasion = Occasion {
            at: &at,
            presenter: &presenter_nif,
            header: &header_text,
            csv: &csv,
            id_peticion: &id_peticion,
        };
        let mut lines = Vec::new();
        for record in message.all("RegistroFactura").filter_map(Record::of) {
            let facts = Facts {
                issuer: message.text_at("Cabecera/ObligadoEmision/NIF").unwrap_or_default(),
                // What a requirement asks for is always of the past.
                incident: to == Recipient::Requirement || header.is_some_and(header::is_incident),
                now,
                today,
                clock_margin: settings.clock_margin_seconds,
                system_has_records: to == Recipient::Voluntary
                    && book.system_has_records(record.issuer(), &record.system())?,
                census: &settings.census,
            };
            let ordered = forced.as_ref().and_then(|forced| forced.finding(record));
            lines.push(match to {
                Recipient::Voluntary => register(book, &facts, &occasion, record, ordered)?,
                Recipient::Requirement => {
                    let reference = header.map(header::requirement).unwrap_or_default();
                    requirement::remit(book, &facts, &occasion, record, reference, ordered)?
                }
            });
        }
        let state = MessageState::of(&lines);
        let outcome = |receipt| Written { lines, state, receipt };
        if state == MessageState::Incorrecto {
            return Ok(Verdict::Discard(outcome(None)));
        }
        let receipt = Receipt { csv, presenter: presenter_nif, at };
        Ok(Verdict::Keep(outcome(Some(receipt))))
    });
    let Written { lines, state, receipt } = written.await?;
    tracing::info!(?state, records = lines.len(), "submission processed");
    Ok(Answer { message: root, receipt, wait, state, lines })
}

struct Written {
    lines: Vec<Line>,
    state: MessageState,
    receipt: Option<Receipt>,
}

struct Receipt {
    csv: String,
    presenter: String,
    at: String,
}

/// `RespuestaRegFactuSistemaFacturacion` before it is written.
pub(crate) struct Answer {
    message: Arc<Element>,
    receipt: Option<Receipt>,
    pub(crate) wait: Option<u16>,
    state: MessageState,
    pub(crate) lines: Vec<Line>,
}

/// `EstadoEnvio`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageState {
    Correcto,
    ParcialmenteCorrecto,
    Incorrecto,
}

impl MessageState {
    fn of(lines: &[Line]) -> Self {
        if lines.iter().all(|line| line.state == LineState::Correcto) {
            Self::Correcto
        } else if lines.iter().all(|line| line.state == LineState::Incorrecto) {
            Self::Incorrecto
        } else {
            Self::ParcialmenteCorrecto
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Correcto => "Correcto",
            Self::ParcialmenteCorrecto => "ParcialmenteCorrecto",
            Self::Incorrecto => "Incorrecto",
        }
    }
}

/// `EstadoRegistro` of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineState {
    Correcto,
    AceptadoConErrores,
    Incorrecto,
}

impl LineState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Correcto => "Correcto",
            Self::AceptadoConErrores => "AceptadoConErrores",
            Self::Incorrecto => "Incorrecto",
        }
    }
}

/// `RespuestaLinea`.
#[derive(Debug)]
pub(crate) struct Line {
    key: InvoiceKey,
    operation: Operation,
    flags: Vec<(&'static str, String)>,
    reference: Option<String>,
    state: LineState,
    finding: Option<(u16, String)>,
    duplicate: Option<Duplicate>,
}

impl Line {
    pub(crate) fn accepted(record: Record<'_>, admitted: Option<&Finding>) -> Self {
        let state = match admitted {
            None => LineState::Correcto,
            Some(_) => LineState::AceptadoConErrores,
        };
        Self::new(record, state, admitted, None)
    }

    pub(crate) fn refused(record: Record<'_>, finding: &Finding, duplicate: Option<Duplicate>) -> Self {
        Self::new(record, LineState::Incorrecto, Some(finding), duplicate)
    }

    fn new(
        record: Record<'_>,
        state: LineState,
        finding: Option<&Finding>,
        duplicate: Option<Duplicate>,
    ) -> Self {
        let echo = |name: &'static str| record.element.text_at(name).map(|text| (name, text.to_owned()));
        Self {
            key: record.key(),
            operation: record.operation,
            flags: ["Subsanacion", "RechazoPrevio", "SinRegistroPrevio"]
                .into_iter()
                .filter_map(echo)
                .collect(),
            reference: record.element.text_at("RefExterna").map(str::to_owned),
            state,
            finding: finding.map(|finding| (finding.code, finding.description())),
            duplicate,
        }
    }

    fn write(&self, out: &mut Writer) {
        out.open("tikR", "RespuestaLinea");
        out.open("tikR", "IDFactura");
        out.leaf("tik", "IDEmisorFactura", &self.key.issuer);
        out.leaf("tik", "NumSerieFactura", &self.key.number);
        out.leaf("tik", "FechaExpedicionFactura", &self.key.issued);
        out.close("tikR", "IDFactura");
        out.open("tikR", "Operacion");
        out.leaf("tik", "TipoOperacion", self.operation.as_str());
        for (name, value) in &self.flags {
            out.leaf("tik", name, value);
        }
        out.close("tikR", "Operacion");
        out.optional("tikR", "RefExterna", self.reference.as_deref());
        out.leaf("tikR", "EstadoRegistro", self.state.as_str());
        if let Some((code, description)) = &self.finding {
            out.leaf("tikR", "CodigoErrorRegistro", &code.to_string());
            let description = at_most(description, DESCRIPTION_LIMIT);
            out.leaf("tikR", "DescripcionErrorRegistro", &description);
        }
        if let Some(duplicate) = &self.duplicate {
            duplicate.write(out);
        }
        out.close("tikR", "RespuestaLinea");
    }
}

/// `RegistroDuplicado`: what is held under the key.
#[derive(Debug)]
pub(crate) struct Duplicate {
    id_peticion: String,
    state: InvoiceState,
    code: Option<u16>,
    description: Option<String>,
}

impl Duplicate {
    pub(crate) fn of(held: Invoice) -> Self {
        Self {
            id_peticion: held.id_peticion,
            state: held.state,
            code: held.code,
            description: held.description,
        }
    }

    fn write(&self, out: &mut Writer) {
        out.open("tikR", "RegistroDuplicado");
        out.leaf("tik", "IdPeticionRegistroDuplicado", &self.id_peticion);
        out.leaf("tik", "EstadoRegistroDuplicado", self.state.as_str());
        if let Some(code) = self.code {
            out.leaf("tik", "CodigoErrorRegistro", &code.to_string());
        }
        if let Some(description) = &self.description {
            let description = at_most(description, DUPLICATE_DESCRIPTION_LIMIT);
            out.leaf("tik", "DescripcionErrorRegistro", &description);
        }
        out.close("tikR", "RegistroDuplicado");
    }
}

impl Answer {
    /// The envelope.
    pub(crate) fn envelope(&self) -> String {
        let mut out = Writer::envelope();
        out.start(
            "tikR",
            "RespuestaRegFactuSistemaFacturacion",
            &[("tikR", SUBMISSION_ANSWER), ("tik", INFORMATION)],
        );
        if let Some(receipt) = &self.receipt {
            out.leaf("tikR", "CSV", &receipt.csv);
            out.open("tikR", "DatosPresentacion");
            out.leaf("tik", "NIFPresentador", &receipt.presenter);
            out.leaf("tik", "TimestampPresentacion", &receipt.at);
            out.close("tikR", "DatosPresentacion");
        }
        if let Some(header) = self.message.at("Cabecera") {
            out.open("tikR", "Cabecera");
            for child in &header.children {
                child.write(&mut out, "tik");
            }
            out.close("tikR", "Cabecera");
        }
        let wait = self.wait.map(|seconds| seconds.to_string()).unwrap_or_default();
        out.leaf("tikR", "TiempoEsperaEnvio", &wait);
        out.leaf("tikR", "EstadoEnvio", self.state.as_str());
        for line in &self.lines {
            line.write(&mut out);
        }
        out.close("tikR", "RespuestaRegFactuSistemaFacturacion");
        out.finish_envelope()
    }
}

/// `A-` and fourteen capitals or digits, as the receipts of the service look; one per submission.
fn csv_of(id_peticion: &str) -> String {
    const ALPHABET: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let digest = Sha256::digest(id_peticion.as_bytes());
    let code = digest
        .iter()
        .take(14)
        .map(|byte| ALPHABET.get(usize::from(byte % 36)).copied().map_or('0', char::from));
    "A-".chars().chain(code).collect()
}

fn at_most(text: &str, limit: usize) -> String {
    text.chars().take(limit).collect()
}
