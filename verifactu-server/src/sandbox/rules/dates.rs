//! Dates of issue and of the operation (Val 3.1.3.1, 3.1.3.7). "Today" is the day in Madrid.

use jiff::ToSpan;
use jiff::civil::{Date, date};

use super::super::finding::Finding;
use super::super::record::Record;
use super::super::schema::civil_date;
use super::Facts;
use super::line::{Line, lines};

/// The day the Orden entered into force.
const FIRST_DAY: Date = date(2024, 10, 28);

pub(super) fn issue(facts: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let issued = record.issued().filter(|_| record.is_alta())?;
    if issued > facts.today {
        Some(Finding::new(1112))
    } else if issued < FIRST_DAY {
        Some(Finding::new(1152))
    } else if issued < twenty_years_before(facts.today) {
        Some(Finding::new(1133))
    } else {
        None
    }
}

/// The last day allowed is the last of next year: the text says "the year after the current date".
pub(super) fn operation_in_reach(facts: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let operation = operation(record)?;
    if operation < twenty_years_before(facts.today) {
        Some(Finding::new(1134))
    } else if operation.year() > facts.today.year() + 1 {
        Some(Finding::new(1125))
    } else {
        None
    }
}

pub(super) fn operation_before_issue(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let late = operation(record)? > record.issued()?;
    (late && is_bound(record)).then(|| Finding::new(1146))
}

pub(super) fn operation_before_today(facts: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let late = operation(record)? > facts.today;
    (late && is_bound(record)).then(|| Finding::new(1173))
}

pub(super) fn public_works(_: &Facts<'_>, record: Record<'_>) -> Option<Finding> {
    let concerned = lines(record).any(|line| line.is_under("14"));
    let issued = record.issued()?;
    let late = operation(record).is_some_and(|operation| operation > issued);
    (concerned && !late).then(|| Finding::new(1147))
}

fn operation(record: Record<'_>) -> Option<Date> {
    civil_date(record.text("FechaOperacion"))
}

/// Whether the operation must not lie ahead: all lines are of IVA or IGIC, and of none of them the
/// tax becomes due later. Of mixed lines the published text says nothing; one that is free frees all.
fn is_bound(record: Record<'_>) -> bool {
    lines(record).all(|line: Line<'_>| line.is_vat_or_igic() && !line.is_pending())
}

fn twenty_years_before(day: Date) -> Date {
    day.saturating_sub(20.years())
}
