//! Rules on the blocks of an invoice: which of them its type wants and which it excludes
//! (Val 3.1.3.2-6, 3.1.3.8-14), and how often they may occur.

use crate::record::{
    ForeignIdType, Identification, Invoice, InvoiceType, IssuedBy, PriorRejection, RectificationMode,
};

use super::{Check, Context, Field, Level, Report, Rule, Step, rule::record};

const FULL: [InvoiceType; 6] =
    [InvoiceType::F1, InvoiceType::F3, InvoiceType::R1, InvoiceType::R2, InvoiceType::R3, InvoiceType::R4];

pub(super) static RULES: &[Rule] = &[
    record(
        "1153",
        "Val 3.1.3.2-6",
        "Un rechazo previo X solo cabe en una subsanación.",
        "prior rejection X goes with a correction only",
        Check::Invoice(not_held_without_correction),
    ),
    record(
        "1161",
        "Val 3.1.3.2-6",
        "Un rechazo previo S solo cabe en una subsanación.",
        "prior rejection S goes with a correction only",
        Check::Invoice(rejected_without_correction),
    ),
    record(
        "1114",
        "Val 3.1.3.2-6",
        "Una factura rectificativa debe decir si es por sustitución o por diferencias.",
        "a rectifying invoice (R1 to R5) must say whether it rectifies by substitution (S) or differences (I)",
        Check::Invoice(mode_missing),
    ),
    record(
        "1115",
        "Val 3.1.3.2-6",
        "El modo de rectificación solo cabe en R1 a R5.",
        "the rectification mode goes with R1 to R5 only",
        Check::Invoice(mode_out_of_place),
    ),
    record(
        "1117",
        "Val 3.1.3.2-6",
        "Las facturas rectificadas solo caben en R1 a R5.",
        "rectified invoices go with R1 to R5 only",
        Check::Invoice(rectified_out_of_place),
    ),
    record(
        "1116",
        "Val 3.1.3.2-6",
        "Las facturas sustituidas solo caben en F3.",
        "replaced invoices go with F3 only",
        Check::Invoice(replaced_out_of_place),
    ),
    record(
        "1118",
        "Val 3.1.3.2-6",
        "Una rectificación por sustitución debe llevar los importes rectificados.",
        "a rectification by substitution must state the rectified amounts",
        Check::Invoice(rectified_amounts_missing),
    ),
    record(
        "1119",
        "Val 3.1.3.2-6",
        "Los importes rectificados solo caben en una rectificación por sustitución.",
        "rectified amounts go with a rectification by substitution only",
        Check::Invoice(rectified_amounts_out_of_place),
    ),
    record(
        "1183",
        "Val 3.1.3.8",
        "La simplificada cualificada solo cabe en F1, F3 y R1 a R4.",
        "the mark for qualified simplified invoices goes with F1, F3 and R1 to R4 only",
        Check::Invoice(qualified_simplified),
    ),
    record(
        "1185",
        "Val 3.1.3.9",
        "La marca sin destinatario (art. 6.1.d) solo cabe en F2 y R5.",
        "the mark for invoices without recipient (art. 6.1.d) goes with F2 and R5 only",
        Check::Invoice(without_recipient),
    ),
    record(
        "1157",
        "Val 3.1.3.14",
        "El cupón solo cabe en R1 y R5.",
        "the coupon mark goes with R1 and R5 only",
        Check::Invoice(coupon),
    ),
    record(
        "1155",
        "Val 3.1.3.12",
        "Hay un tercero, pero no se dice quién emitió la factura.",
        "there is a third party, but nothing says who issued the invoice",
        Check::Invoice(third_party_unannounced),
    ),
    record(
        "1159",
        "Val 3.1.3.12",
        "La factura la emitió el destinatario, así que no lleva tercero.",
        "the recipient issued the invoice, so there is no third party to state",
        Check::Invoice(third_party_with_recipient),
    ),
    record(
        "1186",
        "Val 3.1.3.12",
        "La factura la emitió un tercero, que falta.",
        "a third party issued the invoice, so it must be stated",
        Check::Invoice(third_party_missing),
    ),
    record(
        "1158",
        "Val 3.1.3.11",
        "La factura la emitió el destinatario, que falta.",
        "the recipient issued the invoice, so it must be stated",
        Check::Invoice(issuing_recipient_missing),
    ),
    record(
        "1188",
        "Val 3.1.3.12",
        "El tercero no puede ser el propio obligado a emitir.",
        "the third party must be another than the issuer",
        Check::Invoice(third_party_is_issuer),
    ),
    record(
        "1189",
        "Val 3.1.3.13",
        "F1, F3 y R1 a R4 necesitan al menos un destinatario.",
        "F1, F3 and R1 to R4 need at least one recipient",
        Check::Invoice(recipient_missing),
    ),
    record(
        "1190",
        "Val 3.1.3.13",
        "F2 y R5 no llevan destinatarios.",
        "F2 and R5 carry no recipients",
        Check::Invoice(recipient_out_of_place),
    ),
    record(
        "1156",
        "Val 3.1.3.13",
        "Un destinatario con NIF-IVA solo cabe en F1, F3 y R1 a R4.",
        "a recipient with an EU VAT number (02) goes with F1, F3 and R1 to R4 only",
        Check::Invoice(eu_recipient_out_of_place),
    ),
    // These three are in the code list only; the rules dropped the last of them in March 2025.
    Rule {
        level: Level::Doubtful,
        ..record(
            "1191",
            "code list, 1191",
            "En R3, según la lista de códigos, el destinatario se identifica con NIF o como no censado (07).",
            "with R3, by the code list, a recipient is identified by NIF or as not in the census (07)",
            Check::Invoice(recipient_of_bad_debt),
        )
    },
    Rule {
        level: Level::Doubtful,
        ..record(
            "1192",
            "code list, 1192",
            "En R2, según la lista de códigos, el destinatario se identifica con NIF, NIF-IVA (02) o 07.",
            "with R2, by the code list, a recipient is identified by NIF, EU VAT number (02) or 07",
            Check::Invoice(recipient_of_insolvency),
        )
    },
    Rule {
        level: Level::Doubtful,
        ..record(
            "1193",
            "code list, 1193",
            "El destinatario es el propio emisor, lo que solo cabe en un autoconsumo.",
            "the recipient is the issuer itself, which only self-supplies admit",
            Check::Invoice(recipient_is_issuer),
        )
    },
    Rule {
        code: Some(4102),
        level: Level::Submission,
        ..record(
            "line_count",
            "schema, DesgloseType",
            "El desglose lleva de 1 a 12 líneas.",
            "the breakdown has 1 to 12 lines",
            Check::Invoice(line_count),
        )
    },
    Rule {
        code: Some(4102),
        level: Level::Submission,
        ..record(
            "item_count",
            "schema, RegistroFacturacionAltaType",
            "Caben hasta 1000 destinatarios, facturas rectificadas o sustituidas.",
            "at most 1000 recipients, rectified or replaced invoices",
            Check::Invoice(item_count),
        )
    },
];

