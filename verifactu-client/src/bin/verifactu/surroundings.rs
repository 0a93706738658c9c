//! What comes from the machine: variables, the clock, new identifiers, files. The only place of the
//! tool that reads the environment.

use std::{
    fs::File,
    io::{Read, stdin},
    path::Path,
};

use jiff::Timestamp;
use uuid::Uuid;
use verifactu_client::types::Secret;
use zeroize::Zeroizing;

use crate::failure::Failure;

/// Address of the service.
pub(crate) const URL: &str = "VERIFACTU_URL";
/// API key of the account.
pub(crate) const KEY: &str = "VERIFACTU_KEY";
/// Passphrase of a certificate file.
pub(crate) const PASSPHRASE: &str = "VERIFACTU_PASSPHRASE";
/// Secret that webhooks are signed with.
pub(crate) const WEBHOOK_SECRET: &str = "VERIFACTU_WEBHOOK_SECRET";

/// Largest secret in a file, in bytes.
const MAX_SECRET: u64 = 4096;

/// A variable that is set and not empty.
#[expect(clippy::disallowed_methods, reason = "this is where settings come in")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[expect(clippy::disallowed_methods, reason = "this is where time comes in")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

#[expect(clippy::disallowed_methods, reason = "this is where identifiers come in")]
pub(crate) fn identifier() -> Uuid {
    Uuid::new_v4()
}

/// A secret: the first line of the file, or the variable.
pub(crate) fn secret(file: Option<&Path>, name: &str) -> Result<Option<Secret>, Failure> {
    let Some(path) = file else { return Ok(variable(name).map(Secret::new)) };
    let bytes = Zeroizing::new(read(path, MAX_SECRET)?);
    let text = std::str::from_utf8(&bytes).map_err(|_| Failure::NotText(path.to_owned()))?;
    Ok(Some(Secret::new(text.lines().next().unwrap_or_default().to_owned())))
}

/// The content of a file, or of the standard input where the path is `-`.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let failed = |source| Failure::File { path: path.to_owned(), source };
    let mut content = Vec::new();
    let source: &mut dyn Read =
        if path == Path::new("-") { &mut stdin() } else { &mut File::open(path).map_err(failed)? };
    source.take(limit + 1).read_to_end(&mut content).map_err(failed)?;
    if content.len() as u64 > limit { Err(Failure::TooLarge(path.to_owned(), limit)) } else { Ok(content) }
}

pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, content).map_err(|source| Failure::File { path: path.to_owned(), source })
}
