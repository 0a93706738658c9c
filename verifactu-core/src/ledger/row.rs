//! What the ledger keeps of a record and its job.

use bytes::Bytes;
use jiff::Timestamp;

use crate::{
    job::{JobKind, Progress},
    record::{InvoiceId, RecordKind, SystemId},
    types::{Amount, ChainId, GenerationTime, Huella, JobId, Nif, RecordId, RequestId, TenantId, Text},
};

/// What makes a chain: altas and cancellations and all series of one issuer in one installation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChainKey {
    /// The account.
    pub tenant: TenantId,
    /// The obliged issuer.
    pub issuer: Nif,
    /// NIF or other identification of the software's producer.
    pub producer: String,
    /// The product.
    pub system: SystemId,
    /// The installation.
    pub installation: Text<100>,
}

/// A record of a chain. None of it ever changes, but that `signed` is filled in once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordRow {
    /// Identifier.
    pub id: RecordId,
    /// Its chain.
    pub chain: ChainId,
    /// Its place in the chain, from 1.
    pub position: u64,
    /// Alta or cancellation.
    pub kind: RecordKind,
    /// The invoice it speaks of.
    pub invoice: InvoiceId,
    /// Name of the issuer, which heads the message.
    pub issuer_name: Text<120>,
    /// Total of the invoice, which its QR carries; none for a cancellation.
    pub total: Option<Amount>,
    /// The caller's reference.
    pub external_reference: Option<Text<60>>,
    /// Its huella.
    pub huella: Huella,
    /// Huella of the record before.
    pub previous: Option<Huella>,
    /// When it was generated.
    pub generated_at: GenerationTime,
    /// The record's XML, unsigned.
    pub xml: Bytes,
    /// The record's XML as it was first put in a message, signed if signing was on.
    pub sent_xml: Option<Bytes>,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRow {
    /// Identifier.
    pub id: JobId,
    /// Its account.
    pub tenant: TenantId,
    /// What it does.
    pub kind: JobKind,
    /// The request that was accepted.
    pub request: RequestId,
    /// What changes.
    pub progress: Progress,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}
