//! What a cancellation record says.

use crate::types::Text;

use super::{codes::GeneratedBy, invoice::InvoiceId, party::Party};

/// The cancellation of an invoice that should never have been issued (RD 1007/2023, art. 11; DR sheet 3).
#[doc(alias = "RegistroAnulacion")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancellation {
    /// The invoice that is cancelled.
    pub id: InvoiceId,
    /// The caller's own reference; the authority echoes it.
    #[doc(alias = "RefExterna")]
    pub external_reference: Option<Text<60>>,
    /// The authority never held the invoice's record. Absent means no.
    #[doc(alias = "SinRegistroPrevio")]
    pub without_prior_record: Option<bool>,
    /// An earlier cancellation of the invoice was rejected. Absent means no.
    #[doc(alias = "RechazoPrevio")]
    pub prior_rejection: Option<bool>,
    /// Who generated the cancellation; absent means whoever issued the invoice.
    #[doc(alias = "GeneradoPor")]
    pub generated_by: Option<GeneratedBy>,
    /// Their identification.
    #[doc(alias = "Generador")]
    pub generator: Option<Party>,
}

impl Cancellation {
    /// A plain cancellation.
    #[must_use]
    pub fn new(id: InvoiceId) -> Self {
        Self {
            id,
            external_reference: None,
            without_prior_record: None,
            prior_rejection: None,
            generated_by: None,
            generator: None,
        }
    }
}
