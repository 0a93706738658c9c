//! The query of registered invoices (SWeb 6.4, annex IV).
//!
//! One row per invoice with its current state, the last registered first. Values come back
//! normalised, as the service does: an amount without trailing zeros, `+00:00` as `Z`. So an answer
//! serves to compare a huella, not to compute one.

use super::authority::Authority;
use super::finding::Finding;
use super::pki::Presenter;
use super::record::InvoiceKey;
use super::refusal::Refusal;
use super::register::iso;
use super::schema;
use super::settings::PresenterPolicy;
use super::store::{Further, Invoice, Selection};
use super::xml::{Element, INFORMATION, QUERY_ANSWER, Writer};

/// Answers the query whose body is `root`.
pub(crate) async fn answer(
    authority: &Authority,
    presenter: &Presenter,
    root: Element,
) -> Result<String, Refusal> {
    schema::QUERY.structure(&root)?;
    schema::QUERY.content(&root)?;
    let settings = authority.settings();
    let scope = scope(&root, presenter, settings.presenters)?;
    let mut selection = selection(&root)?;
    if let Scope::Issuer { nif, .. } = &scope {
        selection.issuer = Some(nif.clone());
    }
    let page = usize::try_from(settings.page_size).unwrap_or(usize::MAX);
    let start = root.at("FiltroConsulta/ClavePaginacion").map(key_of);
    let filter = Filter::of(&root, scope);
    let (mut rows, unknown_start) = authority
        .store
        .read(move |book| {
            let mut rows = Vec::new();
            if let Some(start) = start {
                match book.invoice(&start)? {
                    None => return Ok((rows, true)),
                    Some(invoice) => selection.before = Some(invoice.seq),
                }
            }
            book.select(&selection, |invoice| {
                if let Some(row) = Row::read(invoice).filter(|row| filter.admits(row)) {
                    rows.push(row);
                }
                if rows.len() > page { Further::Stop } else { Further::Go }
            })?;
            Ok((rows, false))
        })
        .await?;
    if unknown_start {
        return Err(Finding::new(1100).naming("ClavePaginacion").into());
    }
    let more = rows.len() > page;
    rows.truncate(page);
    Ok(envelope(&root, &rows, more))
}

/// Whose records may be seen.
enum Scope {
    /// An issuer's; only those that name the representative, if one is given.
    Issuer { nif: String, representative: Option<String> },
    /// Those that name a recipient.
    Recipient(String),
}

fn scope(root: &Element, presenter: &Presenter, policy: PresenterPolicy) -> Result<Scope, Refusal> {
    let may = |nif: &str| policy == PresenterPolicy::Anyone || presenter.is(nif);
    let represents = root.at("Cabecera/IndicadorRepresentante").is_some();
    if let Some(nif) = root.text_at("Cabecera/ObligadoEmision/NIF") {
        if !represents && !may(nif) {
            return Err(Refusal::new(4112));
        }
        let representative = represents.then(|| presenter.nif().to_owned());
        return Ok(Scope::Issuer { nif: nif.to_owned(), representative });
    }
    if represents {
        return Err(Refusal::new(1261));
    }
    let Some(nif) = root.text_at("Cabecera/Destinatario/NIF") else {
        return Err(Finding::new(4102).naming("ObligadoEmision").into());
    };
    if root.text_at("DatosAdicionalesRespuesta/MostrarSistemaInformatico") == Some("S") {
        return Err(Refusal::new(1272));
    }
    if may(nif) { Ok(Scope::Recipient(nif.to_owned())) } else { Err(Refusal::new(4132)) }
}

fn selection(root: &Element) -> Result<Selection, Refusal> {
    let text = |path: &str| root.text_at(path).map(str::to_owned);
    let day = |path: &str| root.text_at(path).map(iso);
    let year = text("FiltroConsulta/PeriodoImputacion/Ejercicio").unwrap_or_default();
    let month = text("FiltroConsulta/PeriodoImputacion/Periodo").unwrap_or_default();
    let exact = day("FiltroConsulta/FechaExpedicionFactura/FechaExpedicionFactura");
    let range = "FiltroConsulta/FechaExpedicionFactura/RangoFechaExpedicion";
    let from = day(&format!("{range}/Desde"));
    let to = day(&format!("{range}/Hasta"));
    if from.is_some() && to.is_some() && from > to {
        return Err(Refusal::new(1250));
    }
    Ok(Selection {
        period: Some(format!("{year}-{month}")),
        issuer: None,
        number: text("FiltroConsulta/NumSerieFactura"),
        from_day: exact.clone().or(from),
        to_day: exact.or(to),
        reference: text("FiltroConsulta/RefExterna"),
        before: None,
    })
}

/// What the store's columns do not tell.
struct Filter {
    scope: Scope,
    counterparty: Option<String>,
    system: Option<Element>,
}

impl Filter {
    fn of(root: &Element, scope: Scope) -> Self {
        let counterparty = root.at("FiltroConsulta/Contraparte").map(identification);
        let system = root.at("FiltroConsulta/SistemaInformatico").cloned();
        Self { scope, counterparty, system }
    }

