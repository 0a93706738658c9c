//! Sending and cancelling invoices.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use tokio::time::Instant;
use verifactu_core::{
    api::{Accepted, CancelInvoice, Job, JobStatus, QrInfo, SendInvoice},
    types::{JobId, RequestId},
};

use crate::{
    Client, Error, IdempotencyKey,
    exchange::{Answer, Caller, Repeat, Request},
};

/// The service's answer to a sending: the record exists, is chained and stored.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Submitted {
    /// The key was used before with the same body; nothing new was made of it.
    pub replayed: bool,
    /// What became of it.
    pub submission: Submission,
    /// When to ask for the job.
    pub retry_after: Option<Duration>,
    /// Identifies the request, for support.
    pub request_id: RequestId,
}

/// What became of a sending.
#[derive(Clone, Debug)]
pub enum Submission {
    /// The job is on its way.
    Accepted(Box<Accepted>),
    /// The job succeeded before; only a key that was used before finds it so.
    Finished(Box<Job>),
}

impl Submitted {
    /// The job.
    #[must_use]
    pub fn job_id(&self) -> JobId {
        match &self.submission {
            Submission::Accepted(accepted) => accepted.job_id,
            Submission::Finished(job) => job.job_id,
        }
    }

    /// Where the job stands.
    #[must_use]
    pub fn status(&self) -> JobStatus {
        match &self.submission {
            Submission::Accepted(accepted) => accepted.status,
            Submission::Finished(job) => job.status,
        }
    }

    /// What is to be printed on the invoice.
    #[must_use]
    pub fn qr_info(&self) -> Option<&QrInfo> {
        match &self.submission {
            Submission::Accepted(accepted) => Some(&accepted.qr_info),
            Submission::Finished(job) => job.result.as_ref().map(|result| &result.qr_info),
        }
    }

    fn read(answer: &Answer) -> Result<Self, Error> {
        let replayed = answer.headers.get("idempotency-replayed").is_some_and(|value| value == "true");
        let (submission, request_id) = if answer.status == StatusCode::OK {
            let envelope = answer.envelope::<Job>()?;
            (Submission::Finished(Box::new(envelope.body)), envelope.request_id)
        } else {
            let envelope = answer.envelope::<Accepted>()?;
            (Submission::Accepted(Box::new(envelope.body)), envelope.request_id)
        };
        Ok(Self { replayed, submission, retry_after: answer.retry_after(), request_id })
    }
}

const SEND: &str = "/send-invoice";
const CANCEL: &str = "/cancel-invoice";

impl Client {
    /// Sends an invoice. The same key with the same body may be sent as often as one likes, and must
    /// be after an error that is [retryable](Error::is_retryable).
    ///
    /// # Errors
    /// [`Error`].
    pub async fn send_invoice(
        &self,
        key: &IdempotencyKey,
        invoice: &SendInvoice,
    ) -> Result<Submitted, Error> {
        self.submit(&submission(SEND, key).json(invoice)?).await
    }

    /// Sends an invoice whose body the caller has as JSON. The text travels as it is.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn send_invoice_json(&self, key: &IdempotencyKey, body: &str) -> Result<Submitted, Error> {
        self.submit(&submission(SEND, key).body(body.to_owned())).await
    }

    /// Cancels an invoice. What holds for the key of [`send_invoice`](Self::send_invoice) holds here.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn cancel_invoice(
        &self,
        key: &IdempotencyKey,
        cancellation: &CancelInvoice,
    ) -> Result<Submitted, Error> {
        self.submit(&submission(CANCEL, key).json(cancellation)?).await
    }

    /// Cancels an invoice with a body that the caller has as JSON.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn cancel_invoice_json(&self, key: &IdempotencyKey, body: &str) -> Result<Submitted, Error> {
        self.submit(&submission(CANCEL, key).body(body.to_owned())).await
    }

    /// Sends an invoice and waits until its job is final, or the patience is over: then the job is
    /// given as it stands, and goes on by itself.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use verifactu_client::{Client, Error, IdempotencyKey, api::{JobStatus, SendInvoice}};
    /// # async fn run(client: Client, key: IdempotencyKey, invoice: SendInvoice) -> Result<(), Error> {
    /// let job = client.send_and_wait(&key, &invoice, Duration::from_secs(90)).await?;
    /// match job.status {
    ///     JobStatus::Succeeded => println!("receipt {:?}", job.result.and_then(|result| result.qr_info.csv)),
    ///     JobStatus::Dead => println!("rejected for good: {:?}", job.last_error),
    ///     _ => println!("on its way; tried again at {:?}", job.next_retry_at),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error`].
    pub async fn send_and_wait(
        &self,
        key: &IdempotencyKey,
        invoice: &SendInvoice,
        patience: Duration,
    ) -> Result<Job, Error> {
        let started = Instant::now();
        let submitted = self.send_invoice(key, invoice).await?;
        let id = submitted.job_id();
        if let Submission::Finished(job) = submitted.submission {
            return Ok(*job);
        }
        let left = patience.saturating_sub(started.elapsed());
        self.wait_after(id, left, submitted.retry_after.unwrap_or_default()).await
    }

    async fn submit(&self, request: &Request<'_>) -> Result<Submitted, Error> {
        Submitted::read(&self.call(request).await?)
    }
}

fn submission<'a>(path: &str, key: &'a IdempotencyKey) -> Request<'a> {
    Request::new(Method::POST, path, Caller::Account, Repeat::Safely).key(key)
}
