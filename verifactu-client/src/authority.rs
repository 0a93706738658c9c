//! What the authority says when it is asked through the service.

use reqwest::Method;
use verifactu_core::api::{CheckNif, CheckNifs, CheckedNif, CheckedNifs, Lookup, LookupFilter};

use crate::{
    Client, Error, List,
    exchange::{Caller, Repeat, Request},
};

impl Client {
    /// What the authority holds of an invoice or of a month, or what the account's own ledger does.
    pub fn lookup(&self, filter: &LookupFilter) -> List<Lookup> {
        List::new(self, Request::get("/invoices/lookup").filtered(filter))
    }

    /// Whether the census knows a taxpayer under its name.
    ///
    /// # Errors
    /// [`Error`]; status 502 or 504 where the authority failed.
    pub async fn verify_nif(&self, taxpayer: &CheckNif) -> Result<CheckedNif, Error> {
        self.call(&check().json(taxpayer)?).await?.json()
    }

    /// Whether the census knows these taxpayers, at most 100, under their names.
    ///
    /// # Errors
    /// [`Error`]; status 502 or 504 where the authority failed.
    pub async fn verify_nifs(&self, taxpayers: Vec<CheckNif>) -> Result<Vec<CheckedNif>, Error> {
        let answer = self.call(&check().json(&CheckNifs { items: taxpayers })?).await?;
        answer.json().map(|checked: CheckedNifs| checked.items)
    }
}

fn check() -> Request<'static> {
    Request::new(Method::POST, "/verify-nif", Caller::Account, Repeat::Safely)
}
