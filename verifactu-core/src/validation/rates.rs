//! The rates of VAT and of its equivalence surcharge, by the day of the operation (Val 3.1.3.15.1-3).
//! They bind taxed lines (S1) of VAT; no list exists for the other taxes.
//!
//! Which surcharge goes with a rate of 0 % is published for 2023-01-01 to 2024-09-30 only. For the time
//! after it the code list wants 0.26, on which the rules are silent: that one is a doubt.

use jiff::civil::{self, date};

use crate::{
    record::{BreakdownLine, Invoice, Qualification},
    types::Rate,
};

use super::{
    Check, Field, Level, Report, Rule,
    lines::{is_checked, is_product, is_vat},
    rule::record,
};

/// Days on which a temporary rate was in force, both included.
type Days = (civil::Date, civil::Date);

const FIVE: Days = (date(2022, 7, 1), date(2024, 9, 30));
const TWO_AND_SEVEN_AND_A_HALF: Days = (date(2024, 10, 1), date(2024, 12, 31));
const FIVE_WITH_0_50: Days = (date(2022, 7, 1), date(2022, 12, 31));
const FIVE_WITH_0_62: Days = (date(2023, 1, 1), date(2024, 9, 30));
const ZERO_WITH_ZERO: Days = (date(2023, 1, 1), date(2024, 9, 30));
const ZERO_WITH_0_26: Days = (date(2024, 10, 1), civil::Date::MAX);

/// Every rate, in hundredths of a percent point, as all numbers here.
const RATES: &[u32] = &[0, 200, 400, 500, 750, 1000, 2100];
const SURCHARGES: &[u32] = &[0, 26, 50, 62, 100, 140, 175, 520];

pub(super) static RULES: &[Rule] = &[
    record(
        "1124",
        "Val 3.1.3.15.1",
        "No es un tipo de IVA: 0, 2, 4, 5, 7.5, 10 o 21.",
        "not a rate of VAT: 0, 2, 4, 5, 7.5, 10 or 21",
        Check::LineOf(rate_known),
    ),
    record(
        "1194",
        "Val 3.1.3.15.1",
        "El tipo 5 solo existió entre el 1 de julio de 2022 y el 30 de septiembre de 2024.",
        "the rate 5 existed from 1 July 2022 to 30 September 2024 only",
        Check::LineOf(rate_5),
    ),
    record(
        "1235",
        "Val 3.1.3.15.1",
        "El tipo 2 solo existió en el último trimestre de 2024.",
        "the rate 2 existed in the last quarter of 2024 only",
        Check::LineOf(rate_2),
    ),
    record(
        "1236",
        "Val 3.1.3.15.1",
        "El tipo 7.5 solo existió en el último trimestre de 2024.",
        "the rate 7.5 existed in the last quarter of 2024 only",
        Check::LineOf(rate_7_5),
    ),
    record(
        "1127",
        "Val 3.1.3.15.3",
        "No es un tipo de recargo: 0, 0.26, 0.5, 0.62, 1, 1.4, 1.75 o 5.2.",
        "not a rate of the surcharge: 0, 0.26, 0.5, 0.62, 1, 1.4, 1.75 or 5.2",
        Check::LineOf(surcharge_known),
    ),
    record(
        "1162",
        "Val 3.1.3.15.3",
        "Con el tipo 21 el recargo es 5.2 o 1.75.",
        "with the rate 21 the surcharge is 5.2 or 1.75",
        Check::LineOf(surcharge_of_21),
    ),
    record(
        "1163",
        "Val 3.1.3.15.3",
        "Con el tipo 10 el recargo es 1.4.",
        "with the rate 10 the surcharge is 1.4",
        Check::LineOf(surcharge_of_10),
    ),
    record(
        "1164",
        "Val 3.1.3.15.3",
        "Con el tipo 4 el recargo es 0.5.",
        "with the rate 4 the surcharge is 0.5",
        Check::LineOf(surcharge_of_4),
    ),
    record(
        "1166",
        "Val 3.1.3.15.3",
        "Con el tipo 2 el recargo es 0.26.",
        "with the rate 2 the surcharge is 0.26",
        Check::LineOf(surcharge_of_2),
    ),
    record(
        "1169",
        "Val 3.1.3.15.3",
        "Con el tipo 7.5 el recargo es 1.",
        "with the rate 7.5 the surcharge is 1",
        Check::LineOf(surcharge_of_7_5),
    ),
    record(
        "1160",
        "Val 3.1.3.15.3",
        "Con el tipo 5 el recargo es 0.5 o 0.62.",
        "with the rate 5 the surcharge is 0.5 or 0.62",
        Check::LineOf(surcharge_of_5),
    ),
    record(
        "1167",
        "Val 3.1.3.15.3",
        "Con el tipo 5 el recargo 0.5 solo existió hasta el final de 2022.",
        "with the rate 5 the surcharge 0.5 existed until the end of 2022 only",
        Check::LineOf(surcharge_of_5_early),
    ),
    record(
        "1168",
        "Val 3.1.3.15.3",
        "Con el tipo 5 el recargo 0.62 solo existió desde 2023.",
        "with the rate 5 the surcharge 0.62 existed from 2023 only",
        Check::LineOf(surcharge_of_5_late),
    ),
    record(
        "1165",
        "Val 3.1.3.15.3",
        "Con el tipo 0 el recargo era 0 entre 2023 y septiembre de 2024.",
        "with the rate 0 the surcharge was 0 from 2023 to September 2024",
        Check::LineOf(surcharge_of_0),
    ),
    Rule {
        level: Level::Doubtful,
        ..record(
            "1170",
            "code list, 1170",
            "Con el tipo 0 el recargo sería 0.26 desde octubre de 2024, según la lista de códigos.",
            "with the rate 0 the surcharge would be 0.26 from October 2024 on, by the code list",
            Check::LineOf(surcharge_of_0_now),
        )
    },
    Rule {
        code: None,
        level: Level::Doubtful,
        ..record(
            "surcharge_amount",
            "Ley 37/1992, art. 161",
            "La cuota del recargo se aparta más de 10,00 de su tipo aplicado a la base.",
            "the surcharge is more than 10.00 away from its rate times base",
            Check::LineOf(surcharge_product),
        )
    },
];

