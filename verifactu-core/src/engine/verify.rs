//! The proof that a chain is whole, from what the ledger stores of it.

use crate::{
    api::{ChainVerification, FirstBreak},
    chain::{Break, Walk},
    ledger::{ChainState, Ledger, LedgerError},
    xml,
};

/// Records that are read at a time.
const PAGE: u32 = 500;

/// Recomputes every huella of a chain from the XML that is stored, and finds the first place where it does
/// not hold. Records that are appended meanwhile are left out.
///
/// # Errors
/// Of the ledger.
pub async fn verify_chain(ledger: &dyn Ledger, state: &ChainState) -> Result<ChainVerification, LedgerError> {
    let mut walk = Walk::default();
    let first_break = walked(ledger, state, &mut walk).await?;
    Ok(ChainVerification { valid: first_break.is_none(), checked: walk.checked(), first_break })
}

async fn walked(
    ledger: &dyn Ledger,
    state: &ChainState,
    walk: &mut Walk,
) -> Result<Option<FirstBreak>, LedgerError> {
    let broken = |posicion, reason: &str| Ok(Some(FirstBreak { posicion, reason: reason.to_owned() }));
    let mut last = None;
    while walk.checked() < state.length {
        let position = walk.checked() + 1;
        let left = u32::try_from(state.length - walk.checked()).unwrap_or(PAGE).min(PAGE);
        let page = ledger.records(state.id, position, left).await?;
        if page.is_empty() {
            return broken(position, "the record is missing");
        }
        for row in page {
            let position = walk.checked() + 1;
            if row.position != position {
                return broken(position, "the record is missing");
            }
            let literals = match xml::literals::read(&row.xml) {
                Ok(literals) => literals,
                Err(error) => return broken(position, &error.to_string()),
            };
            if let Err(Break { position, reason }) = walk.next(literals.chained()) {
                return broken(position, &reason.to_string());
            }
            if literals.huella != row.huella.as_str() {
                return broken(position, "the ledger's huella is not the record's");
            }
            last = Some(row.huella);
        }
    }
    if last == state.last_huella {
        return Ok(None);
    }
    broken(state.length, "the chain's head is not its last record")
}
