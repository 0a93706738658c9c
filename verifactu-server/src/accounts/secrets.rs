//! The service's own secrets: given by the settings, or made once and kept in the data directory.
//!
//! A secret in the data directory is lost with it and copied with it, which is fine to begin with and
//! not to stay with; so the log says where it is.

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use verifactu_core::{
    certificate::{Vault, VaultError},
    types::{Secret, SecretBytes},
};

use crate::config;

use super::key::{NoRandom, Pepper};

/// The file of a generated vault key, and its number.
const VAULT_KEY: &str = "vault-key";
const GENERATED: u8 = 1;

/// What keeps accounts safe.
pub(crate) struct Keys {
    pub(crate) admin: Secret,
    pub(crate) pepper: Pepper,
    pub(crate) vault: Arc<Vault>,
}

/// The secrets cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretsError {
    /// The file of a generated secret cannot be written or read.
    #[error("{}: cannot be used as the file of a secret", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file of a generated secret holds something else.
    #[error("{}: not a generated secret", file.display())]
    Content {
        /// The file.
        file: PathBuf,
    },
    /// A secret is empty.
    #[error("the key pepper is empty")]
    Pepper,
    /// The vault's keys do not fit together.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// No random bytes.
    #[error(transparent)]
    Random(#[from] NoRandom),
}

impl Keys {
    /// Takes what is given, and makes the rest in the directory.
    pub(crate) fn prepare(given: &config::Secrets, directory: &Path) -> Result<Self, SecretsError> {
        let generated = |name: &str| generated(directory, name);
        let admin = match &given.admin_key {
            Some(key) => key.clone(),
            None => generated("admin-key")?,
        };
        let pepper = match &given.key_pepper {
            Some(pepper) => pepper.clone(),
            None => generated("key-pepper")?,
        };
        let mut vault_keys = given.vault_keys.clone();
        let numbered = |number| vault_keys.iter().any(|(known, _)| *known == number);
        // A key that was generated before goes on opening what it sealed, until its file is removed.
        let file = directory.join(VAULT_KEY);
        if vault_keys.is_empty() || (!numbered(GENERATED) && file.exists()) {
            let text = generated(VAULT_KEY)?;
            let key = BASE64.decode(text.expose()).map_err(|_| SecretsError::Content { file })?;
            vault_keys.push((GENERATED, SecretBytes::new(key)));
        }
        let vault = Vault::new(vault_keys)?;
        let vault = match given.vault_seal_with {
            Some(number) => vault.sealing_with(number)?,
            None => vault,
        };
        Ok(Self { admin, pepper: Pepper::new(&pepper).ok_or(SecretsError::Pepper)?, vault: Arc::new(vault) })
    }
}

/// The secret in a file, 32 random bytes in base64; made if there is none yet.
fn generated(directory: &Path, name: &str) -> Result<Secret, SecretsError> {
    let file = directory.join(name);
    let failed = |source| SecretsError::File { file: file.clone(), source };
    match fs::read_to_string(&file) {
        Ok(text) => {
            let text = Secret::new(text);
            let trimmed = text.expose().trim_end();
            let whole = BASE64.decode(trimmed).is_ok_and(|bytes| bytes.len() == 32);
            if whole { Ok(Secret::new(trimmed.to_owned())) } else { Err(SecretsError::Content { file }) }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut random = zeroize::Zeroizing::new([0_u8; 32]);
            getrandom::fill(random.as_mut()).map_err(|_| NoRandom)?;
            let secret = Secret::new(BASE64.encode(random.as_ref()));
            write(directory, &file, &secret).map_err(failed)?;
            tracing::warn!(
                file = %file.display(),
                "{name} is not configured; one was generated. Keep a copy of the file in a safe place"
            );
            Ok(secret)
        }
        Err(error) => Err(failed(error)),
    }
}

/// Writes the file whole or not at all, for its owner alone, and never over another.
fn write(directory: &Path, file: &Path, secret: &Secret) -> io::Result<()> {
    let mut new = tempfile::Builder::new().prefix(".secret-").tempfile_in(directory)?;
    writeln!(new, "{}", secret.expose())?;
    new.as_file().sync_all()?;
    new.persist_noclobber(file).map_err(|error| error.error)?;
    fs::File::open(directory)?.sync_all()
}
