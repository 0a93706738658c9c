//! The body of `POST /send-invoice`.

use crate::{
    chain::{PlaceClaim, Stamp},
    record::{
        BreakdownLine, Correction, Exemption, Invoice, InvoiceId, InvoiceType, IssuedBy, Party,
        PriorRejection, Qualification, RectificationMode, RectifiedAmounts, Regime, Statement, Tax,
    },
    types::{Amount, Cents, Date, Nif, Rate, Text},
    validation::{self, Context, Field},
};

use super::{
    Detail, Warning,
    json::Json,
    judge::{Judgement, judge},
    names::aliases,
    object::{Object, Problems, flag},
    parts::{self, Claims, SystemClaim},
};

/// The most lines of a breakdown (schema, DesgloseType).
const MAX_LINES: usize = 12;
/// The most recipients, rectified or replaced invoices (schema, RegistroFacturacionAltaType).
const MAX_ITEMS: usize = 1000;

/// What the account and the day add to a body.
#[derive(Clone, Copy, Debug)]
pub struct Defaults<'a> {
    /// Name of the issuer, where the account has one registered; used when the body has none.
    pub issuer_name: Option<&'a Text<120>>,
    /// The present day in peninsular Spain.
    pub today: Date,
    /// Rules, by their id, whose findings the operator has turned into warnings.
    pub demoted: &'a [String],
}

/// An invoice that may become a record, with what its sender says about the record's place.
#[derive(Clone, Debug)]
pub struct SendRequest {
    /// The invoice. Its correction flags are the sender's; the ledger may know better.
    pub invoice: Invoice,
    /// Its place in the chain.
    pub chain: PlaceClaim,
    /// The sender's own huella.
    pub stamp: Option<Stamp>,
    /// The sender's own computer system.
    pub system: Option<SystemClaim>,
    /// What the authority would accept with errors, what is doubtful, and what the operator has demoted.
    pub warnings: Vec<Warning>,
    /// The demoted rules among them: without the operator's word the body would have been refused.
    pub demoted: Vec<&'static str>,
}

impl SendRequest {
    /// Reads and validates a body.
    ///
    /// # Errors
    /// Everything that is wrong with it. The rules that concern the invoice as a whole can only be
    /// checked once every field could be read.
    ///
    /// ```
    /// use verifactu_core::{api::{Defaults, Json, SendRequest}, types::Date};
    /// let body = Json::parse(br#"{"nif":"B12345674","nombre":"Emisor SL","numSerie":"2026/F-001","fecha":"15-01-2026",
    ///     "tipoFactura":"F2","descripcion":"Servicios",
    ///     "desglose":[{"clave":"01","calif":"S1","base":100,"tipo":21,"cuota":21}]}"#)?;
    /// let defaults = Defaults { issuer_name: None, today: Date::parse("15-01-2026")?, demoted: &[] };
    /// let request = SendRequest::read(&body, &defaults).map_err(|details| format!("{details:?}"))?;
    /// assert_eq!(request.invoice.total.to_string(), "121.0");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(body: &Json, defaults: &Defaults<'_>) -> Result<Self, Vec<Detail>> {
        let problems = Problems::default();
        let context = Context { today: defaults.today };
        let mut lines = Vec::new();
        let read = Object::open(body, String::new(), &problems).and_then(|object| {
            lines = breakdown(&object);
            let invoice = invoice(&object, &lines, defaults);
            let claims = parts::claims(&object);
            object.finish();
            invoice.map(|invoice| (invoice, claims))
        });
        let Some((invoice, claims)) = read.filter(|_| problems.is_empty()) else {
            let mut details = problems.into_details();
            let findings = lines.iter().enumerate().flat_map(|(index, line)| {
                line.iter().flat_map(move |line| validation::validate_line(line, index, &context))
            });
            // A field that could not be read is not also missing.
            let mut found = judge(findings, defaults.demoted).details;
            found.retain(|finding| details.iter().all(|detail| detail.field != finding.field));
            details.append(&mut found);
            return Err(details);
        };
        let statement = Statement::Invoice(Box::new(invoice));
        let findings =
            claims.findings(&context).into_iter().chain(validation::validate(&statement, &context));
        let Judgement { details, warnings, demoted } = judge(findings, defaults.demoted);
        let Claims { chain, stamp, system } = claims;
        match statement {
            Statement::Invoice(invoice) if details.is_empty() => {
                Ok(Self { invoice: *invoice, chain, stamp, system, warnings, demoted })
            }
            _ => Err(details),
        }
    }
}

