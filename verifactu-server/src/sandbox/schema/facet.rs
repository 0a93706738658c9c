//! The form of a text: its length, pattern or list of values, and the code AEAT gives when it is
//! another.

use jiff::civil::Date;

use super::super::finding::Finding;

/// The form a text must have, and the code for one that has not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facet {
    pub(crate) form: Form,
    pub(crate) code: u16,
}

/// The forms of the schema's simple types.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// So many characters at least and at most.
    Text(usize, usize),
    /// One of these.
    OneOf(&'static [&'static str]),
    /// Nine characters; whether they are a NIF is a rule, not a form.
    Nif,
    /// `dd-mm-yyyy`, a day of the calendar.
    Date,
    /// A sign or none, 1 to 12 digits, and at most two decimals.
    Amount,
    /// 1 to 3 digits, and at most two decimals.
    Rate,
    /// `YYYY-MM-DDThh:mm:ss` with `Z` or `±hh:mm`, what the service takes of `xs:dateTime`.
    Stamp,
    /// Two characters, each `A`-`Z` or `0`-`9`.
    SystemId,
    /// Four digits.
    Year,
    /// A number of invoice: 1 to 60 characters, of which a rule says more.
    Number,
    /// Whatever; rules look at it.
    Any,
}

impl Facet {
    pub(crate) fn check(self, name: &str, text: &str) -> Result<(), Finding> {
        if self.form.admits(text) {
            return Ok(());
        }
        let finding = Finding::new(self.code);
        Err(if self.code == 1100 { finding.naming(name) } else { finding })
    }
}

impl Form {
    fn admits(self, text: &str) -> bool {
        match self {
            Self::Text(least, most) => (least..=most).contains(&text.chars().count()),
            Self::Number => (1..=60).contains(&text.chars().count()),
            Self::OneOf(values) => values.contains(&text),
            Self::Nif => text.chars().count() == 9,
            Self::Date => civil_date(text).is_some(),
            Self::Amount => decimal(text.strip_prefix(['+', '-']).unwrap_or(text), 12),
            Self::Rate => decimal(text, 3),
            Self::Stamp => stamp(text),
            Self::SystemId => {
                text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
            }
            Self::Year => text.len() == 4 && digits(text),
            Self::Any => true,
        }
    }
}

/// The day that a `dd-mm-yyyy` names, if the calendar has it.
pub(crate) fn civil_date(text: &str) -> Option<Date> {
    let mut parts = text.split('-');
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || (day.len(), month.len(), year.len()) != (2, 2, 4) {
        return None;
    }
    if ![day, month, year].into_iter().all(digits) {
        return None;
    }
    Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()
}

/// Whether the text is hexadecimal in upper case.
pub(crate) fn is_upper_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte))
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn decimal(text: &str, most: usize) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    digits(whole)
        && whole.len() <= most
        && fraction.len() <= 2
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
}

fn stamp(text: &str) -> bool {
    let shape = |text: &str, pattern: &str| {
        text.len() == pattern.len()
            && text.bytes().zip(pattern.bytes()).all(|(byte, like)| match like {
                b'0' => byte.is_ascii_digit(),
                b'+' => byte == b'+' || byte == b'-',
                other => byte == other,
            })
    };
    (shape(text, "0000-00-00T00:00:00Z") || shape(text, "0000-00-00T00:00:00+00:00"))
        && text.parse::<jiff::Timestamp>().is_ok()
}
