//! AEAT's checks on one record, as data: a table of functions with one signature.
//!
//! The first refusal wins and is the record's only code; if none applies, the first admissible
//! error in AEAT's own order of priority (Val 4.3.1). A rule says which AEAT codes it may give; it
//! reads the record and the facts around it, and changes nothing.

mod admissible;
mod chain;
mod identity;
mod lines;
mod parties;

use jiff::Timestamp;
use jiff::civil::Date;

use super::finding::Finding;
use super::record::Record;

/// The facts a rule may need beside the record.
pub(crate) struct Facts<'a> {
    /// NIF of the header's `ObligadoEmision`.
    pub(crate) issuer: &'a str,
    /// Whether the header says `Incidencia=S`.
    pub(crate) incident: bool,
    /// The authority's time.
    pub(crate) now: Timestamp,
    /// The authority's date, in Madrid.
    pub(crate) today: Date,
    /// How far a record's stamp may lie from `now`, in seconds.
    pub(crate) clock_margin: u32,
    /// Whether records of this issuer and system are stored already.
    pub(crate) system_has_records: bool,
}

/// A check: nothing, or what is wrong.
pub(crate) type Rule = fn(&Facts<'_>, Record<'_>) -> Option<Finding>;

/// Rules whose findings refuse the record, in the order they are applied.
const REFUSING: &[Rule] = &[
    identity::issuer_is_the_headers,
    identity::number_characters,
    identity::issue_date,
    identity::flags,
    parties::recipients_by_type,
    parties::check_characters,
    lines::classification,
    lines::rates_and_quotas,
    lines::surcharge,
    chain::huella_form,
    chain::previous_huella_alphanumeric,
];

/// Rules whose findings are noted on an accepted record, in AEAT's order of priority; then those
/// AEAT lists without a place in that order.
const ADMITTING: &[Rule] = &[
    admissible::huella,
    admissible::first_record,
    admissible::clock,
    admissible::previous_huella_length,
    admissible::previous_huella_content,
    admissible::previous_huella_differs,
];

/// The first refusal of the record: its form, then the rules.
pub(crate) fn refusal(facts: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    record
        .node()
        .content(record.element)
        .err()
        .or_else(|| REFUSING.iter().find_map(|rule| rule(facts, record)))
}

/// The first admissible error of a record that is not refused.
pub(crate) fn admission(facts: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    ADMITTING.iter().find_map(|rule| rule(facts, record))
}
