//! What the service counts and measures, as Prometheus reads it.
//!
//! Counters and histograms grow as things happen; what the ledger knows (waiting jobs, doubts, holds,
//! certificates) is asked of it when somebody reads. No label has more values than code and settings have
//! words: none names an account, an issuer, or a path that a caller made up.

use std::{
    borrow::Cow,
    sync::{Mutex, PoisonError, atomic::AtomicU64},
    time::Duration,
};

use http::StatusCode;
use prometheus_client::{
    encoding::text::encode,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Metric, Registry},
};
use verifactu_core::{
    authority,
    engine::{Observation, Observer, Reply, Write},
    job::JobState,
    ledger::{AttemptOutcome, DeliveryOutcome, Overview},
};

/// The media type of what [`Metrics::text`] writes.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Days to their end at which certificates are counted.
const DAYS: [(&str, f64); 3] = [("7", 7.0), ("30", 30.0), ("90", 90.0)];
/// Certificates that are told one by one.
const RANKS: [&str; 5] = ["1", "2", "3", "4", "5"];
const SECONDS_OF_A_DAY: f64 = 86_400.0;

type Labels<const N: usize> = [(&'static str, Cow<'static, str>); N];
type Counts<const N: usize> = Family<Labels<N>, Counter>;
type Times<const N: usize> = Family<Labels<N>, Histogram>;
type Fraction = Gauge<f64, AtomicU64>;

/// What is asked when somebody reads; `None` where the store did not answer.
pub(crate) struct Present {
    pub(crate) overview: Option<Overview>,
    /// Seconds since the oldest job that waits was accepted.
    pub(crate) oldest_pending: f64,
    /// Seconds to the end of the certificates that end first, in order.
    pub(crate) certificates: Option<Vec<f64>>,
    pub(crate) queue_answers: bool,
}

/// The counts of one service.
pub(crate) struct Metrics {
    registry: Registry,
    demoted_findings: Counts<1>,
    requests: Counts<3>,
    request_times: Times<2>,
    commits: Times<1>,
    exchanges: Times<2>,
    batch: Histogram,
    waits: Histogram,
    attempts: Counts<1>,
    finished: Counts<1>,
    webhooks: Counts<1>,
    gauges: Gauges,
    /// Gauges are set and written out under this, so that two readers do not mix their answers.
    reading: Mutex<()>,
}

/// What is set anew for each reader.
struct Gauges {
    jobs: Family<Labels<1>, Gauge>,
    in_doubt: Gauge,
    oldest_pending: Fraction,
    held: Family<Labels<1>, Gauge>,
    ending: Family<Labels<1>, Gauge>,
    soonest_ends: Family<Labels<1>, Fraction>,
    up: Family<Labels<1>, Gauge>,
}

impl Metrics {
    pub(crate) fn new(demoted_rules: &[String]) -> Self {
        let mut registry = Registry::with_prefix("verifactu");
        let demoted = Family::<Labels<1>, Gauge>::default();
        for rule in demoted_rules {
            demoted.get_or_create(&[("rule", rule.clone().into())]).set(1);
        }
        registry.register("demoted_rule", "Rules whose findings are only warnings", demoted);
        let mut known = Known(&mut registry);
        Self {
            demoted_findings: known.as_(
                "demoted_findings",
                "Records that were accepted although this rule objects",
                Family::default(),
            ),
            requests: known.as_("requests", "Requests that were answered", Family::default()),
            request_times: known.as_(
                "request_seconds",
                "Time from a whole request to its answer",
                Family::new_with_constructor(quick),
            ),
            commits: known.as_(
                "ledger_commit_seconds",
                "Time of writes to the ledger, until they are on stable storage",
                Family::new_with_constructor(quick),
            ),
            exchanges: known.as_(
                "authority_exchange_seconds",
                "Time of exchanges with the authority",
                Family::new_with_constructor(slow),
            ),
            batch: known.as_("message_records", "Records of a message", Histogram::new(BATCH)),
            waits: known.as_(
                "authority_wait_seconds",
                "Waits that the authority asked for",
                Histogram::new(WAITS),
            ),
            attempts: known.as_("attempts", "Attempts at records", Family::default()),
            finished: known.as_("jobs_finished", "Jobs that became final", Family::default()),
            webhooks: known.as_("webhook_deliveries", "Events that were sent", Family::default()),
            gauges: Gauges {
                jobs: known.as_("jobs", "Jobs that are not final", Family::default()),
                in_doubt: known.as_("jobs_in_doubt", "Jobs in doubt", Gauge::default()),
                oldest_pending: known.as_(
                    "oldest_pending_seconds",
                    "Age of the oldest job that waits for its first sending",
                    Gauge::default(),
                ),
                held: known.as_("chains_held", "Chains that are held", Family::default()),
                ending: known.as_(
                    "certificates_ending",
                    "Certificates that end within so many days, of the hundred that end first",
                    Family::default(),
                ),
                soonest_ends: known.as_(
                    "certificate_end_days",
                    "Days to the end of the certificates that end first; negative once they have",
                    Family::default(),
                ),
                up: known.as_("up", "Whether a dependency answers", Family::default()),
            },
            reading: Mutex::default(),
            registry,
        }
    }

