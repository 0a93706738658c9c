//! The table of the rules. Order is that of the findings.

use jiff::civil::{self, date};

use super::{
    Check::{self, Cancellation, Invoice, Line, LineOf, Party},
    Level, Rule, cancellation, invoice, lines, parties, regimes,
};

/// Every rule that can be checked before a record is sent.
pub static RULES: &[Rule] = &[
    // Classification of a line.
    record(
        "1195",
        "Val 3.1.3.15.4",
        "Falta calificar la operación: indique la calificación o la causa de exención.",
        "qualification and exemption cause are both missing: state one of them",
        Line(lines::unclassified),
    ),
    record(
        "1196",
        "Val 3.1.3.15.4",
        "La calificación y la causa de exención se excluyen: indique solo una.",
        "qualification and exemption cause exclude each other: state only one of them",
        Line(lines::classified_twice),
    ),
    Rule {
        code: None,
        ..record(
            "regime_missing",
            "specification, Breakdown validation",
            "Falta la clave de régimen, obligatoria para IVA e IGIC.",
            "the regime key is mandatory for VAT (01, or no tax stated) and IGIC (03)",
            Line(regimes::missing),
        )
    },
    record(
        "1198",
        "Val 3.1.3.15.4",
        "Con inversión del sujeto pasivo (S2), tipo y cuota son obligatorios y valen cero.",
        "with reverse charge (S2) rate and tax must both be stated as 0",
        Line(lines::reverse_charge_zero),
    ),
    record(
        "1208",
        "Val 3.1.3.15.7",
        "Una operación sujeta y no exenta (S1) sin base a coste necesita tipo y cuota.",
        "with S1 rate and tax are mandatory, unless there is a base at cost",
        Line(lines::taxed_without_rate),
    ),
    record(
        "1209",
        "Val 3.1.3.15.7",
        "En el régimen 06 una operación S1 necesita tipo y cuota.",
        "with S1 under regime 06 rate and tax are mandatory",
        Line(lines::group_without_rate),
    ),
    record(
        "1237",
        "Val 3.1.3.15.4",
        "Una operación no sujeta (N1, N2) de IVA no lleva tipo, cuota ni recargo.",
        "a VAT line that is not subject (N1, N2) carries no rate, tax or surcharge, not even zero",
        Line(lines::not_subject_untaxed),
    ),
    record(
        "1238",
        "Val 3.1.3.15.5",
        "Una operación exenta no lleva tipo, cuota ni recargo.",
        "an exempt line carries no rate, tax or surcharge, not even zero",
        Line(lines::exempt_untaxed),
    ),
    record(
        "1281",
        "Val 3.1.3.15.3",
        "El recargo de equivalencia solo cabe en operaciones S1.",
        "the equivalence surcharge goes with S1 only",
        Line(lines::surcharge_only_with_s1),
    ),
    record(
        "1284",
        "Val 3.1.3.15.3",
        "El tipo y la cuota del recargo de equivalencia van siempre juntos.",
        "rate and amount of the equivalence surcharge go together",
        Line(lines::surcharge_pair),
    ),
    record(
        "1182",
        "Val 3.1.3.15.5",
        "Las causas de exención E7 y E8 no existen en el IVA.",
        "the exemption causes E7 and E8 do not exist for VAT",
        Line(lines::exemption_of_igic),
    ),
    record(
        "1197",
        "Val 3.1.3.15.4",
        "La inversión del sujeto pasivo (S2) no cabe en F2 ni R5.",
        "reverse charge (S2) is possible with F1, F3 and R1 to R4 only",
        LineOf(lines::reverse_charge_type),
    ),
    record(
        "1207",
        "Val 3.1.3.15.4",
        "Solo una operación S1 puede llevar una cuota distinta de cero.",
        "only S1 can carry a tax other than zero",
        Line(lines::tax_only_with_s1),
    ),
    record(
        "1257",
        "Val 3.1.3.15.1-3",
        "La base a coste solo cabe en el régimen 06 o en los impuestos 02 y 05.",
        "a base at cost is possible under regime 06 and for the taxes 02 and 05 only",
        Line(lines::base_at_cost_allowed),
    ),
    // Amounts of a line.
    record(
        "1143",
        "Val 3.1.3.15.7",
        "La cuota y la base deben tener el mismo signo.",
        "tax and base must have the same sign",
        LineOf(lines::sign),
    ),
    record(
        "1142",
        "Val 3.1.3.15.7",
        "La cuota se aparta más de 10,00 del tipo aplicado a la base.",
        "the tax is more than 10.00 away from rate times base",
        LineOf(lines::product),
    ),
    record(
        "1140",
        "Val 3.1.3.15.8",
        "La cuota y la base a coste deben tener el mismo signo.",
        "tax and base at cost must have the same sign",
        LineOf(lines::sign_at_cost),
    ),
    record(
        "1144",
        "Val 3.1.3.15.8",
        "La cuota se aparta más de 10,00 del tipo aplicado a la base a coste.",
        "the tax is more than 10.00 away from rate times base at cost",
        LineOf(lines::product_at_cost),
    ),
    // Regime of a line.
    Rule {
        level: Level::Admitted,
        valid_to: Some(date(2026, 12, 31)),
        ..record("2009", "Val 3.1.3.15.6", IPSI_ES, IPSI_EN, Line(regimes::ipsi))
    },
    Rule {
        valid_from: Some(date(2027, 1, 1)),
        ..record("1245", "Val 3.1.3.15.6", IPSI_ES, IPSI_EN, Line(regimes::ipsi))
    },
    record(
        "1246",
        "Val 3.1.3.15.6, list L8A",
        "La clave de régimen 21 no existe en el IVA.",
        "the regime key 21 does not exist for VAT",
        Line(regimes::of_another_tax),
    ),
    record(
        "1260",
        "Val 3.1.3.15.6",
        "El impuesto 05 no lleva clave de régimen.",
        "the tax 05 carries no regime key",
        Line(regimes::forbidden),
    ),
    record(
        "1199",
        "Val 3.1.3.15.6",
        "El régimen 01 no admite las exenciones E2 y E3.",
        "regime 01 excludes the exemption causes E2 and E3",
        Line(regimes::general),
    ),
    record(
        "1286",
        "Val 3.1.3.15.6",
        "El régimen 02 solo admite operaciones exentas.",
        "regime 02 is for exempt operations only",
        Line(regimes::export),
    ),
    record(
        "1200",
        "Val 3.1.3.15.6",
        "En el régimen 03 la única calificación posible es S1.",
        "under regime 03 the only possible qualification is S1",
        Line(regimes::used_goods),
    ),
    record(
        "1201",
        "Val 3.1.3.15.6",
        "El régimen 04 exige S2 o una exención.",
        "regime 04 wants S2 or an exemption",
        Line(regimes::gold),
    ),
    record(
        "1202",
        "Val 3.1.3.15.6",
        "El régimen 06 exige base a coste y no cabe en F2, F3 ni R5.",
        "regime 06 wants a base at cost and is not possible with F2, F3 and R5",
        LineOf(regimes::group),
    ),
    record(
        "1203",
        "Val 3.1.3.15.6",
        "El régimen 07 no admite S2, N1, N2 ni las exenciones E2 a E5.",
        "regime 07 excludes S2, N1, N2 and the exemption causes E2 to E5",
        Line(regimes::cash),
    ),
    record(
        "1252",
        "Val 3.1.3.15.6",
        "El régimen 08 exige la calificación N2.",
        "regime 08 wants the qualification N2",
        Line(regimes::other_indirect_tax),
    ),
    record(
        "1205",
        "Val 3.1.3.15.6",
        "El régimen 10 exige N1, factura F1 y destinatarios con NIF.",
        "regime 10 wants N1, an invoice of type F1 and recipients identified by NIF",
        LineOf(regimes::collections),
    ),
    record(
        "1206",
        "Val 3.1.3.15.6",
        "En el régimen 11 el tipo de IVA es el 21 %.",
        "under regime 11 the VAT rate is 21 %",
        Line(regimes::premises),
    ),
    record(
        "1147",
        "Val 3.1.3.15.6",
        "El régimen 14 exige una fecha de operación posterior a la de expedición.",
        "regime 14 wants a date of operation later than the date of issue",
        LineOf(regimes::public_works_date),
    ),
    record(
        "1148",
        "Val 3.1.3.15.6",
        "El régimen 14 solo cabe en F1 y R1 a R4.",
        "regime 14 is possible with F1 and R1 to R4 only",
        LineOf(regimes::public_works_type),
    ),
    record(
        "1149",
        "Val 3.1.3.15.6",
        "El régimen 14 exige destinatarios con un NIF que empiece por P, Q, S o V.",
        "regime 14 wants recipients identified by a NIF that begins with P, Q, S or V",
        LineOf(regimes::public_works_recipient),
    ),
    record(
        "1293",
        "Val 3.1.3.15.6",
        "El régimen 20 de IGIC exige la calificación N2.",
        "regime 20 of IGIC wants the qualification N2",
        Line(regimes::igic_subject_to_ipsi),
    ),
    record(
        "1289",
        "Val 3.1.3.15.5",
        "Con la exención E5 de IVA los destinatarios no se identifican con NIF.",
        "with the VAT exemption E5 recipients are identified otherwise than by NIF",
        LineOf(regimes::intra_union_recipient),
    ),
    // Dates.
    record(
        "1112",
        "Val 3.1.3.1",
        "La fecha de expedición es posterior a hoy.",
        "the date of issue is later than today",
        Invoice(invoice::issued_in_future),
    ),
    record(
        "1152",
        "Val 3.1.3.1",
        "La fecha de expedición es anterior al 28 de octubre de 2024.",
        "the date of issue is before 28 October 2024",
        Invoice(invoice::issued_too_early),
    ),
    record(
        "1146",
        "Val 3.1.3.1",
        "La operación solo puede ser posterior a la expedición en los regímenes 14 y 15.",
        "the operation may be later than the issue only under the regimes 14 and 15",
        Invoice(invoice::operation_after_issue),
    ),
    record(
        "1173",
        "Val 3.1.3.7",
        "La fecha de operación solo puede ser futura en los regímenes 14 y 15.",
        "the date of operation may lie in the future only under the regimes 14 and 15",
        Invoice(invoice::operation_in_future),
    ),
    record(
        "1134",
        "Val 3.1.3.7",
        "La operación tiene más de veinte años.",
        "the operation is more than twenty years old",
        Invoice(invoice::operation_too_old),
    ),
    record(
        "1125",
        "Val 3.1.3.7",
        "La fecha de operación pasa del final del año próximo.",
        "the date of operation is later than the end of next year",
        Invoice(invoice::operation_too_far),
    ),
    // Corrections and rectifications.
    record(
        "1153",
        "Val 3.1.3.2-6",
        "Un rechazo previo X solo cabe en una subsanación.",
        "prior rejection X goes with a correction only",
        Invoice(invoice::not_held_without_correction),
    ),
    record(
        "1161",
        "Val 3.1.3.2-6",
        "Un rechazo previo S solo cabe en una subsanación.",
        "prior rejection S goes with a correction only",
        Invoice(invoice::rejected_without_correction),
    ),
    record(
        "1114",
        "Val 3.1.3.2-6",
        "Una factura rectificativa debe decir si es por sustitución o por diferencias.",
        "a rectifying invoice (R1 to R5) must say whether it rectifies by substitution (S) or differences (I)",
        Invoice(invoice::mode_missing),
    ),
    record(
        "1115",
        "Val 3.1.3.2-6",
        "El modo de rectificación solo cabe en R1 a R5.",
        "the rectification mode goes with R1 to R5 only",
        Invoice(invoice::mode_out_of_place),
    ),
    record(
        "1117",
        "Val 3.1.3.2-6",
        "Las facturas rectificadas solo caben en R1 a R5.",
        "rectified invoices go with R1 to R5 only",
        Invoice(invoice::rectified_out_of_place),
    ),
    record(
        "1116",
        "Val 3.1.3.2-6",
        "Las facturas sustituidas solo caben en F3.",
        "replaced invoices go with F3 only",
        Invoice(invoice::replaced_out_of_place),
    ),
    record(
        "1118",
        "Val 3.1.3.2-6",
        "Una rectificación por sustitución debe llevar los importes rectificados.",
        "a rectification by substitution must state the rectified amounts",
        Invoice(invoice::rectified_amounts_missing),
    ),
    record(
        "1119",
        "Val 3.1.3.2-6",
        "Los importes rectificados solo caben en una rectificación por sustitución.",
        "rectified amounts go with a rectification by substitution only",
        Invoice(invoice::rectified_amounts_out_of_place),
    ),
    // Flags.
    record(
        "1183",
        "Val 3.1.3.8",
        "La simplificada cualificada solo cabe en F1, F3 y R1 a R4.",
        "the mark for qualified simplified invoices goes with F1, F3 and R1 to R4 only",
        Invoice(invoice::qualified_simplified),
    ),
    record(
        "1185",
        "Val 3.1.3.9",
        "La marca sin destinatario (art. 6.1.d) solo cabe en F2 y R5.",
        "the mark for invoices without recipient (art. 6.1.d) goes with F2 and R5 only",
        Invoice(invoice::without_recipient),
    ),
    record(
        "1157",
        "Val 3.1.3.14",
        "El cupón solo cabe en R1 y R5.",
        "the coupon mark goes with R1 and R5 only",
        Invoice(invoice::coupon),
    ),
    record(
        "1139",
        "Val 3.1.3.10",
        "Un importe total de 100 millones o más exige la marca de macrodato.",
        "a total of 100 million or more must be marked as large",
        Invoice(invoice::large_amount_missing),
    ),
    record(
        "1138",
        "Val 3.1.3.10",
        "La marca de macrodato exige un importe total de 100 millones o más.",
        "a total below 100 million must not be marked as large",
        Invoice(invoice::large_amount_out_of_place),
    ),
    // Third party and recipients.
    record(
        "1155",
        "Val 3.1.3.12",
        "Hay un tercero, pero no se dice quién emitió la factura.",
        "there is a third party, but nothing says who issued the invoice",
        Invoice(invoice::third_party_unannounced),
    ),
    record(
        "1159",
        "Val 3.1.3.12",
        "La factura la emitió el destinatario, así que no lleva tercero.",
        "the recipient issued the invoice, so there is no third party to state",
        Invoice(invoice::third_party_with_recipient),
    ),
    record(
        "1186",
        "Val 3.1.3.12",
        "La factura la emitió un tercero, que falta.",
        "a third party issued the invoice, so it must be stated",
        Invoice(invoice::third_party_missing),
    ),
    record(
        "1158",
        "Val 3.1.3.11",
        "La factura la emitió el destinatario, que falta.",
        "the recipient issued the invoice, so it must be stated",
        Invoice(invoice::issuing_recipient_missing),
    ),
    record(
        "1188",
        "Val 3.1.3.12",
        "El tercero no puede ser el propio obligado a emitir.",
        "the third party must be another than the issuer",
        Invoice(invoice::third_party_is_issuer),
    ),
    record(
        "1189",
        "Val 3.1.3.13",
        "F1, F3 y R1 a R4 necesitan al menos un destinatario.",
        "F1, F3 and R1 to R4 need at least one recipient",
        Invoice(invoice::recipient_missing),
    ),
    record(
        "1190",
        "Val 3.1.3.13",
        "F2 y R5 no llevan destinatarios.",
        "F2 and R5 carry no recipients",
        Invoice(invoice::recipient_out_of_place),
    ),
    record(
        "1156",
        "Val 3.1.3.13",
        "Un destinatario con NIF-IVA solo cabe en F1, F3 y R1 a R4.",
        "a recipient with an EU VAT number (02) goes with F1, F3 and R1 to R4 only",
        Invoice(invoice::eu_recipient_out_of_place),
    ),
    // Identifications other than a NIF.
    record(
        "1111",
        "Val 3.1.3.13",
        "Falta el país, que solo sobra en un NIF-IVA.",
        "the country is mandatory, except for an EU VAT number (02)",
        Party(parties::country_missing),
    ),
    record(
        "1103",
        "Val, note 1",
        "No es un NIF-IVA: escríbalo en mayúsculas y con el prefijo de su país.",
        "not the shape of an EU VAT number: write it in upper case with its country prefix, such as FR12345678901",
        Party(parties::vat_number_shape),
    ),
    record(
        "1122",
        "Val 3.1.3.13",
        "El país no es el del prefijo del NIF-IVA.",
        "the country is not the one that the EU VAT number begins with",
        Party(parties::vat_number_country),
    ),
    record(
        "1126",
        "Val 3.1.3.13",
        "España va con 03 o 07, y 07 va con España.",
        "Spain goes with 03 or 07 only, and 07 goes with Spain only",
        Party(parties::country_for_kind),
    ),
    record(
        "1290",
        "Val 3.1.3.13",
        "Un no censado (07) se identifica con un NIF bien formado.",
        "a person not in the census (07) is identified by a well-formed NIF",
        Party(parties::not_in_census_is_nif),
    ),
    record(
        "1131",
        "Val 3.1.3.13",
        "Un no censado (07) debe ser persona física.",
        "only a natural person can be stated as not in the census (07)",
        Party(parties::not_in_census_is_person),
    ),
    record(
        "1254",
        "Val 3.1.3.13",
        "Antes de 2021 no existía el prefijo XI.",
        "the prefix XI does not exist for operations before 2021",
        Party(parties::northern_ireland),
    ),
    record(
        "1255",
        "Val 3.1.3.13",
        "Desde febrero de 2021 no existe el prefijo GB.",
        "the prefix GB does not exist for operations from February 2021 on",
        Party(parties::great_britain),
    ),
    record(
        "1211",
        "Val 3.1.3.12",
        "Un tercero no puede identificarse como no censado (07).",
        "a third party cannot be stated as not in the census (07)",
        Party(parties::third_party_not_in_census),
    ),
    record(
        "1221",
        "Val 3.1.5",
        "El productor del sistema no puede identificarse como no censado (07).",
        "the producer of the system cannot be stated as not in the census (07)",
        Party(parties::producer_not_in_census),
    ),
    record(
        "1232",
        "Val 3.1.3.12, 3.1.4.3, 3.1.5",
        "Con país España, el documento debe ser un pasaporte (03).",
        "with Spain as the country the document must be a passport (03)",
        Party(parties::spain_by_passport),
    ),
    // Cancellations.
    record(
        "1224",
        "Val 3.1.4.3",
        "Quién genera la anulación y su identificación van siempre juntos.",
        "who generated the cancellation and their identification go together",
        Cancellation(cancellation::generator_pair),
    ),
    record(
        "1227",
        "Val 3.1.4.3",
        "Si la anulación la genera el emisor, se identifica con NIF.",
        "an issuer that generates the cancellation is identified by NIF",
        Party(parties::generator_issuer_by_nif),
    ),
    record(
        "1229",
        "Val 3.1.4.3",
        "Un tercero que genera la anulación no puede ser no censado (07).",
        "a third party that generates the cancellation cannot be stated as not in the census (07)",
        Party(parties::generator_not_in_census),
    ),
    record(
        "1230",
        "Val 3.1.4.3",
        "Si la anulación la genera un destinatario con país España, el documento es 03 o 07.",
        "with Spain as the country of a recipient that generates the cancellation, the document is 03 or 07",
        Party(parties::generator_recipient_spain),
    ),
    record(
        "1259",
        "Val 3.1.4.3",
        "Quien genera la anulación debe ser otro que el obligado a emitir.",
        "whoever generates the cancellation must be another than the issuer",
        Cancellation(cancellation::generator_is_another),
    ),
    // Counts and totals.
    Rule {
        code: Some(4102),
        level: Level::Submission,
        ..record(
            "line_count",
            "schema, DesgloseType",
            "El desglose lleva de 1 a 12 líneas.",
            "the breakdown has 1 to 12 lines",
            Invoice(invoice::line_count),
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
            Invoice(invoice::item_count),
        )
    },
    record(
        "1150",
        "Val 3.1.3.15.7-8",
        "Una factura simplificada (F2) no pasa de 3000 euros.",
        "a simplified invoice (F2) comes to 3000 euros at most",
        Invoice(invoice::simplified_limit),
    ),
    Rule {
        level: Level::Admitted,
        ..record(
            "2006",
            "Val 3.1.3.16",
            "La cuota total se aparta más de 10,00 de la suma de las líneas.",
            "the tax total is more than 10.00 away from the sum of the lines",
            Invoice(invoice::tax_total),
        )
    },
    Rule {
        level: Level::Admitted,
        ..record(
            "2005",
            "Val 3.1.3.17",
            "El importe total se aparta más de 10,00 de la suma de las líneas.",
            "the total is more than 10.00 away from the sum of the lines",
            Invoice(invoice::total),
        )
    },
];

const IPSI_ES: &str = "El IPSI lleva una clave de régimen: 01, 08, 11, 18, 19 o 20.";
const IPSI_EN: &str = "IPSI wants a regime key: 01, 08, 11, 18, 19 or 20";

/// A rule whose breach rejects the record; its code is its name.
const fn record(
    id: &'static str,
    source: &'static str,
    text_es: &'static str,
    text_en: &'static str,
    check: Check,
) -> Rule {
    let valid: Option<civil::Date> = None;
    Rule {
        id,
        code: number(id),
        level: Level::Record,
        text_es,
        text_en,
        valid_from: valid,
        valid_to: valid,
        source,
        check,
    }
}

/// The number that a text of four digits spells.
const fn number(text: &str) -> Option<u16> {
    let bytes = text.as_bytes();
    if bytes.len() != 4 {
        return None;
    }
    let mut value = 0;
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            return None;
        }
        value = value * 10 + (bytes[at] - b'0') as u16;
        at += 1;
    }
    Some(value)
}
