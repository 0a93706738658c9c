//! The same client for programs that are not asynchronous: every call waits for its answer.
//!
//! A thread of its own keeps the connections alive, so a call needs no runtime around it and may be made
//! from within one, where it blocks like any other call that waits.
//!
//! ```no_run
//! use verifactu_client::{blocking::Client, types::Secret};
//! # fn run(key_from_settings: String) -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new(
//!     verifactu_client::Client::builder("https://verifactu.example.com/v1")
//!         .api_key(Secret::new(key_from_settings))
//!         .build()?,
//! )?;
//! for job in client.jobs(&Default::default()).rows() {
//!     println!("{}", job?.num_serie);
//! }
//! # Ok(())
//! # }
//! ```

use std::{
    fmt, io,
    pin::Pin,
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use tokio::runtime::{Builder, Runtime};
use uuid::Uuid;
use verifactu_core::{
    api::{
        ApiKey, ApiKeys, AuditEvents, Batch, BatchItem, BatchTaken, CancelInvoice, CertificateRemoved,
        CertificateStatus, ChainVerification, Chains, ChangeChildTenant, ChangeTenant, CheckNif, CheckedNif,
        CreateApiKey, CreateChildApiKey, CreateChildTenant, CreateTenant, Declaration, ExpiringCertificates,
        ExportFilter, ExportedRecord, Health, InvoiceRecord, InvoiceRecords, IssuerFilter, Issuers, Job,
        JobAttempt, JobFilter, JobMessages, Jobs, Lookup, LookupFilter, Me, MonthlyLedger, MonthlyUsage,
        NewApiKey, OperatorJobFilter, OperatorJobs, PauseIssuer, PlanStatus, Preview, Ready, RecordFilter,
        SendInvoice, Tenant, Tenants, WebhookDeliveries, WebhookDelivery, WebhookInfo, WebhookPatch,
    },
    types::{BatchId, ChainId, JobId, Nif, RecordId, Secret, SecretBytes, TenantId},
};

use crate::{Cursor, Error, IdempotencyKey, Listed, Page, Submitted};

/// A client whose calls wait. Clones share their connections.
#[derive(Clone, Debug)]
pub struct Client {
    inner: crate::Client,
    thread: Thread,
}

/// What the operator can do.
#[derive(Clone, Debug)]
pub struct Operator {
    inner: crate::Operator,
    thread: Thread,
}

/// What a partner can do for its child accounts.
#[derive(Clone, Debug)]
pub struct Partner {
    inner: crate::Partner,
    thread: Thread,
}

/// A list that can be asked for; nothing was asked yet.
#[derive(Clone, Debug)]
#[must_use = "a list is fetched by `page`, `page_after` or `rows`"]
pub struct List<L> {
    inner: crate::List<L>,
    thread: Thread,
}

/// What comes one after the other, each fetched when it is asked for. The first error is the last item.
pub struct Items<T> {
    stream: Pin<Box<dyn Stream<Item = Result<T, Error>> + Send>>,
    thread: Thread,
}

/// The thread that keeps connections and clocks going.
#[derive(Clone)]
struct Thread(Arc<Ending>);

/// Ends the thread without waiting for it, which a runtime would not allow within another.
struct Ending(Option<Runtime>);

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Thread {
    fn start() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Self(Arc::new(Ending(Some(runtime)))))
    }

    fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        let _inside = self.0.0.as_ref().map(Runtime::enter);
        pollster::block_on(answer)
    }

    fn items<T>(&self, stream: impl Stream<Item = Result<T, Error>> + Send + 'static) -> Items<T> {
        Items { stream: Box::pin(stream), thread: self.clone() }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Thread")
    }
}

