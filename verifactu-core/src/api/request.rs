//! The bodies of `POST /send-invoice` and `POST /cancel-invoice` as a caller writes them.
//!
//! Amounts and rates are written as decimal strings, which no JSON library on the way can round.
//! Free texts are plain strings: the service judges them, and tells everything that is wrong at once.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::{
    record::{
        Country, Exemption, ForeignIdType, GeneratedBy, InvoiceType, IssuedBy, PriorRejection, Qualification,
        RectificationMode, Regime, Tax,
    },
    types::{Amount, Date, GenerationTime, Huella, InvoiceNumber, Nif, Rate},
};

/// An invoice to be registered.
///
/// ```
/// use verifactu_core::{api::{Line, Person, SendInvoice}, record::InvoiceType, types::*};
/// let line = Line::vat(Amount::parse("100")?, Rate::parse("21")?, Amount::parse("21")?);
/// let invoice = SendInvoice::new(
///     Nif::parse("B12345674")?,
///     InvoiceNumber::parse("2026/F-001")?,
///     Date::parse("15-01-2026")?,
///     InvoiceType::F1,
///     "Servicios",
///     vec![line],
/// )
/// .issuer_name("Emisor SL")
/// .recipient(Person::spanish("Cliente SA", Nif::parse("A39200019")?));
/// let json = serde_json::to_value(&invoice)?;
/// assert_eq!(json["desglose"][0]["base"], "100.0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SendInvoice {
    /// The obliged issuer.
    pub nif: Nif,
    /// Name of the issuer; may be absent where the account has one registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::types::Text<120>>"))]
    pub nombre: Option<String>,
    /// Series and number.
    pub num_serie: InvoiceNumber,
    /// Date of issue.
    pub fecha: Date,
    /// Date of the operation, where it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fecha_operacion: Option<Date>,
    /// The caller's own reference, at most 60 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::schema::Optional<60>>"))]
    pub ref_externa: Option<String>,
    /// Type of invoice.
    #[serde(serialize_with = "text")]
    pub tipo_factura: InvoiceType,
    /// What was sold, at most 500 characters.
    #[cfg_attr(feature = "schema", schemars(with = "crate::types::Text<500>"))]
    pub descripcion: String,
    /// The recipients, at most 1000.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default, length(max = 1000)))]
    pub destinatarios: Vec<Person>,
    /// 1 to 12 lines.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 12)))]
    pub desglose: Vec<Line>,
    /// Taxes and surcharges; the service adds up the lines if absent.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    pub cuota_total: Option<Amount>,
    /// Total of the invoice; the service adds up the lines if absent.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    pub total: Option<Amount>,
    /// How a rectifying invoice rectifies.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    pub tipo_rectificativa: Option<RectificationMode>,
    /// The invoices it rectifies, at most 1000.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default, length(max = 1000)))]
    pub facturas_rectificadas: Vec<InvoiceKey>,
    /// The simplified invoices it replaces, at most 1000.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default, length(max = 1000)))]
    pub facturas_sustituidas: Vec<InvoiceKey>,
    /// What the rectified invoices said, for a rectification by substitution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub importe_rectificacion: Option<ReplacedAmounts>,
    /// Qualified simplified invoice (RD 1619/2012, arts. 7.2 and 7.3).
    #[serde(rename = "simplificadaArt7273", skip_serializing_if = "Option::is_none")]
    pub simplificada_art_7273: Option<bool>,
    /// Invoice without identified recipient (RD 1619/2012, art. 6.1.d).
    #[serde(rename = "sinDestinatarioArt61d", skip_serializing_if = "Option::is_none")]
    pub sin_destinatario_art_61d: Option<bool>,
    /// Total of 100 million or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macrodato: Option<bool>,
    /// Base reduced by a coupon with only the original issued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cupon: Option<bool>,
    /// Who issued it materially, when not the issuer.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    pub emitida_por: Option<IssuedBy>,
    /// The third party that issued it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tercero: Option<Person>,
    /// The record corrects an earlier one of the same invoice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subsanacion: Option<bool>,
    /// What became of the earlier record; the service derives it if absent.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    pub rechazo_previo: Option<PriorRejection>,
    /// Number of an invoicing agreement registered with the authority.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::schema::Optional<15>>"))]
    pub num_registro_acuerdo_facturacion: Option<String>,
    /// Number of an agreement on the computer system.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::schema::Optional<16>>"))]
    pub id_acuerdo_sistema_informatico: Option<String>,
    /// Place in the chain; at its end if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encadenamiento: Option<Place>,
    /// Huella and time of a record that the caller hashed itself.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub sello: Option<Seal>,
    /// The caller's own computer system, where the account may name one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sistema_informatico: Option<System>,
}

