//! The hashed fields of a record, and whose chain it stands in, read from its XML as they are spelled
//! there, whoever wrote it: what a walk of a chain recomputes huellas from.

use std::borrow::Cow;

use crate::chain::{CancellationFields, ChainedFields, ChainedRecord, InvoiceFields};

use super::reader::{Name, Ns, ReadError, Reader};

/// What a record's huella covers, and what it says about the record before. Every value is spelled
/// as in the record, but for the blanks around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literals<'a> {
    /// Issuer, number and date of the invoice.
    pub invoice: [Cow<'a, str>; 3],
    /// Type, tax total and total; only invoices have them.
    pub amounts: Option<[Cow<'a, str>; 3]>,
    /// The record before: issuer, number, date and huella. `None` in the first record.
    pub previous: Option<[Cow<'a, str>; 4]>,
    /// The computer system: its producer's number, its own identifier, and the installation; empty where
    /// the record does not state them. With the issuer they name the chain.
    pub system: [Cow<'a, str>; 3],
    /// When the record was generated.
    pub generated_at: Cow<'a, str>,
    /// The huella it carries.
    pub huella: Cow<'a, str>,
}

impl Literals<'_> {
    /// The record as a [`Walk`](crate::chain::Walk) takes it.
    #[must_use]
    pub fn chained(&self) -> ChainedRecord<'_> {
        let [issuer, number, date] = self.invoice.each_ref().map(|text| &**text);
        let previous = self.previous.as_ref().map(|previous| previous.each_ref().map(|text| &**text));
        let huella = previous.map_or("", |[.., huella]| huella);
        let generated_at = &*self.generated_at;
        let fields = match &self.amounts {
            Some([kind, tax_total, total]) => ChainedFields::Invoice(InvoiceFields {
                issuer,
                number,
                date,
                invoice_type: kind,
                tax_total,
                total,
                previous: huella,
                generated_at,
            }),
            None => ChainedFields::Cancellation(CancellationFields {
                issuer,
                number,
                date,
                previous: huella,
                generated_at,
            }),
        };
        let predecessor = previous.map(|[issuer, number, date, _]| [issuer, number, date]);
        ChainedRecord { fields, predecessor, huella: &self.huella }
    }
}

/// Reads a `RegistroAlta` or `RegistroAnulacion` that is a document of its own, signed or not.
///
/// # Errors
/// [`ReadError`] when it is something else, or a part that the huella covers is missing.
pub fn read(record: &[u8]) -> Result<Literals<'_>, ReadError> {
    let mut reader = Reader::new(record)?;
    let root = reader.root()?;
    let kind = Kind::of(&root).ok_or(ReadError::Unexpected { expected: "a record" })?;
    let literals = body(&mut reader, kind)?;
    reader.finish()?;
    Ok(literals)
}

/// Reads every record of a document, in its order: a record, a message, or an export that wraps
/// records in elements of its own.
///
/// # Errors
/// [`ReadError`] at the first record that misses a part, or where the document is not XML.
pub fn read_all(document: &[u8]) -> Result<Vec<Literals<'_>>, ReadError> {
    let mut reader = Reader::new(document)?;
    let root = reader.root()?;
    let mut found = Vec::new();
    descend(&mut reader, &root, &mut found)?;
    reader.finish()?;
    Ok(found)
}