fn invoice(body: &Object<'_>, lines: &[Option<BreakdownLine>], defaults: &Defaults<'_>) -> Option<Invoice> {
    let issuer = body.text(body.need(Field::Issuer), Nif::parse);
    let number = body.number(body.need(Field::Number));
    let date = body.text(body.need(Field::Date), Date::parse);
    let issuer_name = match (body.take(Field::IssuerName), defaults.issuer_name) {
        (None, Some(name)) => Some(name.clone()),
        (None, None) => body.text(body.need(Field::IssuerName), Text::parse),
        (name, _) => body.text(name, Text::parse),
    };
    let invoice_type = body.code(body.need(Field::InvoiceType), InvoiceType::ALL, InvoiceType::code);
    let description = body.text(body.need(Field::Description), Text::parse);
    let optional = Optional::read(body);
    let breakdown: Option<Vec<_>> = lines.iter().cloned().collect();
    let totals = (
        total(body, Field::TaxTotal, lines, BreakdownLine::tax_total),
        total(body, Field::Total, lines, BreakdownLine::total),
    );

    let id = InvoiceId { issuer: issuer?, number: number?, date: date? };
    let operation_date = optional.operation_date.filter(|day| *day != id.date);
    Some(Invoice {
        id,
        external_reference: optional.external_reference,
        issuer_name: issuer_name?,
        correction: optional.correction,
        invoice_type: invoice_type?,
        rectification: optional.rectification,
        rectified: optional.rectified,
        replaced: optional.replaced,
        rectified_amounts: optional.rectified_amounts,
        operation_date,
        description: description?,
        qualified_simplified: optional.qualified_simplified,
        without_recipient: optional.without_recipient,
        large_amount: optional.large_amount,
        issued_by: optional.issued_by,
        third_party: optional.third_party,
        recipients: optional.recipients,
        coupon: optional.coupon,
        breakdown: breakdown?,
        tax_total: totals.0?,
        total: totals.1?,
        invoicing_agreement: optional.invoicing_agreement,
        system_agreement: optional.system_agreement,
    })
}

/// The parts an invoice may have.
struct Optional {
    external_reference: Option<Text<60>>,
    correction: Correction,
    rectification: Option<RectificationMode>,
    rectified: Vec<InvoiceId>,
    replaced: Vec<InvoiceId>,
    rectified_amounts: Option<RectifiedAmounts>,
    operation_date: Option<Date>,
    qualified_simplified: Option<bool>,
    without_recipient: Option<bool>,
    large_amount: Option<bool>,
    issued_by: Option<IssuedBy>,
    third_party: Option<Party>,
    recipients: Vec<Party>,
    coupon: Option<bool>,
    invoicing_agreement: Option<Text<15>>,
    system_agreement: Option<Text<16>>,
}

impl Optional {
    fn read(body: &Object<'_>) -> Self {
        let invoices = |field| {
            let member = body.take(field);
            body.list(member, MAX_ITEMS, parts::invoice_id).into_iter().flatten().collect()
        };
        // A flag that is off says what its absence says, and is left out of the record.
        let mark = |field| body.flag(field).filter(|set| *set);
        Self {
            external_reference: body.bounded(Field::ExternalReference),
            correction: Correction {
                corrects: body.flag(Field::Corrects),
                prior_rejection: prior_rejection(body),
            },
            rectification: body.code(
                body.take(Field::RectificationMode),
                RectificationMode::ALL,
                RectificationMode::code,
            ),
            rectified: invoices(Field::Rectified),
            replaced: invoices(Field::Replaced),
            rectified_amounts: rectified_amounts(body),
            operation_date: body.text(body.take(Field::OperationDate), Date::parse),
            qualified_simplified: mark(Field::QualifiedSimplified),
            without_recipient: mark(Field::WithoutRecipient),
            large_amount: mark(Field::LargeAmount),
            issued_by: body.code(body.take(Field::IssuedBy), IssuedBy::ALL, IssuedBy::code),
            third_party: parts::party(body, Field::ThirdParty),
            recipients: recipients(body),
            coupon: mark(Field::Coupon),
            invoicing_agreement: body.bounded(Field::InvoicingAgreement),
            system_agreement: body.bounded(Field::SystemAgreement),
        }
    }
}

