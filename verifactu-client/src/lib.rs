//! A typed client for the VERI*FACTU service.
//!
//! A request to send or cancel carries an [`IdempotencyKey`] that the caller chooses and keeps: as
//! long as the same body travels under the same key, it becomes one record, however often it is sent.
//! So keep the key with the invoice before the first sending, and after a failure, a time-out or a
//! crash send the same again.
//!
//! ```no_run
//! use std::time::Duration;
//! use verifactu_client::{
//!     Client, IdempotencyKey,
//!     api::{JobStatus, Line, Person, SendInvoice},
//!     record::InvoiceType,
//!     types::{Amount, Date, InvoiceNumber, Nif, Rate, Secret},
//! };
//!
//! # async fn run(key_from_settings: String) -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::builder("https://verifactu.example.com/v1")
//!     .api_key(Secret::new(key_from_settings))
//!     .build()?;
//! let line = Line::vat(Amount::parse("100")?, Rate::parse("21")?, Amount::parse("21")?);
//! let invoice = SendInvoice::new(
//!     Nif::parse("B12345674")?,
//!     InvoiceNumber::parse("2026/F-001")?,
//!     Date::parse("15-01-2026")?,
//!     InvoiceType::F1,
//!     "Servicios",
//!     vec![line],
//! )
//! .issuer_name("Emisor SL")
//! .recipient(Person::spanish("Cliente SA", Nif::parse("A39200019")?));
//!
//! let key = IdempotencyKey::random(); // to be stored with the invoice
//! let submitted = client.send_invoice(&key, &invoice).await?;
//! let qr = client.qr_svg(submitted.job_id()).await?; // can be printed at once
//!
//! let job = client.wait_for_job(submitted.job_id(), Duration::from_secs(120)).await?;
//! match job.status {
//!     JobStatus::Succeeded => {}
//!     JobStatus::Dead => eprintln!("rejected for good: {:?}", job.last_error),
//!     _ => {} // not final yet: ask again later, or have a webhook tell
//! }
//! # let _ = qr;
//! # Ok(())
//! # }
//! ```
//!
//! Where to look:
//!
//! | to | see |
//! |---|---|
//! | send, cancel, send many | [`Client::send_invoice`], [`Client::cancel_invoice`], [`Client::send_batch`] |
//! | know what became of it | [`Client::wait_for_job`], [`Client::jobs`], [`Client::invoice_records`], [`webhook`] |
//! | print the QR | [`Client::qr_svg`], [`Client::qr_png`], [`Submitted::qr_info`] |
//! | keep a copy of every record | [`Client::export`] |
//! | ask the authority | [`Client::lookup`], [`Client::verify_nif`] |
//! | upload the certificate | [`Client::upload_certificate`] |
//! | handle failures | [`Error`], [`RetryPolicy`] |
//! | manage accounts and keys | [`Operator`], [`Partner`] |
//!
//! The types of requests and answers are those of the service itself: [`api`] has them, [`types`] what they are
//! made of. Answers may gain members and codes; what a version does not know of them it leaves aside, or shows as
//! text.
//!
//! A [`Client`] is `Send` and `Sync`, cheap to clone, and needs a Tokio runtime; so do the futures and streams it
//! gives. With the feature `blocking` there is a twin whose calls wait, for programs without one. The feature
//! `cli` is for the command line tool `verifactu` alone.

mod account;
mod authority;
mod batches;
#[cfg(feature = "blocking")]
pub mod blocking;
mod builder;
mod certificate;
mod client;
mod error;
mod exchange;
mod invoices;
mod jobs;
mod key;
mod list;
mod operator;
mod partner;
mod records;
mod system;
mod tls;
pub mod webhook;

pub use builder::{ClientBuilder, RetryPolicy};
pub use client::Client;
pub use error::{ConfigurationError, Error, ServiceError};
pub use invoices::{Submission, Submitted};
pub use key::{IdempotencyKey, IdempotencyKeyError};
pub use list::{Cursor, List, Listed, Page};
pub use operator::Operator;
pub use partner::Partner;
pub use tls::Trust;
pub use verifactu_core::{api, record, types};
