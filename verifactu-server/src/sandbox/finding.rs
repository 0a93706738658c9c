//! What is wrong with a message or a record: one of AEAT's codes, with the words around its text.

use super::codes::{self, Level};

/// A code and its message, composed as AEAT does: an optional block before the official text, an
/// optional detail after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) code: u16,
    block: &'static str,
    detail: String,
    field: Option<&'static str>,
}

impl Finding {
    pub(crate) fn new(code: u16) -> Self {
        Self { code, block: "", detail: String::new(), field: None }
    }

    /// Adds `: <element>` to the text.
    pub(crate) fn naming(self, element: &str) -> Self {
        self.with_detail(format!(": {element}"))
    }

    /// Adds words after the text, punctuation included.
    pub(crate) fn with_detail(mut self, detail: String) -> Self {
        self.detail = detail;
        self
    }

    /// Puts the words of a block before the text: `Error en el bloque Destinatario.`.
    pub(crate) fn in_block(mut self, block: &'static str) -> Self {
        self.block = block;
        self
    }

    /// Fills the `%s` of the text.
    pub(crate) fn about(mut self, field: &'static str) -> Self {
        self.field = Some(field);
        self
    }

    /// What AEAT's list says the code does; a code that is not listed refuses.
    pub(crate) fn level(&self) -> Level {
        codes::entry(self.code).map_or(Level::Rejected, |entry| entry.level)
    }

    /// The description, as it stands in an answer.
    pub(crate) fn description(&self) -> String {
        let text = codes::text(self.code);
        let text = match self.field {
            Some(field) => text.replace("%s", field),
            None => text.to_owned(),
        };
        if self.block.is_empty() {
            format!("{text}{}", self.detail)
        } else {
            format!("{}. {text}{}", self.block, self.detail)
        }
    }
}
