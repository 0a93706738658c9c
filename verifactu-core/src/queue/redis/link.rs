//! The way to the server: one connection for commands and wake-ups, made anew after every failure.
//!
//! The connection manager heals a connection that breaks. It keeps one on which nothing comes back any
//! more, one to a master that has become a replica, and one whose first words were refused; so a
//! failure ends the connection here, and the next attempt begins with a fresh one.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redis::{
    Client, Cmd, ConnectionAddr, ConnectionInfo, FromRedisValue, PushInfo, PushKind, RedisError, RetryMethod,
    ScriptInvocation,
    aio::{ConnectionManager, ConnectionManagerConfig},
};
use tokio::{
    sync::{Notify, OnceCell},
    time::Instant,
};

use crate::queue::QueueError;

use super::sentinel::Sentinels;

/// A call as a whole, with every repetition.
const CALL: Duration = Duration::from_secs(3);
/// One answer, or one connection.
pub(super) const ANSWER: Duration = Duration::from_secs(1);
/// After a call that failed, nobody else tries for so long; then one does, and the others go on failing
/// at once until it comes through. A server that is away so delays one request of many.
const REST: Duration = Duration::from_secs(1);
/// Before the first repetition; four times as long before each further one.
const PAUSE: Duration = Duration::from_millis(20);
/// There is no further one after this.
const LONGEST_PAUSE: Duration = Duration::from_millis(1280);

/// What the server lets us know without being asked.
#[derive(Default)]
pub(super) struct Signals {
    /// Another chain has become the first, or nobody knows.
    pub(super) woken: Notify,
    /// A connection failed, so that the server may have been started anew.
    pub(super) lost: Notify,
}

pub(super) struct Link {
    home: ConnectionInfo,
    /// Who knows where the master is; without them it is at home.
    sentinels: Option<Sentinels>,
    channel: String,
    signals: Arc<Signals>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    /// The node of a cluster that has the queue, while it is not the one that was named.
    moved: Option<ConnectionAddr>,
    /// Until when nobody tries, after a call that failed.
    rest: Option<Instant>,
}

struct Connection {
    manager: ConnectionManager,
    listens: OnceCell<()>,
}

/// What can be asked for.
pub(super) enum Call<'a> {
    Script(ScriptInvocation<'a>),
    Command(Cmd),
}

impl Link {
    pub(super) fn new(
        home: ConnectionInfo,
        sentinels: Option<Sentinels>,
        channel: String,
        signals: Arc<Signals>,
    ) -> Self {
        Self { home, sentinels, channel, signals, state: Mutex::default() }
    }

    /// Makes a call, and makes it again while that may help, within [`CALL`].
    pub(super) async fn call<T: FromRedisValue>(&self, call: &Call<'_>) -> Result<T, QueueError> {
        let _probe = self.begin()?;
        let result = tokio::time::timeout(CALL, self.repeat(call)).await;
        let mut state = self.lock();
        let failure: Box<dyn std::error::Error + Send + Sync> = match result {
            Ok(Ok(value)) => {
                state.rest = None;
                return Ok(value);
            }
            Ok(Err(error)) => error.into(),
            Err(elapsed) => {
                state.connection = None;
                elapsed.into()
            }
        };
        state.rest = Some(Instant::now() + REST);
        Err(QueueError(failure))
    }

