//! The routes of the system itself, which have no version.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use tokio::{sync::Mutex, time::Instant};
use verifactu_core::{
    api::{Dependency, Health, Ready, Warning},
    ledger::{Overview, SealedCertificate},
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

/// For how long a look at the stores counts. Anybody may ask, and the answer must cost them next to nothing.
const FRESH: Duration = Duration::from_secs(1);
/// Certificates whose ends are looked at, those that end first.
const CERTIFICATES: u32 = 100;

/// The last look at the stores; while one is made, whoever asks waits for it.
#[derive(Default)]
pub(crate) struct Looks(Mutex<Option<(Instant, Arc<Look>)>>);

/// What was found. A store out of order costs what it knows.
struct Look {
    ledger_writes: bool,
    queue_answers: bool,
    overview: Option<Overview>,
    certificates: Option<Vec<SealedCertificate>>,
}

/// What the inside says about a failure stays in the log.
async fn look(service: &Service) -> Arc<Look> {
    let mut last = service.looks.0.lock().await;
    if let Some((_, look)) = last.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
        return look.clone();
    }
    let ledger = service.engine.ledger();
    let (written, queue, overview, certificates) = tokio::join!(
        ledger.probe(),
        service.queue.probe(),
        ledger.overview(),
        service.accounts.expiring_certificates(Timestamp::MAX, CERTIFICATES),
    );
    if let Err(error) = &written {
        tracing::error!(error = error as &dyn std::error::Error, "the ledger failed its probe");
    }
    if let Err(error) = &queue {
        tracing::error!(error = error as &dyn std::error::Error, "the queue failed its probe");
    }
    let look = Arc::new(Look {
        ledger_writes: written.is_ok(),
        queue_answers: queue.is_ok(),
        overview: overview.ok(),
        certificates: certificates.ok(),
    });
    *last = Some((Instant::now(), look.clone()));
    look
}

/// Each dependency by name.
pub(super) async fn ready(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let look = look(&service).await;
    let stopping = service.is_stopping();
    let dependency = |name: &str, problem: Option<&str>| Dependency {
        name: name.to_owned(),
        ready: problem.is_none(),
        message: problem.map(str::to_owned),
    };
    let dependencies = vec![
        dependency("ledger", (!look.ledger_writes).then_some("the ledger does not answer or cannot write")),
        dependency(
            "queue",
            (!look.queue_answers).then_some("the queue is out of reach; what is accepted is sent later"),
        ),
        dependency("service", stopping.then_some("the service is stopping")),
    ];
    let ready = Ready {
        ready: dependencies.iter().all(|dependency| dependency.ready),
        dependencies,
        warnings: look.overview.as_ref().map(warnings).unwrap_or_default(),
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

/// What the service counts and measures, and what waits.
pub(super) async fn metrics(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    match service.metrics_access {
        MetricsAccess::Anyone => {}
        MetricsAccess::Operator => service.operator(&call.headers, call.origin)?,
        MetricsAccess::Nobody => return Err(Fault::NotFound("route")),
    }
    let look = look(&service).await;
    let now = service.clock.now();
    let since = |at: Timestamp| now.duration_since(at).as_secs_f64();
    let oldest = look.overview.as_ref().and_then(|overview| overview.oldest_pending);
    let present = Present {
        oldest_pending: oldest.map_or(0.0, |at| since(at).max(0.0)),
        overview: look.overview.clone(),
        certificates: look
            .certificates
            .as_ref()
            .map(|ending| ending.iter().map(|one| -since(one.not_after)).collect()),
        queue_answers: look.queue_answers,
    };
    let text = service.metrics.text(&present).map_err(|error| Fault::Internal(error.into()))?;
    Ok(Reply::raw(MEDIA_TYPE, text))
}
