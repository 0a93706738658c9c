//! One line of the breakdown, as the rules read it.
//!
//! "Not informed" means that the element is absent: a zero is informed. An absent tax is IVA.

use super::super::finding::Finding;
use super::super::record::Record;
use super::super::xml::Element;

pub(super) const RATE: &str = "TipoImpositivo";
pub(super) const BASE: &str = "BaseImponibleOimporteNoSujeto";
pub(super) const BASE_AT_COST: &str = "BaseImponibleACoste";
pub(super) const QUOTA: &str = "CuotaRepercutida";
pub(super) const SURCHARGE_RATE: &str = "TipoRecargoEquivalencia";
pub(super) const SURCHARGE_QUOTA: &str = "CuotaRecargoEquivalencia";

#[derive(Clone, Copy)]
pub(super) struct Line<'a>(&'a Element);

impl<'a> Line<'a> {
    pub(super) fn has(self, name: &str) -> bool {
        self.0.at(name).is_some()
    }

    pub(super) fn tax(self) -> &'a str {
        self.0.text_at("Impuesto").unwrap_or("01")
    }

    pub(super) fn regime(self) -> Option<&'a str> {
        self.0.text_at("ClaveRegimen")
    }

    pub(super) fn qualification(self) -> Option<&'a str> {
        self.0.text_at("CalificacionOperacion")
    }

    pub(super) fn exemption(self) -> Option<&'a str> {
        self.0.text_at("OperacionExenta")
    }

    /// An amount in cents or a rate in hundredths, if it is there.
    pub(super) fn number(self, name: &str) -> Option<i128> {
        self.0.text_at(name).and_then(hundredths)
    }

    pub(super) fn is_vat(self) -> bool {
        self.tax() == "01"
    }

    pub(super) fn is_vat_or_igic(self) -> bool {
        matches!(self.tax(), "01" | "03")
    }

    /// Whether the line is of IVA or IGIC, under this key.
    pub(super) fn is_under(self, regime: &str) -> bool {
        self.regime() == Some(regime) && self.is_vat_or_igic()
    }

    /// Whether the tax of the line becomes due later: public works, successive supplies.
    pub(super) fn is_pending(self) -> bool {
        self.is_under("14") || self.is_under("15")
    }
}

pub(super) fn lines(record: Record<'_>) -> impl Iterator<Item = Line<'_>> {
    record.at("Desglose").into_iter().flat_map(|breakdown| breakdown.all("DetalleDesglose")).map(Line)
}

/// The code, if a line is broken.
pub(super) fn any_line(record: Record<'_>, code: u16, broken: impl Fn(Line<'_>) -> bool) -> Option<Finding> {
    lines(record).any(broken).then(|| Finding::new(code))
}

/// A decimal number of at most two decimals, in hundredths; its form has been checked.
pub(crate) fn hundredths(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let value: i128 = format!("{whole}{fraction:0<2}").parse().ok()?;
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::hundredths;

    #[test]
    fn numbers_are_read_in_hundredths() {
        for (text, value) in
            [("1", 100), ("1.", 100), ("+1.5", 150), ("-0.05", -5), ("0", 0), ("21.00", 2100)]
        {
            assert_eq!(hundredths(text), Some(value), "{text}");
        }
        assert_eq!(hundredths("x"), None);
    }
}
