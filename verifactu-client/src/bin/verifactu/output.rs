//! What is printed: a text for people, or one line of JSON for programs.

use std::io::{IsTerminal as _, Write as _, stderr, stdout};

use serde::Serialize;
use serde_json::{Value, json};

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

    /// Says on the error output why there is no result. Nothing is left to do if that fails.
    pub(crate) fn fail(self, failure: &Failure) {
        let text = told(failure);
        let service = match failure {
            Failure::Service(error) => error.service(),
            _ => None,
        };
        let mut out = stderr().lock();
        let _ = match self {
            Self::Programs => {
                writeln!(out, "{}", json!({"error": text, "document": service.map(|error| &error.document)}))
            }
            Self::People => writeln!(out, "error: {text}"),
        };
        if let (Self::People, Some(details)) =
            (self, service.and_then(|error| serde_json::to_value(&error.document).ok()))
        {
            for detail in details["details"].as_array().into_iter().flatten() {
                let _ = writeln!(out, "  {}: {}", plain(&detail["field"]), plain(&detail["message"]));
            }
        }
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

/// A value as people read it: an indented list of `name: value`.
pub(crate) fn listed(value: &Value) -> String {
    let mut text = String::new();
    list(value, 0, &mut text);
    text
}

fn list(value: &Value, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if member.is_object() || member.is_array() {
                    *text += &format!("{indent}{name}:\n");
                    list(member, depth + 1, text);
                } else {
                    *text += &format!("{indent}{name}: {}\n", plain(member));
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| list(item, depth, text)),
        _ => *text += &format!("{indent}{}\n", plain(value)),
    }
}

/// Control characters are left out: what a service says must not steer a terminal.
fn plain(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.chars().filter(|character| !character.is_control()).collect()
}