impl SendInvoice {
    /// An invoice with what every invoice has.
    #[must_use]
    pub fn new(
        nif: Nif,
        num_serie: InvoiceNumber,
        fecha: Date,
        tipo_factura: InvoiceType,
        descripcion: impl Into<String>,
        desglose: Vec<Line>,
    ) -> Self {
        Self {
            nif,
            nombre: None,
            num_serie,
            fecha,
            fecha_operacion: None,
            ref_externa: None,
            tipo_factura,
            descripcion: descripcion.into(),
            destinatarios: Vec::new(),
            desglose,
            cuota_total: None,
            total: None,
            tipo_rectificativa: None,
            facturas_rectificadas: Vec::new(),
            facturas_sustituidas: Vec::new(),
            importe_rectificacion: None,
            simplificada_art_7273: None,
            sin_destinatario_art_61d: None,
            macrodato: None,
            cupon: None,
            emitida_por: None,
            tercero: None,
            subsanacion: None,
            rechazo_previo: None,
            num_registro_acuerdo_facturacion: None,
            id_acuerdo_sistema_informatico: None,
            encadenamiento: None,
            sello: None,
            sistema_informatico: None,
        }
    }

    /// States the issuer's name.
    #[must_use]
    pub fn issuer_name(mut self, name: impl Into<String>) -> Self {
        self.nombre = Some(name.into());
        self
    }

    /// Adds a recipient.
    #[must_use]
    pub fn recipient(mut self, recipient: Person) -> Self {
        self.destinatarios.push(recipient);
        self
    }

    /// Adds the caller's own reference, which jobs show and the authority echoes.
    #[must_use]
    pub fn reference(mut self, reference: impl Into<String>) -> Self {
        self.ref_externa = Some(reference.into());
        self
    }

    /// Makes it the correction of an earlier record of the same invoice.
    #[must_use]
    pub fn correction(mut self) -> Self {
        self.subsanacion = Some(true);
        self
    }
}

/// One line of the breakdown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = super::schema::as_read))]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// The tax; absent means VAT.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    pub impuesto: Option<Tax>,
    /// The regime, required for VAT and IGIC.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    pub clave: Option<Regime>,
    /// How the operation is qualified.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    pub calif: Option<Qualification>,
    /// Or why it is exempt.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    pub causa_exencion: Option<Exemption>,
    /// Taxable base, or the amount that is not subject.
    #[serde(serialize_with = "text")]
    pub base: Amount,
    /// Taxable base at cost.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::schema::BaseAtCost>"))]
    pub base_imponible_a_coste: Option<Amount>,
    /// The rate in percent.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    pub tipo: Option<Rate>,
    /// The tax charged.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    pub cuota: Option<Amount>,
    /// The rate of the equivalence surcharge.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    pub tipo_recargo: Option<Rate>,
    /// The equivalence surcharge.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    pub cuota_recargo: Option<Amount>,
}

impl Line {
    /// A line that has a base and nothing else.
    #[must_use]
    pub const fn new(base: Amount) -> Self {
        Self {
            impuesto: None,
            clave: None,
            calif: None,
            causa_exencion: None,
            base,
            base_imponible_a_coste: None,
            tipo: None,
            cuota: None,
            tipo_recargo: None,
            cuota_recargo: None,
        }
    }

    /// VAT under the general regime, subject and not exempt.
    #[must_use]
    pub const fn vat(base: Amount, rate: Rate, tax: Amount) -> Self {
        Self {
            clave: Some(Regime::R01),
            calif: Some(Qualification::S1),
            tipo: Some(rate),
            cuota: Some(tax),
            ..Self::new(base)
        }
    }

    /// Exempt from VAT under the general regime.
    #[must_use]
    pub const fn exempt(base: Amount, cause: Exemption) -> Self {
        Self { clave: Some(Regime::R01), causa_exencion: Some(cause), ..Self::new(base) }
    }
}

/// A person or entity other than the issuer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = super::schema::as_read))]
pub struct Person {
    /// Name and surnames, or company name, at most 120 characters.
    #[cfg_attr(feature = "schema", schemars(with = "crate::types::Text<120>"))]
    pub nombre: String,
    /// How it is identified.
    #[serde(flatten)]
    pub identificacion: PersonId,
}

impl Person {
    /// Somebody with a NIF.
    #[must_use]
    pub fn spanish(name: impl Into<String>, nif: Nif) -> Self {
        Self { nombre: name.into(), identificacion: PersonId::Nif(nif) }
    }

    /// Somebody with any other document. The country may be absent for an EU VAT number.
    #[must_use]
    pub fn foreign(
        name: impl Into<String>,
        country: Option<Country>,
        kind: ForeignIdType,
        number: impl Into<String>,
    ) -> Self {
        let id = ForeignDocument { codigo_pais: country, id_type: kind, id: number.into() };
        Self { nombre: name.into(), identificacion: PersonId::IdOtro(id) }
    }
}

/// How a [`Person`] is identified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum PersonId {
    /// A Spanish tax number.
    Nif(Nif),
    /// Any other.
    IdOtro(ForeignDocument),
}

