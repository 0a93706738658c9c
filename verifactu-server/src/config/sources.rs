//! Where settings come from: flags, then variables, then the settings file. The first that names a
//! setting counts.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use verifactu_core::types::Secret;

use super::{
    error::ConfigError,
    table::{SETTINGS, Setting},
};

/// Longest secret that is read from a file, in bytes.
const MAX_SECRET_FILE: u64 = 64 * 1024;

/// A value with the place it was found in, for messages.
pub(super) struct Value {
    pub(super) text: Secret,
    pub(super) origin: String,
}

/// The three sources, flattened to one list of names each.
pub(super) struct Sources<'a> {
    flags: &'a BTreeMap<String, String>,
    variable: &'a dyn Fn(&str) -> Option<OsString>,
    file: BTreeMap<String, String>,
    file_path: PathBuf,
}

impl<'a> Sources<'a> {
    pub(super) fn new(
        flags: &'a BTreeMap<String, String>,
        variable: &'a dyn Fn(&str) -> Option<OsString>,
        file: Option<PathBuf>,
    ) -> Result<Self, ConfigError> {
        let mut sources = Self { flags, variable, file: BTreeMap::new(), file_path: PathBuf::new() };
        if let Some(path) = file {
            let text = std::fs::read_to_string(&path).map_err(|source| ConfigError::File {
                setting: "--config".to_owned(),
                file: path.clone(),
                source,
            })?;
            let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
                let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
                ConfigError::Toml { file: path.clone(), line: before.matches('\n').count() + 1 }
            })?;
            sources.file_path = path;
            sources.flatten("", table)?;
        }
        Ok(sources)
    }

    /// The value of a setting by the first source that has it.
    pub(super) fn find(&self, name: &str) -> Result<Option<Value>, ConfigError> {
        let setting = SETTINGS.iter().find(|setting| setting.name == name);
        let file_name = setting.and_then(Setting::file_name);
        let flag = |name: &str| self.flags.get(name).map(|text| (text.clone(), format!("--{name}")));
        let variable = |name: &str| self.variable(&variable_name(name));
        let key = |name: &str| {
            let origin = || format!("{} in {}", name.replace('-', "_"), self.file_path.display());
            self.file.get(name).map(|text| (text.clone(), origin()))
        };
        let alias = setting.and_then(Setting::alias);
        let alias_file = alias.filter(|_| file_name.is_some()).map(|alias| format!("{alias}_FILE"));
        let sources = [
            (flag(name), file_name.and_then(flag)),
            (variable(name), file_name.and_then(variable)),
            (
                alias.and_then(|alias| self.variable(alias)),
                alias_file.and_then(|alias| self.variable(&alias)),
            ),
            (key(name), file_name.and_then(key)),
        ];
        for source in sources {
            return match source {
                (None, None) => continue,
                (Some((text, origin)), None) => Ok(Some(Value { text: Secret::new(text), origin })),
                (None, Some((path, origin))) => secret_file(Path::new(&path), origin).map(Some),
                (Some((_, setting)), Some(_)) => Err(ConfigError::Twice { setting }),
            };
        }
        Ok(None)
    }

    /// A variable that is set and not empty. Text that is not UTF-8 becomes text that no setting takes.
    fn variable(&self, name: &str) -> Option<(String, String)> {
        let value = (self.variable)(name).filter(|value| !value.is_empty())?;
        Some((value.to_string_lossy().into_owned(), name.to_owned()))
    }

    fn flatten(&mut self, prefix: &str, table: toml::Table) -> Result<(), ConfigError> {
        for (key, value) in table {
            let name = format!("{prefix}{}", key.replace('_', "-"));
            let text = match value {
                toml::Value::Table(table) => {
                    self.flatten(&format!("{name}-"), table)?;
                    continue;
                }
                toml::Value::Array(items) => {
                    items.iter().map(plain).collect::<Option<Vec<_>>>().map(|items| items.join(","))
                }
                other => plain(&other),
            };
            let text = text.ok_or_else(|| ConfigError::Invalid {
                setting: format!("{name} in {}", self.file_path.display()),
                expected: "a text, a whole number, a boolean, or a list of them",
            })?;
            if !is_known(&name) {
                return Err(ConfigError::Unknown { key: name, file: self.file_path.clone() });
            }
            self.file.insert(name, text);
        }
        Ok(())
    }
}

fn is_known(name: &str) -> bool {
    SETTINGS.iter().any(|setting| setting.name == name || setting.file_name() == Some(name))
}

pub(super) fn variable_name(name: &str) -> String {
    format!("VERIFACTU_{}", name.replace('-', "_").to_ascii_uppercase())
}

fn plain(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(set) => Some(set.to_string()),
        _ => None,
    }
}

/// The content of a file without the line end that editors leave.
fn secret_file(path: &Path, origin: String) -> Result<Value, ConfigError> {
    let read = || {
        if std::fs::metadata(path)?.len() > MAX_SECRET_FILE {
            return Err(std::io::Error::from(std::io::ErrorKind::FileTooLarge));
        }
        std::fs::read_to_string(path)
    };
    let text = read().map_err(|source| ConfigError::File {
        setting: origin.clone(),
        file: path.to_owned(),
        source,
    })?;
    let text = zeroize::Zeroizing::new(text);
    Ok(Value { text: Secret::new(text.trim_end_matches(['\r', '\n']).to_owned()), origin })
}
