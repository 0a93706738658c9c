//! Which layer between here and an accepted invoice fails: each is tried in its turn, and what lies
//! above one that fails is not tried.

use std::{error::Error as StdError, time::Duration};

use jiff::Timestamp;
use serde_json::json;
use tokio::net::{TcpStream, lookup_host};
use verifactu_client::{Client, Error, RetryPolicy};

use crate::{
    connection::Connection,
    failure::{End, Failure, Finding, told},
    output::Output,
    surroundings,
};

/// Limit for the name look-up, and for a connection.
const LIMIT: Duration = Duration::from_secs(10);
/// How far clocks may lie apart, in seconds: records carry the service's time, webhooks are refused
/// after five minutes.
const DRIFT: u64 = 60;

/// A layer, and what was found there.
type Layer = (&'static str, Result<String, String>);

pub(crate) async fn run(connection: &Connection, output: Output) -> Result<End, Failure> {
    let client = connection.client_with(RetryPolicy::never())?;
    let layers = examine(&client, &connection.address()?).await;
    let holds = Finding::from(layers.iter().all(|(_, found)| found.is_ok()));
    let mut text = String::new();
    let mut findings = Vec::new();
    for (layer, found) in &layers {
        let (Ok(said) | Err(said)) = found;
        text += &format!("{layer:<12} {} {said}\n", Output::word(found.is_ok().into()));
        findings.push(json!({"layer": layer, "ok": found.is_ok(), "found": said}));
    }
    output.print(&text, &json!({"ok": holds == Finding::Holds, "layers": findings}))?;
    Ok(End::well_if(holds))
}

async fn examine(client: &Client, address: &str) -> Vec<Layer> {
    let mut layers = Vec::new();
    let _ = climb(client, address, &mut layers).await;
    layers
}

/// Tries layer after layer; `None` at the first that nothing works above.
async fn climb(client: &Client, address: &str, layers: &mut Vec<Layer>) -> Option<()> {
    let url = reqwest::Url::parse(address).ok()?;
    let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
    let port = url.port_or_known_default()?;

    let found = limited(lookup_host((host.as_str(), port))).await.map(Iterator::collect::<Vec<_>>);
    let addresses = found.as_ref().cloned().unwrap_or_default();
    let found = found.and_then(|found| found.first().map(ToString::to_string).ok_or("no address".into()));
    reach(layers, "DNS", found)?;
    reach(layers, "TCP", limited(TcpStream::connect(&*addresses)).await.map(|_| format!("port {port}")))?;

    let alive = client.health().await;
    if url.scheme() == "https" {
        let found = match &alive {
            Err(error @ Error::Transport(_)) => Err(told(error)),
            _ => Ok("trusted".to_owned()),
        };
        reach(layers, "TLS", found)?;
    }
    reach(
        layers,
        "service",
        alive.map(|health| format!("version {}", health.version)).map_err(|e| told(&e)),
    )?;
    let ready = match client.ready().await {
        Ok(ready) if ready.ready => Ok("ready".to_owned()),
        Ok(_) => Err("not ready: a dependency of it fails".to_owned()),
        Err(error) => Err(told(&error)),
    };
    layers.push(("readiness", ready));
    layers.push(("clock", clock(client).await));

    let certificate = client.certificate().await;
    let key = match &certificate {
        Err(error) if error.status() == Some(401) => Err(told(error)),
        Err(error) if error.status() != Some(403) => Err(told(error)),
        _ => Ok("known".to_owned()),
    };
    reach(layers, "key", key)?;
    let found = match certificate {
        Err(error) => Err(told(&error)),
        Ok(status) => match status.certificate {
            None => Err("the account has none".to_owned()),
            Some(info) if info.days_until_expiry < 0 => Err(format!("expired on {}", said(&info.not_after))),
            Some(info) => Ok(format!("{} more days", info.days_until_expiry)),
        },
    };
    reach(layers, "certificate", found)
}

fn reach(layers: &mut Vec<Layer>, layer: &'static str, found: Result<String, String>) -> Option<()> {
    let reached = found.is_ok();
    layers.push((layer, found));
    reached.then_some(())
}

fn said(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

async fn limited<T, E: StdError>(step: impl Future<Output = Result<T, E>>) -> Result<T, String> {
    match tokio::time::timeout(LIMIT, step).await {
        Ok(done) => done.map_err(|error| told(&error)),
        Err(_) => Err(format!("nothing within {LIMIT:?}")),
    }
}

async fn clock(client: &Client) -> Result<String, String> {
    let there = client.service_time().await.map_err(|error| told(&error))?;
    let there =
        Timestamp::try_from(there.ok_or("the service tells no time")?).map_err(|error| told(&error))?;
    let apart = there.as_second().abs_diff(surroundings::now().as_second());
    let text = format!("{apart} s apart");
    if apart <= DRIFT { Ok(text) } else { Err(text) }
}