fn is_full(invoice: &Invoice) -> bool {
    FULL.contains(&invoice.invoice_type)
}

fn not_held_without_correction(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    prior_rejection(invoice, PriorRejection::NotHeld, report);
}

fn rejected_without_correction(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    prior_rejection(invoice, PriorRejection::Yes, report);
}

fn prior_rejection(invoice: &Invoice, value: PriorRejection, report: &mut Report<'_>) {
    if invoice.correction.prior_rejection == Some(value) && invoice.correction.corrects != Some(true) {
        report.at(Field::PriorRejection);
    }
}

fn mode_missing(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.invoice_type.is_rectifying() && invoice.rectification.is_none() {
        report.at(Field::RectificationMode);
    }
}

fn mode_out_of_place(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if !invoice.invoice_type.is_rectifying() && invoice.rectification.is_some() {
        report.at(Field::RectificationMode);
    }
}

fn rectified_out_of_place(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if !invoice.invoice_type.is_rectifying() && !invoice.rectified.is_empty() {
        report.at(Field::Rectified);
    }
}

fn replaced_out_of_place(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.invoice_type != InvoiceType::F3 && !invoice.replaced.is_empty() {
        report.at(Field::Replaced);
    }
}

fn rectified_amounts_missing(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if is_substitution(invoice) && invoice.rectified_amounts.is_none() {
        report.at(Field::RectifiedAmounts);
    }
}