    fn admits(&self, row: &Row) -> bool {
        let in_scope = match &self.scope {
            Scope::Issuer { representative: None, .. } => true,
            Scope::Issuer { representative: Some(nif), .. } => {
                row.header.text_at("Representante/NIF") == Some(nif)
            }
            Scope::Recipient(nif) => row.has_recipient(nif),
        };
        let counterparty = match (&self.counterparty, &self.scope) {
            (None, _) => true,
            (Some(other), Scope::Issuer { .. }) => row.has_recipient(other),
            (Some(other), Scope::Recipient(_)) => row.invoice.key.issuer == *other,
        };
        in_scope && counterparty && self.system.as_ref().is_none_or(|system| row.is_by(system))
    }
}

/// An invoice with its texts read back.
struct Row {
    invoice: Invoice,
    alta: Option<Element>,
    anulacion: Option<Element>,
    header: Element,
}

impl Row {
    fn read(invoice: Invoice) -> Option<Self> {
        let read = |text: &Option<String>| text.as_deref().and_then(|text| Element::read(text).ok());
        Some(Self {
            alta: read(&invoice.alta),
            anulacion: read(&invoice.anulacion),
            header: Element::read(&invoice.header).ok()?,
            invoice,
        })
    }

    fn has_recipient(&self, id: &str) -> bool {
        self.alta
            .as_ref()
            .and_then(|alta| alta.at("Destinatarios"))
            .is_some_and(|block| block.all("IDDestinatario").any(|party| identification(party) == id))
    }

    fn is_by(&self, asked: &Element) -> bool {
        let Some(system) = self.element("SistemaInformatico") else {
            return false;
        };
        identification(system) == identification(asked)
            && ["IdSistemaInformatico", "NumeroInstalacion", "NombreSistemaInformatico", "Version"]
                .into_iter()
                .all(|name| asked.at(name).is_none() || asked.text_at(name) == system.text_at(name))
    }

    /// A part of the record held; what an annulment does not bear is the invoice's.
    fn element(&self, name: &str) -> Option<&Element> {
        let of_anulacion = self.anulacion.as_ref().and_then(|record| record.at(name));
        of_anulacion.or_else(|| match (&self.anulacion, name) {
            (Some(_), "Subsanacion" | "RechazoPrevio") => None,
            _ => self.alta.as_ref().and_then(|record| record.at(name)),
        })
    }

    fn write(&self, out: &mut Writer, show: Show) {
        out.open("tikLRRC", "RegistroRespuestaConsultaFactuSistemaFacturacion");
        out.open("tikLRRC", "IDFactura");
        write_key(out, &self.invoice.key);
        out.close("tikLRRC", "IDFactura");
        out.open("tikLRRC", "DatosRegistroFacturacion");
        for name in FIELDS {
            let hidden = match *name {
                "NombreRazonEmisor" => !show.issuer_name,
                "SistemaInformatico" => !show.system,
                _ => false,
            };
            if let Some(element) = self.element(name).filter(|_| !hidden) {
                write_field(out, element);
            }
        }
        out.optional("tikLRRC", "NifRepresentante", self.header.text_at("Representante/NIF"));
        for name in ["FechaFinVeriFactu", "Incidencia"] {
            let block = self.header.at("RemisionVoluntaria");
            out.optional("tikLRRC", name, block.and_then(|block| block.text_at(name)));
        }
        out.close("tikLRRC", "DatosRegistroFacturacion");
        out.open("tikLRRC", "DatosPresentacion");
        out.leaf("tik", "NIFPresentador", &self.invoice.presenter);
        out.leaf("tik", "TimestampPresentacion", &self.invoice.presented_at);
        out.leaf("tik", "IdPeticion", &self.invoice.id_peticion);
        out.close("tikLRRC", "DatosPresentacion");
        out.open("tikLRRC", "EstadoRegistro");
        out.leaf("tikLRRC", "TimestampUltimaModificacion", &self.invoice.presented_at);
        out.leaf("tikLRRC", "EstadoRegistro", self.invoice.state.in_query());
        if let Some(code) = self.invoice.code {
            out.leaf("tikLRRC", "CodigoErrorRegistro", &code.to_string());
        }
        if let Some(description) = &self.invoice.description {
            let description: String = description.chars().take(500).collect();
            out.leaf("tikLRRC", "DescripcionErrorRegistro", &description);
        }
        out.close("tikLRRC", "EstadoRegistro");
        out.close("tikLRRC", "RegistroRespuestaConsultaFactuSistemaFacturacion");
    }
}

/// What the query asked to see beside the rest.
#[derive(Clone, Copy)]
struct Show {
    issuer_name: bool,
    system: bool,
}

