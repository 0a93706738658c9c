//! Where in a statement something is wrong: typed steps, spelled for a reader only by `api`.

/// A field of a statement, of a caller's claims on its chain, of a computer system, or of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is named after the field of the record model it stands for")]
pub enum Field {
    Issuer,
    IssuerName,
    Number,
    Date,
    OperationDate,
    ExternalReference,
    InvoiceType,
    Description,
    Corrects,
    PriorRejection,
    RectificationMode,
    Rectified,
    Replaced,
    RectifiedAmounts,
    RectifiedBase,
    RectifiedTax,
    RectifiedSurcharge,
    QualifiedSimplified,
    WithoutRecipient,
    LargeAmount,
    Coupon,
    IssuedBy,
    ThirdParty,
    Recipients,
    TaxTotal,
    Total,
    InvoicingAgreement,
    SystemAgreement,
    Breakdown,
    Tax,
    Regime,
    Qualification,
    Exemption,
    Rate,
    Base,
    BaseAtCost,
    TaxAmount,
    SurchargeRate,
    SurchargeAmount,
    Name,
    Nif,
    ForeignId,
    Country,
    ForeignIdType,
    ForeignIdNumber,
    WithoutPriorRecord,
    GeneratedBy,
    Generator,
    Chain,
    FirstRecord,
    PreviousRecord,
    Huella,
    HuellaType,
    GeneratedAt,
    System,
    ProducerName,
    SystemName,
    SystemId,
    SystemVersion,
    Installation,
    VerifactuOnly,
    MultipleIssuersPossible,
    MultipleIssuers,
    VerifactuEnd,
}

/// One step of a [`Path`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Into a field.
    Field(Field),
    /// Into an element of a list, counted from zero.
    Index(usize),
}

/// A place in a statement; empty for the statement as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Path(Vec<Step>);

impl Path {
    /// The steps, outermost first.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// A place further in than another.
    pub(super) fn within(base: &[Step], further: &[Step]) -> Self {
        Self([base, further].concat())
    }
}
