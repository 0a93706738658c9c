//! The body of `POST /cancel-invoice`.

use crate::{
    chain::{PlaceClaim, Stamp},
    record::{Cancellation, GeneratedBy, Identification, InvoiceId, Statement},
    types::{Date, Nif, Text},
    validation::{self, Context, Field},
};

use super::{
    Detail, Warning,
    json::Json,
    judge::{Judgement, judge},
    object::{Object, Problems},
    parts::{self, Claims, SystemClaim},
    send::Defaults,
};

/// A cancellation that may become a record, with what its sender says about the record's place.
#[derive(Clone, Debug)]
pub struct CancelRequest {
    /// The cancellation. Its two flags are the sender's; the ledger may know better.
    pub cancellation: Cancellation,
    /// Name of the issuer, from the body or the account; the message's header needs one.
    pub issuer_name: Option<Text<120>>,
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

impl CancelRequest {
    /// Reads and validates a body.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(body: &Json, defaults: &Defaults<'_>) -> Result<Self, Vec<Detail>> {
        let problems = Problems::default();
        let read = Object::open(body, String::new(), &problems).and_then(|object| {
            let cancellation = cancellation(&object);
            let name = object.text(object.take(Field::IssuerName), Text::parse);
            let claims = parts::claims(&object);
            object.finish();
            cancellation.map(|cancellation| (cancellation, name, claims))
        });
        let Some((cancellation, name, claims)) = read.filter(|_| problems.is_empty()) else {
            return Err(problems.into_details());
        };
        let statement = Statement::Cancellation(Box::new(cancellation));
        let context = Context { today: defaults.today };
        let findings =
            claims.findings(&context).into_iter().chain(validation::validate(&statement, &context));
        let Judgement { details, warnings, demoted } = judge(findings, defaults.demoted);
        let issuer_name = name.or_else(|| defaults.issuer_name.cloned());
        let Claims { chain, stamp, system } = claims;
        match statement {
            Statement::Cancellation(cancellation) if details.is_empty() => {
                Ok(Self { cancellation: *cancellation, issuer_name, chain, stamp, system, warnings, demoted })
            }
            _ => Err(details),
        }
    }
}

fn cancellation(body: &Object<'_>) -> Option<Cancellation> {
    let id = invoice_id(body);
    let external_reference = body.bounded(Field::ExternalReference);
    let without_prior_record = body.flag(Field::WithoutPriorRecord);
    let prior_rejection = body.flag(Field::PriorRejection);
    let generated_by = body.code(body.take(Field::GeneratedBy), GeneratedBy::ALL, GeneratedBy::code);
    let generator = parts::party(body, Field::Generator);
    let id = id?;
    // "The issuer generated it" is what saying nothing means, and what the authority's rules on the
    // issuer's own identification (1227 and 1259) leave room for.
    let by_issuer = generated_by == Some(GeneratedBy::Issuer)
        && generator.as_ref().is_none_or(
            |party| matches!(&party.identification, Identification::Nif(nif) if *nif == id.issuer),
        );
    let (generated_by, generator) = if by_issuer { (None, None) } else { (generated_by, generator) };
    Some(Cancellation {
        id,
        external_reference,
        without_prior_record,
        prior_rejection,
        generated_by,
        generator,
    })
}

/// The further names of the parts of the key in `facturaAnulada`.
pub(super) const KEY_SPELLINGS: [(Field, &str); 3] = [
    (Field::Issuer, "idEmisorFacturaAnulada"),
    (Field::Number, "numSerieFacturaAnulada"),
    (Field::Date, "fechaExpedicionFacturaAnulada"),
];

/// The invoice's key, at top level or in `facturaAnulada`.
fn invoice_id(body: &Object<'_>) -> Option<InvoiceId> {
    let Some(nested) = body.object_as("facturaAnulada") else {
        let issuer = body.text(body.need(Field::Issuer), Nif::parse);
        let number = body.number(body.need(Field::Number));
        let date = body.text(body.need(Field::Date), Date::parse);
        return Some(InvoiceId { issuer: issuer?, number: number?, date: date? });
    };
    let [(_, issuer_too), (_, number_too), (_, date_too)] = KEY_SPELLINGS;
    let inner = nested.take_as(Field::Issuer, &[issuer_too]);
    let outer = body.take(Field::Issuer);
    let issuer = body.text(outer, Nif::parse);
    let nested_issuer = nested.text(inner, Nif::parse);
    if outer.is_none() && inner.is_none() {
        body.need(Field::Issuer);
    }
    if let (Some(outer), Some(inner)) = (issuer, nested_issuer)
        && outer != inner
    {
        nested.problem(Field::Issuer, Some(1108), "differs from nif at top level");
    }
    for field in [Field::Number, Field::Date] {
        if body.take(field).is_some() {
            body.problem(field, None, "excludes facturaAnulada");
        }
    }
    let number = nested.number(nested.need_as(Field::Number, &[number_too]));
    let date = nested.text(nested.need_as(Field::Date, &[date_too]), Date::parse);
    nested.finish();
    Some(InvoiceId { issuer: issuer.or(nested_issuer)?, number: number?, date: date? })
}
