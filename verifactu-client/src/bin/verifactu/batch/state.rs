//! The state of a batch beside its file: which key belongs to which invoice, and what is done. Every
//! key is on stable storage before it is used, so a run that is cut off and begun again repeats the
//! same requests, of which the service makes nothing new.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions, TryLockError},
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
};

use serde::{Deserialize, Serialize};
use verifactu_client::{IdempotencyKey, types::JobId};

use crate::failure::Failure;

/// A line of the state file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line {
    /// Whom the keys are for; the first line.
    Service(String),
    Key {
        digest: String,
        key: String,
    },
    Done {
        digest: String,
        job: JobId,
    },
}

pub(crate) struct State {
    file: File,
    keys: HashMap<String, IdempotencyKey>,
    done: HashMap<String, JobId>,
}

impl State {
    /// Opens the state, or begins it. Only one run at a time has it.
    pub(crate) fn open(path: &Path, service: &str) -> Result<Self, Failure> {
        let failed = |source| Failure::File { path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        let mut file = options.create(true).read(true).append(true).open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Failure::InUse),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        // A line that was cut off was not yet relied on.
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        file.set_len(whole as u64).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let mut state = Self { file, keys: HashMap::new(), done: HashMap::new() };
        let (text, _) = text.split_at(whole);
        for (index, line) in
            text.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty())
        {
            let unreadable = || Failure::State(index + 1);
            match serde_json::from_slice(line).map_err(|_| unreadable())? {
                Line::Service(known) if known == service => {}
                Line::Service(known) => return Err(Failure::OtherService(known)),
                Line::Key { digest, key } => {
                    let key = IdempotencyKey::parse(&key).map_err(|_| unreadable())?;
                    state.keys.insert(digest, key);
                }
                Line::Done { digest, job } => {
                    state.done.insert(digest, job);
                }
            }
        }
        if whole == 0 {
            state.append(&[Line::Service(service.to_owned())])?;
        }
        Ok(state)
    }

    /// Gives every invoice its key, and returns when all of them are on stable storage.
    pub(crate) fn assign<'a>(&mut self, digests: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
        let mut lines = Vec::new();
        for digest in digests {
            if !self.keys.contains_key(digest) {
                let key = IdempotencyKey::random();
                lines.push(Line::Key { digest: digest.to_owned(), key: key.as_str().to_owned() });
                self.keys.insert(digest.to_owned(), key);
            }
        }
        self.append(&lines)?;
        self.save()
    }

    pub(crate) fn key(&self, digest: &str) -> Option<&IdempotencyKey> {
        self.keys.get(digest)
    }

    pub(crate) fn is_done(&self, digest: &str) -> bool {
        self.done.contains_key(digest)
    }

    /// The jobs of all runs.
    pub(crate) fn jobs(&self) -> usize {
        self.done.len()
    }

    /// Notes a job. It need not last: without it the request is repeated, and finds the same job.
    pub(crate) fn done(&mut self, digest: String, job: JobId) -> Result<(), Failure> {
        self.append(&[Line::Done { digest: digest.clone(), job }])?;
        self.done.insert(digest, job);
        Ok(())
    }

    pub(crate) fn save(&mut self) -> Result<(), Failure> {
        Ok(self.file.sync_all()?)
    }

    fn append(&mut self, lines: &[Line]) -> Result<(), Failure> {
        let mut text = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut text, line).map_err(|error| Failure::unusable("the state", error))?;
            text.push(b'\n');
        }
        Ok(self.file.write_all(&text)?)
    }
}
