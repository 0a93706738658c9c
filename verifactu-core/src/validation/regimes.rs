//! Rules on the regime key of a breakdown line (Val 3.1.3.15.6).

use crate::{
    record::{BreakdownLine, Exemption, Identification, Invoice, InvoiceType, Qualification, Regime, Tax},
    types::Rate,
};

use super::{
    Field, Report,
    lines::{is_vat, is_vat_or_igic},
};

/// A line of VAT or IGIC under a regime.
fn is(line: &BreakdownLine, regime: Regime) -> bool {
    line.regime == Some(regime) && is_vat_or_igic(line)
}

pub(super) fn missing(line: &BreakdownLine, report: &mut Report<'_>) {
    if line.regime.is_none() && is_vat_or_igic(line) {
        report.at(Field::Regime);
    }
}

/// A key is missing, or none of those that exist for IPSI.
pub(super) fn ipsi(line: &BreakdownLine, report: &mut Report<'_>) {
    let known = matches!(
        line.regime,
        Some(Regime::R01 | Regime::R08 | Regime::R11 | Regime::R18 | Regime::R19 | Regime::R20)
    );
    if line.tax == Some(Tax::Ipsi) && !known {
        report.at(Field::Regime);
    }
}

pub(super) fn of_another_tax(line: &BreakdownLine, report: &mut Report<'_>) {
    if is_vat(line) && line.regime == Some(Regime::R21) {
        report.at(Field::Regime);
    }
}

pub(super) fn forbidden(line: &BreakdownLine, report: &mut Report<'_>) {
    if line.tax == Some(Tax::Other) && line.regime.is_some() {
        report.at(Field::Regime);
    }
}

pub(super) fn general(line: &BreakdownLine, report: &mut Report<'_>) {
    if is(line, Regime::R01) && matches!(line.exemption, Some(Exemption::E2 | Exemption::E3)) {
        report.at(Field::Exemption);
    }
}

pub(super) fn export(line: &BreakdownLine, report: &mut Report<'_>) {
    if is(line, Regime::R02) && line.qualification.is_some() {
        report.at(Field::Qualification);
    }
}

pub(super) fn used_goods(line: &BreakdownLine, report: &mut Report<'_>) {
    if is(line, Regime::R03) && line.qualification.is_some_and(|q| q != Qualification::S1) {
        report.at(Field::Qualification);
    }
}

pub(super) fn gold(line: &BreakdownLine, report: &mut Report<'_>) {
    if is(line, Regime::R04) && line.qualification.is_some_and(|q| q != Qualification::S2) {
        report.at(Field::Qualification);
    }
}

pub(super) fn group(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    if !is(line, Regime::R06) {
        return;
    }
    if matches!(invoice.invoice_type, InvoiceType::F2 | InvoiceType::F3 | InvoiceType::R5) {
        report.at(Field::Regime);
    }
    if line.base_at_cost.is_none() {
        report.at(Field::BaseAtCost);
    }
}

pub(super) fn cash(line: &BreakdownLine, report: &mut Report<'_>) {
    if !is(line, Regime::R07) {
        return;
    }
    if line.qualification.is_some_and(|q| q != Qualification::S1) {
        report.at(Field::Qualification);
    }
    if matches!(line.exemption, Some(Exemption::E2 | Exemption::E3 | Exemption::E4 | Exemption::E5)) {
        report.at(Field::Exemption);
    }
}

pub(super) fn other_indirect_tax(line: &BreakdownLine, report: &mut Report<'_>) {
    if is(line, Regime::R08) && line.qualification != Some(Qualification::N2) {
        report.at(Field::Qualification);
    }
}

pub(super) fn igic_subject_to_ipsi(line: &BreakdownLine, report: &mut Report<'_>) {
    let concerned = line.tax == Some(Tax::Igic) && line.regime == Some(Regime::R20);
    if concerned && line.qualification != Some(Qualification::N2) {
        report.at(Field::Qualification);
    }
}

pub(super) fn collections(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    if !is(line, Regime::R10) {
        return;
    }
    if line.qualification != Some(Qualification::N1) {
        report.at(Field::Qualification);
    }
    if invoice.invoice_type != InvoiceType::F1 || !all_by_nif(invoice) {
        report.at(Field::Regime);
    }
}

/// Held against taxed lines only: a line that is exempt or not subject must not carry a rate at all.
pub(super) fn premises(line: &BreakdownLine, report: &mut Report<'_>) {
    let taxed = line.qualification == Some(Qualification::S1) && line.regime == Some(Regime::R11);
    if taxed && is_vat(line) && line.rate.map(Rate::hundredths).is_some_and(|rate| rate != 21_00) {
        report.at(Field::Rate);
    }
}

pub(super) fn public_works_date(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    if is(line, Regime::R14) && invoice.operation_date.is_none_or(|date| date <= invoice.id.date) {
        report.at(Field::Regime);
    }
}

pub(super) fn public_works_type(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    let allowed = matches!(
        invoice.invoice_type,
        InvoiceType::F1 | InvoiceType::R1 | InvoiceType::R2 | InvoiceType::R3 | InvoiceType::R4
    );
    if is(line, Regime::R14) && !allowed {
        report.at(Field::Regime);
    }
}

pub(super) fn public_works_recipient(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    let public = |identification: &Identification| match identification {
        Identification::Nif(nif) => nif.as_str().starts_with(['P', 'Q', 'S', 'V']),
        Identification::Foreign(_) => false,
    };
    if is(line, Regime::R14) && !invoice.recipients.iter().all(|party| public(&party.identification)) {
        report.at(Field::Regime);
    }
}

pub(super) fn intra_union_recipient(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    let by_nif = |identification: &Identification| matches!(identification, Identification::Nif(_));
    let concerned = is_vat(line) && line.exemption == Some(Exemption::E5);
    if concerned && invoice.recipients.iter().any(|party| by_nif(&party.identification)) {
        report.at(Field::Exemption);
    }
}

fn all_by_nif(invoice: &Invoice) -> bool {
    invoice.recipients.iter().all(|party| matches!(party.identification, Identification::Nif(_)))
}
