//! The REST interface: from a whole request to its answer.
//!
//! [`routes`] says what there is, [`auth`] who calls, [`error`] what a failure looks like from
//! outside. The endpoints turn requests into calls of the engine and the accounts, and hold no state.

mod api_keys;
mod auth;
mod batches;
mod call;
mod certificates;
mod chains;
mod declaration;
mod error;
mod examples;
mod invoices;
mod issuers;
mod jobs;
mod lookup;
mod me;
mod multipart;
mod nif;
mod operation;
mod parameters;
mod partners;
mod preview;
mod query;
mod readings;
mod records;
mod reply;
mod routes;
mod support;
mod system;
mod tenants;
mod under_way;
mod usage;
mod view;
mod wait;
mod web_accounts;
mod webhooks;

pub(crate) use auth::ACT_AS;
pub(crate) use error::{Fault, Success, status};
pub(crate) use operation::{Body, Header, Parameter, Shape, shape};
pub(crate) use parameters::RATE;
pub(crate) use readings::Readings;
pub(crate) use reply::Pieces;
pub(crate) use routes::{Endpoint, ROUTES, Route};
pub(crate) use system::Looks;
pub(crate) use usage::Requests;
pub(crate) use view::Views;

use std::{
    fmt::Write as _,
    net::IpAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, Uri};
use tokio::sync::{Semaphore, oneshot};
use tracing::Instrument as _;
use verifactu_core::{
    api::Scope,
    authority::Unprocessed,
    engine::{Engine, Presentation, Presenters as _},
    ledger::{Accounts, AuditEntry, HoldReason, LedgerError},
    queue::{Gate, Queue},
    types::{ChainId, Clock, Environment, Ids, Month, Nif, RequestId, TenantId},
};

use crate::{
    accounts::{Keys, Standing, Strangers, Throttle},
    config::{DeclarationConfig, Limits, MetricsAccess, Plans, RateClass, Role},
    metrics::Metrics,
    presenters::AccountPresenters,
    webhook::Sender,
};

use auth::Account;
use call::Call;
use reply::Reply;
use routes::Found;
use tenants::OPERATOR;

/// What the endpoints work with.
pub(crate) struct Service {
    pub(crate) engine: Engine,
    pub(crate) accounts: Arc<dyn Accounts>,
    pub(crate) queue: Arc<dyn Queue>,
    pub(crate) presenters: Arc<AccountPresenters>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) keys: Keys,
    pub(crate) views: Arc<Views>,
    pub(crate) webhooks: Arc<Sender>,
    pub(crate) environment: Environment,
    pub(crate) role: Role,
    pub(crate) limits: Limits,
    pub(crate) plans: Plans,
    pub(crate) requests: Requests,
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) throttle: Throttle,
    pub(crate) strangers: Strangers,
    /// How identifiers of the web application's accounts begin.
    pub(crate) web_account_prefix: String,
    /// Refuse invoices of accounts without a certificate.
    pub(crate) certificate_required: bool,
    pub(crate) demoted_rules: Vec<String>,
    pub(crate) declaration: Option<DeclarationConfig>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) metrics_access: MetricsAccess,
    /// Bounds the uploads that are opened side by side: each may hash for a third of a second.
    pub(crate) uploads: Semaphore,
    /// Bounds what the bodies of all requests take.
    pub(crate) bodies: Arc<Semaphore>,
    /// The accounts for which a whole chain is being read.
    pub(crate) readings: Readings,
    pub(crate) looks: Looks,
    /// Set once the service is about to end.
    pub(crate) stopping: AtomicBool,
}

/// What is known of a request once its headers and body are read.
pub(crate) struct Arrived {
    pub(crate) request: RequestId,
    /// The other end of the connection.
    pub(crate) peer: IpAddr,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Who calls the operator's routes without the operator's key, in the audit log.
const NOBODY: &str = "nobody";

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const ENVIRONMENT: HeaderName = HeaderName::from_static("x-verifactu-environment");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
/// The date from which paths without their version are deprecated (RFC 9745): 1 January 2026.
const DEPRECATED_SINCE: &str = "@1767225600";

impl Service {
    pub(crate) fn views(check: verifactu_core::qr::CheckService, max_attempts: u32) -> Views {
        Views::new(check, max_attempts)
    }

    /// The largest body of a request with this method and path.
    pub(crate) fn body_limit(&self, method: &Method, uri: &Uri) -> usize {
        match routes::find(method, uri.path()) {
            Ok(found) => (found.route.limit)(&self.limits),
            Err(_) => self.limits.body,
        }
    }

