//! How REST spells the fields of the model.

use std::fmt::Write;

use crate::validation::{Field, Path, Step};

/// The REST name of a field.
#[must_use]
pub const fn rest_name(field: Field) -> &'static str {
    match field {
        Field::Issuer | Field::Nif => "nif",
        Field::IssuerName | Field::Name => "nombre",
        Field::Number => "numSerie",
        Field::Date => "fecha",
        Field::OperationDate => "fechaOperacion",
        Field::ExternalReference => "refExterna",
        Field::InvoiceType => "tipoFactura",
        Field::Description => "descripcion",
        Field::Corrects => "subsanacion",
        Field::PriorRejection => "rechazoPrevio",
        Field::RectificationMode => "tipoRectificativa",
        Field::Rectified => "facturasRectificadas",
        Field::Replaced => "facturasSustituidas",
        Field::RectifiedAmounts => "importeRectificacion",
        Field::QualifiedSimplified => "simplificadaArt7273",
        Field::WithoutRecipient => "sinDestinatarioArt61d",
        Field::LargeAmount => "macrodato",
        Field::Coupon => "cupon",
        Field::IssuedBy => "emitidaPor",
        Field::ThirdParty => "tercero",
        Field::Recipients => "destinatarios",
        Field::TaxTotal => "cuotaTotal",
        Field::Total => "total",
        Field::InvoicingAgreement => "numRegistroAcuerdoFacturacion",
        Field::SystemAgreement => "idAcuerdoSistemaInformatico",
        Field::Breakdown => "desglose",
        Field::Tax => "impuesto",
        Field::Regime => "clave",
        Field::Qualification => "calif",
        Field::Exemption => "causaExencion",
        Field::Rate => "tipo",
        Field::Base | Field::RectifiedBase => "base",
        Field::BaseAtCost => "baseImponibleACoste",
        Field::TaxAmount | Field::RectifiedTax => "cuota",
        Field::SurchargeRate => "tipoRecargo",
        Field::SurchargeAmount | Field::RectifiedSurcharge => "cuotaRecargo",
        Field::ForeignId => "idOtro",
        Field::Country => "codigoPais",
        Field::ForeignIdType => "idType",
        Field::ForeignIdNumber => "id",
        Field::WithoutPriorRecord => "sinRegistroPrevio",
        Field::GeneratedBy => "generadoPor",
        Field::Generator => "generador",
        Field::Chain => "encadenamiento",
        Field::FirstRecord => "primerRegistro",
        Field::PreviousRecord => "registroAnterior",
        Field::Huella => "huella",
        Field::HuellaType => "tipoHuella",
        Field::GeneratedAt => "fechaHoraHusoGenRegistro",
        Field::System => "sistemaInformatico",
        Field::ProducerName => "nombreRazon",
        Field::SystemName => "nombreSistemaInformatico",
        Field::SystemId => "idSistemaInformatico",
        Field::SystemVersion => "version",
        Field::Installation => "numeroInstalacion",
        Field::VerifactuOnly => "tipoUsoPosibleSoloVerifactu",
        Field::MultipleIssuersPossible => "tipoUsoPosibleMultiOT",
        Field::MultipleIssuers => "indicadorMultiplesOT",
        Field::VerifactuEnd => "fechaFinVeriFactu",
    }
}

/// The REST spelling of a place: `desglose[0].calif`.
#[must_use]
pub fn rest_path(path: &Path) -> String {
    let mut text = String::new();
    for step in path.steps() {
        match step {
            Step::Field(field) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(rest_name(*field));
            }
            Step::Index(index) => {
                let _ = write!(text, "[{index}]");
            }
        }
    }
    text
}

/// Spellings that are accepted besides a field's name.
pub(super) const fn aliases(field: Field) -> &'static [&'static str] {
    match field {
        Field::Breakdown => &["detalles"],
        Field::SurchargeRate => &["tipoRecargoEquivalencia"],
        Field::SurchargeAmount => &["cuotaRecargoEquivalencia"],
        Field::WithoutPriorRecord => &["sinRegistroAnterior"],
        _ => &[],
    }
}