/// An identification that is not a NIF.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = super::schema::as_read))]
#[serde(rename_all = "camelCase")]
pub struct ForeignDocument {
    /// The country; may be absent for an EU VAT number, which begins with it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    pub codigo_pais: Option<Country>,
    /// What kind of document.
    #[serde(serialize_with = "text")]
    pub id_type: ForeignIdType,
    /// Its number, at most 20 characters.
    #[cfg_attr(feature = "schema", schemars(with = "crate::types::Text<20>"))]
    pub id: String,
}

/// Another invoice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = super::schema::invoice_key))]
#[serde(rename_all = "camelCase")]
pub struct InvoiceKey {
    /// Its issuer.
    pub nif: Nif,
    /// Series and number.
    pub num_serie: InvoiceNumber,
    /// Date of issue.
    pub fecha: Date,
}

/// What rectified invoices said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = super::schema::as_read))]
#[serde(rename_all = "camelCase")]
pub struct ReplacedAmounts {
    /// Base.
    #[serde(serialize_with = "text")]
    pub base: Amount,
    /// Tax.
    #[serde(serialize_with = "text")]
    pub cuota: Amount,
    /// Equivalence surcharge.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    pub cuota_recargo: Option<Amount>,
}

/// Where a record stands in its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At its beginning.
    First,
    /// Behind the record with this huella.
    After(Huella),
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::First => BTreeMap::from([("primerRegistro", true)]).serialize(serializer),
            Self::After(huella) => {
                BTreeMap::from([("registroAnterior", BTreeMap::from([("huella", huella)]))])
                    .serialize(serializer)
            }
        }
    }
}

/// Huella and time of a record that its caller hashed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Seal {
    /// The huella.
    pub huella: Huella,
    /// When the record was generated; its literal text is what was hashed.
    #[serde(rename = "fechaHoraHusoGenRegistro", serialize_with = "text")]
    pub generated_at: GenerationTime,
}

/// A computer system of the caller's own. What is absent, the service completes from its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = super::schema::as_read))]
#[serde(rename_all = "camelCase")]
pub struct System {
    /// Name of the producer, at most 120 characters; goes with its identification.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::types::Text<120>>"))]
    pub nombre_razon: Option<String>,
    /// Identification of the producer.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub identificacion: Option<PersonId>,
    /// Name of the product, at most 30 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::schema::Optional<30>>"))]
    pub nombre_sistema_informatico: Option<String>,
    /// Tells the products of one producer apart: two characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::record::SystemId>"))]
    pub id_sistema_informatico: Option<String>,
    /// Version of the product, at most 50 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::schema::Optional<50>>"))]
    pub version: Option<String>,
    /// The installation, at most 100 characters; never used twice for one issuer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::schema::Optional<100>>"))]
    pub numero_instalacion: Option<String>,
    /// The product can work in VERI*FACTU mode only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tipo_uso_posible_solo_verifactu: Option<bool>,
    /// The product can hold several issuers.
    #[serde(rename = "tipoUsoPosibleMultiOT", skip_serializing_if = "Option::is_none")]
    pub tipo_uso_posible_multi_ot: Option<bool>,
    /// At the moment it does hold several.
    #[serde(rename = "indicadorMultiplesOT", skip_serializing_if = "Option::is_none")]
    pub indicador_multiples_ot: Option<bool>,
}

/// An invoice to be cancelled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CancelInvoice {
    /// The obliged issuer.
    pub nif: Nif,
    /// Name of the issuer; may be absent where the service knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::types::Text<120>>"))]
    pub nombre: Option<String>,
    /// Series and number.
    pub num_serie: InvoiceNumber,
    /// Date of issue.
    pub fecha: Date,
    /// The caller's own reference, at most 60 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::schema::Optional<60>>"))]
    pub ref_externa: Option<String>,
    /// The authority never held the invoice's record; the service derives it if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sin_registro_previo: Option<bool>,
    /// An earlier cancellation was rejected; the service derives it if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rechazo_previo: Option<bool>,
    /// Who generated the cancellation, when not the issuer.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "optional_text")]
    pub generado_por: Option<GeneratedBy>,
    /// Their identification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generador: Option<Person>,
    /// Place in the chain; at its end if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encadenamiento: Option<Place>,
    /// Huella and time of a record that the caller hashed itself.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub sello: Option<Seal>,
    /// The caller's own computer system, where the account may name one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sistema_informatico: Option<System>,
}

impl CancelInvoice {
    /// A plain cancellation.
    #[must_use]
    pub const fn new(nif: Nif, num_serie: InvoiceNumber, fecha: Date) -> Self {
        Self {
            nif,
            nombre: None,
            num_serie,
            fecha,
            ref_externa: None,
            sin_registro_previo: None,
            rechazo_previo: None,
            generado_por: None,
            generador: None,
            encadenamiento: None,
            sello: None,
            sistema_informatico: None,
        }
    }
}

/// Codes, amounts and rates are spelled as they are shown.
fn text<T: std::fmt::Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn optional_text<T: std::fmt::Display, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}