/// The rate of a line that the rules of this file bind.
fn rate(line: &BreakdownLine) -> Option<u32> {
    let bound = is_vat(line) && line.qualification == Some(Qualification::S1);
    line.rate.filter(|_| bound).map(Rate::hundredths)
}

/// Whether the operation falls on one of the days.
fn falls(invoice: &Invoice, (first, last): Days) -> bool {
    let day = invoice.operation_date.unwrap_or(invoice.id.date).civil();
    first <= day && day <= last
}

fn rate_known(_: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    if rate(line).is_some_and(|rate| !RATES.contains(&rate)) {
        report.at(Field::Rate);
    }
}

fn rate_5(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    temporary(500, FIVE, invoice, line, report);
}

fn rate_2(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    temporary(200, TWO_AND_SEVEN_AND_A_HALF, invoice, line, report);
}

fn rate_7_5(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    temporary(750, TWO_AND_SEVEN_AND_A_HALF, invoice, line, report);
}

fn temporary(temporary: u32, days: Days, invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    if rate(line) == Some(temporary) && !falls(invoice, days) {
        report.at(Field::Rate);
    }
}

fn surcharge_known(_: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    let unknown = |surcharge: Rate| !SURCHARGES.contains(&surcharge.hundredths());
    if rate(line).is_some() && line.surcharge_rate.is_some_and(unknown) {
        report.at(Field::SurchargeRate);
    }
}

fn surcharge_of_21(_: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    goes_with(2100, &[520, 175], line, report);
}

fn surcharge_of_10(_: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    goes_with(1000, &[140], line, report);
}

fn surcharge_of_4(_: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    goes_with(400, &[50], line, report);
}

fn surcharge_of_2(_: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    goes_with(200, &[26], line, report);
}

fn surcharge_of_7_5(_: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    goes_with(750, &[100], line, report);
}

fn surcharge_of_5(_: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    goes_with(500, &[50, 62], line, report);
}

fn surcharge_of_0(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    if falls(invoice, ZERO_WITH_ZERO) {
        goes_with(0, &[0], line, report);
    }
}

fn surcharge_of_0_now(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    if falls(invoice, ZERO_WITH_0_26) {
        goes_with(0, &[26], line, report);
    }
}

/// No rule of the authority asks for it; who pays a surcharge that is wrong would.
fn surcharge_product(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    let (Some(rate), Some(surcharge)) = (line.surcharge_rate, line.surcharge_amount) else { return };
    let base = line.base_at_cost.unwrap_or(line.base);
    if is_vat(line) && is_checked(invoice, line) && !is_product(surcharge, rate, base) {
        report.because(
            Field::SurchargeAmount,
            format!("{surcharge} is more than 10.00 away from {rate} % of {base}"),
        );
    }
}

/// A surcharge of no list is told so by its own rule.
fn goes_with(with: u32, surcharges: &[u32], line: &BreakdownLine, report: &mut Report<'_>) {
    let other = |surcharge: Rate| {
        let surcharge = surcharge.hundredths();
        SURCHARGES.contains(&surcharge) && !surcharges.contains(&surcharge)
    };
    if rate(line) == Some(with) && line.surcharge_rate.is_some_and(other) {
        report.at(Field::SurchargeRate);
    }
}

fn surcharge_of_5_early(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    within(50, FIVE_WITH_0_50, invoice, line, report);
}

fn surcharge_of_5_late(invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    within(62, FIVE_WITH_0_62, invoice, line, report);
}

/// Outside the days of the rate itself its own rule speaks.
fn within(surcharge: u32, days: Days, invoice: &Invoice, line: &BreakdownLine, report: &mut Report<'_>) {
    let concerned = rate(line) == Some(500) && line.surcharge_rate.map(Rate::hundredths) == Some(surcharge);
    if concerned && falls(invoice, FIVE) && !falls(invoice, days) {
        report.at(Field::SurchargeRate);
    }
}
