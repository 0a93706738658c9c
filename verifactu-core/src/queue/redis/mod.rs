//! The queue of several processes, in Redis (6.2 or newer, or Valkey), and their gate beside it.
//!
//! One sorted set has the chains by the time they are due; a chain that is taken stands there at the
//! end of its lease, so that a worker that dies gives it back by dying. Every step is one script, and
//! the time is the caller's. Scripts that a restart has forgotten are loaded again, and a server that is
//! starting, failing over or out of reach is tried again for three seconds; then it is a
//! [`QueueError`], and the next call begins afresh. A step whose answer was lost may be repeated: a
//! taking that nobody knows of ends with its lease.
//!
//! What the server forgets is told to it again by the next sweep, so it need not write to disk. A user
//! of an access list needs the keys `{verifactu:*}*`, the channels `{verifactu:*}*`, and the commands
//! of connections, scripts, strings, hashes, sorted sets and channels.

mod keys;
mod link;
mod sentinel;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use redis::{Client, ConnectionAddr, ProtocolVersion, RedisError, Script, TlsCertificates};
use tokio::time::Instant;
use uuid::Uuid;

use crate::types::ChainId;

use super::{Charge, Gate, Queue, QueueError, Rate, Taken};
use keys::Keys;
use link::{Call, Link, Signals};
use sentinel::{Named, Sentinels};

/// The longest sleep without a look, for a wake-up that got lost.
const LOOK: Duration = Duration::from_secs(1);
/// Sorted sets count in doubles, which are exact up to here: the year 2255, in microseconds.
const LAST: i128 = 1 << 53;

/// How a queue in Redis is opened.
#[derive(Clone, Debug)]
pub struct RedisOptions {
    /// Tells this queue from others on the same server: 1 to 64 letters, digits, `.`, `_` or `-`. The
    /// processes that share a ledger share the name; those of another ledger have another.
    pub name: String,
    /// Who takes chains here: never the same twice, not even after a restart.
    pub worker: Uuid,
    /// The only roots to trust (PEM); those of the operating system if absent.
    pub roots: Option<Vec<u8>>,
}

/// Keeps due times in Redis. Any number of processes may share them.
pub struct RedisQueue {
    keys: Keys,
    link: Link,
    signals: Arc<Signals>,
    worker: Uuid,
    last_token: AtomicU64,
    scripts: Scripts,
}

struct Scripts {
    schedule: Script,
    take: Script,
    renew: Script,
    finish: Script,
    first: Script,
    leased: Script,
    charge: Script,
    enter: Script,
    leave: Script,
}

impl RedisQueue {
    /// A queue at `redis://`, `rediss://` (TLS) or `unix://`, in the form
    /// `redis://user:password@host:port/database`. Nothing is sent before the first call, so that a
    /// server that is away keeps nobody from starting. Of a cluster, any node will do. With Sentinels the
    /// form is `redis+sentinel://user:password@host:port,host:port/master/database`, or
    /// `rediss+sentinel://` if both they and the server want TLS. User and password are the server's; those
    /// of the Sentinels, if they want any, stand at the end: `?sentinel=user:password`.
    ///
    /// # Errors
    /// [`RedisSetupError`]. None shows the address, which may hold a password.
    pub fn open(address: &str, options: RedisOptions) -> Result<Self, RedisSetupError> {
        let keys = Keys::of(&options.name).ok_or(RedisSetupError::Name)?;
        let open = |address: &str| match options.roots.clone() {
            None => Client::open(address),
            Some(roots) => {
                Client::build_with_tls(address, TlsCertificates { client_tls: None, root_cert: Some(roots) })
            }
        };
        let named = Named::parse(address).ok_or(RedisSetupError::Sentinels)?;
        let sentinels = named.as_ref().map(|named| Sentinels::new(named, open)).transpose()?;
        let client = open(named.as_ref().map_or(address, |named| &named.server))?;
        let info = client.get_connection_info();
        if let ConnectionAddr::TcpTls { insecure, .. } = info.addr() {
            if *insecure {
                return Err(RedisSetupError::Insecure);
            }
            // The transport asks for the process's provider. It can only be there already if
            // somebody else has chosen.
            let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        }
        // Wake-ups come over the same connection.
        let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
        let signals = Arc::<Signals>::default();
        let link =
            Link::new(info.clone().set_redis_settings(settings), sentinels, keys.channel(), signals.clone());
        Ok(Self {
            keys,
            link,
            signals,
            worker: options.worker,
            last_token: AtomicU64::new(options.worker.as_u64_pair().1),
            scripts: Scripts {
                schedule: Script::new(include_str!("scripts/schedule.lua")),
                take: Script::new(include_str!("scripts/take.lua")),
                renew: Script::new(include_str!("scripts/renew.lua")),
                finish: Script::new(include_str!("scripts/finish.lua")),
                first: Script::new(include_str!("scripts/first.lua")),
                leased: Script::new(include_str!("scripts/leased.lua")),
                charge: Script::new(include_str!("scripts/charge.lua")),
                enter: Script::new(include_str!("scripts/enter.lua")),
                leave: Script::new(include_str!("scripts/leave.lua")),
            },
        })
    }

