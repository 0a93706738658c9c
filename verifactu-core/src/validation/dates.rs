//! Rules on the dates of an invoice (Val 3.1.3.1, 3.1.3.7).

use jiff::civil::{self, date};

use crate::record::{Invoice, Regime};

use super::{Check, Context, Field, Level, Report, Rule, lines::is_vat_or_igic, rule::record};

/// The day on which the Orden that founds the records was published.
const FIRST_ISSUE: civil::Date = date(2024, 10, 28);

pub(super) static RULES: &[Rule] = &[
    record(
        "1112",
        "Val 3.1.3.1",
        "La fecha de expedición es posterior a hoy.",
        "the date of issue is later than today",
        Check::Invoice(issued_in_future),
    ),
    record(
        "1152",
        "Val 3.1.3.1",
        "La fecha de expedición es anterior al 28 de octubre de 2024.",
        "the date of issue is before 28 October 2024",
        Check::Invoice(issued_too_early),
    ),
    record(
        "1133",
        "Val 3.1.3.1",
        "La fecha de expedición tiene más de veinte años.",
        "the date of issue is more than twenty years ago",
        Check::Invoice(issued_too_long_ago),
    ),
    record(
        "1146",
        "Val 3.1.3.1",
        "La operación solo puede ser posterior a la expedición en los regímenes 14 y 15.",
        "the operation may be later than the issue only under the regimes 14 and 15",
        Check::Invoice(operation_after_issue),
    ),
    record(
        "1173",
        "Val 3.1.3.7",
        "La fecha de operación solo puede ser futura en los regímenes 14 y 15.",
        "the date of operation may lie in the future only under the regimes 14 and 15",
        Check::Invoice(operation_in_future),
    ),
    record(
        "1134",
        "Val 3.1.3.7",
        "La operación tiene más de veinte años.",
        "the operation is more than twenty years old",
        Check::Invoice(operation_too_old),
    ),
    record(
        "1125",
        "Val 3.1.3.7",
        "La fecha de operación pasa del final del año próximo.",
        "the date of operation is later than the end of next year",
        Check::Invoice(operation_too_far),
    ),
    Rule {
        code: Some(1125),
        level: Level::Doubtful,
        ..record(
            "operation_far",
            "Val 3.1.3.7",
            "La operación está a más de un año de hoy: puede que no se admita.",
            "the operation is more than a year ahead: it may not be accepted",
            Check::Invoice(operation_far),
        )
    },
];

/// How long invoices and operations may lie back, in years.
const LONGEST: i16 = 20;

fn issued_in_future(invoice: &Invoice, context: &Context, report: &mut Report<'_>) {
    if invoice.id.date > context.today {
        report.because(
            Field::Date,
            format!("{} is later than today, {}, in Madrid", invoice.id.date, context.today),
        );
    }
}

fn issued_too_early(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.id.date.civil() < FIRST_ISSUE {
        report.at(Field::Date);
    }
}

fn issued_too_long_ago(invoice: &Invoice, context: &Context, report: &mut Report<'_>) {
    if invoice.id.date.civil() < years_from(context, -LONGEST) {
        report.at(Field::Date);
    }
}

fn years_from(context: &Context, years: i16) -> civil::Date {
    context.today.civil().saturating_add(jiff::Span::new().years(years))
}

/// Operations may lie ahead of the invoice where a line's tax is pending (regimes 14 and 15). With
/// several lines one such line suffices, and lines of IPSI and other taxes are not bound by it.
fn operation_may_follow(invoice: &Invoice) -> bool {
    invoice
        .breakdown
        .iter()
        .any(|line| !is_vat_or_igic(line) || matches!(line.regime, Some(Regime::R14 | Regime::R15)))
}

fn operation_after_issue(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.operation_date.is_some_and(|day| day > invoice.id.date) && !operation_may_follow(invoice) {
        report.at(Field::OperationDate);
    }
}

fn operation_in_future(invoice: &Invoice, context: &Context, report: &mut Report<'_>) {
    if invoice.operation_date.is_some_and(|day| day > context.today) && !operation_may_follow(invoice) {
        report.at(Field::OperationDate);
    }
}

fn operation_too_old(invoice: &Invoice, context: &Context, report: &mut Report<'_>) {
    if invoice.operation_date.is_some_and(|day| day.civil() < years_from(context, -LONGEST)) {
        report.at(Field::OperationDate);
    }
}

/// The text can mean a year from today or the end of the next year; the later of the two is held.
fn operation_too_far(invoice: &Invoice, context: &Context, report: &mut Report<'_>) {
    let next_year = context.today.civil().year().saturating_add(1);
    if invoice.operation_date.is_some_and(|day| day.civil().year() > next_year) {
        report.at(Field::OperationDate);
    }
}

/// The other reading of the same text, where the general one is not broken already.
fn operation_far(invoice: &Invoice, context: &Context, report: &mut Report<'_>) {
    let next_year = context.today.civil().year().saturating_add(1);
    let far = |day: civil::Date| day > years_from(context, 1) && day.year() <= next_year;
    if invoice.operation_date.is_some_and(|day| far(day.civil())) {
        report.at(Field::OperationDate);
    }
}