    /// Answers a request. What was begun is finished even if the caller goes away, and a panic is an
    /// answer like any other.
    pub(crate) async fn answer(self: Arc<Self>, arrived: Arrived) -> Response<Bytes> {
        let (request, began) = (arrived.request, Instant::now());
        let (method, headers) = (arrived.method.clone(), arrived.headers.clone());
        let found = routes::find(&arrived.method, &arrived.path);
        let (known, route) =
            found.as_ref().map_or(("", ""), |found| (found.route.method.as_str(), found.route.path));
        let successor = found.as_ref().ok().and_then(|found| found.successor.clone());
        let span = tracing::info_span!("request", id = %request);
        let service = self.clone();
        let told = Arc::new(OnceLock::new());
        let standing = told.clone();
        // Dropped with this future when the caller goes away, which whoever holds the other end learns.
        let (_waits, left) = oneshot::channel();
        let work = async move { service.route(arrived, found, &standing, left).await }.instrument(span);
        let result = match tokio::spawn(work).await {
            Ok(result) => result,
            Err(error) => Err(Fault::Internal(error.into())),
        };
        let mut reply = result.unwrap_or_else(|fault| fault.into_reply(request, &headers));
        if let Some(standing) = told.get() {
            for (name, text) in [(RATE_LIMIT, standing.limit()), (RATE_LIMIT_POLICY, standing.policy())] {
                if let Ok(value) = HeaderValue::from_str(&text) {
                    reply = reply.with(name, value);
                }
            }
        }
        if let Some(path) = successor {
            reply = reply.with(DEPRECATION, HeaderValue::from_static(DEPRECATED_SINCE));
            let link = format!("<{path}>; rel=\"successor-version\"");
            if let Ok(link) = HeaderValue::from_str(&link) {
                reply.headers.append(http::header::LINK, link);
            }
        }
        let response = self.seal(request, reply);
        let took = began.elapsed();
        self.metrics.request(known, route, response.status(), took);
        tracing::info!(
            target: "access",
            %request,
            %method,
            route,
            status = response.status().as_u16(),
            ms = took.as_secs_f64() * 1000.0,
        );
        response
    }

    /// Answers a request that could not be read.
    pub(crate) fn refuse(&self, request: RequestId, headers: &HeaderMap, fault: Fault) -> Response<Bytes> {
        let response = self.seal(request, fault.into_reply(request, headers));
        self.metrics.request("", "", response.status(), Duration::ZERO);
        tracing::info!(target: "access", %request, status = response.status().as_u16(), "refused unread");
        response
    }

    /// Whether the service is about to end, and so not ready for more.
    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Who calls, how often, and whether it may; then the endpoint. How the caller stands to its rate is
    /// told with whatever becomes of the request.
    async fn route(
        self: Arc<Self>,
        arrived: Arrived,
        found: Result<Found, Vec<Method>>,
        standing: &OnceLock<Standing>,
        left: oneshot::Receiver<()>,
    ) -> Result<Reply, Fault> {
        let Found { route, variables, .. } = match found {
            Ok(found) => found,
            Err(methods) if methods.is_empty() => return Err(Fault::NotFound("route")),
            Err(methods) => return Err(Fault::Method(methods)),
        };
        let Arrived { request, peer, path, query, headers, body, .. } = arrived;
        let origin = self.strangers.origin(peer, &headers);
        let call = Call { request, origin, headers, variables, path, query, body, left };
        let parameters = route.operation.query;
        match route.endpoint {
            Endpoint::Anyone(handler) => {
                query::check(&call, parameters)?;
                handler(self, call).await
            }
            _ if self.role == Role::Worker => Err(Fault::NotFound("route")),
            Endpoint::Operator(handler) => {
                let name = route.written();
                if let Err(fault) = self.operator(&call.headers, origin) {
                    self.note_stranger(&name, &fault, &call).await;
                    return Err(fault);
                }
                if let Some(guesses) = self.strangers.standing(origin, self.clock.now()) {
                    let _ = standing.set(guesses);
                }
                let result = match query::check(&call, parameters) {
                    Ok(()) => handler(self.clone(), call).await,
                    Err(fault) => Err(fault),
                };
                if let Err(fault) = &result {
                    self.audit(OPERATOR, "refused", format!("{name} {}", fault.code()), request).await?;
                }
                result
            }
            Endpoint::Key(scope, class, handler) => {
                let account = self.admit(&call, route, scope, class, standing).await?;
                query::check(&call, parameters)?;
                handler(self, call, account).await
            }
            Endpoint::Child(scope, class, handler) => {
                let partner = self.admit(&call, route, Some(scope), class, standing).await?;
                let child = self.child(partner, call.variable()).await?;
                query::check(&call, parameters)?;
                handler(self, call, child).await
            }
        }
    }

