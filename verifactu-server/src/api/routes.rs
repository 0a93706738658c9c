//! The route table: one line per endpoint, with its method, its path, who may call it and how often, and
//! what answers.
//!
//! Every path stands below `/v1`; without the prefix it answers as well, and says that it is
//! deprecated. Paths of the system itself have no version.

use std::{future::Future, pin::Pin, sync::Arc};

use http::Method;
use verifactu_core::api::Scope;

use crate::config::{Limits, RateClass};

use super::{
    Service, api_keys, auth::Account, batches, call::Call, certificates, chains, error::Fault, invoices,
    jobs, lookup, me, nif, partners, preview, records, reply::Reply, support, system, tenants, usage,
    webhooks,
};

macro_rules! routes {
    ($($method:ident $path:literal $who:ident($($scope:ident)? $(; $class:ident)?) $handler:path $(, $limit:ident)?;)+) => {
        const ROUTES: &[Route] = &[$(Route {
            method: Method::$method,
            path: $path,
            endpoint: routes!(@ $who($($scope)? $(; $class)?) $handler),
            limit: routes!(@ limit $($limit)?),
        }),+];
    };
    (@ key(; $class:ident) $handler:path) => {
        Endpoint::Key(None, RateClass::$class, |s, c, a| Box::pin($handler(s, c, a)))
    };
    (@ key($scope:ident; $class:ident) $handler:path) => {
        Endpoint::Key(Some(Scope::$scope), RateClass::$class, |s, c, a| Box::pin($handler(s, c, a)))
    };
    (@ child($scope:ident; $class:ident) $handler:path) => {
        Endpoint::Child(Scope::$scope, RateClass::$class, |s, c, a| Box::pin($handler(s, c, a)))
    };
    (@ operator() $handler:path) => { Endpoint::Operator(|s, c| Box::pin($handler(s, c))) };
    (@ anyone() $handler:path) => { Endpoint::Anyone(|s, c| Box::pin($handler(s, c))) };
    (@ limit) => { |limits| limits.body };
    (@ limit $limit:ident) => { |limits| limits.$limit };
}

routes! {
    POST   "/send-invoice"                        key(InvoicesWrite; Writes)          invoices::send;
    POST   "/cancel-invoice"                      key(InvoicesWrite; Writes)          invoices::cancel;
    POST   "/invoices/preview"                    key(InvoicesWrite; Writes)          preview::preview;
    GET    "/invoices/lookup"                     key(InvoicesRead; Authority)        lookup::lookup;
    POST   "/verify-nif"                          key(NifRead; Authority)             nif::verify;
    POST   "/batches"                             key(InvoicesWrite; Batches)         batches::create, batch;
    GET    "/batches/:id"                         key(InvoicesRead; JobReads)         batches::show;
    GET    "/jobs"                                key(InvoicesRead; JobReads)         jobs::list;
    GET    "/jobs/:id"                            key(InvoicesRead; JobReads)         jobs::show;
    GET    "/jobs/:id/attempts"                   key(InvoicesRead; JobReads)         jobs::attempts;
    GET    "/jobs/:id/xml"                        key(InvoicesRead; JobReads)         jobs::xml;
    GET    "/jobs/:id/qr"                         key(InvoicesRead; JobReads)         jobs::qr;

    GET    "/me"                                  key(; Reads)                        me::show;
    GET    "/me/chains"                           key(InvoicesRead; Reads)            chains::list;
    GET    "/me/chains/:id/verify"                key(InvoicesRead; Reads)            chains::verify;
    GET    "/me/plan"                             key(InvoicesRead; Reads)            usage::plan;
    GET    "/me/usage"                            key(InvoicesRead; Reads)            usage::usage;
    GET    "/me/ledger"                           key(InvoicesRead; Reads)            usage::ledger;
    GET    "/me/invoice-records"                  key(InvoicesRead; Reads)            records::list;
    GET    "/me/invoice-records/export"           key(InvoicesRead; Reads)            records::export;
    GET    "/me/invoice-records/:id"              key(InvoicesRead; Reads)            records::show;
    GET    "/me/invoice-records/:id/xml"          key(InvoicesRead; Reads)            records::xml;
    GET    "/me/invoice-records/:id/qr"           key(InvoicesRead; Reads)            records::qr;
    GET    "/me/certificate"                      key(CertificatesRead; Reads)        certificates::show;
    POST   "/me/certificate"                      key(CertificatesWrite; Certificates) certificates::upload, certificate;
    DELETE "/me/certificate"                      key(CertificatesWrite; Certificates) certificates::delete;

    GET    "/partner/tenants"                     key(PartnerRead; Reads)             partners::list;
    POST   "/partner/tenants"                     key(PartnerWrite; Writes)           partners::create;
    GET    "/partner/tenants/:id"                 child(PartnerRead; Reads)           partners::show;
    PATCH  "/partner/tenants/:id"                 child(PartnerWrite; Writes)         partners::change;
    GET    "/partner/tenants/:id/jobs"            child(PartnerRead; JobReads)        jobs::list;
    GET    "/partner/tenants/:id/chains"          child(PartnerRead; Reads)           chains::list;
    GET    "/partner/tenants/:id/usage"           child(PartnerRead; Reads)           usage::usage;
    GET    "/partner/tenants/:id/invoice-records" child(PartnerRead; Reads)           records::list;
    GET    "/partner/tenants/:id/api-keys"        child(PartnerRead; Reads)           api_keys::list_of_child;
    POST   "/partner/tenants/:id/api-keys"        child(PartnerWrite; Writes)         api_keys::create_for_child;
    POST   "/partner/tenants/:id/api-keys/:keyId/revoke" child(PartnerWrite; Writes)  api_keys::revoke_of_child;
    GET    "/partner/tenants/:id/certificate"     child(PartnerRead; Reads)           certificates::show;
    POST   "/partner/tenants/:id/certificate"     child(PartnerWrite; Certificates)   certificates::upload, certificate;
    DELETE "/partner/tenants/:id/certificate"     child(PartnerWrite; Certificates)   certificates::delete;

    POST   "/admin/tenants"                       operator()                          tenants::create;
    POST   "/admin/api-keys"                      operator()                          api_keys::create;
    GET    "/admin/tenants"                       operator()                          tenants::list;
    GET    "/admin/tenants/:id"                   operator()                          tenants::show;
    PATCH  "/admin/tenants/:id"                   operator()                          tenants::change;
    GET    "/admin/api-keys"                      operator()                          api_keys::list;
    POST   "/admin/api-keys/:id/revoke"           operator()                          api_keys::revoke;
    GET    "/admin/jobs"                          operator()                          support::jobs;
    GET    "/admin/jobs/:id/messages"             operator()                          support::messages;
    POST   "/admin/jobs/:id/retry"                operator()                          support::retry;
    GET    "/admin/certificates/expiring"         operator()                          support::expiring;
    GET    "/admin/events"                        operator()                          support::events;
    GET    "/admin/tenants/:id/webhook"           operator()                          webhooks::show;
    PATCH  "/admin/tenants/:id/webhook"           operator()                          webhooks::configure;
    POST   "/admin/tenants/:id/webhook/ping"      operator()                          webhooks::ping;
    GET    "/admin/tenants/:id/webhook/deliveries" operator()                         webhooks::deliveries;

    GET    "/health"                              anyone()                            system::health;
    GET    "/ready"                               anyone()                            system::ready;
}

