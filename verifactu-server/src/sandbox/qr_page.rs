//! The page behind the QR of an invoice: whether the authority holds it, with this total (QR 0.5.0).
//!
//! It needs no certificate. Parameters are read as form data; the amount is compared in cents,
//! without a margin; an annulled invoice is not found. AEAT's limit of attempts a day is not
//! imitated.

use serde::Serialize;

use super::SandboxError;
use super::authority::Authority;
use super::nif;
use super::record::InvoiceKey;
use super::rules::hundredths;
use super::schema::civil_date;
use super::store::InvoiceState;
use super::xml::Element;

/// What is asked, as it stands in the address.
#[derive(Debug, Default)]
struct Asked {
    nif: String,
    number: String,
    date: String,
    amount: String,
    format: String,
}

/// A page, and whether it is JSON.
pub(crate) struct Page {
    pub(crate) json: bool,
    pub(crate) text: String,
}

/// Answers the query part of an address.
pub(crate) async fn answer(authority: &Authority, query: &str) -> Page {
    let asked = Asked::read(query);
    let answer = match asked.faults() {
        faults if !faults.is_empty() => Answer::refused(&faults),
        _ => match found(authority, &asked).await {
            Ok(found) => Answer::of(&asked, found),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "the sandbox failed");
                Answer::refused(&[(3001, "Error técnico")])
            }
        },
    };
    if asked.format == "json" {
        let text = serde_json::to_string(&answer).unwrap_or_default();
        Page { json: true, text }
    } else {
        Page { json: false, text: answer.html() }
    }
}

impl Asked {
    fn read(query: &str) -> Self {
        let mut asked = Self::default();
        // The host is of no account: only the query is read.
        let Ok(address) = reqwest::Url::parse(&format!("https://localhost/?{query}")) else {
            return asked;
        };
        for (name, value) in address.query_pairs() {
            match &*name {
                "nif" => asked.nif = value.into_owned(),
                "numserie" => asked.number = value.into_owned(),
                "fecha" => asked.date = value.into_owned(),
                "importe" => asked.amount = value.into_owned(),
                "formato" => asked.format = value.into_owned(),
                _ => {}
            }
        }
        asked
    }

    /// All that is wrong with the parameters.
    fn faults(&self) -> Vec<(u16, &'static str)> {
        let mut faults = Vec::new();
        let mut check = |wrong: bool, code, text| {
            if wrong {
                faults.push((code, text));
            }
        };
        let Self { nif, number, date, amount, .. } = self;
        check(nif.is_empty(), 1001, "Falta el parámetro nif");
        check(number.is_empty(), 1002, "Falta el parámetro numserie");
        check(date.is_empty(), 1003, "Falta el parámetro fecha");
        check(amount.is_empty(), 1004, "Falta el parámetro importe");
        check(!nif.is_empty() && !nif::is_valid(nif), 2001, "El NIF no es correcto");
        check(number.chars().count() > 60, 2002, "El número de serie es demasiado largo");
        let printable = |character: char| (' '..='~').contains(&character);
        check(!number.chars().all(printable), 2003, "El número de serie tiene caracteres no permitidos");
        check(!date.is_empty() && civil_date(date).is_none(), 2004, "La fecha no es correcta");
        let form = AmountForm::of(amount);
        check(!amount.is_empty() && form == AmountForm::Wrong, 2005, "El formato del importe no es correcto");
        check(form == AmountForm::TooLong, 2006, "El importe es demasiado largo");
        faults
    }
}

#[derive(PartialEq, Eq)]
enum AmountForm {
    Right,
    Wrong,
    TooLong,
}

impl AmountForm {
    /// A sign or none, at most 12 digits and two decimals behind a point.
    fn of(amount: &str) -> Self {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let (whole, fraction) = unsigned(amount).split_once('.').unwrap_or((unsigned(amount), ""));
        if whole.is_empty() || !digits(whole) || !digits(fraction) {
            Self::Wrong
        } else if whole.len() > 12 || fraction.len() > 2 {
            Self::TooLong
        } else {
            Self::Right
        }
    }
}