    /// Lets an account in: its key, then its rate, then what the key may do.
    async fn admit(
        &self,
        call: &Call,
        route: &Route,
        scope: Option<Scope>,
        class: RateClass,
        standing: &OnceLock<Standing>,
    ) -> Result<Account, Fault> {
        let acting = call.headers.contains_key(ACT_AS);
        let account = match self.account(&call.headers, call.origin).await {
            Err(fault) if acting => {
                self.note_stranger(&route.written(), &fault, call).await;
                return Err(fault);
            }
            known => known?,
        };
        let now = self.clock.now();
        if let Some(counted) = self.throttle.charge(&account.tenant.id, class, now).await {
            let _ = standing.set(counted);
            counted.refused().map_or(Ok(()), |wait| Err(Fault::RateLimited(wait)))?;
        }
        account.may(scope)?;
        if acting {
            let subject = format!("{} {}", account.tenant.id, route.written());
            self.audit(OPERATOR, "act_as", subject, call.request).await?;
        }
        self.requests.count(&account.tenant.id, Month::in_madrid(now));
        Ok(account)
    }

    /// The headers that every answer has.
    fn seal(&self, request: RequestId, reply: Reply) -> Response<Bytes> {
        let Reply { status, mut headers, body, rest } = reply;
        if let Ok(value) = HeaderValue::from_str(&request.to_string()) {
            headers.insert(REQUEST_ID, value);
        }
        headers.insert(ENVIRONMENT, HeaderValue::from_static(self.environment.as_str()));
        headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        if let Some(rest) = rest {
            response.extensions_mut().insert(rest);
        }
        response
    }

    /// Writes down that somebody without the operator's key was refused. Many of them are told in one
    /// line, and the refusal stands also if it cannot be written.
    async fn note_stranger(&self, route: &str, fault: &Fault, call: &Call) {
        let Some(unnoted) = self.strangers.noted(self.clock.now()) else { return };
        let mut subject = format!("{route} {} from {}", fault.code(), call.origin);
        if unnoted > 0 {
            let _ = write!(subject, "; {unnoted} more since the line before");
        }
        if let Err(error) = self.audit(NOBODY, "refused", subject, call.request).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "a refusal was not written down");
        }
    }

    /// Writes down what was done to what.
    async fn audit(
        &self,
        actor: &str,
        action: &str,
        subject: String,
        request: RequestId,
    ) -> Result<(), LedgerError> {
        let entry = AuditEntry {
            at: self.clock.now(),
            actor: actor.to_owned(),
            action: action.to_owned(),
            subject,
            request: Some(request),
        };
        self.accounts.audit(&entry).await
    }

    /// Releases the chains that waited for an account's certificate.
    async fn release(&self, tenant: &TenantId) -> Result<(), LedgerError> {
        for chain in self.engine.ledger().release(tenant, None, HoldReason::Certificate).await? {
            self.wake(chain).await;
        }
        Ok(())
    }

    /// Who presents what is asked of the authority for an account (specification, Digital certificate).
    async fn presentation(&self, tenant: &TenantId, issuer: &Nif) -> Result<Arc<Presentation>, Fault> {
        let found = self.presenters.presentation(tenant, issuer).await;
        match found.map_err(|error| Fault::Internal(error.into()))? {
            Some(presentation) => Ok(presentation),
            None => Err(match self.accounts.certificate(tenant).await? {
                None => Fault::CertificateRequired,
                Some(_) => Fault::CertificateExpired,
            }),
        }
    }

    /// What a question without an answer comes to. That the presenter is suspended holds for its records
    /// as well.
    async fn unanswered(&self, tenant: &TenantId, by: &Presentation, outcome: Unprocessed) -> Fault {
        if let Unprocessed::Suspended(refusal) = &outcome
            && let Err(error) = self.engine.suspended(tenant, by, refusal).await
        {
            return Fault::Internal(error.into());
        }
        Fault::Unanswered(outcome)
    }

    /// Has a chain looked at now.
    async fn wake(&self, chain: ChainId) {
        if let Err(error) = self.queue.schedule(chain, self.clock.now()).await {
            tracing::warn!(%error, %chain, "queue out of reach; the next sweep finds the chain");
        }
    }
}
