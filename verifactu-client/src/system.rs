//! The state of the service itself.

use std::time::SystemTime;

use jiff::fmt::rfc2822;
use reqwest::{Method, StatusCode, header::DATE};
use verifactu_core::api::{Declaration, Health, Ready};

use crate::{
    Client, Error,
    exchange::{Caller, Repeat, Request},
};

impl Client {
    /// That the service is alive. Asked once.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn health(&self) -> Result<Health, Error> {
        self.call(&probe("/health")).await?.json()
    }

    /// Whether the service can work, dependency by dependency. That it cannot is an answer, not an
    /// error. Asked once.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn ready(&self) -> Result<Ready, Error> {
        let answer = self.attempt(&probe("/ready"), self.limit()).await?;
        let ready = answer.json();
        let unready = answer.status == StatusCode::SERVICE_UNAVAILABLE && ready.is_ok();
        if answer.status.is_success() || unready { ready } else { Err(answer.into_error()) }
    }

    /// The producer's declaration of the service's computer system. Asked once.
    ///
    /// # Errors
    /// [`Error`]; where there is none, [`is_not_found`](crate::ServiceError::is_not_found).
    pub async fn declaration(&self) -> Result<Declaration, Error> {
        self.call(&probe("/declaracion-responsable").accepting("application/json")).await?.json()
    }

    /// What time the service has, in whole seconds, as the `Date` header of an answer tells it; `None` if none
    /// does. Asked once.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn service_time(&self) -> Result<Option<SystemTime>, Error> {
        let answer = self.attempt(&probe("/health"), self.limit()).await?;
        let date = answer.headers.get(DATE).and_then(|date| rfc2822::parse(date.to_str().ok()?).ok());
        Ok(date.map(|date| date.timestamp().into()))
    }
}

fn probe(path: &str) -> Request<'static> {
    Request::new(Method::GET, path, Caller::Anyone, Repeat::Never)
}
