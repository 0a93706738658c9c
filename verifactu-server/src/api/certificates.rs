//! The certificate of an account: upload, status, removal (specification, Certificate upload).

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use http::header::CONTENT_TYPE;
use verifactu_core::{
    api::{CertificateRemoved, CertificateStatus},
    certificate::{Opened, Wanted, open},
    ledger::SealedCertificate,
    types::{Secret, SecretBytes},
};
use zeroize::Zeroizing;

use super::{
    Service,
    auth::Account,
    call::{Call, Members},
    error::{Fault, Success},
    multipart,
    reply::Reply,
    view,
};

/// How long an upload waits for others before the service counts as busy.
const PATIENCE: Duration = Duration::from_secs(10);

const FILE: &str = "pfx";
const FILE_BASE64: &str = "pfxBase64";
const PASSPHRASE: &str = "pfxPassphrase";

pub(super) async fn upload(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let (file, passphrase) = match call.media_type().as_str() {
        "application/json" => from_json(&call)?,
        "multipart/form-data" => from_form(&call)?,
        _ => return Err(Fault::MediaType("application/json or multipart/form-data")),
    };
    account.may_write()?;
    let actor = account.caller().id.clone();
    let tenant = account.tenant;
    let now = service.clock.now();
    let permit = tokio::time::timeout(PATIENCE, service.uploads.acquire()).await;
    let _permit = permit.map_err(|_| Fault::Overloaded)?.map_err(|_| Fault::ShuttingDown)?;
    let holder = tenant.allowed_nif;
    let opened = tokio::task::spawn_blocking(move || {
        open(file.expose(), &passphrase, Wanted { holder: holder.as_ref(), now })
    });
    let Opened { identity, normalized_from_legacy } =
        opened.await.map_err(|error| Fault::Internal(error.into()))?.map_err(Fault::Certificate)?;
    if holder.is_some_and(|nif| !identity.matches(&nif)) {
        return Err(Fault::CertificateNifMismatch);
    }
    let certificate = SealedCertificate {
        tenant: tenant.id.clone(),
        sealed: identity.to_sealed(&service.keys.vault, &tenant.id).map_err(Fault::Certificate)?,
        not_after: identity.certificate().not_after,
        uploaded_at: now,
    };
    service.accounts.put_certificate(&certificate).await?;
    service.audit(actor.as_str(), "certificate.upload", tenant.id.to_string(), call.request).await?;
    service.release(&tenant.id).await?;
    let shown = view::certificate(identity.certificate(), now, normalized_from_legacy);
    let status = CertificateStatus { has_certificate: true, certificate: Some(shown) };
    Reply::json(Success::Ok, call.request, status)
}

pub(super) async fn show(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    let own =
        service.presenters.own(&account.tenant.id).await.map_err(|error| Fault::Internal(error.into()))?;
    let certificate = own.map(|presentation| {
        view::certificate(presentation.identity.certificate(), service.clock.now(), false)
    });
    let status = CertificateStatus { has_certificate: certificate.is_some(), certificate };
    Reply::json(Success::Ok, call.request, status)
}

/// Jobs that wait are held at their next turn, until there is another certificate.
pub(super) async fn delete(service: Arc<Service>, call: Call, account: Account) -> Result<Reply, Fault> {
    account.may_write()?;
    let tenant = &account.tenant.id;
    if !service.accounts.delete_certificate(tenant).await? {
        return Err(Fault::NotFound("certificate"));
    }
    let actor = account.caller().id.as_str();
    service.audit(actor, "certificate.delete", tenant.to_string(), call.request).await?;
    let chains = service.engine.ledger().chains(tenant).await?;
    let waiting_jobs = chains.iter().map(|chain| chain.pending).sum();
    Reply::json(Success::Ok, call.request, CertificateRemoved { has_certificate: false, waiting_jobs })
}

fn from_json(call: &Call) -> Result<(SecretBytes, Secret), Fault> {
    let body = Zeroizing::new(call.json()?);
    let mut members = Members::of(&body)?;
    let file = members.text(FILE_BASE64, |text| {
        // Some programs break the lines of what they encode.
        let mut joined = Zeroizing::new(String::with_capacity(text.len()));
        text.split(['\r', '\n']).for_each(|line| joined.push_str(line));
        BASE64.decode(joined.as_bytes()).map(SecretBytes::new).map_err(|_| "is not base64")
    });
    let passphrase =
        members.text(PASSPHRASE, |text| Ok::<_, std::convert::Infallible>(Secret::new(text.to_owned())));
    members.finish()?;
    let (Some(file), Some(passphrase)) = (file, passphrase) else {
        return Err(Fault::field(FILE_BASE64, "is required"));
    };
    Ok((file, passphrase))
}

fn from_form(call: &Call) -> Result<(SecretBytes, Secret), Fault> {
    let kind = call.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut form = multipart::read(kind, &call.body).map_err(|problem| Fault::field("", problem))?;
    let mut details = Vec::new();
    let mut take = |name: &str| {
        let part = form.remove(name);
        if part.is_none() {
            details.push((name.to_owned(), "is required"));
        }
        part.unwrap_or_default()
    };
    let (file, passphrase) = (take(FILE), take(PASSPHRASE));
    let passphrase = std::str::from_utf8(passphrase).unwrap_or_else(|_| {
        details.push((PASSPHRASE.to_owned(), "is not UTF-8"));
        ""
    });
    details.extend(form.into_keys().map(|name| (name, "unknown field")));
    if !details.is_empty() {
        return Err(Fault::fields(details));
    }
    Ok((SecretBytes::new(file.to_vec()), Secret::new(passphrase.to_owned())))
}
