//! What to do about an error: the step that follows from what the authority holds after it.

use super::{CodeInfo, Level, Retry};

/// What to do about an error. [`text_en`](Self::text_en) says it to a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Advice {
    /// Nothing: the record stands as it is.
    None,
    /// Send a correction afterwards. The record is stored with errors (Val 4.3.1), and stays so where the
    /// law asks for a rectifying invoice instead.
    CorrectAfterwards,
    /// Mend the data and send a correction. The record was not stored.
    MendRecord,
    /// Look at what the authority holds under the invoice's number before anything else is sent.
    LookUp,
    /// State whether the authority holds a record of the invoice.
    StateHistory,
    /// Check number and name with the census, and have whoever is named check them.
    CheckCensus,
    /// Mend the header or the form of the message; its records are not to blame.
    MendMessage,
    /// Mend the query, or who asks it.
    MendQuery,
    /// Wait, and send the same again.
    Wait,
    /// Give the certificate's holder the right to act for the issuer, or take another certificate.
    Authorize,
    /// Write to the authority: access is suspended, or the record is not this sender's to change.
    CallAuthority,
}

impl Advice {
    /// For a person, in English.
    #[must_use]
    pub const fn text_en(self) -> &'static str {
        match self {
            Self::None => "Nothing is to be done: the record is registered.",
            Self::CorrectAfterwards => {
                "The record is registered with errors. Send a correction, unless the law asks for a rectifying invoice."
            }
            Self::MendRecord => "The record is not registered. Mend the data and send a correction.",
            Self::LookUp => "Look up what the authority holds under the invoice's number and date.",
            Self::StateHistory => {
                "The authority holds no record of the invoice. Say so in the correction or cancellation."
            }
            Self::CheckCensus => {
                "The number, or the name that goes with it, is not in the census. Check both and send a correction."
            }
            Self::MendMessage => {
                "The whole message was refused. Check the issuer's data and the message's form."
            }
            Self::MendQuery => "Mend the query, or ask it with a right to it.",
            Self::Wait => "The authority failed. The same is sent again later; nothing is to be changed.",
            Self::Authorize => {
                "The certificate's holder may not act for the issuer. Grant a power of attorney or take another certificate."
            }
            Self::CallAuthority => "Write to the authority: it has to see to this itself.",
        }
    }

    /// For a person, in Spanish.
    #[must_use]
    pub const fn text_es(self) -> &'static str {
        match self {
            Self::None => "No hay que hacer nada: el registro consta.",
            Self::CorrectAfterwards => {
                "El registro consta con errores. Envíe una subsanación, salvo que proceda una factura rectificativa."
            }
            Self::MendRecord => "El registro no consta. Corrija los datos y envíe una subsanación.",
            Self::LookUp => "Consulte qué consta en la AEAT con el número y la fecha de la factura.",
            Self::StateHistory => {
                "En la AEAT no consta ningún registro de la factura. Indíquelo en la subsanación o anulación."
            }
            Self::CheckCensus => {
                "El NIF, o el nombre que le corresponde, no está en el censo. Revise ambos y envíe una subsanación."
            }
            Self::MendMessage => {
                "Se ha rechazado el envío completo. Revise los datos del emisor y la forma del mensaje."
            }
            Self::MendQuery => "Corrija la consulta, o hágala con derecho a ella.",
            Self::Wait => "Ha fallado la AEAT. Se reenviará lo mismo más tarde; no hay que cambiar nada.",
            Self::Authorize => {
                "El titular del certificado no puede actuar por el emisor. Apodérelo o use otro certificado."
            }
            Self::CallAuthority => "Diríjase a la AEAT: debe resolverlo ella.",
        }
    }
}

pub(super) fn of(info: &CodeInfo) -> Advice {
    match info.code {
        // The two that Val 4.3.1 excuses from correction.
        2004 | 2009 => Advice::None,
        1109 | 1110 | 1121 | 1154 | 1217 => Advice::CheckCensus,
        1248..=1250 | 1261 | 1270..=1272 | 1285 | 3502 | 3503 | 4132 | 4140 => Advice::MendQuery,
        3000 | 3001 => Advice::LookUp,
        3002 => Advice::StateHistory,
        3003 | 3004 | 4141 => Advice::CallAuthority,
        4112 => Advice::Authorize,
        4134 | 4139 => Advice::Wait,
        _ => match (info.retry, info.level) {
            (Retry::Unchanged, _) => Advice::Wait,
            (_, Level::Admitted) => Advice::CorrectAfterwards,
            (_, Level::Record) => Advice::MendRecord,
            (_, Level::Submission) => Advice::MendMessage,
        },
    }
}
