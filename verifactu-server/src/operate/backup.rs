//! `backup`: a consistent copy of the ledger while the service runs.
//!
//! The copy holds what the ledger holds, certificates among it, but sealed: the vault's key, the key pepper
//! and the admin key are files beside the ledger or settings, and are never copied. Kept apart from the
//! copies, they make a stolen copy worth little.
//!
//! A ledger in PostgreSQL is copied by PostgreSQL's own tools, which do it better.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::json;
use verifactu_core::ledger::sqlite;

use crate::config::{Config, Flags, LedgerConfig};

use super::{Found, OperateError, say};

/// Copy the ledger into a new file while the service runs. The vault's key is not in it.
#[derive(Args)]
pub struct BackupArgs {
    #[command(flatten)]
    flags: Flags,
    /// The file to write; it must not be there yet
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
}

impl BackupArgs {
    /// Makes the copy, whole or not at all.
    ///
    /// # Errors
    /// [`OperateError`].
    pub async fn run(self, out: &mut impl Write) -> Result<Found, OperateError> {
        let (config, _) = Config::load(&self.flags)?;
        if let LedgerConfig::Postgres { .. } = config.ledger {
            return Err(OperateError::OwnTools);
        }
        let (from, to) = (config.ledger_file(), self.to.clone());
        let copied = tokio::task::spawn_blocking(move || whole(&to, |file| Ok(sqlite::copy(from, file)?)));
        copied.await.map_err(|_| OperateError::Interrupted)??;
        say(out, &json!({ "backup": self.to }))?;
        Ok(Found::Well)
    }
}

/// Has a new file written beside its place, for its owner alone, and puts it there once it is whole and on
/// stable storage. One that is there already stays.
pub(super) fn whole(
    place: &Path,
    write: impl FnOnce(&Path) -> Result<(), OperateError>,
) -> Result<(), OperateError> {
    let failed = |source| OperateError::File { file: place.to_owned(), source };
    let folder = match place.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let directory = tempfile::Builder::new().prefix(".copy-").tempdir_in(folder).map_err(failed)?;
    let new = directory.path().join("ledger.db");
    write(&new)?;
    protect(&new).map_err(failed)?;
    // Unlike a rename, a link never takes the place of another file.
    std::fs::hard_link(&new, place).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => OperateError::Exists(place.to_owned()),
        _ => failed(source),
    })?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
}

#[cfg(unix)]
fn protect(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn protect(_: &Path) -> io::Result<()> {
    Ok(())
}
