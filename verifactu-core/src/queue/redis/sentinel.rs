//! Where the master is, as Sentinels know it.
//!
//! They are asked before every new connection, and a failure always leads to a new one; so a failover is
//! followed as soon as they know of it. Until then the old master refuses to write, or does not answer.

use std::sync::atomic::{AtomicUsize, Ordering};

use redis::{AsyncConnectionConfig, Client, ErrorKind, RedisError, cmd};

use super::link::ANSWER;

/// The port of a Sentinel that names none.
const PORT: u16 = 26379;

/// An address of the form
/// `redis+sentinel://user:password@host:port,host:port/master/database?sentinel=user:password`, in parts.
pub(super) struct Named {
    /// A server in its form. Its host is that of the first Sentinel, and none of it is used.
    pub(super) server: String,
    nodes: Vec<String>,
    master: String,
}

impl Named {
    /// The parts, if it is such an address and there is none missing.
    pub(super) fn parse(address: &str) -> Option<Option<Self>> {
        let Some((scheme, rest)) = address.split_once("+sentinel://") else { return Some(None) };
        if !["redis", "rediss"].contains(&scheme) {
            return None;
        }
        let (authority, path) = rest.split_once('/')?;
        let (path, own) = match path.split_once('?') {
            None => (path, String::new()),
            Some((path, query)) => (path, format!("{}@", query.strip_prefix("sentinel=")?)),
        };
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (format!("{user}@"), hosts),
            None => (String::new(), authority),
        };
        let (master, database) = path.split_once('/').unwrap_or((path, ""));
        if master.is_empty() {
            return None;
        }
        let nodes: Vec<String> = hosts.split(',').map(with_port).collect();
        let server = format!("{scheme}://{user}{}/{database}", nodes.first()?);
        let nodes = nodes.iter().map(|host| format!("{scheme}://{own}{host}")).collect();
        Some(Some(Self { server, nodes, master: master.to_owned() }))
    }
}

fn with_port(host: &str) -> String {
    let named = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if named { host.to_owned() } else { format!("{host}:{PORT}") }
}

/// The Sentinels that watch a master.
pub(super) struct Sentinels {
    nodes: Vec<Client>,
    master: String,
    /// The one that answered last, which is asked first.
    last: AtomicUsize,
}

impl Sentinels {
    pub(super) fn new(
        named: &Named,
        open: impl Fn(&str) -> Result<Client, RedisError>,
    ) -> Result<Self, RedisError> {
        let nodes = named.nodes.iter().map(|node| open(node)).collect::<Result<_, _>>()?;
        Ok(Self { nodes, master: named.master.clone(), last: AtomicUsize::new(0) })
    }

    /// Host and port of the master.
    pub(super) async fn master(&self) -> Result<String, RedisError> {
        let first = self.last.load(Ordering::Relaxed);
        let mut failure = RedisError::from((ErrorKind::EmptySentinelList, "there is no Sentinel"));
        for number in (0..self.nodes.len()).map(|step| (first + step) % self.nodes.len()) {
            match self.ask(number).await {
                Ok(Some((host, port))) => {
                    self.last.store(number, Ordering::Relaxed);
                    return Ok(format!("{host}:{port}"));
                }
                Ok(None) => {
                    failure = (ErrorKind::MasterNameNotFoundBySentinel, "no master of this name").into();
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    async fn ask(&self, number: usize) -> Result<Option<(String, u16)>, RedisError> {
        let Some(node) = self.nodes.get(number) else { return Ok(None) };
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(ANSWER))
            .set_response_timeout(Some(ANSWER));
        let mut connection = node.get_multiplexed_async_connection_with_config(&config).await?;
        let mut question = cmd("SENTINEL");
        question.arg("get-master-addr-by-name").arg(&self.master);
        question.query_async(&mut connection).await
    }
}
