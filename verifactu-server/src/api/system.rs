//! The routes of the system itself, which have no version.

use std::sync::Arc;

use jiff::Timestamp;
use verifactu_core::{
    api::{Dependency, Health, Ready, Warning},
    ledger::Overview,
};

use crate::{
    config::MetricsAccess,
    metrics::{MEDIA_TYPE, Present},
};

use super::{
    Service,
    call::Call,
    error::{Fault, Success},
    reply::Reply,
};

pub(super) async fn health(_: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let health = Health { status: "ok".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    Reply::json(Success::Ok, call.request, health)
}

pub(super) async fn openapi(_: Arc<Service>, _: Call) -> Result<Reply, Fault> {
    Ok(Reply::raw("application/json", crate::openapi::document()))
}

pub(super) async fn docs(_: Arc<Service>, _: Call) -> Result<Reply, Fault> {
    Ok(Reply::raw("text/html; charset=utf-8", crate::openapi::page()))
}

/// Each dependency by name. What the inside says about a failure stays in the log.
pub(super) async fn ready(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let ledger = service.engine.ledger();
    let (written, queue, overview) = tokio::join!(ledger.probe(), service.queue.probe(), ledger.overview());
    if let Err(error) = &written {
        tracing::error!(error = error as &dyn std::error::Error, "the ledger failed its probe");
    }
    if let Err(error) = &queue {
        tracing::error!(error = error as &dyn std::error::Error, "the queue failed its probe");
    }
    let stopping = service.is_stopping();
    let dependency = |name: &str, problem: Option<&str>| Dependency {
        name: name.to_owned(),
        ready: problem.is_none(),
        message: problem.map(str::to_owned),
    };
    let dependencies = vec![
        dependency("ledger", written.is_err().then_some("the ledger does not answer or cannot write")),
        dependency(
            "queue",
            queue.is_err().then_some("the queue is out of reach; what is accepted is sent later"),
        ),
        dependency("service", stopping.then_some("the service is stopping")),
    ];
    let ready = Ready {
        ready: dependencies.iter().all(|dependency| dependency.ready),
        dependencies,
        warnings: overview.map_or_else(|_| Vec::new(), |overview| warnings(&overview)),
    };
    if ready.ready { Reply::json(Success::Ok, call.request, ready) } else { Err(Fault::NotReady(ready)) }
}

/// What somebody should look at, though it keeps nothing from working.
fn warnings(overview: &Overview) -> Vec<Warning> {
    let warning = |count: u64, code: &str, message: &str| {
        (count > 0).then(|| Warning {
            code: code.to_owned(),
            field: None,
            message: format!("{count} {message}"),
        })
    };
    let in_doubt = "jobs were sent without an answer; what the authority holds is being found out";
    let held = "chains wait for the operator";
    [
        warning(overview.in_doubt, "jobs_in_doubt", in_doubt),
        warning(overview.held_by_operator + overview.held_as_suspended, "chains_held", held),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Certificates whose ends are looked at, those that end first.
const CERTIFICATES: u32 = 100;

/// What the service counts and measures, and what waits. A store out of order costs what it knows.
pub(super) async fn metrics(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    match service.metrics_access {
        MetricsAccess::Anyone => {}
        MetricsAccess::Operator => service.operator(&call.headers, call.origin)?,
        MetricsAccess::Nobody => return Err(Fault::NotFound("route")),
    }
    let (overview, certificates, queue) = tokio::join!(
        service.engine.ledger().overview(),
        service.accounts.expiring_certificates(Timestamp::MAX, CERTIFICATES),
        service.queue.probe()
    );
    let now = service.clock.now();
    let since = |at: Timestamp| now.duration_since(at).as_secs_f64();
    let oldest = overview.as_ref().ok().and_then(|overview| overview.oldest_pending);
    let present = Present {
        oldest_pending: oldest.map_or(0.0, |at| since(at).max(0.0)),
        overview: overview.ok(),
        certificates: certificates
            .ok()
            .map(|ending| ending.iter().map(|one| -since(one.not_after)).collect()),
        queue_answers: queue.is_ok(),
    };
    let text = service.metrics.text(&present).map_err(|error| Fault::Internal(error.into()))?;
    Ok(Reply::raw(MEDIA_TYPE, text))
}