/// `N`, `S` or `X`; a boolean stands for the first two.
fn prior_rejection(body: &Object<'_>) -> Option<PriorRejection> {
    let member = body.take(Field::PriorRejection)?;
    match flag(member.value) {
        Some(true) => Some(PriorRejection::Yes),
        Some(false) => Some(PriorRejection::No),
        None => body.code(Some(member), PriorRejection::ALL, PriorRejection::code),
    }
}

fn rectified_amounts(body: &Object<'_>) -> Option<RectifiedAmounts> {
    let object = body.object(Field::RectifiedAmounts)?;
    if object.is_empty() {
        return None;
    }
    let base = object.decimal(object.need(Field::RectifiedBase), Amount::parse);
    let tax = object.decimal(object.need(Field::RectifiedTax), Amount::parse);
    let surcharge = object
        .decimal(object.take_as(Field::RectifiedSurcharge, aliases(Field::SurchargeAmount)), Amount::parse);
    object.finish();
    Some(RectifiedAmounts { base: base?, tax: tax?, surcharge })
}

/// The list, or the three members that stand for a list of one.
fn recipients(body: &Object<'_>) -> Vec<Party> {
    let list = body.take(Field::Recipients);
    let name = body.stand_in("destNombre", Field::Name);
    let nif = body.stand_in("destNif", Field::Nif);
    let foreign = body.object_as("destIdOtro");
    if name.is_none() && nif.is_none() && foreign.is_none() {
        return body.list(list, MAX_ITEMS, parts::party_of).into_iter().flatten().collect();
    }
    if list.is_some_and(|list| *list.value != Json::Array(Vec::new())) {
        body.problem(Field::Recipients, None, "excludes destNombre, destNif and destIdOtro");
    }
    if name.is_none() {
        body.problem_at("destNombre", None, "is required beside destNif or destIdOtro");
    }
    let name = body.text(name, Text::parse);
    let identification = parts::identification(body, nif, foreign, ["destNif", "destIdOtro"]);
    let party = name.zip(identification).map(|(name, identification)| Party { name, identification });
    party.into_iter().collect()
}

fn breakdown(body: &Object<'_>) -> Vec<Option<BreakdownLine>> {
    let member = body.need(Field::Breakdown);
    body.list(member, MAX_LINES, line)
}

fn line(object: &Object<'_>) -> Option<BreakdownLine> {
    let base = object.decimal(object.need(Field::Base), Amount::parse);
    let line = BreakdownLine {
        tax: object.code(object.take(Field::Tax), Tax::ALL, Tax::code),
        regime: object.code(object.take(Field::Regime), Regime::ALL, Regime::code),
        qualification: object.code(
            object.take(Field::Qualification),
            Qualification::ALL,
            Qualification::code,
        ),
        exemption: object.code(object.take(Field::Exemption), Exemption::ALL, Exemption::code),
        rate: object.decimal(object.take(Field::Rate), Rate::parse),
        base: base.unwrap_or_default(),
        base_at_cost: base_at_cost(object, base),
        tax_amount: object.decimal(object.take(Field::TaxAmount), Amount::parse),
        surcharge_rate: object.decimal(object.take(Field::SurchargeRate), Rate::parse),
        surcharge_amount: object.decimal(object.take(Field::SurchargeAmount), Amount::parse),
    };
    base.map(|_| line)
}

/// A decimal; `true` stands for the base itself.
fn base_at_cost(object: &Object<'_>, base: Option<Amount>) -> Option<Amount> {
    let member = object.take(Field::BaseAtCost)?;
    match flag(member.value) {
        Some(true) => base,
        Some(false) => None,
        None => object.decimal(Some(member), Amount::parse),
    }
}

/// A total that is stated, or else the sum of the lines.
fn total(
    body: &Object<'_>,
    field: Field,
    lines: &[Option<BreakdownLine>],
    part: fn(&BreakdownLine) -> Cents,
) -> Option<Amount> {
    let stated = body.take(field);
    if stated.is_some() {
        return body.decimal(stated, Amount::parse);
    }
    let sum = lines.iter().flatten().fold(Cents(0), |sum, line| sum + part(line)).amount();
    if sum.is_none() {
        body.problem(field, None, "the sum of the lines has more than 12 integer digits");
    }
    sum
}
