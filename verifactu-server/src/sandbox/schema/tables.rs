//! The tables: the submission, its two records, its header, and the query, slot by slot in the
//! order of AEAT's schema files.

use super::super::xml::Ns;
use super::{Facet, Form, Node, Shape, Slot};

const fn facet(form: Form, code: u16) -> Facet {
    Facet { form, code }
}

const fn leaf(name: &'static str, form: Form, code: u16) -> Node {
    Node { ns: Ns::Information, name, shape: Shape::Leaf(facet(form, code)) }
}

const fn group(name: &'static str, slots: &'static [Slot]) -> Node {
    Node { ns: Ns::Information, name, shape: Shape::Group(slots) }
}

const fn within(ns: Ns, node: Node) -> Node {
    Node { ns, name: node.name, shape: node.shape }
}

const fn one(any_of: &'static [Node]) -> Slot {
    Slot { any_of, least: 1, most: 1 }
}

const fn opt(any_of: &'static [Node]) -> Slot {
    Slot { any_of, least: 0, most: 1 }
}

const fn many(any_of: &'static [Node], most: usize) -> Slot {
    Slot { any_of, least: 1, most }
}

const YES_NO: Form = Form::OneOf(&["S", "N"]);
const YES: Form = Form::OneOf(&["S"]);
const VERSION: Form = Form::OneOf(&["1.0"]);
const MONTHS: Form = Form::OneOf(&["01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12"]);
const INVOICE_TYPES: Form = Form::OneOf(&["F1", "F2", "R1", "R2", "R3", "R4", "R5", "F3"]);
const ID_TYPES: Form = Form::OneOf(&["02", "03", "04", "05", "06", "07"]);
const REGIMES: Form = Form::OneOf(&[
    "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "14", "15", "17", "18", "19", "20",
    "21",
]);
const EXEMPTIONS: Form = Form::OneOf(&["E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8"]);

/// May be empty: whose name must be there is a matter of rules.
const NAME: Node = leaf("NombreRazon", Form::Text(0, 120), 1100);

/// The submission: header and 1 to 1000 records.
pub(crate) static SUBMISSION: Node = Node {
    ns: Ns::Submission,
    name: "RegFactuSistemaFacturacion",
    shape: Shape::Group(&[
        one(&[within(Ns::Submission, group("Cabecera", HEADER_SLOTS))]),
        many(
            &[Node {
                ns: Ns::Submission,
                name: "RegistroFactura",
                shape: Shape::Group(&[one(&[
                    group("RegistroAlta", ALTA),
                    group("RegistroAnulacion", ANULACION),
                ])]),
            }],
            1000,
        ),
    ]),
};

/// The submission's header.
pub(crate) static HEADER: Node = within(Ns::Submission, group("Cabecera", HEADER_SLOTS));

/// `RegistroAlta`.
pub(crate) static RECORD_ALTA: Node = group("RegistroAlta", ALTA);

/// `RegistroAnulacion`.
pub(crate) static RECORD_ANULACION: Node = group("RegistroAnulacion", ANULACION);

/// The query.
pub(crate) static QUERY: Node = Node {
    ns: Ns::Query,
    name: "ConsultaFactuSistemaFacturacion",
    shape: Shape::Group(&[
        one(&[within(Ns::Query, group("Cabecera", QUERY_HEADER))]),
        one(&[within(Ns::Query, group("FiltroConsulta", QUERY_FILTER))]),
        opt(&[within(
            Ns::Query,
            group(
                "DatosAdicionalesRespuesta",
                &[
                    opt(&[within(Ns::Query, leaf("MostrarNombreRazonEmisor", YES_NO, 1270))]),
                    opt(&[within(Ns::Query, leaf("MostrarSistemaInformatico", YES_NO, 1271))]),
                ],
            ),
        )]),
    ]),
};

const HEADER_SLOTS: &[Slot] = &[
    one(&[group("ObligadoEmision", &[one(&[NAME]), one(&[leaf("NIF", Form::Nif, 4116)])])]),
    opt(&[group("Representante", &[one(&[NAME]), one(&[leaf("NIF", Form::Nif, 4117)])])]),
    opt(&[group(
        "RemisionVoluntaria",
        &[opt(&[leaf("FechaFinVeriFactu", Form::Date, 4106)]), opt(&[leaf("Incidencia", YES_NO, 4121)])],
    )]),
    opt(&[group(
        "RemisionRequerimiento",
        &[
            one(&[leaf("RefRequerimiento", Form::Text(1, 18), 4122)]),
            opt(&[leaf("FinRequerimiento", YES_NO, 4131)]),
        ],
    )]),
];

