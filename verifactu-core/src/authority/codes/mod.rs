//! The authority's error codes, as it publishes them (`errores.properties`, Val 4).
//!
//! The table is data with a date: it changes without notice, and answers carry codes that it never
//! held. A code is therefore a number first, and only maybe a row of the table. Its level is the
//! section of the published file; its first digit means nothing.

mod advice;
mod table;

pub use advice::Advice;

/// What is known of one code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeInfo {
    /// The number.
    pub code: i64,
    /// What the error costs.
    pub level: Level,
    /// What may be sent next.
    pub retry: Retry,
    /// The authority's text, in Spanish. Answers add values to it.
    pub text: &'static str,
}

/// What an error costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// The whole submission.
    Submission,
    /// The record; the whole submission where the error is in the header.
    Record,
    /// Nothing at once: the record is stored, and most times to be corrected ([`Advice`]).
    Admitted,
}

/// What may be sent after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Retry {
    /// The same again: the authority failed.
    Unchanged,
    /// Something else: what was sent is wrong.
    Mended,
    /// Nothing, until somebody has seen to it: the presenter has no right, or is suspended.
    Operator,
}

impl CodeInfo {
    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> Advice {
        advice::of(self)
    }
}

/// The row of a code, if the table has it.
///
/// ```
/// use verifactu_core::authority::codes::{self, Level};
/// let duplicate = codes::lookup(3000).ok_or("unknown")?;
/// assert_eq!(duplicate.level, Level::Record);
/// assert!(codes::lookup(20009).is_none());
/// # Ok::<(), &str>(())
/// ```
#[must_use]
pub fn lookup(code: i64) -> Option<&'static CodeInfo> {
    let at = table::TABLE.binary_search_by_key(&code, |row| row.code).ok()?;
    table::TABLE.get(at)
}

/// Every row, in ascending order of codes.
pub fn all() -> impl Iterator<Item = &'static CodeInfo> {
    table::TABLE.iter()
}
