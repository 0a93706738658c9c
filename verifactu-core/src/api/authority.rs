//! What the authority says when it is asked, and what the own ledger would say instead.

use serde::{Deserialize, Serialize};

use crate::types::{JobId, Nif};

use super::Timestamp;

/// A page of what is held of invoices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Lookup {
    /// Who was asked.
    pub source: LookupSource,
    /// The rows: of the authority one for each invoice, with its present state; of the ledger one for each
    /// record.
    pub facturas: Vec<FoundInvoice>,
    /// The `clavePaginacion` of the next page; null on the last one.
    pub clave_paginacion: Option<String>,
}

/// Who is asked about invoices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LookupSource {
    /// The authority's query service.
    Authority,
    /// The account's own records.
    Ledger,
}

/// An invoice at the authority, or a record of it in the ledger. What is not known is null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FoundInvoice {
    /// The issuer.
    pub nif: String,
    /// Series and number.
    pub num_serie: String,
    /// Date of issue.
    pub fecha: String,
    /// What is held of it.
    pub estado: FoundState,
    /// The number of its error.
    pub codigo_error: Option<String>,
    /// The text of its error.
    pub descripcion_error: Option<String>,
    /// Type of invoice.
    pub tipo_factura: Option<String>,
    /// The total.
    pub total: Option<String>,
    /// The record's huella.
    pub huella: Option<String>,
    /// When the record was generated. The authority normalises it.
    pub fecha_hora_huso_gen_registro: Option<String>,
    /// The reference that came with it.
    pub ref_externa: Option<String>,
    /// Whose certificate presented it.
    pub nif_presentador: Option<String>,
    /// When it was presented.
    pub timestamp_presentacion: Option<Timestamp>,
    /// When its state last changed.
    pub timestamp_ultima_modificacion: Option<Timestamp>,
    /// The authority's verification code, for a record of the ledger: the query does not tell it.
    pub csv: Option<String>,
    /// The account's own job, for a record of the ledger.
    pub job_id: Option<JobId>,
}

/// What is held of an invoice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FoundState {
    /// Its record waits in the ledger.
    Pendiente,
    /// Its record was sent, and what became of it is being found out.
    EnDuda,
    /// Registered.
    Correcto,
    /// Registered, with errors.
    AceptadoConErrores,
    /// Cancelled.
    Anulado,
    /// Its record was refused.
    Incorrecto,
}

/// A taxpayer to be checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct CheckNif {
    /// The number.
    pub nif: Nif,
    /// The name; a natural person is not identified without.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::types::Text<120>>"))]
    pub nombre: Option<String>,
}

/// Taxpayers to be checked, at most 100.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct CheckNifs {
    /// The taxpayers.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 100)))]
    pub items: Vec<CheckNif>,
}

/// What the census says of a taxpayer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckedNif {
    /// Who was asked about.
    pub nif: String,
    /// The name that came back: an entity's in the census, a natural person's as it was asked.
    pub nombre: String,
    /// The census's word, such as `IDENTIFICADO` or `NO IDENTIFICADO-SIMILAR`.
    pub resultado: String,
    /// Whether the census holds the taxpayer under this name.
    pub identificado: bool,
}

/// What the census says of several taxpayers, in the order of the question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckedNifs {
    /// The taxpayers.
    pub items: Vec<CheckedNif>,
}