/// An endpoint.
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) endpoint: Endpoint,
    /// The largest body.
    pub(super) limit: fn(&Limits) -> usize,
}

/// What answers, by who may call it.
pub(super) enum Endpoint {
    /// Who has a key; with this scope, if there is one, and as often as the class allows.
    Key(Option<Scope>, RateClass, fn(Arc<Service>, Call, Account) -> Answer),
    /// The partner of the account that the path names first; in the same way.
    Child(Scope, RateClass, fn(Arc<Service>, Call, Account) -> Answer),
    /// The operator.
    Operator(fn(Arc<Service>, Call) -> Answer),
    /// Everybody. These paths have no version.
    Anyone(fn(Arc<Service>, Call) -> Answer),
}

/// An answer to come.
pub(super) type Answer = Pin<Box<dyn Future<Output = Result<Reply, Fault>> + Send>>;

/// What a method and a path lead to.
pub(super) struct Found {
    pub(super) route: &'static Route,
    /// The values of the path's variables, in their order.
    pub(super) variables: Vec<String>,
    /// The path as it should be called, if it was called without its version.
    pub(super) successor: Option<String>,
}

/// The route of a request; if there is none, the methods that the path takes.
pub(super) fn find(method: &Method, path: &str) -> Result<Found, Vec<Method>> {
    let (bare, versioned) = match path.strip_prefix("/v1") {
        Some(bare) if bare.starts_with('/') => (bare, true),
        _ => (path, false),
    };
    let mut methods = Vec::new();
    for route in ROUTES {
        let unversioned = matches!(route.endpoint, Endpoint::Anyone(_));
        if versioned && unversioned {
            continue;
        }
        let Some(variables) = variables(route.path, bare) else { continue };
        if route.method == *method {
            let successor = (!versioned && !unversioned).then(|| format!("/v1{bare}"));
            return Ok(Found { route, variables, successor });
        }
        methods.push(route.method.clone());
    }
    Err(methods)
}

/// The values of a pattern's variables, if the path has its shape.
fn variables(pattern: &str, path: &str) -> Option<Vec<String>> {
    let mut values = Vec::new();
    let mut segments = path.split('/');
    for wanted in pattern.split('/') {
        let segment = segments.next()?;
        if wanted.starts_with(':') {
            if segment.is_empty() {
                return None;
            }
            values.push(segment.to_owned());
        } else if wanted != segment {
            return None;
        }
    }
    segments.next().is_none().then_some(values)
}
