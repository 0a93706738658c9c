//! AEAT's checks on one record, as data: a table of functions with one signature.
//!
//! The first refusal wins and is the record's only code; if none applies, the first admissible
//! error in AEAT's own order of priority (Val 4.3.1). A rule says which AEAT codes it may give; it
//! reads the record and the facts around it, and changes nothing.

mod admissible;
mod amounts;
mod chain;
mod dates;
mod foreign;
mod identity;
mod invoice_type;
mod line;
mod lines;
mod parties;
mod party;
mod rates;
mod regimes;

use jiff::Timestamp;
use jiff::civil::Date;

pub(crate) use self::line::hundredths;
use super::census::Census;
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
    /// Who exists.
    pub(crate) census: &'a Census,
}

/// A check: nothing, or what is wrong.
pub(crate) type Rule = fn(&Facts<'_>, Record<'_>) -> Option<Finding>;

/// Rules whose findings refuse the record, in the order they are applied.
const REFUSING: &[Rule] = &[
    identity::issuer_is_the_headers,
    identity::number_characters,
    dates::issue,
    identity::flags,
    invoice_type::correction_mode,
    invoice_type::corrected_invoices,
    invoice_type::substituted_invoices,
    invoice_type::earlier_issuers,
    invoice_type::corrected_amounts,
    dates::operation_in_reach,
    dates::public_works,
    dates::operation_before_issue,
    dates::operation_before_today,
    invoice_type::qualified_simplified,
    invoice_type::without_recipient,
    amounts::large_amount,
    parties::issued_by,
    parties::third_party_is_another,
    foreign::vat_number_by_type,
    parties::recipients_by_type,
    parties::generator,
    parties::generator_is_another,
    parties::check_characters,
    parties::names_of_persons,
    foreign::country,
    foreign::not_in_census,
    foreign::spain,
    foreign::vat_number,
    foreign::prefix,
    foreign::northern_ireland,
    foreign::great_britain,
    parties::census,
    invoice_type::coupon,
    regimes::missing,
    regimes::of_another_tax,
    regimes::of_no_tax,
    lines::classification,
    lines::exemption_of_vat,
    lines::reverse_charge_by_type,
    lines::rates_and_quotas,
    lines::quota_of_taxed_lines,
    lines::surcharge,
    lines::base_at_cost,
    lines::recipients_of_union_supplies,
    regimes::general,
    regimes::export,
    regimes::used_goods,
    regimes::gold,
    regimes::group,
    regimes::cash,
    regimes::other_territory,
    regimes::collections,
    regimes::premises,
    regimes::public_works_type,
    regimes::public_works_recipient,
    regimes::igic_subject_to_ipsi,
    rates::rate,
    rates::surcharge,
    amounts::sign,
    amounts::product,
    amounts::sign_at_cost,
    amounts::product_at_cost,
    amounts::simplified_limit,
    chain::huella_form,
    chain::previous_huella_alphanumeric,
];

/// Rules whose findings are noted on an accepted record, in AEAT's order of priority; then those
/// AEAT lists without a place in that order.
const ADMITTING: &[Rule] = &[
    parties::recipient_to_come,
    admissible::huella,
    amounts::total,
    amounts::quota_total,
    admissible::first_record,
    regimes::ipsi,
    admissible::clock,
    admissible::previous_huella_length,
    admissible::previous_huella_content,
    admissible::previous_huella_differs,
];

/// The first refusal of the record: its form, then the rules.
pub(crate) fn refusal(facts: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    form(record).or_else(|| business(facts, record))
}

/// The first value whose form is wrong.
pub(crate) fn form(record: Record<'_>) -> Option<Finding> {
    record.node().content(record.element).err()
}

/// The first rule that the record breaks.
pub(crate) fn business(facts: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    REFUSING.iter().find_map(|rule| rule(facts, record))
}

/// The first admissible error of a record that is not refused.
pub(crate) fn admission(facts: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    ADMITTING.iter().find_map(|rule| rule(facts, record))
}
