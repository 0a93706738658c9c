//! `GET /declaracion-responsable`: the producer's declaration of the computer system.
//!
//! The law wants it inside the product, easy to reach and to read, with these items in this order, each
//! behind the words that describe it (Orden HAC/1177/2024, art. 15). What stands in it is what the records
//! name, so that the two cannot differ.

use std::{fmt::Write as _, sync::Arc};

use http::header::ACCEPT;
use verifactu_core::{
    api::{Declaration, DeclarationItem},
    record::{ComputerSystem, Identification},
    types::Date,
};

use crate::config::DeclarationConfig;

use super::{
    Service,
    call::Call,
    error::{Fault, Success},
    reply::Reply,
};

const TITLE: &str = "DECLARACIÓN RESPONSABLE DEL SISTEMA INFORMÁTICO DE FACTURACIÓN";

const CONFORMITY: &str = "La persona o entidad productora del sistema informático a que se refiere esta \
    declaración responsable hace constar que dicho sistema informático, en la versión indicada en \
    ella, cumple con lo dispuesto en el artículo 29.2.j) de la Ley 58/2003, de 17 de diciembre, General \
    Tributaria, en el Reglamento aprobado por el Real Decreto 1007/2023, de 5 de diciembre, en la Orden \
    HAC/1177/2024, de 17 de octubre, y en la sede electrónica de la Agencia Estatal de Administración \
    Tributaria para todo aquello que complete las especificaciones de dicha orden.";

const MONTHS: [&str; 12] = [
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
];

pub(super) async fn show(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let declared = service.declaration.as_ref();
    let declared = declared.ok_or(Fault::NotFound("declaration: its settings are not given"))?;
    let declaration = declaration(&service.engine.settings().system, declared);
    match wanted(&call) {
        Form::Json => Reply::json(Success::Ok, call.request, declaration),
        Form::Text => Ok(Reply::raw("text/plain; charset=utf-8", text(&declaration))),
        Form::Html => Ok(Reply::raw("text/html; charset=utf-8", html(&declaration))),
    }
}

enum Form {
    Html,
    Text,
    Json,
}

/// The first form of the header that there is; a page for a reader who names none.
fn wanted(call: &Call) -> Form {
    let accepted = call.headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut kinds = accepted.flat_map(|value| value.split(',')).map(|kind| kind.split(';').next());
    let known = kinds.find_map(|kind| match kind?.trim() {
        "text/html" => Some(Form::Html),
        "text/plain" => Some(Form::Text),
        "application/json" => Some(Form::Json),
        _ => None,
    });
    known.unwrap_or(Form::Html)
}

fn declaration(system: &ComputerSystem, declared: &DeclarationConfig) -> Declaration {
    let yes_no = |yes: bool| if yes { "Sí." } else { "No." }.to_owned();
    let (identification, number) = match &system.producer.identification {
        Identification::Nif(nif) => ("Número de identificación fiscal (NIF) español", nif.to_string()),
        Identification::Foreign(other) => {
            let country = other.country.as_ref().map_or("no indicado", |country| country.as_str());
            let kind = other.kind.code();
            ("Identificación, con su tipo y país,", format!("{}, tipo {kind}, país {country}", other.id))
        }
    };
    let signatures = if system.verifactu_only {
        "No procede: el sistema informático solo puede funcionar como «VERI*FACTU»."
    } else {
        "Firma electrónica XAdES Enveloped (EPES)."
    };
    let items = [
        (
            "Nombre del sistema informático a que se refiere esta declaración responsable",
            system.name.to_string(),
        ),
        (
            "Código identificador del sistema informático al que se refiere la letra a)",
            system.id.as_str().to_owned(),
        ),
        ("Identificador completo de la versión concreta del sistema informático", system.version.to_string()),
        (
            "Componentes, hardware y software, de que consta el sistema informático, junto con una breve \
             descripción de lo que hace y de sus principales funcionalidades",
            declared.components.to_string(),
        ),
        (
            "Indicación de si el sistema informático se ha producido de tal manera que solo pueda funcionar \
             exclusivamente como «VERI*FACTU»",
            yes_no(system.verifactu_only),
        ),
        (
            "Indicación de si el sistema informático permite ser usado por varios obligados tributarios, o por \
             un mismo usuario para dar soporte a la facturación de varios obligados tributarios",
            yes_no(system.multiple_issuers_possible),
        ),
        (
            "Tipos de firma utilizados para firmar los registros de facturación y de evento en el caso de que el \
             sistema informático no sea utilizado como «VERI*FACTU»",
            signatures.to_owned(),
        ),
        (
            "Nombre y apellidos o razón social de la persona o entidad productora del sistema informático",
            system.producer.name.to_string(),
        ),
        (identification, number),
        (
            "Dirección postal completa de contacto de la persona o entidad productora",
            declared.address.to_string(),
        ),
        ("Declaración de cumplimiento", CONFORMITY.to_owned()),
        (
            "Fecha y lugar en que la persona o entidad productora suscribe esta declaración responsable",
            format!("{}. {}.", in_words(declared.date), declared.place),
        ),
    ];
    let items = ('a'..='l').zip(items).map(|(letra, (enunciado, contenido))| DeclarationItem {
        letra,
        enunciado: enunciado.to_owned(),
        contenido,
    });
    Declaration { titulo: TITLE.to_owned(), apartados: items.collect() }
}

fn in_words(date: Date) -> String {
    let civil = date.civil();
    let month = usize::try_from(civil.month() - 1).ok().and_then(|month| MONTHS.get(month));
    format!("{} de {} de {}", civil.day(), month.copied().unwrap_or_default(), civil.year())
}

fn text(declaration: &Declaration) -> String {
    let mut out = format!("{}\n", declaration.titulo);
    for DeclarationItem { letra, enunciado, contenido } in &declaration.apartados {
        let _ = write!(out, "\n{letra}) {enunciado}:\n{contenido}\n");
    }
    out
}

fn html(declaration: &Declaration) -> String {
    let mut items = String::new();
    for DeclarationItem { letra, enunciado, contenido } in &declaration.apartados {
        let (words, value) = (escaped(enunciado), escaped(contenido));
        let _ = writeln!(items, "<dt>{letra}) {words}:</dt><dd>{value}</dd>");
    }
    let title = escaped(&declaration.titulo);
    format!(
        "<!DOCTYPE html>\n<html lang=\"es\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <style>body{{font:1rem/1.5 sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}}\
         dt{{font-weight:bold;margin-top:1rem}}dd{{margin:0}}</style></head>\n\
         <body><h1>{title}</h1>\n<dl>\n{items}</dl></body></html>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
