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

    /// The place a field further in.
    #[must_use]
    pub fn field(&self, field: Field) -> Self {
        self.step(Step::Field(field))
    }

    /// The place of an element of the list that this place is.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.step(Step::Index(index))
    }

    fn step(&self, step: Step) -> Self {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend_from_slice(&self.0);
        steps.push(step);
        Self(steps)
    }
}

impl From<Field> for Path {
    fn from(field: Field) -> Self {
        Self(vec![Step::Field(field)])
    }
}