    /// Whether a text can be a queue's name.
    #[must_use]
    pub fn is_name(text: &str) -> bool {
        Keys::of(text).is_some()
    }

    /// When the first chain is due, in microseconds.
    async fn first(&self) -> Result<Option<i64>, QueueError> {
        let mut script = self.scripts.first.prepare_invoke();
        script.key(self.keys.due());
        let at: Option<f64> = self.link.call(&Call::Script(script)).await?;
        Ok(at.map(|at| at as i64))
    }

    /// What stands in a lease: who holds it, and by which taking.
    fn holder(&self, token: u64) -> String {
        format!("{}:{token:016x}", self.worker)
    }
}

#[async_trait]
impl Queue for RedisQueue {
    async fn schedule(&self, chain: ChainId, at: Timestamp) -> Result<(), QueueError> {
        let mut script = self.scripts.schedule.prepare_invoke();
        script.key(self.keys.due()).key(self.keys.leases()).key(self.keys.waiting());
        script.arg(chain.to_string()).arg(not_before(at)).arg(self.keys.channel());
        self.link.call(&Call::Script(script)).await
    }

    async fn take(&self, now: Timestamp, lease: Duration) -> Result<Option<Taken>, QueueError> {
        let token = self.last_token.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let mut script = self.scripts.take.prepare_invoke();
        script.key(self.keys.due()).key(self.keys.leases()).key(self.keys.waiting());
        script.arg(passed(now)).arg(end(now, lease)).arg(self.holder(token));
        let chain: Option<String> = self.link.call(&Call::Script(script)).await?;
        let chain = chain.map(|chain| ChainId::parse(&chain)).transpose();
        Ok(chain.map_err(|error| QueueError(error.into()))?.map(|chain| Taken { chain, token }))
    }

    async fn renew(&self, taken: &Taken, now: Timestamp, lease: Duration) -> Result<bool, QueueError> {
        let mut script = self.scripts.renew.prepare_invoke();
        script.key(self.keys.due()).key(self.keys.leases());
        script.arg(taken.chain.to_string()).arg(self.holder(taken.token)).arg(end(now, lease));
        self.link.call(&Call::Script(script)).await
    }

    async fn finish(&self, taken: Taken, next: Option<Timestamp>) -> Result<(), QueueError> {
        let mut script = self.scripts.finish.prepare_invoke();
        script.key(self.keys.due()).key(self.keys.leases()).key(self.keys.waiting());
        script.arg(taken.chain.to_string()).arg(self.holder(taken.token));
        script.arg(next.map_or(String::new(), |at| not_before(at).to_string())).arg(self.keys.channel());
        self.link.call(&Call::Script(script)).await
    }

    async fn leased_until(&self, chain: ChainId) -> Result<Option<Timestamp>, QueueError> {
        let mut script = self.scripts.leased.prepare_invoke();
        script.key(self.keys.due()).key(self.keys.leases());
        script.arg(chain.to_string());
        let until: Option<f64> = self.link.call(&Call::Script(script)).await?;
        Ok(until.and_then(|until| Timestamp::from_microsecond(until as i64).ok()))
    }

