//! Records as XML (schema `SuministroInformacion.xsd`, types `RegistroFacturacionAltaType` and
//! `RegistroFacturacionAnulacionType`).
//!
//! A record declares the namespace of its content as its default one and no prefix, so that its bytes
//! canonicalise alike inside an envelope and cut out of it.

use crate::{
    record::{
        BreakdownLine, Cancellation, ComputerSystem, Identification, Invoice, InvoiceId, Link, Party, Record,
        Statement,
    },
    types::{Amount, Date, Rate},
};

use super::writer::Writer;

macro_rules! open_record {
    ($name:literal) => {
        concat!(
            "<",
            $name,
            " xmlns=\"https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/SuministroInformacion.xsd\"><IDVersion>1.0</IDVersion><IDFactura>"
        )
    };
}

/// Appends a record to a buffer: canonical, unsigned, one element.
pub fn write(record: &Record, out: &mut Vec<u8>) {
    let mut writer = Writer::new(out);
    match &record.statement {
        Statement::Invoice(invoice) => invoice_record(&mut writer, invoice, record),
        Statement::Cancellation(cancellation) => cancellation_record(&mut writer, cancellation, record),
    }
}

/// A record as a document of its own.
#[must_use]
pub fn to_vec(record: &Record) -> Vec<u8> {
    let mut out = Vec::with_capacity(2560);
    write(record, &mut out);
    out
}

/// The date of the operation that a record of ours states, if it states one: it decides the period in
/// which the authority files the invoice.
#[must_use]
pub fn operation_date(record: &[u8]) -> Option<Date> {
    const OPEN: &[u8] = b"<FechaOperacion>";
    let at = record.windows(OPEN.len()).position(|window| window == OPEN)? + OPEN.len();
    Date::parse(std::str::from_utf8(record.get(at..at + 10)?).ok()?).ok()
}

fn invoice_record(w: &mut Writer<'_>, invoice: &Invoice, record: &Record) {
    w.raw(open_record!("RegistroAlta"));
    invoice_key(w, &invoice.id);
    w.raw("</IDFactura>");
    optional_text(
        w,
        "<RefExterna>",
        invoice.external_reference.as_ref().map(|t| t.as_str()),
        "</RefExterna>",
    );
    w.text("<NombreRazonEmisor>", invoice.issuer_name.as_str(), "</NombreRazonEmisor>");
    flag(w, "<Subsanacion>", invoice.correction.corrects, "</Subsanacion>");
    if let Some(prior) = invoice.correction.prior_rejection {
        w.text("<RechazoPrevio>", prior.code(), "</RechazoPrevio>");
    }
    w.text("<TipoFactura>", invoice.invoice_type.code(), "</TipoFactura>");
    if let Some(mode) = invoice.rectification {
        w.text("<TipoRectificativa>", mode.code(), "</TipoRectificativa>");
    }
    if !invoice.rectified.is_empty() {
        w.raw("<FacturasRectificadas>");
        for id in &invoice.rectified {
            w.raw("<IDFacturaRectificada>");
            invoice_key(w, id);
            w.raw("</IDFacturaRectificada>");
        }
        w.raw("</FacturasRectificadas>");
    }
    if !invoice.replaced.is_empty() {
        w.raw("<FacturasSustituidas>");
        for id in &invoice.replaced {
            w.raw("<IDFacturaSustituida>");
            invoice_key(w, id);
            w.raw("</IDFacturaSustituida>");
        }
        w.raw("</FacturasSustituidas>");
    }
    if let Some(amounts) = &invoice.rectified_amounts {
        amount(
            w,
            "<ImporteRectificacion><BaseRectificada>",
            amounts.base,
            "</BaseRectificada><CuotaRectificada>",
        );
        amount(w, "", amounts.tax, "</CuotaRectificada>");
        optional_amount(w, "<CuotaRecargoRectificado>", amounts.surcharge, "</CuotaRecargoRectificado>");
        w.raw("</ImporteRectificacion>");
    }
    if let Some(day) = invoice.operation_date {
        date(w, "<FechaOperacion>", day, "</FechaOperacion>");
    }
    w.text("<DescripcionOperacion>", invoice.description.as_str(), "</DescripcionOperacion>");
    flag(w, "<FacturaSimplificadaArt7273>", invoice.qualified_simplified, "</FacturaSimplificadaArt7273>");
    flag(
        w,
        "<FacturaSinIdentifDestinatarioArt61d>",
        invoice.without_recipient,
        "</FacturaSinIdentifDestinatarioArt61d>",
    );
    flag(w, "<Macrodato>", invoice.large_amount, "</Macrodato>");
    if let Some(issued_by) = invoice.issued_by {
        w.text("<EmitidaPorTerceroODestinatario>", issued_by.code(), "</EmitidaPorTerceroODestinatario>");
    }
    if let Some(third_party) = &invoice.third_party {
        party(w, "<Tercero>", third_party, "</Tercero>");
    }
    if !invoice.recipients.is_empty() {
        w.raw("<Destinatarios>");
        for recipient in &invoice.recipients {
            party(w, "<IDDestinatario>", recipient, "</IDDestinatario>");
        }
        w.raw("</Destinatarios>");
    }
    flag(w, "<Cupon>", invoice.coupon, "</Cupon>");
    w.raw("<Desglose>");
    for line in &invoice.breakdown {
        breakdown_line(w, line);
    }
    amount(w, "</Desglose><CuotaTotal>", invoice.tax_total, "</CuotaTotal><ImporteTotal>");
    amount(w, "", invoice.total, "</ImporteTotal>");
    link(w, &record.link);
    system(w, &record.system);
    w.text("<FechaHoraHusoGenRegistro>", record.generated_at.as_str(), "</FechaHoraHusoGenRegistro>");
    optional_text(
        w,
        "<NumRegistroAcuerdoFacturacion>",
        invoice.invoicing_agreement.as_ref().map(|t| t.as_str()),
        "</NumRegistroAcuerdoFacturacion>",
    );
    optional_text(
        w,
        "<IdAcuerdoSistemaInformatico>",
        invoice.system_agreement.as_ref().map(|t| t.as_str()),
        "</IdAcuerdoSistemaInformatico>",
    );
    w.raw("<TipoHuella>01</TipoHuella><Huella>");
    w.raw(record.huella.as_str());
    w.raw("</Huella></RegistroAlta>");
}

