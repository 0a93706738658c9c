//! Rules on the classification and the amounts of a breakdown line (Val 3.1.3.15.1-5, 7, 8).

use crate::{
    record::{BreakdownLine, Exemption, Invoice, InvoiceType, Qualification, RectificationMode, Regime, Tax},
    types::{Amount, Rate},
};

use super::{Check, Field, Report, Rule, rule::record};

/// A euro in cents.
pub(super) const EURO: i64 = 100;
/// The margin of every comparison of amounts.
pub(super) const MARGIN: i64 = 10 * EURO;

pub(super) static RULES: &[Rule] = &[
    record(
        "1195",
        "Val 3.1.3.15.4",
        "Falta calificar la operación: indique la calificación o la causa de exención.",
        "qualification and exemption cause are both missing: state one of them",
        Check::Line(unclassified),
    ),
    record(
        "1196",
        "Val 3.1.3.15.4",
        "La calificación y la causa de exención se excluyen: indique solo una.",
        "qualification and exemption cause exclude each other: state only one of them",
        Check::Line(classified_twice),
    ),
    record(
        "1198",
        "Val 3.1.3.15.4",
        "Con inversión del sujeto pasivo (S2), tipo y cuota son obligatorios y valen cero.",
        "with reverse charge (S2) rate and tax must both be stated as 0",
        Check::Line(reverse_charge_zero),
    ),
    record(
        "1208",
        "Val 3.1.3.15.7",
        "Una operación sujeta y no exenta (S1) sin base a coste necesita tipo y cuota.",
        "with S1 rate and tax are mandatory, unless there is a base at cost",
        Check::Line(taxed_without_rate),
    ),
    record(
        "1209",
        "Val 3.1.3.15.7",
        "En el régimen 06 una operación S1 necesita tipo y cuota.",
        "with S1 under regime 06 rate and tax are mandatory",
        Check::Line(group_without_rate),
    ),
    record(
        "1237",
        "Val 3.1.3.15.4",
        "Una operación no sujeta (N1, N2) de IVA no lleva tipo, cuota ni recargo.",
        "a VAT line that is not subject (N1, N2) carries no rate, tax or surcharge, not even zero",
        Check::Line(not_subject_untaxed),
    ),
    record(
        "1238",
        "Val 3.1.3.15.5",
        "Una operación exenta no lleva tipo, cuota ni recargo.",
        "an exempt line carries no rate, tax or surcharge, not even zero",
        Check::Line(exempt_untaxed),
    ),
    record(
        "1281",
        "Val 3.1.3.15.3",
        "El recargo de equivalencia solo cabe en operaciones S1.",
        "the equivalence surcharge goes with S1 only",
        Check::Line(surcharge_only_with_s1),
    ),
    record(
        "1284",
        "Val 3.1.3.15.3",
        "El tipo y la cuota del recargo de equivalencia van siempre juntos.",
        "rate and amount of the equivalence surcharge go together",
        Check::Line(surcharge_pair),
    ),
    record(
        "1182",
        "Val 3.1.3.15.5",
        "Las causas de exención E7 y E8 no existen en el IVA.",
        "the exemption causes E7 and E8 do not exist for VAT",
        Check::Line(exemption_of_igic),
    ),
    record(
        "1197",
        "Val 3.1.3.15.4",
        "La inversión del sujeto pasivo (S2) no cabe en F2 ni R5.",
        "reverse charge (S2) is possible with F1, F3 and R1 to R4 only",
        Check::LineOf(reverse_charge_type),
    ),
    record(
        "1207",
        "Val 3.1.3.15.4",
        "Solo una operación S1 puede llevar una cuota distinta de cero.",
        "only S1 can carry a tax other than zero",
        Check::Line(tax_only_with_s1),
    ),
    record(
        "1257",
        "Val 3.1.3.15.1-3",
        "La base a coste solo cabe en el régimen 06 o en los impuestos 02 y 05.",
        "a base at cost is possible under regime 06 and for the taxes 02 and 05 only",
        Check::Line(base_at_cost_allowed),
    ),
    record(
        "1143",
        "Val 3.1.3.15.7",
        "La cuota y la base deben tener el mismo signo.",
        "tax and base must have the same sign",
        Check::LineOf(sign),
    ),
    record(
        "1142",
        "Val 3.1.3.15.7",
        "La cuota se aparta más de 10,00 del tipo aplicado a la base.",
        "the tax is more than 10.00 away from rate times base",
        Check::LineOf(product),
    ),
    record(
        "1140",
        "Val 3.1.3.15.8",
        "La cuota y la base a coste deben tener el mismo signo.",
        "tax and base at cost must have the same sign",
        Check::LineOf(sign_at_cost),
    ),
    record(
        "1144",
        "Val 3.1.3.15.8",
        "La cuota se aparta más de 10,00 del tipo aplicado a la base a coste.",
        "the tax is more than 10.00 away from rate times base at cost",
        Check::LineOf(product_at_cost),
    ),
];

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

