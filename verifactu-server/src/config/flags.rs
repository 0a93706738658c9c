//! The flags of `serve`, made from the table of settings.

use std::{collections::BTreeMap, path::PathBuf};

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

use super::table::SETTINGS;

/// The settings that were given as flags.
#[derive(Clone, Default)]
pub struct Flags {
    pub(super) config: Option<PathBuf>,
    pub(super) values: BTreeMap<String, String>,
}

impl Flags {
    /// The flags of a program that was started in another way than by a command line.
    ///
    /// ```
    /// use verifactu_server::config::Flags;
    /// let flags = Flags::new([("environment", "sandbox"), ("listen", "127.0.0.1:0")]);
    /// # drop(flags);
    /// ```
    pub fn new<'a>(values: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self { config: None, values: values.into_iter().map(owned).collect() }
    }
}

/// Only the names: a value may be a secret.
impl std::fmt::Debug for Flags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        let config = Arg::new("config")
            .long("config")
            .value_name("FILE")
            .help("Settings file (TOML); also VERIFACTU_CONFIG")
            .value_parser(clap::value_parser!(PathBuf));
        SETTINGS.iter().fold(command.arg(config), |command, setting| {
            let flag = Arg::new(setting.name)
                .long(setting.name)
                .value_name(setting.value)
                .help(setting.help)
                .allow_hyphen_values(false);
            let command = command.arg(flag);
            match setting.file_name() {
                None => command,
                Some(name) => command.arg(
                    Arg::new(name).long(name).value_name("FILE").help("The same, as the content of a file"),
                ),
            }
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.config = matches.get_one::<PathBuf>("config").cloned().or(self.config.take());
        for setting in SETTINGS {
            for name in [Some(setting.name), setting.file_name()].into_iter().flatten() {
                if let Some(value) = matches.get_one::<String>(name) {
                    self.values.insert(name.to_owned(), value.clone());
                }
            }
        }
        Ok(())
    }
}
