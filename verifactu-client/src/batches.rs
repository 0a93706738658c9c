//! Many sends and cancels in one request.

use reqwest::Method;
use verifactu_core::{
    api::{Batch, BatchBody, BatchItem, BatchTaken, CancelInvoice, CreateBatch, Preview, SendInvoice},
    types::BatchId,
};

use crate::{
    Client, Error, IdempotencyKey,
    exchange::{Caller, Repeat, Request},
};

impl Client {
    /// Sends and cancels up to 1000 invoices in their order; each has its own key and outcome. The same
    /// items may be sent again, as a batch of their own: each is found by its key.
    ///
    /// ```no_run
    /// # use verifactu_client::{Client, Error, IdempotencyKey, api::{BatchOutcome, SendInvoice}};
    /// # async fn run(client: Client, stored: Vec<(IdempotencyKey, SendInvoice)>) -> Result<(), Error> {
    /// let items = stored.into_iter().map(|(key, invoice)| key.send(invoice)).collect();
    /// for item in client.send_batch(items).await?.items {
    ///     match item.outcome {
    ///         BatchOutcome::Job { job_id, .. } => println!("{}: job {job_id}", item.index),
    ///         BatchOutcome::Refused { error } => println!("{}: {}", item.index, error.message),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error`], for the batch as a whole. What was refused of it is told item by item.
    pub async fn send_batch(&self, items: Vec<BatchItem>) -> Result<BatchTaken, Error> {
        let request = Request::new(Method::POST, "/batches", Caller::Account, Repeat::Safely);
        self.call(&request.json(&CreateBatch { items })?).await?.json()
    }

    /// How a batch stands; for 30 days.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn batch(&self, id: BatchId) -> Result<Batch, Error> {
        self.call(&Request::get(format!("/batches/{id}"))).await?.json()
    }

    /// The record that an invoice would become now. Nothing of it is kept, and it costs nothing of the
    /// plan.
    ///
    /// # Errors
    /// [`Error`]; for what would be refused, what sending it would give.
    pub async fn preview(&self, invoice: &SendInvoice) -> Result<Preview, Error> {
        let request = Request::new(Method::POST, "/invoices/preview", Caller::Account, Repeat::Safely);
        self.call(&request.json(invoice)?).await?.json()
    }
}

impl IdempotencyKey {
    /// An item of a batch that sends an invoice under this key.
    #[must_use]
    pub fn send(&self, invoice: SendInvoice) -> BatchItem {
        BatchItem { idempotency_key: self.to_string(), body: BatchBody::Send(Box::new(invoice)) }
    }

    /// An item of a batch that cancels one.
    #[must_use]
    pub fn cancel(&self, cancellation: CancelInvoice) -> BatchItem {
        BatchItem { idempotency_key: self.to_string(), body: BatchBody::Cancel(Box::new(cancellation)) }
    }
}