macro_rules! mirrored {
    ($kind:ident: $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)+) => {$(
        #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($kind), "::", stringify!($name), ").")]
        ///
        /// # Errors
        /// [`Error`].
        pub fn $name(&self, $($argument: $type),*) -> Result<$answer, Error> {
            self.thread.wait(self.inner.$name($($argument),*))
        }
    )+};
    ($kind:ident lists: $($name:ident($($argument:ident: $type:ty),*) -> $list:ty;)+) => {$(
        #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($kind), "::", stringify!($name), ").")]
        pub fn $name(&self, $($argument: $type),*) -> List<$list> {
            List { inner: self.inner.$name($($argument),*), thread: self.thread.clone() }
        }
    )+};
}

impl Client {
    /// A client that waits, of one that does not.
    ///
    /// # Errors
    /// The operating system gives no thread.
    pub fn new(client: crate::Client) -> io::Result<Self> {
        Ok(Self { inner: client, thread: Thread::start()? })
    }

    /// [`acting_as`](crate::Client::acting_as).
    #[must_use]
    pub fn acting_as(&self, tenant: &TenantId) -> Self {
        Self { inner: self.inner.acting_as(tenant), thread: self.thread.clone() }
    }

    /// The operator's routes.
    #[must_use]
    pub fn operator(&self) -> Operator {
        Operator { inner: self.inner.operator(), thread: self.thread.clone() }
    }

    /// The partner's routes.
    #[must_use]
    pub fn partner(&self) -> Partner {
        Partner { inner: self.inner.partner(), thread: self.thread.clone() }
    }

    mirrored! { Client:
        send_invoice(key: &IdempotencyKey, invoice: &SendInvoice) -> Submitted;
        send_invoice_json(key: &IdempotencyKey, body: &str) -> Submitted;
        cancel_invoice(key: &IdempotencyKey, cancellation: &CancelInvoice) -> Submitted;
        cancel_invoice_json(key: &IdempotencyKey, body: &str) -> Submitted;
        send_and_wait(key: &IdempotencyKey, invoice: &SendInvoice, patience: Duration) -> Job;
        send_batch(items: Vec<BatchItem>) -> BatchTaken;
        batch(id: BatchId) -> Batch;
        preview(invoice: &SendInvoice) -> Preview;
        job(id: JobId) -> Job;
        wait_for_job(id: JobId, patience: Duration) -> Job;
        job_attempts(id: JobId) -> Vec<JobAttempt>;
        job_xml(id: JobId) -> Vec<u8>;
        job_answer_xml(id: JobId) -> Vec<u8>;
        qr_svg(id: JobId) -> String;
        qr_png(id: JobId) -> Vec<u8>;
        qr_text(id: JobId) -> String;
        record_qr_svg(id: RecordId) -> String;
        record_qr_png(id: RecordId) -> Vec<u8>;
        record_qr_text(id: RecordId) -> String;
        me() -> Me;
        plan() -> PlanStatus;
        usage(months: u32) -> Vec<MonthlyUsage>;
        ledger(months: u32) -> Vec<MonthlyLedger>;
        chains() -> Chains;
        verify_chain(id: ChainId) -> ChainVerification;
        invoice_record(id: RecordId) -> InvoiceRecord;
        record_xml(id: RecordId) -> Vec<u8>;
        verify_nif(taxpayer: &CheckNif) -> CheckedNif;
        verify_nifs(taxpayers: Vec<CheckNif>) -> Vec<CheckedNif>;
        upload_certificate(pfx: &SecretBytes, passphrase: &Secret) -> CertificateStatus;
        certificate() -> CertificateStatus;
        remove_certificate() -> CertificateRemoved;
        health() -> Health;
        ready() -> Ready;
        declaration() -> Declaration;
        service_time() -> Option<SystemTime>;
    }

    mirrored! { Client lists:
        jobs(filter: &JobFilter) -> Jobs;
        invoice_records(filter: &RecordFilter) -> InvoiceRecords;
        lookup(filter: &LookupFilter) -> Lookup;
    }

    /// [`export`](crate::Client::export).
    ///
    /// # Errors
    /// [`Error`], for the request itself.
    pub fn export(&self, filter: &ExportFilter) -> Result<Items<ExportedRecord>, Error> {
        Ok(self.thread.items(self.thread.wait(self.inner.export(filter))?))
    }

