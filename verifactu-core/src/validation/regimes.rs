//! Rules on the regime key of a breakdown line (Val 3.1.3.15.6).

use jiff::civil::date;

use crate::{
    record::{BreakdownLine, Exemption, Identification, Invoice, InvoiceType, Qualification, Regime, Tax},
    types::Rate,
};

use super::{
    Check, Field, Level, Report, Rule,
    lines::{is_vat, is_vat_or_igic},
    rule::record,
};

pub(super) static RULES: &[Rule] = &[
    Rule {
        code: None,
        ..record(
            "regime_missing",
            "specification, Breakdown validation",
            "Falta la clave de régimen, obligatoria para IVA e IGIC.",
            "the regime key is mandatory for VAT (01, or no tax stated) and IGIC (03)",
            Check::Line(missing),
        )
    },
    Rule {
        level: Level::Admitted,
        valid_to: Some(date(2026, 12, 31)),
        ..record("2009", "Val 3.1.3.15.6", IPSI_ES, IPSI_EN, Check::Line(ipsi))
    },
    Rule {
        valid_from: Some(date(2027, 1, 1)),
        ..record("1245", "Val 3.1.3.15.6", IPSI_ES, IPSI_EN, Check::Line(ipsi))
    },
    record(
        "1246",
        "Val 3.1.3.15.6, list L8A",
        "La clave de régimen 21 no existe en el IVA.",
        "the regime key 21 does not exist for VAT",
        Check::Line(of_another_tax),
    ),
    record(
        "1260",
        "Val 3.1.3.15.6",
        "El impuesto 05 no lleva clave de régimen.",
        "the tax 05 carries no regime key",
        Check::Line(forbidden),
    ),
    record(
        "1199",
        "Val 3.1.3.15.6",
        "El régimen 01 no admite las exenciones E2 y E3.",
        "regime 01 excludes the exemption causes E2 and E3",
        Check::Line(general),
    ),
    record(
        "1286",
        "Val 3.1.3.15.6",
        "El régimen 02 solo admite operaciones exentas.",
        "regime 02 is for exempt operations only",
        Check::Line(export),
    ),
    record(
        "1200",
        "Val 3.1.3.15.6",
        "En el régimen 03 la única calificación posible es S1.",
        "under regime 03 the only possible qualification is S1",
        Check::Line(used_goods),
    ),
    record(
        "1201",
        "Val 3.1.3.15.6",
        "El régimen 04 exige S2 o una exención.",
        "regime 04 wants S2 or an exemption",
        Check::Line(gold),
    ),
    record(
        "1202",
        "Val 3.1.3.15.6",
        "El régimen 06 exige base a coste y no cabe en F2, F3 ni R5.",
        "regime 06 wants a base at cost and is not possible with F2, F3 and R5",
        Check::LineOf(group),
    ),
    record(
        "1203",
        "Val 3.1.3.15.6",
        "El régimen 07 no admite S2, N1, N2 ni las exenciones E2 a E5.",
        "regime 07 excludes S2, N1, N2 and the exemption causes E2 to E5",
        Check::Line(cash),
    ),
    record(
        "1252",
        "Val 3.1.3.15.6",
        "El régimen 08 exige la calificación N2.",
        "regime 08 wants the qualification N2",
        Check::Line(other_indirect_tax),
    ),
    record(
        "1205",
        "Val 3.1.3.15.6",
        "El régimen 10 exige N1, factura F1 y destinatarios con NIF.",
        "regime 10 wants N1, an invoice of type F1 and recipients identified by NIF",
        Check::LineOf(collections),
    ),
    record(
        "1206",
        "Val 3.1.3.15.6",
        "En el régimen 11 el tipo de IVA es el 21 %.",
        "under regime 11 the VAT rate is 21 %",
        Check::Line(premises),
    ),
    record(
        "1147",
        "Val 3.1.3.15.6",
        "El régimen 14 exige una fecha de operación posterior a la de expedición.",
        "regime 14 wants a date of operation later than the date of issue",
        Check::LineOf(public_works_date),
    ),
    record(
        "1148",
        "Val 3.1.3.15.6",
        "El régimen 14 solo cabe en F1 y R1 a R4.",
        "regime 14 is possible with F1 and R1 to R4 only",
        Check::LineOf(public_works_type),
    ),
    record(
        "1149",
        "Val 3.1.3.15.6",
        "El régimen 14 exige destinatarios con un NIF que empiece por P, Q, S o V.",
        "regime 14 wants recipients identified by a NIF that begins with P, Q, S or V",
        Check::LineOf(public_works_recipient),
    ),
    record(
        "1293",
        "Val 3.1.3.15.6",
        "El régimen 20 de IGIC exige la calificación N2.",
        "regime 20 of IGIC wants the qualification N2",
        Check::Line(igic_subject_to_ipsi),
    ),
    record(
        "1289",
        "Val 3.1.3.15.5",
        "Con la exención E5 de IVA los destinatarios no se identifican con NIF.",
        "with the VAT exemption E5 recipients are identified otherwise than by NIF",
        Check::LineOf(intra_union_recipient),
    ),
];

