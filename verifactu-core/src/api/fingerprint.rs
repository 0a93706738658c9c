//! The fingerprint of a request body: equal for bodies that say the same, so that a repeated
//! idempotency key can be told from one that is used for something else.
//!
//! Members are ordered and strings escaped as in RFC 8785. Numbers are written as exact normalised
//! decimals instead of its floats: `100`, `100.0` and `1e2` are one number, and no digit is lost.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::json::Json;

/// SHA-256 of the canonical form.
#[must_use]
pub fn fingerprint(body: &Json) -> [u8; 32] {
    Sha256::digest(canonical(body)).into()
}

/// The canonical form.
///
/// ```
/// use verifactu_core::api::{Json, canonical};
/// let body = Json::parse(br#"{"b": 1e2, "a": "\u00e9"}"#)?;
/// assert_eq!(canonical(&body), "{\"a\":\"é\",\"b\":1e2}");
/// # Ok::<(), verifactu_core::api::JsonError>(())
/// ```
#[must_use]
pub fn canonical(body: &Json) -> String {
    let mut out = String::with_capacity(1024);
    write_value(body, &mut out);
    out
}

fn write_value(value: &Json, out: &mut String) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(text) => write_number(text, out),
        Json::String(text) => write_string(text, out),
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(item, out);
            }
            out.push(']');
        }
        Json::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (key, value)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_value(value, out);
            }
            out.push('}');
        }
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Writes the significant digits as one integer with the power of ten that belongs to them: `1e2`
/// for one hundred, `1262e-1` for 126.20, `0` for every zero. No exponent makes this text long.
fn write_number(text: &str, out: &mut String) {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{integer}{fraction}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        out.push('0');
        return;
    }
    let trailing = digits.len() - digits.trim_end_matches('0').len();
    let shift =
        i128::try_from(trailing).unwrap_or_default() - i128::try_from(fraction.len()).unwrap_or_default();
    match exponent.parse::<i128>().ok().and_then(|exponent| exponent.checked_add(shift)) {
        Some(0) => {
            let _ = write!(out, "{sign}{significant}");
        }
        Some(exponent) => {
            let _ = write!(out, "{sign}{significant}e{exponent}");
        }
        // Beyond 10^(10^38) no two spellings need to be recognised as one.
        None => out.push_str(text),
    }
}
