//! Asking which records the authority holds.
//!
//! A query is answered page by page, each of up to 10 000 rows, and a page names the key behind which the
//! next one begins (SWeb 6.4). Asking changes nothing at the authority, so it may be repeated, whatever
//! became of the exchange. How many pages are read is for the caller to bound.

use std::sync::Arc;

use futures_util::stream::{self, Stream};

use crate::{
    certificate::Identity,
    xml::{
        answer::InvoiceKey,
        query::{Paging, Query, QueryAnswer},
    },
};

use super::{Authority, Outcome, Request, Service, Unprocessed, outcome};

/// Why the pages of a query end before the last one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// A page was not answered.
    #[error(transparent)]
    Unprocessed(#[from] Unprocessed),
    /// The query has more pages than were to be read. It goes on [`after`](Query::after) this key.
    #[error("the query has more pages than were to be read")]
    MorePages(InvoiceKey),
    /// A page names the key that it was asked for by, so that there would be no end.
    #[error("the authority names the same page again")]
    Repeated,
}

/// Asks for one page, presented by `identity`.
pub async fn query(
    authority: &dyn Authority,
    identity: Arc<Identity>,
    query: &Query,
) -> Outcome<QueryAnswer> {
    let body = query.to_xml().into_bytes().into();
    outcome::query(&authority.exchange(Request { service: Service::Query, identity, body }).await)
}

/// Asks for page after page, from the one that the query begins at to the last, `most` at most. The next
/// one is asked for when it is taken, and nothing comes behind an error.
///
/// ```no_run
/// # use std::{pin::pin, sync::Arc};
/// # use verifactu_core::{authority::{self, Authority, QueryError}, certificate::Identity, xml::query::Query};
/// # async fn print(authority: &dyn Authority, identity: Arc<Identity>, query: Query) -> Result<(), QueryError> {
/// use futures_util::TryStreamExt as _;
/// let mut pages = pin!(authority::query_pages(authority, identity, query, 100));
/// while let Some(page) = pages.try_next().await? {
///     for row in page.rows {
///         println!("{} {:?}", row.invoice.number, row.state);
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub fn query_pages(
    authority: &dyn Authority,
    identity: Arc<Identity>,
    first: Query,
    most: usize,
) -> impl Stream<Item = Result<QueryAnswer, QueryError>> + Send {
    stream::try_unfold((Some(first), most), move |(next, left)| {
        let identity = identity.clone();
        async move {
            let Some(asked) = next else { return Ok(None) };
            let Some(left) = left.checked_sub(1) else {
                return asked.after.map_or(Ok(None), |key| Err(QueryError::MorePages(key)));
            };
            let page = query(authority, identity, &asked).await.into_result()?;
            let next = match &page.paging {
                Paging::Last => None,
                Paging::More(key) if asked.after.as_ref() == Some(key) => return Err(QueryError::Repeated),
                Paging::More(key) => Some(Query { after: Some(key.clone()), ..asked }),
            };
            Ok(Some((page, (next, left))))
        }
    })
}
