//! Rules on the totals of an invoice (Val 3.1.3.10, 3.1.3.15.7-8, 3.1.3.16, 3.1.3.17).

use crate::{
    record::{Invoice, InvoiceType, Regime},
    types::{Amount, Cents},
};

use super::{
    Check, Context, Field, Level, Report, Rule,
    lines::{EURO, MARGIN},
    rule::record,
};

/// From here on an amount counts as large, in cents.
const LARGE: u64 = 100_000_000 * EURO.unsigned_abs();
/// What a simplified invoice may come to, in cents.
const SIMPLIFIED: i64 = 3_000 * EURO;

pub(super) static RULES: &[Rule] = &[
    record(
        "1139",
        "Val 3.1.3.10",
        "Un importe total de 100 millones o más exige la marca de macrodato.",
        "a total of 100 million or more must be marked as large",
        Check::Invoice(large_amount_missing),
    ),
    record(
        "1138",
        "Val 3.1.3.10",
        "La marca de macrodato exige un importe total de 100 millones o más.",
        "a total below 100 million must not be marked as large",
        Check::Invoice(large_amount_out_of_place),
    ),
    record(
        "1150",
        "Val 3.1.3.15.7-8",
        "Una factura simplificada (F2) no pasa de 3000 euros.",
        "a simplified invoice (F2) comes to 3000 euros at most",
        Check::Invoice(simplified_limit),
    ),
    Rule {
        level: Level::Admitted,
        ..record(
            "2006",
            "Val 3.1.3.16",
            "La cuota total se aparta más de 10,00 de la suma de las líneas.",
            "the tax total is more than 10.00 away from the sum of the lines",
            Check::Invoice(tax_total),
        )
    },
    Rule {
        level: Level::Admitted,
        ..record(
            "2005",
            "Val 3.1.3.17",
            "El importe total se aparta más de 10,00 de la suma de las líneas.",
            "the total is more than 10.00 away from the sum of the lines",
            Check::Invoice(total),
        )
    },
];

fn large_amount_missing(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.large_amount != Some(true) && is_large(invoice.total) {
        report.at(Field::LargeAmount);
    }
}

fn large_amount_out_of_place(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.large_amount == Some(true) && !is_large(invoice.total) {
        report.at(Field::LargeAmount);
    }
}

fn is_large(total: Amount) -> bool {
    total.cents().unsigned_abs() >= LARGE
}

fn simplified_limit(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
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

fn tax_total(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    let sum = invoice.breakdown.iter().fold(Cents(0), |sum, line| sum + line.tax_total());
    total_agrees(invoice, Field::TaxTotal, invoice.tax_total, sum, report);
}

fn total(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
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
