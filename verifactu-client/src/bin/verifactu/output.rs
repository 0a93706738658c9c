//! What is printed: a text for people, or one line of JSON for programs.

use std::io::{IsTerminal as _, Write as _, stderr, stdout};

use serde::Serialize;
use serde_json::{Value, json};
use verifactu_client::{
    Error,
    api::{Detail, Details},
};

use crate::failure::{Failure, Finding, told};

/// For whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    People,
    Programs,
}

impl Output {
    /// Prints a result in one of its two forms.
    pub(crate) fn print(self, text: &str, json: &Value) -> Result<(), Failure> {
        let mut out = stdout().lock();
        match self {
            Self::People => writeln!(out, "{}", text.trim_end())?,
            Self::Programs => writeln!(out, "{json}")?,
        }
        Ok(out.flush()?)
    }

    /// Tells people that a list is empty; for programs it is.
    pub(crate) fn note(self, text: &str) -> Result<(), Failure> {
        if self == Self::People {
            writeln!(stdout().lock(), "{text}")?;
        }
        Ok(())
    }

    /// Says on the error output why there is no result. Nothing is left to do if that fails.
    pub(crate) fn fail(self, failure: &Failure) {
        let text = told(failure);
        let document = failure.service().and_then(Error::service).map(|error| &error.document);
        let mut out = stderr().lock();
        let _ = match self {
            Self::Programs => {
                let key = match failure {
                    Failure::Sending(key, _) => Some(key.as_str()),
                    _ => None,
                };
                writeln!(out, "{}", json!({"error": text, "document": document, "idempotencyKey": key}))
            }
            Self::People => {
                let mut text = format!("error: {}", plain(&text));
                match document.and_then(|document| document.details.as_ref()) {
                    // The message of a single one is the message of the error.
                    Some(Details::Fields(several)) if several.len() > 1 => {
                        for Detail { field, message, .. } in several {
                            text += &format!("\n  {}: {}", plain(field), plain(message));
                        }
                    }
                    _ => {}
                }
                if let Some(advice) = failure.advice() {
                    text += &format!("\n{advice}");
                }
                writeln!(out, "{text}")
            }
        };
    }

    /// The word for a finding, coloured on a terminal.
    pub(crate) fn word(finding: Finding) -> &'static str {
        match (finding, stdout().is_terminal()) {
            (Finding::Holds, true) => "\u{1b}[32mok\u{1b}[0m",
            (Finding::Holds, false) => "ok",
            (Finding::Fails, true) => "\u{1b}[31mFAILED\u{1b}[0m",
            (Finding::Fails, false) => "FAILED",
        }
    }
}

/// An answer as a value.
pub(crate) fn value(answer: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(answer).map_err(|error| Failure::unusable("the answer", error))
}

/// A value as people read it: an indented list of `name: value`, each item of a list behind a stroke.
pub(crate) fn listed(value: &Value) -> String {
    lines(value).join("\n")
}

fn lines(value: &Value) -> Vec<String> {
    match value {
        Value::Object(members) if !members.is_empty() => {
            members.iter().flat_map(|(name, member)| named(name, member)).collect()
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().flat_map(|item| behind("- ", item)).collect()
        }
        Value::Null | Value::Object(_) | Value::Array(_) => vec!["-".to_owned()],
        Value::String(text) => vec![plain(text)],
        other => vec![other.to_string()],
    }
}

fn named(name: &str, member: &Value) -> Vec<String> {
    let lines = lines(member);
    match lines.as_slice() {
        [only] if !member.is_object() && !member.is_array() || only == "-" => vec![format!("{name}: {only}")],
        _ => [format!("{name}:")].into_iter().chain(lines.iter().map(|line| format!("  {line}"))).collect(),
    }
}

/// The first line behind a mark, and the others below it.
fn behind(mark: &str, value: &Value) -> Vec<String> {
    let indents = [mark.to_owned()].into_iter().chain(std::iter::repeat(" ".repeat(mark.len())));
    indents.zip(lines(value)).map(|(indent, line)| indent + &line).collect()
}

/// Control characters are left out: what a service says must not steer a terminal.
fn plain(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).collect()
}
