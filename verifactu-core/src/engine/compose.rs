//! Composing: which of the waiting records make the next message, and its bytes.
//!
//! A message is the longest run of the candidates, in order, with one issuer name and one age class,
//! and with each invoice once, so that every line of the answer is unmistakable. While a record is
//! searched for that makes the authority refuse whole messages, a message carries the left half of the
//! suspects; once found, that record travels alone.

use std::{collections::HashSet, sync::Arc};

use bytes::Bytes;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::{
    ledger::{SlotKind, Submission, Suspects},
    signature::SigningError,
    types::{Date, MessageId, RecordId},
    validation::{Context, validate_verifactu_end},
    xml::envelope::{self, Header, SpanishParty},
};

use super::{Engine, Presentation};

/// The records of a message, before its bytes are made.
pub(super) struct Draft {
    pub(super) items: Vec<Submission>,
    pub(super) slot: SlotKind,
    /// Whether an incident delayed the records.
    pub(super) incident: bool,
}

/// A message whose bytes are made.
pub(super) struct Message {
    pub(super) id: MessageId,
    pub(super) draft: Draft,
    pub(super) records: Vec<(RecordId, Bytes)>,
    pub(super) body: Bytes,
    pub(super) digest: [u8; 32],
}

impl Engine {
    /// Cuts the candidates down to one message.
    pub(super) fn draft(
        &self,
        candidates: Vec<Submission>,
        slot: SlotKind,
        suspects: Option<Suspects>,
        now: Timestamp,
    ) -> Draft {
        let late = |item: &Submission| {
            let generated = item.record.generated_at.instant();
            now > generated.saturating_add(self.settings.late_after).unwrap_or(Timestamp::MAX)
        };
        let alone = |item: &Submission| item.job.progress.alone;
        let limit = match suspects.filter(|suspects| suspects.slot == slot) {
            _ if candidates.first().is_some_and(alone) => 1,
            Some(suspects) => suspects.records.div_ceil(2).min(self.settings.max_records),
            None => self.settings.max_records,
        };
        let incident = candidates.first().is_some_and(late);
        let issuer_name = candidates.first().map(|item| item.record.issuer_name.clone());
        let mut seen = HashSet::new();
        let items = candidates
            .into_iter()
            .enumerate()
            .filter(|(place, item)| *place == 0 || !alone(item))
            .map(|(_, item)| item)
            .take_while(|item| {
                Some(&item.record.issuer_name) == issuer_name.as_ref()
                    && late(item) == incident
                    && seen.insert(item.record.invoice.clone())
            })
            .take(limit as usize)
            .collect();
        Draft { items, slot, incident }
    }

    /// Signs what was never sent, and wraps all records into one envelope. Signing takes a third of a
    /// second for a thousand records, so it runs beside the other tasks.
    pub(super) async fn compose(
        &self,
        draft: Draft,
        presentation: &Arc<Presentation>,
        now: Timestamp,
    ) -> Result<Message, ComposeError> {
        let id = MessageId(self.parts.ids.next());
        let signature_ids: Vec<_> = draft.items.iter().map(|_| self.parts.ids.next()).collect();
        let presentation = presentation.clone();
        let work = move || {
            let mut records = Vec::with_capacity(draft.items.len());
            for (item, signature_id) in draft.items.iter().zip(signature_ids) {
                let bytes = match (&item.record.sent_xml, &presentation.signer) {
                    (Some(sent), _) => sent.clone(),
                    (None, None) => item.record.xml.clone(),
                    (None, Some(signer)) => {
                        let mut signed = Vec::with_capacity(item.record.xml.len() + 8192);
                        let xml =
                            std::str::from_utf8(&item.record.xml).map_err(|_| SigningError::NotARecord)?;
                        signer.sign(xml, signature_id, now, &mut signed)?;
                        Bytes::from(signed)
                    }
                };
                records.push((item.record.id, bytes));
            }
            let Some(first) = draft.items.first() else { return Err(ComposeError::Empty) };
            let context = Context { today: Date::in_madrid(now) };
            let taken = |day: &Date| validate_verifactu_end(*day, &context).is_empty();
            let header = Header {
                issuer: SpanishParty {
                    name: first.record.issuer_name.clone(),
                    nif: first.record.invoice.issuer,
                },
                representative: presentation.representative.clone(),
                verifactu_end: presentation.verifactu_end.filter(taken),
                incident: draft.incident,
            };
            let body = envelope::registration(&header, records.iter().map(|(_, bytes)| &**bytes));
            let digest = Sha256::digest(&body).into();
            Ok(Message { id, draft, records, body: body.into(), digest })
        };
        tokio::task::spawn_blocking(work).await.unwrap_or(Err(ComposeError::Aborted))
    }
}

/// A message could not be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum ComposeError {
    #[error("no records to send")]
    Empty,
    #[error("the task that makes the message was stopped")]
    Aborted,
    #[error("the record cannot be signed")]
    Signature(#[from] SigningError),
}
