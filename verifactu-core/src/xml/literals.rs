//! The hashed fields of a record, read from its XML as they are spelled there, whoever wrote it: what
//! a walk of a chain recomputes huellas from.

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
    let (is_invoice, suffix) = if root.is(Ns::Information, "RegistroAlta") {
        (true, "")
    } else if root.is(Ns::Information, "RegistroAnulacion") {
        (false, "Anulada")
    } else {
        return Err(ReadError::Unexpected { expected: "a record" });
    };
    let mut invoice = None;
    let (mut kind, mut tax_total, mut total) = (None, None, None);
    let (mut link, mut generated_at, mut huella) = (None, None, None);
    while let Some(name) = reader.child()? {
        if name.ns != Ns::Information {
            reader.skip()?;
            continue;
        }
        match name.local {
            "IDFactura" => invoice = Some(Key::read(&mut reader, suffix)?.invoice()?),
            "TipoFactura" if is_invoice => kind = Some(reader.text()?),
            "CuotaTotal" if is_invoice => tax_total = Some(reader.text()?),
            "ImporteTotal" if is_invoice => total = Some(reader.text()?),
            "Encadenamiento" => link = Some(previous(&mut reader)?),
            "FechaHoraHusoGenRegistro" => generated_at = Some(reader.text()?),
            "Huella" => huella = Some(reader.text()?),
            _ => reader.skip()?,
        }
    }
    reader.finish()?;
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
