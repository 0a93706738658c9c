//! How the service is reached: flags come before variables.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use verifactu_client::{Client, RetryPolicy, Trust};

use crate::{failure::Failure, surroundings};

const MAX_ROOTS: u64 = 1024 * 1024;

#[derive(Args)]
#[command(next_help_heading = "The service")]
pub(crate) struct Connection {
    /// Address of the service, such as https://host/v1; else VERIFACTU_URL.
    #[arg(long, global = true, value_name = "URL")]
    url: Option<String>,
    /// File with the account's API key; else VERIFACTU_KEY is the key.
    #[arg(long, global = true, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// PEM file with the roots that the service's certificate stands under, besides the system's.
    #[arg(long, global = true, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Limit for one request, in seconds.
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
}

impl Connection {
    pub(crate) fn address(&self) -> Result<String, Failure> {
        let address = self.url.clone().or_else(|| surroundings::variable(surroundings::URL));
        let address = address.ok_or(Failure::Unset("address", "--url", surroundings::URL))?;
        Ok(address.trim_end_matches('/').trim_end_matches("/v1").to_owned())
    }

    pub(crate) fn client(&self) -> Result<Client, Failure> {
        self.client_with(RetryPolicy::default())
    }

    pub(crate) fn client_with(&self, retry: RetryPolicy) -> Result<Client, Failure> {
        let key = surroundings::secret(self.key_file.as_deref(), surroundings::KEY)?;
        let key = key.ok_or(Failure::Unset("API key", "--key-file", surroundings::KEY))?;
        let mut builder = Client::builder(&self.address()?).api_key(key).retry(retry);
        if let Some(path) = &self.ca {
            builder = builder.trust(Trust::SystemAnd(surroundings::read(path, MAX_ROOTS)?));
        }
        Ok(builder.timeout(Duration::from_secs(self.timeout)).build()?)
    }
}
