//! Rules on an invoice as a whole: dates, type-dependent blocks, counts, totals (Val 3.1.3).

use jiff::civil::{self, date};

use crate::{
    record::{
        ForeignIdType, Identification, Invoice, InvoiceType, IssuedBy, PriorRejection, RectificationMode,
        Regime,
    },
    types::{Amount, Cents},
};

use super::{
    Context, Field, Report, Step,
    lines::{MARGIN, is_vat_or_igic},
};

/// The day the Orden that founds the records was published.
const FIRST_ISSUE: civil::Date = date(2024, 10, 28);
/// One hundred million euros, in cents.
const LARGE: u64 = 100_000_000_00;
/// What a simplified invoice may come to, in cents.
const SIMPLIFIED: i64 = 3_000_00;

const FULL: [InvoiceType; 6] =
    [InvoiceType::F1, InvoiceType::F3, InvoiceType::R1, InvoiceType::R2, InvoiceType::R3, InvoiceType::R4];

fn is_full(invoice: &Invoice) -> bool {
    FULL.contains(&invoice.invoice_type)
}

// Dates

pub(super) fn issued_in_future(invoice: &Invoice, context: &Context, report: &mut Report<'_>) {
    if invoice.id.date > context.today {
        report.because(
            Field::Date,
            format!("{} is later than today, {}, in Madrid", invoice.id.date, context.today),
        );
    }
}

pub(super) fn issued_too_early(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.id.date.civil() < FIRST_ISSUE {
        report.at(Field::Date);
    }
}

/// Operations may lie ahead of the invoice where a line's tax is pending (regimes 14 and 15). With
/// several lines one such line suffices, and lines of IPSI and other taxes are not bound by it.
fn operation_may_follow(invoice: &Invoice) -> bool {
    invoice
        .breakdown
        .iter()
        .any(|line| !is_vat_or_igic(line) || matches!(line.regime, Some(Regime::R14 | Regime::R15)))
}

pub(super) fn operation_after_issue(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.operation_date.is_some_and(|day| day > invoice.id.date) && !operation_may_follow(invoice) {
        report.at(Field::OperationDate);
    }
}

pub(super) fn operation_in_future(invoice: &Invoice, context: &Context, report: &mut Report<'_>) {
    if invoice.operation_date.is_some_and(|day| day > context.today) && !operation_may_follow(invoice) {
        report.at(Field::OperationDate);
    }
}

pub(super) fn operation_too_old(invoice: &Invoice, context: &Context, report: &mut Report<'_>) {
    let oldest = context.today.civil().saturating_sub(jiff::Span::new().years(20));
    if invoice.operation_date.is_some_and(|day| day.civil() < oldest) {
        report.at(Field::OperationDate);
    }
}

/// The text can mean a year from today or the end of the next year; the later of the two is held.
pub(super) fn operation_too_far(invoice: &Invoice, context: &Context, report: &mut Report<'_>) {
    let next_year = context.today.civil().year().saturating_add(1);
    if invoice.operation_date.is_some_and(|day| day.civil().year() > next_year) {
        report.at(Field::OperationDate);
    }
}

// Corrections and rectifications

pub(super) fn not_held_without_correction(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    prior_rejection(invoice, PriorRejection::NotHeld, report);
}

pub(super) fn rejected_without_correction(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    prior_rejection(invoice, PriorRejection::Yes, report);
}

fn prior_rejection(invoice: &Invoice, value: PriorRejection, report: &mut Report<'_>) {
    if invoice.correction.prior_rejection == Some(value) && invoice.correction.corrects != Some(true) {
        report.at(Field::PriorRejection);
    }
}

pub(super) fn mode_missing(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.invoice_type.is_rectifying() && invoice.rectification.is_none() {
        report.at(Field::RectificationMode);
    }
}

pub(super) fn mode_out_of_place(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if !invoice.invoice_type.is_rectifying() && invoice.rectification.is_some() {
        report.at(Field::RectificationMode);
    }
}

pub(super) fn rectified_out_of_place(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if !invoice.invoice_type.is_rectifying() && !invoice.rectified.is_empty() {
        report.at(Field::Rectified);
    }
}

pub(super) fn replaced_out_of_place(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.invoice_type != InvoiceType::F3 && !invoice.replaced.is_empty() {
        report.at(Field::Replaced);
    }
}

pub(super) fn rectified_amounts_missing(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if is_substitution(invoice) && invoice.rectified_amounts.is_none() {
        report.at(Field::RectifiedAmounts);
    }
}

pub(super) fn rectified_amounts_out_of_place(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if !is_substitution(invoice) && invoice.rectified_amounts.is_some() {
        report.at(Field::RectifiedAmounts);
    }
}

fn is_substitution(invoice: &Invoice) -> bool {
    invoice.invoice_type.is_rectifying() && invoice.rectification == Some(RectificationMode::Substitution)
}

// Flags

pub(super) fn qualified_simplified(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.qualified_simplified == Some(true) && !is_full(invoice) {
        report.at(Field::QualifiedSimplified);
    }
}

