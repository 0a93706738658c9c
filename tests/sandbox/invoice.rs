//! Records as a client would write them, with every part replaceable by a test.

use sha2::{Digest, Sha256};

pub(crate) const ISSUER: &str = "89890001K";
pub(crate) const ISSUER_NAME: &str = "CERTIFICADO UNO TELEMATICAS";
pub(crate) const RECIPIENT: &str = "89890002E";

/// The stamp of records that are made "now" by the benches' clock.
pub(crate) const NOW: &str = "2026-09-22T12:00:00+02:00";
pub(crate) const TODAY: &str = "22-09-2026";

/// A record under construction: its XML, and the parts its huella needs.
#[derive(Clone)]
pub(crate) struct Rec {
    pub(crate) xml: String,
    pub(crate) huella: String,
}

#[derive(Clone)]
pub(crate) struct Alta {
    pub(crate) number: String,
    pub(crate) issued: String,
    pub(crate) kind: &'static str,
    pub(crate) subsanacion: Option<&'static str>,
    pub(crate) rechazo: Option<&'static str>,
    pub(crate) reference: Option<String>,
    pub(crate) recipients: String,
    pub(crate) lines: String,
    pub(crate) quota: String,
    pub(crate) total: String,
    pub(crate) link: Link,
    pub(crate) installation: String,
    pub(crate) stamp: String,
    pub(crate) huella: Option<String>,
}

#[derive(Clone)]
pub(crate) struct Anulacion {
    pub(crate) number: String,
    pub(crate) issued: String,
    pub(crate) sin_registro: Option<&'static str>,
    pub(crate) rechazo: Option<&'static str>,
    pub(crate) link: Link,
    pub(crate) installation: String,
    pub(crate) stamp: String,
    pub(crate) huella: Option<String>,
}

#[derive(Clone)]
pub(crate) enum Link {
    First,
    Previous { number: String, issued: String, huella: String },
}

impl Link {
    /// To a predecessor nobody will look for.
    pub(crate) fn any() -> Self {
        Self::Previous { number: "PREVIOUS".into(), issued: TODAY.into(), huella: "AB".repeat(32) }
    }

    fn huella(&self) -> &str {
        match self {
            Self::First => "",
            Self::Previous { huella, .. } => huella,
        }
    }

    fn xml(&self) -> String {
        match self {
            Self::First => "<s:PrimerRegistro>S</s:PrimerRegistro>".into(),
            Self::Previous { number, issued, huella } => format!(
                "<s:RegistroAnterior><s:IDEmisorFactura>{ISSUER}</s:IDEmisorFactura><s:NumSerieFactura>{number}</s:NumSerieFactura><s:FechaExpedicionFactura>{issued}</s:FechaExpedicionFactura><s:Huella>{huella}</s:Huella></s:RegistroAnterior>"
            ),
        }
    }
}

pub(crate) const LINE: &str = "<s:DetalleDesglose><s:ClaveRegimen>01</s:ClaveRegimen><s:CalificacionOperacion>S1</s:CalificacionOperacion><s:TipoImpositivo>21</s:TipoImpositivo><s:BaseImponibleOimporteNoSujeto>100.00</s:BaseImponibleOimporteNoSujeto><s:CuotaRepercutida>21.00</s:CuotaRepercutida></s:DetalleDesglose>";

