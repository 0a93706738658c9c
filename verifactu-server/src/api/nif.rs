//! `POST /verify-nif`: whether the census knows taxpayers under their names.

use std::sync::Arc;

use verifactu_core::{
    api::{CheckedNif, CheckedNifs, Json},
    authority::{NifCheckError, NifChecked, nif_check},
    types::{Nif, Text},
    xml::nif_check::Taxpayer,
};

use super::{
    Service,
    auth::Account,
    call::{Call, Members},
    error::{Fault, Success},
    reply::Reply,
};

/// Most taxpayers of a request.
const MOST: usize = 100;

/// What a request asks: about one taxpayer, or about several.
enum Asked {
    One(Taxpayer),
    Several(Vec<Taxpayer>),
}

pub(super) async fn verify(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let body = call.json()?;
    account.may_write()?;
    let asked = read(&body)?;
    let taxpayers = match &asked {
        Asked::One(one) => std::slice::from_ref(one),
        Asked::Several(several) => several,
    };
    let Some(first) = taxpayers.first() else { return Err(Fault::field("items", "must not be empty")) };
    let presentation = service.presentation(&account.tenant.id, &first.nif).await?;
    let authority = &**service.engine.authority();
    let checked = nif_check(authority, presentation.identity.clone(), taxpayers).await;
    let checked = match checked {
        Ok(checked) => checked,
        Err(NifCheckError::Unprocessed(outcome)) => {
            return Err(service.unanswered(&account.tenant.id, &presentation, outcome).await);
        }
        Err(other) => return Err(Fault::Internal(other.into())),
    };
    let mut items: Vec<CheckedNif> = checked.into_iter().map(shown).collect();
    match (asked, items.pop()) {
        (Asked::One(_), Some(only)) => Reply::json(Success::Ok, call.request, only),
        (_, last) => {
            items.extend(last);
            Reply::json(Success::Ok, call.request, CheckedNifs { items })
        }
    }
}

fn read(body: &Json) -> Result<Asked, Fault> {
    let mut members = Members::of(body)?;
    if !members.has("items") {
        let one = taxpayer(&mut members);
        members.finish()?;
        return one.map(Asked::One).ok_or_else(|| Fault::field("nif", "is required"));
    }
    let several = members.objects("items", MOST, taxpayer);
    members.finish()?;
    Ok(Asked::Several(several))
}

/// A natural person is not identified without a name; an entity is found by its number alone.
fn taxpayer(members: &mut Members<'_>) -> Option<Taxpayer> {
    let (nif, name) = (members.text("nif", Nif::parse), members.optional("nombre", Text::parse));
    Some(Taxpayer { nif: nif?, name })
}

fn shown(checked: NifChecked) -> CheckedNif {
    CheckedNif {
        nif: checked.nif.to_string(),
        identificado: checked.status.is_identified(),
        resultado: checked.status.as_str().to_owned(),
        nombre: checked.name,
    }
}
