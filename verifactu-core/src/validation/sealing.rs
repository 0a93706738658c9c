//! Rules that no statement shows to be broken: they bind a record to its chain, its clock and to what the
//! authority holds. Sealing and dispatch keep them; here they are listed, with their level and source.

use super::{Check, Level, Rule, rule::record};

pub(super) static RULES: &[Rule] = &[
    admitted(
        "2000",
        "Val 3.1.3.23",
        "La huella no es la que resulta de los campos del registro.",
        "the huella is not the one that follows from the record's fields",
    ),
    admitted(
        "2004",
        "Val 3.1.3.20",
        "La hora de generación se aparta más de 240 segundos de la del envío, sin que conste una incidencia.",
        "the time of generation is more than 240 seconds away from the sending, and no incident is stated",
    ),
    admitted(
        "2007",
        "Val 3.1.3.18",
        "No es el primer registro de su cadena.",
        "not the first record of its chain",
    ),
    admitted(
        "2008",
        "code list, 2008",
        "La huella del registro anterior es la del propio registro.",
        "the predecessor's huella is the record's own",
    ),
    record(
        "3000",
        "Val annex 6",
        "Ya hay un registro de la factura, y este no se presenta como su subsanación.",
        "the invoice has a record already, and this one is not stated to correct it",
        Check::Ledger,
    ),
    record(
        "3002",
        "Val annex 6",
        "No hay registro de la factura que se subsana o anula, y no se dice que falte.",
        "the invoice to correct or cancel has no record, and nothing says that it lacks one",
        Check::Ledger,
    ),
];

const fn admitted(
    id: &'static str,
    source: &'static str,
    text_es: &'static str,
    text_en: &'static str,
) -> Rule {
    Rule { level: Level::Admitted, ..record(id, source, text_es, text_en, Check::Ledger) }
}
