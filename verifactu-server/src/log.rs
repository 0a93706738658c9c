//! The log: lines on the standard error, with the tax identifiers in them masked.
//!
//! Whoever reads logs need not learn who invoices whom. What remains of an identifier is what the data
//! protection agency's guidance on the seventh additional provision of Ley Orgánica 3/2018 leaves: the
//! digits in the fourth to seventh place. That is enough to find the line of a case that is known.

use std::{
    borrow::Cow,
    io::{self, Write},
    ops::Range,
};

use crate::config::{LogConfig, LogFormat};

/// Starts the log of a program. Its standard output is left to what was asked for.
pub fn start(log: LogConfig) {
    let builder = tracing_subscriber::fmt().with_max_level(log.level).with_writer(|| Masked(io::stderr()));
    match log.format {
        LogFormat::Json => builder.json().flatten_event(true).init(),
        LogFormat::Text => builder.init(),
    }
}

/// A writer of whole lines that masks tax identifiers, for programs with a log of their own.
///
/// ```
/// use std::io::Write as _;
/// use verifactu_server::log::Masked;
///
/// let mut log = Masked(Vec::new());
/// log.write_all(b"issuer B12345674, recipient 12345678Z, huella 0123456789AB\n")?;
/// assert_eq!(log.0, b"issuer ****4567*, recipient ***4567**, huella 0123456789AB\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Masked<W>(pub W);

impl<W: Write> Write for Masked<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write_all(&masked(line))?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The line with its identifiers masked; itself, if it has none.
fn masked(line: &[u8]) -> Cow<'_, [u8]> {
    let mut masked = Cow::Borrowed(line);
    let mut start = 0;
    while start < line.len() {
        let length = line[start..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let escaped = start > 0 && line[start - 1] == b'\\';
        for at in identifier(&line[start..start + length], escaped) {
            masked.to_mut()[start + at] = b'*';
        }
        start += length + 1;
    }
    masked
}

/// The places to mask in a word, if it is a tax identifier: seven digits between two characters of which
/// one is a letter. Before it may stand the country, or what is left of an escape such as `\n`.
fn identifier(word: &[u8], escaped: bool) -> impl Iterator<Item = usize> {
    let before = match word {
        [b'E', b'S', ..] | [b'e', b's', ..] if word.len() == 11 => 2,
        [b'u', ..] if escaped => 5,
        _ if escaped => 1,
        _ => 0,
    };
    let kept: Option<Range<usize>> = match word.get(before..).unwrap_or_default() {
        [first, digits @ .., last] if digits.len() == 7 && digits.iter().all(u8::is_ascii_digit) => {
            match (first.is_ascii_alphabetic(), last.is_ascii_alphabetic()) {
                (true, _) => Some(4..8),
                (false, true) => Some(3..7),
                (false, false) => None,
            }
        }
        _ => None,
    };
    kept.into_iter()
        .flat_map(move |kept| (0..9).filter(move |at| !kept.contains(at)).map(move |at| before + at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_masked_and_nothing_else() {
        let rows = [
            ("12345678Z", "***4567**"),
            ("X1234567L", "****4567*"),
            ("B12345674", "****4567*"),
            ("Q2826000H", "****6000*"),
            ("b12345674", "****4567*"),
            ("\"nif\":\"B12345674\"", "\"nif\":\"****4567*\""),
            ("F-B12345674-1 de 12345678Z", "F-****4567*-1 de ***4567**"),
            ("ESB12345674", "ES****4567*"),
            (r"a\nB12345674 y \u00f1B12345674", r"a\n****4567* y \u00f1****4567*"),
            ("ñB12345674ñ", "ñ****4567*ñ"),
            ("123456789", "123456789"),
            ("12.345678901", "12.345678901"),
            ("2026-01-15T10:00:00.123456789Z", "2026-01-15T10:00:00.123456789Z"),
            ("01980000-0000-7000-8000-000000000000", "01980000-0000-7000-8000-000000000000"),
            (
                "FF954378B64ED331A9B2366AD317D86E9DEC1716B12DD0ACC",
                "FF954378B64ED331A9B2366AD317D86E9DEC1716B12DD0ACC",
            ),
            ("AB1234567C", "AB1234567C"),
            ("", ""),
        ];
        for (line, wanted) in rows {
            assert_eq!(String::from_utf8(masked(line.as_bytes()).into_owned()).unwrap(), wanted, "{line}");
        }
    }
}