fn cancellation_record(w: &mut Writer<'_>, cancellation: &Cancellation, record: &Record) {
    w.raw(open_record!("RegistroAnulacion"));
    let id = &cancellation.id;
    w.text(
        "<IDEmisorFacturaAnulada>",
        id.issuer.as_str(),
        "</IDEmisorFacturaAnulada><NumSerieFacturaAnulada>",
    );
    w.text("", id.number.as_str(), "</NumSerieFacturaAnulada>");
    date(w, "<FechaExpedicionFacturaAnulada>", id.date, "</FechaExpedicionFacturaAnulada></IDFactura>");
    optional_text(
        w,
        "<RefExterna>",
        cancellation.external_reference.as_ref().map(|t| t.as_str()),
        "</RefExterna>",
    );
    flag(w, "<SinRegistroPrevio>", cancellation.without_prior_record, "</SinRegistroPrevio>");
    flag(w, "<RechazoPrevio>", cancellation.prior_rejection, "</RechazoPrevio>");
    if let Some(generated_by) = cancellation.generated_by {
        w.text("<GeneradoPor>", generated_by.code(), "</GeneradoPor>");
    }
    if let Some(generator) = &cancellation.generator {
        party(w, "<Generador>", generator, "</Generador>");
    }
    link(w, &record.link);
    system(w, &record.system);
    w.text("<FechaHoraHusoGenRegistro>", record.generated_at.as_str(), "</FechaHoraHusoGenRegistro>");
    w.raw("<TipoHuella>01</TipoHuella><Huella>");
    w.raw(record.huella.as_str());
    w.raw("</Huella></RegistroAnulacion>");
}

fn invoice_key(w: &mut Writer<'_>, id: &InvoiceId) {
    w.text("<IDEmisorFactura>", id.issuer.as_str(), "</IDEmisorFactura><NumSerieFactura>");
    w.text("", id.number.as_str(), "</NumSerieFactura>");
    date(w, "<FechaExpedicionFactura>", id.date, "</FechaExpedicionFactura>");
}

