//! The records of the account, with their exact bytes.

use std::error::Error as StdError;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _, stream};
use reqwest::StatusCode;
use verifactu_core::{
    api::{ExportFilter, ExportedRecord, InvoiceRecord, InvoiceRecords, RecordFilter},
    types::RecordId,
};

use crate::{Client, Error, List, exchange::Request};

/// Longest line of an export: a record with a thousand recipients has a few hundred kilobytes.
const MAX_LINE: usize = 4 << 20;

impl Client {
    /// The records of the account, newest first, rejected ones too.
    pub fn invoice_records(&self, filter: &RecordFilter) -> List<InvoiceRecords> {
        List::new(self, Request::get("/me/invoice-records").filtered(filter))
    }

    /// A record.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn invoice_record(&self, id: RecordId) -> Result<InvoiceRecord, Error> {
        self.call(&Request::get(format!("/me/invoice-records/{id}"))).await?.json()
    }

    /// The exact bytes of a record: as it is sent, or as it was generated if it was not sent yet.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn record_xml(&self, id: RecordId) -> Result<Vec<u8>, Error> {
        self.call(&Request::get(format!("/me/invoice-records/{id}/xml"))).await?.raw("application/xml")
    }

    /// Every record with its exact bytes, chain by chain in the order of each. The stream ends with its
    /// first error; one that ends without is whole.
    ///
    /// ```no_run
    /// # use verifactu_client::{Client, Error, api::ExportFilter};
    /// use futures_util::TryStreamExt as _;
    /// # async fn run(client: Client) -> Result<(), Error> {
    /// let mut records = std::pin::pin!(client.export(&ExportFilter::default()).await?);
    /// while let Some(record) = records.try_next().await? {
    ///     println!("{} {} {}", record.chain_id, record.posicion, record.xml.len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error`], for the request itself.
    pub async fn export(
        &self,
        filter: &ExportFilter,
    ) -> Result<impl Stream<Item = Result<ExportedRecord, Error>> + Send + use<>, Error> {
        let request = Request::get("/me/invoice-records/export").filtered(filter);
        let pieces = self.pieces(&request).await?;
        let begin = (Box::pin(pieces), BytesMut::new());
        Ok(stream::try_unfold(begin, async |(mut pieces, mut kept)| {
            loop {
                if let Some(end) = kept.iter().position(|byte| *byte == b'\n') {
                    let line = kept.split_to(end + 1);
                    return Ok(Some((read(&line)?, (pieces, kept))));
                }
                if kept.len() > MAX_LINE {
                    return Err(unexpected("a line of the export is too long"));
                }
                match pieces.next().await.transpose()? {
                    Some(piece) => kept.extend_from_slice(&piece),
                    None if kept.is_empty() => return Ok(None),
                    None => return Err(Error::Transport("the export ends in the middle of a line".into())),
                }
            }
        }))
    }

    /// The export as one XML document, in pieces as they come.
    ///
    /// # Errors
    /// [`Error`], for the request itself.
    pub async fn export_xml(
        &self,
        filter: &ExportFilter,
    ) -> Result<impl Stream<Item = Result<Bytes, Error>> + Send + use<>, Error> {
        let request = Request::get("/me/invoice-records/export").with("format", "xml").filtered(filter);
        self.pieces(&request).await
    }
}

fn read(line: &[u8]) -> Result<ExportedRecord, Error> {
    serde_json::from_slice(line).map_err(unexpected)
}

/// The answer began as a success, and is not what it should be.
fn unexpected(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
    let (status, source) = (StatusCode::OK.as_u16(), Some(source.into()));
    Error::Unexpected { status, request_id: None, retry_after: None, excerpt: String::new(), source }
}
