//! Rules on the classification and the amounts of a breakdown line (Val 3.1.3.15.1-5, 7, 8).

use crate::{
    record::{BreakdownLine, Exemption, Invoice, InvoiceType, Qualification, RectificationMode, Regime, Tax},
    types::{Amount, Rate},
};

use super::{Field, Report};

/// Ten euros, the margin of every comparison of amounts, in cents.
pub(super) const MARGIN: i64 = 10_00;

/// An absent tax is VAT.
pub(super) fn is_vat(line: &BreakdownLine) -> bool {
    matches!(line.tax, None | Some(Tax::Vat))
}

pub(super) fn is_vat_or_igic(line: &BreakdownLine) -> bool {
    is_vat(line) || line.tax == Some(Tax::Igic)
}

fn is_not_subject(line: &BreakdownLine) -> bool {
    matches!(line.qualification, Some(Qualification::N1 | Qualification::N2))
}

/// The first of rate, tax and surcharge fields that is there, be it zero.
fn first_tax_field(line: &BreakdownLine) -> Option<Field> {
    line.rate
        .map(|_| Field::Rate)
        .or(line.tax_amount.map(|_| Field::TaxAmount))
        .or(line.surcharge_rate.map(|_| Field::SurchargeRate))
        .or(line.surcharge_amount.map(|_| Field::SurchargeAmount))
}

pub(super) fn unclassified(line: &BreakdownLine, report: &mut Report<'_>) {
    if line.qualification.is_none() && line.exemption.is_none() {
        report.at(Field::Qualification);
    }
}

pub(super) fn classified_twice(line: &BreakdownLine, report: &mut Report<'_>) {
    if line.qualification.is_some() && line.exemption.is_some() {
        report.at(Field::Exemption);
    }
}

pub(super) fn exemption_of_igic(line: &BreakdownLine, report: &mut Report<'_>) {
    if is_vat(line) && matches!(line.exemption, Some(Exemption::E7 | Exemption::E8)) {
        report.at(Field::Exemption);
    }
}

pub(super) fn reverse_charge_zero(line: &BreakdownLine, report: &mut Report<'_>) {
    if line.qualification != Some(Qualification::S2) {
        return;
    }
    if line.rate != Some(Rate::ZERO) {
        report.at(Field::Rate);
    }
    if line.tax_amount != Some(Amount::ZERO) {
        report.at(Field::TaxAmount);
    }
}

pub(super) fn reverse_charge_type(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    if line.qualification == Some(Qualification::S2) && invoice.invoice_type.is_simplified() {
        report.at(Field::Qualification);
    }
}

pub(super) fn not_subject_untaxed(line: &BreakdownLine, report: &mut Report<'_>) {
    if is_not_subject(line) && is_vat(line) {
        first_tax_field(line).into_iter().for_each(|field| report.at(field));
    }
}

pub(super) fn exempt_untaxed(line: &BreakdownLine, report: &mut Report<'_>) {
    if line.exemption.is_some() {
        first_tax_field(line).into_iter().for_each(|field| report.at(field));
    }
}

/// Reverse charge, VAT that is not subject and exemptions have stricter rules of their own.
pub(super) fn tax_only_with_s1(line: &BreakdownLine, report: &mut Report<'_>) {
    let taxed = line.tax_amount.is_some_and(|amount| amount != Amount::ZERO);
    if taxed && is_not_subject(line) && !is_vat(line) {
        report.at(Field::TaxAmount);
    }
}

pub(super) fn taxed_without_rate(line: &BreakdownLine, report: &mut Report<'_>) {
    if line.qualification == Some(Qualification::S1) && line.base_at_cost.is_none() {
        rate_and_tax(line, report);
    }
}

/// Without a base at cost the general rule speaks already.
pub(super) fn group_without_rate(line: &BreakdownLine, report: &mut Report<'_>) {
    let group = line.qualification == Some(Qualification::S1) && line.regime == Some(Regime::R06);
    if group && line.base_at_cost.is_some() {
        rate_and_tax(line, report);
    }
}

fn rate_and_tax(line: &BreakdownLine, report: &mut Report<'_>) {
    if line.rate.is_none() {
        report.at(Field::Rate);
    }
    if line.tax_amount.is_none() {
        report.at(Field::TaxAmount);
    }
}

pub(super) fn surcharge_only_with_s1(line: &BreakdownLine, report: &mut Report<'_>) {
    // A line without any classification is told so; what it should become is not known.
    let other = line.exemption.is_some() || line.qualification.is_some_and(|q| q != Qualification::S1);
    if other && line.surcharge_rate.is_some() {
        report.at(Field::SurchargeRate);
    } else if other && line.surcharge_amount.is_some() {
        report.at(Field::SurchargeAmount);
    }
}

pub(super) fn surcharge_pair(line: &BreakdownLine, report: &mut Report<'_>) {
    match (line.surcharge_rate, line.surcharge_amount) {
        (Some(_), None) => report.at(Field::SurchargeAmount),
        (None, Some(_)) => report.at(Field::SurchargeRate),
        _ => {}
    }
}

pub(super) fn base_at_cost_allowed(line: &BreakdownLine, report: &mut Report<'_>) {
    let allowed = line.regime == Some(Regime::R06) || matches!(line.tax, Some(Tax::Ipsi | Tax::Other));
    if line.base_at_cost.is_some() && !allowed {
        report.at(Field::BaseAtCost);
    }
}

pub(super) fn sign(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    if line.base_at_cost.is_none() {
        signs_agree(invoice, line, line.base, report);
    }
}

pub(super) fn sign_at_cost(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    if let Some(base) = line.base_at_cost {
        signs_agree(invoice, line, base, report);
    }
}

pub(super) fn product(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    if line.base_at_cost.is_none() {
        product_agrees(invoice, line, line.base, report);
    }
}

pub(super) fn product_at_cost(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    if let Some(base) = line.base_at_cost {
        product_agrees(invoice, line, base, report);
    }
}

/// Rectifications by differences, and those for insolvency and bad debt, need not add up line by line.
fn is_checked(invoice: &Invoice, line: &BreakdownLine) -> bool {
    line.qualification == Some(Qualification::S1)
        && invoice.rectification != Some(RectificationMode::Differences)
        && !matches!(invoice.invoice_type, InvoiceType::R2 | InvoiceType::R3)
}

/// Zero goes with either sign.
fn signs_agree(invoice: &Invoice, line: &BreakdownLine, base: Amount, report: &mut Report<'_>) {
    let opposite = |tax: Amount| tax.cents().signum() * base.cents().signum() < 0;
    if is_checked(invoice, line) && line.tax_amount.is_some_and(opposite) {
        report.at(Field::TaxAmount);
    }
}

fn product_agrees(invoice: &Invoice, line: &BreakdownLine, base: Amount, report: &mut Report<'_>) {
    let (Some(rate), Some(tax)) = (line.rate, line.tax_amount) else { return };
    // In hundredths of a percent of a cent, so that nothing is rounded.
    let exact = i128::from(base.cents()) * i128::from(rate.hundredths());
    let difference = i128::from(tax.cents()) * 10_000 - exact;
    if is_checked(invoice, line) && difference.abs() > i128::from(MARGIN) * 10_000 {
        report.because(Field::TaxAmount, format!("{tax} is more than 10.00 away from {rate} % of {base}"));
    }
}