/// As deep as the reader allows.
fn descend<'a>(
    reader: &mut Reader<'a>,
    at: &Name<'a>,
    found: &mut Vec<Literals<'a>>,
) -> Result<(), ReadError> {
    if let Some(kind) = Kind::of(at) {
        found.push(body(reader, kind)?);
        return Ok(());
    }
    while let Some(name) = reader.child()? {
        descend(reader, &name, found)?;
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Invoice,
    Cancellation,
}

impl Kind {
    fn of(name: &Name<'_>) -> Option<Self> {
        if name.is(Ns::Information, "RegistroAlta") {
            Some(Self::Invoice)
        } else if name.is(Ns::Information, "RegistroAnulacion") {
            Some(Self::Cancellation)
        } else {
            None
        }
    }
}

/// Reads the record whose element was opened, to its end.
fn body<'a>(reader: &mut Reader<'a>, record: Kind) -> Result<Literals<'a>, ReadError> {
    let is_invoice = record == Kind::Invoice;
    let suffix = if is_invoice { "" } else { "Anulada" };
    let mut invoice = None;
    let (mut kind, mut tax_total, mut total) = (None, None, None);
    let (mut link, mut generated_at, mut huella) = (None, None, None);
    let mut computer = Default::default();
    while let Some(name) = reader.child()? {
        if name.ns != Ns::Information {
            reader.skip()?;
            continue;
        }
        match name.local {
            "IDFactura" => invoice = Some(Key::read(reader, suffix)?.invoice()?),
            "TipoFactura" if is_invoice => kind = Some(reader.text()?),
            "CuotaTotal" if is_invoice => tax_total = Some(reader.text()?),
            "ImporteTotal" if is_invoice => total = Some(reader.text()?),
            "Encadenamiento" => link = Some(previous(reader)?),
            "SistemaInformatico" => computer = system(reader)?,
            "FechaHoraHusoGenRegistro" => generated_at = Some(reader.text()?),
            "Huella" => huella = Some(reader.text()?),
            _ => reader.skip()?,
        }
    }
    let amounts = if is_invoice {
        Some([
            kind.ok_or(ReadError::Missing("TipoFactura"))?,
            tax_total.ok_or(ReadError::Missing("CuotaTotal"))?,
            total.ok_or(ReadError::Missing("ImporteTotal"))?,
        ])
    } else {
        None
    };
    Ok(Literals {
        invoice: invoice.ok_or(ReadError::Missing("IDFactura"))?,
        amounts,
        previous: link.ok_or(ReadError::Missing("Encadenamiento"))?,
        system: computer,
        generated_at: generated_at.ok_or(ReadError::Missing("FechaHoraHusoGenRegistro"))?,
        huella: huella.ok_or(ReadError::Missing("Huella"))?,
    })
}

/// The record before, or `None` if the record says that it is the first.
fn previous<'a>(reader: &mut Reader<'a>) -> Result<Option<[Cow<'a, str>; 4]>, ReadError> {
    let mut previous = None;
    while let Some(name) = reader.child()? {
        if name.is(Ns::Information, "RegistroAnterior") {
            let mut key = Key::read(reader, "")?;
            let huella = key.huella.take().ok_or(ReadError::Missing("Huella"))?;
            let [issuer, number, date] = key.invoice()?;
            previous = Some([issuer, number, date, huella]);
        } else {
            reader.skip()?;
        }
    }
    Ok(previous)
}

/// Producer, identifier and installation of the computer system.
fn system<'a>(reader: &mut Reader<'a>) -> Result<[Cow<'a, str>; 3], ReadError> {
    let [mut producer, mut id, mut installation] = <[Cow<'a, str>; 3]>::default();
    while let Some(name) = reader.child()? {
        match local(&name, "") {
            "NIF" => producer = reader.text()?,
            "IDOtro" => {
                while let Some(part) = reader.child()? {
                    match local(&part, "") {
                        "ID" => producer = reader.text()?,
                        _ => reader.skip()?,
                    }
                }
            }
            "IdSistemaInformatico" => id = reader.text()?,
            "NumeroInstalacion" => installation = reader.text()?,
            _ => reader.skip()?,
        }
    }
    Ok([producer, id, installation])
}

/// The key of an invoice, with a huella beside it in a link.
#[derive(Default)]
struct Key<'a> {
    issuer: Option<Cow<'a, str>>,
    number: Option<Cow<'a, str>>,
    date: Option<Cow<'a, str>>,
    huella: Option<Cow<'a, str>>,
}

impl<'a> Key<'a> {
    fn read(reader: &mut Reader<'a>, suffix: &str) -> Result<Self, ReadError> {
        let mut key = Self::default();
        while let Some(name) = reader.child()? {
            let place = match local(&name, suffix) {
                "IDEmisorFactura" => &mut key.issuer,
                "NumSerieFactura" => &mut key.number,
                "FechaExpedicionFactura" => &mut key.date,
                "Huella" => &mut key.huella,
                _ => {
                    reader.skip()?;
                    continue;
                }
            };
            *place = Some(reader.text()?);
        }
        Ok(key)
    }

    fn invoice(self) -> Result<[Cow<'a, str>; 3], ReadError> {
        Ok([
            self.issuer.ok_or(ReadError::Missing("IDEmisorFactura"))?,
            self.number.ok_or(ReadError::Missing("NumSerieFactura"))?,
            self.date.ok_or(ReadError::Missing("FechaExpedicionFactura"))?,
        ])
    }
}

/// The local name without the ending that it has in a cancellation; nothing in other namespaces.
fn local<'a>(name: &Name<'a>, suffix: &str) -> &'a str {
    if name.ns == Ns::Information { name.local.strip_suffix(suffix).unwrap_or_default() } else { "" }
}
