//! Jobs and their QR.

use std::time::Duration;

use tokio::time::Instant;
use verifactu_core::{
    api::{Job, JobAttempt, JobAttempts, JobFilter, Jobs},
    types::{JobId, RecordId},
};

use crate::{
    Client, Error, List,
    exchange::{Answer, Request},
};

/// First pause between two looks at a job.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Longest pause, unless the service asks for more.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

impl Client {
    /// A job as it stands.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn job(&self, id: JobId) -> Result<Job, Error> {
        self.call(&Request::get(format!("/jobs/{id}"))).await?.json()
    }

    /// Jobs of the account, newest first.
    pub fn jobs(&self, filter: &JobFilter) -> List<Jobs> {
        List::new(self, Request::get("/jobs").filtered(filter))
    }

    /// What was tried for a job, and how it ended.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn job_attempts(&self, id: JobId) -> Result<Vec<JobAttempt>, Error> {
        let answer = self.call(&Request::get(format!("/jobs/{id}/attempts"))).await?;
        answer.json().map(|attempts: JobAttempts| attempts.attempts)
    }

    /// The XML of a job's record: its exact bytes.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn job_xml(&self, id: JobId) -> Result<Vec<u8>, Error> {
        self.call(&Request::get(format!("/jobs/{id}/xml"))).await?.raw("application/xml")
    }

    /// The authority's own line for a job's record.
    ///
    /// # Errors
    /// [`Error`]; before the authority answered, [`is_not_found`](crate::ServiceError::is_not_found).
    pub async fn job_answer_xml(&self, id: JobId) -> Result<Vec<u8>, Error> {
        let request = Request::get(format!("/jobs/{id}/xml")).with("part", "response");
        self.call(&request).await?.raw("application/xml")
    }

    /// Waits until a job is final, or the patience is over: then the job is given as it stands, so ask
    /// [`is_terminal`](verifactu_core::api::JobStatus::is_terminal). A failed job is not final; the
    /// service tries it again. The last look begins when the patience is over, and may take as long as
    /// any request.
    ///
    /// # Errors
    /// [`Error`]; one that may pass only once the patience is over.
    pub async fn wait_for_job(&self, id: JobId, patience: Duration) -> Result<Job, Error> {
        self.wait_after(id, patience, Duration::ZERO).await
    }

    pub(crate) async fn wait_after(
        &self,
        id: JobId,
        patience: Duration,
        mut asked: Duration,
    ) -> Result<Job, Error> {
        let started = Instant::now();
        let request = Request::get(format!("/jobs/{id}"));
        let mut pause = FIRST_PAUSE;
        loop {
            tokio::time::sleep(asked.min(patience.saturating_sub(started.elapsed()))).await;
            let seen = match self.call(&request).await {
                Ok(answer) => answer.json::<Job>().map(|job| (job, answer.retry_after())),
                Err(error) => Err(error),
            };
            let over = started.elapsed() >= patience;
            let least = match seen {
                Ok((job, _)) if over || job.status.is_terminal() => return Ok(job),
                Ok((_, least)) => least,
                Err(error) if over || !error.is_retryable() => return Err(error),
                Err(error) => error.retry_after(),
            };
            asked = least.unwrap_or_default().max(pause);
            pause = (pause * 3 / 2).min(LONGEST_PAUSE);
        }
    }

    /// The QR of a job's invoice as SVG, at the size that the regulation prescribes. It is there as soon
    /// as the job is; a cancellation has none.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn qr_svg(&self, id: JobId) -> Result<String, Error> {
        self.picture(format!("/jobs/{id}/qr"), "svg").await?.text("image/svg+xml")
    }

    /// The QR as PNG.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn qr_png(&self, id: JobId) -> Result<Vec<u8>, Error> {
        self.picture(format!("/jobs/{id}/qr"), "png").await?.raw("image/png")
    }

    /// The text of the QR: the address of the authority's check service for this invoice.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn qr_text(&self, id: JobId) -> Result<String, Error> {
        self.picture(format!("/jobs/{id}/qr"), "txt").await?.text("text/plain")
    }

    /// The QR of a record's invoice as SVG; a cancellation has none.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn record_qr_svg(&self, id: RecordId) -> Result<String, Error> {
        self.picture(format!("/me/invoice-records/{id}/qr"), "svg").await?.text("image/svg+xml")
    }

    /// The QR of a record's invoice as PNG.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn record_qr_png(&self, id: RecordId) -> Result<Vec<u8>, Error> {
        self.picture(format!("/me/invoice-records/{id}/qr"), "png").await?.raw("image/png")
    }

    /// The text of the QR of a record's invoice.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn record_qr_text(&self, id: RecordId) -> Result<String, Error> {
        self.picture(format!("/me/invoice-records/{id}/qr"), "txt").await?.text("text/plain")
    }

    async fn picture(&self, path: String, format: &str) -> Result<Answer, Error> {
        self.call(&Request::get(path).with("format", format)).await
    }
}
