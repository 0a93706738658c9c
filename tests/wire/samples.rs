//! Answers as the authority writes them, with the prefixes it uses and with others.

const BASE: &str = "https://www2.agenciatributaria.gob.es/static_files/common/internet/dep/aplicaciones/es/aeat/tike/cont/ws/";

/// The prefixes of an answer: SOAP, the answer's own namespace, the shared types.
#[derive(Clone, Copy)]
pub struct Prefixes {
    pub soap: &'static str,
    pub own: &'static str,
    pub shared: &'static str,
}

/// What recorded answers use.
pub const RECORDED: Prefixes = Prefixes { soap: "env", own: "tikR", shared: "tik" };

impl Prefixes {
    /// Replaces `S:`, `R:` and `I:` in a template, and the three declarations.
    pub fn apply(self, template: &str, own_schema: &str) -> Vec<u8> {
        let colon = |prefix: &str| if prefix.is_empty() { String::new() } else { format!("{prefix}:") };
        let mark = |prefix: &str| if prefix.is_empty() { String::new() } else { format!(":{prefix}") };
        template
            .replace("S:", &colon(self.soap))
            .replace("R:", &colon(self.own))
            .replace("I:", &colon(self.shared))
            .replace(
                "{soap}",
                &format!("xmlns{}=\"http://schemas.xmlsoap.org/soap/envelope/\"", mark(self.soap)),
            )
            .replace("{own}", &format!("xmlns{}=\"{BASE}{own_schema}\"", mark(self.own)))
            .replace("{shared}", &format!("xmlns{}=\"{BASE}SuministroInformacion.xsd\"", mark(self.shared)))
            .into_bytes()
    }
}

/// One line of an answer: number, state, and what follows the state.
pub fn line(number: &str, state: &str, rest: &str) -> String {
    format!(
        "<R:RespuestaLinea><R:IDFactura><I:IDEmisorFactura>89890001K</I:IDEmisorFactura>\
         <I:NumSerieFactura>{number}</I:NumSerieFactura>\
         <I:FechaExpedicionFactura>20-11-2026</I:FechaExpedicionFactura></R:IDFactura>\
         <R:Operacion><I:TipoOperacion>Alta</I:TipoOperacion></R:Operacion>\
         <R:RefExterna>ref-{number}</R:RefExterna>\
         <R:EstadoRegistro>{state}</R:EstadoRegistro>{rest}</R:RespuestaLinea>"
    )
}

/// An answer with these parts before and after the wait.
pub fn answer_template(receipt: &str, wait: &str, state: &str, lines: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><S:Envelope {{soap}}><S:Header/><S:Body Id=\"Body\">\
         <R:RespuestaRegFactuSistemaFacturacion {{own}} {{shared}}>{receipt}\
         <R:Cabecera><I:ObligadoEmision><I:NombreRazon>EMPRESA SL</I:NombreRazon><I:NIF>89890001K</I:NIF>\
         </I:ObligadoEmision></R:Cabecera><R:TiempoEsperaEnvio>{wait}</R:TiempoEsperaEnvio>\
         <R:EstadoEnvio>{state}</R:EstadoEnvio>{lines}</R:RespuestaRegFactuSistemaFacturacion></S:Body></S:Envelope>"
    )
}

pub const RECEIPT: &str = "<R:CSV>A-86U4KHPACUMVZE</R:CSV><R:DatosPresentacion>\
    <I:NIFPresentador>89890002E</I:NIFPresentador>\
    <I:TimestampPresentacion>2026-11-20T12:00:00+01:00</I:TimestampPresentacion></R:DatosPresentacion>";

/// An accepted submission of one record.
pub fn accepted() -> Vec<u8> {
    registration(&answer_template(RECEIPT, "60", "Correcto", &line("A-1", "Correcto", "")))
}

pub fn registration(template: &str) -> Vec<u8> {
    RECORDED.apply(template, "RespuestaSuministro.xsd")
}

pub fn fault(side: &str, text: &str) -> Vec<u8> {
    format!(
        "<env:Envelope xmlns:env=\"http://schemas.xmlsoap.org/soap/envelope/\"><env:Body><env:Fault>\
         <faultcode>env:{side}</faultcode><faultstring>{text}</faultstring>\
         <detail><callstack>WSExcepcion [faultcode=null]</callstack></detail></env:Fault></env:Body></env:Envelope>"
    )
    .into_bytes()
}

/// One row of a query's answer, and what stands around it.
pub fn rows(state: &str, link: &str, paging: &str) -> Vec<u8> {
    let template = format!(
        "<S:Envelope {{soap}}><S:Body><R:RespuestaConsultaFactuSistemaFacturacion {{own}} {{shared}}>\
         <R:Cabecera><I:IDVersion>1.0</I:IDVersion></R:Cabecera><R:PeriodoImputacion><R:Ejercicio>2026</R:Ejercicio>\
         <R:Periodo>11</R:Periodo></R:PeriodoImputacion>{paging}<R:ResultadoConsulta>ConDatos</R:ResultadoConsulta>\
         <R:RegistroRespuestaConsultaFactuSistemaFacturacion><R:IDFactura><I:IDEmisorFactura>89890001K</I:IDEmisorFactura>\
         <I:NumSerieFactura>A-1</I:NumSerieFactura><I:FechaExpedicionFactura>20-11-2026</I:FechaExpedicionFactura>\
         </R:IDFactura><R:DatosRegistroFacturacion><R:RefExterna>ref-1</R:RefExterna><R:Subsanacion>S</R:Subsanacion>\
         <R:RechazoPrevio>X</R:RechazoPrevio><R:TipoFactura>F1</R:TipoFactura>\
         <R:ImporteTotal>121</R:ImporteTotal>{link}\
         <R:FechaHoraHusoGenRegistro>2026-11-20T12:00:00+01:00</R:FechaHoraHusoGenRegistro>\
         <R:Huella>{HUELLA}</R:Huella></R:DatosRegistroFacturacion><R:DatosPresentacion>\
         <I:NIFPresentador>89890002E</I:NIFPresentador><I:TimestampPresentacion>2026-11-20T12:01:00+01:00</I:TimestampPresentacion>\
         <I:IdPeticion>20261120120100360242</I:IdPeticion></R:DatosPresentacion><R:EstadoRegistro>\
         <R:TimestampUltimaModificacion>2026-11-20T12:02:00+01:00</R:TimestampUltimaModificacion>\
         <R:EstadoRegistro>{state}</R:EstadoRegistro><R:CodigoErrorRegistro>2001</R:CodigoErrorRegistro>\
         <R:DescripcionErrorRegistro>Texto</R:DescripcionErrorRegistro></R:EstadoRegistro>\
         </R:RegistroRespuestaConsultaFactuSistemaFacturacion></R:RespuestaConsultaFactuSistemaFacturacion></S:Body></S:Envelope>"
    );
    RECORDED.apply(&template, "RespuestaConsultaLR.xsd")
}

pub const HUELLA: &str = "DAA7F72EEDC1AE8A294B7A011EC4A1EC2BE0E4DDB79AF3758377F8D61F38FE6B";
