//! The account behind the key: its plan, what it used, and its chains.

use verifactu_core::{
    api::{ChainVerification, Chains, Me, MonthlyLedger, MonthlyUsage, Months, PlanStatus},
    types::ChainId,
};

use crate::{Client, Error, exchange::Request};

impl Client {
    /// The account, and what the key allows.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn me(&self) -> Result<Me, Error> {
        self.call(&Request::get("/me")).await?.json()
    }

    /// The plan, and what this month has used of it.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn plan(&self) -> Result<PlanStatus, Error> {
        self.call(&Request::get("/me/plan")).await?.json()
    }

    /// Invoices, cancellations and requests of so many months, newest first.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn usage(&self, months: u32) -> Result<Vec<MonthlyUsage>, Error> {
        self.months("/me/usage", months).await
    }

    /// What each issuer stated in so many months, newest first.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn ledger(&self, months: u32) -> Result<Vec<MonthlyLedger>, Error> {
        self.months("/me/ledger", months).await
    }

    async fn months<T: serde::de::DeserializeOwned>(&self, path: &str, months: u32) -> Result<Vec<T>, Error> {
        let answer = self.call(&Request::get(path).with("months", months)).await?;
        answer.json().map(|months: Months<T>| months.months)
    }

    /// The chains of the account.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn chains(&self) -> Result<Chains, Error> {
        self.call(&Request::get("/me/chains")).await?.json()
    }

    /// Has the service recompute every huella of a chain.
    ///
    /// # Errors
    /// [`Error`]; that the chain does not hold is an answer.
    pub async fn verify_chain(&self, id: ChainId) -> Result<ChainVerification, Error> {
        self.call(&Request::get(format!("/me/chains/{id}/verify"))).await?.json()
    }
}
