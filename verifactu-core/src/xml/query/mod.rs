//! The query: which records of a period the authority holds (SWeb 6.4, `ConsultaLR.xsd`).
//!
//! A query looks at one month of the operation date, else of the date of issue, and is asked either
//! as the issuer or as the recipient. Its rows tell each invoice's present state; see [`QueryAnswer`].

mod answer;

pub use answer::{MAX_ROWS, Paging, QueryAnswer, QueryRow, StoredLink};

use std::fmt;

use crate::{
    record::{Identification, Party, SystemId},
    types::{Date, InvoiceNumber, Text},
};

use super::{answer::InvoiceKey, envelope::SpanishParty, names};

/// A query. The optional parts narrow it down.
///
/// ```
/// use verifactu_core::{types::{Nif, Text}, xml::{envelope::SpanishParty, query::{AskedBy, Period, Query}}};
/// let issuer = SpanishParty { name: Text::parse("EMPRESA SL")?, nif: Nif::parse("B12345674")? };
/// let period = Period::new(2026, 11).ok_or("no such month")?;
/// let query = Query::new(AskedBy::Issuer(issuer), period);
/// assert!(query.to_xml().contains("<NIF>B12345674</NIF>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "ConsultaFactuSistemaFacturacion")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Who asks.
    pub asked_by: AskedBy,
    /// The month looked at.
    #[doc(alias = "PeriodoImputacion")]
    pub period: Period,
    /// One number.
    #[doc(alias = "NumSerieFactura")]
    pub number: Option<InvoiceNumber>,
    /// The other side: the recipient if the issuer asks, the issuer if the recipient asks.
    #[doc(alias = "Contraparte")]
    pub counterparty: Option<Party>,
    /// Dates of issue.
    #[doc(alias = "FechaExpedicionFactura")]
    pub issued: Option<IssueDates>,
    /// The system that generated the records.
    #[doc(alias = "SistemaInformatico")]
    pub system: Option<SystemFilter>,
    /// The sender's own reference.
    #[doc(alias = "RefExterna")]
    pub external_reference: Option<Text<60>>,
    /// Where to go on: the key that the page before gave.
    #[doc(alias = "ClavePaginacion")]
    pub after: Option<InvoiceKey>,
    /// What else each row shall tell; each makes the authority slower.
    #[doc(alias = "DatosAdicionalesRespuesta")]
    pub also_show: AlsoShow,
}

/// Who asks, which decides whose records are seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskedBy {
    /// The issuer of the records.
    #[doc(alias = "ObligadoEmision")]
    Issuer(SpanishParty),
    /// The representative of this issuer, for the records it represented.
    #[doc(alias = "IndicadorRepresentante")]
    Representative(SpanishParty),
    /// The recipient of the invoices.
    #[doc(alias = "Destinatario")]
    Recipient(SpanishParty),
}

/// A month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Period {
    year: u16,
    month: u8,
}

impl Period {
    /// A month from 1 to 12 of a year of four digits.
    #[must_use]
    pub const fn new(year: u16, month: u8) -> Option<Self> {
        if year >= 1000 && year <= 9999 && month >= 1 && month <= 12 {
            Some(Self { year, month })
        } else {
            None
        }
    }

    /// The month of a day.
    #[must_use]
    pub fn of(day: Date) -> Self {
        Self { year: day.civil().year().unsigned_abs(), month: day.civil().month().unsigned_abs() }
    }

    /// The month before.
    #[must_use]
    pub const fn previous(&self) -> Option<Self> {
        match self.month {
            1 => Self::new(self.year - 1, 12),
            month => Self::new(self.year, month - 1),
        }
    }

    /// The month after.
    #[must_use]
    pub const fn next(&self) -> Option<Self> {
        match self.month {
            12 => Self::new(self.year + 1, 1),
            month => Self::new(self.year, month + 1),
        }
    }
}

/// `YYYY-MM`.
impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

/// Dates of issue to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueDates {
    /// One day.
    On(Date),
    /// From this day on.
    #[doc(alias = "Desde")]
    From(Date),
    /// Up to this day.
    #[doc(alias = "Hasta")]
    Until(Date),
    /// From the first to the second, both included. Reversed, the authority refuses it (1250).
    #[doc(alias = "RangoFechaExpedicion")]
    Between(Date, Date),
}

/// A system, by what tells systems apart. The authority asks for more if that fits several (1285).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemFilter {
    /// Who produced the software.
    pub producer: Party,
    /// Name of the product.
    #[doc(alias = "NombreSistemaInformatico")]
    pub name: Option<Text<30>>,
    /// Which of the producer's products.
    #[doc(alias = "IdSistemaInformatico")]
    pub id: SystemId,
    /// Version of the product.
    #[doc(alias = "Version")]
    pub version: Option<Text<50>>,
    /// The installation.
    #[doc(alias = "NumeroInstalacion")]
    pub installation: Text<100>,
}

/// Parts of a row that are shown on demand only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlsoShow {
    /// The issuer's name.
    #[doc(alias = "MostrarNombreRazonEmisor")]
    pub issuer_name: bool,
    /// The system. Not asked for when a recipient asks, to whom the authority refuses it (1272).
    #[doc(alias = "MostrarSistemaInformatico")]
    pub system: bool,
}

impl Query {
    /// All records of a month.
    #[must_use]
    pub const fn new(asked_by: AskedBy, period: Period) -> Self {
        Self {
            asked_by,
            period,
            number: None,
            counterparty: None,
            issued: None,
            system: None,
            external_reference: None,
            after: None,
            also_show: AlsoShow { issuer_name: false, system: false },
        }
    }

