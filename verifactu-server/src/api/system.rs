//! The routes of the system itself, which have no version.

use std::sync::Arc;

use verifactu_core::api::{Dependency, Health, Ready};

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

/// Each dependency by name. What the inside says about a failure stays in the log.
pub(super) async fn ready(service: Arc<Service>, call: Call) -> Result<Reply, Fault> {
    let (ledger, queue) = tokio::join!(service.engine.ledger().probe(), service.queue.probe());
    if let Err(error) = &ledger {
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
        dependency("ledger", ledger.is_err().then_some("the ledger does not answer or cannot write")),
        dependency(
            "queue",
            queue.is_err().then_some("the queue is out of reach; what is accepted is sent later"),
        ),
        dependency("service", stopping.then_some("the service is stopping")),
    ];
    let ready = Ready {
        ready: dependencies.iter().all(|dependency| dependency.ready),
        dependencies,
        warnings: Vec::new(),
    };
    if ready.ready { Reply::json(Success::Ok, call.request, ready) } else { Err(Fault::NotReady(ready)) }
}
