//! The route table: a row per endpoint, with its method, its path, who may call it and how often, what
//! answers, and what it takes and gives.
//!
//! Every path stands below `/v1`; without the prefix it answers as well, and says that it is
//! deprecated. Paths of the system itself have no version. A row does not compile without its
//! documentation: the first line of its comment is the summary, the rest the description, and behind
//! the arrow stands an [`Operation`], of which the OpenAPI document is made. Errors that follow from the
//! row itself (who may call, a body, a variable or parameters) need not be named.

use std::{future::Future, pin::Pin, sync::Arc};

use http::Method;
use verifactu_core::api::{
    ApiKeys, AuditEvents, Batch, BatchTaken, CancelRequest, CertificateForm, CertificateRemoved,
    CertificateStatus, CertificateUpload, ChainVerification, Chains, ChangeChildTenant, ChangeTenant,
    CheckNif, CheckNifs, CheckedNif, CheckedNifs, CreateApiKey, CreateBatch, CreateChildApiKey,
    CreateChildTenant, CreateTenant, CreatedApiKey, Declaration,
    ErrorCode::{
        self, AccountSuspended, AllowedNifMismatch, ApiKeyInvalid, ApiKeyMissing, AuthorityError,
        AuthorityTimeout, CertNifMismatch, ChainContinuity, ChainState, CorrectionConflict, Expired,
        HuellaMismatch, InvoiceAlreadySubmitted, IssuerHeld, JobNotRetryable, LegacyRc2, Malformed, NotFound,
        PlanLimitReached, RateLimited, TenantCertificateRequired, TenantExists, WrongPassphrase,
    },
    ExpiringCertificates, Health, InvoiceRecord, InvoiceRecords, Issuers, Job, JobAttempts, JobMessages,
    Jobs, Lookup, Me, MonthlyLedger, MonthlyUsage, Months, OperatorJobs, PauseIssuer, PlanStatus, Preview,
    Ready, RevokedApiKey, Scope, SendRequest, Tenant, Tenants, WebhookDeliveries, WebhookInfo, WebhookPatch,
    WebhookTrial,
};

use crate::config::{Limits, RateClass};

use super::{
    Service, api_keys,
    auth::Account,
    batches,
    call::Call,
    certificates, chains, declaration,
    error::Fault,
    examples, invoices, issuers, jobs, lookup, me, nif,
    operation::{Operation, accepts, answers, answers_either, creates, form, json, json_either, puts, sends},
    parameters::{
        CLASS, CODE, CURSOR, DAYS, EXPORT, FROM, HELD, JOBS, LIMIT, LOCATION, LOOKUP, MONTHS, NEXT_PAGE, NIF,
        OFFSET, OLDER_THAN, PART, PICTURE, POSITION_CURSOR, RECORDS, REQUEST_ID, STATUS, TENANT_CURSOR,
        TENANT_ID, TO,
    },
    partners, preview, records,
    reply::Reply,
    support, system, tenants, usage, web_accounts, webhooks,
};

