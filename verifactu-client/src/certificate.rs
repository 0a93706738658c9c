//! The account's certificate.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use reqwest::Method;
use verifactu_core::{
    api::{CertificateRemoved, CertificateStatus, CertificateUpload},
    types::{Secret, SecretBytes},
};
use zeroize::Zeroizing;

use crate::{
    Client, ConfigurationError, Error,
    exchange::{Caller, Repeat, Request},
};

const PATH: &str = "/me/certificate";
/// The names of the members, quotes and braces of an upload, with room to spare.
const FRAME: usize = 64;

impl Client {
    /// Uploads a certificate, or puts it in the place of the one before. What waited for one is sent.
    ///
    /// ```no_run
    /// # use verifactu_client::{Client, types::{Secret, SecretBytes}};
    /// # async fn run(client: Client, passphrase: Secret) -> Result<(), Box<dyn std::error::Error>> {
    /// let pfx = SecretBytes::new(std::fs::read("company.p12")?);
    /// let status = client.upload_certificate(&pfx, &passphrase).await?;
    /// println!("{:?} more days", status.certificate.map(|certificate| certificate.days_until_expiry));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error`]; for a file that cannot be used, a service error of status 422.
    pub async fn upload_certificate(
        &self,
        pfx: &SecretBytes,
        passphrase: &Secret,
    ) -> Result<CertificateStatus, Error> {
        self.call(&upload(PATH, pfx, passphrase)?).await?.json()
    }

    /// The certificate that the account has, if any.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn certificate(&self) -> Result<CertificateStatus, Error> {
        self.call(&Request::get(PATH)).await?.json()
    }

    /// Removes the certificate. Jobs that wait are held until there is another.
    ///
    /// # Errors
    /// [`Error`]; if there is none, [`is_not_found`](crate::ServiceError::is_not_found).
    pub async fn remove_certificate(&self) -> Result<CertificateRemoved, Error> {
        let request = Request::new(Method::DELETE, PATH, Caller::Account, Repeat::IfUntouched);
        self.call(&request).await?.json()
    }
}

/// The upload of a certificate to a path.
pub(crate) fn upload(
    path: impl Into<String>,
    pfx: &SecretBytes,
    passphrase: &Secret,
) -> Result<Request<'static>, ConfigurationError> {
    let upload = CertificateUpload {
        pfx_base64: Secret::new(BASE64.encode(pfx.expose())),
        pfx_passphrase: passphrase.clone(),
    };
    // A character takes at most six bytes in JSON, so the buffer never grows and leaves no copy.
    let size = upload.pfx_base64.expose().len() + 6 * passphrase.expose().len() + FRAME;
    let mut body = Zeroizing::new(Vec::with_capacity(size));
    serde_json::to_writer(&mut *body, &upload).map_err(ConfigurationError::Body)?;
    Ok(Request::new(Method::POST, path, Caller::Account, Repeat::Safely).body(Bytes::from_owner(body)))
}
