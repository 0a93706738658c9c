//! What an invoice record says about the invoice.

use crate::types::{Amount, Date, InvoiceNumber, Nif, Text};

use super::{
    breakdown::BreakdownLine,
    codes::{InvoiceType, IssuedBy, PriorRejection, RectificationMode},
    party::Party,
};

/// The key of an invoice at the authority: issuer, number and date of issue together.
#[doc(alias = "IDFactura")]
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InvoiceId {
    /// The obliged issuer.
    #[doc(alias = "IDEmisorFactura")]
    pub issuer: Nif,
    /// Series and number.
    #[doc(alias = "NumSerieFactura")]
    pub number: InvoiceNumber,
    /// Date of issue.
    #[doc(alias = "FechaExpedicionFactura")]
    pub date: Date,
}

/// An invoice, as its record tells it (DR sheet 2). The chain, the system and the time are added
/// when the record is sealed: see [`Record`](super::Record).
#[doc(alias = "RegistroAlta")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invoice {
    /// The invoice's key.
    pub id: InvoiceId,
    /// The caller's own reference; the authority echoes it.
    #[doc(alias = "RefExterna")]
    pub external_reference: Option<Text<60>>,
    /// Name of the obliged issuer.
    #[doc(alias = "NombreRazonEmisor")]
    pub issuer_name: Text<120>,
    /// Whether, and how, this record corrects an earlier one of the same invoice.
    pub correction: Correction,
    /// Type of invoice.
    #[doc(alias = "TipoFactura")]
    pub invoice_type: InvoiceType,
    /// Mode of a rectifying invoice.
    #[doc(alias = "TipoRectificativa")]
    pub rectification: Option<RectificationMode>,
    /// The invoices it rectifies, at most 1000.
    #[doc(alias = "FacturasRectificadas")]
    pub rectified: Vec<InvoiceId>,
    /// The simplified invoices it replaces, at most 1000.
    #[doc(alias = "FacturasSustituidas")]
    pub replaced: Vec<InvoiceId>,
    /// What the rectified invoices said, for a rectification by substitution.
    #[doc(alias = "ImporteRectificacion")]
    pub rectified_amounts: Option<RectifiedAmounts>,
    /// Date of the operation, where it differs from the date of issue.
    #[doc(alias = "FechaOperacion")]
    pub operation_date: Option<Date>,
    /// What was sold, in general terms.
    #[doc(alias = "DescripcionOperacion")]
    pub description: Text<500>,
    /// Qualified simplified invoice (arts. 7.2 and 7.3). Absent means no.
    #[doc(alias = "FacturaSimplificadaArt7273")]
    pub qualified_simplified: Option<bool>,
    /// Invoice without identified recipient (art. 6.1.d). Absent means no.
    #[doc(alias = "FacturaSinIdentifDestinatarioArt61d")]
    pub without_recipient: Option<bool>,
    /// Total of 100 million or more. Absent means no.
    #[doc(alias = "Macrodato")]
    pub large_amount: Option<bool>,
    /// Who issued it materially, when not the issuer.
    #[doc(alias = "EmitidaPorTerceroODestinatario")]
    pub issued_by: Option<IssuedBy>,
    /// The third party, when it issued the invoice.
    #[doc(alias = "Tercero")]
    pub third_party: Option<Party>,
    /// The recipients, at most 1000.
    #[doc(alias = "Destinatarios")]
    pub recipients: Vec<Party>,
    /// Base reduced by a coupon with only the original issued. Absent means no.
    #[doc(alias = "Cupon")]
    pub coupon: Option<bool>,
    /// 1 to 12 lines.
    #[doc(alias = "Desglose")]
    pub breakdown: Vec<BreakdownLine>,
    /// Taxes and surcharges of all lines.
    #[doc(alias = "CuotaTotal")]
    pub tax_total: Amount,
    /// Total of the invoice.
    #[doc(alias = "ImporteTotal")]
    pub total: Amount,
    /// Registry number of an invoicing authorisation.
    #[doc(alias = "NumRegistroAcuerdoFacturacion")]
    pub invoicing_agreement: Option<Text<15>>,
    /// Identifier of a resolution on the computer system.
    #[doc(alias = "IdAcuerdoSistemaInformatico")]
    pub system_agreement: Option<Text<16>>,
}

/// The two flags of a record that corrects. Both absent in a first record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Correction {
    /// The record corrects an earlier one.
    #[doc(alias = "Subsanacion")]
    pub corrects: Option<bool>,
    /// What became of the earlier one.
    #[doc(alias = "RechazoPrevio")]
    pub prior_rejection: Option<PriorRejection>,
}

/// Base and taxes that the rectified invoices carried.
#[doc(alias = "DesgloseRectificacionType")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RectifiedAmounts {
    /// Base.
    #[doc(alias = "BaseRectificada")]
    pub base: Amount,
    /// Tax.
    #[doc(alias = "CuotaRectificada")]
    pub tax: Amount,
    /// Equivalence surcharge.
    #[doc(alias = "CuotaRecargoRectificado")]
    pub surcharge: Option<Amount>,
}

impl Invoice {
    /// An invoice with what every invoice has; totals are the sums of the lines.
    ///
    /// Returns `None` when a sum has more than twelve integer digits.
    #[must_use]
    pub fn new(
        id: InvoiceId,
        issuer_name: Text<120>,
        invoice_type: InvoiceType,
        description: Text<500>,
        breakdown: Vec<BreakdownLine>,
    ) -> Option<Self> {
        let sum = |part: fn(&BreakdownLine) -> crate::types::Cents| {
            breakdown.iter().fold(crate::types::Cents(0), |sum, line| sum + part(line)).amount()
        };
        let (tax_total, total) = (sum(BreakdownLine::tax_total)?, sum(BreakdownLine::total)?);
        Some(Self {
            id,
            external_reference: None,
            issuer_name,
            correction: Correction::default(),
            invoice_type,
            rectification: None,
            rectified: Vec::new(),
            replaced: Vec::new(),
            rectified_amounts: None,
            operation_date: None,
            description,
            qualified_simplified: None,
            without_recipient: None,
            large_amount: None,
            issued_by: None,
            third_party: None,
            recipients: Vec::new(),
            coupon: None,
            breakdown,
            tax_total,
            total,
            invoicing_agreement: None,
            system_agreement: None,
        })
    }
}