/// The parts of `DatosRegistroFacturacion` that come from the record, in the schema's order.
const FIELDS: &[&str] = &[
    "NombreRazonEmisor",
    "RefExterna",
    "Subsanacion",
    "RechazoPrevio",
    "SinRegistroPrevio",
    "GeneradoPor",
    "Generador",
    "TipoFactura",
    "TipoRectificativa",
    "FacturasRectificadas",
    "FacturasSustituidas",
    "ImporteRectificacion",
    "FechaOperacion",
    "DescripcionOperacion",
    "FacturaSimplificadaArt7273",
    "FacturaSinIdentifDestinatarioArt61d",
    "Macrodato",
    "EmitidaPorTerceroODestinatario",
    "Tercero",
    "Destinatarios",
    "Cupon",
    "Desglose",
    "CuotaTotal",
    "ImporteTotal",
    "Encadenamiento",
    "SistemaInformatico",
    "FechaHoraHusoGenRegistro",
    "NumRegistroAcuerdoFacturacion",
    "IdAcuerdoSistemaInformatico",
    "TipoHuella",
    "Huella",
];

/// Parts whose children the answer's schema declares itself, one level deep.
const OWN_CHILDREN: &[&str] =
    &["FacturasRectificadas", "FacturasSustituidas", "Destinatarios", "Encadenamiento"];

const AMOUNTS: &[&str] = &[
    "BaseRectificada",
    "CuotaRectificada",
    "CuotaRecargoRectificado",
    "TipoImpositivo",
    "BaseImponibleOimporteNoSujeto",
    "BaseImponibleACoste",
    "CuotaRepercutida",
    "TipoRecargoEquivalencia",
    "CuotaRecargoEquivalencia",
    "CuotaTotal",
    "ImporteTotal",
];

fn write_field(out: &mut Writer, element: &Element) {
    let children = if OWN_CHILDREN.contains(&element.name.as_str()) { "tikLRRC" } else { "tik" };
    write_normalised(out, element, "tikLRRC", children);
}

fn write_normalised(out: &mut Writer, element: &Element, own: &str, children: &str) {
    let name = element.name.as_str();
    if !element.children.is_empty() {
        out.open(own, name);
        for child in &element.children {
            write_normalised(out, child, children, "tik");
        }
        out.close(own, name);
    } else if AMOUNTS.contains(&name) {
        out.leaf(own, name, &normal_amount(&element.text));
    } else if name == "FechaHoraHusoGenRegistro" {
        out.leaf(own, name, &element.text.replace("+00:00", "Z"));
    } else {
        out.leaf(own, name, &element.text);
    }
}

/// Without a plus sign, leading zeros, trailing zeros or an idle point.
fn normal_amount(text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let digits =
        if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
    let digits = digits.trim_start_matches('0');
    match digits {
        "" => "0".to_owned(),
        fraction if fraction.starts_with('.') => format!("{sign}0{fraction}"),
        digits => format!("{sign}{digits}"),
    }
}

fn identification(party: &Element) -> String {
    party.text_at("NIF").or_else(|| party.text_at("IDOtro/ID")).unwrap_or_default().to_owned()
}

fn key_of(element: &Element) -> InvoiceKey {
    let text = |name| element.text_at(name).unwrap_or_default().to_owned();
    InvoiceKey {
        issuer: text("IDEmisorFactura"),
        number: text("NumSerieFactura"),
        issued: text("FechaExpedicionFactura"),
    }
}

fn write_key(out: &mut Writer, key: &InvoiceKey) {
    out.leaf("tik", "IDEmisorFactura", &key.issuer);
    out.leaf("tik", "NumSerieFactura", &key.number);
    out.leaf("tik", "FechaExpedicionFactura", &key.issued);
}

fn envelope(root: &Element, rows: &[Row], more: bool) -> String {
    let asks = |name: &str| {
        let block = root.at("DatosAdicionalesRespuesta");
        block.and_then(|block| block.text_at(name)) == Some("S")
    };
    let show =
        Show { issuer_name: asks("MostrarNombreRazonEmisor"), system: asks("MostrarSistemaInformatico") };
    let mut out = Writer::envelope();
    out.start(
        "tikLRRC",
        "RespuestaConsultaFactuSistemaFacturacion",
        &[("tikLRRC", QUERY_ANSWER), ("tik", INFORMATION)],
    );
    if let Some(header) = root.at("Cabecera") {
        out.open("tikLRRC", "Cabecera");
        for child in &header.children {
            child.write(&mut out, "tik");
        }
        out.close("tikLRRC", "Cabecera");
    }
    if let Some(period) = root.at("FiltroConsulta/PeriodoImputacion") {
        period.write(&mut out, "tikLRRC");
    }
    out.leaf("tikLRRC", "IndicadorPaginacion", if more { "S" } else { "N" });
    let result = if rows.is_empty() { "SinDatos" } else { "ConDatos" };
    out.leaf("tikLRRC", "ResultadoConsulta", result);
    for row in rows {
        row.write(&mut out, show);
    }
    if let Some(last) = rows.last().filter(|_| more) {
        out.open("tikLRRC", "ClavePaginacion");
        write_key(&mut out, &last.invoice.key);
        out.close("tikLRRC", "ClavePaginacion");
    }
    out.close("tikLRRC", "RespuestaConsultaFactuSistemaFacturacion");
    out.finish_envelope()
}