    /// The SOAP envelope that asks it.
    #[must_use]
    pub fn to_xml(&self) -> String {
        let mut out = Out(String::with_capacity(2048));
        out.raw("<Envelope xmlns=\"").raw(names::SOAP).raw("\"><Header></Header><Body>");
        out.raw("<ConsultaFactuSistemaFacturacion xmlns=\"").raw(names::QUERY).raw("\">");
        self.header(&mut out);
        self.filter(&mut out);
        self.additional(&mut out);
        out.raw("</ConsultaFactuSistemaFacturacion></Body></Envelope>");
        out.0
    }

    fn header(&self, out: &mut Out) {
        let (role, taxpayer) = match &self.asked_by {
            AskedBy::Issuer(issuer) | AskedBy::Representative(issuer) => ("ObligadoEmision", issuer),
            AskedBy::Recipient(recipient) => ("Destinatario", recipient),
        };
        out.open("Cabecera").shared_text("IDVersion", "1.0").shared(role);
        out.text("NombreRazon", taxpayer.name.as_str()).text("NIF", taxpayer.nif.as_str()).close(role);
        if matches!(self.asked_by, AskedBy::Representative(_)) {
            out.shared_text("IndicadorRepresentante", "S");
        }
        out.close("Cabecera");
    }

    fn filter(&self, out: &mut Out) {
        out.open("FiltroConsulta").open("PeriodoImputacion");
        out.shared_text("Ejercicio", &self.period.year.to_string());
        out.shared_text("Periodo", &format!("{:02}", self.period.month)).close("PeriodoImputacion");
        if let Some(number) = &self.number {
            out.text("NumSerieFactura", number.as_str());
        }
        if let Some(party) = &self.counterparty {
            out.open("Contraparte").party(party).close("Contraparte");
        }
        if let Some(dates) = self.issued {
            out.open("FechaExpedicionFactura").dates(dates).close("FechaExpedicionFactura");
        }
        if let Some(system) = &self.system {
            out.open("SistemaInformatico").system(system).close("SistemaInformatico");
        }
        if let Some(reference) = &self.external_reference {
            out.text("RefExterna", reference.as_str());
        }
        if let Some(key) = &self.after {
            out.open("ClavePaginacion").shared_text("IDEmisorFactura", &key.issuer);
            out.shared_text("NumSerieFactura", &key.number).shared_text("FechaExpedicionFactura", &key.date);
            out.close("ClavePaginacion");
        }
        out.close("FiltroConsulta");
    }

    fn additional(&self, out: &mut Out) {
        let system = self.also_show.system && !matches!(self.asked_by, AskedBy::Recipient(_));
        if self.also_show.issuer_name || system {
            out.open("DatosAdicionalesRespuesta");
            if self.also_show.issuer_name {
                out.text("MostrarNombreRazonEmisor", "S");
            }
            if system {
                out.text("MostrarSistemaInformatico", "S");
            }
            out.close("DatosAdicionalesRespuesta");
        }
    }
}

/// The document as it grows. A child takes its parent's namespace as the default; an element of the
/// shared types under a parent of the query's own namespace declares it.
struct Out(String);

impl Out {
    fn raw(&mut self, text: &str) -> &mut Self {
        self.0.push_str(text);
        self
    }

    fn open(&mut self, name: &str) -> &mut Self {
        self.raw("<").raw(name).raw(">")
    }

    fn shared(&mut self, name: &str) -> &mut Self {
        self.raw("<").raw(name).raw(" xmlns=\"").raw(names::INFORMATION).raw("\">")
    }

    fn close(&mut self, name: &str) -> &mut Self {
        self.raw("</").raw(name).raw(">")
    }

    fn text(&mut self, name: &str, value: &str) -> &mut Self {
        self.open(name).escaped(value).close(name)
    }

    fn shared_text(&mut self, name: &str, value: &str) -> &mut Self {
        self.shared(name).escaped(value).close(name)
    }

    fn escaped(&mut self, text: &str) -> &mut Self {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                other => self.0.push(other),
            }
        }
        self
    }

    fn party(&mut self, party: &Party) -> &mut Self {
        self.shared_text("NombreRazon", party.name.as_str());
        match &party.identification {
            Identification::Nif(nif) => self.shared_text("NIF", nif.as_str()),
            Identification::Foreign(other) => {
                self.shared("IDOtro");
                if let Some(country) = other.country {
                    self.text("CodigoPais", country.as_str());
                }
                self.text("IDType", other.kind.code()).text("ID", other.id.as_str()).close("IDOtro")
            }
        }
    }

    fn dates(&mut self, dates: IssueDates) -> &mut Self {
        let (from, until) = match dates {
            IssueDates::On(day) => return self.shared_text("FechaExpedicionFactura", &day.to_string()),
            IssueDates::From(day) => (Some(day), None),
            IssueDates::Until(day) => (None, Some(day)),
            IssueDates::Between(from, until) => (Some(from), Some(until)),
        };
        self.shared("RangoFechaExpedicion");
        for (name, day) in [("Desde", from), ("Hasta", until)] {
            if let Some(day) = day {
                self.text(name, &day.to_string());
            }
        }
        self.close("RangoFechaExpedicion")
    }

    fn system(&mut self, system: &SystemFilter) -> &mut Self {
        self.party(&system.producer);
        if let Some(name) = &system.name {
            self.shared_text("NombreSistemaInformatico", name.as_str());
        }
        self.shared_text("IdSistemaInformatico", system.id.as_str());
        if let Some(version) = &system.version {
            self.shared_text("Version", version.as_str());
        }
        self.shared_text("NumeroInstalacion", system.installation.as_str())
    }
}