macro_rules! routes {
    ($($(#[doc = $doc:literal])+
        $method:ident $path:literal $who:ident($($scope:ident)? $(; $class:ident)?) $handler:path
        $(, $limit:ident)? => $operation:expr;)+) => {
        pub(crate) const ROUTES: &[Route] = &[$(Route {
            method: Method::$method,
            path: $path,
            endpoint: routes!(@ $who($($scope)? $(; $class)?) $handler),
            limit: routes!(@ limit $($limit)?),
            name: stringify!($handler),
            docs: &[$($doc),+],
            operation: $operation,
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

const UPLOAD: Operation = answers::<CertificateStatus>()
    .takes(&[json::<CertificateUpload>(examples::CERTIFICATE), form::<CertificateForm>()])
    .fails(&[AccountSuspended, CertNifMismatch, WrongPassphrase, Malformed, LegacyRc2, Expired]);

/// What may go wrong where the authority is asked while the caller waits.
const ASKING: &[ErrorCode] =
    &[AccountSuspended, TenantCertificateRequired, Expired, AuthorityError, AuthorityTimeout];

routes! {
    /// Sends an invoice.
    ///
    /// The record is generated, hashed, chained and stored before the 202, so its QR can be printed at once;
    /// then it is sent to the authority. Repeat a request whose answer was lost with the same key and body.
    POST   "/send-invoice"                                key(InvoicesWrite; Writes)         invoices::send
        => Operation::submits(&[json::<SendRequest>(examples::INVOICE)]);
    /// Cancels an invoice.
    ///
    /// A cancellation is a record of its own at the end of the chain; nothing is removed.
    POST   "/cancel-invoice"                              key(InvoicesWrite; Writes)         invoices::cancel
        => Operation::submits(&[json::<CancelRequest>(examples::CANCELLATION)]);
    /// Shows the record that an invoice would become.
    ///
    /// Validation, canonical string, huella, XML and QR. Nothing is stored, and nothing taken from the plan.
    POST   "/invoices/preview"                            key(InvoicesWrite; Writes)         preview::preview
        => answers::<Preview>().takes(&[json::<SendRequest>(examples::INVOICE)]).fails(&[
            HuellaMismatch, AccountSuspended, ChainContinuity, ChainState, CorrectionConflict,
            InvoiceAlreadySubmitted, TenantCertificateRequired, AllowedNifMismatch,
        ]);
    /// Looks an invoice up at the authority, or those of a month.
    ///
    /// Of one invoice with `numSerie` and `fecha`; of a month with `ejercicio` and `periodo`. With
    /// `source=ledger` the own ledger answers instead.
    GET    "/invoices/lookup"                             key(InvoicesRead; Authority)       lookup::lookup
        => answers::<Lookup>().query(LOOKUP).fails(&[
            AccountSuspended, TenantCertificateRequired, AllowedNifMismatch, Expired, AuthorityError, AuthorityTimeout,
        ]);
    /// Checks whether the census knows taxpayers under their names.
    ///
    /// One, or up to 100 in `items`.
    POST   "/verify-nif"                                  key(NifRead; Authority)            nif::verify
        => answers_either::<CheckedNif, CheckedNifs>().takes(&[json_either::<CheckNif, CheckNifs>(examples::TAXPAYER)]).fails(ASKING);
    /// Sends and cancels many invoices.
    ///
    /// Up to 1000, in their order. Each has its own key and its own outcome; a batch that is repeated
    /// finds the same jobs again.
    POST   "/batches"                                     key(InvoicesWrite; Batches)        batches::create, batch
        => accepts::<BatchTaken>().takes(&[json::<CreateBatch>(examples::BATCH)]).gives(&[LOCATION.always()]);
    /// Shows where a batch stands.
    ///
    /// For 30 days. Its jobs and records stay.
    GET    "/batches/:id"                                 key(InvoicesRead; JobReads)        batches::show
        => answers::<Batch>();
    /// Lists jobs, newest first.
    GET    "/jobs"                                        key(InvoicesRead; JobReads)        jobs::list
        => answers::<Jobs>().query(JOBS).gives(&[NEXT_PAGE]);
    /// Shows a job with its result.
    GET    "/jobs/:id"                                    key(InvoicesRead; JobReads)        jobs::show
        => answers::<Job>();
    /// Lists what was tried, and how it ended.
    GET    "/jobs/:id/attempts"                           key(InvoicesRead; JobReads)        jobs::attempts
        => answers::<JobAttempts>();
    /// Gives the record's XML, or the authority's line for it.
    GET    "/jobs/:id/xml"                                key(InvoicesRead; JobReads)        jobs::xml
        => sends(&["application/xml"]).query(&[PART]);
    /// Draws the invoice's QR.
    ///
    /// At regulation size, also before the authority has answered. A cancellation has none.
    GET    "/jobs/:id/qr"                                 key(InvoicesRead; JobReads)        jobs::qr
        => sends(&["image/svg+xml", "image/png", "text/plain"]).query(&[PICTURE]);

    /// Shows the account behind the key.
    GET    "/me"                                          key(; Reads)                       me::show
        => answers::<Me>();
    /// Lists the account's chains.
    GET    "/me/chains"                                   key(InvoicesRead; Reads)           chains::list
        => answers::<Chains>();
    /// Verifies a chain.
    ///
    /// Computes every huella anew from the XML that is stored.
    GET    "/me/chains/:id/verify"                        key(InvoicesRead; Reads)           chains::verify
        => answers::<ChainVerification>();
    /// Shows the plan, and what the month has used of it.
    GET    "/me/plan"                                     key(InvoicesRead; Reads)           usage::plan
        => answers::<PlanStatus>();
    /// Counts invoices, cancellations and requests by month.
    GET    "/me/usage"                                    key(InvoicesRead; Reads)           usage::usage
        => answers::<Months<MonthlyUsage>>().query(&[MONTHS]);
    /// Adds up the invoices by month and issuer.
    GET    "/me/ledger"                                   key(InvoicesRead; Reads)           usage::ledger
        => answers::<Months<MonthlyLedger>>().query(&[MONTHS]);
    /// Lists records, newest first.
    ///
    /// Every record that was generated, rejected ones too.
    GET    "/me/invoice-records"                          key(InvoicesRead; Reads)           records::list
        => answers::<InvoiceRecords>().query(RECORDS).gives(&[NEXT_PAGE]);
    /// Exports all records with their exact bytes.
    ///
    /// Streamed, chain by chain in the order of each. `from` and `to` are times of generation.
    GET    "/me/invoice-records/export"                   key(InvoicesRead; Reads)           records::export
        => sends(&["application/x-ndjson", "application/xml"]).query(&[EXPORT, FROM, TO]);
    /// Shows a record.
    GET    "/me/invoice-records/:id"                      key(InvoicesRead; Reads)           records::show
        => answers::<InvoiceRecord>();
    /// Gives a record's XML.
    GET    "/me/invoice-records/:id/xml"                  key(InvoicesRead; Reads)           records::xml
        => sends(&["application/xml"]);
    /// Draws the QR of a record's invoice.
    GET    "/me/invoice-records/:id/qr"                   key(InvoicesRead; Reads)           records::qr
        => sends(&["image/svg+xml", "image/png", "text/plain"]).query(&[PICTURE]);
    /// Tells whose the certificate is, and until when it holds.
    GET    "/me/certificate"                              key(CertificatesRead; Reads)       certificates::show
        => answers::<CertificateStatus>();
    /// Uploads the certificate, or replaces it.
    ///
    /// A PKCS#12 file with its passphrase. Key and chain are kept sealed, the file is not; nothing of it
    /// is ever returned.
    POST   "/me/certificate"                              key(CertificatesWrite; Certificates) certificates::upload, certificate
        => UPLOAD;
    /// Removes the certificate.
    ///
    /// Jobs that wait are held until there is another.
    DELETE "/me/certificate"                              key(CertificatesWrite; Certificates) certificates::delete
        => answers::<CertificateRemoved>().fails(&[AccountSuspended, NotFound]);

    /// Lists the partner's child accounts, by identifier.
    GET    "/partner/tenants"                             key(PartnerRead; Reads)            partners::list
        => answers::<Tenants>().query(&[LIMIT, TENANT_CURSOR, OFFSET]).gives(&[NEXT_PAGE]);
    /// Creates a child account.
    ///
    /// It acts for one issuer, `allowedNif`, for good. An identifier is made up if none is given.
    POST   "/partner/tenants"                             key(PartnerWrite; Writes)          partners::create
        => creates::<Tenant>().takes(&[json::<CreateChildTenant>(examples::CHILD)]).gives(&[LOCATION.always()])
            .fails(&[AccountSuspended, PlanLimitReached, TenantExists]);
    /// Shows a child account.
    GET    "/partner/tenants/:id"                         child(PartnerRead; Reads)          partners::show
        => answers::<Tenant>();
    /// Changes a child account.
    ///
    /// What the operator has suspended only the operator lets go on.
    PATCH  "/partner/tenants/:id"                         child(PartnerWrite; Writes)        partners::change
        => answers::<Tenant>().takes(&[json::<ChangeChildTenant>(examples::CHILD_PATCH)]).fails(&[AccountSuspended]);
    /// Lists a child's jobs, newest first.
    GET    "/partner/tenants/:id/jobs"                    child(PartnerRead; JobReads)       jobs::list
        => answers::<Jobs>().query(JOBS).gives(&[NEXT_PAGE]);
    /// Lists a child's chains.
    GET    "/partner/tenants/:id/chains"                  child(PartnerRead; Reads)          chains::list
        => answers::<Chains>();
    /// Counts a child's invoices, cancellations and requests by month.
    GET    "/partner/tenants/:id/usage"                   child(PartnerRead; Reads)          usage::usage
        => answers::<Months<MonthlyUsage>>().query(&[MONTHS]);
    /// Lists a child's records, newest first.
    GET    "/partner/tenants/:id/invoice-records"         child(PartnerRead; Reads)          records::list
        => answers::<InvoiceRecords>().query(RECORDS).gives(&[NEXT_PAGE]);
    /// Lists a child's keys, the oldest first and never in full.
    GET    "/partner/tenants/:id/api-keys"                child(PartnerRead; Reads)          api_keys::list_of_child
        => answers::<ApiKeys>().query(&[LIMIT, CURSOR, OFFSET]).gives(&[NEXT_PAGE]);
    /// Creates a key of a child, without the scopes of partners.
    ///
    /// The answer is the only one that shows it.
    POST   "/partner/tenants/:id/api-keys"                child(PartnerWrite; Writes)        api_keys::create_for_child
        => creates::<CreatedApiKey>().takes(&[json::<CreateChildApiKey>(examples::CHILD_KEY)])
            .fails(&[AccountSuspended, PlanLimitReached]);
    /// Revokes a key of a child.
    POST   "/partner/tenants/:id/api-keys/:keyId/revoke"  child(PartnerWrite; Writes)        api_keys::revoke_of_child
        => answers::<RevokedApiKey>().fails(&[AccountSuspended]);
    /// Tells whose a child's certificate is, and until when it holds.
    GET    "/partner/tenants/:id/certificate"             child(PartnerRead; Reads)          certificates::show
        => answers::<CertificateStatus>();
    /// Uploads a child's certificate, or replaces it.
    ///
    /// Its holder is the child's `allowedNif`.
    POST   "/partner/tenants/:id/certificate"             child(PartnerWrite; Certificates)  certificates::upload, certificate
        => UPLOAD;
    /// Removes a child's certificate.
    DELETE "/partner/tenants/:id/certificate"             child(PartnerWrite; Certificates)  certificates::delete
        => answers::<CertificateRemoved>().fails(&[AccountSuspended, NotFound]);

    /// Creates an account.
    POST   "/admin/tenants"                               operator()                         tenants::create
        => creates::<Tenant>().takes(&[json::<CreateTenant>(examples::TENANT)]).gives(&[LOCATION.always()])
            .fails(&[PlanLimitReached, TenantExists]);
    /// Creates an API key.
    ///
    /// The answer is the only one that shows it.
    POST   "/admin/api-keys"                              operator()                         api_keys::create
        => creates::<CreatedApiKey>().takes(&[json::<CreateApiKey>(examples::KEY)])
            .fails(&[NotFound, PlanLimitReached]);
    /// Lists accounts, by identifier.
    GET    "/admin/tenants"                               operator()                         tenants::list
        => answers::<Tenants>().query(&[LIMIT, TENANT_CURSOR, OFFSET]).gives(&[NEXT_PAGE]);
    /// Shows an account.
    GET    "/admin/tenants/:id"                           operator()                         tenants::show
        => answers::<Tenant>();
    /// Changes an account.
    ///
    /// What the body does not name stays; null removes a value.
    PATCH  "/admin/tenants/:id"                           operator()                         tenants::change
        => answers::<Tenant>().takes(&[json::<ChangeTenant>(examples::TENANT_PATCH)]);
    /// Makes an account of the web application.
    ///
    /// Its identifier is the configured prefix with the user's. Its key stays sealed in the service: the web
    /// application's back end calls by `x-admin-key` with `x-act-as`.
    PUT    "/admin/web-accounts/:userId"                  operator()                         web_accounts::put
        => puts::<Tenant>().gives(&[LOCATION.always()]).fails(&[PlanLimitReached, TenantExists]);
    /// Lists keys, the oldest first and never in full.
    GET    "/admin/api-keys"                              operator()                         api_keys::list
        => answers::<ApiKeys>().query(&[TENANT_ID, LIMIT, CURSOR, OFFSET]).gives(&[NEXT_PAGE]);
    /// Revokes a key.
    ///
    /// From the next request on it lets nobody in.
    POST   "/admin/api-keys/:id/revoke"                   operator()                         api_keys::revoke
        => answers::<RevokedApiKey>();
    /// Searches the jobs of all accounts, newest first.
    GET    "/admin/jobs"                                  operator()                         support::jobs
        => answers::<OperatorJobs>()
            .query(&[TENANT_ID, STATUS, CLASS, CODE, OLDER_THAN, REQUEST_ID, LIMIT, CURSOR, OFFSET])
            .gives(&[NEXT_PAGE]);
    /// Gives the XML that was sent for a job, and every answer.
    GET    "/admin/jobs/:id/messages"                     operator()                         support::messages
        => answers::<JobMessages>();
    /// Makes a FAILED job due now.
    ///
    /// Within the pace of its chain. Its attempts stay, and this one counts.
    POST   "/admin/jobs/:id/retry"                        operator()                         support::retry
        => answers::<Job>().fails(&[JobNotRetryable, IssuerHeld]);
    /// Lists the chains of issuers with what waits on them.
    ///
    /// Their pace, the lease of the worker that has one, and why one is held.
    GET    "/admin/issuers"                               operator()                         issuers::list
        => answers::<Issuers>().query(&[TENANT_ID, NIF, HELD, LIMIT, CURSOR, OFFSET]).gives(&[NEXT_PAGE]);
    /// Sends nothing more of an issuer.
    ///
    /// Its invoices are still accepted, and their jobs say that they are held.
    POST   "/admin/issuers/:tenantId/:nif/pause"          operator()                         issuers::pause
        => answers::<Issuers>().takes(&[json::<PauseIssuer>(examples::PAUSE)]);
    /// Lets an issuer go on, whatever held it.
    POST   "/admin/issuers/:tenantId/:nif/resume"         operator()                         issuers::resume
        => answers::<Issuers>();
    /// Lists certificates that end soon or have ended.
    GET    "/admin/certificates/expiring"                 operator()                         support::expiring
        => answers::<ExpiringCertificates>().query(&[DAYS]);
    /// Reads the audit log, the last line first.
    GET    "/admin/events"                                operator()                         support::events
        => answers::<AuditEvents>().query(&[LIMIT, POSITION_CURSOR, OFFSET]).gives(&[NEXT_PAGE]);
    /// Tells where an account's events go; never the secret.
    GET    "/admin/tenants/:id/webhook"                   operator()                         webhooks::show
        => answers::<WebhookInfo>();
    /// Sets where an account's events go.
    ///
    /// What the body does not name stays; a `url` of null removes the webhook.
    PATCH  "/admin/tenants/:id/webhook"                   operator()                         webhooks::configure
        => answers::<WebhookInfo>().takes(&[json::<WebhookPatch>(examples::WEBHOOK)]);
    /// Sends one event to try the address.
    POST   "/admin/tenants/:id/webhook/ping"              operator()                         webhooks::ping
        => answers::<WebhookTrial>();
    /// Lists the attempts to deliver, the last first.
    GET    "/admin/tenants/:id/webhook/deliveries"        operator()                         webhooks::deliveries
        => answers::<WebhookDeliveries>().query(&[LIMIT, CURSOR, OFFSET]).gives(&[NEXT_PAGE]);

    /// Says that the service is alive.
    GET    "/health"                                      anyone()                           system::health
        => answers::<Health>();
    /// Says whether the service can work, dependency by dependency.
    GET    "/ready"                                       anyone()                           system::ready
        => answers::<Ready>();
    /// Gives this document.
    GET    "/openapi.json"                                anyone()                           system::openapi
        => sends(&["application/json"]);
    /// Shows this document as a page to read.
    GET    "/docs"                                        anyone()                           system::docs
        => sends(&["text/html"]);
    /// Shows the producer's declaration of the computer system.
    ///
    /// A page for people; text or JSON, where `Accept` asks for it first.
    GET    "/declaracion-responsable"                     anyone()                           declaration::show
        => answers::<Declaration>().or_sends(&["text/html", "text/plain"]).fails(&[NotFound]);
    /// Gives counts and times for Prometheus. The operator's key may be asked for, by a setting.
    GET    "/metrics"                                     anyone()                           system::metrics
        => sends(&["application/openmetrics-text"]).fails(&[ApiKeyMissing, ApiKeyInvalid, NotFound, RateLimited]);
}

/// An endpoint.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) endpoint: Endpoint,
    /// The largest body.
    pub(super) limit: fn(&Limits) -> usize,
    /// What answers, by its path in the source.
    pub(crate) name: &'static str,
    /// The lines of its description, the summary first.
    pub(crate) docs: &'static [&'static str],
    /// What it takes and gives.
    pub(crate) operation: Operation,
}

impl Route {
    /// As it is written.
    pub(super) fn written(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// What answers, by who may call it.
pub(crate) enum Endpoint {
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
pub(crate) type Answer = Pin<Box<dyn Future<Output = Result<Reply, Fault>> + Send>>;

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