    fn begin(&self) -> Result<Option<Probe<'_>>, QueueError> {
        let (mut state, now) = (self.lock(), Instant::now());
        match state.rest {
            Some(until) if now < until => Err(QueueError(Box::new(Resting))),
            Some(_) => {
                let until = now + CALL;
                state.rest = Some(until);
                Ok(Some(Probe { link: self, until }))
            }
            None => Ok(None),
        }
    }

    async fn repeat<T: FromRedisValue>(&self, call: &Call<'_>) -> Result<T, RedisError> {
        let mut pause = PAUSE;
        loop {
            let error = match self.attempt(call).await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            if !may_pass(&error) {
                return Err(error);
            }
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "the queue's server failed; trying again"
            );
            if pause > LONGEST_PAUSE {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
            pause *= 4;
        }
    }

    async fn attempt<T: FromRedisValue>(&self, call: &Call<'_>) -> Result<T, RedisError> {
        let connection = self.connection().await?;
        let result = connection.call(call, &self.channel).await;
        result.inspect_err(|error| self.give_up(&connection, error))
    }

    async fn connection(&self) -> Result<Arc<Connection>, RedisError> {
        let known = self.lock().connection.clone();
        if let Some(connection) = known {
            return Ok(connection);
        }
        let master = match &self.sentinels {
            Some(sentinels) => self.node(&sentinels.master().await?),
            None => None,
        };
        let mut state = self.lock();
        // Another caller may have been faster.
        if let Some(connection) = &state.connection {
            return Ok(connection.clone());
        }
        let info = match master.as_ref().or(state.moved.as_ref()) {
            Some(address) => self.home.clone().set_addr(address.clone()),
            None => self.home.clone(),
        };
        let signals = self.signals.clone();
        let hear = move |push: PushInfo| {
            match push.kind {
                PushKind::Message => signals.woken.notify_waiters(),
                PushKind::Disconnection => signals.lost.notify_one(),
                _ => {}
            }
            Ok::<_, Infallible>(())
        };
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(0)
            .set_connection_timeout(Some(ANSWER))
            .set_response_timeout(Some(ANSWER))
            .set_push_sender(hear)
            .set_automatic_resubscription();
        let manager = ConnectionManager::new_lazy_with_config(Client::open(info)?, config)?;
        let connection = Arc::new(Connection { manager, listens: OnceCell::new() });
        state.connection = Some(connection.clone());
        Ok(connection)
    }

    /// Ends a connection that failed, unless another caller already has, and learns from a cluster's
    /// node which one has the queue.
    fn give_up(&self, failed: &Arc<Connection>, error: &RedisError) {
        let mut state = self.lock();
        if state.connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, failed)) {
            state.connection = None;
            self.signals.lost.notify_one();
            state.moved = error.redirect_node().and_then(|(node, _)| self.node(node));
        }
    }

    /// The address of another node, reached in the same way. Without a host it is on the same one.
    fn node(&self, node: &str) -> Option<ConnectionAddr> {
        let (host, port) = node.rsplit_once(':')?;
        let port = port.parse().ok()?;
        let host_of = |ours: &str| if host.is_empty() { ours.to_owned() } else { host.to_owned() };
        match self.home.addr().clone() {
            ConnectionAddr::Tcp(ours, _) => Some(ConnectionAddr::Tcp(host_of(&ours), port)),
            ConnectionAddr::TcpTls { host: ours, insecure, tls_params, .. } => {
                Some(ConnectionAddr::TcpTls { host: host_of(&ours), port, insecure, tls_params })
            }
            _ => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The call that finds out whether the server is back, while the others fail until its end.
struct Probe<'a> {
    link: &'a Link,
    until: Instant,
}

impl Drop for Probe<'_> {
    /// One whose caller went away has found out nothing, so the next call takes its place.
    fn drop(&mut self) {
        let mut state = self.link.lock();
        if state.rest == Some(self.until) {
            state.rest = Some(Instant::now());
        }
    }
}

impl Connection {
    async fn call<T: FromRedisValue>(&self, call: &Call<'_>, channel: &str) -> Result<T, RedisError> {
        let mut manager = self.manager.clone();
        self.listens.get_or_try_init(|| async { self.manager.clone().subscribe(channel).await }).await?;
        match call {
            Call::Script(script) => script.invoke_async(&mut manager).await,
            Call::Command(command) => command.query_async(&mut manager).await,
        }
    }
}

/// Whether a fresh connection or a moment's patience may do away with a failure: a broken connection, a
/// server that starts, a master that has become a replica, a queue that moved to another node.
fn may_pass(error: &RedisError) -> bool {
    !matches!(error.retry_method(), RetryMethod::NoRetry)
}

/// Others are finding out whether the server is back.
#[derive(Debug, thiserror::Error)]
#[error("the server did not answer a moment ago")]
struct Resting;