fn rectified_amounts_out_of_place(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if !is_substitution(invoice) && invoice.rectified_amounts.is_some() {
        report.at(Field::RectifiedAmounts);
    }
}

fn is_substitution(invoice: &Invoice) -> bool {
    invoice.invoice_type.is_rectifying() && invoice.rectification == Some(RectificationMode::Substitution)
}

fn qualified_simplified(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.qualified_simplified == Some(true) && !is_full(invoice) {
        report.at(Field::QualifiedSimplified);
    }
}

fn without_recipient(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.without_recipient == Some(true) && !invoice.invoice_type.is_simplified() {
        report.at(Field::WithoutRecipient);
    }
}

fn coupon(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.coupon == Some(true) && !matches!(invoice.invoice_type, InvoiceType::R1 | InvoiceType::R5) {
        report.at(Field::Coupon);
    }
}

fn third_party_unannounced(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.third_party.is_some() && invoice.issued_by.is_none() {
        report.at(Field::IssuedBy);
    }
}

fn third_party_with_recipient(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.third_party.is_some() && invoice.issued_by == Some(IssuedBy::Recipient) {
        report.at(Field::ThirdParty);
    }
}

fn third_party_missing(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.third_party.is_none() && invoice.issued_by == Some(IssuedBy::ThirdParty) {
        report.at(Field::ThirdParty);
    }
}

fn issuing_recipient_missing(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.recipients.is_empty() && invoice.issued_by == Some(IssuedBy::Recipient) {
        report.at(Field::Recipients);
    }
}

fn third_party_is_issuer(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.third_party.as_ref().is_some_and(|party| is_issuer(invoice, &party.identification)) {
        report.inside(&[Step::Field(Field::ThirdParty), Step::Field(Field::Nif)]);
    }
}

fn recipient_missing(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if is_full(invoice) && invoice.recipients.is_empty() {
        report.at(Field::Recipients);
    }
}

fn recipient_out_of_place(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.invoice_type.is_simplified() && !invoice.recipients.is_empty() {
        report.at(Field::Recipients);
    }
}

fn eu_recipient_out_of_place(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if is_full(invoice) {
        return;
    }
    foreign_recipients(invoice, |kind| kind == ForeignIdType::EuVat, report);
}

fn recipient_of_bad_debt(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    if invoice.invoice_type == InvoiceType::R3 {
        foreign_recipients(invoice, |kind| kind != ForeignIdType::NotInCensus, report);
    }
}

fn recipient_of_insolvency(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    let named = |kind| matches!(kind, ForeignIdType::NotInCensus | ForeignIdType::EuVat);
    if invoice.invoice_type == InvoiceType::R2 {
        foreign_recipients(invoice, |kind| !named(kind), report);
    }
}

/// Reports the recipients whose foreign identification is of a kind that is out of place.
fn foreign_recipients(
    invoice: &Invoice,
    out_of_place: impl Fn(ForeignIdType) -> bool,
    report: &mut Report<'_>,
) {
    for (index, recipient) in invoice.recipients.iter().enumerate() {
        if matches!(&recipient.identification, Identification::Foreign(id) if out_of_place(id.kind)) {
            report.inside(&[
                Step::Field(Field::Recipients),
                Step::Index(index),
                Step::Field(Field::ForeignId),
                Step::Field(Field::ForeignIdType),
            ]);
        }
    }
}

fn recipient_is_issuer(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    for (index, recipient) in invoice.recipients.iter().enumerate() {
        if is_issuer(invoice, &recipient.identification) {
            report.inside(&[Step::Field(Field::Recipients), Step::Index(index), Step::Field(Field::Nif)]);
        }
    }
}

fn is_issuer(invoice: &Invoice, identification: &Identification) -> bool {
    matches!(identification, Identification::Nif(nif) if *nif == invoice.id.issuer)
}

fn line_count(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
    let count = invoice.breakdown.len();
    if !(1..=12).contains(&count) {
        report.because(Field::Breakdown, format!("1 to 12 lines are allowed, there are {count}"));
    }
}

fn item_count(invoice: &Invoice, _: &Context, report: &mut Report<'_>) {
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
