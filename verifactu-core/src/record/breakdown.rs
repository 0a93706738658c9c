//! The tax breakdown of an invoice.

use crate::types::{Amount, Cents, Rate};

use super::codes::{Exemption, Qualification, Regime, Tax};

/// One line of the breakdown.
///
/// Qualification and exemption exclude each other, and most of the rest depends on them; the model
/// admits every combination and [`validation`](crate::validation) says which ones the authority refuses.
#[doc(alias = "DetalleDesglose")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BreakdownLine {
    /// The tax; absent means VAT.
    #[doc(alias = "Impuesto")]
    pub tax: Option<Tax>,
    /// The regime, mandatory for VAT and IGIC.
    #[doc(alias = "ClaveRegimen")]
    pub regime: Option<Regime>,
    /// How the operation is qualified.
    #[doc(alias = "CalificacionOperacion")]
    pub qualification: Option<Qualification>,
    /// Or why it is exempt.
    #[doc(alias = "OperacionExenta")]
    pub exemption: Option<Exemption>,
    /// The rate in percent.
    #[doc(alias = "TipoImpositivo")]
    pub rate: Option<Rate>,
    /// Taxable base, or the amount that is not subject.
    #[doc(alias = "BaseImponibleOimporteNoSujeto")]
    pub base: Amount,
    /// Taxable base at cost (regime 06, or taxes 02 and 05).
    #[doc(alias = "BaseImponibleACoste")]
    pub base_at_cost: Option<Amount>,
    /// The tax charged.
    #[doc(alias = "CuotaRepercutida")]
    pub tax_amount: Option<Amount>,
    /// The rate of the equivalence surcharge.
    #[doc(alias = "TipoRecargoEquivalencia")]
    pub surcharge_rate: Option<Rate>,
    /// The equivalence surcharge.
    #[doc(alias = "CuotaRecargoEquivalencia")]
    pub surcharge_amount: Option<Amount>,
}

impl BreakdownLine {
    /// A line that has a base and nothing else.
    #[must_use]
    pub fn new(base: Amount) -> Self {
        Self {
            tax: None,
            regime: None,
            qualification: None,
            exemption: None,
            rate: None,
            base,
            base_at_cost: None,
            tax_amount: None,
            surcharge_rate: None,
            surcharge_amount: None,
        }
    }

    /// Tax and surcharge of this line.
    #[must_use]
    pub fn tax_total(&self) -> Cents {
        [self.tax_amount, self.surcharge_amount].into_iter().flatten().sum()
    }

    /// Base, tax and surcharge of this line.
    #[must_use]
    pub fn total(&self) -> Cents {
        self.tax_total() + self.base.into()
    }
}
