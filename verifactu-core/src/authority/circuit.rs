//! A circuit before each host: while a host cannot be reached, nobody else has to find that out.
//!
//! After [`CircuitAuthority::FAILURES`] connections to a host that failed in a row, the circuit to it is open: messages
//! are told at once that they were not reached. One at a time is let through after [`CircuitAuthority::PAUSE`] to probe
//! the host; when it gets through, the circuit closes. A refusal of our certificate says nothing about
//! the host, and an answer that does not come was lost after the host was reached.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;

use super::{Authority, Exchange, NotReached, Request};
use crate::types::Clock;

/// An authority behind a circuit for each of its hosts.
pub struct CircuitAuthority {
    inner: Arc<dyn Authority>,
    clock: Arc<dyn Clock>,
    circuits: Mutex<HashMap<String, Circuit>>,
}

/// Only hosts whose last connection failed have one.
struct Circuit {
    failures: u32,
    /// When a message may go, once the circuit is open.
    probe_at: Timestamp,
}

impl CircuitAuthority {
    /// Connections that fail in a row before the circuit opens.
    pub const FAILURES: u32 = 5;

    /// The time between probes.
    pub const PAUSE: Duration = Duration::from_secs(30);

    /// Circuits before the hosts of an authority.
    #[must_use]
    pub fn new(inner: Arc<dyn Authority>, clock: Arc<dyn Clock>) -> Self {
        Self { inner, clock, circuits: Mutex::default() }
    }

    /// Whether a message may go. The first that may after the pause is the probe; the next waits for
    /// another pause, so that a probe which is given up half-way blocks nobody.
    fn admits(&self, host: &str) -> bool {
        let now = self.clock.now();
        let mut circuits = self.lock();
        match circuits.get_mut(host) {
            Some(circuit) if circuit.failures >= Self::FAILURES => {
                let may = circuit.probe_at <= now;
                if may {
                    circuit.probe_at = now + Self::PAUSE;
                }
                may
            }
            _ => true,
        }
    }

    fn learn(&self, host: String, exchange: &Exchange) {
        let failed = match exchange {
            Exchange::Answered(_) | Exchange::NoAnswer { .. } => false,
            Exchange::NotReached { reason, .. } => match reason {
                NotReached::Dns | NotReached::Connect | NotReached::Tls { .. } => true,
                NotReached::TlsAlert { .. } => false,
                NotReached::Identity { .. } | NotReached::CircuitOpen => return,
            },
        };
        let mut circuits = self.lock();
        if failed {
            let probe_at = self.clock.now() + Self::PAUSE;
            let circuit = circuits.entry(host).or_insert(Circuit { failures: 0, probe_at });
            circuit.failures = circuit.failures.saturating_add(1);
            circuit.probe_at = probe_at;
        } else {
            circuits.remove(&host);
        }
    }

    /// The map is whole after every step, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Circuit>> {
        self.circuits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait::async_trait]
impl Authority for CircuitAuthority {
    async fn exchange(&self, request: Request) -> Exchange {
        let host = self.inner.host(&request);
        if !self.admits(&host) {
            return Exchange::NotReached { reason: NotReached::CircuitOpen, elapsed: Duration::ZERO };
        }
        let exchange = self.inner.exchange(request).await;
        self.learn(host, &exchange);
        exchange
    }

    fn host(&self, request: &Request) -> String {
        self.inner.host(request)
    }
}