fn unsigned(amount: &str) -> &str {
    amount.strip_prefix(['+', '-']).unwrap_or(amount)
}

/// Whether the invoice is held, not annulled, and its total is the one asked about.
async fn found(authority: &Authority, asked: &Asked) -> Result<bool, SandboxError> {
    let key =
        InvoiceKey { issuer: asked.nif.clone(), number: asked.number.clone(), issued: asked.date.clone() };
    let held = authority.store.read(move |book| book.invoice(&key)).await?;
    let alta = held.filter(|held| held.state != InvoiceState::Anulada).and_then(|held| held.alta);
    let total = alta
        .and_then(|alta| Element::read(&alta).ok())
        .and_then(|alta| alta.text_at("ImporteTotal").and_then(hundredths));
    Ok(total.is_some() && total == hundredths(&asked.amount))
}

/// The answer in JSON.
#[derive(Serialize)]
struct Answer {
    status: &'static str,
    mensaje: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    codigo_error: Option<String>,
    visible: &'static str,
    crashlytics: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    respuesta: Option<Contrasted>,
}

#[derive(Serialize)]
struct Contrasted {
    resultado: &'static str,
    nif: String,
    numserie: String,
    fecha: String,
    importe: String,
}

impl Answer {
    fn of(asked: &Asked, found: bool) -> Self {
        let cents = hundredths(&asked.amount).unwrap_or_default();
        let sign = if cents < 0 { "-" } else { "" };
        let respuesta = Contrasted {
            resultado: if found { "00" } else { "01" },
            nif: asked.nif.clone(),
            numserie: asked.number.clone(),
            fecha: asked.date.clone(),
            importe: format!("{sign}{}.{:02}", cents.abs() / 100, cents.abs() % 100),
        };
        let mensaje = if found { "Encontrada" } else { "No encontrada" };
        Self { status: "OK", mensaje: mensaje.to_owned(), respuesta: Some(respuesta), ..Self::refused(&[]) }
    }

    /// Several codes and texts are joined with a point.
    fn refused(faults: &[(u16, &str)]) -> Self {
        let codes: Vec<String> = faults.iter().map(|(code, _)| code.to_string()).collect();
        let texts: Vec<&str> = faults.iter().map(|(_, text)| *text).collect();
        Self {
            status: "KO",
            mensaje: texts.join("."),
            codigo_error: (!codes.is_empty()).then(|| codes.join(".")),
            visible: "N",
            crashlytics: "N",
            respuesta: None,
        }
    }

    fn html(&self) -> String {
        let mut rows = String::new();
        if let Some(asked) = &self.respuesta {
            let Contrasted { nif, numserie, fecha, importe, .. } = asked;
            for (name, value) in [
                ("NIF del emisor", nif),
                ("Número de serie", numserie),
                ("Fecha de expedición", fecha),
                ("Importe total", importe),
            ] {
                rows.push_str(&format!("<dt>{name}</dt><dd>{}</dd>", escaped(value)));
            }
        }
        let told = match (&self.respuesta, &self.codigo_error) {
            (Some(Contrasted { resultado: "00", .. }), _) => "Factura encontrada".to_owned(),
            (Some(_), _) => "Factura no encontrada".to_owned(),
            (None, codes) => format!("{} ({})", self.mensaje, codes.as_deref().unwrap_or_default()),
        };
        format!(
            "<!DOCTYPE html><html lang=\"es\"><head><meta charset=\"UTF-8\">\
             <title>Cotejo de facturas (entorno de pruebas local)</title></head>\
             <body><h1>{told}</h1><dl>{rows}</dl>\
             <p>Respuesta de un entorno de pruebas local, no de la Agencia Tributaria.</p></body></html>"
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