fn unclassified(line: &BreakdownLine, report: &mut Report<'_>) {
    if line.qualification.is_none() && line.exemption.is_none() {
        report.at(Field::Qualification);
    }
}

fn classified_twice(line: &BreakdownLine, report: &mut Report<'_>) {
    if line.qualification.is_some() && line.exemption.is_some() {
        report.at(Field::Exemption);
    }
}

fn exemption_of_igic(line: &BreakdownLine, report: &mut Report<'_>) {
    if is_vat(line) && matches!(line.exemption, Some(Exemption::E7 | Exemption::E8)) {
        report.at(Field::Exemption);
    }
}

fn reverse_charge_zero(line: &BreakdownLine, report: &mut Report<'_>) {
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

fn reverse_charge_type(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    if line.qualification == Some(Qualification::S2) && invoice.invoice_type.is_simplified() {
        report.at(Field::Qualification);
    }
}

fn not_subject_untaxed(line: &BreakdownLine, report: &mut Report<'_>) {
    if is_not_subject(line) && is_vat(line) {
        first_tax_field(line).into_iter().for_each(|field| report.at(field));
    }
}

fn exempt_untaxed(line: &BreakdownLine, report: &mut Report<'_>) {
    if line.exemption.is_some() {
        first_tax_field(line).into_iter().for_each(|field| report.at(field));
    }
}

/// Reverse charge, VAT that is not subject and exemptions have stricter rules of their own.
fn tax_only_with_s1(line: &BreakdownLine, report: &mut Report<'_>) {
    let taxed = line.tax_amount.is_some_and(|amount| amount != Amount::ZERO);
    if taxed && is_not_subject(line) && !is_vat(line) {
        report.at(Field::TaxAmount);
    }
}

fn taxed_without_rate(line: &BreakdownLine, report: &mut Report<'_>) {
    if line.qualification == Some(Qualification::S1) && line.base_at_cost.is_none() {
        rate_and_tax(line, report);
    }
}

/// Without a base at cost the general rule speaks already.
fn group_without_rate(line: &BreakdownLine, report: &mut Report<'_>) {
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

fn surcharge_only_with_s1(line: &BreakdownLine, report: &mut Report<'_>) {
    // A line without any classification is told so; what it should become is not known.
    let other = line.exemption.is_some() || line.qualification.is_some_and(|q| q != Qualification::S1);
    if other && line.surcharge_rate.is_some() {
        report.at(Field::SurchargeRate);
    } else if other && line.surcharge_amount.is_some() {
        report.at(Field::SurchargeAmount);
    }
}

fn surcharge_pair(line: &BreakdownLine, report: &mut Report<'_>) {
    match (line.surcharge_rate, line.surcharge_amount) {
        (Some(_), None) => report.at(Field::SurchargeAmount),
        (None, Some(_)) => report.at(Field::SurchargeRate),
        _ => {}
    }
}

fn base_at_cost_allowed(line: &BreakdownLine, report: &mut Report<'_>) {
    let allowed = line.regime == Some(Regime::R06) || matches!(line.tax, Some(Tax::Ipsi | Tax::Other));
    if line.base_at_cost.is_some() && !allowed {
        report.at(Field::BaseAtCost);
    }
}

fn sign(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    if line.base_at_cost.is_none() {
        signs_agree(invoice, line, line.base, report);
    }
}

fn sign_at_cost(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    if let Some(base) = line.base_at_cost {
        signs_agree(invoice, line, base, report);
    }
}

fn product(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    if line.base_at_cost.is_none() {
        product_agrees(invoice, line, line.base, report);
    }
}

fn product_at_cost(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    if let Some(base) = line.base_at_cost {
        product_agrees(invoice, line, base, report);
    }
}

/// Rectifications by differences, and those for insolvency and bad debt, need not add up line by line.
pub(super) fn is_checked(invoice: &Invoice, line: &BreakdownLine) -> bool {
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
    if is_checked(invoice, line) && !is_product(tax, rate, base) {
        report.because(Field::TaxAmount, format!("{tax} is more than 10.00 away from {rate} % of {base}"));
    }
}

/// Whether an amount is a rate times a base, within the margin.
pub(super) fn is_product(amount: Amount, rate: Rate, base: Amount) -> bool {
    // In hundredths of a percent of a cent, so that nothing is rounded.
    let exact = i128::from(base.cents()) * i128::from(rate.hundredths());
    let difference = i128::from(amount.cents()) * 10_000 - exact;
    difference.abs() <= i128::from(MARGIN) * 10_000
}