const ALTA: &[Slot] = &[
    one(&[leaf("IDVersion", VERSION, 1251)]),
    one(&[group("IDFactura", ALTA_KEY)]),
    opt(&[leaf("RefExterna", Form::Text(0, 60), 1253)]),
    one(&[leaf("NombreRazonEmisor", Form::Text(1, 120), 1100)]),
    opt(&[leaf("Subsanacion", YES_NO, 1171)]),
    opt(&[leaf("RechazoPrevio", Form::OneOf(&["N", "S", "X"]), 1171)]),
    one(&[leaf("TipoFactura", INVOICE_TYPES, 1106)]),
    opt(&[leaf("TipoRectificativa", Form::OneOf(&["S", "I"]), 1107)]),
    opt(&[group("FacturasRectificadas", &[many(&[group("IDFacturaRectificada", OTHER_KEY)], 1000)])]),
    opt(&[group("FacturasSustituidas", &[many(&[group("IDFacturaSustituida", OTHER_KEY)], 1000)])]),
    opt(&[group(
        "ImporteRectificacion",
        &[
            one(&[leaf("BaseRectificada", Form::Amount, 1100)]),
            one(&[leaf("CuotaRectificada", Form::Amount, 1100)]),
            opt(&[leaf("CuotaRecargoRectificado", Form::Amount, 1100)]),
        ],
    )]),
    opt(&[leaf("FechaOperacion", Form::Date, 1145)]),
    one(&[leaf("DescripcionOperacion", Form::Text(1, 500), 1100)]),
    opt(&[leaf("FacturaSimplificadaArt7273", YES_NO, 1136)]),
    opt(&[leaf("FacturaSinIdentifDestinatarioArt61d", YES_NO, 1184)]),
    opt(&[leaf("Macrodato", YES_NO, 1137)]),
    opt(&[leaf("EmitidaPorTerceroODestinatario", Form::OneOf(&["D", "T"]), 1151)]),
    opt(&[group("Tercero", PARTY)]),
    opt(&[group("Destinatarios", &[many(&[group("IDDestinatario", PARTY)], 1000)])]),
    opt(&[leaf("Cupon", YES_NO, 1157)]),
    one(&[group("Desglose", &[many(&[group("DetalleDesglose", LINE)], 12)])]),
    one(&[leaf("CuotaTotal", Form::Amount, 1100)]),
    one(&[leaf("ImporteTotal", Form::Amount, 1100)]),
    one(&[group("Encadenamiento", LINK)]),
    one(&[group("SistemaInformatico", SYSTEM)]),
    one(&[leaf("FechaHoraHusoGenRegistro", Form::Stamp, 1244)]),
    opt(&[leaf("NumRegistroAcuerdoFacturacion", Form::Text(0, 15), 1100)]),
    opt(&[leaf("IdAcuerdoSistemaInformatico", Form::Text(0, 16), 1100)]),
    one(&[leaf("TipoHuella", Form::OneOf(&["01"]), 1247)]),
    one(&[leaf("Huella", Form::Any, 1262)]),
    opt(&[SIGNATURE]),
];

const ANULACION: &[Slot] = &[
    one(&[leaf("IDVersion", VERSION, 1251)]),
    one(&[group(
        "IDFactura",
        &[
            one(&[leaf("IDEmisorFacturaAnulada", Form::Nif, 1219)]),
            one(&[leaf("NumSerieFacturaAnulada", Form::Number, 1104)]),
            one(&[leaf("FechaExpedicionFacturaAnulada", Form::Date, 1105)]),
        ],
    )]),
    opt(&[leaf("RefExterna", Form::Text(0, 60), 1253)]),
    opt(&[leaf("SinRegistroPrevio", YES_NO, 1276)]),
    opt(&[leaf("RechazoPrevio", YES_NO, 1275)]),
    opt(&[leaf("GeneradoPor", Form::OneOf(&["E", "D", "T"]), 1225)]),
    opt(&[group(
        "Generador",
        &[
            one(&[NAME]),
            one(&[
                leaf("NIF", Form::Nif, 1258),
                group(
                    "IDOtro",
                    &[
                        opt(&[leaf("CodigoPais", COUNTRIES, 1101)]),
                        one(&[leaf("IDType", ID_TYPES, 1231)]),
                        one(&[leaf("ID", Form::Text(1, 20), 1222)]),
                    ],
                ),
            ]),
        ],
    )]),
    one(&[group("Encadenamiento", LINK)]),
    one(&[group("SistemaInformatico", SYSTEM)]),
    one(&[leaf("FechaHoraHusoGenRegistro", Form::Stamp, 1244)]),
    one(&[leaf("TipoHuella", Form::OneOf(&["01"]), 1247)]),
    one(&[leaf("Huella", Form::Any, 1262)]),
    opt(&[SIGNATURE]),
];