    async fn wait(&self, now: Timestamp, at_most: Duration) {
        let began = Instant::now();
        let woken = self.signals.woken.notified();
        tokio::pin!(woken);
        woken.as_mut().enable();
        let due = async {
            loop {
                let sleep = match self.first().await {
                    Ok(Some(at)) => {
                        let elapsed = i64::try_from(began.elapsed().as_micros()).unwrap_or(i64::MAX);
                        let left = at.saturating_sub(passed(now)).saturating_sub(elapsed);
                        Duration::from_micros(u64::try_from(left).unwrap_or(0))
                    }
                    Ok(None) | Err(_) => LOOK,
                };
                if sleep.is_zero() {
                    return;
                }
                tokio::select! {
                    () = tokio::time::sleep(sleep.min(LOOK)) => {}
                    () = &mut woken => return,
                }
            }
        };
        // An elapsed time-out is the other half of what this waits for.
        let _ = tokio::time::timeout(at_most, due).await;
    }

    async fn probe(&self) -> Result<(), QueueError> {
        let mut write = redis::cmd("SET");
        write.arg(self.keys.probe()).arg(self.worker.to_string()).arg("EX").arg(60);
        self.link.call(&Call::Command(write)).await
    }

    async fn forgotten(&self) {
        self.signals.lost.notified().await;
    }
}

#[async_trait]
impl Gate for RedisQueue {
    async fn charge(&self, bucket: &str, rate: Rate, now: Timestamp) -> Result<Charge, QueueError> {
        let mut script = self.scripts.charge.prepare_invoke();
        let now = passed(now);
        script.key(self.keys.bucket(bucket)).arg(now).arg(rate.interval()).arg(rate.span());
        let (admitted, full_at): (bool, i64) = self.link.call(&Call::Script(script)).await?;
        Ok(rate.told(admitted, full_at, now))
    }

    async fn enter(
        &self,
        mark: &str,
        holder: Uuid,
        now: Timestamp,
        life: Duration,
    ) -> Result<bool, QueueError> {
        let mut script = self.scripts.enter.prepare_invoke();
        script.key(self.keys.mark(mark)).arg(holder.to_string()).arg(passed(now)).arg(end(now, life));
        script.arg(u64::try_from(life.as_millis()).unwrap_or(u64::MAX).max(1));
        self.link.call(&Call::Script(script)).await
    }

    async fn leave(&self, mark: &str, holder: Uuid) -> Result<(), QueueError> {
        let mut script = self.scripts.leave.prepare_invoke();
        script.key(self.keys.mark(mark)).arg(holder.to_string());
        self.link.call(&Call::Script(script)).await
    }
}

impl fmt::Debug for RedisQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisQueue")
            .field("keys", &self.keys)
            .field("worker", &self.worker)
            .finish_non_exhaustive()
    }
}

/// A queue in Redis cannot be opened like this.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedisSetupError {
    /// The address or the roots cannot be used.
    #[error("not an address of Redis, or roots that are not PEM")]
    Address(#[from] RedisError),
    /// The address of Sentinels lacks a part.
    #[error("the form is redis+sentinel://user:password@host:port,host:port/master/database")]
    Sentinels,
    /// The address asks for TLS without looking at certificates.
    #[error("an address of Redis that trusts anybody")]
    Insecure,
    /// The name cannot be part of a key.
    #[error("a queue's name has 1 to 64 letters, digits, dots, underscores or hyphens")]
    Name,
}

/// The first whole microsecond that is not before a time, so that nothing is due too early.
fn not_before(at: Timestamp) -> i64 {
    whole((at.as_nanosecond() + 999).div_euclid(1000))
}

/// The last whole microsecond that a time has passed.
fn passed(at: Timestamp) -> i64 {
    whole(at.as_nanosecond().div_euclid(1000))
}

fn end(now: Timestamp, lease: Duration) -> i64 {
    not_before(now.saturating_add(lease).unwrap_or(Timestamp::MAX))
}

fn whole(micros: i128) -> i64 {
    i64::try_from(micros.clamp(-LAST, LAST)).unwrap_or(i64::MAX)
}
