//! The rule on what the header of a message states besides its records (Val 3.1.1).

use jiff::civil::date;

use crate::types::Date;

use super::{Check, Context, Field, Level, Report, Rule, rule::record};

pub(super) static RULES: &[Rule] = &[Rule {
    level: Level::Submission,
    valid_from: Some(date(2027, 1, 1)),
    ..record(
        "4120",
        "Val 3.1.1",
        "El último día en VERI*FACTU debe ser el 31 de diciembre de este año o del anterior.",
        "the last day of VERI*FACTU must be 31 December of this year or of the last",
        Check::LastDay(ends_neither_year),
    )
}];

fn ends_neither_year(day: Date, context: &Context, report: &mut Report<'_>) {
    let this_year = context.today.civil().year();
    let years = this_year - 1..=this_year;
    let ends_a_year = (day.civil().month(), day.civil().day()) == (12, 31);
    if !ends_a_year || !years.contains(&day.civil().year()) {
        let (last, this) = years.into_inner();
        report.because(Field::VerifactuEnd, format!("must be 31-12-{this} or 31-12-{last}, not {day}"));
    }
}