const SIGNATURE: Node = Node { ns: Ns::Signature, name: "Signature", shape: Shape::Opaque };

const ALTA_KEY: &[Slot] = &[
    one(&[leaf("IDEmisorFactura", Form::Nif, 1219)]),
    one(&[leaf("NumSerieFactura", Form::Number, 1104)]),
    one(&[leaf("FechaExpedicionFactura", Form::Date, 1105)]),
];

/// The key of an invoice rectified or substituted.
const OTHER_KEY: &[Slot] = &[
    one(&[leaf("IDEmisorFactura", Form::Nif, 1100)]),
    one(&[leaf("NumSerieFactura", Form::Number, 1104)]),
    one(&[leaf("FechaExpedicionFactura", Form::Date, 1145)]),
];

const PARTY: &[Slot] = &[one(&[NAME]), one(&[leaf("NIF", Form::Nif, 1100), group("IDOtro", OTHER_ID)])];

const OTHER_ID: &[Slot] = &[
    opt(&[leaf("CodigoPais", COUNTRIES, 1101)]),
    one(&[leaf("IDType", ID_TYPES, 1102)]),
    one(&[leaf("ID", Form::Text(1, 20), 1222)]),
];

/// The choice between classification and exemption is left to rules 1195 and 1196.
const LINE: &[Slot] = &[
    opt(&[leaf("Impuesto", Form::OneOf(&["01", "02", "03", "05"]), 1218)]),
    opt(&[leaf("ClaveRegimen", REGIMES, 1246)]),
    opt(&[leaf("CalificacionOperacion", Form::OneOf(&["S1", "S2", "N1", "N2"]), 1181)]),
    opt(&[leaf("OperacionExenta", EXEMPTIONS, 1182)]),
    opt(&[leaf("TipoImpositivo", Form::Rate, 1100)]),
    one(&[leaf("BaseImponibleOimporteNoSujeto", Form::Amount, 1100)]),
    opt(&[leaf("BaseImponibleACoste", Form::Amount, 1100)]),
    opt(&[leaf("CuotaRepercutida", Form::Amount, 1100)]),
    opt(&[leaf("TipoRecargoEquivalencia", Form::Rate, 1100)]),
    opt(&[leaf("CuotaRecargoEquivalencia", Form::Amount, 1100)]),
];

const LINK: &[Slot] = &[one(&[
    leaf("PrimerRegistro", YES, 1274),
    group(
        "RegistroAnterior",
        &[
            one(&[leaf("IDEmisorFactura", Form::Nif, 1269)]),
            one(&[leaf("NumSerieFactura", Form::Number, 1175)]),
            one(&[leaf("FechaExpedicionFactura", Form::Date, 1174)]),
            one(&[leaf("Huella", Form::Any, 1291)]),
        ],
    ),
])];

const SYSTEM: &[Slot] = &[
    one(&[NAME]),
    one(&[leaf("NIF", Form::Nif, 1100), group("IDOtro", SYSTEM_ID)]),
    one(&[leaf("NombreSistemaInformatico", Form::Text(1, 30), 1220)]),
    one(&[leaf("IdSistemaInformatico", Form::SystemId, 1177)]),
    one(&[leaf("Version", Form::Text(1, 50), 1100)]),
    one(&[leaf("NumeroInstalacion", Form::Text(1, 100), 1100)]),
    one(&[leaf("TipoUsoPosibleSoloVerifactu", YES_NO, 1212)]),
    one(&[leaf("TipoUsoPosibleMultiOT", YES_NO, 1213)]),
    one(&[leaf("IndicadorMultiplesOT", YES_NO, 1226)]),
];

const SYSTEM_ID: &[Slot] = &[
    opt(&[leaf("CodigoPais", COUNTRIES, 1101)]),
    one(&[leaf("IDType", ID_TYPES, 1221)]),
    one(&[leaf("ID", Form::Text(1, 20), 1222)]),
];

const QUERY_HEADER: &[Slot] = &[
    one(&[leaf("IDVersion", VERSION, 1251)]),
    opt(&[
        group("ObligadoEmision", &[one(&[NAME]), one(&[leaf("NIF", Form::Nif, 4116)])]),
        group("Destinatario", &[one(&[NAME]), one(&[leaf("NIF", Form::Nif, 1100)])]),
    ]),
    opt(&[leaf("IndicadorRepresentante", YES, 1249)]),
];

