//! The QR of an invoice: the text that the authority's check service reads, and its picture at the
//! size that the Orden prescribes (arts. 20 and 21; QR 0.5.0).
//!
//! The text holds exactly four parameters in a fixed order. The service decodes them as form data,
//! so a plus sign must be escaped or it would be read as a blank; and it looks the amount up exactly,
//! so the amount is the record's own total.

mod png;
mod svg;
mod terminal;

use std::fmt::Write;

use fast_qr::{ECL, QRBuilder, QRCode};

use crate::{
    record::{Invoice, InvoiceId},
    types::{Amount, Environment},
};

pub use png::PngError;

/// Side of the printed symbol, without its quiet zone: between 30 and 40 mm are prescribed.
pub const SIDE_MM: f64 = 35.0;
/// Width of the white border: at least 2 mm are prescribed and 6 recommended.
pub const QUIET_ZONE_MM: f64 = 6.0;

const PATH: &str = "/wlpl/TIKE-CONT/ValidarQR";

/// Where the check service is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckService {
    base: String,
}

impl CheckService {
    /// The service of an environment. The sandbox's has no fixed place: it is given as scheme, host
    /// and port, such as `https://localhost:7443`, and is not used for the other two.
    #[must_use]
    pub fn new(environment: Environment, sandbox: &str) -> Self {
        let host = match environment {
            Environment::Production => "https://www2.agenciatributaria.gob.es",
            Environment::Preproduction => "https://prewww2.aeat.es",
            Environment::Sandbox => sandbox.trim_end_matches('/'),
        };
        Self { base: format!("{host}{PATH}") }
    }

    /// The text of an invoice's QR.
    ///
    /// ```
    /// use verifactu_core::{qr::CheckService, record::InvoiceId, types::*};
    /// let id = InvoiceId {
    ///     issuer: Nif::parse("89890001K")?,
    ///     number: InvoiceNumber::parse("12345678&G33")?,
    ///     date: Date::parse("01-01-2024")?,
    /// };
    /// assert_eq!(
    ///     CheckService::new(Environment::Preproduction, "").text_of(&id, Amount::parse("241.4")?),
    ///     "https://prewww2.aeat.es/wlpl/TIKE-CONT/ValidarQR?nif=89890001K&numserie=12345678%26G33&fecha=01-01-2024&importe=241.4",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn text_of(&self, id: &InvoiceId, total: Amount) -> String {
        let InvoiceId { issuer, number, date } = id;
        let mut text = String::with_capacity(200);
        let _ = write!(text, "{}?nif={issuer}&numserie=", self.base);
        escape(number.as_str(), &mut text);
        let _ = write!(text, "&fecha={date}&importe={total}");
        text
    }

    /// The text of an invoice's QR.
    #[must_use]
    pub fn text(&self, invoice: &Invoice) -> String {
        self.text_of(&invoice.id, invoice.total)
    }
}

/// Escapes everything but the unreserved characters of RFC 3986.
fn escape(value: &str, out: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

/// A QR symbol of error correction level M, to be drawn.
pub struct Symbol(Box<QRCode>);

/// The text is longer than any symbol can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text does not fit a QR symbol")]
pub struct TooLong;

impl Symbol {
    /// Encodes a text.
    ///
    /// # Errors
    /// [`TooLong`]; the text of an invoice never is.
    pub fn new(text: &str) -> Result<Self, TooLong> {
        QRBuilder::new(text).ecl(ECL::M).build().map(|code| Self(Box::new(code))).map_err(|_| TooLong)
    }

    /// Modules per side, without the quiet zone.
    #[must_use]
    pub fn modules(&self) -> usize {
        self.0.size
    }

    /// Whether the module in this column and row is dark; outside the symbol none is.
    #[must_use]
    pub fn is_dark(&self, column: usize, row: usize) -> bool {
        let size = self.0.size;
        column < size && row < size && self.0[row].get(column).is_some_and(|module| module.value())
    }

    /// An SVG document in millimetres: the symbol with its quiet zone, black on white.
    #[must_use]
    pub fn svg(&self) -> String {
        svg::draw(self)
    }

    /// A PNG file of one bit per pixel that says how large it is to be printed. Every module is a
    /// whole number of pixels wide.
    ///
    /// # Errors
    /// [`PngError`] if the encoder fails.
    pub fn png(&self) -> Result<Vec<u8>, PngError> {
        png::draw(self)
    }

    /// The symbol in half-block characters, for a terminal of light text on a dark ground.
    #[must_use]
    pub fn terminal(&self) -> String {
        terminal::draw(self)
    }
}

impl std::fmt::Debug for Symbol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Symbol({} modules)", self.modules())
    }
}
