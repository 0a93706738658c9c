//! Asking the census whether taxpayers are who they say.
//!
//! It is the same census that registration consults (codes 4104, 1110, 2001), so what is identified
//! here will very probably be accepted there. Asking changes nothing at the authority: whatever
//! became of the exchange, it may be asked again.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use futures_util::stream::{self, Stream};

use crate::{
    certificate::Identity,
    types::Nif,
    xml::nif_check::{self, CensusStatus, MAX_TAXPAYERS, NifCheckAnswer, Taxpayer},
};

use super::{Authority, Request, Service, Unprocessed, outcome};

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

/// Why there are no results.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NifCheckError {
    /// Nobody was asked about.
    #[error("no taxpayer to ask about")]
    None,
    /// More than one question can carry.
    #[error("at most {MAX_TAXPAYERS} taxpayers in one question")]
    TooMany,
    /// The question was not answered.
    #[error(transparent)]
    Unprocessed(#[from] Unprocessed),
}

/// Asks about 1 to [`MAX_TAXPAYERS`] taxpayers in one exchange, presented by `identity`; the results
/// come in the order of the question.
///
/// # Errors
/// [`NifCheckError`].
pub async fn nif_check(
    authority: &dyn Authority,
    identity: Arc<Identity>,
    taxpayers: &[Taxpayer],
) -> Result<Vec<NifChecked>, NifCheckError> {
    match taxpayers.len() {
        0 => Err(NifCheckError::None),
        1..=MAX_TAXPAYERS => Ok(exchange(authority, identity, taxpayers).await?),
        _ => Err(NifCheckError::TooMany),
    }
}

/// Asks about any number of taxpayers, in as many exchanges as the service needs: each item has the
/// results of up to [`MAX_TAXPAYERS`] of them, in the order of the question. It ends behind the first
/// exchange that was not processed; what came before stands.
///
/// ```no_run
/// # use std::{pin::pin, sync::Arc};
/// # use verifactu_core::{authority::{self, Authority, Unprocessed}, certificate::Identity, xml::nif_check::Taxpayer};
/// # async fn unknown(authority: &dyn Authority, identity: Arc<Identity>, customers: &[Taxpayer]) -> Result<(), Unprocessed> {
/// use futures_util::TryStreamExt as _;
/// let mut checks = pin!(authority::nif_checks(authority, identity, customers));
/// while let Some(results) = checks.try_next().await? {
///     for customer in results.iter().filter(|it| !it.status.is_identified()) {
///         println!("{} is not in the census", customer.nif);
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub fn nif_checks<'a>(
    authority: &'a dyn Authority,
    identity: Arc<Identity>,
    taxpayers: &'a [Taxpayer],
) -> impl Stream<Item = Result<Vec<NifChecked>, Unprocessed>> + Send + 'a {
    stream::try_unfold(taxpayers.chunks(MAX_TAXPAYERS), move |mut left| {
        let identity = identity.clone();
        async move {
            let Some(chunk) = left.next() else { return Ok(None) };
            let checked = exchange(authority, identity, chunk).await?;
            Ok(Some((checked, left)))
        }
    })
}

async fn exchange(
    authority: &dyn Authority,
    identity: Arc<Identity>,
    taxpayers: &[Taxpayer],
) -> Result<Vec<NifChecked>, Unprocessed> {
    let body = nif_check::write(taxpayers).into();
    let exchange = authority.exchange(Request { service: Service::NifCheck, identity, body }).await;
    outcome::nif_check(&exchange).into_result().map(|answer| in_order(taxpayers, answer))
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
