//! Many invoices of one file, which may be begun again as often as one likes.

mod source;
mod state;

use std::{
    collections::{HashMap, VecDeque},
    path::PathBuf,
    time::Duration,
};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use tokio::{task::JoinSet, time::Instant};
use verifactu_client::{Client, Error, IdempotencyKey, ServiceError, types::JobId};

use self::{source::Entry, state::State};
use crate::{
    connection::Connection,
    failure::{End, Failure, told},
    output::Output,
    surroundings,
};

/// Largest file, in bytes.
const MAX_FILE: u64 = 256 * 1024 * 1024;
/// Before the next sending, where the service asks for less and names no time.
const PAUSE: Duration = Duration::from_secs(1);

/// Sends every invoice of a file.
///
/// A second run sends nothing twice: the keys stand in the state file before the first sending, and
/// what was interrupted is taken up where it ended. Lines that are wrong are reported; the others go on.
#[derive(Args)]
pub(crate) struct Batch {
    /// One JSON body per line, or CSV (by its ending) with columns such as `nif` and `desglose.0.base`.
    file: PathBuf,
    /// Where keys and results are kept; beside the file, with `.state` added, if not given. It belongs
    /// to one account.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Requests side by side. With 1 the records keep the order of the file.
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=32))]
    concurrency: u8,
}

struct Problem {
    line: u64,
    reason: String,
}

/// What became of one sending.
struct Sent {
    entry: Entry,
    result: Result<JobId, Error>,
}

impl Batch {
    pub(crate) async fn run(&self, connection: &Connection, output: Output) -> Result<End, Failure> {
        let (client, address) = (connection.client()?, connection.address()?);
        let mut problems = Vec::new();
        let entries = self.entries(&mut problems)?;
        let path = self.state.clone().unwrap_or_else(|| {
            let mut path = self.file.clone().into_os_string();
            path.push(".state");
            path.into()
        });
        let mut state = State::open(&path, &address)?;
        state.assign(entries.iter().map(|entry| entry.digest.as_str()))?;
        let total = entries.len();
        let waiting: VecDeque<Entry> = entries.into_iter().filter(|e| !state.is_done(&e.digest)).collect();
        let already = total - waiting.len();
        let bar = progress(total, already);
        let stopped = self.send_all(&client, waiting, &mut state, &mut problems, &bar).await;
        state.save()?;
        bar.finish_and_clear();
        let end = match stopped? {
            Some(end) => end,
            None if problems.is_empty() => End::Well,
            None => End::NotWell,
        };
        problems.sort_by_key(|problem| problem.line);
        let left: Vec<_> = problems.iter().map(|p| json!({"line": p.line, "reason": p.reason})).collect();
        let accepted = state.jobs();
        let complete = matches!(end, End::Well | End::NotWell);
        let mut text: String = problems.iter().map(|p| format!("line {}: {}\n", p.line, p.reason)).collect();
        text += &format!(
            "{accepted} accepted ({already} in earlier runs), {} lines left out{}",
            problems.len(),
            if complete { "" } else { "; not finished, run the same command again" }
        );
        output.print(
            &text,
            &json!({"accepted": accepted, "earlier": already, "problems": left, "complete": complete,
                "state": path}),
        )?;
        Ok(end)
    }

    /// The invoices of the file; equal ones once.
    fn entries(&self, problems: &mut Vec<Problem>) -> Result<Vec<Entry>, Failure> {
        let content = surroundings::read(&self.file, MAX_FILE)?;
        let (mut entries, mut seen) = (Vec::new(), HashMap::new());
        for (line, entry) in source::read(&self.file, &content) {
            match entry {
                Err(reason) => problems.push(Problem { line, reason }),
                Ok(entry) => match seen.get(&entry.digest) {
                    Some(first) => {
                        problems.push(Problem { line, reason: format!("the same as line {first}") });
                    }
                    None => {
                        seen.insert(entry.digest.clone(), line);
                        entries.push(entry);
                    }
                },
            }
        }
        Ok(entries)
    }

    /// Sends what waits, and says why it stopped, if it did. A service that cannot be reached, or that
    /// does not know the key, is not asked again for every line; one that is asked too often is asked
    /// later. What is on its way is always awaited.
    async fn send_all(
        &self,
        client: &Client,
        mut waiting: VecDeque<Entry>,
        state: &mut State,
        problems: &mut Vec<Problem>,
        bar: &ProgressBar,
    ) -> Result<Option<End>, Failure> {
        let mut sending: JoinSet<Sent> = JoinSet::new();
        let mut stopped = None;
        let mut not_before = Instant::now();
        let interrupt = tokio::signal::ctrl_c();
        tokio::pin!(interrupt);
        loop {
            let is_open = stopped.is_none() && Instant::now() >= not_before;
            while is_open && sending.len() < usize::from(self.concurrency) {
                let Some(entry) = waiting.pop_front() else { break };
                let Some(key) = state.key(&entry.digest).cloned() else { continue };
                sending.spawn(send(client.clone(), key, entry));
            }
            if sending.is_empty() && (waiting.is_empty() || stopped.is_some()) {
                return Ok(stopped);
            }
            let sent = tokio::select! {
                biased;
                _ = &mut interrupt, if stopped != Some(End::Interrupted) => {
                    stopped = Some(End::Interrupted);
                    continue;
                }
                Some(sent) = sending.join_next() => sent,
                () = tokio::time::sleep_until(not_before), if sending.is_empty() => continue,
            };
            let Ok(Sent { entry, result }) = sent else { return Ok(stopped) };
            match result {
                Ok(job) => {
                    state.done(entry.digest, job)?;
                    bar.inc(1);
                }
                Err(error) if error.service().is_some_and(ServiceError::is_rate_limited) => {
                    not_before = Instant::now() + error.retry_after().unwrap_or(PAUSE);
                    waiting.push_front(entry);
                }
                Err(error) => {
                    let access = error.service().is_some_and(ServiceError::is_access_denied);
                    if error.is_retryable() {
                        stopped = stopped.or(Some(End::Unreached));
                    } else if access {
                        stopped = stopped.or(Some(End::Refused));
                    }
                    problems.push(Problem { line: entry.line, reason: reason(&error) });
                }
            }
        }
    }
}

async fn send(client: Client, key: IdempotencyKey, entry: Entry) -> Sent {
    let result = client.send_invoice_json(&key, &entry.body).await.map(|submitted| submitted.job_id());
    Sent { entry, result }
}

/// The error with every field that it names.
fn reason(error: &Error) -> String {
    let document = error.service().and_then(|error| serde_json::to_value(&error.document).ok());
    let details = document.as_ref().and_then(|document| document["details"].as_array());
    let fields = details.into_iter().flatten().filter_map(|detail| {
        Some(format!("; {}: {}", detail["field"].as_str()?, detail["message"].as_str()?))
    });
    told(error) + &fields.collect::<String>()
}

/// Drawn on the error output, and only if that is a terminal.
fn progress(total: usize, already: usize) -> ProgressBar {
    let bar = ProgressBar::new(total as u64).with_position(already as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} {per_sec} {eta}") {
        bar.set_style(style);
    }
    bar
}