pub(super) fn without_recipient(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.without_recipient == Some(true) && !invoice.invoice_type.is_simplified() {
        report.at(Field::WithoutRecipient);
    }
}

pub(super) fn coupon(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.coupon == Some(true) && !matches!(invoice.invoice_type, InvoiceType::R1 | InvoiceType::R5) {
        report.at(Field::Coupon);
    }
}

pub(super) fn large_amount_missing(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.large_amount != Some(true) && is_large(invoice.total) {
        report.at(Field::LargeAmount);
    }
}

pub(super) fn large_amount_out_of_place(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.large_amount == Some(true) && !is_large(invoice.total) {
        report.at(Field::LargeAmount);
    }
}

fn is_large(total: Amount) -> bool {
    total.cents().unsigned_abs() >= LARGE
}

// Third party and recipients

pub(super) fn third_party_unannounced(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.third_party.is_some() && invoice.issued_by.is_none() {
        report.at(Field::IssuedBy);
    }
}

pub(super) fn third_party_with_recipient(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.third_party.is_some() && invoice.issued_by == Some(IssuedBy::Recipient) {
        report.at(Field::ThirdParty);
    }
}

pub(super) fn third_party_missing(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.third_party.is_none() && invoice.issued_by == Some(IssuedBy::ThirdParty) {
        report.at(Field::ThirdParty);
    }
}

pub(super) fn issuing_recipient_missing(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.recipients.is_empty() && invoice.issued_by == Some(IssuedBy::Recipient) {
        report.at(Field::Recipients);
    }
}

pub(super) fn third_party_is_issuer(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    let is_issuer = |identification: &Identification| matches!(identification, Identification::Nif(nif) if *nif == invoice.id.issuer);
    if invoice.third_party.as_ref().is_some_and(|party| is_issuer(&party.identification)) {
        report.inside(&[Step::Field(Field::ThirdParty), Step::Field(Field::Nif)]);
    }
}

pub(super) fn recipient_missing(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if is_full(invoice) && invoice.recipients.is_empty() {
        report.at(Field::Recipients);
    }
}

pub(super) fn recipient_out_of_place(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.invoice_type.is_simplified() && !invoice.recipients.is_empty() {
        report.at(Field::Recipients);
    }
}

pub(super) fn eu_recipient_out_of_place(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if is_full(invoice) {
        return;
    }
    for (index, recipient) in invoice.recipients.iter().enumerate() {
        if matches!(&recipient.identification, Identification::Foreign(id) if id.kind == ForeignIdType::EuVat)
        {
            report.inside(&[
                Step::Field(Field::Recipients),
                Step::Index(index),
                Step::Field(Field::ForeignId),
                Step::Field(Field::ForeignIdType),
            ]);
        }
    }
}

// Counts

pub(super) fn line_count(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    let count = invoice.breakdown.len();
    if !(1..=12).contains(&count) {
        report.because(Field::Breakdown, format!("1 to 12 lines are allowed, there are {count}"));
    }
}

pub(super) fn item_count(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    let counts = [
        (Field::Rectified, invoice.rectified.len()),
        (Field::Replaced, invoice.replaced.len()),
        (Field::Recipients, invoice.recipients.len()),
    ];
    for (field, count) in counts {
        if count > 1000 {
            report.because(field, format!("at most 1000 are allowed, there are {count}"));
        }
    }
}

// Totals

pub(super) fn simplified_limit(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    let excused = invoice.invoicing_agreement.is_some() || invoice.without_recipient == Some(true);
    if invoice.invoice_type != InvoiceType::F2 || excused {
        return;
    }
    // The surcharge does not count.
    let sum: Cents =
        invoice.breakdown.iter().flat_map(|line| [Some(line.base), line.tax_amount]).flatten().sum();
    if sum.0 > SIMPLIFIED + MARGIN {
        report.at(Field::Breakdown);
    }
}

pub(super) fn tax_total(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    let sum = invoice.breakdown.iter().fold(Cents(0), |sum, line| sum + line.tax_total());
    total_agrees(invoice, Field::TaxTotal, invoice.tax_total, sum, report);
}

pub(super) fn total(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    let sum = invoice.breakdown.iter().fold(Cents(0), |sum, line| sum + line.total());
    total_agrees(invoice, Field::Total, invoice.total, sum, report);
}

/// One line under a regime whose lines do not carry the whole price excuses both totals.
fn total_agrees(invoice: &Invoice, field: Field, stated: Amount, sum: Cents, report: &mut Report<'_>) {
    let excused = invoice.breakdown.iter().any(|line| {
        matches!(line.regime, Some(Regime::R03 | Regime::R05 | Regime::R06 | Regime::R08 | Regime::R09))
    });
    let difference = Cents::from(stated) - sum;
    if !excused && difference.0.abs() > MARGIN {
        let sum =
            sum.amount().map_or_else(|| "more than an amount can hold".to_owned(), |sum| sum.to_string());
        report.because(field, format!("{stated} is more than 10.00 away from the sum of the lines, {sum}"));
    }
}
