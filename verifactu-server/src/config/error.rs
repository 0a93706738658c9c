//! What can be wrong with the settings. A message names the setting where it was found, and never
//! shows the value, which may be a secret.

use std::path::PathBuf;

/// The settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A value is not of the kind the setting takes.
    #[error("{setting}: expected {expected}")]
    Invalid {
        /// The setting, as its source spells it.
        setting: String,
        /// What it takes.
        expected: &'static str,
    },
    /// A setting is needed.
    #[error("{setting} is required {reason}")]
    Missing {
        /// The setting's flag.
        setting: &'static str,
        /// When it is.
        reason: &'static str,
    },
    /// A secret is given both directly and as a file.
    #[error("{setting}: give the value or the file, not both")]
    Twice {
        /// The setting, as its source spells it.
        setting: String,
    },
    /// A key of the settings file is no setting.
    #[error("{}: there is no setting {key}", file.display())]
    Unknown {
        /// The key.
        key: String,
        /// The file.
        file: PathBuf,
    },
    /// The settings file is not TOML. What its reader says is left out, for it quotes the line.
    #[error("{}, line {line}: not TOML", file.display())]
    Toml {
        /// The file.
        file: PathBuf,
        /// Where, from 1.
        line: usize,
    },
    /// A file that a setting names cannot be read.
    #[error("{setting}: {} cannot be read", file.display())]
    File {
        /// The setting, as its source spells it.
        setting: String,
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}
