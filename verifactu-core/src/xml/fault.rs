//! The refusal of a whole message: a SOAP 1.1 fault, on HTTP 200 and 500 alike (SWeb 5.1, 6.2).
//!
//! The authority puts its error's number into the text: `Codigo[4104].El NIF …`. The number may be
//! missing, may be negative, and may be one that no published table holds.

use super::{
    answer::{once, owned},
    reader::{Ns, ReadError, Reader},
};

/// A refusal of a whole message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Whose fault it is, in the authority's opinion.
    #[doc(alias = "faultcode")]
    pub side: FaultSide,
    /// The number of the error, if the text has one.
    pub code: Option<i64>,
    /// The text without the number.
    #[doc(alias = "faultstring")]
    pub description: String,
}

/// The two sides of SOAP 1.1, section 4.4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultSide {
    /// The message is wrong: to be mended before it is sent again.
    Client,
    /// The authority failed: the same message may be sent again.
    Server,
    /// Neither of the two.
    Other,
}

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Fault, ReadError> {
    let (mut side, mut text) = (None, None);
    while let Some(part) = reader.child()? {
        match (part.ns, part.local) {
            (Ns::None | Ns::Soap, "faultcode") => once(&mut side, read_side(&reader.text()?), "faultcode")?,
            (Ns::None | Ns::Soap, "faultstring") => once(&mut text, owned(reader)?, "faultstring")?,
            _ => reader.skip()?,
        }
    }
    let (code, description) = split(text.as_deref().unwrap_or_default());
    let side = side.ok_or(ReadError::Missing("faultcode"))?;
    Ok(Fault { side, code, description: description.to_owned() })
}

/// A name with any prefix; dots divide it into finer kinds.
fn read_side(name: &str) -> FaultSide {
    let local = name.rsplit_once(':').map_or(name, |(_, local)| local);
    match local.split('.').next() {
        Some("Client") => FaultSide::Client,
        Some("Server") => FaultSide::Server,
        _ => FaultSide::Other,
    }
}

/// Takes `Codigo[NNNN].` off the front of a fault's text. A number elsewhere in the text counts too,
/// but then the text stays whole.
fn split(text: &str) -> (Option<i64>, &str) {
    const MARK: &str = "Codigo[";
    let Some(at) = text.find(MARK) else {
        return (None, text);
    };
    let rest = &text[at + MARK.len()..];
    let Some((number, behind)) = rest.split_once(']') else {
        return (None, text);
    };
    let digits = number.strip_prefix('-').unwrap_or(number);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return (None, text);
    }
    let description = if at == 0 { behind.trim_start_matches(['.', ' ']) } else { text };
    (number.parse().ok(), description)
}
