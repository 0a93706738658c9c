//! Asking the census whether taxpayers are who they say.
//!
//! It is the same census that registration consults (codes 4104, 1110, 2001), so what is identified
//! here will very probably be accepted there. Asking changes nothing at the authority: whatever
//! became of the exchange, it may be asked again.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use crate::{
    certificate::Identity,
    types::Nif,
    xml::nif_check::{self, CensusStatus, MAX_TAXPAYERS, NifCheckAnswer, Taxpayer},
};

use super::{Authority, Outcome, Request, Service, outcome};

/// What the census said of one taxpayer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NifChecked {
    /// Who was asked about.
    pub nif: Nif,
    /// The result; [`CensusStatus::NotProcessed`] as well if the answer does not speak of it.
    pub status: CensusStatus,
    /// The name that came back: an entity's in the census, a natural person's as it was asked.
    pub name: String,
}

/// Why nothing was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NifCheckError {
    /// Nobody was asked about.
    #[error("no taxpayer to ask about")]
    None,
    /// More than one question can carry.
    #[error("at most {MAX_TAXPAYERS} taxpayers in one question")]
    TooMany,
}

/// Asks about 1 to [`MAX_TAXPAYERS`] taxpayers in one exchange, presented by `identity`; the results
/// come in the order of the question.
///
/// # Errors
/// [`NifCheckError`] if the question cannot be put. What becomes of the exchange is a value.
pub async fn nif_check(
    authority: &dyn Authority,
    identity: Arc<Identity>,
    taxpayers: &[Taxpayer],
) -> Result<Outcome<Vec<NifChecked>>, NifCheckError> {
    match taxpayers.len() {
        0 => return Err(NifCheckError::None),
        1..=MAX_TAXPAYERS => {}
        _ => return Err(NifCheckError::TooMany),
    }
    let body = nif_check::write(taxpayers).into();
    let exchange = authority.exchange(Request { service: Service::NifCheck, identity, body }).await;
    Ok(outcome::nif_check(&exchange).map(|answer| in_order(taxpayers, answer)))
}

/// Results are found by their number; of one number that was asked about twice, by their order.
fn in_order(taxpayers: &[Taxpayer], answer: NifCheckAnswer) -> Vec<NifChecked> {
    let mut found: HashMap<String, VecDeque<_>> = HashMap::new();
    for checked in answer.taxpayers {
        found.entry(checked.nif.to_uppercase()).or_default().push_back(checked);
    }
    let result = |taxpayer: &Taxpayer| {
        let checked = found.get_mut(taxpayer.nif.as_str()).and_then(VecDeque::pop_front);
        let (status, name) =
            checked.map_or((CensusStatus::NotProcessed, String::new()), |it| (it.status, it.name));
        NifChecked { nif: taxpayer.nif, status, name }
    };
    taxpayers.iter().map(result).collect()
}
