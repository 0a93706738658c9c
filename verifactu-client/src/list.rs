//! Lists: page by page, or row by row as far as one likes.

use std::{collections::VecDeque, marker::PhantomData};

use futures_util::{Stream, stream};
use serde::de::DeserializeOwned;
use verifactu_core::api::{
    ApiKeys, AuditEvents, InvoiceRecords, Issuers, Jobs, Lookup, OperatorJobs, Tenants, WebhookDeliveries,
};

use crate::{Client, Error, exchange::Request};

/// Some rows of a list, and how to have more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// Rows of the whole list, if the service counted them.
    pub total: Option<u32>,
    /// Where the next page begins; `None` on the last one.
    pub next: Option<Cursor>,
}

/// Where a page of a list begins. It stays good while rows are added, and as text it can be handed on, such
/// as in the address of a page's successor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor(String);

impl Cursor {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Cursor {
    /// A text that was handed on; the service checks it.
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// A list that can be asked for; nothing was asked yet.
///
/// ```no_run
/// # use verifactu_client::{Client, Error, api::{JobFilter, JobStatus}};
/// use futures_util::TryStreamExt as _;
/// # async fn run(client: Client) -> Result<(), Error> {
/// let failed = JobFilter { status: Some(JobStatus::Failed), ..JobFilter::default() };
/// let mut jobs = std::pin::pin!(client.jobs(&failed).rows());
/// while let Some(job) = jobs.try_next().await? {
///     println!("{}: {:?}", job.num_serie, job.last_error);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a list is fetched by `page`, `page_after` or `rows`"]
pub struct List<L> {
    client: Client,
    request: Request<'static>,
    answer: PhantomData<fn() -> L>,
}

/// How the service answers a page of a list.
pub trait Listed: DeserializeOwned + sealed::Sealed {
    /// A row.
    type Row: Send;
    /// The parameter that names the beginning of a page.
    const CURSOR: &'static str;
    /// The page.
    fn into_page(self) -> Page<Self::Row>;
}

mod sealed {
    /// The answers of lists are those of the service.
    pub trait Sealed {}
}

macro_rules! listed {
    ($($answer:ident { $rows:ident: $row:ident } $paging:ident;)+) => {$(
        impl sealed::Sealed for $answer {}
        impl Listed for $answer {
            type Row = verifactu_core::api::$row;
            const CURSOR: &'static str = listed!(@ cursor $paging);
            fn into_page(self) -> Page<Self::Row> {
                let (total, next) = listed!(@ $paging self);
                Page { rows: self.$rows, total, next: next.map(Cursor) }
            }
        }
    )+};
    (@ cursor keyed) => { "clavePaginacion" };
    (@ cursor $paging:ident) => { "cursor" };
    (@ keyed $answer:ident) => { (None, $answer.clave_paginacion) };
    (@ counted $answer:ident) => {
        ($answer.paging.total, $answer.paging.next_cursor.map(|cursor| cursor.to_string()))
    };
}

listed! {
    Jobs { jobs: Job } counted;
    InvoiceRecords { records: InvoiceRecord } counted;
    Tenants { tenants: Tenant } counted;
    ApiKeys { api_keys: ApiKey } counted;
    Issuers { issuers: Issuer } counted;
    OperatorJobs { jobs: OperatorJob } counted;
    AuditEvents { events: AuditEvent } counted;
    Lookup { facturas: FoundInvoice } keyed;
    WebhookDeliveries { deliveries: WebhookDelivery } counted;
}

impl<L: Listed> List<L> {
    pub(crate) fn new(client: &Client, request: Request<'static>) -> Self {
        Self { client: client.clone(), request, answer: PhantomData }
    }

    /// With this many rows to a page: 1 to 200; 20 if not called. Pages of a lookup have the size that the
    /// authority gives them.
    pub fn limit(self, rows: u32) -> Self {
        Self { request: self.request.with("limit", rows), ..self }
    }

    /// The first page.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn page(&self) -> Result<Page<L::Row>, Error> {
        self.fetch(&self.request).await
    }

    /// The page that begins here.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn page_after(&self, cursor: &Cursor) -> Result<Page<L::Row>, Error> {
        self.fetch(&self.request.clone().with(L::CURSOR, &cursor.0)).await
    }

    /// Every row, page after page; a page is asked for when its first row is. The stream ends with its
    /// first error.
    pub fn rows(self) -> impl Stream<Item = Result<L::Row, Error>> + Send {
        let begin = (self, VecDeque::new(), Place::First);
        stream::try_unfold(begin, async |(list, mut rows, mut place)| {
            loop {
                if let Some(row) = rows.pop_front() {
                    return Ok(Some((row, (list, rows, place))));
                }
                let page = match &place {
                    Place::First => list.page().await?,
                    Place::Behind(cursor) => list.page_after(cursor).await?,
                    Place::End => return Ok(None),
                };
                rows = page.rows.into();
                place = page.next.map_or(Place::End, Place::Behind);
            }
        })
    }

    async fn fetch(&self, request: &Request<'_>) -> Result<Page<L::Row>, Error> {
        Ok(self.client.call(request).await?.json::<L>()?.into_page())
    }
}

/// Which page comes next.
enum Place {
    First,
    Behind(Cursor),
    End,
}