    /// A request was answered. The route is a pattern of the route table, or empty.
    pub(crate) fn request(
        &self,
        method: &'static str,
        route: &'static str,
        status: StatusCode,
        took: Duration,
    ) {
        let labels = [("method", method.into()), ("route", route.into())];
        self.request_times.get_or_create(&labels).observe(took.as_secs_f64());
        let [method, route] = labels;
        self.requests.get_or_create(&[method, route, ("status", status.as_str().to_owned().into())]).inc();
    }

    /// A record was accepted although these rules object.
    pub(crate) fn demoted(&self, rules: &[&'static str]) {
        for rule in rules {
            self.demoted_findings.get_or_create(&one("rule", rule)).inc();
        }
    }

    /// An event was sent, once.
    pub(crate) fn webhook(&self, outcome: &DeliveryOutcome) {
        let outcome = match outcome {
            DeliveryOutcome { error: None, .. } => "delivered",
            DeliveryOutcome { status: Some(_), .. } => "refused",
            DeliveryOutcome { .. } => "failed",
        };
        self.webhooks.get_or_create(&one("outcome", outcome)).inc();
    }

    /// Everything, in the OpenMetrics text format.
    pub(crate) fn text(&self, present: &Present) -> Result<String, std::fmt::Error> {
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        self.gauges.set(present);
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

impl Gauges {
    fn set(&self, present: &Present) {
        let up = |name, up| self.up.get_or_create(&one("dependency", name)).set(i64::from(up));
        up("ledger", present.overview.is_some());
        up("queue", present.queue_answers);
        if let Some(overview) = &present.overview {
            let states = [
                ("pending", overview.pending),
                ("processing", overview.processing),
                ("failed", overview.failed),
            ];
            for (state, jobs) in states {
                self.jobs.get_or_create(&one("state", state)).set(whole(jobs));
            }
            let reasons = [
                ("certificate", overview.held_for_certificate),
                ("operator", overview.held_by_operator),
                ("suspended", overview.held_as_suspended),
            ];
            for (reason, chains) in reasons {
                self.held.get_or_create(&one("reason", reason)).set(whole(chains));
            }
            self.in_doubt.set(whole(overview.in_doubt));
            self.oldest_pending.set(present.oldest_pending);
        }
        if let Some(ends) = &present.certificates {
            for (name, days) in DAYS {
                let ending = ends.iter().filter(|end| **end < days * SECONDS_OF_A_DAY).count();
                self.ending.get_or_create(&one("days", name)).set(whole(ending as u64));
            }
            self.soonest_ends.clear();
            for (rank, end) in RANKS.into_iter().zip(ends) {
                self.soonest_ends.get_or_create(&one("rank", rank)).set(end / SECONDS_OF_A_DAY);
            }
        }
    }
}

impl Observer for Metrics {
    fn observe(&self, observation: Observation) {
        match observation {
            Observation::Committed { write, elapsed } => {
                let write = match write {
                    Write::Append => "append",
                    Write::Message => "message",
                    Write::Settlement => "settlement",
                };
                self.commits.get_or_create(&one("write", write)).observe(elapsed.as_secs_f64());
            }
            Observation::Sending { records } => self.batch.observe(records as f64),
            Observation::Exchanged { service, reply, elapsed } => {
                let reply = match reply {
                    Reply::Answered => "answered",
                    Reply::Missing => "missing",
                    Reply::NotReached => "not_reached",
                };
                let labels = [("service", service_name(service).into()), ("reply", reply.into())];
                self.exchanges.get_or_create(&labels).observe(elapsed.as_secs_f64());
            }
            Observation::WaitAsked(wait) => self.waits.observe(wait.as_secs_f64()),
            Observation::Attempted(outcome) => {
                let outcome = match outcome {
                    AttemptOutcome::Accepted => "accepted",
                    AttemptOutcome::Rejected => "rejected",
                    AttemptOutcome::Error => "error",
                    AttemptOutcome::InDoubt => "in_doubt",
                    AttemptOutcome::Unreachable => "unreachable",
                };
                self.attempts.get_or_create(&one("outcome", outcome)).inc();
            }
            Observation::Finished(state) => {
                let state = if state == JobState::Dead { "dead" } else { "succeeded" };
                self.finished.get_or_create(&one("state", state)).inc();
            }
            _ => {}
        }
    }
}

/// Registers metrics and hands them back.
struct Known<'a>(&'a mut Registry);

impl Known<'_> {
    fn as_<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: M) -> M {
        self.0.register(name, help, metric.clone());
        metric
    }
}

const BATCH: [f64; 10] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];
const WAITS: [f64; 9] = [0.0, 1.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0];

/// For what is ours.
fn quick() -> Histogram {
    Histogram::new([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0])
}

/// For what waits for others.
fn slow() -> Histogram {
    Histogram::new([0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0])
}

fn one(name: &'static str, value: &'static str) -> Labels<1> {
    [(name, value.into())]
}

fn service_name(service: authority::Service) -> &'static str {
    match service {
        authority::Service::Registration => "registration",
        authority::Service::Query => "query",
        authority::Service::NifCheck => "nif_check",
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