    /// [`export_xml`](crate::Client::export_xml).
    ///
    /// # Errors
    /// [`Error`], for the request itself.
    pub fn export_xml(&self, filter: &ExportFilter) -> Result<Items<Bytes>, Error> {
        Ok(self.thread.items(self.thread.wait(self.inner.export_xml(filter))?))
    }
}

impl Operator {
    mirrored! { Operator:
        create_tenant(tenant: &CreateTenant) -> Tenant;
        tenant(id: &TenantId) -> Tenant;
        change_tenant(id: &TenantId, change: &ChangeTenant) -> Tenant;
        create_api_key(key: &CreateApiKey) -> NewApiKey;
        revoke_api_key(id: Uuid) -> ApiKey;
        job_messages(id: JobId) -> JobMessages;
        retry_job(id: JobId) -> Job;
        expiring_certificates(days: u32) -> ExpiringCertificates;
        webhook(tenant: &TenantId) -> WebhookInfo;
        set_webhook(tenant: &TenantId, webhook: &WebhookPatch) -> WebhookInfo;
        ping_webhook(tenant: &TenantId) -> WebhookDelivery;
        pause_issuer(tenant: &TenantId, nif: Nif, reason: &PauseIssuer) -> Issuers;
        resume_issuer(tenant: &TenantId, nif: Nif) -> Issuers;
        web_account(user: &TenantId) -> Tenant;
    }

    mirrored! { Operator lists:
        tenants() -> Tenants;
        api_keys(tenant: Option<&TenantId>) -> ApiKeys;
        jobs(filter: &OperatorJobFilter) -> OperatorJobs;
        events() -> AuditEvents;
        issuers(filter: &IssuerFilter) -> Issuers;
        webhook_deliveries(tenant: &TenantId) -> WebhookDeliveries;
    }
}

impl Partner {
    mirrored! { Partner:
        create_tenant(tenant: &CreateChildTenant) -> Tenant;
        tenant(id: &TenantId) -> Tenant;
        change_tenant(id: &TenantId, change: &ChangeChildTenant) -> Tenant;
        chains(id: &TenantId) -> Chains;
        usage(id: &TenantId, months: u32) -> Vec<MonthlyUsage>;
        create_api_key(id: &TenantId, key: &CreateChildApiKey) -> NewApiKey;
        revoke_api_key(id: &TenantId, key: Uuid) -> ApiKey;
        upload_certificate(id: &TenantId, pfx: &SecretBytes, passphrase: &Secret) -> CertificateStatus;
        certificate(id: &TenantId) -> CertificateStatus;
        remove_certificate(id: &TenantId) -> CertificateRemoved;
    }

    mirrored! { Partner lists:
        tenants() -> Tenants;
        jobs(id: &TenantId, filter: &JobFilter) -> Jobs;
        invoice_records(id: &TenantId, filter: &RecordFilter) -> InvoiceRecords;
        api_keys(id: &TenantId) -> ApiKeys;
    }
}

impl<L: Listed + 'static> List<L> {
    /// With this many rows to a page: 1 to 200; 20 if not called.
    pub fn limit(self, rows: u32) -> Self {
        Self { inner: self.inner.limit(rows), ..self }
    }

    /// The first page.
    ///
    /// # Errors
    /// [`Error`].
    pub fn page(&self) -> Result<Page<L::Row>, Error> {
        self.thread.wait(self.inner.page())
    }

    /// The page that begins here.
    ///
    /// # Errors
    /// [`Error`].
    pub fn page_after(&self, cursor: &Cursor) -> Result<Page<L::Row>, Error> {
        self.thread.wait(self.inner.page_after(cursor))
    }

    /// Every row, page after page.
    pub fn rows(self) -> Items<L::Row> {
        self.thread.items(self.inner.rows())
    }
}

impl<T> Iterator for Items<T> {
    type Item = Result<T, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.thread.wait(self.stream.next())
    }
}

impl<T> fmt::Debug for Items<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Items")
    }
}
