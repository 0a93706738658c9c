//! Records to test and measure with.

use verifactu_core::{
    chain,
    record::{
        BreakdownLine, ComputerSystem, Identification, Invoice, InvoiceId, InvoiceType, Link, Party,
        Predecessor, Qualification, Record, Regime, Statement, SystemId, Tax,
    },
    types::{Amount, Date, GenerationTime, InvoiceNumber, Nif, Rate, Text},
    xml::{
        envelope::{self, Header, SpanishParty},
        record,
    },
};

pub fn text<const MAX: usize>(text: &str) -> Text<MAX> {
    Text::parse(text).unwrap()
}

pub fn amount(text: &str) -> Amount {
    Amount::parse(text).unwrap()
}

pub fn invoice_id(issuer: &str, number: &str, date: &str) -> InvoiceId {
    InvoiceId {
        issuer: Nif::parse(issuer).unwrap(),
        number: InvoiceNumber::parse(number).unwrap(),
        date: Date::parse(date).unwrap(),
    }
}

pub fn spanish_party(name: &str, nif: &str) -> Party {
    Party { name: text(name), identification: Identification::Nif(Nif::parse(nif).unwrap()) }
}

/// A line of VAT under the general regime.
pub fn vat_line(base: &str, rate: &str, tax: &str) -> BreakdownLine {
    BreakdownLine {
        tax: Some(Tax::Vat),
        regime: Some(Regime::R01),
        qualification: Some(Qualification::S1),
        rate: Some(Rate::parse(rate).unwrap()),
        tax_amount: Some(amount(tax)),
        ..BreakdownLine::new(amount(base))
    }
}

pub fn system() -> ComputerSystem {
    ComputerSystem {
        producer: spanish_party("Soluciones de Facturación SL", "B65410011"),
        name: text("VERI*FACTU for Rust"),
        id: SystemId::parse("VR").unwrap(),
        version: text("1.0.0"),
        installation: text("0001"),
        verifactu_only: true,
        multiple_issuers_possible: true,
        multiple_issuers: false,
    }
}

/// An everyday invoice: one recipient, two lines of VAT.
pub fn everyday_invoice(number: &str) -> Invoice {
    let lines = vec![vat_line("1250.5", "21", "262.61"), vat_line("64.3", "10", "6.43")];
    let id = invoice_id("B12345674", number, "15-10-2026");
    let description = text("Mantenimiento de flota y suministro de recambios");
    let invoice = Invoice::new(id, text("Talleres Ebro SL"), InvoiceType::F1, description, lines).unwrap();
    Invoice { recipients: vec![spanish_party("Viñedos del Moncayo SL", "B50482132")], ..invoice }
}

/// A chain of everyday invoices.
pub fn chain(length: usize) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::with_capacity(length);
    for index in 0..length {
        let link = match records.last() {
            None => Link::First,
            Some(last) => Link::Previous(Predecessor {
                invoice: last.statement.invoice_id().clone(),
                huella: last.huella,
            }),
        };
        let invoice = everyday_invoice(&format!("2026/A-{:06}", index + 1));
        let time = GenerationTime::parse("2026-10-15T10:00:00+02:00").unwrap();
        records.push(chain::seal(Statement::Invoice(Box::new(invoice)), link, system(), time));
    }
    records
}

/// A message of records, which are written one behind the other into `arena` first.
pub fn message(records: &[Record], arena: &mut Vec<u8>) -> Vec<u8> {
    arena.clear();
    let mut ends = Vec::with_capacity(records.len());
    for record in records {
        record::write(record, arena);
        ends.push(arena.len());
    }
    let issuer = SpanishParty { name: text("Talleres Ebro SL"), nif: Nif::parse("B12345674").unwrap() };
    let header = Header { issuer, representative: None, verifactu_end: None, incident: false };
    let starts = [0].into_iter().chain(ends.iter().copied());
    let written = starts.zip(&ends).map(|(start, end)| &arena[start..*end]);
    envelope::registration(&header, written)
}

/// The authority's answer to a message of which every record is accepted.
pub fn accepted(chain: &[Record]) -> String {
    const TIKE: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws";
    let lines: String = chain
        .iter()
        .map(|record| {
            let id = record.statement.invoice_id();
            format!(
                "<tikR:RespuestaLinea><tikR:IDFactura><tik:IDEmisorFactura>{}</tik:IDEmisorFactura>\
                 <tik:NumSerieFactura>{}</tik:NumSerieFactura><tik:FechaExpedicionFactura>{}</tik:FechaExpedicionFactura>\
                 </tikR:IDFactura><tikR:Operacion><tik:TipoOperacion>Alta</tik:TipoOperacion></tikR:Operacion>\
                 <tikR:EstadoRegistro>Correcto</tikR:EstadoRegistro></tikR:RespuestaLinea>",
                id.issuer, id.number, id.date
            )
        })
        .collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><env:Envelope xmlns:env=\"http://schemas.xmlsoap.org/soap/envelope/\">\
         <env:Body><tikR:RespuestaRegFactuSistemaFacturacion xmlns:tikR=\"{TIKE}/RespuestaSuministro.xsd\" \
         xmlns:tik=\"{TIKE}/SuministroInformacion.xsd\"><tikR:CSV>A-YDSW8NLFLANWPM</tikR:CSV><tikR:DatosPresentacion>\
         <tik:NIFPresentador>B12345674</tik:NIFPresentador><tik:TimestampPresentacion>2026-10-15T10:00:09+02:00\
         </tik:TimestampPresentacion></tikR:DatosPresentacion><tikR:Cabecera><tik:ObligadoEmision><tik:NombreRazon>\
         Talleres Ebro SL</tik:NombreRazon><tik:NIF>B12345674</tik:NIF></tik:ObligadoEmision></tikR:Cabecera>\
         <tikR:TiempoEsperaEnvio>60</tikR:TiempoEsperaEnvio><tikR:EstadoEnvio>Correcto</tikR:EstadoEnvio>{lines}\
         </tikR:RespuestaRegFactuSistemaFacturacion></env:Body></env:Envelope>"
    )
}
