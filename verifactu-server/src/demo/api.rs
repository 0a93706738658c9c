//! The service as an integrator meets it: plain HTTP.

use std::{net::SocketAddr, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use reqwest::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use verifactu_core::{api::Job, types::JobId};

/// How often a job is asked for.
const POLL: Duration = Duration::from_millis(100);

#[derive(Clone)]
pub(super) struct Api {
    http: reqwest::Client,
    base: String,
    admin_key: String,
    key: String,
}

/// The service did not answer as the contract says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApiError {
    /// No answer.
    #[error("the service did not answer")]
    Http(#[from] reqwest::Error),
    /// A refusal.
    #[error("{method} {path}: HTTP {status}: {body}")]
    Refused {
        /// The request's method.
        method: Method,
        /// Its path.
        path: String,
        /// The answer's status.
        status: u16,
        /// The answer's body.
        body: String,
    },
    /// A body of another shape.
    #[error("{path}: unexpected answer")]
    Shape {
        /// The request's path.
        path: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A job did not end in time.
    #[error("job {0} did not end in time")]
    Unfinished(JobId),
}

impl Api {
    pub(super) fn open(address: SocketAddr, admin_key: &str) -> Result<Self, ApiError> {
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(30)).build()?;
        let base = format!("http://{address}/v1");
        Ok(Self { http, base, admin_key: admin_key.to_owned(), key: String::new() })
    }

    pub(super) fn with_key(mut self, key: &str) -> Self {
        key.clone_into(&mut self.key);
        self
    }

    /// Creates the account; one that is there from an earlier run will do.
    pub(super) async fn create_tenant(&self, id: &str, issuer_name: &str) -> Result<(), ApiError> {
        let body = json!({"id": id, "name": issuer_name, "issuerName": issuer_name});
        match self.admin("/admin/tenants", &body).await {
            Ok(_) | Err(ApiError::Refused { status: 409, .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn create_key(&self, tenant: &str) -> Result<String, ApiError> {
        let scopes = [
            "invoices:write",
            "invoices:read",
            "nif:read",
            "tenant:certificates:read",
            "tenant:certificates:write",
        ];
        let body = json!({"tenantId": tenant, "name": "demo", "scopes": scopes});
        let created = self.admin("/admin/api-keys", &body).await?;
        Ok(created["apiKey"]["key"].as_str().unwrap_or_default().to_owned())
    }

    pub(super) async fn upload_certificate(&self, file: &[u8], passphrase: &str) -> Result<(), ApiError> {
        let body = json!({"pfxBase64": BASE64.encode(file), "pfxPassphrase": passphrase});
        let request = self.request(Method::POST, "/me/certificate").json(&body);
        self.answer::<Value>(Method::POST, "/me/certificate", request).await.map(|_| ())
    }

    /// Sends or cancels, and returns the job.
    pub(super) async fn submit(
        &self,
        route: &str,
        idempotency_key: &str,
        body: &Value,
    ) -> Result<JobId, ApiError> {
        let path = format!("/{route}");
        let request =
            self.request(Method::POST, &path).header("x-idempotency-key", idempotency_key).json(body);
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Submitted {
            job_id: JobId,
        }
        Ok(self.answer::<Submitted>(Method::POST, &path, request).await?.job_id)
    }

    /// The job once it is final.
    pub(super) async fn finished(&self, job: JobId, deadline: tokio::time::Instant) -> Result<Job, ApiError> {
        let path = format!("/jobs/{job}");
        loop {
            let found: Job = self.answer(Method::GET, &path, self.request(Method::GET, &path)).await?;
            if found.status.is_terminal() {
                return Ok(found);
            }
            if tokio::time::Instant::now() > deadline {
                return Err(ApiError::Unfinished(job));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Walks every chain of the account.
    pub(super) async fn chains_are_valid(&self) -> Result<bool, ApiError> {
        let chains: Value =
            self.answer(Method::GET, "/me/chains", self.request(Method::GET, "/me/chains")).await?;
        let mut valid = true;
        for chain in chains["chains"].as_array().into_iter().flatten() {
            let path = format!("/me/chains/{}/verify", chain["id"].as_str().unwrap_or_default());
            let verified: Value = self.answer(Method::GET, &path, self.request(Method::GET, &path)).await?;
            valid &= verified["valid"] == json!(true);
        }
        Ok(valid)
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base)).header("x-api-key", &self.key)
    }

    async fn admin(&self, path: &str, body: &Value) -> Result<Value, ApiError> {
        let request = self.http.post(format!("{}{path}", self.base)).header("x-admin-key", &self.admin_key);
        self.answer(Method::POST, path, request.json(body)).await
    }

    async fn answer<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        request: reqwest::RequestBuilder,
    ) -> Result<T, ApiError> {
        let answer = request.send().await?;
        let status: StatusCode = answer.status();
        let body = answer.text().await?;
        if !status.is_success() {
            return Err(ApiError::Refused { method, path: path.to_owned(), status: status.as_u16(), body });
        }
        serde_json::from_str(&body).map_err(|source| ApiError::Shape { path: path.to_owned(), source })
    }
}
