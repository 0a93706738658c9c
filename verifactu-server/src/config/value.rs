//! Texts of settings as typed values.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use ipnet::IpNet;
use verifactu_core::types::{Secret, SecretBytes};

use super::{
    error::ConfigError,
    sources::{Sources, Value},
};

/// Reads one setting after the other, each as what it should be.
pub(super) struct Reader<'a>(pub(super) Sources<'a>);

impl Reader<'_> {
    /// The value of a setting, if it is set.
    pub(super) fn read<T>(
        &self,
        name: &'static str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(Value { text, origin }) = self.0.find(name)? else { return Ok(None) };
        parse(text.expose()).map(Some).ok_or(ConfigError::Invalid { setting: origin, expected })
    }

    /// Replaces a default.
    pub(super) fn set<T>(
        &self,
        place: &mut T,
        name: &'static str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<(), ConfigError> {
        if let Some(value) = self.read(name, expected, parse)? {
            *place = value;
        }
        Ok(())
    }

    pub(super) fn time(&self, place: &mut Duration, name: &'static str) -> Result<(), ConfigError> {
        self.set(place, name, TIME, time)
    }

    pub(super) fn size(&self, place: &mut usize, name: &'static str) -> Result<(), ConfigError> {
        self.set(place, name, "a number of bytes, such as 65536 or 64 KiB", size)
    }

    pub(super) fn boolean(&self, place: &mut bool, name: &'static str) -> Result<(), ConfigError> {
        self.set(place, name, "true or false", boolean)
    }

    pub(super) fn number<T: std::str::FromStr>(
        &self,
        place: &mut T,
        name: &'static str,
        expected: &'static str,
        within: impl FnOnce(&T) -> bool,
    ) -> Result<(), ConfigError> {
        self.set(place, name, expected, |text| text.parse().ok().filter(within))
    }

    pub(super) fn secret(&self, name: &'static str) -> Result<Option<Secret>, ConfigError> {
        self.read(name, "a text that is not empty", |text| {
            (!text.is_empty()).then(|| Secret::new(text.to_owned()))
        })
    }
}

const TIME: &str = "a time such as 500ms, 30s, 2m, 6h";

fn time(text: &str) -> Option<Duration> {
    let time: jiff::SignedDuration = text.trim().parse().ok()?;
    Duration::try_from(time).ok()
}

/// Times with commas between; at least one.
pub(super) fn times(text: &str) -> Option<Vec<Duration>> {
    text.split(',').map(time).collect()
}

fn size(text: &str) -> Option<usize> {
    let text = text.trim();
    let (number, unit) = match text {
        _ if text.ends_with("KiB") => (text.trim_end_matches("KiB"), 1024),
        _ if text.ends_with("MiB") => (text.trim_end_matches("MiB"), 1024 * 1024),
        _ => (text, 1),
    };
    number.trim_end().parse::<usize>().ok()?.checked_mul(unit)
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Addresses, or networks such as `10.0.0.0/8`, with commas between.
pub(super) fn networks(text: &str) -> Option<Vec<IpNet>> {
    text.split(',')
        .map(str::trim)
        .map(|text| text.parse().ok().or_else(|| text.parse::<std::net::IpAddr>().ok().map(IpNet::from)))
        .collect()
}

/// `1:base64,2:base64`; a single key may go without its number, which then is 1.
pub(super) fn vault_keys(text: &str) -> Option<Vec<(u8, SecretBytes)>> {
    text.split(',')
        .map(|key| {
            let (number, key) = key.trim().split_once(':').unwrap_or(("1", key.trim()));
            let key = BASE64.decode(key).ok().filter(|key| key.len() == 32)?;
            Some((number.parse().ok()?, SecretBytes::new(key)))
        })
        .collect()
}