impl Alta {
    /// A valid F1 of 121 €, linked to a predecessor.
    pub(crate) fn new(number: impl Into<String>) -> Self {
        Self {
            number: number.into(),
            issued: TODAY.into(),
            kind: "F1",
            subsanacion: None,
            rechazo: None,
            reference: None,
            recipients: format!(
                "<s:Destinatarios><s:IDDestinatario><s:NombreRazon>CLIENTE</s:NombreRazon><s:NIF>{RECIPIENT}</s:NIF></s:IDDestinatario></s:Destinatarios>"
            ),
            lines: LINE.into(),
            quota: "21.00".into(),
            total: "121.00".into(),
            link: Link::any(),
            installation: "1".into(),
            stamp: NOW.into(),
            huella: None,
        }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(crate) fn record(&self) -> Rec {
        let Self { number, issued, kind, quota, total, stamp, .. } = self;
        let huella = self.huella.clone().unwrap_or_else(|| sha256(&format!(
            "IDEmisorFactura={ISSUER}&NumSerieFactura={number}&FechaExpedicionFactura={issued}&TipoFactura={kind}&CuotaTotal={quota}&ImporteTotal={total}&Huella={}&FechaHoraHusoGenRegistro={stamp}",
            self.link.huella()
        )));
        let xml = format!(
            "<s:RegistroAlta><s:IDVersion>1.0</s:IDVersion><s:IDFactura><s:IDEmisorFactura>{ISSUER}</s:IDEmisorFactura><s:NumSerieFactura>{}</s:NumSerieFactura><s:FechaExpedicionFactura>{issued}</s:FechaExpedicionFactura></s:IDFactura>{}<s:NombreRazonEmisor>{ISSUER_NAME}</s:NombreRazonEmisor>{}{}<s:TipoFactura>{kind}</s:TipoFactura><s:DescripcionOperacion>Servicios</s:DescripcionOperacion>{}<s:Desglose>{}</s:Desglose><s:CuotaTotal>{quota}</s:CuotaTotal><s:ImporteTotal>{total}</s:ImporteTotal>{}<s:FechaHoraHusoGenRegistro>{stamp}</s:FechaHoraHusoGenRegistro><s:TipoHuella>01</s:TipoHuella><s:Huella>{huella}</s:Huella></s:RegistroAlta>",
            escape(number),
            optional("RefExterna", self.reference.as_deref()),
            optional("Subsanacion", self.subsanacion),
            optional("RechazoPrevio", self.rechazo),
            self.recipients,
            self.lines,
            tail(&self.link, &self.installation),
        );
        Rec { xml, huella }
    }
}

impl Anulacion {
    pub(crate) fn new(number: impl Into<String>) -> Self {
        Self {
            number: number.into(),
            issued: TODAY.into(),
            sin_registro: None,
            rechazo: None,
            link: Link::any(),
            installation: "1".into(),
            stamp: NOW.into(),
            huella: None,
        }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(crate) fn record(&self) -> Rec {
        let Self { number, issued, stamp, .. } = self;
        let huella = self.huella.clone().unwrap_or_else(|| sha256(&format!(
            "IDEmisorFacturaAnulada={ISSUER}&NumSerieFacturaAnulada={number}&FechaExpedicionFacturaAnulada={issued}&Huella={}&FechaHoraHusoGenRegistro={stamp}",
            self.link.huella()
        )));
        let xml = format!(
            "<s:RegistroAnulacion><s:IDVersion>1.0</s:IDVersion><s:IDFactura><s:IDEmisorFacturaAnulada>{ISSUER}</s:IDEmisorFacturaAnulada><s:NumSerieFacturaAnulada>{}</s:NumSerieFacturaAnulada><s:FechaExpedicionFacturaAnulada>{issued}</s:FechaExpedicionFacturaAnulada></s:IDFactura>{}{}{}<s:FechaHoraHusoGenRegistro>{stamp}</s:FechaHoraHusoGenRegistro><s:TipoHuella>01</s:TipoHuella><s:Huella>{huella}</s:Huella></s:RegistroAnulacion>",
            escape(number),
            optional("SinRegistroPrevio", self.sin_registro),
            optional("RechazoPrevio", self.rechazo),
            tail(&self.link, &self.installation),
        );
        Rec { xml, huella }
    }
}

/// An envelope of a submission with the ordinary header.
pub(crate) fn envelope(records: &[Rec]) -> String {
    envelope_with("", records)
}

/// An envelope whose header has `rest` behind its `ObligadoEmision`.
pub(crate) fn envelope_with(rest: &str, records: &[Rec]) -> String {
    let header = format!(
        "<s:ObligadoEmision><s:NombreRazon>{ISSUER_NAME}</s:NombreRazon><s:NIF>{ISSUER}</s:NIF></s:ObligadoEmision>{rest}"
    );
    let records: String = records
        .iter()
        .map(|record| format!("<l:RegistroFactura>{}</l:RegistroFactura>", record.xml))
        .collect();
    wrap(&format!("<l:Cabecera>{header}</l:Cabecera>{records}"))
}

/// An envelope around the inside of `RegFactuSistemaFacturacion`.
pub(crate) fn wrap(inside: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:l=\"{BASE}SuministroLR.xsd\" xmlns:s=\"{BASE}SuministroInformacion.xsd\"><e:Header/><e:Body><l:RegFactuSistemaFacturacion>{inside}</l:RegFactuSistemaFacturacion></e:Body></e:Envelope>"
    )
}

/// An envelope of a query: the inside of its header, and of its filter behind the period.
pub(crate) fn query(header: &str, period: (&str, &str), filter: &str, rest: &str) -> String {
    format!(
        "<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:c=\"{BASE}ConsultaLR.xsd\" xmlns:s=\"{BASE}SuministroInformacion.xsd\"><e:Header/><e:Body><c:ConsultaFactuSistemaFacturacion><c:Cabecera><s:IDVersion>1.0</s:IDVersion>{header}</c:Cabecera><c:FiltroConsulta><c:PeriodoImputacion><s:Ejercicio>{}</s:Ejercicio><s:Periodo>{}</s:Periodo></c:PeriodoImputacion>{filter}</c:FiltroConsulta>{rest}</c:ConsultaFactuSistemaFacturacion></e:Body></e:Envelope>",
        period.0, period.1
    )
}

pub(crate) fn issuer_header() -> String {
    format!(
        "<s:ObligadoEmision><s:NombreRazon>{ISSUER_NAME}</s:NombreRazon><s:NIF>{ISSUER}</s:NIF></s:ObligadoEmision>"
    )
}

pub(crate) const BASE: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/";

pub(crate) fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02X}")).collect()
}

fn tail(link: &Link, installation: &str) -> String {
    format!(
        "<s:Encadenamiento>{}</s:Encadenamiento><s:SistemaInformatico><s:NombreRazon>PRODUCTOR</s:NombreRazon><s:NIF>{ISSUER}</s:NIF><s:NombreSistemaInformatico>Sistema</s:NombreSistemaInformatico><s:IdSistemaInformatico>77</s:IdSistemaInformatico><s:Version>1.0</s:Version><s:NumeroInstalacion>{installation}</s:NumeroInstalacion><s:TipoUsoPosibleSoloVerifactu>S</s:TipoUsoPosibleSoloVerifactu><s:TipoUsoPosibleMultiOT>N</s:TipoUsoPosibleMultiOT><s:IndicadorMultiplesOT>N</s:IndicadorMultiplesOT></s:SistemaInformatico>",
        link.xml()
    )
}

fn optional(name: &str, value: Option<&str>) -> String {
    value.map(|value| format!("<s:{name}>{value}</s:{name}>")).unwrap_or_default()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
