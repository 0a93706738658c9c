//! Settings as they hold, with where each comes from, for the operator's eyes.

use std::{ffi::OsString, path::PathBuf};

use super::{
    error::ConfigError,
    flags::Flags,
    sources::{self, Sources},
    table::{Kind, SETTINGS, Setting},
};

/// A setting that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    /// Its name.
    pub name: &'static str,
    /// Its value; a mask in the place of a secret, and none where nothing is set.
    pub value: Option<String>,
    /// The flag, variable or key that it comes from, or `default`.
    pub source: String,
}

/// Stands for a secret.
const MASK: &str = "***";

/// Every setting with its value and where that comes from, for flags and the process's environment.
///
/// # Errors
/// [`ConfigError`] when a source cannot be read; values are not judged here.
#[expect(clippy::disallowed_methods, reason = "this is where the environment comes in")]
pub fn effective(flags: &Flags) -> Result<Vec<Effective>, ConfigError> {
    of(flags, &|name| std::env::var_os(name))
}

fn of(flags: &Flags, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Vec<Effective>, ConfigError> {
    let named = || variable(&sources::variable_name("config")).map(PathBuf::from);
    let sources = Sources::new(&flags.values, variable, flags.config.clone().or_else(named))?;
    let shown = |setting: &Setting| {
        Ok(match sources.find(setting.name)? {
            None => Effective { name: setting.name, value: setting.default(), source: "default".to_owned() },
            Some(found) => {
                let secret = matches!(setting.kind, Kind::Secret | Kind::SecretAlias(_));
                let value = if secret { MASK } else { found.text.expose() };
                Effective { name: setting.name, value: Some(value.to_owned()), source: found.origin }
            }
        })
    };
    SETTINGS.iter().map(shown).collect()
}