const IPSI_ES: &str = "El IPSI lleva una clave de régimen: 01, 08, 11, 18, 19 o 20.";
const IPSI_EN: &str = "IPSI wants a regime key: 01, 08, 11, 18, 19 or 20";

/// A line of VAT or IGIC under a regime.
fn is(line: &BreakdownLine, regime: Regime) -> bool {
    line.regime == Some(regime) && is_vat_or_igic(line)
}

fn missing(line: &BreakdownLine, report: &mut Report<'_>) {
    if line.regime.is_none() && is_vat_or_igic(line) {
        report.at(Field::Regime);
    }
}

/// A key is missing, or none of those that exist for IPSI.
fn ipsi(line: &BreakdownLine, report: &mut Report<'_>) {
    let known = matches!(
        line.regime,
        Some(Regime::R01 | Regime::R08 | Regime::R11 | Regime::R18 | Regime::R19 | Regime::R20)
    );
    if line.tax == Some(Tax::Ipsi) && !known {
        report.at(Field::Regime);
    }
}

fn of_another_tax(line: &BreakdownLine, report: &mut Report<'_>) {
    if is_vat(line) && line.regime == Some(Regime::R21) {
        report.at(Field::Regime);
    }
}

fn forbidden(line: &BreakdownLine, report: &mut Report<'_>) {
    if line.tax == Some(Tax::Other) && line.regime.is_some() {
        report.at(Field::Regime);
    }
}

fn general(line: &BreakdownLine, report: &mut Report<'_>) {
    if is(line, Regime::R01) && matches!(line.exemption, Some(Exemption::E2 | Exemption::E3)) {
        report.at(Field::Exemption);
    }
}

fn export(line: &BreakdownLine, report: &mut Report<'_>) {
    if is(line, Regime::R02) && line.qualification.is_some() {
        report.at(Field::Qualification);
    }
}

fn used_goods(line: &BreakdownLine, report: &mut Report<'_>) {
    if is(line, Regime::R03) && line.qualification.is_some_and(|q| q != Qualification::S1) {
        report.at(Field::Qualification);
    }
}

fn gold(line: &BreakdownLine, report: &mut Report<'_>) {
    if is(line, Regime::R04) && line.qualification.is_some_and(|q| q != Qualification::S2) {
        report.at(Field::Qualification);
    }
}

fn group(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
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

fn cash(line: &BreakdownLine, report: &mut Report<'_>) {
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

fn other_indirect_tax(line: &BreakdownLine, report: &mut Report<'_>) {
    if is(line, Regime::R08) && line.qualification != Some(Qualification::N2) {
        report.at(Field::Qualification);
    }
}

fn igic_subject_to_ipsi(line: &BreakdownLine, report: &mut Report<'_>) {
    let concerned = line.tax == Some(Tax::Igic) && line.regime == Some(Regime::R20);
    if concerned && line.qualification != Some(Qualification::N2) {
        report.at(Field::Qualification);
    }
}

fn collections(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
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
fn premises(line: &BreakdownLine, report: &mut Report<'_>) {
    let taxed = line.qualification == Some(Qualification::S1) && line.regime == Some(Regime::R11);
    if taxed && is_vat(line) && line.rate.map(Rate::hundredths).is_some_and(|rate| rate != 21_00) {
        report.at(Field::Rate);
    }
}

fn public_works_date(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    if is(line, Regime::R14) && invoice.operation_date.is_none_or(|date| date <= invoice.id.date) {
        report.at(Field::Regime);
    }
}

fn public_works_type(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    let allowed = matches!(
        invoice.invoice_type,
        InvoiceType::F1 | InvoiceType::R1 | InvoiceType::R2 | InvoiceType::R3 | InvoiceType::R4
    );
    if is(line, Regime::R14) && !allowed {
        report.at(Field::Regime);
    }
}

fn public_works_recipient(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    let public = |identification: &Identification| match identification {
        Identification::Nif(nif) => nif.as_str().starts_with(['P', 'Q', 'S', 'V']),
        Identification::Foreign(_) => false,
    };
    if is(line, Regime::R14) && !invoice.recipients.iter().all(|party| public(&party.identification)) {
        report.at(Field::Regime);
    }
}

fn intra_union_recipient(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    let by_nif = |identification: &Identification| matches!(identification, Identification::Nif(_));
    let concerned = is_vat(line) && line.exemption == Some(Exemption::E5);
    if concerned && invoice.recipients.iter().any(|party| by_nif(&party.identification)) {
        report.at(Field::Exemption);
    }
}

fn all_by_nif(invoice: &Invoice) -> bool {
    invoice.recipients.iter().all(|party| matches!(party.identification, Identification::Nif(_)))
}
