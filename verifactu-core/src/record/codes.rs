//! The closed lists of the record design (DR lists L1 to L17), each with the key that the wire carries.

/// A closed list: an enum whose variants have a fixed key on the wire.
macro_rules! code_list {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $code:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vdoc])* $variant,)+ }

        impl $name {
            /// Every member, in the order of the list.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The key on the wire.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)+ }
            }

            /// The member with this key, if the list has it.
            #[must_use]
            pub fn from_code(code: &str) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.code())
            }
        }
    };
}

code_list! {
    /// L1: the tax of a breakdown line. Absent on the wire means VAT.
    #[doc(alias = "Impuesto")]
    Tax {
        /// IVA, the value added tax.
        Vat = "01",
        /// IPSI, of Ceuta and Melilla.
        Ipsi = "02",
        /// IGIC, of the Canary Islands.
        Igic = "03",
        /// Any other.
        Other = "05",
    }
}

code_list! {
    /// L2: the type of invoice.
    #[doc(alias = "TipoFactura")]
    InvoiceType {
        /// Invoice (RD 1619/2012, arts. 6, 7.2 and 7.3).
        F1 = "F1",
        /// Simplified invoice, or invoice without recipient (art. 6.1.d).
        F2 = "F2",
        /// Replaces simplified invoices that were already declared.
        F3 = "F3",
        /// Rectifying: error founded in law, and art. 80.1, 80.2 and 80.6 LIVA.
        R1 = "R1",
        /// Rectifying: art. 80.3, insolvency.
        R2 = "R2",
        /// Rectifying: art. 80.4, bad debt.
        R3 = "R3",
        /// Rectifying: other causes.
        R4 = "R4",
        /// Rectifying of simplified invoices.
        R5 = "R5",
    }
}

impl InvoiceType {
    /// R1 to R5.
    #[must_use]
    pub const fn is_rectifying(self) -> bool {
        matches!(self, Self::R1 | Self::R2 | Self::R3 | Self::R4 | Self::R5)
    }

    /// F2 and R5, which carry no recipient.
    #[must_use]
    pub const fn is_simplified(self) -> bool {
        matches!(self, Self::F2 | Self::R5)
    }
}

code_list! {
    /// L3: how an invoice rectifies.
    #[doc(alias = "TipoRectificativa")]
    RectificationMode {
        /// The lines carry the new full amounts, and the old ones are given apart.
        Substitution = "S",
        /// The lines carry the differences.
        Differences = "I",
    }
}

code_list! {
    /// L6: who issued the invoice materially, when not the obliged issuer.
    #[doc(alias = "EmitidaPorTerceroODestinatario")]
    IssuedBy {
        /// The recipient.
        Recipient = "D",
        /// A third party.
        ThirdParty = "T",
    }
}

code_list! {
    /// L16: who generated a cancellation.
    #[doc(alias = "GeneradoPor")]
    GeneratedBy {
        /// The obliged issuer.
        Issuer = "E",
        /// The recipient.
        Recipient = "D",
        /// A third party.
        ThirdParty = "T",
    }
}

code_list! {
    /// L7: the kind of a foreign identifier. There is no 01.
    #[doc(alias = "IDType")]
    ForeignIdType {
        /// VAT number of an EU member state.
        EuVat = "02",
        /// Passport.
        Passport = "03",
        /// Official document of the country of residence.
        OfficialDocument = "04",
        /// Certificate of residence.
        ResidenceCertificate = "05",
        /// Any other proof.
        OtherProof = "06",
        /// A Spanish number that the census does not hold yet.
        NotInCensus = "07",
    }
}

code_list! {
    /// L17: whether the authority rejected the record before.
    #[doc(alias = "RechazoPrevio")]
    PriorRejection {
        /// No.
        No = "N",
        /// Yes.
        Yes = "S",
        /// The authority does not hold the record, rejected or not. Not for cancellations.
        NotHeld = "X",
    }
}

code_list! {
    /// L9: how an operation that is not exempt is qualified.
    #[doc(alias = "CalificacionOperacion")]
    Qualification {
        /// Subject and not exempt, without reverse charge.
        S1 = "S1",
        /// Subject and not exempt, with reverse charge.
        S2 = "S2",
        /// Not subject (arts. 7, 14 and others).
        N1 = "N1",
        /// Not subject by the rules on the place of supply.
        N2 = "N2",
    }
}

code_list! {
    /// L10: why an operation is exempt. E7 and E8 exist for IGIC only.
    #[doc(alias = "OperacionExenta")]
    Exemption {
        /// Art. 20 LIVA.
        E1 = "E1",
        /// Art. 21, exports.
        E2 = "E2",
        /// Art. 22.
        E3 = "E3",
        /// Arts. 23 and 24.
        E4 = "E4",
        /// Art. 25, supplies inside the Union.
        E5 = "E5",
        /// Others.
        E6 = "E6",
        /// DLeg 1/2025 art. 90.
        E7 = "E7",
        /// Others of IGIC.
        E8 = "E8",
    }
}

code_list! {
    /// L8: the regime of a line. What a key means, and whether it is valid, depends on the tax.
    #[doc(alias = "ClaveRegimen")]
    Regime {
        /// General.
        R01 = "01",
        /// Export.
        R02 = "02",
        /// Used goods, art, antiques.
        R03 = "03",
        /// Investment gold.
        R04 = "04",
        /// Travel agencies.
        R05 = "05",
        /// Group of entities, advanced level.
        R06 = "06",
        /// Cash basis.
        R07 = "07",
        /// Subject to another of the indirect taxes.
        R08 = "08",
        /// Travel agencies that act as intermediaries.
        R09 = "09",
        /// Collections for third parties.
        R10 = "10",
        /// Letting of business premises.
        R11 = "11",
        /// Tax pending in certificates of public works.
        R14 = "14",
        /// Tax pending in continuous supplies.
        R15 = "15",
        /// One-stop shop (VAT); retail trader (IGIC).
        R17 = "17",
        /// Equivalence surcharge (VAT); small entrepreneur (IGIC).
        R18 = "18",
        /// Farming (VAT); interior exempt (IGIC, IPSI).
        R19 = "19",
        /// Simplified (VAT); subject to IPSI (IGIC); objective estimation (IPSI).
        R20 = "20",
        /// Simplified (IGIC).
        R21 = "21",
    }
}
