//! A rule: its data, and the function that finds where it is broken.

use jiff::civil;

use crate::{
    record::{BreakdownLine, Cancellation, Invoice, Party},
    types::Date,
};

use super::{Context, Report, Role};

/// A rule of the authority, or of the specification of the service.
#[derive(Debug)]
pub struct Rule {
    /// Its name in settings and logs: the code where there is one.
    pub id: &'static str,
    /// The code the authority answers when it is broken.
    pub code: Option<u16>,
    /// What the authority does with a record that breaks it.
    pub level: Level,
    /// What it asks, in Spanish.
    pub text_es: &'static str,
    /// What it asks, in English.
    pub text_en: &'static str,
    /// First day on which it holds; absent: since the service exists.
    pub valid_from: Option<civil::Date>,
    /// Last day on which it holds; absent: until further notice.
    pub valid_to: Option<civil::Date>,
    /// Where it is published.
    pub source: &'static str,
    pub(super) check: Check,
}

/// What the authority does with a record that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Perhaps nothing: its code list and its rules contradict each other, or are silent. Worth a look.
    Doubtful,
    /// Accepts it with errors.
    Admitted,
    /// Rejects the record.
    Record,
    /// Refuses the whole submission.
    Submission,
}

impl Rule {
    /// Whether it holds on a day.
    #[must_use]
    pub fn is_in_force(&self, day: Date) -> bool {
        self.valid_from.is_none_or(|from| from <= day.civil())
            && self.valid_to.is_none_or(|to| day.civil() <= to)
    }

    /// What it takes to know whether it is broken.
    #[must_use]
    pub fn needs(&self) -> Needs {
        match self.check {
            Check::Ledger => Needs::Ledger,
            Check::LastDay(_) => Needs::Header,
            _ => Needs::Statement,
        }
    }

    /// Whether an operator may turn its findings into warnings. The rules that the specification of
    /// the service itself lists may not.
    #[must_use]
    pub fn is_demotable(&self) -> bool {
        self.needs() == Needs::Statement
            && !matches!(
                self.id,
                "1195" | "1196" | "1198" | "1208" | "1237" | "1238" | "1281" | "1284" | "regime_missing"
            )
    }
}

/// What it takes to know whether a rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Needs {
    /// The statement, and the day.
    Statement,
    /// What the header of a message states, and the day.
    Header,
    /// The chain and the ledger: it is kept while the record is sealed.
    Ledger,
}

/// The function of a rule, by what it looks at.
#[derive(Clone, Copy)]
pub(super) enum Check {
    Invoice(fn(&Invoice, &Context, &mut Report<'_>)),
    /// A breakdown line by itself.
    Line(fn(&BreakdownLine, &mut Report<'_>)),
    /// A breakdown line as a part of its invoice.
    LineOf(fn(&Invoice, &BreakdownLine, &mut Report<'_>)),
    Party(fn(&Party, &Role, &mut Report<'_>)),
    Cancellation(fn(&Cancellation, &mut Report<'_>)),
    /// The last day of VERI*FACTU operation.
    LastDay(fn(Date, &Context, &mut Report<'_>)),
    /// None: no statement shows whether it is broken.
    Ledger,
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Invoice(_) => "Invoice",
            Self::Line(_) => "Line",
            Self::LineOf(_) => "LineOf",
            Self::Party(_) => "Party",
            Self::Cancellation(_) => "Cancellation",
            Self::LastDay(_) => "LastDay",
            Self::Ledger => "Ledger",
        })
    }
}

/// A rule whose breach rejects the record; its code is its name.
pub(super) const fn record(
    id: &'static str,
    source: &'static str,
    text_es: &'static str,
    text_en: &'static str,
    check: Check,
) -> Rule {
    Rule {
        id,
        code: number(id),
        level: Level::Record,
        text_es,
        text_en,
        valid_from: None,
        valid_to: None,
        source,
        check,
    }
}

/// The number that a text of four digits spells.
const fn number(text: &str) -> Option<u16> {
    let bytes = text.as_bytes();
    if bytes.len() != 4 {
        return None;
    }
    let mut value = 0;
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            return None;
        }
        value = value * 10 + (bytes[at] - b'0') as u16;
        at += 1;
    }
    Some(value)
}