const QUERY_FILTER: &[Slot] = &[
    one(&[within(
        Ns::Query,
        group(
            "PeriodoImputacion",
            &[one(&[leaf("Ejercicio", Form::Year, 1100)]), one(&[leaf("Periodo", MONTHS, 1248)])],
        ),
    )]),
    opt(&[within(Ns::Query, leaf("NumSerieFactura", Form::Number, 1104))]),
    opt(&[within(Ns::Query, group("Contraparte", PARTY))]),
    opt(&[within(
        Ns::Query,
        group(
            "FechaExpedicionFactura",
            &[opt(&[
                leaf("FechaExpedicionFactura", Form::Date, 1105),
                group(
                    "RangoFechaExpedicion",
                    &[opt(&[leaf("Desde", Form::Date, 1105)]), opt(&[leaf("Hasta", Form::Date, 1105)])],
                ),
            ])],
        ),
    )]),
    opt(&[within(Ns::Query, group("SistemaInformatico", QUERY_SYSTEM))]),
    opt(&[within(Ns::Query, leaf("RefExterna", Form::Text(0, 60), 1253))]),
    opt(&[within(Ns::Query, group("ClavePaginacion", ALTA_KEY))]),
];

const QUERY_SYSTEM: &[Slot] = &[
    one(&[NAME]),
    one(&[leaf("NIF", Form::Nif, 1100), group("IDOtro", SYSTEM_ID)]),
    opt(&[leaf("NombreSistemaInformatico", Form::Text(0, 30), 1220)]),
    one(&[leaf("IdSistemaInformatico", Form::Text(0, 2), 1177)]),
    opt(&[leaf("Version", Form::Text(0, 50), 1100)]),
    one(&[leaf("NumeroInstalacion", Form::Text(0, 100), 1100)]),
    opt(&[leaf("TipoUsoPosibleSoloVerifactu", YES_NO, 1212)]),
    opt(&[leaf("TipoUsoPosibleMultiOT", YES_NO, 1213)]),
    opt(&[leaf("IndicadorMultiplesOT", YES_NO, 1226)]),
];

/// AEAT's countries: ISO 3166 without some territories, and codes of its own.
#[rustfmt::skip]
const COUNTRIES: Form = Form::OneOf(&[
    "AF", "AL", "DE", "AD", "AO", "AI", "AQ", "AG", "SA", "DZ", "AR", "AM", "AW", "AU", "AT", "AZ",
    "BS", "BH", "BD", "BB", "BE", "BZ", "BJ", "BM", "BY", "BO", "BA", "BW", "BV", "BR", "BN", "BG",
    "BF", "BI", "BT", "CV", "KY", "KH", "CM", "CA", "CF", "CC", "CO", "KM", "CG", "CD", "CK", "KP",
    "KR", "CI", "CR", "HR", "CU", "TD", "CZ", "CL", "CN", "CY", "CW", "DK", "DM", "DO", "EC", "EG",
    "AE", "ER", "SK", "SI", "ES", "US", "EE", "ET", "FO", "PH", "FI", "FJ", "FR", "GA", "GM", "GE",
    "GS", "GH", "GI", "GD", "GR", "GL", "GU", "GT", "GG", "GN", "GQ", "GW", "GY", "HT", "HM", "HN",
    "HK", "HU", "IN", "ID", "IR", "IQ", "IE", "IM", "IS", "IL", "IT", "JM", "JP", "JE", "JO", "KZ",
    "KE", "KG", "KI", "KW", "LA", "LS", "LV", "LB", "LR", "LY", "LI", "LT", "LU", "XG", "MO", "MK",
    "MG", "MY", "MW", "MV", "ML", "MT", "FK", "MP", "MA", "MH", "MU", "MR", "YT", "UM", "MX", "FM",
    "MD", "MC", "MN", "ME", "MS", "MZ", "MM", "NA", "NR", "CX", "NP", "NI", "NE", "NG", "NU", "NF",
    "NO", "NC", "NZ", "IO", "OM", "NL", "BQ", "PK", "PW", "PA", "PG", "PY", "PE", "PN", "PF", "PL",
    "PT", "PR", "QA", "GB", "RW", "RO", "RU", "RE", "SB", "SV", "WS", "AS", "KN", "SM", "SX", "PM",
    "VC", "SH", "LC", "ST", "SN", "RS", "SC", "SL", "SG", "SY", "SO", "LK", "SZ", "ZA", "SD", "SS",
    "SE", "CH", "SR", "TH", "TW", "TZ", "TJ", "PS", "TF", "TL", "TG", "TK", "TO", "TT", "TN", "TC",
    "TM", "TR", "TV", "UA", "UG", "UY", "UZ", "VU", "VA", "VE", "VN", "VG", "VI", "WF", "YE", "DJ",
    "ZM", "ZW", "QU", "XB", "XU", "XN",
]);