fn breakdown_line(w: &mut Writer<'_>, line: &BreakdownLine) {
    w.raw("<DetalleDesglose>");
    if let Some(tax) = line.tax {
        w.text("<Impuesto>", tax.code(), "</Impuesto>");
    }
    if let Some(regime) = line.regime {
        w.text("<ClaveRegimen>", regime.code(), "</ClaveRegimen>");
    }
    if let Some(qualification) = line.qualification {
        w.text("<CalificacionOperacion>", qualification.code(), "</CalificacionOperacion>");
    }
    if let Some(exemption) = line.exemption {
        w.text("<OperacionExenta>", exemption.code(), "</OperacionExenta>");
    }
    optional_rate(w, "<TipoImpositivo>", line.rate, "</TipoImpositivo>");
    amount(w, "<BaseImponibleOimporteNoSujeto>", line.base, "</BaseImponibleOimporteNoSujeto>");
    optional_amount(w, "<BaseImponibleACoste>", line.base_at_cost, "</BaseImponibleACoste>");
    optional_amount(w, "<CuotaRepercutida>", line.tax_amount, "</CuotaRepercutida>");
    optional_rate(w, "<TipoRecargoEquivalencia>", line.surcharge_rate, "</TipoRecargoEquivalencia>");
    optional_amount(w, "<CuotaRecargoEquivalencia>", line.surcharge_amount, "</CuotaRecargoEquivalencia>");
    w.raw("</DetalleDesglose>");
}

fn link(w: &mut Writer<'_>, link: &Link) {
    match link {
        Link::First => w.raw("<Encadenamiento><PrimerRegistro>S</PrimerRegistro></Encadenamiento>"),
        Link::Previous(previous) => {
            w.raw("<Encadenamiento><RegistroAnterior>");
            invoice_key(w, &previous.invoice);
            w.raw("<Huella>");
            w.raw(previous.huella.as_str());
            w.raw("</Huella></RegistroAnterior></Encadenamiento>");
        }
    }
}

fn system(w: &mut Writer<'_>, system: &ComputerSystem) {
    w.raw("<SistemaInformatico>");
    party_content(w, &system.producer);
    w.text("<NombreSistemaInformatico>", system.name.as_str(), "</NombreSistemaInformatico>");
    w.text("<IdSistemaInformatico>", system.id.as_str(), "</IdSistemaInformatico>");
    w.text("<Version>", system.version.as_str(), "</Version>");
    w.text("<NumeroInstalacion>", system.installation.as_str(), "</NumeroInstalacion>");
    w.text("<TipoUsoPosibleSoloVerifactu>", yes_no(system.verifactu_only), "</TipoUsoPosibleSoloVerifactu>");
    w.text("<TipoUsoPosibleMultiOT>", yes_no(system.multiple_issuers_possible), "</TipoUsoPosibleMultiOT>");
    w.text(
        "<IndicadorMultiplesOT>",
        yes_no(system.multiple_issuers),
        "</IndicadorMultiplesOT></SistemaInformatico>",
    );
}

fn party(w: &mut Writer<'_>, open: &str, party: &Party, close: &str) {
    w.raw(open);
    party_content(w, party);
    w.raw(close);
}

pub(super) fn party_content(w: &mut Writer<'_>, party: &Party) {
    w.text("<NombreRazon>", party.name.as_str(), "</NombreRazon>");
    match &party.identification {
        Identification::Nif(nif) => w.text("<NIF>", nif.as_str(), "</NIF>"),
        Identification::Foreign(foreign) => {
            w.raw("<IDOtro>");
            if let Some(country) = &foreign.country {
                w.text("<CodigoPais>", country.as_str(), "</CodigoPais>");
            }
            w.text("<IDType>", foreign.kind.code(), "</IDType>");
            w.text("<ID>", foreign.id.as_str(), "</ID></IDOtro>");
        }
    }
}

const fn yes_no(value: bool) -> &'static str {
    if value { "S" } else { "N" }
}

fn flag(w: &mut Writer<'_>, open: &str, value: Option<bool>, close: &str) {
    optional_text(w, open, value.map(yes_no), close);
}

fn optional_text(w: &mut Writer<'_>, open: &str, text: Option<&str>, close: &str) {
    if let Some(text) = text {
        w.text(open, text, close);
    }
}

fn amount(w: &mut Writer<'_>, open: &str, amount: Amount, close: &str) {
    w.value(open, |out| amount.write_to(out), close);
}

fn optional_amount(w: &mut Writer<'_>, open: &str, value: Option<Amount>, close: &str) {
    if let Some(value) = value {
        amount(w, open, value, close);
    }
}

fn optional_rate(w: &mut Writer<'_>, open: &str, value: Option<Rate>, close: &str) {
    if let Some(rate) = value {
        w.value(open, |out| rate.write_to(out), close);
    }
}

fn date(w: &mut Writer<'_>, open: &str, date: Date, close: &str) {
    w.value(open, |out| date.write_to(out), close);
}
